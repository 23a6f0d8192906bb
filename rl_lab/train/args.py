"""Does every setting you give reach the trainer? Here it does, or it is reported by name.

Two builders make TRL's configurations: :func:`build_sft_args` and :func:`build_grpo_args`. They put our defaults in
place of TRL's (the table in chapter 11 says which and why), translate the names that older texts use, and refuse names
that mean nothing. Each has a learning rate of its own: GRPO with SFT's destroys a model.

>>> build_grpo_args(kl_coef=0.02, max_new_tokens=64).beta                               # doctest: +SKIP
0.02
"""

from __future__ import annotations

import math
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

from rl_lab.grpo import check_batch
from rl_lab.train._need import need
from rl_lab.train.names import SettingWarning, translate

__all__ = [
    "LEARNING_RATES",
    "build_grpo_args",
    "build_lora",
    "build_sft_args",
    "check_learning_rate",
]


LEARNING_RATES = {
    # (method, tuning): default. LoRA takes about ten times the rate of full tuning (LoRA Without Regret, 2025).
    ("sft", "full"): 2e-5,
    ("sft", "lora"): 2e-4,
    ("grpo", "full"): 1e-6,
    ("grpo", "lora"): 1e-5,
}
_TOO_HIGH = {("sft", "full"): 1e-4, ("sft", "lora"): 2e-3, ("grpo", "full"): 1e-5, ("grpo", "lora"): 1e-3}
_SMALL_MODEL = (
    10_000_000  # parameters; below, rates a hundred times higher are right (measured on the tiny model)
)


def check_learning_rate(rate: float, method: str, *, lora: bool, parameters: int | None = None) -> str | None:
    """Say what is wrong with a learning rate; None if nothing is known to be.

    Parameters
    ----------
    rate : float
    method : {"sft", "grpo"}
    lora : bool
        Whether only an adapter is trained.
    parameters : int, optional
        Size of the model; rates that ruin a pretrained model are what a tiny one needs.

    Examples
    --------
    >>> check_learning_rate(float("nan"), "grpo", lora=False)
    Traceback (most recent call last):
    ...
    ValueError: learning_rate must be a finite number of at least 0, got nan; the default here is 1e-06
    >>> check_learning_rate(3e-6, "grpo", lora=False) is None
    True
    >>> check_learning_rate(5e-5, "grpo", lora=False)[:72]
    'learning_rate=5e-05 is above 1e-05, the most that is usual for GRPO with'
    """
    if not 0 <= rate < math.inf:
        raise ValueError(
            f"learning_rate must be a finite number of at least 0, got {rate}; the default here is "
            f"{LEARNING_RATES[method, 'lora' if lora else 'full']:g}"
        )
    tuning = "lora" if lora else "full"
    limit = _TOO_HIGH[method, tuning]
    if parameters is not None and parameters < _SMALL_MODEL:
        limit *= 200
    if rate <= limit:
        return None
    return (
        f"learning_rate={rate:g} is above {limit:g}, the most that is usual for {method.upper()} with "
        f"{'LoRA' if lora else 'full tuning'}: one report has 5e-5, a rate for SFT, take Qwen3-0.6B from 57 % to 2.4 % "
        "(HelloAgents issue 107). "
        f"The default here is {LEARNING_RATES[method, tuning]:g}"
    )


