"""Exercises of chapter 2: count a next word, bend its odds, find a volume, say what comes first.

>>> from rl_lab.check import check
>>> check("02.1", 2 / 3).passed
True
"""

from __future__ import annotations

import math
from typing import Any

from rl_lab.check import Probe, exercise

FIRST_MOVES = {"a": "tool", "b": "prompt", "c": "retrieval", "d": "SFT", "e": "Agentic RL"}
_WHY = {
    "a": "Only the results are wrong, and a calculator is exact.",
    "b": "Nobody has asked it for JSON. Ask.",
    "c": "A fact that changes is looked up, not learned.",
    "d": "The prompt is exhausted, the format is what is missing, and examples are there.",
    "e": "It can do it, but not reliably; tests can tell; it takes many steps; nothing cheaper is left.",
}


@exercise("02.1", "Count")
def _(answer: Any, t: Probe) -> None:
    t.value(
        answer,
        2 / 3,
        tol=5e-3,
        ask="the share of sat among the words that follow cat",
        why="cat occurs three times: it is followed by sat, ran and sat.",
        hints={
            0.75: "That is the share of lines that end in sat. The model looks at the word cat only.",
            0.5: "That counts the lines in which cat sat occurs, out of four. Count only where cat occurs.",
            0.25: "That is the share of sat among all twelve words.",
        },
    )


@exercise("02.2", "Temperature")
def _(answer: Any, t: Probe) -> None:
    unchanged = (
        lambda got: got == {"cover": 0.8, "toast": 0.2},
        "These are the shares as they were. Raise each to the power 1/T.",
    )
    not_shares = (
        lambda got: isinstance(got, dict) and got and not math.isclose(sum(got.values()), 1, abs_tol=1e-6),
        "They do not add up to 1: divide each by their sum.",
    )
    upside_down = (
        lambda got: isinstance(got, dict) and got.get("cover", 0) > 0.85,
        "Sharper where it should be flatter: the power is 1/T, not T.",
    )
    left_out = (
        lambda got: isinstance(got, dict) and 0 < len(got) < 3 and "c" not in got and "cover" not in got,
        "Keep every word in the dict, with 0.0 where nothing is left.",
    )
    for shares, temperature, expect, why in (
        ({"cover": 0.8, "toast": 0.2}, 2, {"cover": 2 / 3, "toast": 1 / 3}, "The roots are 0.894 and 0.447."),
        (
            {"cover": 0.8, "toast": 0.2},
            0.5,
            {"cover": 16 / 17, "toast": 1 / 17},
            "The squares: 0.64 and 0.04.",
        ),
        ({"a": 0.5, "b": 0.3, "c": 0.2}, 1, {"a": 0.5, "b": 0.3, "c": 0.2}, "At 1 nothing changes."),
        ({"a": 0.5, "b": 0.3, "c": 0.2}, 0, {"a": 1.0, "b": 0.0, "c": 0.0}, "At 0 the largest gets all."),
        ({"a": 0.4, "b": 0.4, "c": 0.2}, 0, {"a": 0.5, "b": 0.5, "c": 0.0}, "Two are largest: half each."),
        ({"a": 1.0}, 5, {"a": 1.0}, "One word keeps everything."),
        ({"a": 0.0004, "b": 0.0001, "c": 0.9995}, 0.001, {"a": 0.0, "b": 0.0, "c": 1.0}, "Nearly 0."),
    ):
        t.call(
            answer,
            dict(shares),
            temperature,
            expect=expect,
            tol=1e-6,
            why=why,
            hints=[unchanged, not_shares, upside_down] if temperature == 2 else [not_shares, left_out],
        )


@exercise("02.3", "The volume at which it turns")
def _(answer: Any, t: Probe) -> None:
    t.value(
        answer,
        2_500_000,
        tol=1,
        ask="requests a month",
        why="The prompt must cost 24,000/12 + 500 = 2,500 a month, and one request costs 0.001.",
        hints=[
            (
                lambda x: abs(x - 2_000_000) < 1,
                "Hosting costs 500 more a month; the saving has to cover it, too.",
            ),
            (lambda x: abs(x - 1_500_000) < 1, "Hosting is a cost of training: add it, do not take it off."),
            (lambda x: abs(x - 2.5) < 1e-6, "In millions, yes. Write it out."),
            (lambda x: abs(x - 24_500_000) < 1, "The 24,000 are spread over twelve months."),
            (lambda x: abs(x - 30_000_000) < 1, "That is for the whole year. The question is a month."),
        ],
    )


@exercise("02.4", "What first?")
def _(answer: Any, t: Probe) -> None:
    choices = [c.lower() for c in FIRST_MOVES.values()]
    t.that(
        isinstance(answer, dict) and all(isinstance(v, str) for v in answer.values()),
        "first_moves",
        came_back=repr(answer)[:80],
        expected="a dict from a, b, c, d, e to one of the five names",
        why="",
    )
    for name, right in FIRST_MOVES.items():
        given = answer.get(name, "").strip().lower()
        t.that(
            given in choices,
            f"first_moves[{name!r}]",
            came_back=repr(answer.get(name, "")),
            expected=", ".join(FIRST_MOVES.values()),
            why="Your turn: choose one of the five." if not given else "This is none of the five.",
        )
        # The expected value stays unsaid: it is the exercise.
        t.that(
            given == right.lower(),
            f"symptom {name}",
            came_back=repr(answer[name]),
            expected="",
            why=_WHY[name],
        )
