"""Which matrices does a model consist of, and how big is each?

A :class:`ModelShape` holds the dozen numbers of a model's ``config.json`` that decide its size;
:meth:`ModelShape.parts` spells them out as weights, under the names that transformers and PEFT use.
:mod:`rl_lab.lora` counts from that list.

>>> llama = ModelShape(layers=32, hidden=4096, heads=32, kv_heads=8, intermediate=14336, vocab=128256)
>>> llama.params
8030261248
>>> [(part.name, part.d_in, part.d_out) for part in llama.linears()[:2]]
[('self_attn.q_proj', 4096, 4096), ('self_attn.k_proj', 4096, 1024)]
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from operator import index
from typing import Any


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """Return `value` as an int of at least `least`, or say what is wrong with the argument `name`.

    Raises
    ------
    TypeError
        If `value` is not an integer. Booleans are refused: ``True`` would silently count as 1.
    ValueError
        If it is smaller than `least`.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a whole number, got {value!r}; pass an int such as 8")
    if index(value) < least:
        raise ValueError(f"{name} must be at least {least}, got {value}; pass a positive whole number")
    return index(value)


def closest(name: str, choices: Iterable[str]) -> str:
    """Sentence that lists `choices` and, if one is near, asks whether that was meant."""
    choices = list(choices)
    by_lower = {choice.lower(): choice for choice in choices}
    near = difflib.get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.5)
    hint = f"did you mean {by_lower[near[0]]!r}? " if near else ""
    return f"{hint}Choices: {', '.join(choices)}"


@dataclass(frozen=True)
class Part:
    """One kind of weight in a model.

    Attributes
    ----------
    name : str
        Path inside a layer, or inside the model, as transformers writes it: ``"self_attn.q_proj"``.
    short : str
        The short name of the literature: q, k, v, o, gate, up, down; qkv and gate_up where these are fused.
    d_in, d_out : int
        Width of the input and of the output. A norm has ``d_in`` = 1.
    copies : int
        How many the model has: one per layer, or 1.
    bias : bool
        Whether a vector of length `d_out` goes with each.
    kind : str
        ``"linear"``, ``"embedding"``, ``"head"`` or ``"norm"``. LoRA fits the first three.
    """

    name: str
    short: str
    d_in: int
    d_out: int
    copies: int = 1
    bias: bool = False
    kind: str = "linear"

    @property
    def size(self) -> int:
        """Parameters of all copies, bias included."""
        return self.copies * (self.d_in * self.d_out + self.bias * self.d_out)

    def answers_to(self, name: str) -> bool:
        """Tell whether `name` means this part: its short name, or the end of its path (PEFT's rule)."""
        return name in (self.short, self.name) or self.name.endswith("." + name)


