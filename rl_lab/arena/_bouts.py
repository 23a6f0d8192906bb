"""What can every habit write on every problem, and what is paid for it? Public through :mod:`rl_lab.arena`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rl_lab.arena._habits import Habit, Outcome, outcomes_of
from rl_lab.arena._scoring import Paid, score_texts
from rl_lab.rows import Problem


class Scored(NamedTuple):
    """An outcome and what the reward function paid for it."""

    outcome: Outcome
    reward: Paid


Bouts = Sequence[Sequence[Sequence[Scored]]]
"""Scored outcomes by problem and habit: ``bouts[problem][habit]``."""


def scored_bouts(
    reward: Callable[..., Any], habits: Sequence[Habit], problems: Sequence[Problem], ability: float
) -> list[list[list[Scored]]]:
    """Score every possible completion once, in one batch."""
    written = [[outcomes_of(habit, problem, ability) for habit in habits] for problem in problems]
    texts: list[str] = []
    golds: list[str] = []
    prompts: list[str] = []
    for problem, by_habit in zip(problems, written, strict=True):
        here = [outcome.text for outcomes in by_habit for outcome in outcomes]
        texts += here
        golds += [problem.gold] * len(here)
        prompts += [problem.question] * len(here)
    paid = score_texts(reward, texts, golds, prompts)
    if all(value is None for value in paid):
        raise TypeError(
            f"the reward returned None for each of {len(paid)} completions, so none was scored; is there a return?"
        )
    left = iter(paid)
    return [[[Scored(one, next(left)) for one in outcomes] for outcomes in row] for row in written]


def price_list(habits: Sequence[Habit], bouts: Bouts) -> list[dict[str, Any]]:
    """For each habit: what it does, its mean length, how often it is right and what it earns on average."""
    by_habit = [[row[i] for row in bouts] for i in range(len(habits))]
    return [
        {
            "habit": habit.name,
            "what": habit.says,
            "characters": round(_mean([sum(o.chance * len(o.text) for o, _ in one) for one in rows])),
            "right": _mean([sum(o.chance * o.right for o, _ in one) for one in rows]),
            "earns": _earned([scored for one in rows for scored in one]),
        }
        for habit, rows in zip(habits, by_habit, strict=True)
    ]


def _earned(scored: Sequence[Scored]) -> float | None:
    """Mean reward of a habit over its scored completions."""
    paid = [(outcome.chance, reward) for outcome, reward in scored if reward is not None]
    weight = sum(chance for chance, _ in paid)
    return sum(chance * reward for chance, reward in paid) / weight if weight > 0 else None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
