"""Exercises of chapter 10: what an adapter trains, when the format is there, what a batch's labels are, which warm-up.

>>> from rl_lab.check import check
>>> check("10.1", 115_200).passed
True
"""

from __future__ import annotations

from typing import Any

from rl_lab.check import Probe, exercise, is_ordered

CHOICES = ("nothing", "solutions", "tool traces", "replies")


@exercise("10.1", "What rank 1 trains")
def _(answer: Any, t: Probe) -> None:
    t.value(
        answer,
        115_200,
        ask="the numbers that rank 1 trains on q, k, v and o",
        why="r(d + k) is proportional to r: rank 1 trains an eighth of what rank 8 does.",
        hints={
            921_600: "That is rank 8. What does r(d + k) do when r falls from 8 to 1?",
            3_840: "That is one layer; the model has 30.",
            138_240: "Four squares of 576: but k and v lead from 576 to 192 only.",
            7_372_800: "That is eight times more. A lower rank trains fewer numbers.",
        },
    )


@exercise("10.2", "When is the format there?")
def _(answer: Any, t: Probe) -> None:
    t.call(
        answer,
        _run((0, 0.0, 0.1), (5, 0.5, 0.2), (10, 0.9, 0.3), (15, 1.0, 0.95)),
        expect=10,
        why="At update 10 the format rate is 0.9, and at least 0.9 is asked.",
        hints={
            15: "The accuracy gets there at 15. The format is at exactly 0.9 at update 10, and at least 0.9 is asked."
        },
    )
    t.call(
        answer,
        _run((0, 0.0, 0.1), (3, 0.95, 0.2), (6, 0.7, 0.3), (9, 1.0, 0.4)),
        expect=3,
        why="The first update counts, even if the rate falls again afterwards.",
    )
    t.call(
        answer,
        _run((0, 0.0, 0.0), (4, 0.4, 0.3), (8, 0.6, 0.5)),
        share=0.5,
        expect=8,
        why="The share is a parameter: at 0.5 it is update 8.",
    )
    called = "first_update of a run whose format rate never passes 0.3"
    came_back = t.run(answer, _run((0, 0.0, 0.0), (5, 0.3, 0.99)), why="It is never there: return None.")
    t.that(
        came_back is None,
        called,
        came_back=repr(came_back),
        expected="None",
        why="Where the format never gets there, there is no such update.",
    )


@exercise("10.3", "Labels of a batch")
def _(answer: Any, t: Probe) -> None:
    t.call(
        answer,
        [([5, 6], [7, 2]), ([5], [8, 9, 7, 2])],
        0,
        expect=[[[5, 6, 7, 2, 0], [5, 8, 9, 7, 2]], [[-100, -100, 7, 2, -100], [-100, 8, 9, 7, 2]]],
        why="Labels are the ids on the completion and -100 on prompt and padding.",
        hints=[
            (
                lambda a: _labels(a) == [[5, 6, 7, 2, -100], [5, 8, 9, 7, 2]],
                "The prompt has labels: the model would learn to write the questions.",
            ),
            (
                lambda a: _labels(a) == [[-100, -100, 7, -100, -100], [-100, 8, 9, 7, -100]],
                "The end (2) has lost its label: the model would never learn to stop.",
            ),
            (
                lambda a: _labels(a) == [[-100, -100, 7, 2, 0], [-100, 8, 9, 7, 2]],
                "The padding has a label: the model would learn to write padding.",
            ),
        ],
    )
    t.call(
        answer,
        [([5, 6], [7, 2]), ([5], [8, 9, 7, 2])],
        2,
        expect=[[[5, 6, 7, 2, 2], [5, 8, 9, 7, 2]], [[-100, -100, 7, 2, -100], [-100, 8, 9, 7, 2]]],
        why="Padding and end mark share the id 2. The completion's own end still counts: go by position, not by id.",
    )
    t.call(
        answer,
        [([2, 5, 2], [7, 2])],
        2,
        expect=[[[2, 5, 2, 7, 2]], [[-100, -100, -100, 7, 2]]],
        why="Nothing to pad, and a prompt with end marks in it: all of the prompt is masked.",
    )


@exercise("10.4", "Which warm-up for which run")
def _(answer: Any, t: Probe) -> None:
    runs = ("maths", "shop", "large", "tone")
    t.that(
        isinstance(answer, dict) and all(answer.get(run) in CHOICES for run in runs),
        "your plan",
        came_back=repr(answer)[:160],
        expected=f"a dict with {', '.join(runs)}, each one of {', '.join(CHOICES)}",
        why="Give each of the four runs one of the four choices.",
    )
    for run, expect, why in (
        (
            "maths",
            "solutions",
            "Nothing can be read and nothing is right: both the format and the skill are missing. What shows both?",
        ),
        (
            "shop",
            "tool traces",
            "It solves the sums. What does no group ever hold?",
        ),
        (
            "large",
            "nothing",
            "10 of 12 groups already hold right and wrong answers. What would a warm-up add, and what might it cost?",
        ),
        (
            "tone",
            "replies",
            "What will the reward model compare, and does a base model write that yet?",
        ),
    ):
        # The expected value stays unsaid: it is the exercise.
        t.that(
            answer[run] == expect,
            f"the warm-up for {run!r}",
            came_back=repr(answer[run]),
            expected="",
            why=why,
        )


def _run(*evaluations: tuple[int, float, float]) -> dict[str, Any]:
    keys = ("step", "format_rate", "accuracy")
    return {"held_out": [dict(zip(keys, values, strict=True)) for values in evaluations]}


def _labels(answer: Any) -> Any:
    """The labels of what came back, as lists; None if it has another form."""
    try:
        return [list(row) if is_ordered(row) else row for row in answer[1]]
    except (TypeError, IndexError):
        return None
