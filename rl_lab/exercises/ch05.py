"""Exercises of chapter 5: predict attempts, keep a code, pay for reading, choose the remedy.

>>> from rl_lab.check import check
>>> check("05.1", [20, 5, 2]).passed
True
"""

from __future__ import annotations

import math
from typing import Any

from rl_lab.capabilities import make, play
from rl_lab.check import Probe, exercise


@exercise("05.1", "How many attempts are enough?")
def _(answer: Any, t: Probe) -> None:
    fits = isinstance(answer, (list, tuple)) and len(answer) == 3
    t.that(
        fits,
        "attempts",
        came_back="nothing yet" if answer is None else repr(answer)[:80],
        expected="three whole numbers: another each time, the direction, the number",
        why="Put a list of three in.",
    )
    t.value(
        answer[0], 20, ask="trying another each time", why="With bad luck the right one comes last, of 20."
    )
    t.value(
        answer[1],
        5,
        ask="using the direction",
        why="k attempts tell 2**k - 1 coupons apart: 15 are not enough, 31 are.",
        hints={
            4: "2**4 = 16 cases can be told apart in 4 answers, but there are 20 coupons.",
            10: "Too much or too little does not rule out one coupon, but half of those that are left.",
        },
    )
    t.value(
        answer[2],
        2,
        ask="using the number",
        why="The first attempt shows by how much it missed; the second takes exactly that off.",
        hints={1: "The first attempt is a guess among 20. Only what comes back tells the coupon."},
    )


@exercise("05.2", "Keep what will be asked for")
def _(answer: Any, t: Probe) -> None:
    for gap, seeds in ((1, range(5)), (6, range(10)), (20, range(5)), (40, range(3))):
        for seed in seeds:
            _remembers(answer, t, gap, seed)


def _remembers(policy: Any, t: Probe, gap: int, seed: int) -> None:
    asked = t.asked
    env = make("memory", gap=gap)
    why = "A policy takes (seen, rng) and returns a pair such as ('note', '47')."
    t.that(callable(policy), "your policy", came_back=repr(policy)[:80], expected="a function", why=why)
    episode = t.run(lambda: play(env, policy, seed=seed), why=why)
    code = episode.observations[0].split("door is ")[1][:2]
    pad = [o for o in episode.observations if "Pad: " in o][-1].split("Pad: ")[1]
    t.asked = asked
    t.that(
        episode.success,
        f"an episode with the code {code} and this many errands: {gap}",
        came_back=f"{episode.actions[-1][0]}({episode.actions[-1][1]}); the pad said {pad}; {episode.end}",
        expected=f"enter({code})",
        why=_forgotten(episode.end, pad, code),
    )


def _forgotten(end: str, pad: str, code: str) -> str:
    if end == "truncated":
        return "The episode was cut at the step limit before the code was entered: a note is an action, too."
    if pad == "empty":
        return "What is not on the pad is gone: the last observation is all that it sees at the door."
    if pad == code:
        return "The code is on the pad: enter it at the door."
    return "Another number wiped the code out. Write only what the door will ask for."


_TABLE = {
    "lamps": {"returned": 12, "ordered": 40, "delivered": 38},
    "rugs": {"returned": 10, "ordered": 55, "delivered": 25},
    "desks": {"returned": 31, "ordered": 93, "delivered": 62},
}


