"""Which matrices of a model do target names mean? PEFT's rules, except that an unknown name is an error.

PEFT ignores a name that matches nothing as long as another one matches, so that a slip of the pen trains less
than was meant.

>>> from rl_lab._presets import find_model
>>> [part.name for part in adapted_parts(find_model("GPT-2 small"), "attention")]
['attn.c_attn', 'attn.c_proj']
"""

from __future__ import annotations

from collections.abc import Iterable

from rl_lab._models import ModelShape, Part, closest, whole_number

#: Names for several linear layers at once, by the short names of what they hold.
TARGET_SETS: dict[str, tuple[str, ...]] = {
    "attention": ("q", "k", "v", "o", "qkv"),
    "mlp": ("gate", "up", "down", "gate_up"),
    "all-linear": ("q", "k", "v", "o", "qkv", "gate", "up", "down", "gate_up"),
}
# What a reader may ask for, and the fused layer that holds it in models that have one.
_FUSED = dict.fromkeys(("q", "k", "v", "q_proj", "k_proj", "v_proj"), "qkv")
_FUSED |= dict.fromkeys(("gate", "up", "gate_proj", "up_proj"), "gate_up")
# And the other way round: the name of a fused layer, asked of a model that keeps its members apart.
_APART = dict.fromkeys(("qkv", "qkv_proj", "c_attn", "query_key_value", "Wqkv"), ("q", "k", "v"))
_APART |= dict.fromkeys(("gate_up", "gate_up_proj"), ("gate", "up"))


def adapted_parts(shape: ModelShape, targets: str | Iterable[str]) -> tuple[Part, ...]:
    """List the weights that get an adapter.

    Parameters
    ----------
    shape : ModelShape
        The model.
    targets : str or iterable of str
        ``"attention"``, ``"mlp"``, ``"all-linear"``, or names: short (``"q"``), PEFT's (``"q_proj"``) or
        dotted (``"mlp.c_proj"``). A name that fits two layers means both, as in PEFT: GPT-2's ``"c_proj"``.

    Returns
    -------
    tuple of Part
        In the model's order, each once.

    Raises
    ------
    ValueError
        If there is no name, or one that the model does not have; the message says what it has.
    TypeError
        If a name is not a string.
    """
    choices = [part for part in shape.parts() if part.kind != "norm"]
    names = _names("targets", targets)
    wanted: set[str] = set()
    for name in names:
        wanted |= {part.name for part in _find(shape, choices, name, "targets")}
    return tuple(part for part in choices if part.name in wanted)


def saved_parts(shape: ModelShape, modules_to_save: str | Iterable[str]) -> tuple[Part, ...]:
    """List the weights that PEFT copies and trains in full (its ``modules_to_save``); may be none.

    Norms can be named here too. PEFT matches the end of a name without asking for a dot, so ``"norm"`` means
    every norm and ``"proj"`` every projection; this is kept.
    """
    choices = list(shape.parts())
    names = _names("modules_to_save", modules_to_save, may_be_empty=True)
    wanted: set[str] = set()
    for name in names:
        ends = [part for part in choices if part.name.endswith(name)]
        wanted |= {part.name for part in ends or _find(shape, choices, name, "modules_to_save")}
    return tuple(part for part in choices if part.name in wanted)


def tied_parts(shape: ModelShape, parts: Iterable[Part]) -> list[Part]:
    """Those of `parts` that are one matrix with another layer: token embedding and output layer of a tied model.

    >>> from rl_lab._presets import find_model
    >>> shape = find_model("GPT-2 small")
    >>> [part.name for part in tied_parts(shape, adapted_parts(shape, ["wte", "wpe", "attn.c_attn", "lm_head"]))]
    ['wte', 'lm_head']
    """
    ends = ("embedding", shape.vocab), ("head", shape.hidden)  # a position embedding is an embedding too
    return [part for part in parts if shape.tied and (part.kind, part.d_in) in ends]


def adapter_size(parts: Iterable[Part], r: int) -> int:
    """Count the numbers in A (r x d_in) and B (d_out x r) over all copies; a bias gets no adapter."""
    rank = whole_number("r", r)
    return sum(rank * (part.d_in + part.d_out) * part.copies for part in parts)


def _names(argument: str, value: str | Iterable[str], *, may_be_empty: bool = False) -> list[str]:
    if value is not None and not isinstance(value, Iterable):
        raise TypeError(f"{argument} must be a name or a list of names, got {value!r}; pass ['q_proj']")
    names = [value] if isinstance(value, str) else list(value or ())
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{argument} must hold names, got {name!r}; pass strings such as 'q_proj'")
        if not name:  # as the end of a name it would fit every layer of the model
            raise ValueError(f"{argument} holds an empty name; pass names such as 'q_proj', or leave it out")
    if not names and not may_be_empty:
        raise ValueError(f"{argument} is empty, so nothing would be trained; pass for instance 'all-linear'")
    return names


def _find(shape: ModelShape, choices: list[Part], name: str, argument: str) -> list[Part]:
    if name in TARGET_SETS and argument == "targets":
        return [part for part in choices if part.kind == "linear" and part.short in TARGET_SETS[name]]
    found = [part for part in choices if part.answers_to(name)]
    if found:
        return found
    raise ValueError(f"{argument} names {name!r}, which {shape.name} does not have{_advice(choices, name)}")


def _advice(choices: list[Part], name: str) -> str:
    """Say what to write instead of `name`."""
    last = {part.short: part.name.rsplit(".", 1)[-1] for part in choices}
    if _FUSED.get(name) in last:
        return f" by itself: it is fused into one matrix; target {last[_FUSED[name]]!r}"
    if last.keys() >= set(_APART.get(name, "?")):
        return f": they are not fused here; target {[last[short] for short in _APART[name]]}"
    known = [last[part.short] for part in choices if part.kind != "norm"]
    return f"; {closest(name, dict.fromkeys([*known, *TARGET_SETS]))}"
