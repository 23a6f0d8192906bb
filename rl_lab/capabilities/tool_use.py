"""Does it know when a tool is worth its price? A calculator that is exact and costs, a head that is free and slips.

>>> env = ToolUse()
>>> env.reset(seed=1)[0]
'What is 2033*361?'
>>> env.step(("calc", "2033*361"))[0], env.step(("answer", "733913"))[1]
('733913', 0.9)
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from rl_lab.calculator import CalculatorError, evaluate, format_number
from rl_lab.capabilities._base import BadAction, CapabilityEnv, is_right, share
from rl_lab.capabilities._play import Policy


class ToolUse(CapabilityEnv):
    """Answer a multiplication, easy or hard, with a calculator at hand.

    Actions
    -------
    ``calc(expression)`` calls the calculator; ``answer(number)`` ends the episode.

    Observations
    ------------
    The task; after a call, the exact result or the calculator's error.

    Rewards
    -------
    The right answer earns 1 less `cost` for each call, at least 0; a wrong one earns 0, whatever was called. (The
    price is gated: a fine for calls on wrong answers too would teach an unable model to give up quickly.)

    Parameters
    ----------
    cost : float
        Price of a call, 0–1.
    hard : float
        Share of hard tasks (a number of four digits times one of three); the others are from the times tables.
    """

    name = "tool_use"
    actions = ("calc", "answer")

    def __init__(self, *, cost: float = 0.1, hard: float = 0.5) -> None:
        self.cost, self.hard = share("cost", cost), share("hard", hard)
        super().__init__(max_steps=4)

    def _begin(self, rng: random.Random) -> str:
        if rng.random() < self.hard:
            a, b = rng.randint(1000, 9999), rng.randint(100, 999)
        else:
            a, b = rng.randint(2, 9), rng.randint(2, 9)
        self._gold, self._calls = a * b, 0
        return f"What is {a}*{b}?"

    def _do_calc(self, argument: Any) -> tuple[str, float, bool]:
        self._calls += 1
        try:
            return format_number(evaluate(str(argument))), 0.0, False
        except CalculatorError as error:
            raise BadAction(str(error)) from None

    def _do_answer(self, argument: Any) -> tuple[str, float, bool]:
        right = is_right(argument, self._gold, "answer(18)")
        return self._finish(right, max(0.0, round(1 - self.cost * self._calls, 9)))


def factors(task: str) -> tuple[int, int]:
    """The two numbers of a task."""
    a, b = re.findall(r"\d+", task)
    return int(a), int(b)


def recall(a: int, b: int, slip: float, rng: random.Random) -> int:
    """Multiply in the head: up to 100 by heart; beyond, each digit of the result is wrong with chance `slip`."""
    product = a * b
    if product <= 100:
        return product
    digits = [(int(d) + rng.randint(1, 9)) % 10 if rng.random() < slip else int(d) for d in str(product)]
    return int("".join(map(str, digits)))


def in_its_head(slip: float = 0.1) -> Policy:
    """Never call the tool."""
    share("slip", slip)

    def act(seen: Sequence[str], rng: random.Random) -> tuple[str, str]:
        return "answer", str(recall(*factors(seen[0]), slip, rng))

    return act


def always_the_tool(seen: Sequence[str], rng: random.Random) -> tuple[str, str]:
    """Call the tool for everything, then copy its result."""
    a, b = factors(seen[0])
    return ("answer", seen[-1]) if len(seen) > 1 else ("calc", f"{a}*{b}")


def tool_when_needed(seen: Sequence[str], rng: random.Random) -> tuple[str, str]:
    """Call the tool for what is not known by heart."""
    a, b = factors(seen[0])
    return always_the_tool(seen, rng) if a * b > 100 else ("answer", str(a * b))


def one_text(seen: Sequence[str], rng: random.Random) -> list[tuple[str, str]]:
    """Answer from the head: a call may be written, but its result does not come before the answer is written, too."""
    return [in_its_head()(seen, rng)]


HABITS = {
    "in its head": in_its_head(),
    "always the tool": always_the_tool,
    "tool when needed": tool_when_needed,
}
BAD, GOOD = "in its head", "tool when needed"
