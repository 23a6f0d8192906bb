r"""Why does a model that SFT could train run out of memory under GRPO, and what helps?

Three things are in memory at once: what training holds on to (:func:`rl_lab.lora.memory`), what one update saves for
its backward pass, and, before that, the cache of the completions being generated. :func:`footprint` adds them up for a
model of the Llama family (Llama, Mistral, Qwen2, SmolLM2). An estimate to compare settings with: allocators, buffers
and fragmentation come on top.

>>> big = footprint("Qwen2.5-0.5B", per_device=16, prompt_tokens=128, completion_tokens=512)
>>> small = footprint("Qwen2.5-0.5B", per_device=4, prompt_tokens=128, completion_tokens=512, steps=4)
>>> [round(f.activations / 1e9, 1) for f in (big, small)], round(small.cache / big.cache, 2)
([17.5, 4.9], 1.0)

The activations are counted exactly: :func:`saved_per_token` says how many bytes autograd saves in one block, and a test
holds it equal to what torch really saves.

References
----------
The method of counting is that of Korthikanti et al. (2022), arXiv:2205.05198, section 4, done again for blocks with
RMSNorm, grouped heads, SwiGLU and an attention kernel that keeps no table of attention weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rl_lab._memory import memory
from rl_lab._models import ModelShape, closest, whole_number
from rl_lab._presets import find_model
from rl_lab._record import Record

__all__ = ["PRECISIONS", "footprint", "saved_per_token"]

PRECISIONS = {
    "fp32": "everything in 32 bits",
    "bf16=True": "weights in 32 bits, most of the arithmetic in 16: TRL's default, autocast",
    "bf16 weights": "weights, gradients and optimizer in 16 bits",
}
_TILE = (4096, 32768)  # tokens and vocabulary entries that TRL 1.16 projects at a time


def footprint(
    model: str | ModelShape | Mapping[str, Any],
    *,
    per_device: int = 8,
    steps: int = 1,
    prompt_tokens: int = 128,
    completion_tokens: int = 256,
    mode: str = "full",
    r: int = 16,
    precision: str = "bf16=True",
    checkpointing: bool = False,
    reference: bool = False,
    whole_logits: bool = False,
) -> Record:
    """Estimate the bytes that one GRPO step needs on one GPU.

    The group size is no argument, because it changes nothing here: TRL's batches count completions.

    Parameters
    ----------
    model : str, ModelShape or mapping
        See :func:`rl_lab.lora.find_model`; of the Llama family.
    per_device : int
        ``per_device_train_batch_size``: completions in one forward and backward pass.
    steps : int
        ``steps_per_generation`` (as many as are accumulated, unless set): passes per generated batch.
    prompt_tokens, completion_tokens : int
        Longest prompt and longest completion of the batch; shorter ones are padded.
    mode : {"full", "lora"}
        What is trained; `r` is the rank, on all linear layers. Activations are counted as in full tuning: measured,
        LoRA's are 0.95 to 1.15 times that.
    precision : {"fp32", "bf16=True", "fp16=True", "bf16 weights"}
        See `PRECISIONS`; fp16 takes what bf16 takes.
    checkpointing : bool
        Gradient checkpointing: save the input of each block only, and compute one block at a time again.
    reference : bool
        Hold a second copy of the weights for the KL (beta above 0 in full tuning; LoRA needs none).
    whole_logits : bool
        True for a loop that computes all logits of a pass at once (one copy in fp32); TRL 1.16 does not.

    Returns
    -------
    Record
        Bytes: ``weights`` (reference included), ``gradients``, ``optimizer``, ``activations``, ``logits``, ``cache``;
        ``in_update`` and ``in_generation``, the sums of what is there at the time, and ``peak``, the larger of the two.

    Raises
    ------
    ValueError, TypeError
        If a name is unknown, a size is no whole number of at least 1, or the model is of another family.

    Examples
    --------
    >>> f = footprint("Qwen2.5-0.5B", per_device=8, mode="lora")
    >>> f.peak == f.in_update > f.in_generation
    True
    """
    precision = _ALIAS.get(precision, precision)
    shape, width = _llama(model), _width(precision)
    counts = {"per_device": per_device, "steps": steps}
    counts |= {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    per_device, steps, prompt, completion = (whole_number(name, value) for name, value in counts.items())
    if mode not in ("full", "lora"):
        raise ValueError(f"mode is {mode!r}; {closest(mode, ('full', 'lora'))}")
    held = memory(
        shape,
        mode,
        r=r,
        weights="bf16" if precision == "bf16 weights" else "fp32",
        master_weights=False,
    )
    copies = 2 if reference and mode == "full" else 1
    length = prompt + completion
    parts = Record(
        weights=held["weights"] * copies,
        gradients=held["gradients"],
        optimizer=held["optimizer"],
        activations=_activations(shape, per_device, length, precision, checkpointing, mode == "full"),
        logits=_logits(shape, per_device * completion, per_device * length, width, whole_logits),
        cache=_cache(shape, per_device * steps, length, width),
    )
    held_bytes = parts.weights + parts.optimizer
    update = held_bytes + parts.gradients + parts.activations + parts.logits
    generation = held_bytes + parts.cache
    return Record(parts | {"in_update": update, "in_generation": generation, "peak": max(update, generation)})


def saved_per_token(model: str | ModelShape | Mapping[str, Any], precision: str = "bf16=True") -> int:
    """Count the bytes that autograd saves for one token in one block.

    With h the model's width, q and kv those of all query and of all key (or value) heads, m the MLP's, a the number of
    heads: the two norms save input, normed and scaled (3h each) and a scale; attention saves q, k, v and its output,
    and a number per head; the MLP saves gate, its SiLU, up, and their product.

    Parameters
    ----------
    model : str, ModelShape or mapping
    precision : str
        A key of `PRECISIONS`. Norms and residuals stay in 32 bits under ``bf16=True``, and each linear layer keeps a
        copy of its input in 16 bits.

    Returns
    -------
    int
        Bytes.

    Examples
    --------
    >>> tiny = ModelShape(layers=2, hidden=64, heads=4, kv_heads=2, intermediate=192, vocab=500)
    >>> [saved_per_token(tiny, precision) for precision in PRECISIONS]
    [5400, 3608, 2968]
    """
    shape, width = _llama(model), _width(precision)
    h, m, a = shape.hidden, shape.intermediate, shape.heads
    q, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    norms = {"fp32": 6 * 4 * h, "bf16=True": 4 * 4 * h + 5 * 2 * h, "bf16 weights": 2 * (4 + 2 + 2) * h}
    return norms[precision] + width * (2 * q + 2 * kv + 4 * m) + 4 * (a + 2)


def _activations(
    shape: ModelShape, batch: int, length: int, precision: str, checkpointing: bool, full: bool
) -> int:
    """What one pass saves; with checkpointing the inputs of all blocks, and one block while it is done again."""
    tokens, width = batch * length, _width(precision)
    block = tokens * saved_per_token(shape, precision)
    block += (
        batch * length**2 * width
    )  # the mask of a padded batch, which each attention call turns into numbers
    copies = 2 * sum(part.d_in * part.d_out for part in shape.linears()) if precision == "bf16=True" else 0
    stream = 2 if precision == "bf16 weights" else 4  # bytes of a number between the blocks
    end = tokens * shape.hidden * (4 + 2 * stream)  # the last norm, and what the output layer is given
    if not checkpointing:
        return shape.layers * (block + copies) + end
    # Autocast keeps its copies of trained matrices while the pass lasts; those of frozen ones go with their block.
    return (
        shape.layers * tokens * shape.hidden * stream + block + copies * (shape.layers if full else 1) + end
    )


def _logits(shape: ModelShape, scored: int, tokens: int, width: int, whole: bool) -> int:
    if whole:
        return scored * shape.vocab * 4
    return min(tokens, _TILE[0]) * min(shape.vocab, _TILE[1]) * width


def _cache(shape: ModelShape, completions: int, tokens: int, width: int) -> int:
    """Keys and values of every token so far, of all completions that are generated at once, and their next logits."""
    keys = 2 * shape.layers * shape.kv_heads * shape.head_dim * width
    return completions * (tokens * keys + 4 * shape.vocab)


def _llama(model: str | ModelShape | Mapping[str, Any]) -> ModelShape:
    shape = find_model(model)
    if shape.family != "llama" or shape.qk_norm:
        raise ValueError(
            f"model must be of the Llama family (Llama, Mistral, Qwen2, SmolLM2), got {shape.name}; its blocks save "
            "other things, and no formula here counts them"
        )
    return shape


_ALIAS = {"fp16=True": "bf16=True", "fp16": "bf16=True", "bf16": "bf16=True"}


def _width(precision: str) -> int:
    if precision not in PRECISIONS:
        raise ValueError(f"precision is {precision!r}; {closest(precision, PRECISIONS)}")
    return 4 if precision == "fp32" else 2
