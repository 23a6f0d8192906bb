"""How does GRPO turn the rewards of a group into a push on each completion?

A group holds several completions of one prompt. Each is compared with the group's mean: better than its
siblings means a positive advantage, worse a negative one, and a group whose rewards are all equal teaches
nothing. No critic is needed, because the group is its own baseline.

Four conventions of "the GRPO advantage" are in circulation, so the function asks which one you mean:

==================  ==========================================  ===============================
``normalize``       formula                                     who uses it
==================  ==========================================  ===============================
``True, "group"``   ``(r - mean) / (std + 1e-4)``, std by n-1   TRL's default
``False, "none"``   ``r - mean``                                Dr. GRPO
``"population"``    ``(r - mean) / std``, std by n              many hand calculations
``"batch"``         as ``"group"``, std of the whole batch      TRL's ``scale_rewards="batch"``
==================  ==========================================  ===============================

DeepSeekMath, which introduced GRPO, writes ``(r - mean(r)) / std(r)`` and leaves open whether std divides by
n or n-1.

>>> [round(A, 2) for A in grpo_advantages([1, 1, 0, 0.8])]
[0.63, 0.63, -1.47, 0.21]
>>> [round(A, 2) for A in grpo_advantages([1, 1, 0, 0.8], normalize=False)]
[0.3, 0.3, -0.7, 0.1]

The objective, the loss, the report and the batch arithmetic live in private modules and are used from here. All of
it is plain Python on lists; tests hold it equal to TRL's own trainer.

References
----------
Shao et al. (2024), DeepSeekMath, arXiv:2402.03300, section 4.1. Liu et al. (2025), Dr. GRPO,
arXiv:2503.20783. TRL 1.16, ``grpo_trainer.py``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, overload

from rl_lab._grpo_batch import check_batch, oom_advice
from rl_lab._grpo_common import listed, one_of
from rl_lab._grpo_loss import LOSS_TYPES, aggregate, grpo_loss
from rl_lab._grpo_objective import clipped_objective, kl_k1, kl_k2, kl_k3, ratio
from rl_lab._grpo_rewards import (
    GroupReport,
    Reward,
    group_indices,
    group_mean,
    group_report,
    group_std,
    rounding,
    scored_rewards,
    sum_rewards,
)

__all__ = [
    "CONVENTIONS",
    "LOSS_TYPES",
    "GroupReport",
    "aggregate",
    "batch_advantages",
    "check_batch",
    "clipped_objective",
    "group_report",
    "grpo_advantages",
    "grpo_loss",
    "kl_k1",
    "kl_k2",
    "kl_k3",
    "oom_advice",
    "ratio",
    "sum_rewards",
]

CONVENTIONS = {
    "none": "r - mean (Dr. GRPO)",
    "group": "(r - mean) / (std + 1e-4), std of the group with n - 1 (TRL's default)",
    "population": "(r - mean) / std, std of the group with n",
    "batch": "(r - mean) / (std + 1e-4), std of the whole batch with n - 1",
}
_ALIASES: dict[Hashable, str] = {
    False: "none",
    True: "group",
    "mean": "none",
    "dr_grpo": "none",
    "trl": "group",
}

_EPS = 1e-4  # TRL adds it to the standard deviation


@overload
def grpo_advantages(rewards: Sequence[Reward], normalize: bool | str = ...) -> list[float]: ...
@overload
def grpo_advantages(
    rewards: Sequence[Sequence[Reward]], normalize: bool | str = ...
) -> list[list[float]]: ...
def grpo_advantages(rewards: Any, normalize: bool | str = True) -> Any:
    """Compare each reward with its group.

    Parameters
    ----------
    rewards : sequence of float or None, shape (group_size,)
        Rewards of the completions of one prompt. None or NaN means "could not be scored". A sequence of such
        groups is taken group by group.
    normalize : bool or str, default True
        A convention of `CONVENTIONS`: True or "group" (TRL), False or "none" (mean only), "population",
        "batch". For one group "batch" equals "group".

    Returns
    -------
    list of float, shape (group_size,)
        Advantages in the order of `rewards`; they sum to zero over the scored completions. An unscored
        completion gets 0.0 and does not enter mean or standard deviation. All are 0.0 (never -0.0, never NaN)
        if fewer than two completions are scored, or if the scored rewards differ by less than 1e-9.

    Raises
    ------
    ValueError
        If a reward is infinite or beyond 1e100, or `normalize` is unknown.
    TypeError
        If a reward is not a number.

    References
    ----------
    Shao et al. (2024), arXiv:2402.03300, section 4.1.2 (outcome supervision); Liu et al. (2025),
    arXiv:2503.20783.

    Examples
    --------
    >>> grpo_advantages([0.2, 0.2, 0.2])
    [0.0, 0.0, 0.0]
    >>> grpo_advantages([1, -1], normalize="population")
    [1.0, -1.0]
    >>> [round(A, 3) for A in grpo_advantages([1, None, 0, 1], normalize=False)]
    [0.333, 0.0, -0.667, 0.333]
    """
    convention = _convention(normalize)
    rows = listed("rewards", rewards)
    if rows and all(isinstance(row, (list, tuple)) for row in rows):
        return _advantages([scored_rewards(row, f"rewards[{g}]") for g, row in enumerate(rows)], convention)
    return _advantages([scored_rewards(rows)], convention)[0]


def batch_advantages(
    rewards: Sequence[Reward], prompts: Sequence[Any], num_generations: int, normalize: bool | str = True
) -> list[float]:
    """Advantages of a batch that holds several groups, in whatever order they arrive.

    Completions belong together because they share a prompt, not because they stand next to each other: code
    that reshapes by position silently mixes groups as soon as the rows are interleaved.

    Parameters
    ----------
    rewards : sequence of float or None, shape (n_groups * num_generations,)
        One reward per completion; None or NaN as in `grpo_advantages`.
    prompts : sequence, same length
        What tells groups apart: prompt texts, message lists or row numbers. Use row numbers if the same
        question can occur twice in a batch.
    num_generations : int
        Completions per prompt (TRL's name); at least 2.
    normalize : bool or str, default True
        As in `grpo_advantages`; "batch" divides by the standard deviation of all rewards given here.

    Returns
    -------
    list of float
        Advantages in the order of `rewards`.

    Raises
    ------
    ValueError
        If the lengths differ, or a prompt does not have exactly `num_generations` completions.

    Examples
    --------
    >>> batch_advantages([1, 1, 0, 1], ["A", "B", "A", "B"], 2, normalize=False)
    [0.5, 0.0, -0.5, 0.0]
    """
    convention = _convention(normalize)
    scored = scored_rewards(rewards)
    groups = group_indices(prompts, len(scored), num_generations)
    in_groups = _advantages([[scored[i] for i in indices] for indices in groups], convention)
    out = [0.0] * len(scored)
    for indices, advantages in zip(groups, in_groups, strict=True):
        for i, advantage in zip(indices, advantages, strict=True):
            out[i] = advantage
    return out


def _convention(normalize: Hashable) -> str:
    if isinstance(normalize, Hashable) and normalize in _ALIASES:
        return _ALIASES[normalize]
    try:
        return one_of("normalize", normalize, [*CONVENTIONS, "mean", "dr_grpo", "trl"])
    except ValueError as error:
        raise ValueError(f"{error} (True means 'group', False means 'none')") from None


def _advantages(groups: list[list[Reward]], convention: str) -> list[list[float]]:
    batch_std = group_std([r for group in groups for r in group]) or 0.0
    out = []
    for group in groups:
        scale, mean = _scale(group, convention, batch_std), group_mean(group)
        if scale == 0 or mean is None:
            out.append([0.0] * len(group))
        else:
            noise = rounding(group)  # 0.2 is the mean of 0.1, 0.2 and 0.3, though not in its last bit
            out.append([0.0 if r is None or abs(r - mean) < noise else (r - mean) / scale for r in group])
    return out


def _scale(group: list[Reward], convention: str, batch_std: float) -> float:
    """Return the divisor of the deviations; 0.0 if the group has nothing to compare."""
    std = group_std(group)
    if not std:
        return 0.0
    if convention == "population":
        return group_std(group, population=True) or 0.0
    return {"none": 1.0, "group": std + _EPS, "batch": batch_std + _EPS}[convention]
