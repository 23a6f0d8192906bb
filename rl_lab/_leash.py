r"""Where does a policy go that is paid a score and held on a leash, and where does one without?

On a finite set of completions the answers are exact. Public through :mod:`rl_lab.preferences`.

>>> scores, before = [2.0, 0.0], [0.2, 0.8]
>>> [round(kl_regularised(scores, beta, before)[0], 2) for beta in (10, 2, 1, 0)]
[0.23, 0.4, 0.65, 1.0]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

from rl_lab._grpo_common import count


def kl_regularised(
    rewards: Sequence[float], beta: float, reference: Sequence[float] | None = None
) -> list[float]:
    """Give the policy that maximises expected reward minus beta times its KL divergence from the reference.

    Parameters
    ----------
    rewards : sequence of float, shape (n,)
        One for each completion of a finite set.
    beta : float
        The leash, in units of reward: large stays at the reference, 0 lets go and takes only the best-paid
        completions, in the reference's proportions. ``math.inf`` returns the reference.
    reference : sequence of float, shape (n,), optional
        Probabilities before training; all equal if not given.

    Returns
    -------
    list of float, shape (n,)
        pi(y) proportional to reference(y) * exp(rewards(y) / beta). What the reference never writes stays at 0.

    Raises
    ------
    ValueError
        If a reward is not finite, `beta` is negative, or the reference is no distribution over the same set.

    References
    ----------
    Rafailov et al. (2023), arXiv:2305.18290, equation 4.

    Examples
    --------
    >>> [round(p, 3) for p in kl_regularised([1.0, 0.0], beta=1.0, reference=[0.2, 0.8])]
    [0.405, 0.595]
    >>> kl_regularised([1.0, 0.0], beta=0, reference=[0.2, 0.8])
    [1.0, 0.0]
    """
    chances = _distribution(rewards, reference)
    if not beta >= 0:
        raise ValueError(f"beta must be at least 0, got {beta!r}; 0 is no leash, math.inf does not move")
    return _tilted(rewards, beta, chances)


def best_of_n(rewards: Sequence[float], n: int, reference: Sequence[float] | None = None) -> list[float]:
    """Give the distribution of the best-paid of `n` samples from the reference.

    Parameters
    ----------
    rewards : sequence of float, shape (k,)
        One for each completion of a finite set.
    n : int
        Samples, at least 1; 1 is the reference itself.
    reference : sequence of float, shape (k,), optional
        Probabilities of the set; all equal if not given.

    Returns
    -------
    list of float, shape (k,)
        Exact. Among equal rewards the first one sampled is taken, so they keep the reference's proportions.

    Raises
    ------
    TypeError
        If `n` is no whole number.
    ValueError
        If `n` is below 1, a reward is not finite, or the reference is no distribution over the same set.

    References
    ----------
    Gao et al. (2022), arXiv:2210.10760: the second optimiser of their study.

    Examples
    --------
    >>> best_of_n([1.0, 0.0], n=2)  # one of two is the better one in 3 of 4 cases
    [0.75, 0.25]
    """
    count("n", n)
    chances = _normalised(_distribution(rewards, reference))
    policy, below = [0.0] * len(chances), 0.0
    order = sorted(range(len(rewards)), key=lambda i: rewards[i])
    for _, tied in groupby(order, key=lambda i: rewards[i]):
        ties = [i for i in tied if chances[i] > 0]
        share = sum(chances[i] for i in ties)
        wins = (below + share) ** n - below**n  # the best of n is among these
        for i in ties:
            policy[i] = wins * chances[i] / share
        below += share
    return _normalised(policy)


def kl_divergence(policy: Sequence[float], reference: Sequence[float]) -> float:
    """How far `policy` has moved from `reference`, in nats: the mean of log(policy/reference) under the policy.

    Returns
    -------
    float
        0.0 for equal distributions; ``math.inf`` if the policy does what the reference never does.

    Raises
    ------
    ValueError
        If one of the two is no distribution, or they differ in length.

    Examples
    --------
    >>> round(kl_divergence([1.0, 0.0], [0.5, 0.5]), 3)  # log 2
    0.693
    >>> kl_divergence([0.5, 0.5], [1.0, 0.0])
    inf
    """
    if len(policy) != len(reference):
        raise ValueError(
            f"policy and reference must be over the same set, got {len(policy)} and {len(reference)} probabilities"
        )
    _distribution(policy, policy)
    _distribution(reference, reference)
    return _nats(policy, reference)


def beta_for_kl(
    rewards: Sequence[float], kl: float, reference: Sequence[float] | None = None
) -> float | None:
    """Find the leash at which the best policy is `kl` nats away from the reference.

    Parameters
    ----------
    rewards : sequence of float, shape (n,)
        One for each completion.
    kl : float
        Nats, above 0.
    reference : sequence of float, shape (n,), optional
        Probabilities before training; all equal if not given.

    Returns
    -------
    float or None
        Beta; None if even without a leash the policy does not get that far.

    Raises
    ------
    ValueError
        If `kl` is not above 0, and as :func:`kl_regularised`.

    Examples
    --------
    >>> beta = beta_for_kl([1.0, 0.0], kl=0.1)
    >>> round(kl_divergence(kl_regularised([1.0, 0.0], beta), [0.5, 0.5]), 6)
    0.1
    >>> beta_for_kl([1.0, 0.0], kl=0.7) is None  # log 2 = 0.693 is as far as it goes
    True
    """
    if not (kl > 0 and math.isfinite(kl)):
        raise ValueError(f"kl must be above 0 nats and finite, got {kl!r}")
    chances = _distribution(rewards, reference)
    if _nats(_tilted(rewards, 0, chances), chances) <= kl:
        return None
    ladder = sorted(set(rewards))
    # At a thousandth of the smallest gap only the best are left; at a million times the spread nothing moves.
    low = max(1e-300, min(b - a for a, b in pairwise(ladder)) / 1000)
    high = 1e6 * (ladder[-1] - ladder[0])
    for _ in range(50):  # the divergence falls as beta grows; halve the interval on a logarithmic scale
        middle = math.sqrt(low) * math.sqrt(high)
        further = _nats(_tilted(rewards, middle, chances), chances) > kl
        low, high = (middle, high) if further else (low, middle)
    return math.sqrt(low) * math.sqrt(high)


def expected(policy: Sequence[float], values: Sequence[float]) -> float:
    """Mean of `values` under `policy`: expected reward, or with True and False the success rate.

    Raises
    ------
    ValueError
        If the two differ in length or the policy is no distribution.

    Examples
    --------
    >>> expected([0.25, 0.75], [True, False])
    0.25
    """
    chances = _distribution(values, policy, "values")
    return float(sum(p * value for p, value in zip(chances, values, strict=True)))


def _tilted(rewards: Sequence[float], beta: float, chances: list[float]) -> list[float]:
    best = max(r for r, p in zip(rewards, chances, strict=True) if p > 0)
    if beta == 0:
        return _normalised([p if r == best else 0.0 for r, p in zip(rewards, chances, strict=True)])
    # Measured from the best reward, no exponent is positive: nothing overflows however small beta is.
    tilted = [p * math.exp((r - best) / beta) if p else 0.0 for r, p in zip(rewards, chances, strict=True)]
    return _normalised(tilted)


def _nats(policy: Sequence[float], reference: Sequence[float]) -> float:
    total = 0.0
    for p, q in zip(policy, reference, strict=True):
        if p > 0:
            total += p * math.log(p / q) if q > 0 else math.inf
    return max(0.0, total)  # rounding can leave a hair below zero


def finite(name: str, numbers: Sequence[float]) -> None:
    """Raise unless there is at least one number and all of them are finite; name the argument."""
    if len(numbers) == 0:
        raise ValueError(f"{name} must not be empty; pass one number for each completion")
    if not all(math.isfinite(x) for x in numbers):
        raise ValueError(f"{name} must be finite, got {list(numbers)!r:.80}; leave unscored completions out")


def _distribution(
    values: Sequence[float], chances: Sequence[float] | None, name: str = "rewards"
) -> list[float]:
    """Check both; return the probabilities, uniform where none are given."""
    finite(name, values)
    if chances is None:
        return [1 / len(values)] * len(values)
    if len(chances) != len(values):
        raise ValueError(
            f"there must be one probability for each of {len(values)} {name}, got {len(chances)}"
        )
    if not all(p >= 0 for p in chances) or abs(sum(chances) - 1) > 1e-6:
        raise ValueError(
            f"probabilities must be at least 0 and add up to 1, got the sum {sum(chances):.6g}; divide by their sum"
        )
    return [float(p) for p in chances]


def _normalised(weights: list[float]) -> list[float]:
    total = sum(weights)
    return [w / total for w in weights]
