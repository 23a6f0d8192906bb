r"""Which ways of answering can a policy fall into, and what does each really write?

A habit turns a problem into completions, each with its chance and with the truth about it. The texts are real: a
reward function reads them as it would read a model's. How often a habit is right is made up, in the open, and has a
slider wherever a page shows it. Public through :mod:`rl_lab.arena`.

>>> brief = next(habit for habit in HABITS if habit.name == "brief")
>>> print(brief.outcomes(EXAMPLE_PROBLEM, 0.6)[0].text)
Step 1: 80*0.75=60.
Step 2: 60-5=55.
Final Answer: 55
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from rl_lab._record import closest
from rl_lab._shopping import EXAMPLE
from rl_lab.answers import ANSWER_PREFIX
from rl_lab.calculator import format_number
from rl_lab.rows import Problem, calc_marks, reasoning_lines, strip_calc_marks

SLIP_PER_STEP = 0.9
"""Brief reasoning gets each step right nine times in ten where long reasoning would: two steps leave 0.81 of it."""

LUCK = 0.06
"""How often a guess is right."""

AMONG = 0.9
"""How often the gold is among the answers of a completion that gives several."""

EXAMPLE_PROBLEM = Problem(
    question=EXAMPLE.question,
    answer="The price after the discount is 80*0.75 = <<80*0.75=60>>60 yuan.\n"
    "The coupon takes off 5 yuan more, which leaves 60-5 = <<60-5=55>>55 yuan.\n#### 55",
)
"""The course's running example in GSM8K's form."""


class Outcome(NamedTuple):
    """One completion that a habit may write.

    Attributes
    ----------
    text : str
        The completion.
    chance : float
        How often the habit writes this one, 0 to 1.
    right : bool
        Whether it answers the problem: the truth, which the reward function does not see.
    """

    text: str
    chance: float
    right: bool


@dataclass(frozen=True)
class Habit:
    """One way of answering.

    Attributes
    ----------
    name : str
        A word, for tables and figures.
    says : str
        What it does, in a few words.
    outcomes : callable
        ``(problem, ability) -> list of Outcome``; the chances add up to 1. `ability` is the chance, 0 to 1, that
        reasoning at length is right.
    """

    name: str
    says: str
    outcomes: Callable[[Problem, float], list[Outcome]]


class _Parts(NamedTuple):
    """What the habits need of a problem: its gold, wrong numbers of the same size, and its equations."""

    gold: str
    slips: tuple[str, ...]
    equations: tuple[str, ...]
    steps: int


def _parts(problem: Problem) -> _Parts:
    return _read(problem.question, problem.answer)


@lru_cache(maxsize=1024)  # a figure asks for the same few problems a thousand times
def _read(question: str, answer: str) -> _Parts:
    problem = Problem(question=question, answer=answer)
    gold = Decimal(problem.gold)
    rng = random.Random(zlib.crc32(question.encode()))  # the same slips on every machine
    slips = rng.sample([slip for slip in range(-9, 10) if slip and (gold < 0 or gold + slip >= 0)], 4)
    lines = reasoning_lines(answer)
    equations = [f"{mark.expression}={mark.stated}" for mark in calc_marks(answer)]
    return _Parts(
        gold=problem.gold,
        slips=tuple(format_number(gold + slip) for slip in slips),
        equations=tuple(equations or map(strip_calc_marks, lines)),
        steps=len(lines),
    )


def _steps(problem: Problem, answer: str) -> list[str]:
    """Equations of the solution, the last one with `answer` as its result: a slip happens in the last step."""
    *before, last = _parts(problem).equations or ("the answer=",)
    left, equals, _ = last.rpartition("=")
    return [*before, f"{left}={answer}" if equals else f"{last} {answer}"]


def _final(text: str, answer: str) -> str:
    return f"{text}\n{ANSWER_PREFIX} {answer}" if text else f"{ANSWER_PREFIX} {answer}"


def _guess(problem: Problem, answer: str) -> str:
    return _final("", answer)


def _brief(problem: Problem, answer: str, more: str = "") -> str:
    steps = [f"Step {i}: {step}." for i, step in enumerate(_steps(problem, answer), 1)]
    return _final("\n".join(steps) + more, answer)


def _spam(problem: Problem, answer: str) -> str:
    return _brief(problem, answer, more="\n" + "= " * 100)


def _repeat(problem: Problem, answer: str) -> str:
    return _brief(problem, answer, more=f"\n{ANSWER_PREFIX} {answer}" * 19)


def _long(problem: Problem, answer: str, more: str = "") -> str:
    steps = [
        f"Step {i}: from what is known so far it follows that {step}. I work this step out a second time, and the "
        "same value comes out again."
        for i, step in enumerate(_steps(problem, answer), 1)
    ]
    return _final("\n".join([_OPENING, *steps, _CLOSING + more]), answer)


def _buried(problem: Problem, answer: str) -> str:
    return _long(problem, answer, more="\n" + _FILLER * 50)


_OPENING = (
    "Let me think about this problem slowly and carefully, so that nothing at all is overlooked. I first collect what "
    "the question gives, then what it asks for, and then go from one to the other in small steps."
)
_CLOSING = (
    "Everything here agrees with the question: no number was left out, no number was used twice, and the final value "
    "is the one that was asked for."
)
_FILLER = "Let me look at all of this once more from the beginning. "


def _lucky(problem: Problem, ability: float) -> float:
    return LUCK


def _at_length(problem: Problem, ability: float) -> float:
    return ability


def _in_brief(problem: Problem, ability: float) -> float:
    return ability * SLIP_PER_STEP ** _parts(problem).steps


def _right_or_wrong(
    write: Callable[[Problem, str], str], chance: Callable[[Problem, float], float]
) -> Callable[[Problem, float], list[Outcome]]:
    def outcomes(problem: Problem, ability: float) -> list[Outcome]:
        p, parts = chance(problem, ability), _parts(problem)
        return [
            Outcome(write(problem, parts.gold), p, True),
            Outcome(write(problem, parts.slips[0]), 1 - p, False),
        ]

    return outcomes


def _silent(problem: Problem, ability: float) -> list[Outcome]:
    return [Outcome("I am not sure how this one works", 1.0, False)]


def _hedged(problem: Problem, ability: float) -> list[Outcome]:
    parts = _parts(problem)
    hit, missed = (
        " or ".join(sorted(four, key=Decimal)) for four in ([parts.gold, *parts.slips[:3]], parts.slips)
    )
    return [Outcome(_final("", hit), AMONG, False), Outcome(_final("", missed), 1 - AMONG, False)]


HABITS: tuple[Habit, ...] = (
    Habit("long", "reasons at length", _right_or_wrong(_long, _at_length)),
    Habit("brief", "reasons briefly", _right_or_wrong(_brief, _in_brief)),
    Habit("guess", "guesses", _right_or_wrong(_guess, _lucky)),
    Habit("silent", "says it does not know", _silent),
    Habit("spam", "reasons briefly, adds 100 equals signs", _right_or_wrong(_spam, _in_brief)),
    Habit("buried", "reasons at length, buries the answer", _right_or_wrong(_buried, _at_length)),
    Habit("repeat", "reasons briefly, answers 20 times", _right_or_wrong(_repeat, _in_brief)),
    Habit("hedge", "gives four answers at once", _hedged),
)
"""The arena's eight, honest ones first: where two end equal, the first is named."""


