r"""How do comparisons become scores? The Bradley-Terry model: loss, gradient and fit.

Public through :mod:`rl_lab.preferences`.

>>> from math import log
>>> round(preference_probability(log(4), 0), 2)  # odds of 4 to 1
0.8
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

from rl_lab._grpo_common import count

Item = TypeVar("Item")
Features = Sequence[float]
Pair = tuple[Features, Features]
_Gaps = Counter[tuple[float, ...]]  # features of the preferred minus features of the other, with their number


def sigmoid(z: float) -> float:
    """Turn a difference of scores into a probability: 1 / (1 + exp(-z)), without overflow.

    Examples
    --------
    >>> sigmoid(0), sigmoid(-800), sigmoid(800)
    (0.5, 0.0, 1.0)
    """
    if z >= 0:
        return 1 / (1 + math.exp(-z))
    return math.exp(z) / (1 + math.exp(z))  # exp(-z) would overflow below -709


def preference_probability(score_a: float, score_b: float) -> float:
    """Probability that A is preferred to B.

    Parameters
    ----------
    score_a, score_b : float
        Any finite scores; only their difference counts.

    Returns
    -------
    float
        From 0 to 1; 0.5 for equal scores.

    Raises
    ------
    ValueError
        If a score is not finite.

    References
    ----------
    Bradley and Terry (1952), doi:10.2307/2334029. Christiano et al. (2017), arXiv:1706.03741, section 2.2.3.

    Examples
    --------
    >>> round(preference_probability(1.0, 0.0), 3), round(preference_probability(101.0, 100.0), 3)
    (0.731, 0.731)
    """
    if not (math.isfinite(score_a) and math.isfinite(score_b)):
        raise ValueError(f"scores must be finite, got {score_a!r} and {score_b!r}; leave unscored texts out")
    return sigmoid(score_a - score_b)


def pairs_from_ranking(ranking: Iterable[Item]) -> list[tuple[Item, Item]]:
    """List every comparison that a ranking holds.

    Parameters
    ----------
    ranking : iterable
        Best first, without ties.

    Returns
    -------
    list of (better, worse)
        k(k - 1)/2 pairs for k items; none for fewer than two.

    Raises
    ------
    TypeError
        If `ranking` is a set, which has no order.

    References
    ----------
    Ouyang et al. (2022), arXiv:2203.02155, section 3.5: rankings of 4 to 9 completions.

    Examples
    --------
    >>> ["".join(pair) for pair in pairs_from_ranking("ADBC")]
    ['AD', 'AB', 'AC', 'DB', 'DC', 'BC']
    """
    if isinstance(ranking, (set, frozenset)):
        raise TypeError(f"ranking must be in order, got the set {ranking!r}; pass a list, best first")
    return list(combinations(ranking, 2))


@dataclass(frozen=True)
class BradleyTerry:
    """A fitted reward model: one weight for each feature.

    Attributes
    ----------
    weights : tuple of float
        In the order of the features; points of score for one unit of the feature.
    losses : tuple of float
        Mean loss over the pairs before the first step and after each one, penalty left out.
    """

    weights: tuple[float, ...]
    losses: tuple[float, ...]

    def score(self, features: Features) -> float:
        """Score one text by its features. Scores have no zero of their own: compare them, or use their differences.

        Raises
        ------
        ValueError
            If the number of features is not that of the weights.

        Examples
        --------
        >>> BradleyTerry(weights=(2.0, -1.0), losses=()).score((1.0, 0.5))
        1.5
        """
        if len(features) != len(self.weights):
            raise ValueError(
                f"features must be {len(self.weights)} numbers, one for each weight, got {len(features)}; "
                "read them with the function that read them for the fit"
            )
        return float(sum(w * x for w, x in zip(self.weights, features, strict=True)))


def preference_loss(weights: Features, pairs: Sequence[Pair]) -> float:
    """Mean of -log P(preferred over other) over the pairs.

    Parameters
    ----------
    weights : sequence of float
        One for each feature.
    pairs : sequence of (features, features)
        Features of the preferred text first.

    Returns
    -------
    float
        At least 0; log 2 = 0.693 for weights of zero, which know nothing.

    Raises
    ------
    ValueError
        If there are no pairs, or a text has another number of features.

    References
    ----------
    Ouyang et al. (2022), arXiv:2203.02155, equation 1.

    Examples
    --------
    >>> round(preference_loss([0.0], [((1.0,), (0.0,))]), 3), round(preference_loss([2.0], [((1.0,), (0.0,))]), 3)
    (0.693, 0.127)
    """
    return _loss(tuple(weights), _gaps(pairs, len(weights)))


def preference_gradient(weights: Features, pairs: Sequence[Pair]) -> list[float]:
    """Slope of :func:`preference_loss` in each weight: the mean of -P(other preferred) * (x_preferred - x_other).

    Examples
    --------
    >>> preference_gradient([0.0], [((1.0,), (0.0,))])  # nothing known yet: half a step towards the preferred
    [-0.5]
    """
    return _gradient(tuple(weights), _gaps(pairs, len(weights)))


def fit_bradley_terry(
    pairs: Sequence[Pair], *, steps: int = 200, rate: float = 1.0, l2: float = 0.0
) -> BradleyTerry:
    """Fit weights to preferences by gradient descent, from zero.

    Parameters
    ----------
    pairs : sequence of (features, features)
        Features of the preferred text first; all of one length.
    steps : int
        Steps over all pairs at once, at least 0.
    rate : float
        Step size, above 0.
    l2 : float
        Penalty, at least 0: l2/2 times the squared weights is added to the loss. Pairs that never contradict each
        other have no finite optimum without it; then `steps` decides how far the scores are apart.

    Returns
    -------
    BradleyTerry
        Weights and the loss after each step.

    Raises
    ------
    ValueError
        If there are no pairs, features differ in number or are not finite, a setting is out of range, or the loss
        ends higher than it began.

    Examples
    --------
    >>> said = [((1.0,), (0.0,))] * 8 + [((0.0,), (1.0,))] * 2  # 8 of 10 prefer the first
    >>> model = fit_bradley_terry(said, steps=200)
    >>> round(model.weights[0], 3), round(math.log(8 / 2), 3)
    (1.386, 1.386)
    """
    count("steps", steps, 0)
    if not (rate > 0 and math.isfinite(rate)) or not (l2 >= 0 and math.isfinite(l2)):
        raise ValueError(f"rate must be above 0 and l2 at least 0, got rate={rate!r} and l2={l2!r}")
    gaps = _gaps(pairs)
    weights = (0.0,) * len(next(iter(gaps)))
    losses = [_loss(weights, gaps)]
    for _ in range(steps):
        slope = _gradient(weights, gaps)
        weights = tuple(w - rate * (g + l2 * w) for w, g in zip(weights, slope, strict=True))
        losses.append(_loss(weights, gaps))
    if losses[-1] > losses[0]:
        raise ValueError(
            f"rate={rate!r} overshoots: the loss rose from {losses[0]:.3g} to {losses[-1]:.3g}; try half of it"
        )
    return BradleyTerry(weights, tuple(losses))


def _gaps(pairs: Sequence[Pair], width: int | None = None) -> _Gaps:
    """Count the differences of features: equal ones are computed once, which is what makes large fits quick."""
    if not pairs:
        raise ValueError("pairs must hold at least one comparison, got none; see pairs_from_ranking")
    width = len(pairs[0][0]) if width is None else width
    counted: _Gaps = Counter()
    for number, (better, worse) in enumerate(pairs):
        if len(better) != width or len(worse) != width:
            raise ValueError(
                f"pairs[{number}] must have {width} features on both sides, got {len(better)} and {len(worse)}"
            )
        counted[tuple(float(a) - float(b) for a, b in zip(better, worse, strict=True))] += 1
    if not all(math.isfinite(x) for gap in counted for x in gap):
        raise ValueError("features must be finite numbers, got NaN or infinity; leave such texts out")
    return counted


def _dot(weights: Features, gap: Features) -> float:
    return sum(w * x for w, x in zip(weights, gap, strict=True))


def _loss(weights: Features, gaps: _Gaps) -> float:
    total = 0.0
    for gap, number in gaps.items():
        z = _dot(weights, gap)
        total += number * (max(-z, 0.0) + math.log1p(math.exp(-abs(z))))  # -log sigmoid(z), without overflow
    return total / gaps.total()


def _gradient(weights: Features, gaps: _Gaps) -> list[float]:
    slope = [0.0] * len(weights)
    for gap, number in gaps.items():
        surprise = number * sigmoid(-_dot(weights, gap))  # P(the other is preferred): what is still to learn
        for j, x in enumerate(gap):
            slope[j] -= surprise * x
    return [s / gaps.total() for s in slope]
