"""Counting several samples per problem, and saying how sure a rate is: pure arithmetic, no text is read but by a vote.

The public names are in :mod:`rl_lab.evaluation`.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from rl_lab._completion import completion_text
from rl_lab._record import Record
from rl_lab.answers import extract_answer, parse_number, same_number

_FACTORS = 10**6  # more of them are integrated, not multiplied
_EXACT = 2000  # up to so many samples binomials are worked out as integers, which is then quick as well


def pass_at_k(n: int, c: int, k: int) -> float:
    """Estimate the chance that at least one of `k` samples is right, from `n` samples of which `c` are.

    The unbiased estimator ``1 - C(n-c, k) / C(n, k)``: the share of all subsets of `k` samples that hold a
    right one. The plug-in ``1 - (1 - c/n)**k`` is too low: it draws with replacement.

    Parameters
    ----------
    n, c, k : int
        Samples drawn, samples right, samples allowed; ``1 <= k <= n`` and ``0 <= c <= n``.

    Returns
    -------
    float
        In 0–1.

    Raises
    ------
    ValueError
        If the numbers are impossible, or ``k > n``: five samples say nothing unbiased about ten.
    TypeError
        If one is no whole number.

    References
    ----------
    Chen et al. (2021), arXiv:2107.03374, equation 1.

    Examples
    --------
    >>> pass_at_k(16, 1, 8)
    0.5
    >>> round(pass_at_k(10, 3, 5), 6)
    0.916667
    """
    n, c, k = _counts(n, c, k)
    if n > _EXACT:
        return -math.expm1(_log_chance_to_avoid(n, c, k)) + 0.0
    # One exact integer ratio: the difference of two floats would lose small chances.
    subsets = math.comb(n, k)
    return (subsets - math.comb(n - c, k)) / subsets


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Estimate the chance that all of `k` samples are right (pass^k): ``C(c, k) / C(n, k)``.

    The question of a user who relies on the agent every time; :func:`pass_at_k` is that of one who can check
    and retry.

    Parameters, returned value and errors as in :func:`pass_at_k`.

    References
    ----------
    Yao et al. (2024), tau-bench, arXiv:2406.12045.

    Examples
    --------
    >>> pass_hat_k(10, 8, 1), round(pass_hat_k(10, 8, 4), 4)
    (0.8, 0.3333)
    """
    n, c, k = _counts(n, c, k)
    if n > _EXACT:
        return math.exp(_log_chance_to_avoid(n, n - c, k))
    return math.comb(c, k) / math.comb(n, k)


def accuracy_at_k(correct: Sequence[Sequence[bool]], k: int | Sequence[int]) -> float | list[float]:
    """Mean of :func:`pass_at_k` over problems (what many tutorials call Accuracy@K).

    Parameters
    ----------
    correct : sequence of sequences of bool
        ``correct[i][j]``: is sample j of problem i right? Problems may have different numbers of samples.
    k : int or sequence of int
        Samples allowed; several values give a list. At ``k=1`` this is the share of right samples, not "was
        the first one right".

    Returns
    -------
    float or list of float
        In 0–1.

    Raises
    ------
    ValueError
        If there are no problems, a problem has fewer than `k` samples (it is named), or an entry is neither
        right nor wrong.
    TypeError
        If `correct` is no list of lists, or `k` no whole number.

    Examples
    --------
    >>> accuracy_at_k([[False, False, True, False]], [1, 4])
    [0.25, 1.0]
    """
    problems = [
        right_or_wrong(samples, f"correct[{i}]") for i, samples in enumerate(listed("correct", correct))
    ]
    if not problems:
        raise ValueError("correct must hold at least one problem, got none; an empty set has no accuracy")
    counts = [(len(flags), sum(flags)) for flags in problems]
    if isinstance(k, Iterable):
        return [_mean_pass(counts, one) for one in k]
    return _mean_pass(counts, k)


def mean_over_problems(scores: Iterable[float]) -> float | None:
    """Average scores that lie in 0–1; None for no scores. A score above 0 is not yet a pass.

    Examples
    --------
    >>> mean_over_problems([0.2, 0.6]), mean_over_problems([])
    (0.4, None)
    """
    scores = listed("scores", scores)
    for i, score in enumerate(scores):
        if score is None or isinstance(score, str) or not 0 <= score <= 1:
            raise ValueError(
                f"scores must lie between 0 and 1, got {score!r} at {i}; leave unscored problems out"
            )
    return math.fsum(scores) / len(scores) if scores else None