# Names and (input, output) widths of the linear layers in one block: h hidden, q and kv the widths of all
# query and key/value heads, i intermediate. GPT-2 stores its weights transposed; r * (in + out) does not
# mind.
_BLOCKS: dict[str, list[tuple[str, str, str, str]]] = {
    "llama": [
        ("self_attn.q_proj", "q", "h", "q"),
        ("self_attn.k_proj", "k", "h", "kv"),
        ("self_attn.v_proj", "v", "h", "kv"),
        ("self_attn.o_proj", "o", "q", "h"),
        ("mlp.gate_proj", "gate", "h", "i"),
        ("mlp.up_proj", "up", "h", "i"),
        ("mlp.down_proj", "down", "i", "h"),
    ],
    "phi3": [
        ("self_attn.qkv_proj", "qkv", "h", "qkv"),
        ("self_attn.o_proj", "o", "q", "h"),
        ("mlp.gate_up_proj", "gate_up", "h", "2i"),
        ("mlp.down_proj", "down", "i", "h"),
    ],
    "gpt2": [
        ("attn.c_attn", "qkv", "h", "qkv"),
        ("attn.c_proj", "o", "q", "h"),
        ("mlp.c_fc", "up", "h", "i"),
        ("mlp.c_proj", "down", "i", "h"),
    ],
    "gpt_neox": [
        ("attention.query_key_value", "qkv", "h", "qkv"),
        ("attention.dense", "o", "q", "h"),
        ("mlp.dense_h_to_4h", "up", "h", "i"),
        ("mlp.dense_4h_to_h", "down", "i", "h"),
    ],
}
# The two norms of a block, the final norm, the token embedding, the position embedding.
_OUTER: dict[str, tuple[str, str, str, str, str]] = {
    "llama": ("input_layernorm", "post_attention_layernorm", "norm", "embed_tokens", ""),
    "phi3": ("input_layernorm", "post_attention_layernorm", "norm", "embed_tokens", ""),
    "gpt2": ("ln_1", "ln_2", "ln_f", "wte", "wpe"),
    "gpt_neox": ("input_layernorm", "post_attention_layernorm", "final_layer_norm", "embed_in", ""),
}
_WITH_BIASES = ("gpt2", "gpt_neox")  # every linear layer and every norm of these families has one


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """The numbers of a decoder-only transformer that decide how many parameters it has.

    Attributes
    ----------
    layers, hidden, heads, intermediate, vocab : int
        As in ``config.json``: blocks, model width, query heads, width inside the MLP, vocabulary.
    kv_heads : int
        Key/value heads; fewer than `heads` in grouped-query attention. By default as many as `heads`.
    head_dim : int
        Width of one head; by default ``hidden // heads``. Qwen3 sets it by itself, so that q is not square.
    tied : bool
        Whether output layer and token embedding are one matrix, which then counts once.
    family : str
        ``"llama"`` (also Mistral, Qwen2, Qwen3, SmolLM2), ``"phi3"``, ``"gpt2"`` or ``"gpt_neox"``: which
        linear layers there are and how they are called.
    biases : tuple of str
        Short names of the linear layers that carry a bias, for instance ``("q", "k", "v")`` in Qwen2.
    qk_norm : bool
        Whether each block norms queries and keys by two vectors of length `head_dim` (Qwen3).
    positions : int
        Rows of a learned position embedding (GPT-2); 0 with rotary positions.
    name : str
        How messages call the model.

    Raises
    ------
    TypeError, ValueError
        If a number is not a positive integer, `heads` is no multiple of `kv_heads`, `hidden` none of `heads` (without
        `head_dim`), or a name is unknown.
    """

    layers: int
    hidden: int
    heads: int
    intermediate: int
    vocab: int
    kv_heads: int | None = None
    head_dim: int | None = None
    tied: bool = False
    family: str = "llama"
    biases: tuple[str, ...] = ()
    qk_norm: bool = False
    positions: int = 0
    name: str = "this model"

    def __post_init__(self) -> None:
        for field in ("layers", "hidden", "heads", "intermediate", "vocab"):
            whole_number(field, getattr(self, field))
        whole_number("positions", self.positions, least=0)
        if self.family not in _BLOCKS:
            raise ValueError(f"unknown family {self.family!r}; {closest(self.family, _BLOCKS)}")
        # A frozen dataclass fills in its own defaults this way.
        object.__setattr__(self, "kv_heads", self.heads if self.kv_heads is None else self.kv_heads)
        if self.head_dim is None and self.hidden % self.heads:
            raise ValueError(
                f"hidden must be a multiple of heads, got {self.hidden} and {self.heads}; pass head_dim otherwise"
            )
        head_dim = self.hidden // self.heads if self.head_dim is None else self.head_dim
        object.__setattr__(self, "head_dim", head_dim)
        whole_number("kv_heads", self.kv_heads)
        whole_number("head_dim", self.head_dim)
        if self.heads % self.kv_heads:
            raise ValueError(f"heads must be a multiple of kv_heads, got {self.heads} and {self.kv_heads}")
        unknown = set(self.biases) - {short for _, short, _, _ in _BLOCKS[self.family]}
        if unknown:
            shorts = [short for _, short, _, _ in _BLOCKS[self.family]]
            raise ValueError(f"unknown bias {min(unknown)!r}; {closest(min(unknown), shorts)}")

    def linears(self) -> tuple[Part, ...]:
        """List the linear layers inside the blocks: what PEFT's ``"all-linear"`` adapts."""
        q, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        width = {"h": self.hidden, "q": q, "kv": kv, "qkv": q + 2 * kv}
        width |= {"i": self.intermediate, "2i": 2 * self.intermediate}
        every = self.family in _WITH_BIASES
        return tuple(
            Part(name, short, width[a], width[b], self.layers, bias=every or short in self.biases)
            for name, short, a, b in _BLOCKS[self.family]
        )

    def parts(self) -> tuple[Part, ...]:
        """List every weight of the model; a tied output layer too, though `params` counts it only once."""
        first, second, final, tokens, positions = _OUTER[self.family]
        bias = self.family in _WITH_BIASES
        norms = [Part(n, n, 1, self.hidden, self.layers, bias, "norm") for n in (first, second)]
        norms.append(Part(final, final, 1, self.hidden, 1, bias, "norm"))
        if self.qk_norm:
            head_norms = ("self_attn.q_norm", "self_attn.k_norm")
            norms += [Part(n, n, 1, self.head_dim, self.layers, False, "norm") for n in head_norms]
        outer = [Part(tokens, tokens, self.vocab, self.hidden, kind="embedding")]
        if self.positions:
            outer.append(Part(positions, positions, self.positions, self.hidden, kind="embedding"))
        outer.append(Part("lm_head", "lm_head", self.hidden, self.vocab, kind="head"))
        return (*self.linears(), *norms, *outer)

    @property
    def params(self) -> int:
        """Parameters of the whole model, a tied matrix counted once: what PEFT calls the base."""
        return sum(part.size for part in self.parts() if not (self.tied and part.kind == "head"))
