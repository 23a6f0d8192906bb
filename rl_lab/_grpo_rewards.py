"""Rewards before they become advantages: which count, their mean and spread, and what a batch of them can teach.

>>> print(group_report([1, 1, 1, 0], num_generations=2))
reward=0.75 reward_std=0.5 frac_reward_zero_std=0.5 (1 of 2 groups without signal, 0 unscored)
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from rl_lab._grpo_common import count, listed, real
from rl_lab._record import Record

Reward = float | None

_NO_SPREAD = 1e-9  # rewards closer than this are equal: the rest is rounding, not to be amplified
_LARGEST = 1e100  # beyond this the squares of the spread overflow


def sum_rewards(*columns: Sequence[Reward], weights: Sequence[float] | None = None) -> list[Reward]:
    """Add several reward functions completion by completion, as TRL does before it forms advantages.

    Parameters
    ----------
    *columns : sequence of float or None, each of shape (n,)
        One column per reward function. None or NaN: that function skipped this completion.
    weights : sequence of float, optional
        One weight per column (TRL's ``reward_weights``); 1.0 each by default.

    Returns
    -------
    list of float or None, shape (n,)
        Weighted sums over the functions that did score; None where none of them did.

    Raises
    ------
    ValueError
        If the columns differ in length, or `weights` has not one finite entry per column.

    Examples
    --------
    >>> sum_rewards([5, -5], [-5, 5])
    [0.0, 0.0]
    >>> sum_rewards([1.0, None], [0.2, None], weights=[1.0, 0.5])
    [1.1, None]
    """
    if weights is None:
        factors = [1.0] * len(columns)
    else:
        factors = [real(f"weights[{j}]", w) for j, w in enumerate(listed("weights", weights))]
    if not all(map(math.isfinite, factors)):
        raise ValueError(f"weights must be finite, got {factors}")
    if len(factors) != len(columns):
        raise ValueError(
            f"weights must have one entry per reward column ({len(columns)}), got {len(factors)}"
        )
    scored = [scored_rewards(column, f"columns[{j}]") for j, column in enumerate(columns)]
    lengths = [len(column) for column in scored]
    if len(set(lengths)) > 1:
        raise ValueError(f"reward columns must have one reward per completion each, got lengths {lengths}")
    out: list[Reward] = []
    for row in zip(*scored, strict=True):
        parts = [w * r for w, r in zip(factors, row, strict=True) if r is not None]
        out.append(math.fsum(parts) + 0.0 if parts else None)
    return out


class GroupReport(Record):
    """What a batch of rewards can teach; keys as in TRL's log where TRL has one.

    ``reward`` and ``reward_std`` (float or None) are over all scored rewards; ``frac_reward_zero_std`` (0 to 1) is
    the share of groups whose rewards are all equal and give no gradient; ``unscored`` (int) counts completions
    without a reward; ``groups`` (list of dict) holds prompt, rewards, mean and std of each.
    """

    def __str__(self) -> str:
        silent = sum(group["std"] == 0 for group in self.groups)
        return (
            f"reward={_shown(self.reward)} reward_std={_shown(self.reward_std)} "
            f"frac_reward_zero_std={self.frac_reward_zero_std} "
            f"({silent} of {len(self.groups)} groups without signal, {self.unscored} unscored)"
        )


def group_report(
    rewards: Sequence[Reward], num_generations: int, prompts: Sequence[Any] | None = None
) -> GroupReport:
    """Show mean and spread of each group, on the total reward that the advantages see.

    A single reward function may vary while the sum does not; then the loss is 0 and nothing is broken. Pass
    the output of `sum_rewards`.

    Parameters
    ----------
    rewards : sequence of float or None, shape (n_groups * num_generations,)
        Total reward per completion.
    num_generations : int
        Completions per prompt, at least 2.
    prompts : sequence, optional
        As in `batch_advantages`. Without it, each `num_generations` neighbours are a group, as in TRL's
        batches.

    Returns
    -------
    GroupReport
        Readable as attributes, as a mapping, and as one line of text. A group with fewer than two scored
        completions counts as one without spread.

    Examples
    --------
    >>> print(group_report(sum_rewards([5, -5], [-5, 5]), num_generations=2))
    reward=0 reward_std=0 frac_reward_zero_std=1.0 (1 of 1 groups without signal, 0 unscored)
    """
    scored = scored_rewards(rewards)
    if prompts is None:
        num_generations = count("num_generations", num_generations, least=2)
        prompts = [i // num_generations for i in range(len(scored))]
    groups = []
    for indices in group_indices(prompts, len(scored), num_generations):
        group = [scored[i] for i in indices]
        mean, std = group_mean(group), group_std(group) or 0.0
        groups.append({"prompt": prompts[indices[0]], "rewards": group, "mean": mean, "std": std})
    silent = sum(group["std"] == 0 for group in groups)
    return GroupReport(
        reward=group_mean(scored),
        reward_std=group_std(scored),
        frac_reward_zero_std=silent / len(groups) if groups else 0.0,
        unscored=sum(r is None for r in scored),
        groups=groups,
    )


def scored_rewards(rewards: Any, name: str = "rewards") -> list[Reward]:
    """Rewards as floats; None for the unscored ones (None or NaN). `name` is what messages call them."""
    return [_reward(f"{name}[{i}]", reward) for i, reward in enumerate(listed(name, rewards))]


def _reward(name: str, value: Any) -> Reward:
    if value is None:
        return None
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name} must be a number or None, got the text {value!r}; convert it first")
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond the range of floats
        number = math.inf
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number or None, got {value!r}") from None
    if math.isnan(number):
        return None
    if abs(number) > _LARGEST:
        raise ValueError(
            f"{name} must be finite and at most 1e100 in size, got {number}; fix the reward function, "
            "or return None for a completion that cannot be scored"
        )
    return number


def _valid(group: Sequence[Reward]) -> list[float]:
    return [r for r in group if r is not None]


def group_mean(group: Sequence[Reward]) -> float | None:
    valid = _valid(group)
    return math.fsum(valid) / len(valid) if valid else None


def _no_spread(valid: list[float]) -> bool:
    # Sums of equal parts differ in their last bits; the second bound covers that for large rewards.
    return max(valid) - min(valid) < max(_NO_SPREAD, rounding(valid))


def rounding(group: Sequence[Reward]) -> float:
    """What two rewards of this size may differ by although they are meant to be equal."""
    return 8 * math.ulp(max(map(abs, _valid(group))))


def group_std(group: Sequence[Reward], *, population: bool = False) -> float | None:
    """Two-pass standard deviation of the scored rewards; None for fewer than two, 0.0 if they are equal."""
    valid = _valid(group)
    if len(valid) < 2:
        return None
    if _no_spread(valid):
        return 0.0
    mean = math.fsum(valid) / len(valid)
    # hypot is the root of the sum of squares, without overflow or underflow on the way.
    return math.hypot(*(r - mean for r in valid)) / math.sqrt(len(valid) - (0 if population else 1))


def group_indices(prompts: Sequence[Any], n_rewards: int, num_generations: int) -> list[list[int]]:
    """Positions of the completions of each prompt, prompts in order of first appearance."""
    num_generations = count("num_generations", num_generations, least=2)
    prompts = listed("prompts", list(prompts) if isinstance(prompts, str) else prompts)
    if len(prompts) != n_rewards:
        raise ValueError(
            f"prompts must have one entry per reward, got {len(prompts)} prompts for {n_rewards} rewards"
        )
    groups: dict[Any, list[int]] = {}
    for i, prompt in enumerate(prompts):
        groups.setdefault(_key(prompt), []).append(i)
    for indices in groups.values():
        if len(indices) != num_generations:
            raise ValueError(
                f"each prompt must have num_generations={num_generations} completions, got {len(indices)} "
                f"for prompt {_shortened(prompts[indices[0]])}; pass whole groups, and row numbers if "
                "the same question occurs twice in the batch"
            )
    return list(groups.values())


def _key(prompt: Any) -> Any:
    """What two prompts share if they are the same: lists of messages cannot be dictionary keys themselves."""
    if isinstance(prompt, (str, int, float)):
        return prompt
    try:
        return "json", json.dumps(prompt, sort_keys=True)
    except (TypeError, ValueError):  # holds an image, for instance
        return "repr", repr(prompt)


def _shortened(prompt: Any) -> str:
    text = repr(prompt)
    return text if len(text) <= 60 else text[:57] + "..."


def _shown(value: float | None) -> str:
    return "None" if value is None else f"{value:.6g}"
