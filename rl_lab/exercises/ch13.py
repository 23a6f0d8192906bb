"""Exercises of chapter 13: an estimator by hand and in code, errors that a calculator mends, a paired comparison.

>>> from rl_lab.check import check
>>> check("13.1", 0.7).passed
True
"""

from __future__ import annotations

from typing import Any

from rl_lab.check import Probe, exercise
from rl_lab.evaluation import paired_difference, pass_at_k


@exercise("13.1", "Two of five")
def _(answer: Any, t: Probe) -> None:
    t.value(
        answer,
        0.7,
        tol=5e-4,
        ask="pass@2, from five samples of which two are right",
        why="Of the 10 ways to draw two samples, 3 hold only wrong ones.",
        hints={
            0.64: "That is the plug-in, 1 - 0.6 ** 2: it can draw the same wrong sample twice.",
            0.4: "That is pass@1. With a second try there is more.",
            0.3: "That is the chance that both are wrong. The question is the opposite.",
            0.1: "That is the chance that both are right, pass^2.",
            0.6: "That counts the pairs with exactly one right sample. The pair with two right ones counts too.",
        },
    )


@exercise("13.2", "Without bias")
def _(answer: Any, t: Probe) -> None:
    t.call(
        answer,
        16,
        1,
        8,
        expect=0.5,
        tol=1e-9,
        why="Of all ways to draw 8 of 16 samples, half hold the right one.",
        hints=[
            (
                lambda x: abs(x - 0.403) < 1e-3,
                "That draws with replacement. Count the draws that miss: comb(n - c, k).",
            ),
        ],
    )
    for n, c, k, why in (
        (10, 3, 5, "1 - comb(7, 5) / comb(10, 5) = 1 - 21 / 252."),
        (6, 0, 3, "Nothing right, nothing found."),
        (5, 4, 3, "Only one sample is wrong, so three samples cannot all be: it is certain."),
        (4, 4, 4, "All are right."),
        (1, 1, 1, "One sample, and it is right."),
        (200, 1, 100, "Half of the samples, half of the chance. Factorials as floats overflow here."),
    ):
        t.call(answer, n, c, k, expect=pass_at_k(n, c, k), tol=1e-9, why=why)
    refused, came = _refusal(answer)
    t.that(
        refused,
        "your function(8, 1, 16)",
        came_back=came,
        expected="a ValueError",
        why="Eight samples say nothing unbiased about sixteen tries; a number here would be made up.",
    )


def _refusal(function: Any) -> tuple[bool, str]:
    """Call with k > n; what the reader's function raises is the answer, not an accident."""
    try:
        return False, repr(function(8, 1, 16))[:80]
    except ValueError:
        return True, ""
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"[:120]


_SAVED = (
    (
        "80 * 0.75 = 62\n62 - 5 = 57\nFinal Answer: 57",
        55,
        True,
        "The first result is wrong, the second is built on it; calculated rightly, 55 comes out.",
    ),
    (
        "80 - 5 = 74\n74 * 0.75 = 55.5\nFinal Answer: 55.5",
        55,
        False,
        "There is a slip, but with 75 * 0.75 = 56.25 the answer is still wrong: the plan was.",
    ),
    (
        "80 - 5 = 75\n75 * 0.75 = 56.25\nFinal Answer: 56.25",
        55,
        False,
        "Every result is right. A calculator changes nothing.",
    ),
    (
        "5 * 16 = 90\n80 * 0.75 = 60\n60 - 5 = 55\nFinal Answer: 55",
        55,
        False,
        "The answer is right: there is nothing to save, though a step on the way is wrong.",
    ),
    (
        "80 * 0.75 = 60\n60 - 5 = 56\nFinal Answer: 60",
        55,
        False,
        "The answer was taken from the first step, which is right. Look at the step that the answer comes from.",
    ),
    (
        "80 * 0.75 = 60\n60 - 5 = 56\nSo it is 56.\nFinal Answer: 56",
        "55",
        True,
        "Gold answers are texts in a data set: compare with same_number.",
    ),
    ("I do not know.", 55, False, "No answer and no step: nothing that a calculator could mend."),
    ("Final Answer: 54", 55, False, "No step is written down, so nothing can be recomputed."),
)


@exercise("13.3", "Would a calculator have saved it?")
def _(answer: Any, t: Probe) -> None:
    for text, gold, expected, why in _SAVED:
        t.call(answer, text, gold, expect=expected, why=why)


@exercise("13.4", "Is B better?")
def _(answer: Any, t: Probe) -> None:
    for gained, lost, both, neither, why in (
        (6, 0, 60, 14, "Six problems differ, all in B's favour: 2 * (1/2) ** 6."),
        (20, 14, 46, 0, "Also 60 against 66 of 80, but 14 problems speak for A: that is hardly uneven."),
        (0, 6, 60, 14, "Two-sided: it does not matter which of them is called A."),
        (5, 5, 40, 30, "As even as can be; a probability is never more than 1."),
        (0, 0, 50, 30, "They never differ: nothing speaks against 'equally good', so 1."),
        (1, 0, 79, 0, "One problem is one coin: heads or tails, both are as uneven."),
    ):
        a, b = _pair(gained, lost, both, neither)
        t.call(
            answer,
            a,
            b,
            expect=float(paired_difference(a, b).p_value),
            tol=1e-6,
            why=why,
            hints=[(lambda x: x is not None and x > 1 + 1e-9, "A probability is at most 1: cap it.")],
        )


def _pair(gained: int, lost: int, both: int, neither: int) -> tuple[list[bool], list[bool]]:
    a = [True] * lost + [True] * both + [False] * gained + [False] * neither
    b = [False] * lost + [True] * both + [True] * gained + [False] * neither
    return a, b
