"""When should a job of several steps be paid, and how is reward on the way added without moving the goal?

Four small pieces of arithmetic that chapter 8 builds by hand: the point at which an agent had better stop early, pay
for milestones that cannot be collected twice, potential-based shaping, and how often a group has anything to compare.

>>> break_even([0.1, 0.1, 0.2, 0.6], effort=0.12)
0.2
>>> shape([0, 0, 1], [0, 0.5, 0.75])
[0.5, 0.25, 0.25]

References
----------
Ng, Harada and Russell (1999), Policy Invariance Under Reward Transformations, ICML, theorem 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

__all__ = ["break_even", "milestone_rewards", "shape", "signal_share"]


def break_even(weights: Sequence[float], effort: float, *, forfeits: bool = False) -> float | None:
    """Find the chance of success above which going for the outcome pays more than stopping just before it.

    Parameters
    ----------
    weights : sequence of float, shape (n,), n >= 1
        What each milestone pays, in order, each at least 0; the last one is the outcome.
    effort : float
        What the last attempt costs, in units of reward, at least 0; it is due whether the attempt succeeds or not.
    forfeits : bool, default False
        Whether a failed attempt loses what the milestones paid. By default it keeps it.

    Returns
    -------
    float or None
        Chance in 0 to 1 at which both are worth the same. None if stopping pays more at every chance.

    Raises
    ------
    ValueError
        If there is no weight, or a weight or the effort is negative or not finite.
    TypeError
        If one of them is no number.

    Notes
    -----
    With m paid on the way, w for the outcome and effort c: stopping earns m. Finishing earns ``m + p*w - c`` where
    milestones are kept, which makes ``p = c / w`` whatever m is; and ``p*(m + w) - c`` where a failure forfeits them,
    which makes ``p = (m + c) / (m + w)``.

    Examples
    --------
    >>> break_even([0.25, 0.25, 0.25, 0.25], effort=0.1)
    0.4
    >>> break_even([0.1, 0.1, 0.2, 0.6], effort=0.1, forfeits=True)
    0.5
    >>> break_even([0.3, 0.3, 0.39, 0.01], effort=0.1) is None
    True
    """
    paid = [_at_least_zero(f"weights[{i}]", w) for i, w in enumerate(weights)]
    if not paid:
        raise ValueError("weights must hold at least the outcome's weight, got none; pass for instance [1.0]")
    cost, outcome = _at_least_zero("effort", effort), paid[-1]
    if forfeits:
        kept = math.fsum(paid[:-1])
        cost, outcome = kept + cost, kept + outcome
    if cost == 0:
        return 0.0
    # Rounded, because 0.12 / 0.6 would read 0.19999999999999998.
    return None if cost > outcome else round(cost / outcome, 15)


def milestone_rewards(events: Iterable[str], weights: Mapping[str, float]) -> list[float]:
    """Pay each milestone of an episode the first time it is reached, and never again.

    Parameters
    ----------
    events : iterable of str
        What happened, in order, as the environment saw it (never as the agent tells it).
    weights : mapping from str to float
        What each milestone pays. Events that are not in it pay nothing.

    Returns
    -------
    list of float
        One reward an event. Their sum is at most the sum of the weights, however long the episode.

    Raises
    ------
    ValueError
        If a weight is negative or not finite.
    TypeError
        If `events` is one text or a weight is no number.

    Examples
    --------
    >>> milestone_rewards(["file", "close", "file", "tests pass"], {"file": 0.1, "tests pass": 0.9})
    [0.1, 0.0, 0.0, 0.9]
    """
    if isinstance(events, str):
        raise TypeError(f"events must be a list of names, got the text {events!r}; put it into a list")
    unpaid = {name: _at_least_zero(f"weights[{name!r}]", w) for name, w in weights.items()}
    return [unpaid.pop(event, 0.0) for event in events]


def shape(rewards: Sequence[float], potentials: Sequence[float], gamma: float = 1.0) -> list[float]:
    """Add potential-based shaping to the rewards of one episode.

    Step t gets ``gamma * potential(s[t+1]) - potential(s[t])`` on top. The end of the episode always has potential 0,
    so there is no argument for it: whatever was advanced on the way is taken back.

    Parameters
    ----------
    rewards : sequence of float, shape (T,)
        One reward a step, finite.
    potentials : sequence of float, shape (T,)
        Potential of the state that each step *starts* in, finite: any numbers, the more the nearer to the goal.
    gamma : float, default 1.0
        Discount of the task, 0 to 1. It must be the one that returns are computed with.

    Returns
    -------
    list of float, shape (T,)
        Shaped rewards. Their discounted return is that of `rewards` minus ``potentials[0]``, whatever happened in
        between; empty for an empty episode.

    Raises
    ------
    ValueError
        If the lengths differ, a value is not finite, or `gamma` is outside 0 to 1.
    TypeError
        If a value is no number.

    Notes
    -----
    Every end counts, an episode that a step limit cuts off included: else being cut off in a good place would pay.

    References
    ----------
    Ng, Harada and Russell (1999), definition of F and theorem 1: this form never moves the optimal policies, and any
    other form does so in some process. For gamma = 1 every policy must reach an end.

    Examples
    --------
    >>> shape([0, 0, 0, 1], [0, 1, 0, 1])
    [1.0, -1.0, 1.0, 0.0]
    >>> shape([0, 0, 0], [0, 1, 1], gamma=0.5)
    [0.5, -0.5, -1.0]
    """
    if len(rewards) != len(potentials):
        raise ValueError(
            f"potentials must have one value a step, {len(rewards)} as rewards, got {len(potentials)}; "
            "the end of the episode has potential 0 and is not listed"
        )
    gamma = _number("gamma", gamma)
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma must be between 0 and 1, got {gamma}")
    phi = [_number(f"potentials[{t}]", value) for t, value in enumerate(potentials)] + [0.0]
    plain = [_number(f"rewards[{t}]", value) for t, value in enumerate(rewards)]
    return [r + gamma * phi[t + 1] - phi[t] for t, r in enumerate(plain)]


def signal_share(chances: Sequence[float], group_size: int) -> float:
    """Find how often a group has anything to compare: the chance that not all of its rewards are equal.

    Parameters
    ----------
    chances : sequence of float, shape (n_outcomes,)
        Chance of each *different* reward of one completion, each at least 0, adding up to 1.
    group_size : int
        Completions in the group, at least 1.

    Returns
    -------
    float
        ``1 - sum(chance ** group_size)``, in 0 to 1; 0 for a group of one.

    Raises
    ------
    ValueError
        If the chances do not add up to 1 within 1e-9, one is negative, or `group_size` is below 1.
    TypeError
        If a chance is no number or `group_size` no whole number.

    Examples
    --------
    >>> signal_share([0.5, 0.5], group_size=2)
    0.5
    >>> round(signal_share([0.99, 0.01], group_size=8), 3)
    0.077
    """
    if isinstance(group_size, bool) or not isinstance(group_size, int):
        raise TypeError(f"group_size must be a whole number (int), got {group_size!r}")
    if group_size < 1:
        raise ValueError(f"group_size must be at least 1, got {group_size}")
    shares = [_at_least_zero(f"chances[{i}]", c) for i, c in enumerate(chances)]
    if not math.isclose(math.fsum(shares), 1.0, abs_tol=1e-9):
        raise ValueError(
            f"chances must add up to 1, got {math.fsum(shares):.6g}; list every reward that can occur"
        )
    return min(1.0, max(0.0, 1.0 - math.fsum(c**group_size for c in shares)))


def _number(name: str, value: Any) -> float:
    """Return `value` as a float if it is a finite number; else raise, naming it."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    return float(value)


def _at_least_zero(name: str, value: Any) -> float:
    number = _number(name, value)
    if number < 0:
        raise ValueError(f"{name} must be at least 0, got {value}")
    return number
