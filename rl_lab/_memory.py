"""How much memory do weights, gradients and optimizer states take, in full tuning and with LoRA?

Activations are **not** counted: they depend on batch, length and checkpointing, and often decide. Nor are the
framework's own buffers, nor the samples that GRPO generates.

>>> {key: round(value / 1e9, 1) for key, value in memory("Llama-3-8B").items() if key in ("weights", "total")}
{'weights': 16.1, 'total': 128.5}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rl_lab._models import ModelShape, closest
from rl_lab._presets import find_model
from rl_lab._targets import adapted_parts, adapter_size, saved_parts

_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}
# NF4 with double quantisation (QLoRA, arXiv:2305.14314, section 3): 4 bits a weight, a constant of 8 bits per
# block of 64 weights, and one of 32 bits per 256 blocks.
_NF4_BYTES = (4 + 8 / 64 + 32 / (64 * 256)) / 8
# Numbers kept per trained parameter, and bytes of each; None: as wide as the parameter that is updated.
_STATES: dict[str, tuple[int, int | None]] = {"adamw": (2, None), "adamw_8bit": (2, 1), "sgd": (0, None)}


def memory(
    model: str | ModelShape | Mapping[str, Any],
    mode: str = "full",
    *,
    r: int = 16,
    targets: str | Iterable[str] = "all-linear",
    modules_to_save: Iterable[str] = (),
    optimizer: str = "adamw",
    weights: str = "bf16",
    adapter: str = "fp32",
    master_weights: bool = True,
) -> dict[str, int | float]:
    """Count the bytes that training holds on to, activations excluded.

    The account is the usual one of mixed precision (Rajbhandari et al. 2020, ZeRO, section 3.1): 16 bytes for
    a trained parameter, namely weight 2, gradient 2, and with the optimizer an fp32 master copy 4 and AdamW's
    two moments 4 + 4. A frozen parameter costs its weight alone. Adapters are kept in fp32, as PEFT does by
    default, and need no master copy: 4 + 4 + 8, the same 16.

    Parameters
    ----------
    model : str, ModelShape or mapping
        See :func:`rl_lab.lora.find_model`.
    mode : str
        ``"full"``, ``"lora"``, or ``"qlora"``: LoRA on a base in 4-bit NF4. Embeddings, output layer, biases
        and norms stay in the type of `weights`; ``"fp32"`` after PEFT's ``prepare_model_for_kbit_training``.
    r : int
        Rank, for the two LoRA modes.
    targets, modules_to_save : str or iterable of str
        As in :func:`rl_lab.lora.model_lora_params`; full copies are trained in the type of `weights`.
    optimizer : str
        ``"adamw"``, ``"adamw_8bit"`` (its block constants, under 0.04 bytes a parameter, are left out) or
        ``"sgd"`` (no momentum).
    weights, adapter : str
        ``"bf16"``, ``"fp16"`` or ``"fp32"``.
    master_weights : bool
        False for training purely in 16 bits: no fp32 copy, and AdamW's moments in 16 bits as well (8 bytes in
        all). It is what a loop gets that loads a model in bf16 and asks for nothing more.

    Returns
    -------
    dict
        Bytes under ``weights`` (base, adapter and full copies), ``gradients``, ``optimizer`` and their sum
        ``total``; ``trained``, a number of parameters; ``saved_mb``, megabytes (10**6 bytes) of what is
        stored for this task: the adapter and full copies, or in full tuning the model.

    Raises
    ------
    ValueError
        If a name is unknown or a rank is below 1.

    Examples
    --------
    >>> memory("Llama-2-7B", "lora", r=8, targets="attention")["saved_mb"]
    33.554432
    """
    shape = find_model(model)
    for argument, name, choices in (
        ("mode", mode, ("full", "lora", "qlora")),
        ("optimizer", optimizer, _STATES),
        ("weights", weights, _BYTES),
        ("adapter", adapter, _BYTES),
    ):
        if name not in choices:
            raise ValueError(f"{argument} is {name!r}; {closest(name, choices)}")
    if mode == "full":
        frozen, trained = 0, [(shape.params, weights)]
    else:
        saved = saved_parts(shape, modules_to_save)
        low = adapter_size([part for part in adapted_parts(shape, targets) if part not in saved], r)
        frozen = _base_bytes(shape, _BYTES[weights], four_bit=mode == "qlora")
        trained = [(low, adapter), (sum(part.size for part in saved), weights)]
    costs = [(number, *_trained_bytes(kind, optimizer, master_weights)) for number, kind in trained]
    stored = sum(number * weight for number, weight, _, _ in costs)
    account = {
        "weights": frozen + stored,
        "gradients": sum(number * gradient for number, _, gradient, _ in costs),
        "optimizer": sum(number * states for number, _, _, states in costs),
    }
    account["total"] = sum(account.values())
    return account | {"trained": sum(number for number, _ in trained), "saved_mb": stored / 1e6}


def _trained_bytes(kind: str, optimizer: str, master: bool) -> tuple[int, int, int]:
    """Bytes per trained parameter: weight, gradient, and what the optimizer keeps."""
    width = _BYTES[kind]
    copy = 4 if master and width < 4 else 0
    number, state = _STATES[optimizer]
    return width, width, copy + number * (state or max(width, copy))


def _base_bytes(shape: ModelShape, width: int, *, four_bit: bool) -> int:
    """Bytes of the frozen model; in four bits only the matrices of the blocks shrink."""
    matrices = sum(part.copies * part.d_in * part.d_out for part in shape.linears()) if four_bit else 0
    return (shape.params - matrices) * width + round(matrices * _NF4_BYTES)