def build_grpo_args(
    learning_rate: float | None = None,
    *,
    device: str = "auto",
    precision: str = "auto",
    lora: bool = False,
    parameters: int | None = None,
    world: int | None = None,
    **settings: Any,
) -> Any:
    """Build ``trl.GRPOConfig`` with our defaults; every setting you give arrives or is reported.

    Parameters
    ----------
    learning_rate : float, optional
        1e-6 for full tuning and 1e-5 with LoRA by default. Above 1e-5 (LoRA: 1e-3) a `SettingWarning`.
    device : {"auto", "cpu", "cuda", "mps"}
    precision : {"auto", "fp32", "bf16", "fp16"}
        As in :func:`rl_lab.train.precision.pick_precision`.
    lora : bool, default False
        Whether an adapter is trained: it decides the default learning rate.
    parameters : int, optional
        Size of the model, for the warning about the learning rate.
    world : int, optional
        Number of processes, for the check of the batch; by default what ``accelerate launch`` set.
    **settings
        Fields of GRPOConfig, by today's or older names.

    Returns
    -------
    trl.GRPOConfig

    Raises
    ------
    ValueError
        If the batch does not hold whole groups, a name is unknown, or the precision is not available.
    """
    trl = need("trl")
    defaults = {
        "num_generations": 8,
        "per_device_train_batch_size": 8,
        "max_completion_length": 256,
        "lr_scheduler_type": "constant",
        "max_tool_calling_iterations": 4,
    }
    taken = _collect(
        "grpo", trl.GRPOConfig, defaults, settings, learning_rate, device, precision, lora, parameters
    )
    _check_batch(taken, world)
    _check_vllm(taken)
    return trl.GRPOConfig(**taken)


def build_sft_args(
    learning_rate: float | None = None,
    *,
    device: str = "auto",
    precision: str = "auto",
    lora: bool = True,
    parameters: int | None = None,
    **settings: Any,
) -> Any:
    """Build ``trl.SFTConfig`` with our defaults; parameters as in `build_grpo_args`.

    The learning rate is 2e-4 with LoRA and 2e-5 for full tuning by default. The loss is on the completion only, and
    sequences are cut at 512 tokens.
    """
    trl = need("trl")
    defaults = {
        "per_device_train_batch_size": 8,
        "max_length": 512,
        "lr_scheduler_type": "cosine",
        "warmup_steps": 3,
        "num_train_epochs": 1,
    }
    if settings.get("train_sampling_strategy") == "group_by_length":
        raise ValueError(
            "train_sampling_strategy='group_by_length' sorts a small data set from long to short: the model sees all "
            "tool traces first and all guesses last, and forgets the tool (measured: 0 % calls); leave it out"
        )
    taken = _collect(
        "sft", trl.SFTConfig, defaults, settings, learning_rate, device, precision, lora, parameters
    )
    return trl.SFTConfig(**taken)


def _collect(
    method: str,
    config_class: type,
    defaults: dict[str, Any],
    settings: dict[str, Any],
    learning_rate: float | None,
    device: str,
    precision: str,
    lora: bool,
    parameters: int | None,
) -> dict[str, Any]:
    given, notes = translate(settings, config_class)
    if (
        "gradient_checkpointing" in given
    ):  # the name that everyone knows; transformers 5 warns about it on every use
        given.setdefault("activation_checkpointing", given.pop("gradient_checkpointing"))
    rate = learning_rate if learning_rate is not None else given.pop("learning_rate", None)
    rate = LEARNING_RATES[method, "lora" if lora else "full"] if rate is None else float(rate)
    warning = check_learning_rate(rate, method, lora=lora, parameters=parameters)
    for note in [*notes, *([warning] if warning else [])]:
        warnings.warn(note, SettingWarning, stacklevel=4)
    return _common(device, precision, given) | defaults | given | {"learning_rate": rate}


def _common(device: str, precision: str, given: dict[str, Any]) -> dict[str, Any]:
    """What both methods need on this machine. TRL turns bf16 and gradient checkpointing on, which a CPU cannot take."""
    from rl_lab.train.precision import pick_device, pick_precision

    where, capability, _ = pick_device("cpu" if given.get("use_cpu") else device)
    asked = next((p for p in ("bf16", "fp16") if given.get(p) and precision == "auto"), precision)
    chosen = pick_precision(where, capability, asked)
    saves = "save_steps" in given  # the trainer makes its folder even if it never writes into it
    return {
        "output_dir": "runs/out/scratch" if saves else str(Path(tempfile.gettempdir()) / "rl_lab-scratch"),
        "use_cpu": where == "cpu",
        "bf16": chosen == "bf16",
        "fp16": chosen == "fp16",
        "activation_checkpointing": where == "cuda",  # older name: gradient_checkpointing
        "dataloader_pin_memory": where == "cuda",
        "logging_steps": 1,
        "logging_nan_inf_filter": False,  # a loss of nan would be logged as 0: a dead run that looks perfect
        "report_to": "none",
        "save_strategy": "steps" if saves else "no",
        "disable_tqdm": True,
        "weight_decay": 0.0,
        "push_to_hub": False,
        "hub_private_repo": True,
    }


