"""How many numbers does LoRA train, how strongly do they act, and what does that save?

A frozen matrix W of d x k gets an update of low rank: ``W + (alpha / r) * B @ A``, B of d x r and A of r x k.
So ``r * (d + k)`` numbers are trained in place of ``d * k``. Counts of whole models equal PEFT's own.

>>> full_finetune_params(4096, 4096) // lora_params(4096, 4096, r=8)
256
>>> model_lora_params("Llama-3-8B", ["q", "k", "v", "o"], r=8)["trainable"]
6815744

References
----------
Hu et al. (2021), LoRA, arXiv:2106.09685, section 4.1. Kalajdzievski (2023), rsLoRA, arXiv:2312.03732.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from rl_lab._adapter import lora_forward, merge, scaling
from rl_lab._memory import memory
from rl_lab._models import ModelShape, Part, whole_number
from rl_lab._presets import PRESETS, find_model, read_config
from rl_lab._targets import TARGET_SETS, adapted_parts, adapter_size, saved_parts, tied_parts

__all__ = [
    "PRESETS",
    "TARGET_SETS",
    "ModelShape",
    "break_even_rank",
    "find_model",
    "full_finetune_params",
    "lora_forward",
    "lora_params",
    "memory",
    "merge",
    "model_lora_params",
    "read_config",
    "scaling",
]


def full_finetune_params(d: int, k: int) -> int:
    """Count what full tuning trains in one d x k matrix: all of it.

    Parameters
    ----------
    d, k : int
        Rows (output width) and columns (input width), at least 1.

    Returns
    -------
    int
        ``d * k``.

    Raises
    ------
    TypeError, ValueError
        If a size is no whole number, or below 1.

    Examples
    --------
    >>> full_finetune_params(4096, 4096)
    16777216
    """
    return whole_number("d", d) * whole_number("k", k)


def lora_params(d: int, k: int, r: int) -> int:
    """Count what LoRA trains beside one d x k matrix: B (d x r) and A (r x k).

    Parameters
    ----------
    d, k : int
        Size of the frozen matrix; the order does not matter.
    r : int
        Rank, at least 1.

    Returns
    -------
    int
        ``r * (d + k)``.

    Warns
    -----
    UserWarning
        If `r` is above :func:`break_even_rank`, so that the pair is bigger than the matrix; also if it is
        above ``min(d, k)``, the highest rank that a d x k matrix can have. Such adapters exist and work, so
        it is no error.

    Raises
    ------
    TypeError, ValueError
        If an argument is no whole number, or below 1.

    References
    ----------
    Hu et al. (2021), arXiv:2106.09685, section 4.1.

    Examples
    --------
    >>> [lora_params(4096, 4096, r) for r in (4, 8, 16, 64)]
    [32768, 65536, 131072, 524288]
    """
    d, k, r = whole_number("d", d), whole_number("k", k), whole_number("r", r)
    _warn_if_wasteful(f"{d}x{k} matrix", d, k, r)
    return r * (d + k)


def break_even_rank(d: int, k: int) -> int:
    """Find the largest rank at which A and B together are no bigger than the d x k matrix.

    Parameters
    ----------
    d, k : int
        Size of the matrix, at least 1.

    Returns
    -------
    int
        ``d * k // (d + k)``: half of d for a square matrix. 0 if even rank 1 costs more, as beside a vector.

    Examples
    --------
    >>> break_even_rank(4096, 4096), break_even_rank(4096, 1024), break_even_rank(4096, 1)
    (2048, 819, 0)
    """
    return full_finetune_params(d, k) // (d + k)


def _warn_if_wasteful(what: str, d: int, k: int, r: int, stacklevel: int = 3) -> None:
    if r <= d * k // (d + k):
        return
    message = (
        f"rank {r} saves nothing on a {what}: A and B hold {r * (d + k):,} numbers, the matrix {d * k:,}"
    )
    if r > min(d, k):
        message += f"; above {min(d, k)} it adds no rank either"
    warnings.warn(f"{message}. Use a rank of at most {d * k // (d + k)}.", UserWarning, stacklevel)


def model_lora_params(
    model: str | ModelShape | Mapping[str, Any],
    targets: str | Iterable[str] = "all-linear",
    r: int = 16,
    modules_to_save: str | Iterable[str] = (),
) -> dict[str, Any]:
    """Count what LoRA trains in a whole model, as PEFT's ``print_trainable_parameters`` does.

    Parameters
    ----------
    model : str, ModelShape or mapping
        Name of a preset (see `PRESETS`), a shape, or the dict of a ``config.json``.
    targets : str or iterable of str
        ``"attention"``, ``"mlp"``, ``"all-linear"`` (every linear layer but the output layer), or names: q,
        k, v, o, gate, up, down, PEFT's ``q_proj`` ..., also ``embed_tokens`` and ``lm_head``.
    r : int
        Rank, at least 1, the same everywhere.
    modules_to_save : str or iterable of str
        Layers that are copied and trained in full, not by rank. They win over `targets`.

    Returns
    -------
    dict
        ``trainable``; ``base``; ``all``, which is the base **plus** everything added; ``percent``, their
        ratio ``100 * trainable / all`` rounded to PEFT's four decimals; ``per_target``, the trained number
        under each layer's name.

    Warns
    -----
    UserWarning
        If `modules_to_save` copies whole matrices, the rank saves nothing on some of the targets, or a target is a
        matrix that the model ties to another layer.

    Raises
    ------
    TypeError, ValueError
        If the model, a name or the rank is not usable. PEFT skips a name it does not find; this does not.

    Notes
    -----
    Biases are frozen and no DoRA vector is added, PEFT's defaults. Loading the base in 4 bits changes nothing.

    Examples
    --------
    >>> count = model_lora_params("CodeLlama-7B", ["q", "k", "v", "o"], r=8)
    >>> count["trainable"], count["all"], count["percent"]
    (8388608, 6746935296, 0.1243)
    >>> model_lora_params("Qwen2.5-0.5B", "attention", r=8)["per_target"]
    {'q_proj': 344064, 'k_proj': 196608, 'v_proj': 196608, 'o_proj': 344064}
    """
    shape, r = find_model(model), whole_number("r", r)
    saved = saved_parts(shape, modules_to_save)
    adapted = [part for part in adapted_parts(shape, targets) if part not in saved]
    sizes = {part.name: adapter_size([part], r) for part in adapted}
    sizes |= {part.name: part.size for part in saved}
    _warn_about_rank(shape, adapted, r)
    _warn_about_ties(shape, adapted)
    _warn_about_copies(shape, saved, sum(sizes[part.name] for part in adapted))
    trainable = sum(sizes.values())
    return {
        "trainable": trainable,
        "all": shape.params + trainable,
        "base": shape.params,
        "percent": round(100 * trainable / (shape.params + trainable), 4),
        "per_target": {_last_name(shape, name): size for name, size in sizes.items()},
    }


def _last_name(shape: ModelShape, name: str) -> str:
    """Shorten ``self_attn.q_proj`` to ``q_proj``, unless two layers end alike (GPT-2's ``c_proj``)."""
    last = name.rsplit(".", 1)[-1]
    return last if sum(part.answers_to(last) for part in shape.parts()) == 1 else name


def _warn_about_rank(shape: ModelShape, adapted: list[Part], r: int) -> None:
    if adapted:
        part = min(adapted, key=lambda part: break_even_rank(part.d_out, part.d_in))
        what = f"{part.d_out}x{part.d_in} matrix ({part.name} of {shape.name})"
        _warn_if_wasteful(what, part.d_out, part.d_in, r, stacklevel=4)


def _warn_about_ties(shape: ModelShape, adapted: list[Part]) -> None:
    if tied := tied_parts(shape, adapted):
        names = " and ".join(part.name for part in tied)
        message = (
            f"targets holds {names}, but embedding and output layer of {shape.name} are one matrix: an adapter on one "
            "of the two leaves the other as it was, and merging it unties them; TRL's trainers refuse one on lm_head. "
            "Leave it out; 'all-linear' does"
        )
        warnings.warn(f"{message}.", UserWarning, stacklevel=3)


def _warn_about_copies(shape: ModelShape, saved: tuple[Part, ...], low: int) -> None:
    if not saved:
        return
    copies = sum(part.size for part in saved)
    names = ", ".join(f"{part.name} {part.d_out}x{part.d_in}" for part in saved)
    message = f"modules_to_save copies {copies:,} parameters in full ({names}), beside {low:,} in the adapter"
    if tied_parts(shape, saved):
        message += f"; {shape.name} ties its embedding to lm_head, and the copy unties them"
    warnings.warn(f"{message}. Leave it out unless tokens were added.", UserWarning, stacklevel=3)
