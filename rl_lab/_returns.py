"""How much is a reward worth that comes later? Returns, discounting and how far ahead it looks.

Public through :mod:`rl_lab.mdp`.

>>> round(discounted_return([0, 0.1, 0.1, 0.8], 0.9), 4)
0.7542
"""

from __future__ import annotations

import math
from collections.abc import Iterable

_SCAN = 1000  # intervals searched for a change of sign


def discounted_return(rewards: Iterable[float], gamma: float) -> float:
    """Sum the rewards of one episode, each later one counting less.

    Parameters
    ----------
    rewards : iterable of float, shape (T,)
        One reward a step, in order; the first is not discounted. Finite; may be empty.
    gamma : float
        Discount, 0 to 1. At 0 only the first reward counts (``0**0`` is 1), at 1 all count in full.

    Returns
    -------
    float
        G_0 = sum over t of gamma**t * r_t; 0.0 for an empty episode.

    Raises
    ------
    ValueError
        If `gamma` is outside 0 to 1, a reward is not finite (the message names its step), or their sum is not.
    TypeError
        If `gamma` or a reward is no number.

    References
    ----------
    Sutton and Barto (2018), Reinforcement Learning, equation 3.8 (there the first reward is called R_1).

    Examples
    --------
    >>> discounted_return([0, 0.1, 0.1, 0.8], 1.0)
    1.0
    >>> discounted_return([0, 0.1, 0.1, 0.8], 0.0)
    0.0
    """
    gamma = _discount(gamma)
    return _finite(gamma**t * r for t, r in enumerate(_rewards(rewards)))


def returns_to_go(rewards: Iterable[float], gamma: float) -> list[float]:
    """List, for each step, the discounted sum of its own reward and all that follow.

    Parameters
    ----------
    rewards : iterable of float, shape (T,)
        As in :func:`discounted_return`.
    gamma : float
        Discount, 0 to 1.

    Returns
    -------
    list of float, shape (T,)
        G_t = r_t + gamma * G_{t+1}: what step t can be given credit for. The first is the discounted return.

    Raises
    ------
    ValueError, TypeError
        As in :func:`discounted_return`.

    Examples
    --------
    >>> [round(G, 4) for G in returns_to_go([0, 0.1, 0.1, 0.8], 0.9)]
    [0.7542, 0.838, 0.82, 0.8]
    """
    gamma = _discount(gamma)
    G, backwards = 0.0, []
    for r in reversed(_rewards(rewards)):
        G = r + gamma * G
        backwards.append(G)
    _finite(backwards[-1:])
    return backwards[::-1]


def horizon(gamma: float) -> float:
    """Say how many steps ahead a discount looks, as a rule of thumb.

    Parameters
    ----------
    gamma : float
        Discount, 0 to 1.

    Returns
    -------
    float
        1 / (1 - gamma), in steps: the sum of all weights 1 + gamma + gamma**2 + ..., that is, the length of an
        undiscounted episode with the same total. A reward that far away still counts gamma**horizon of its size,
        about 37 % when gamma is close to 1. Infinite at gamma = 1.

    Raises
    ------
    ValueError, TypeError
        If `gamma` is no number from 0 to 1.

    Examples
    --------
    >>> [round(horizon(gamma)) for gamma in (0.0, 0.9, 0.99)]
    [1, 10, 100]
    """
    gamma = _discount(gamma)
    return math.inf if gamma == 1 else 1 / (1 - gamma)


def crossing(rewards: Iterable[float], others: Iterable[float]) -> float | None:
    """Find the discount at which two episodes are worth the same.

    Parameters
    ----------
    rewards, others : iterable of float
        The rewards of either episode, each as in :func:`discounted_return`; lengths may differ.

    Returns
    -------
    float or None
        The lowest gamma above 0 and below 1 at which the sign of the difference changes, to about 12 digits; None
        if one episode is worth at least as much at every gamma.

    Notes
    -----
    Searched on a grid of 1,000 intervals, then halved: two crossings inside one interval would be missed.

    Examples
    --------
    >>> round(crossing([0, 0.1, 0.1, 0.8], [0.8]), 4)
    0.9202
    >>> crossing([1.0], [0.5]) is None
    True
    """
    first, second = _rewards(rewards), _rewards(others)

    def gap(gamma: float) -> float:
        return discounted_return(first, gamma) - discounted_return(second, gamma)

    low, before = 0.0, gap(0.0)
    for i in range(1, _SCAN + 1):
        high, after = i / _SCAN, gap(i / _SCAN)
        if before and after and (before < 0) != (after < 0):
            return _halve(gap, low, high)
        if after:  # a gap of exactly 0 on the grid: remember the last sign and look on
            low, before = high, after
    return None


def _halve(gap, low: float, high: float) -> float:
    rising = gap(high) > 0
    for _ in range(60):
        middle = (low + high) / 2
        if (gap(middle) > 0) == rising:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def _discount(gamma: float) -> float:
    if isinstance(gamma, bool) or not hasattr(gamma, "__float__"):
        raise TypeError(f"gamma must be a number, got {type(gamma).__name__} {gamma!r}; use one from 0 to 1")
    if not 0 <= float(gamma) <= 1:  # also refuses NaN
        raise ValueError(f"gamma must be from 0 to 1, got {gamma!r}; 0.9 looks about 10 steps ahead")
    return float(gamma)


def _finite(parts: Iterable[float]) -> float:
    try:
        total = math.fsum(parts)
    except OverflowError:
        total = math.inf
    if math.isinf(total):
        raise ValueError(
            "rewards must add up to a finite return, got more than a float holds; scale them down"
        )
    return total


def _rewards(rewards: Iterable[float]) -> list[float]:
    if isinstance(rewards, (str, bytes)) or not isinstance(rewards, Iterable):
        raise TypeError(f"rewards must be a list of numbers, got {type(rewards).__name__}; pass one a step")
    values = []
    for t, r in enumerate(rewards):
        if not hasattr(r, "__float__"):
            raise TypeError(
                f"rewards must be numbers, got {type(r).__name__} {r!r} at step {t}; use 0 for none"
            )
        values.append(_one_reward(r))
        if not math.isfinite(values[-1]):
            raise ValueError(f"rewards must be finite, got {r!r:.40} at step {t}; mend the reward function")
    return values


def _one_reward(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond the range of floats
        return math.inf
