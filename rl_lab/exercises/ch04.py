"""Exercises of chapter 4: predict a return, spread the credit, mend a grader, mend a world."""

from __future__ import annotations

from typing import Any

from rl_lab.check import Probe, exercise

_RETRY = [0, 0, 0.1, 0.1, 0.8]


@exercise("04.1", "The price of a failed call")
def _(answer: Any, t: Probe) -> None:
    t.value(
        answer,
        0.6788,
        tol=6e-4,
        ask="the discounted return of [0, 0, 0.1, 0.1, 0.8] at gamma = 0.9",
        why="0.1*0.9**2 + 0.1*0.9**3 + 0.8*0.9**4 = 0.0810 + 0.0729 + 0.5249 = 0.6788.",
        hints=[
            (
                lambda x: abs(x - 1.0) < 6e-4,
                "That is the plain sum. Multiply reward t by 0.9**t before you add.",
            ),
            (
                lambda x: abs(x - 0.6109) < 6e-4,
                "That discounts the first reward too. Count steps from 0: the first is not discounted.",
            ),
            (
                lambda x: abs(x - 0.7542) < 6e-4,
                "That is the episode without the failed call. It has one step more now.",
            ),
            (
                lambda x: abs(x - 0.9) < 6e-4,
                "That discounts once. Each further step multiplies by 0.9 again.",
            ),
        ],
    )


@exercise("04.2", "Credit for every step")
def _(answer: Any, t: Probe) -> None:
    t.call(
        answer,
        [0, 0.1, 0.1, 0.8],
        0.9,
        expect=[0.7542, 0.838, 0.82, 0.8],
        tol=5e-4,
        why="Step t is credited with its own reward plus gamma times the credit of step t+1. Start from the last.",
        hints=[
            (
                lambda v: list(v) == [0, 0.1, 0.1, 0.8],
                "These are the rewards themselves: nothing of what follows.",
            ),
            (lambda v: abs(v[0] - 0.8) < 1e-3 and len(v) == 4, "The order is reversed: step 0 comes first."),
            (lambda v: abs(v[0] - 1.0) < 1e-3, "These sums are not discounted yet."),
            (
                lambda v: abs(v[3] - 0.5832) < 1e-3,
                "This discounts from the episode's start. The credit of step t counts from step t: the last is 0.8.",
            ),
        ],
    )
    t.call(
        answer,
        [0, 0.1, 0.1, 0.8],
        0,
        expect=[0, 0.1, 0.1, 0.8],
        why="At gamma = 0 each step sees its own reward only.",
    )
    t.call(
        answer,
        [0, 0.1, 0.1, 0.8],
        1,
        expect=[1.0, 1.0, 0.9, 0.8],
        why="At gamma = 1 it is what is still to come.",
    )
    t.call(answer, [], 0.9, expect=[], why="An empty episode has no step to credit.")
    rewards = [0.0, 1.0]
    t.call(answer, rewards, 0.5, expect=[0.5, 1.0], why="0 + 0.5*1, then 1.")
    t.that(
        rewards == [0.0, 1.0],
        "the rewards that you were given, afterwards",
        came_back=repr(rewards),
        expected="[0.0, 1.0]",
        why="Whoever passed them still needs them: build a new list.",
    )


_RIGHT = (
    "55",
    "55 yuan",
    "You pay 55 yuan.",
    "55 yuan in all",
    "55.00",
    "80*0.75=60, 60-5=55. Final Answer: 55",
)
_WRONG = {
    "155": "the digits 55 inside a larger number",
    "You pay 5.55 yuan.": "the digits 55 behind a point",
    "550 yuan": "the digits 55 at the start of a larger number",
    "-55": "the sign is part of the number",
    "1,055": "the comma groups thousands",
    "55.5 yuan": "a number goes on behind its point",
    "First I thought 55. Final Answer: 60": "the number in the reasoning is not the answer",
    "": "no answer is no right answer",
    "fifty or so": "no number is no right answer",
}


@exercise("04.3", "A grader that compares numbers")
def _(answer: Any, t: Probe) -> None:
    for text in _RIGHT:
        t.call(answer, text, "55", expect=True, why="The text answers 55, so it is right.", hints=_not_bool())
    for text, why in _WRONG.items():
        t.call(answer, text, "55", expect=False, why=f"Wrong: {why}.", hints=_not_bool())
    t.call(
        answer,
        "155",
        "155",
        expect=True,
        why="The gold answer is an argument; do not write 55 into the function.",
    )
    t.call(answer, "55", "155", expect=False, why="55 is not 155, although 155 contains it.")


def _not_bool() -> list:
    return [(lambda v: not isinstance(v, bool), "Return True or False.")]