def choose_habits(habits: Iterable[Habit | str] | None) -> tuple[Habit, ...]:
    """Take habits by name or as they are; all of :data:`HABITS` if none are given."""
    known = {habit.name: habit for habit in HABITS}
    if habits is None:
        return HABITS
    if isinstance(habits, (str, Habit)):
        habits = [habits]
    chosen: list[Habit] = []
    for habit in habits:
        if isinstance(habit, str) and habit not in known:
            raise ValueError(
                f"habits must be among {', '.join(known)}, got {habit!r}{closest(habit, known)}; "
                "for one of your own pass a Habit(name, says, outcomes)"
            )
        chosen.append(known[habit] if isinstance(habit, str) else _own(habit))
    names = [habit.name for habit in chosen]
    if len(chosen) < 2 or len(set(names)) < len(names):
        raise ValueError(f"habits must be at least two with different names, got {names}")
    return tuple(chosen)


def _own(habit: Any) -> Habit:
    if not isinstance(habit, Habit):
        raise TypeError(f"habits must hold names or Habit objects, got {type(habit).__name__} {habit!r:.60}")
    return habit


def outcomes_of(habit: Habit, problem: Problem, ability: float) -> list[Outcome]:
    """The habit's completions of a problem, checked: a reader's own habit may be wrong in every way."""
    found = list(habit.outcomes(problem, ability))
    if not found or not all(isinstance(one, tuple) and len(one) == 3 for one in found):
        raise TypeError(
            f"outcomes of habit {habit.name!r} must be a list of Outcome(text, chance, right), got {found!r:.80}"
        )
    chances = [chance for _, chance, _ in found]
    if not all(0 <= chance <= 1 for chance in chances) or abs(sum(chances) - 1) > 1e-9:
        raise ValueError(
            f"the chances of habit {habit.name!r} must lie between 0 and 1 and add up to 1, got {chances}"
        )
    return [Outcome(*one) for one in found]
