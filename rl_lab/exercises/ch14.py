"""Exercises of chapter 14: predict a verdict, flip one with as little as possible, build a rule that minds its sample.

>>> from rl_lab.check import check
>>> check("14.1", "sft").passed
True
"""

from __future__ import annotations

from typing import Any

from rl_lab.check import Probe, exercise
from rl_lab.decide import should_you_train

TEAM: dict[str, Any] = {
    "pass_1": 0.35,
    "pass_k": 0.75,
    "target": 0.7,
    "n": 40,
    "tried": ["tools", "prompt"],
    "tool_share": 0.2,
    "reward": "checker",
    "steps": "many",
    "demonstrations": False,
    "format_rate": 0.95,
    "owner": True,
    "accelerator": True,
}


@exercise("14.1", "Predict a verdict")
def _(answer: Any, t: Probe) -> None:
    t.value(
        answer.strip().lower() if isinstance(answer, str) else answer,
        "sft",
        ask="the verdict for the team that writes product descriptions",
        why="No program can tell a good description, so the gap does not lead to RL; examples are at hand.",
        hints={
            "rlvr": "RLVR needs a program that can tell a good description. Here only editors can.",
            "pbrft": "It would work, but there is something cheaper: 400 descriptions that they would sign.",
            "data": "That is for teams that have no examples. This one has 400.",
        },
    )


@exercise("14.2", "Flip it")
def _(answer: Any, t: Probe) -> None:
    t.that(
        isinstance(answer, dict) and set(answer) == set(TEAM),
        "the entries of flipped",
        came_back=", ".join(map(str, answer)) if isinstance(answer, dict) else repr(answer)[:80],
        expected=", ".join(TEAM),
        why="Change values, and keep all entries.",
    )
    for name in ("pass_1", "pass_k", "target"):
        t.that(
            answer[name] == TEAM[name],
            name,
            came_back=repr(answer[name]),
            expected=repr(TEAM[name]),
            why="It is measured, or agreed upon; what you may change is what the team does.",
        )
    try:
        verdict = should_you_train(**answer)
    except (TypeError, ValueError) as error:
        t.that(False, "should_you_train(**flipped)", came_back=str(error), expected="a verdict", why="")
        return
    t.that(
        verdict.verdict == "agentic",
        "should_you_train(**flipped).verdict",
        came_back=f"{verdict.verdict!r}",
        expected="'agentic'",
        why="Your turn: change one entry. Which question ends the list?"
        if answer == TEAM
        else f"The list ended at: {verdict.decided_by.question} {verdict.decided_by.answer}.",
    )
    changed = [name for name in TEAM if _different(name, answer[name])]
    t.that(
        len(changed) == 1,
        "entries that you changed",
        came_back=", ".join(changed),
        expected="one entry",
        why="It works, but one is enough. Put the others back, one at a time.",
    )


def _different(name: str, value: Any) -> bool:
    if name == "tried":
        return not isinstance(value, (list, tuple)) or {*value} != {*TEAM["tried"]}
    return bool(value != TEAM[name])


@exercise("14.3", "A gap that is no accident")
def _(answer: Any, t: Probe) -> None:
    for c1, ck, n, expect, why in (
        (80, 170, 200, "yes", "40 % and 85 % on 200 problems: the intervals end at 47 % and begin at 79 %."),
        (80, 90, 200, "no", "A gap of 5 points is below 15, however many problems."),
        (20, 30, 50, "more problems", "20 points, but the intervals reach up to 54 % and down to 46 %."),
        (80, 120, 200, "yes", "The same shares on 200 problems: up to 47 %, down from 53 %."),
        (3, 6, 10, "more problems", "30 points on ten problems."),
        (0, 0, 40, "no", "Nothing was ever solved: no gap."),
        (40, 40, 40, "no", "Everything is solved: no gap."),
        (4000, 5500, 10000, "yes", "Exactly 15 points is enough, and 10,000 problems leave no doubt."),
        (0, 0, 0, "more problems", "No problems, no shares: mind the division."),
    ):
        t.call(
            answer,
            c1,
            ck,
            n,
            expect=expect,
            why=why,
            hints=[
                (
                    lambda got, want=expect: got == "yes" and want == "more problems",
                    "The gap is there, but the intervals overlap: compare the end of one with the start of the other.",
                )
            ],
        )
