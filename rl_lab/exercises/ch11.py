"""Exercises of chapter 11: group advantages, the clip, and groups that are found by prompt."""

from __future__ import annotations

import math
from typing import Any

from rl_lab.check import Probe, exercise
from rl_lab.grpo import clipped_objective, grpo_advantages


@exercise("11.1", "Advantages without a computer")
def _(answer: Any, t: Probe) -> None:
    t.value(
        answer,
        [0.75, -0.25, -0.25, -0.25],
        tol=5e-3,
        ask="the mean-only advantages of the rewards 1, 0, 0, 0",
        why="The mean of 1, 0, 0, 0 is 0.25; subtract it from each reward.",
        hints=[
            (
                lambda a: list(a) == [1, 0, 0, 0],
                "These are the rewards. Subtract the group's mean from each.",
            ),
            (
                lambda a: list(a) == [1, -1, -1, -1],
                "Not right against wrong: reward against the group's mean.",
            ),
            (
                lambda a: len(a) == 4 and abs(a[0] - 1.5) < 0.01,
                "That is divided by the standard deviation. Mean-only stops after the subtraction.",
            ),
            (
                lambda a: len(a) == 4 and abs(sum(a)) > 0.01,
                "Advantages of a group add up to zero; yours do not. What is the mean of 1, 0, 0, 0?",
            ),
        ],
    )


@exercise("11.2", "Turn the order around")
def _(answer: Any, t: Probe) -> None:
    t.that(
        isinstance(answer, (tuple, list)) and len(answer) == 2 and all(_is_group(g) for g in answer),
        "loud, faint",
        came_back=repr(answer)[:120],
        expected="two groups of four rewards, each between 0 and 1",
        why="Give each group as a list of four numbers.",
    )
    loud, faint = ([float(r) for r in group] for group in answer)
    plain, scaled = (_largest(loud, False), _largest(faint, False)), (_largest(loud), _largest(faint))
    t.that(
        plain[0] > plain[1],
        "the largest mean-only push in loud and in faint",
        came_back=f"{plain[0]:.4f} and {plain[1]:.4f}",
        expected="a larger one in loud",
        why="Mean-only keeps the size of the differences: spread the rewards of loud, and keep those of faint close.",
    )
    t.that(
        scaled[0] < scaled[1],
        "the largest push with the std in loud and in faint",
        came_back=f"{scaled[0]:.2f} and {scaled[1]:.2f}",
        expected="a larger one in faint",
        why=(
            "The std makes every spread about 1, so only the shape counts: one completion against three gives 1.5, "
            "two against two only 0.87. Three equal rewards in faint are not equal to four."
        ),
    )


@exercise("11.3", "Build the clip")
def _(answer: Any, t: Probe) -> None:
    for new, old, advantage, why in (
        (0.13, 0.10, 0.63, "A good token counts up to a ratio of 1.2 and no further."),
        (
            0.13,
            0.10,
            -1.47,
            "A bad token that became likelier is never clipped: take the smaller of the two.",
        ),
        (0.05, 0.10, -1.47, "A bad token that is rare already earns nothing more below a ratio of 0.8."),
        (0.05, 0.10, 0.63, "A good token that became rarer is never clipped: take the smaller of the two."),
        (0.11, 0.10, 0.63, "Inside the clip range the objective is ratio times advantage."),
    ):
        logs = math.log(new), math.log(old)
        expect = clipped_objective(new / old, advantage)
        t.call(answer, *logs, advantage, expect=expect, tol=1e-6, why=why)
    t.call(
        answer,
        math.log(0.2),
        math.log(0.1),
        1.0,
        epsilon=0.5,
        expect=1.5,
        tol=1e-6,
        why="The clip width is the parameter epsilon, not always 0.2.",
    )


@exercise("11.4", "Find groups by prompt")
def _(answer: Any, t: Probe) -> None:
    t.call(
        answer,
        [1, 0, 1, 1],
        ["A", "A", "B", "B"],
        expect=[0.5, -0.5, 0.0, 0.0],
        why="A has one success of two, mean 0.5. B is all right, mean 1.",
        hints={
            (0.25, -0.75, 0.25, 0.25): "That is the mean of the whole batch. Each prompt has its own mean."
        },
    )
    t.call(
        answer,
        [1, 1, 0, 1],
        ["A", "B", "A", "B"],
        expect=[0.5, 0.0, -0.5, 0.0],
        why="The same groups, interleaved: look at the prompt, and keep the order of the input.",
        hints={
            (
                0.0,
                0.0,
                -0.5,
                0.5,
            ): "Neighbours were taken for a group. Collect the rewards of each prompt instead.",
            (0.5, -0.5, 0.0, 0.0): "Right numbers, wrong order: return them in the order of the input.",
        },
    )
    t.call(
        answer,
        [0, 1, 2, 3, 4, 5],
        ["C", "A", "C", "A", "C", "A"],
        expect=[-2.0, -2.0, 0.0, 0.0, 2.0, 2.0],
        why="Groups may have any size: C has 0, 2, 4 and A has 1, 3, 5.",
    )
    t.call(answer, [], [], expect=[], why="No completions, no advantages.")


def _is_group(group: Any) -> bool:
    return (
        isinstance(group, (list, tuple))
        and len(group) == 4
        and all(isinstance(r, (int, float)) and 0 <= r <= 1 for r in group)
    )


def _largest(group: list[float], normalize: bool = True) -> float:
    return max(abs(A) for A in grpo_advantages(group, normalize))
