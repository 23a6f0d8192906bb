r"""Where does one habit stop and another begin to win: the average push in groups of any size, and a search for flips.

Public through :mod:`rl_lab.arena`.

>>> def pushed(p):  # an attempt pays 0.57 if right and -0.43 if wrong; silence pays 0
...     return expected_push([0.57, -0.43, 0.0], [p / 2, (1 - p) / 2, 0.5], group_size=2)[2] < 0
>>> round(flip_point(pushed, 0.3, 0.7), 3)  # by the mean reward it would be 0.43
0.5
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rl_lab._grpo_common import count, real
from rl_lab.grpo import grpo_advantages

_MOST_COMPLETIONS = 500_000  # in all groups together: about half a second


def expected_push(
    rewards: Sequence[float], chances: Sequence[float], group_size: int, *, normalize: bool = True
) -> list[float]:
    """Work out the mean advantage that each outcome collects in a group, over all groups that can be drawn.

    Exact, by counting: with few outcomes there are few different groups. Multiplied by the group's size it is the
    push on that outcome in a step.

    Parameters
    ----------
    rewards : sequence of float, shape (k,)
        What each outcome is paid; a handful.
    chances : sequence of float, shape (k,)
        How often each is drawn; they add up to 1.
    group_size : int
        Completions in a group, at least 2.
    normalize : bool
        Whether advantages are divided by the group's standard deviation.

    Returns
    -------
    list of float, shape (k,)
        They add up to 0. Without normalisation ``(1 - 1/group_size) * chance * (reward - mean reward)``: the sign
        does not depend on the group's size. With it, it may.

    Raises
    ------
    ValueError
        If the two differ in length, the chances do not add up to 1, or there are too many different groups.

    Examples
    --------
    >>> [round(push, 3) for push in expected_push([1.0, 0.0], [0.5, 0.5], 2, normalize=False)]
    [0.125, -0.125]
    >>> [round(push, 3) for push in expected_push([1.0, 0.0], [0.5, 0.5], 2)]
    [0.177, -0.177]
    """
    rewards, chances, group_size = list(rewards), list(chances), count("group_size", group_size, least=2)
    if not rewards or len(rewards) != len(chances):
        raise ValueError(
            f"there must be one chance for each of the rewards, got {len(rewards)} rewards and {len(chances)} chances"
        )
    if not all(chance >= 0 for chance in chances) or abs(sum(chances) - 1) > 1e-9:
        raise ValueError(f"chances must be at least 0 and add up to 1, got {chances}")
    groups = math.comb(group_size + len(rewards) - 1, len(rewards) - 1)
    if groups * group_size > _MOST_COMPLETIONS:
        raise ValueError(
            f"{len(rewards)} rewards in groups of {group_size} make {groups:,} different groups, too many to go "
            f"through; lower one of the two until groups times group_size is at most {_MOST_COMPLETIONS:,}"
        )
    push = [0.0] * len(rewards)
    for counts in _compositions(group_size, len(rewards)):
        chance = _multinomial(counts, chances)
        if chance == 0:
            continue
        group = [r for r, n in zip(rewards, counts, strict=True) for _ in range(n)]
        by_reward = dict(zip(group, grpo_advantages(group, normalize=normalize), strict=True))
        for i, n in enumerate(counts):
            if n:
                push[i] += chance * n * by_reward[rewards[i]] / group_size
    return push


def _multinomial(counts: Sequence[int], chances: Sequence[float]) -> float:
    """How likely a group with these counts is; in logarithms, because factorials of large groups overflow."""
    if any(n and p == 0 for p, n in zip(chances, counts, strict=True)):
        return 0.0
    logs = [n * math.log(p) - math.lgamma(n + 1) for p, n in zip(chances, counts, strict=True) if n]
    return math.exp(math.lgamma(sum(counts) + 1) + math.fsum(logs))


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to split a group of `total` into `parts` kinds."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


def flip_point(
    winner: Callable[[float], Any], low: float, high: float, *, tolerance: float = 1e-6
) -> float | None:
    """Find where the outcome changes between two values of a setting, by halving.

    Parameters
    ----------
    winner : callable
        One number in, anything comparable out, such as ``lambda alpha: arena(...).winner``.
    low, high : float
        Where to look.
    tolerance : float
        Width at which to stop, above 0.

    Returns
    -------
    float or None
        A place where the outcome changes; None if it is the same at both ends. If it changes more than once, one of
        the places.

    Raises
    ------
    ValueError
        If `low` is not below `high`, or `tolerance` is not above 0.

    Examples
    --------
    >>> round(flip_point(lambda x: x * x > 2, 0, 2), 4)
    1.4142
    """
    low, high = real("low", low), real("high", high)
    if not low < high:
        raise ValueError(f"low must be below high, got {low} and {high}")
    if not real("tolerance", tolerance) > 0:
        raise ValueError(f"tolerance must be above 0, got {tolerance}; 1e-6 is usual")
    first = winner(low)
    if first == winner(high):
        return None
    for _ in range(200):
        middle = (low + high) / 2
        if high - low <= tolerance or middle in (low, high):
            break
        low, high = (middle, high) if winner(middle) == first else (low, middle)
    return (low + high) / 2
