"""Does the batch hold whole groups, and what helps when memory runs out?

TRL counts *completions* in its batch sizes. One generation batch has
``per_device_train_batch_size x processes x steps_per_generation`` of them (``steps_per_generation`` is
``gradient_accumulation_steps`` unless you set it), and it must be a multiple of ``num_generations``.

>>> check_batch(per_device=6, world=1, grad_accum=4, num_generations=8).ok
True
>>> check_batch(per_device=6, world=1, grad_accum=1, num_generations=8).ok
False
"""

from __future__ import annotations

import math

from rl_lab._grpo_common import TRL_VERSION, count
from rl_lab._record import Record

_LOOK_AHEAD = 1000  # sizes tried in search of a divisor: no batch of this world needs more, and none hangs
_OTHER_REMEDIES = ("shorter max_completion_length", "gradient checkpointing", "bf16/fp16", "LoRA")


def check_batch(
    per_device: int,
    world: int = 1,
    grad_accum: int = 1,
    num_generations: int = 8,
    *,
    steps_per_generation: int | None = None,
) -> Record:
    """Check the divisibility rule of TRL's GRPOConfig before the trainer does.

    Parameters
    ----------
    per_device : int
        ``per_device_train_batch_size``: completions per process and forward pass.
    world : int, default 1
        Number of processes (GPUs).
    grad_accum : int, default 1
        ``gradient_accumulation_steps``.
    num_generations : int, default 8
        Completions per prompt, the group size.
    steps_per_generation : int, optional
        TRL's setting of that name; `grad_accum` if None.

    Returns
    -------
    Record
        A dict whose keys read as attributes too: ``ok`` (bool), ``effective`` and ``generation_batch`` (completions
        per optimizer step, and per generation), ``prompts_per_step`` (int, None if not whole), ``message`` and
        ``suggestions`` (list of dict). A bad combination is a finding, not an exception: ``ok`` is False, and
        ``message`` names both numbers and the nearest settings that work.

    Raises
    ------
    ValueError, TypeError
        If a size is not a whole number of at least 1.

    Examples
    --------
    >>> verdict = check_batch(per_device=6, world=1, grad_accum=1, num_generations=8)
    >>> verdict.ok, verdict.suggestions[0]
    (False, {'grad_accum': 4, 'batch': 24, 'group': 8})
    >>> check_batch(per_device=2, world=1, grad_accum=4, num_generations=8).message
    '8 completions (per_device 2 x world 1 x grad_accum 4) = 1 prompt x 8 completions'
    """
    per_device, world = count("per_device", per_device), count("world", world)
    grad_accum = count("grad_accum", grad_accum)
    num_generations = count("num_generations", num_generations, least=None)
    steps = (
        grad_accum if steps_per_generation is None else count("steps_per_generation", steps_per_generation)
    )
    steps_name = "grad_accum" if steps_per_generation is None else "steps_per_generation"
    effective, batch = per_device * world * grad_accum, per_device * world * steps
    if num_generations < 2:
        message = (
            f"num_generations must be at least 2, got {num_generations}: a completion is compared with "
            "the others of its group, and a group of one has nothing to compare with"
        )
        return _verdict(False, effective, batch, None, message)
    product = f"per_device {per_device} x world {world} x {steps_name} {steps}"
    if batch % num_generations == 0:
        prompts = batch // num_generations
        message = f"{batch} completions ({product}) = {_prompts(prompts)} x {num_generations} completions"
        return _verdict(True, effective, batch, prompts, message)
    suggestions = _nearest(per_device, world, steps, steps_name, num_generations)
    message = (
        f"{batch} completions ({product}) are not a multiple of num_generations {num_generations}: a group would be "
        "cut. Nearest that work: " + ", ".join(map(_told, suggestions))
    )
    return _verdict(False, effective, batch, None, message, suggestions)


