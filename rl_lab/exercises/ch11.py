"""Exercises of chapter 11: group advantages, the clip, and illnesses read from curves."""

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
            "two against two only 0.87. Let one reward of faint differ a little from three equal ones."
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
        expect, inverted = clipped_objective(new / old, advantage), clipped_objective(old / new, advantage)
        upside_down = (
            "The ratio is upside down: the new probability over the old one, exp(logp_new - logp_old)."
        )
        hints = {} if math.isclose(expect, inverted, abs_tol=1e-4) else {inverted: upside_down}
        t.call(answer, *logs, advantage, expect=expect, tol=1e-6, why=why, hints=hints)
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


ILLNESSES = ("healthy", "KL blown up", "no spread", "reward hacked")


@exercise("11.4", "Name the illness")
def _(answer: Any, t: Probe) -> None:
    t.that(
        isinstance(answer, dict) and set(answer) == set("ABCD"),
        "illness",
        came_back=repr(answer)[:120],
        expected='a dict with the keys "A", "B", "C", "D"',
        why="One name for each of the four runs.",
    )
    for letter, (right, clues) in RUNS.items():
        name = answer[letter]
        t.that(
            name in ILLNESSES,
            f"run {letter}",
            came_back="nothing yet" if name is None else repr(name)[:60],
            expected=f"one of {', '.join(ILLNESSES)}",
            why="Look at the reward first, then at the silent groups, then at the KL; last at the held-out accuracy.",
        )
        t.that(name == right, f"run {letter}", came_back=repr(name), why=clues.get(name, ""))


# For each run its name, and what speaks against each other name: which curve, and where to look on it.
RUNS: dict[str, tuple[str, dict[str, str]]] = {
    "A": (
        "reward hacked",
        {
            "healthy": "The reward rises, as in a healthy run. What does the held-out accuracy do meanwhile?",
            "KL blown up": "A blown-up KL takes the reward down with it. Here the reward rises.",
            "no spread": "In silent groups nothing moves. Here reward and length do, and few groups are silent.",
        },
    ),
    "B": (
        "no spread",
        {
            "healthy": "The reward is high, but did it rise? Look at the silent groups and the held-out accuracy.",
            "KL blown up": "Read the scale of the KL axis: how far has this policy moved from its start?",
            "reward hacked": "A hacked reward rises. Read the scale of this one, then look at the silent groups.",
        },
    ),
    "C": (
        "healthy",
        {
            "KL blown up": "Read the scale of the KL axis and compare with run D. And what does the reward do?",
            "no spread": "Silent groups at the end are no illness if the reward is high by then. Look at the start.",
            "reward hacked": "Completions grow longer here, but do they earn it? Look at the held-out accuracy.",
        },
    ),
    "D": (
        "KL blown up",
        {
            "healthy": "Look at the reward after the first steps, and at the scale of the KL axis.",
            "no spread": "Most groups are silent, but not from the first step. What came before? Look at the KL.",
            "reward hacked": "A hacked reward rises. Look at what this one does in the first steps.",
        },
    ),
}


def _is_group(group: Any) -> bool:
    return (
        isinstance(group, (list, tuple))
        and len(group) == 4
        and all(isinstance(r, (int, float)) and 0 <= r <= 1 for r in group)
    )


def _largest(group: list[float], normalize: bool = True) -> float:
    return max(abs(A) for A in grpo_advantages(group, normalize))
