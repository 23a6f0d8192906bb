"""Which public models can be counted by name, and how is a ``config.json`` read?

>>> find_model("Qwen/Qwen2.5-0.5B-Instruct").params
494032768
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from rl_lab._models import ModelShape, closest

# model_type -> family and what the architecture fixes beyond the numbers.
_TYPES: dict[str, dict[str, Any]] = {
    "llama": {"family": "llama"},
    "mistral": {"family": "llama"},
    "qwen2": {"family": "llama", "biases": ("q", "k", "v")},
    "qwen3": {"family": "llama", "qk_norm": True},
    "phi3": {"family": "phi3"},
    "gpt2": {"family": "gpt2"},
    "gpt_neox": {"family": "gpt_neox"},
}


def read_config(config: Mapping[str, Any]) -> ModelShape:
    """Read the shape from a Hugging Face ``config.json`` that was loaded into a dict.

    Parameters
    ----------
    config : mapping
        With ``model_type`` llama, mistral, qwen2, qwen3, phi3, gpt2 or gpt_neox.

    Returns
    -------
    ModelShape
        The shape to count.

    Raises
    ------
    KeyError
        If a number that decides the size is missing.
    ValueError
        If the architecture is not one of these. Mixtures of experts are refused, not guessed.

    Examples
    --------
    >>> smol = {"model_type": "llama", "hidden_size": 576, "num_hidden_layers": 30, "vocab_size": 49152,
    ...         "num_attention_heads": 9, "num_key_value_heads": 3, "intermediate_size": 1536,
    ...         "tie_word_embeddings": True}
    >>> read_config(smol).params
    134515008
    """
    kind = str(config.get("model_type", ""))
    if kind not in _TYPES:
        raise ValueError(f"model_type {kind!r} cannot be counted; {closest(kind, _TYPES)}")
    tied = bool(config.get("tie_word_embeddings", kind == "gpt2"))  # transformers' own defaults
    name = str(config.get("_name_or_path") or kind)
    sizes = _gpt2_sizes(config) if kind == "gpt2" else _sizes(config)
    return ModelShape(**sizes, **_TYPES[kind] | _biases(kind, config), tied=tied, name=name)


def _sizes(config: Mapping[str, Any]) -> dict[str, Any]:
    names = {
        "layers": "num_hidden_layers",
        "hidden": "hidden_size",
        "heads": "num_attention_heads",
        "intermediate": "intermediate_size",
        "vocab": "vocab_size",
    }
    sizes = {ours: _need(config, theirs) for ours, theirs in names.items()}
    return sizes | {"kv_heads": config.get("num_key_value_heads"), "head_dim": config.get("head_dim")}


def _gpt2_sizes(config: Mapping[str, Any]) -> dict[str, Any]:
    hidden = _need(config, "n_embd")
    return {
        "layers": _need(config, "n_layer"),
        "hidden": hidden,
        "heads": _need(config, "n_head"),
        "intermediate": config.get("n_inner") or 4 * hidden,  # null in the published configs
        "vocab": _need(config, "vocab_size"),
        "positions": _need(config, "n_positions"),
    }


def _need(config: Mapping[str, Any], key: str) -> Any:
    if config.get(key) is None:
        raise KeyError(f"config has no {key!r}, which the count needs; it has {', '.join(sorted(config))}")
    return config[key]


def _biases(kind: str, config: Mapping[str, Any]) -> dict[str, Any]:
    biases: list[str] = list(_TYPES[kind].get("biases", ()))
    if kind in ("llama", "qwen3") and config.get("attention_bias"):
        biases += ["q", "k", "v", "o"]
    if kind == "llama" and config.get("mlp_bias"):
        biases += ["gate", "up", "down"]
    return {"biases": tuple(biases)}


def _shape(layers: int, hidden: int, heads: int, kv: int, inter: int, vocab: int, **rest: Any) -> ModelShape:
    return ModelShape(
        layers=layers, hidden=hidden, heads=heads, kv_heads=kv, intermediate=inter, vocab=vocab, **rest
    )


_QWEN2 = ("q", "k", "v")
#: Shapes of public models, from their published config.json files.
PRESETS: dict[str, ModelShape] = {
    "GPT-2 small": _shape(
        12, 768, 12, 12, 3072, 50257, tied=True, family="gpt2", positions=1024, name="GPT-2 small"
    ),
    "SmolLM2-135M": _shape(30, 576, 9, 3, 1536, 49152, tied=True, name="SmolLM2-135M"),
    "Qwen2.5-0.5B": _shape(24, 896, 14, 2, 4864, 151936, tied=True, biases=_QWEN2, name="Qwen2.5-0.5B"),
    "Qwen3-0.6B": _shape(
        28, 1024, 16, 8, 3072, 151936, head_dim=128, tied=True, qk_norm=True, name="Qwen3-0.6B"
    ),
    "Qwen2.5-1.5B": _shape(28, 1536, 12, 2, 8960, 151936, tied=True, biases=_QWEN2, name="Qwen2.5-1.5B"),
    "Phi-3-mini": _shape(32, 3072, 32, 32, 8192, 32064, family="phi3", name="Phi-3-mini"),
    "Llama-2-7B": _shape(32, 4096, 32, 32, 11008, 32000, name="Llama-2-7B"),
    "CodeLlama-7B": _shape(32, 4096, 32, 32, 11008, 32016, name="CodeLlama-7B"),
    "Mistral-7B": _shape(32, 4096, 32, 8, 14336, 32000, name="Mistral-7B"),
    "Qwen2.5-7B": _shape(28, 3584, 28, 4, 18944, 152064, biases=_QWEN2, name="Qwen2.5-7B"),
    "Llama-3-8B": _shape(32, 4096, 32, 8, 14336, 128256, name="Llama-3-8B"),
}
_OTHER_NAMES = {
    "gpt2": "GPT-2 small",
    "gpt-2": "GPT-2 small",
    "llama-3.1-8b": "Llama-3-8B",  # same shape
    "meta-llama-3-8b": "Llama-3-8B",
    "mistral-7b-v0.1": "Mistral-7B",
    "phi-3-mini-4k": "Phi-3-mini",
}
_ENDINGS = ("-instruct", "-hf", "-base", "-chat")  # same shape as the model without


def find_model(model: str | ModelShape | Mapping[str, Any]) -> ModelShape:
    """Find a preset by its name, or take a shape, or read a ``config.json`` dict.

    Parameters
    ----------
    model : str, ModelShape or mapping
        Names ignore case, owner and endings such as ``-Instruct``. A mapping holds either the fields of
        :class:`ModelShape` or those of ``config.json`` (it then has a ``model_type``).

    Returns
    -------
    ModelShape
        The shape to count.

    Raises
    ------
    ValueError
        If no preset has that name; the message lists them.
    TypeError
        If `model` is something else.

    Examples
    --------
    >>> find_model("Qwen/Qwen2.5-0.5B-Instruct").params
    494032768
    """
    if isinstance(model, ModelShape):
        return model
    if isinstance(model, Mapping):
        return read_config(model) if "model_type" in model else _from_fields(model)
    if not isinstance(model, str):
        raise TypeError(f"model must be a name, a ModelShape or a config dict, got {type(model).__name__}")
    key = model.rsplit("/", 1)[-1].lower()
    for ending in _ENDINGS:
        key = key.removesuffix(ending)
    names = {name.lower(): name for name in PRESETS} | _OTHER_NAMES
    if key not in names:
        raise ValueError(
            f"unknown model {model!r}; {closest(key, PRESETS)}. "
            "For any other, pass a ModelShape or the dict of its config.json"
        )
    return PRESETS[names[key]]


def _from_fields(model: Mapping[str, Any]) -> ModelShape:
    known = [field.name for field in fields(ModelShape)]
    for name in model:
        if name not in known:
            raise ValueError(f"a model shape has no {name!r}; {closest(name, known)}")
    missing = [name for name in known[:5] if name not in model]
    if missing:
        raise ValueError(f"the model shape lacks {', '.join(missing)}; pass these numbers too")
    return ModelShape(**dict(model))