def oom_advice(per_device: int, grad_accum: int = 1, world: int = 1, num_generations: int = 8) -> Record:
    """Propose what really lowers memory in TRL, keeping the batch divisible into groups.

    The first proposal trades a smaller forward pass for more accumulation: the largest divisor of
    `per_device` that is at most a quarter of it (or 1), with `grad_accum` raised so that no completion is
    lost and ``per_device x world x grad_accum`` stays a multiple of `num_generations`. Same mathematics, less
    memory, more time.

    Parameters
    ----------
    per_device, grad_accum, world, num_generations : int
        As in `check_batch`; the setting that ran out of memory.

    Returns
    -------
    Record
        A dict whose keys read as attributes too.

        - ``advice`` (list): first the batch settings as a dict (if they can shrink), then the other remedies
        - ``no_help`` (str): the advice that is often given and does nothing
        - ``while_generating`` (str): what to do if generation, not training, runs out
        - ``trl_version`` (str): the release that the advice is for

    Raises
    ------
    ValueError, TypeError
        If a size is not a whole number of at least 1 (`num_generations`: at least 2).

    Examples
    --------
    >>> oom_advice(per_device=8, grad_accum=1, world=1, num_generations=8).advice[0]
    {'per_device': 2, 'grad_accum': 4, 'num_generations': 8, 'effective': 8}
    """
    per_device, grad_accum = count("per_device", per_device), count("grad_accum", grad_accum)
    world, num_generations = count("world", world), count("num_generations", num_generations, least=2)
    advice: list[dict[str, int] | str] = []
    if per_device > 1:
        smaller = next((per_device // q for q in range(4, _LOOK_AHEAD) if per_device % q == 0), 1)
        steps = _up_to_multiple(grad_accum * per_device // smaller, smaller * world, num_generations)
        advice.append(
            {
                "per_device": smaller,
                "grad_accum": steps,
                "num_generations": num_generations,
                "effective": smaller * world * steps,
            }
        )
    advice += _OTHER_REMEDIES
    return Record(
        advice=advice,
        no_help=(
            "a lower num_generations alone: the batch counts completions, so just as many are in "
            "memory, only spread over more prompts"
        ),
        while_generating=(
            "without vLLM, each process generates per_device x steps_per_generation completions at once: "
            "lower steps_per_generation (keeping whole groups) or max_completion_length"
        ),
        trl_version=TRL_VERSION,
    )


def _verdict(
    ok: bool,
    effective: int,
    batch: int,
    prompts: int | None,
    message: str,
    suggestions: list[dict[str, int]] | None = None,
) -> Record:
    return Record(
        ok=ok,
        effective=effective,
        generation_batch=batch,
        prompts_per_step=prompts,
        message=message,
        suggestions=suggestions or [],
    )


def _up_to_multiple(steps: int, per_step: int, group: int) -> int:
    """Smallest number of steps, not below `steps`, whose completions are a multiple of `group`."""
    unit = group // math.gcd(group, per_step)
    return -(-steps // unit) * unit


def _nearest(
    per_device: int, world: int, steps: int, steps_name: str, num_generations: int
) -> list[dict[str, int]]:
    batch = per_device * world * steps
    more_steps = _up_to_multiple(steps, per_device * world, num_generations)
    more_device = _up_to_multiple(per_device, world * steps, num_generations)
    out = [
        {steps_name: more_steps, "batch": per_device * world * more_steps, "group": num_generations},
        {"per_device": more_device, "batch": more_device * world * steps, "group": num_generations},
    ]
    if batch > 1:
        group = _nearest_group(batch, num_generations)
        out.append({"num_generations": group, "batch": batch, "group": group})
    return out


def _nearest_group(batch: int, wanted: int) -> int:
    """The group size of at least 2 nearest to `wanted` that divides `batch`, the larger of two equally near."""
    start = min(wanted, batch)
    for distance in range(_LOOK_AHEAD):
        for group in (start + distance, start - distance):
            if group >= 2 and batch % group == 0:
                return group
    return batch


def _told(suggestion: dict[str, int]) -> str:
    name, value = next(iter(suggestion.items()))
    return f"{name}={value} ({suggestion['batch']} completions)"


def _prompts(n: int) -> str:
    return f"{n} prompt" if n == 1 else f"{n} prompts"
