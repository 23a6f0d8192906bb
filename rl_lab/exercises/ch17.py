"""Exercises of chapter 17: prompts in a step, whether GRPO may start, what to do next.

>>> from rl_lab.check import check
>>> check("17.1", 16).passed
True
"""

from __future__ import annotations

from typing import Any

from rl_lab.check import Probe, exercise

CHOICES = ("ship the base", "more SFT", "longer GRPO", "measure more")


@exercise("17.1", "Prompts in a step")
def _(answer: Any, t: Probe) -> None:
    t.value(
        answer,
        16,
        ask="the different prompts in one step",
        why="16 x 2 x 4 = 128 completions, in groups of 8.",
        hints={
            128: "Those are completions. Each prompt has 8 of them.",
            8: "That is one pass on each card; a step accumulates two.",
            4: "That is one card. There are 4.",
            2: "That is one pass on one card.",
            1024: "The batch counts completions already: divide by the group size.",
        },
    )


@exercise("17.2", "May GRPO start?")
def _(answer: Any, t: Probe) -> None:
    for arguments, settings, expect, why in (
        (
            [8] * 6 + [0] * 6,
            {},
            False,
            "Half of all completions are right, and no group holds both kinds: all are silent.",
        ),
        ([1] * 12, {}, True, "Only one in eight is right, but every group has something to compare."),
        (
            [0] * 9 + [1, 2, 7],
            {},
            True,
            "3 of 12 groups hold both: exactly a quarter, and at least a quarter is asked.",
        ),
        ([0] * 10 + [1, 2], {}, False, "2 of 12 groups hold both, less than a quarter."),
        ([4, 4, 4, 0], {"size": 4}, False, "In groups of 4, four right ones are all of them."),
        (
            [3, 8, 8, 8],
            {"share": 0.5},
            False,
            "The share is a parameter: one group of four is less than a half.",
        ),
    ):
        number = [
            (lambda a: isinstance(a, int) and not isinstance(a, bool), "May it start? Return True or False.")
        ]
        t.call(answer, arguments, **settings, expect=expect, why=why, hints=number)


@exercise("17.3", "What next?")
def _(answer: Any, t: Probe) -> None:
    teams = ("shop", "maths", "law", "tutor")
    t.that(
        isinstance(answer, dict) and all(answer.get(team) in CHOICES for team in teams),
        "your next steps",
        came_back=repr(answer)[:160],
        expected=f"a dict with {', '.join(teams)}, each one of {', '.join(CHOICES)}",
        why="Give each of the four teams one of the four choices.",
    )
    for team, expect, why in (
        (
            "shop",
            "more SFT",
            "From 60 to 64 of 200 can be luck. SFT brought 56, cost a tenth, and was not done.",
        ),
        ("maths", "longer GRPO", "GRPO from the base leads by far, and there is still something to compare."),
        ("law", "ship the base", "No difference was shown, and the base is the cheapest of the four."),
        (
            "tutor",
            "measure more",
            "The best of thirty looks at one exam is not a result; take problems nobody has seen.",
        ),
    ):
        t.value(answer[team], expect, ask=f"the next step for {team!r}", why=why)