def majority_vote(answers: Iterable[Any]) -> Record:
    """Find the most frequent answer of one problem's samples (self-consistency, maj@k).

    Parameters
    ----------
    answers : iterable of str, number or None
        Extracted answers or whole completions (texts or message lists). Numbers vote by value, so ``"72.0"`` and
        ``"72"`` are one candidate, and so are two that the accuracy reward takes for equal (1e-6 apart); what holds
        no readable number abstains.

    Returns
    -------
    Record
        ``value`` (number text in normal form, None if nobody voted; of tied values the one seen first),
        ``tie``, ``votes`` for it, ``voters``, ``unparsed``.

    Raises
    ------
    TypeError
        If `answers` is no list, or a member neither text, number, message list nor None.

    References
    ----------
    Wang et al. (2022), arXiv:2203.11171.

    Examples
    --------
    >>> majority_vote(["70", "72", "72", "70"])
    {'value': '70', 'tie': True, 'votes': 2, 'voters': 4, 'unparsed': 0}
    >>> majority_vote(["", None, "72"]).votes
    1
    """
    if isinstance(answers, (str, bytes)):
        raise TypeError(f"answers must be a list with one entry per sample, got the text {answers[:40]!r}")
    votes: dict[str, int] = {}  # keeps the order in which values were first seen
    places: dict[int, str] = {}
    unparsed = 0
    for answer in listed("answers", answers):
        value = _vote(answer)
        if value is None:
            unparsed += 1
        else:
            value = _candidate(value, places)
            votes[value] = votes.get(value, 0) + 1
    most = max(votes.values(), default=0)
    first = [value for value, count in votes.items() if count == most]
    return Record(
        value=first[0] if first else None,
        tie=len(first) > 1,
        votes=most,
        voters=sum(votes.values()),
        unparsed=unparsed,
    )


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Interval for a success rate that holds its promise at small `n` and near 0 or 1, where plus-minus does not.

    Parameters
    ----------
    successes, n : int
        ``0 <= successes <= n``.
    confidence : float
        Strictly between 0 and 1.

    Returns
    -------
    (float, float)
        Lower and upper end, in 0–1. With ``n = 0`` nothing is known: (0.0, 1.0).

    References
    ----------
    Wilson (1927), JASA 22:209–212; Brown, Cai and DasGupta (2001), Statistical Science 16(2).

    Examples
    --------
    >>> [round(end, 3) for end in wilson_interval(42, 100)]
    [0.328, 0.518]
    >>> [round(end, 3) for end in wilson_interval(0, 20)]
    [0.0, 0.161]
    """
    successes, n = whole("successes", successes), whole("n", n)
    if not 0 <= successes <= n:
        raise ValueError(
            f"successes must lie between 0 and n, got {successes} of {n}; check the order of arguments"
        )
    z = _z(confidence)
    if n == 0:
        return 0.0, 1.0
    low, high = share_interval(successes / n, n, z)
    # At the ends the formula gives the end itself up to rounding.
    return 0.0 if successes == 0 else low, 1.0 if successes == n else high


Z95 = 1.959964  # 95 % of a normal distribution lie within so many standard deviations


def share_interval(p: float, n: int, z: float = Z95) -> tuple[float, float]:
    """Wilson's formula for a share of `n` that need not be a count over `n`: pass@1 averages over samples.

    Examples
    --------
    >>> [round(end, 3) for end in share_interval(0.4, 200)], [round(end, 2) for end in share_interval(0.5, 1)]
    ([0.335, 0.469], [0.05, 0.95])
    """
    z2 = z * z
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def paired_difference(before: Sequence[bool], after: Sequence[bool], *, confidence: float = 0.95) -> Record:
    """Compare two runs on the same problems: did the change help, and how sure is that?

    Only the problems on which the runs differ carry information, so the interval is narrower than that of two
    separate accuracies.

    Parameters
    ----------
    before, after : sequence of bool
        Right or wrong per problem, in the same order.
    confidence : float
        Of the interval.

    Returns
    -------
    Record
        ``n``; ``difference`` in accuracy (after minus before, in -1 to 1) with ``low`` and ``high``;
        ``gained`` and ``lost`` problems; ``p_value`` of the exact two-sided sign test on those (McNemar).

    References
    ----------
    Agresti and Min (2005), Statistics in Medicine 24:729–740: half an observation is added to each cell.

    Examples
    --------
    >>> before = [True] * 40 + [False] * 60
    >>> after = [True] * 36 + [False] * 4 + [True] * 14 + [False] * 46
    >>> result = paired_difference(before, after)
    >>> result.gained, result.lost, result.difference, round(result.p_value, 3)
    (14, 4, 0.1, 0.031)
    >>> [round(end, 3) for end in (result.low, result.high)]
    [0.016, 0.18]
    """
    first, second = right_or_wrong(before, "before"), right_or_wrong(after, "after")
    n = len(first)
    if n != len(second) or n == 0:
        raise ValueError(
            f"before and after must hold the same problems, at least one, got {n} and {len(second)}"
        )
    gained = sum(b > a for a, b in zip(first, second, strict=True))
    lost = sum(b < a for a, b in zip(first, second, strict=True))
    up, down, size = gained + 0.5, lost + 0.5, n + 2
    middle = (up - down) / size
    half = _z(confidence) * math.sqrt((up + down) - (up - down) ** 2 / size) / size
    return Record(
        n=n,
        difference=(gained - lost) / n,
        low=max(-1.0, middle - half),
        high=min(1.0, middle + half),
        gained=gained,
        lost=lost,
        p_value=sign_test(gained, lost),
    )


def sign_test(gained: int, lost: int) -> float:
    """Two-sided probability of a split this uneven if gains and losses were a coin toss (McNemar, exact)."""
    return min(1.0, 2 * _binomial_tail(gained + lost, min(gained, lost)))


def _binomial_tail(n: int, most: int) -> float:
    """Chance of at most `most` heads in `n` tosses of a fair coin."""
    ways = total = 1
    for i in range(most):
        ways = ways * (n - i) // (i + 1)
        total += ways
    return total / 2**n


def _log_chance_to_avoid(n: int, hits: int, k: int) -> float:
    """Logarithm of C(n - hits, k) / C(n, k): `k` samples of `n` hold none of the `hits`.

    The quotient is a product of as many factors as the smaller of the two counts.
    """
    few, many = sorted((hits, k))
    # Each factor is at most exp(-many / n), and exp(-800) is 0 to a float.
    if hits + k > n or few * many > 800 * n:
        return -math.inf
    if few > 10**17:  # many / n is below 1e-14: all factors are the same to a float
        return -(few * many / n)
    if few > _FACTORS:  # many / n is below 0.001: Simpson's rule is as exact as the sum
        middle, ends = 2 * n + 1 - few, (2 * n + 1, 2 * (n - few) + 1)
        return few * (4 * _log_factor(middle, 2 * many) + sum(_log_factor(end, 2 * many) for end in ends)) / 6
    return math.fsum(_log_factor(n - j, many) for j in range(few))


def _log_factor(total: int, many: int) -> float:
    """Logarithm of 1 - many / total. Each form keeps a small number that the other one rounds away."""
    share, rest = many / total, (total - many) / total
    if share < 0.5:
        return math.log1p(-share)
    return math.log(rest) if rest else -math.inf


def _vote(answer: Any) -> str | None:
    if answer is None or isinstance(answer, (str, numbers.Number)):
        number = parse_number(answer)
        if number is None:
            return extract_answer(answer) if isinstance(answer, str) else None
        return extract_answer(format(number, "f"))
    return extract_answer(completion_text(answer))


def _candidate(value: str, places: dict[int, str]) -> str:
    """The value for which this one votes: the first seen that counts as the same number, or itself."""
    place = round(Fraction(parse_number(value)) * 10**6)
    for near in (place, place - 1, place + 1):
        if near in places and same_number(places[near], value):
            return places[near]
    return places.setdefault(place, value)


def _mean_pass(counts: list[tuple[int, int]], k: int) -> float:
    scores = []
    for i, (n, c) in enumerate(counts):
        try:
            scores.append(pass_at_k(n, c, k))
        except ValueError as error:
            raise ValueError(f"problem {i}: {error}") from None
    return math.fsum(scores) / len(scores)


def _counts(n: int, c: int, k: int) -> tuple[int, int, int]:
    n, c, k = whole("n", n), whole("c", c), whole("k", k)
    if n < 1 or k < 1:
        raise ValueError(f"n and k must be 1 or more, got n={n}, k={k}; no samples, no estimate")
    if not 0 <= c <= n:
        raise ValueError(f"c must lie between 0 and n, got c={c} of n={n}; it counts the right samples")
    if k > n:
        raise ValueError(f"k must be at most n, got k={k} of n={n} samples; draw more samples or lower k")
    return n, c, k


def listed(name: str, values: Any) -> list[Any]:
    """Return `values` as a list, or raise a TypeError that names it: a text or a single value is none."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list, got {type(values).__name__} {values!r:.40}")
    return list(values)


def whole(name: str, value: Any) -> int:
    """Return `value` as an int, or raise a TypeError that names it: counts have no fractions."""
    if not isinstance(value, bool) and hasattr(value, "__index__"):
        return operator.index(value)
    raise TypeError(f"{name} must be a whole number, got {value!r}; counts have no fractions")


def right_or_wrong(values: Iterable[Any], name: str) -> list[int]:
    """Return 1 for right and 0 for wrong, or raise: a probability or a text is neither."""
    flags = []
    for i, value in enumerate(listed(name, values)):
        if isinstance(value, str) or value not in (0, 1):
            raise ValueError(f"{name}[{i}] must be right or wrong (True, False, 1 or 0), got {value!r:.40}")
        flags.append(int(value))
    return flags


def _z(confidence: float) -> float:
    if not isinstance(confidence, numbers.Real):
        raise TypeError(f"confidence must be a number, got {confidence!r}; 0.95 is usual")
    if not (confidence > 0 and 0.5 + confidence / 2 < 1):
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}; 0.95 is usual")
    from statistics import NormalDist  # here, because it costs more to import than this module

    return NormalDist().inv_cdf(0.5 + confidence / 2)
