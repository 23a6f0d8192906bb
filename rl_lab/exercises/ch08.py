"""Exercises of chapter 8: find a flip, choose weights, build a shaping, build a pay that an optimiser attacks.

>>> from rl_lab.check import check
>>> check("08.1", 0.4).passed
True
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from rl_lab.check import Probe, exercise
from rl_lab.mdp import discounted_return
from rl_lab.shaping import break_even, shape


@exercise("08.1", "The colleague who pays on the way")
def _(answer: Any, t: Probe) -> None:
    t.value(
        answer,
        0.4,
        tol=1e-6,
        ask="the chance above which a patch is worth trying",
        why="Stopping earns 0.9, finishing 0.9 + p * 0.1 - 0.04. They are equal where p * 0.1 = 0.04.",
        hints=[
            (lambda x: abs(x - 0.04) < 1e-6, "That is the effort. Divide it by what the outcome pays."),
            (
                lambda x: abs(x - 0.94) < 1e-6,
                "That is the flip if a failed patch loses the milestones. Here it keeps them: 0.9 is in both choices.",
            ),
            (
                lambda x: abs(x - 0.04 / 0.9) < 1e-3,
                "That divides by the milestones. The last step adds 0.1, not 0.9.",
            ),
            (lambda x: abs(x - 40) < 1e-6, "A chance lies between 0 and 1."),
        ],
    )


@exercise("08.2", "Expensive patches")
def _(answer: Any, t: Probe) -> None:
    fits = isinstance(answer, (list, tuple)) and len(answer) == 4 and all(map(_is_number, answer))
    t.that(
        fits,
        "weights",
        came_back=repr(answer)[:120],
        expected="four numbers: repository, file, diagnosis, patch",
        why="The last one is the pay of the outcome.",
    )
    weights = [float(w) for w in answer]
    t.that(
        min(weights) > 0.05 - 1e-9,
        "the smallest weight",
        came_back=f"{min(weights):.4g}",
        expected="at least 0.05",
        why="A milestone that pays nothing gives no signal.",
    )
    t.that(
        all(abs(20 * w - round(20 * w)) < 1e-6 for w in weights),
        "weights",
        came_back=repr(weights),
        expected="multiples of 0.05",
        why="The task asks for steps of 0.05.",
    )
    t.that(
        abs(sum(weights) - 1) < 1e-9,
        "the sum of the weights",
        came_back=f"{sum(weights):.4g}",
        expected="1",
        why="The four weights share a budget of 1.",
    )
    flip = break_even(weights, 0.15)
    t.that(
        flip is not None and flip < 0.3 - 1e-9,
        "the chance above which finishing pays, at an effort of 0.15",
        came_back="finishing never pays" if flip is None else f"{flip:.4g}",
        expected="below 0.3",
        why="At p = 0.3 finishing must be better, not just as good: 0.3 * w4 > 0.15.",
    )
    t.that(
        sum(weights[:3]) > 0.45 - 1e-9,
        "what the milestones get together",
        came_back=f"{sum(weights[:3]):.4g}",
        expected="0.45",
        why="It works, but the outcome has more than it needs: take it down to the next step of 0.05 above the bound.",
    )


@exercise("08.3", "Build the shaping")
def _(answer: Any, t: Probe) -> None:
    t.call(
        answer,
        [0, 0, 1],
        [0, 0.5, 0.75],
        1.0,
        expect=[0.5, 0.25, 0.25],
        why="Each step gets gamma times the next potential minus its own; the end has potential 0.",
        hints=[
            (lambda v: list(v) == [0, 0, 1], "These are the rewards as they were: nothing was added."),
            (
                lambda v: math.isclose(sum(v), 2.25),
                "Arriving is paid, and nothing is ever taken back: subtract the potential that the step starts in.",
            ),
            (
                lambda v: math.isclose(v[-1], 1.0),
                "The last step must take back what was advanced: the end has potential 0.",
            ),
        ],
    )
    rewards, potentials = [0.0] * 8, [0.0, 0.2] * 4
    came = t.run(answer, rewards, potentials, 0.9, why="A walk up and down, four times.")
    t.that(
        _adds_up(came, rewards, potentials, 0.9),
        "four rounds up to 0.2 and down to 0, at gamma = 0.9",
        came_back=_return_of(came, 0.9),
        expected="a discounted return of 0",
        why="A loop must earn nothing. If it does, the gamma inside is not the gamma outside: gamma * next - own.",
    )
    for rewards, potentials, gamma, why in (
        ([0, 0, 0], [0.0, 1.0, 5.0], 0.9, "Ending in a nice place earns nothing: the end has potential 0."),
        ([0, 0.1, 0.8], [0.3, 0.3, 0.3], 0.5, "Standing still costs (1 - gamma) times the potential a step."),
        ([1.0], [2.0], 0.9, "An episode of one step: 1 + 0.9 * 0 - 2."),
        ([0, 1], [-1.0, 4.0], 0.0, "At gamma = 0 only the own potential is subtracted."),
        ([], [], 0.9, "An empty episode has nothing to shape."),
    ):
        t.call(
            answer,
            rewards,
            potentials,
            gamma,
            expect=shape(rewards, potentials, gamma),
            tol=1e-9,
            why=why,
        )
    rewards, potentials = [0.0, 1.0], [0.0, 0.5]
    t.run(answer, rewards, potentials, 1.0, why="Two steps.")
    t.that(
        (rewards, potentials) == ([0.0, 1.0], [0.0, 0.5]),
        "the lists that you were given, afterwards",
        came_back=f"{rewards}, {potentials}",
        expected="[0.0, 1.0], [0.0, 0.5]",
        why="Whoever passed them still needs them: build a new list.",
    )


_STRAIGHT = ["repository", "file", "diagnosis", "patch passes"]
_EVENT_COST, _PATCH_COST, _LONGEST = 0.02, 0.1, 7


@exercise("08.4", "A pay that survives")
def _(answer: Any, t: Probe) -> None:
    steps = [_paid(answer, t, _STRAIGHT[:n]) for n in range(5)]
    t.that(
        abs(steps[0]) < 1e-9 and steps[4] <= 1 + 1e-9,
        f"pay([]) and pay({_STRAIGHT})",
        came_back=f"{steps[0]:.4g} and {steps[4]:.4g}",
        expected="0 and at most 1",
        why="Nothing done earns nothing, and the whole job no more than 1.",
    )
    for n in range(4):
        t.that(
            steps[n + 1] > steps[n] + 1e-9,
            f"pay({_STRAIGHT[: n + 1]})",
            came_back=f"{steps[n + 1]:.4g}, and {steps[n]:.4g} without {_STRAIGHT[n]!r}",
            expected="more than before",
            why="Each milestone must be worth something, or the first groups have nothing to compare.",
        )
    told = _paid(answer, t, [*_STRAIGHT[:3], "claim"])
    t.that(
        told <= steps[3] + 1e-9,
        f"pay({[*_STRAIGHT[:3], 'claim']})",
        came_back=f"{told:.4g}, and {steps[3]:.4g} without the claim",
        expected="no more than without it",
        why="What the agent says about itself is no milestone: saying is cheaper than doing.",
    )
    _attack(answer, t, steps[4] - _EVENT_COST * 4)
    gain = 0.3 * (steps[4] - steps[3])
    t.that(
        gain > _PATCH_COST + 1e-9,
        "what a patch earns on average if three in ten pass",
        came_back=f"0.3 * {steps[4] - steps[3]:.4g} = {gain:.4g}",
        expected=f"more than its effort of {_PATCH_COST}",
        why="Else the agent hands in its diagnosis. Leave more on the outcome.",
    )


def _attack(pay: Any, t: Probe, honest: float) -> None:
    """Play every episode that the little world allows; if the best is not the straight repair, show it."""
    asked, best, found = t.asked, -math.inf, []
    for events in _episodes():
        net = _paid(pay, t, events) - _EVENT_COST * len(events)
        if net > best + 1e-9:
            best, found = net, events
    once = _paid(pay, t, list(dict.fromkeys(found)))
    culprit = "what is repeated" if once < _paid(pay, t, found) - 1e-9 else "what it adds"
    t.asked = asked  # thousands of episodes are one question
    t.that(
        best <= honest + 1e-9,
        f"the best of all episodes, pay({found})",
        came_back=f"{best:.4g} after costs; the straight repair {honest:.4g}",
        expected="nothing better than the straight repair",
        why=f"An optimiser would learn this: {culprit} must not be paid.",
    )


def _episodes(done: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """All episodes of up to seven events: a file opens in a repository, is diagnosed while open, then patched."""
    yield list(done)
    if len(done) == _LONGEST or "patch passes" in done:
        return
    is_open = [e for e in done if e in ("file", "close")][-1:] == ["file"]
    possible = ["repository", "claim"]
    possible += ["file"] if "repository" in done and not is_open else []
    possible += ["close", "diagnosis"] if is_open else []
    possible += ["patch fails", "patch passes"] if is_open and "diagnosis" in done else []
    for event in possible:
        yield from _episodes((*done, event))


def _paid(pay: Any, t: Probe, events: list[str]) -> float:
    came = t.run(
        pay, list(events), why="The reward of one episode, from the events that the environment saw."
    )
    t.that(
        _is_number(came) and math.isfinite(came),
        f"pay({events})",
        came_back=repr(came)[:80],
        expected="a number",
        why="Return the reward of the whole episode.",
    )
    return float(came)


def _adds_up(came: Any, rewards: list[float], potentials: list[float], gamma: float) -> bool:
    expected = discounted_return(rewards, gamma) - potentials[0]
    try:
        return math.isclose(discounted_return(came, gamma), expected, abs_tol=1e-9)
    except (TypeError, ValueError):  # not a list of numbers
        return False


def _return_of(came: Any, gamma: float) -> str:
    try:
        return f"a discounted return of {discounted_return(came, gamma):.4g}"
    except (TypeError, ValueError):
        return repr(came)[:120]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
