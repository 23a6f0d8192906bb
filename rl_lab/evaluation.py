r"""How good is the model, how sure can we be, and what goes wrong when it fails?

Rates with intervals, three ways to count several samples per problem (any of them right, all of them right,
the most frequent one right), and one count of every outcome that calls for a different action. Everything
returned is a number or a record of numbers; percent signs are for printing.

>>> result = evaluate(["Final Answer: 72", "Final Answer: 70", "I am not sure."], ["72", "72", "72"])
>>> result.correct, result.wrong, result.unparsed
(1, 1, 1)
>>> print(result)
accuracy 33.3 % (95 % interval 6.1 % to 79.2 %, n = 3)
1 correct, 1 wrong, 1 unparsed, 0 truncated; in format 66.7 %
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rl_lab._errors import (
    ERROR_ACTIONS,
    ERROR_KINDS,
    answer_is_cut_off,
    classify_error,
    flag,
    recompute_steps,
)
from rl_lab._estimates import (
    accuracy_at_k,
    listed,
    majority_vote,
    mean_over_problems,
    paired_difference,
    pass_at_k,
    pass_hat_k,
    right_or_wrong,
    whole,
    wilson_interval,
)
from rl_lab._record import Record
from rl_lab.answers import find_answer, parse_number, same_number
from rl_lab.rewards import completion_text, count_steps, format_ok

__all__ = [
    "ERROR_ACTIONS",
    "ERROR_KINDS",
    "Evaluation",
    "accuracy_at_k",
    "accuracy_by_difficulty",
    "classify_error",
    "evaluate",
    "majority_vote",
    "mean_over_problems",
    "paired_difference",
    "pass_at_k",
    "pass_hat_k",
    "recompute_steps",
    "wilson_interval",
]


class Evaluation(Record):
    """What :func:`evaluate` returns: a record that prints as two readable lines."""

    def __str__(self) -> str:
        if not self["n"]:
            return "accuracy n/a (n = 0)"
        low, high = self["interval"]
        return (
            f"accuracy {_percent(self['accuracy'])} ({self['confidence'] * 100:g} % interval {_percent(low)} to "
            f"{_percent(high)}, n = {self['n']})\n{self['correct']} correct, {self['wrong']} wrong, "
            f"{self['unparsed']} unparsed, {self['truncated']} truncated; in format {_percent(self['format_rate'])}"
        )


def evaluate(
    completions: Sequence[Any],
    ground_truth: Sequence[Any],
    truncated: Sequence[bool] | None = None,
    *,
    confidence: float = 0.95,
) -> Evaluation:
    """Count the outcomes of one completion per problem.

    Every completion is exactly one of four: **correct**; **wrong** (it gives another number: look at the
    errors); **unparsed** (it gives no single number: look at the format); **truncated** (the token limit came
    first: raise it). A truncated completion is judged by its answer only if that answer stood behind a marker
    and the text went on after it: a number at the very end may have been cut in two.

    Parameters
    ----------
    completions : sequence of str or message lists
        What the model wrote, prompt excluded.
    ground_truth : sequence of str or number
        Gold answers, one each.
    truncated : sequence of bool, optional
        Whether generation stopped at the token limit (``finish_reason == "length"``).
    confidence : float
        Of the interval.

    Returns
    -------
    Evaluation
        ``n``, ``correct``, ``wrong``, ``unparsed``, ``truncated``; ``accuracy`` and ``format_rate`` as floats
        in 0–1; ``interval`` (Wilson); ``mean_length`` in characters and ``mean_steps``. Where ``n`` is 0,
        rates and means are None.

    Raises
    ------
    ValueError
        If the lengths differ, a gold answer is no number (a broken data set must not look like a wrong model), or a
        truncated flag is neither True nor False (a finish reason such as ``"stop"`` is not).
    TypeError
        If an argument is no list, or a completion neither text, message list nor None.

    Examples
    --------
    >>> evaluate([], []).accuracy is None
    True
    """
    completions, golds = listed("completions", completions), listed("ground_truth", ground_truth)
    flags = None if truncated is None else listed("truncated", truncated)
    if len(completions) != len(golds) or (flags is not None and len(flags) != len(golds)):
        cut = "" if flags is None else f" and {len(flags)} truncated flags"
        raise ValueError(
            f"there must be one gold answer per completion, got {len(completions)} completions, {len(golds)} gold "
            f"answers{cut}; evaluate whole sets"
        )
    flags = (
        [False] * len(golds) if flags is None else [flag(f"truncated[{i}]", f) for i, f in enumerate(flags)]
    )
    for i, gold in enumerate(golds):
        if parse_number(gold) is None:
            raise ValueError(
                f"ground_truth[{i}] must be one number, got {gold!r:.60}; repair or drop the row"
            )
    outcomes = [_outcome(c, g, cut) for c, g, cut in zip(completions, golds, flags, strict=True)]
    n = len(outcomes)
    counts = {name: outcomes.count(name) for name in ("correct", "wrong", "unparsed", "truncated")}
    interval = wilson_interval(counts["correct"], n, confidence)
    in_format = [
        format_ok(c) and not (cut and o == "truncated")
        for c, cut, o in zip(completions, flags, outcomes, strict=True)
    ]
    return Evaluation(
        n=n,
        accuracy=counts["correct"] / n if n else None,
        interval=interval if n else None,
        confidence=confidence,
        **counts,
        format_rate=_mean(in_format),
        mean_length=_mean([len(completion_text(c)) for c in completions]),
        mean_steps=_mean([count_steps(c) for c in completions]),
    )


def accuracy_by_difficulty(
    correct: Sequence[bool],
    steps: Sequence[int],
    *,
    levels: Iterable[int] | None = None,
    confidence: float = 0.95,
) -> list[Record]:
    """Accuracy for each number of solution steps: where does the model lose the thread?

    Parameters
    ----------
    correct : sequence of bool
        One entry per problem.
    steps : sequence of int
        Solution steps of the same problems (``Problem.steps``).
    levels : iterable of int, optional
        The levels to report; by default those that occur.
    confidence : float
        Of the Wilson intervals.

    Returns
    -------
    list of Record
        ``steps``, ``n``, ``correct``, ``accuracy``, ``low``, ``high`` per level; the last three are None
        where ``n`` is 0.

    Raises
    ------
    ValueError
        If the lengths differ or an entry is neither right nor wrong.
    TypeError
        If a step or a level is no whole number.

    Examples
    --------
    >>> rows = accuracy_by_difficulty([True, True, False, False], [1, 1, 1, 4])
    >>> [(row.steps, row.n, round(row.accuracy, 2)) for row in rows]
    [(1, 3, 0.67), (4, 1, 0.0)]
    """
    flags = right_or_wrong(correct, "correct")
    steps = [whole("steps", one) for one in listed("steps", steps)]
    if len(flags) != len(steps):
        raise ValueError(f"correct and steps must be equally long, got {len(flags)} and {len(steps)}")
    if levels is not None:
        levels = [whole("levels", level) for level in listed("levels", levels)]
    rows = []
    for level in sorted(set(steps)) if levels is None else levels:
        hits = [flag for flag, one in zip(flags, steps, strict=True) if one == level]
        row = Record(steps=level, n=len(hits), correct=sum(hits), accuracy=_mean(hits), low=None, high=None)
        if hits:
            row["low"], row["high"] = wilson_interval(sum(hits), len(hits), confidence)
        rows.append(row)
    return rows


def _outcome(completion: Any, gold: Any, cut: bool) -> str:
    text = completion_text(completion)
    found = find_answer(text)
    if cut and answer_is_cut_off(text, found):
        return "truncated"
    if found is None:
        return "unparsed"
    return "correct" if same_number(found.value, gold) else "wrong"


def _percent(rate: float) -> str:
    return f"{rate * 100:.1f} %"


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