@exercise("05.3", "A reward that trains reading")
def _(answer: Any, t: Probe) -> None:
    def paid(text: str) -> float:
        came = t.run(answer, text, _TABLE, "lamps", "delivered", why="The reward of one answer.")
        good = isinstance(came, (int, float)) and not isinstance(came, bool) and math.isfinite(came)
        t.that(
            good,
            f"pay({text!r}, table, 'lamps', 'delivered')",
            came_back=repr(came)[:80],
            expected="a number",
            why="Return the reward as a number.",
        )
        return float(came)

    def expect(text: str, ok: Any, expected: str, why: str) -> None:
        got = paid(text)
        t.that(
            ok(got),
            f"pay({text!r}, table, 'lamps', 'delivered')",
            came_back=f"{got:g}",
            expected=expected,
            why=why,
        )

    full = "the cell that was asked for (38) earns 1."
    expect("38", lambda r: abs(r - 1) < 1e-9, "1", full.capitalize())
    expect("38.0", lambda r: abs(r - 1) < 1e-9, "1", "It is the same number; compare numbers, not texts.")
    for text, where in (
        ("12", "the same row"),
        ("40", "the same row"),
        ("25", "the same column"),
        ("62", "the same column"),
    ):
        expect(
            text,
            lambda r: 0 < r <= 0.5 + 1e-9,
            "more than 0, at most 0.5",
            f"{text} stands in {where}: half of the reading was right. Pay some, and far less than for the cell.",
        )
    for text, why in (
        ("55", "55 stands in another row and another column: nothing was read."),
        ("93", "93 stands in another row and another column: nothing was read."),
        ("7", "7 is not in the table."),
        ("", "Silence is no reading."),
        ("no idea", "There is no number in it."),
        ("138", "138 merely contains 38. Compare numbers."),
        ("38 or 40", "Two numbers are no answer: whoever lists the whole table would always be paid."),
        ("12 40 38", "A whole row is no answer: whoever lists the table would always be paid."),
    ):
        expect(text, lambda r: abs(r) < 1e-9, "0", why)
    shares = [paid(text) for text in ("12", "40", "38")]
    t.that(
        sum(shares) / 3 < 1 - 1e-9,
        "the mean pay of a policy that finds the row and picks any column",
        came_back=f"{sum(shares) / 3:.4g}",
        expected="less than the 1 of a policy that reads both",
        why="Part pay must not make the shortcut as good as reading.",
    )


_CASES: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "a": (
        "the line in the prompt brings 97 % where 95 % are needed",
        "no training",
        "The job is done. Training could only cost.",
        {},
    ),
    "b": (
        "sums in one completion, checked by a program; it knows the method and slips",
        "RLVR",
        "All facts are in the prompt, and a program knows the right answer: one step is enough.",
        {
            "no training": "It is told already and does it. Being told does not make it slip less.",
            "Agentic RL": "Nothing answers before the end: there is one step.",
        },
    ),
    "c": (
        "a support agent forgets the order number after thirty turns; its notes hold everything but that",
        "Agentic RL",
        "Whether a note was worth writing shows many turns later: the episode must contain both.",
        {
            "RLVR": "In one completion nothing happens between the fact and the question.",
            "no training": "It was told already.",
        },
    ),
    "d": (
        "the code fits into the context window, but old turns are cut off",
        "no training",
        "Do not cut them off: that is a setting of the harness, and free.",
        {"Agentic RL": "That works, and costs a training run for what a setting does."},
    ),
    "e": (
        "it repairs queries from error messages, and repeats the first query three times in four",
        "Agentic RL",
        "The second attempt must be paid for using what came back after the first.",
        {
            "RLVR": "With one attempt there is no second one to improve.",
            "no training": "The prompt says it already.",
        },
    ),
    "f": (
        "it reads numbers off invoices, one in five from the wrong column; the prompt explains the layout",
        "RLVR",
        "One page, one number, a checker: reading is trained in one step.",
        {
            "Agentic RL": "All there is to see is on the page; no world is needed.",
            "no training": "The layout was explained.",
        },
    ),
}


@exercise("05.4", "Choose the remedy")
def _(answer: Any, t: Probe) -> None:
    t.that(
        isinstance(answer, dict) and any(value is not None for value in answer.values()),
        "remedies",
        came_back="nothing yet" if isinstance(answer, dict) else repr(answer)[:80],
        expected='a dict from the letters a to f to "no training", "RLVR" or "Agentic RL"',
        why='Fill in the starter: {"a": "no training", …}.',
    )
    kinds = ("no training", "RLVR", "Agentic RL")
    for letter, (scene, kind, why, hints) in _CASES.items():
        given = answer.get(letter)
        other = {} if given in kinds or given is None else {given: "Choose one of " + ", ".join(kinds) + "."}
        t.value(given, kind, ask=f"project {letter}: {scene}", why=why, hints={**hints, **other})
