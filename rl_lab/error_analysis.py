r"""At which step did it go wrong, and would a calculator have saved the answer?

:func:`rl_lab.evaluation.classify_error` reads a completion alone: it can recompute each result, but whether the right
calculation was *chosen* it cannot see. Where the data set has worked solutions, that can be seen too, and an error
that is wrong twice over goes to the cause that came first. :func:`diagnose` compares step by step, :func:`tally`
counts, :func:`possible_counts` asks of a percentage in print whether any count can have made it.

>>> gold = "80*0.75 = <<80*0.75=60>>60\n60-5 = <<60-5=55>>55\n#### 55"
>>> slip = diagnose("80 * 0.75 = 62\n62 - 5 = 57\nFinal Answer: 57", gold)
>>> slip.kind, slip.step, slip.fixed_by_calculator
('arithmetic', 1, True)
>>> plan = diagnose("80 - 5 = 75\n75 * 0.75 = 56.25\nFinal Answer: 56.25", gold)
>>> plan.kind, plan.step, plan.detail
('set-up', 1, '80 - 5 is no step of the solution')
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

from rl_lab._estimates import listed, whole
from rl_lab._record import Record
from rl_lab.evaluation import ERROR_ACTIONS, classify_error, recompute_steps, wilson_interval
from rl_lab.rows import extract_ground_truth, strip_calc_marks

__all__ = ["KINDS", "diagnose", "possible_counts", "tally"]

KINDS = ("truncated", "format", "arithmetic", "set-up", "reading", "copy", "unknown")
"""Kinds of error, in the order in which tables list them."""

_NUMBER = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+")
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")


def diagnose(
    completion: Any, solution: str, *, question: str | None = None, truncated: bool = False
) -> Record:
    r"""Find the first thing that went wrong in a completion, beside the worked solution.

    Parameters
    ----------
    completion : str or list of messages
        What the model wrote.
    solution : str
        The data set's worked solution, ending in ``#### n``; calculator marks may stand in it.
    question : str, optional
        Lets a number that stands nowhere be told from a wrong plan.
    truncated : bool
        Whether generation stopped at the token limit.

    Returns
    -------
    Record
        ``kind``, ``"correct"`` or one of :data:`KINDS`; ``step``, the number of the first wrong step (None where no
        step is); ``detail``, the evidence in words; ``fixed_by_calculator``: would the answer be right if every result
        had been calculated rightly?

    Raises
    ------
    ValueError
        If `solution` has no ``####`` line with a number.
    TypeError
        If `solution` or `question` is no text.

    Notes
    -----
    In this order. ``correct``, ``truncated`` and ``format`` as in :func:`rl_lab.evaluation.classify_error`. Then
    ``arithmetic``, if right results at every step would lead to the gold answer, by whatever way. Else the first step
    that is not the solution's: it uses a number that stands nowhere (``reading``) or is another calculation
    (``set-up``). Else a step of the solution with a wrong result (``arithmetic`` again, which a calculator would not
    have saved). Else a step of the solution is missing (``set-up``); nothing is missing, and the answer line says
    something else (``copy``). No step at all is ``unknown``.

    Another way to the same answer is no error, and its steps are never compared unless the answer is wrong.

    Examples
    --------
    >>> gold = "80*0.75 = 60\n60-5 = 55\n#### 55"
    >>> diagnose("80 * 0.75 = 60\nFinal Answer: 60", gold).detail
    'stops after 1 of 2 steps'
    >>> diagnose("80 * 0.7 = 56\n56 - 5 = 51\nFinal Answer: 51", gold, question="80 yuan, at 75 %, 5 off").kind
    'reading'
    """
    if not isinstance(solution, str):
        raise TypeError(f"solution must be text, got {type(solution).__name__} {solution!r:.60}")
    gold = extract_ground_truth(solution)
    seen = classify_error(completion, gold, question=question, truncated=truncated)
    if seen.kind in ("correct", "truncated", "format"):
        return _found(seen.kind, None, seen.detail)
    if seen.fixed_by_calculator:
        at = next(i for i, step in enumerate(seen.steps) if not step.ok)
        return _found("arithmetic", at, seen.detail, fixed=True)
    if not seen.steps:
        return _found("unknown", None, seen.detail)
    return _first_departure(seen, recompute_steps(strip_calc_marks(solution)), solution, question)


def tally(diagnoses: Iterable[Mapping[str, Any]], *, confidence: float = 0.95) -> list[Record]:
    """Count errors by kind, each with its share, its interval and what it calls for.

    Parameters
    ----------
    diagnoses : iterable of mapping
        With ``kind`` and ``fixed_by_calculator``, from :func:`diagnose` or
        :func:`rl_lab.evaluation.classify_error`. What is ``"correct"`` is left out.
    confidence : float
        Of the Wilson intervals.

    Returns
    -------
    list of Record
        ``kind``, ``n``, ``share`` (of the errors, in 0–1), ``low``, ``high``, ``fixed`` (how many a calculator would
        have made right) and ``action``; kinds without an error are left out. The counts sum to the number of errors.

    Raises
    ------
    ValueError
        If a kind is unknown.

    Examples
    --------
    >>> kinds = ["set-up", "arithmetic", "correct", "set-up"]
    >>> rows = tally([{"kind": kind, "fixed_by_calculator": kind == "arithmetic"} for kind in kinds])
    >>> [(row.kind, row.n, round(row.share, 2), row.fixed) for row in rows]
    [('arithmetic', 1, 0.33, 1), ('set-up', 2, 0.67, 0)]
    """
    given = listed("diagnoses", diagnoses)
    if not all(isinstance(one, Mapping) and {"kind", "fixed_by_calculator"} <= one.keys() for one in given):
        raise TypeError(
            "diagnoses must come from diagnose or classify_error, with kind and fixed_by_calculator"
        )
    errors = [one for one in given if one["kind"] != "correct"]
    unknown = sorted({str(one["kind"]) for one in errors} - set(KINDS))
    if unknown:
        raise ValueError(f"kind must be correct or one of {', '.join(KINDS)}, got {', '.join(unknown)}")
    rows = []
    for kind in KINDS:
        here = [one for one in errors if one["kind"] == kind]
        if not here:
            continue
        low, high = wilson_interval(len(here), len(errors), confidence)
        fixed = sum(bool(one["fixed_by_calculator"]) for one in here)
        rows.append(
            Record(
                kind=kind,
                n=len(here),
                share=len(here) / len(errors),
                low=low,
                high=high,
                fixed=fixed,
                action=ERROR_ACTIONS[kind],
            )
        )
    return rows


def possible_counts(percent: float | str, n: int, decimals: int | None = None) -> list[int]:
    """List the counts of `n` that, as a percentage, are printed like this; an empty list says that none is.

    Parameters
    ----------
    percent : str or float
        As printed: "78.5" has one decimal, "78.50" two.
    n : int
        Out of how many, 1 or more.
    decimals : int, optional
        Decimals in print; by default as many as `percent` shows.

    Returns
    -------
    list of int
        In 0–`n`. Ties may have been rounded up or to even: both are allowed.

    Raises
    ------
    ValueError
        If `percent` is no number from 0 to 100, or `n` or `decimals` out of range.
    TypeError
        If `n` or `decimals` is no whole number.

    References
    ----------
    Brown and Heathers (2017), "The GRIM Test", doi:10.1177/1948550616673876: the same question, asked of means.

    Examples
    --------
    >>> possible_counts("42.1", 76), possible_counts("78.5", 85)
    ([32], [])
    >>> possible_counts("50", 3), possible_counts("68", 100)
    ([], [68])
    """
    shown = _percentage(percent)
    n = whole("n", n)
    decimals = max(0, -int(shown.as_tuple().exponent)) if decimals is None else whole("decimals", decimals)
    shows = max(0, -int(shown.normalize().as_tuple().exponent))
    if decimals < shows:
        raise ValueError(
            f"percent shows {shows} decimals, got decimals={decimals}; leave it out, or pass {shows}"
        )
    if n < 1 or not 0 <= decimals <= 12:
        raise ValueError(f"n must be 1 or more and decimals 0 to 12, got n={n}, decimals={decimals}")
    place = Decimal(1).scaleb(-decimals)
    near = int(shown * n / 100)
    reach = n // (100 * 10**decimals) + 2  # further away, no rounding leads back
    return [
        count
        for count in range(max(0, near - reach), min(n, near + reach) + 1)
        if shown in {_rounded(count, n, place, way) for way in (ROUND_HALF_UP, ROUND_HALF_EVEN)}
    ]


def _percentage(percent: Any) -> Decimal:
    if isinstance(percent, bool) or not isinstance(percent, (str, numbers.Real, Decimal)):
        raise TypeError(f"percent must be a number or its text, got {type(percent).__name__} {percent!r:.40}")
    text = str(percent).strip().removesuffix("%").strip()
    if not re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]{1,12})?", text) or Decimal(text) > 100:
        raise ValueError(f"percent must be a plain number from 0 to 100, such as 78.5, got {percent!r:.40}")
    return Decimal(text)


def _rounded(count: int, n: int, place: Decimal, way: str) -> Decimal:
    # Multiplied before it is divided, with more digits than any place here: no second rounding.
    return (Decimal(100 * count) / Decimal(n)).quantize(place, rounding=way)


def _found(kind: str, at: int | None, detail: str, *, fixed: bool = False) -> Record:
    step = None if at is None else at + 1
    return Record(kind=kind, step=step, detail=detail, fixed_by_calculator=fixed)


def _first_departure(
    seen: Record, gold_steps: Sequence[Record], solution: str, question: str | None
) -> Record:
    """Compare with the solution: each result that is reached is crossed off."""
    left = [step.value for step in gold_steps]
    known = None if question is None else set(_numbers(question)) | set(_numbers(solution))
    slip: tuple[int, str] | None = None
    for at, step in enumerate(seen.steps):
        match = next((value for value in left if _same(value, step.carried)), None)
        if match is None:
            stray = next((n for n in _numbers(step.expression) if known is not None and n not in known), None)
            if stray is not None:
                return _found("reading", at, f"uses {stray:f}, which stands nowhere")
            return _found("set-up", at, f"{step.expression} is no step of the solution")
        left.remove(match)
        if not step.ok and slip is None:
            slip = at, f"{step.expression} is not {step.stated}"
        if known is not None:
            known.update(_numbers(step.stated))
    if slip:
        return _found("arithmetic", *slip)
    if gold_steps and any(_same(value, gold_steps[-1].value) for value in left):
        return _found("set-up", None, f"stops after {len(seen.steps)} of {len(gold_steps)} steps")
    return _found("copy", None, f"the steps reach the answer, the answer line says {seen.answer}")


def _same(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def _numbers(text: str) -> list[Decimal]:
    """Numbers of a text in order; behind them each percentage, and what is left of 100, as number and share."""
    found = [Decimal(number.replace(",", "")) for number in _NUMBER.findall(text)]
    percents = [Decimal(number) for number in _PERCENT.findall(text)]
    left = [100 - percent for percent in percents]
    whole_of_it = [Decimal(100)] if percents else []
    return [*found, *(percent / 100 for percent in (*percents, *left)), *left, *whole_of_it]