def _check_batch(taken: dict[str, Any], world: int | None) -> None:
    import os

    verdict = check_batch(
        taken["per_device_train_batch_size"],
        int(os.environ.get("WORLD_SIZE", 1)) if world is None else world,
        taken.get("gradient_accumulation_steps", 1),
        taken["num_generations"],
        steps_per_generation=taken.get("steps_per_generation"),
    )
    if not verdict.ok and "generation_batch_size" not in taken:
        raise ValueError(verdict.message)


def _check_vllm(taken: dict[str, Any]) -> None:
    import importlib.util

    if taken.get("use_vllm") and importlib.util.find_spec("vllm") is None:
        raise ImportError(
            "use_vllm=True needs vLLM, which is not installed (it runs on Linux with a CUDA GPU); run: "
            'pip install "trl[vllm]", or leave use_vllm out and transformers generates'
        )


def build_lora(
    rank: int = 8, alpha: float | None = None, target_modules: str | list[str] = "all-linear", **settings: Any
) -> Any:
    """Build ``peft.LoraConfig``.

    Parameters
    ----------
    rank : int, default 8
        PEFT calls it ``r``.
    alpha : float, optional
        PEFT's ``lora_alpha``; twice the rank by default, so that the update is scaled by 2.
    target_modules : str or list of str
        "all-linear" by default: every linear layer but the output layer.
    **settings
        Further fields of LoraConfig.

    Warns
    -----
    SettingWarning
        If the output layer is named, on which TRL's trainers refuse an adapter, or the token embedding, which most
        small models tie to it (unless ``ensure_weight_tying`` is set).
    """
    peft = need("peft")
    if rank < 1:
        raise ValueError(f"rank must be at least 1, got {rank}; 8 is a good start")
    taken, notes = translate(settings, peft.LoraConfig)
    for note in [*notes, *_tied_targets(target_modules, taken)]:
        warnings.warn(note, SettingWarning, stacklevel=2)
    fields = {"r": rank, "lora_alpha": 2 * rank if alpha is None else alpha, "target_modules": target_modules}
    return peft.LoraConfig(**fields, task_type="CAUSAL_LM", **taken)


def _tied_targets(targets: str | list[str], settings: dict[str, Any]) -> list[str]:
    """Say what is wrong with an adapter on the output layer, or on an embedding that may be tied to it."""

    def named(layer: str) -> bool:
        keys = (layer, f"model.{layer}")
        if isinstance(targets, str):  # PEFT takes a text for a regular expression over whole paths
            return any(re.fullmatch(targets, key) for key in keys)
        return any(key == target or key.endswith(f".{target}") for key in keys for target in targets)

    tied = "embedding and output layer are one matrix in most small models (SmolLM2, Qwen2.5-0.5B)"
    notes = []
    if heads := [layer for layer in ("lm_head", "embed_out") if named(layer)]:
        notes.append(
            f"target_modules holds {heads[0]}: TRL's trainers refuse an adapter there, because they compute "
            f"log-probabilities from its weight alone; and {tied}, which merging would untie. Leave it out; "
            "'all-linear' does"
        )
    embeddings = [layer for layer in ("embed_tokens", "wte", "embed_in") if named(layer)]
    if embeddings and not settings.get("ensure_weight_tying"):
        notes.append(
            f"target_modules holds {embeddings[0]}: {tied}, and then the adapter leaves the output layer as it was, "
            "and merging unties the two. Leave it out, or set ensure_weight_tying=True"
        )
    return notes