@exercise("04.4", "A world that cannot be milked")
def _(answer: Any, t: Probe) -> None:
    total, ends, env = _play(answer, t, [("calc", "80*0.75"), ("calc", "60-5"), ("answer", "55")])
    t.that(
        abs(total - 1.0) < 1e-9 and ends[-1] == (True, False),
        'the honest episode: calc("80*0.75"), calc("60-5"), answer("55")',
        came_back=f"return {total:.4g}, (terminated, truncated) = {ends[-1]}",
        expected="return 1, (True, False)",
        why="What was right before must stay right: 0.1 + 0.1 + 0.8, ended by the answer.",
    )
    for text in ("155", "5.55"):
        total, ends, _ = _play(answer, t, [("answer", f"{text} yuan")])
        t.that(
            abs(total) < 1e-9 and ends[-1][0],
            f'answer("{text} yuan")',
            came_back=f"return {total:.4g}, (terminated, truncated) = {ends[-1]}",
            expected="return 0, (True, False)",
            why="The text contains 55 and does not say 55: extract one number and compare numbers, as in 4.3.",
        )
    total, ends, _ = _play(answer, t, [("calc", "80*0.75")] * 3)
    t.that(
        abs(total - 0.1) < 1e-9,
        'calc("80*0.75") three times',
        came_back=f"return {total:.4g}",
        expected="return 0.1",
        why="A result earns its 0.1 when it appears for the first time, and nothing afterwards.",
    )
    total, _, _ = _play(answer, t, [("calc", expr) for expr in ("1+1", "80-75", "2*30", "120/2")])
    t.that(
        abs(total - 0.1) < 1e-9,
        'calc("1+1"), calc("80-75"), calc("2*30"), calc("120/2")',
        came_back=f"return {total:.4g}",
        expected="return 0.1",
        why="Only 60 and 55 lead to the answer; other results earn nothing, and 60 earns once, whichever way it came.",
    )
    _, ends, _ = _play(answer, t, [("think", "hm")] * 8)
    t.that(
        ends == [(False, False)] * 7 + [(False, True)],
        "eight thoughts in a row",
        came_back=f"(terminated, truncated) = {ends[-1]} after {len(ends)} steps",
        expected="(False, True) after step 8, and not before",
        why="The limit of 8 steps truncates: the episode is cut, it has not reached an end of its own.",
    )
    _, ends, _ = _play(answer, t, [("think", "hm")] * 7 + [("answer", "55")])
    t.that(
        ends[-1] == (True, False),
        "seven thoughts, then answer(55) as step 8",
        came_back=f"(terminated, truncated) = {ends[-1]}",
        expected="(True, False)",
        why="An answer ends the episode by its own rules, also in the last step that is allowed.",
    )
    _play_again(env, t)


def _play(make: Any, t: Probe, actions: list[tuple[str, str]]) -> tuple[float, list[tuple[bool, bool]], Any]:
    """Make a world of the reader's class and play `actions`; whatever has the wrong form is a finding."""
    env = t.run(make, why="The check makes a world by calling your class without arguments.")
    t.that(
        callable(getattr(env, "reset", None)) and callable(getattr(env, "step", None)),
        "your world",
        came_back=repr(env)[:80],
        expected="an object with reset() and step(action)",
        why='Pass the class, as in check("04.4", MendedShop).',
    )
    t.run(env.reset, why="reset() takes no argument here and starts a fresh episode.")
    return (*_steps(env, t, actions), env)


def _steps(env: Any, t: Probe, actions: list[tuple[str, str]]) -> tuple[float, list[tuple[bool, bool]]]:
    total, ends = 0.0, []
    for action in actions:
        came = t.run(env.step, action, why="step(action) must survive this action.")
        fits = isinstance(came, tuple) and len(came) == 5 and isinstance(came[1], (int, float))
        t.that(
            fits,
            f"step({action!r})",
            came_back=repr(came)[:120],
            expected="(observation, reward, terminated, truncated, info)",
            why="Gymnasium's step returns five values in this order; the reward is a number.",
        )
        total += came[1]
        ends.append((bool(came[2]), bool(came[3])))
        if any(ends[-1]):
            break
    return total, ends


def _play_again(env: Any, t: Probe) -> None:
    t.run(env.reset, why="reset() starts a fresh episode.")
    total, ends = _steps(env, t, [("calc", "80*0.75"), ("calc", "60-5")])
    t.that(
        abs(total - 0.2) < 1e-9 and ends == [(False, False)] * 2,
        'a second episode in the same world: reset(), calc("80*0.75"), calc("60-5")',
        came_back=f"return {total:.4g}, (terminated, truncated) = {ends[-1]}",
        expected="return 0.2, (False, False)",
        why="reset() must forget which results were paid and how many steps were taken.",
    )
