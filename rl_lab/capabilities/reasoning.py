"""Can it work through several small steps without losing one? No tool, no second chance, all facts on the table.

>>> env = Reasoning(steps=3)
>>> env.reset(seed=1)[0]
'Start with 9. Add 12. Add 7. Take away 10. What do you have?'
>>> env.step(("think", "9+12=21"))[0]
'9+12=21'
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from rl_lab.capabilities._base import BadAction, CapabilityEnv, is_right, share, whole
from rl_lab.capabilities._play import Policy


class Reasoning(CapabilityEnv):
    """Carry a small number through a chain of small steps.

    Each step is one-to-one, so whoever leaves out exactly one of them ends at a wrong number.

    Actions
    -------
    ``think(text)`` writes on the scratch pad; ``answer(number)`` ends the episode.

    Observations
    ------------
    The task; after a thought, the thought itself, for what is written can be read again. Nothing is worked out.

    Rewards
    -------
    1 for the right answer, else 0.

    Parameters
    ----------
    steps : int
        Length of the chain, 1 to 12. The limit is twice that plus two actions.
    """

    name = "reasoning"
    actions = ("think", "answer")

    def __init__(self, *, steps: int = 5) -> None:
        self.steps = whole("steps", steps, 1, 12)
        super().__init__(max_steps=2 * steps + 2)

    def _begin(self, rng: random.Random) -> str:
        self._gold = start = rng.randint(5, 20)
        sentences = [f"Start with {start}."]
        for _ in range(self.steps):
            n = rng.randint(3, 12)
            kind = rng.choice(["Add", "Take away", "Double it"])
            if (kind == "Take away" and n >= self._gold) or (kind == "Double it" and self._gold > 100):
                kind = "Add"
            sentences.append("Double it." if kind == "Double it" else f"{kind} {n}.")
            self._gold = carry(self._gold, *steps_of(sentences[-1])[0])
        return " ".join([*sentences, "What do you have?"])

    def _do_think(self, argument: Any) -> tuple[str, float, bool]:
        if not str(argument).strip():
            raise BadAction('a thought is missing; write think("9+7=16")')
        return str(argument)[:200], 0.0, False

    def _do_answer(self, argument: Any) -> tuple[str, float, bool]:
        return self._finish(is_right(argument, self._gold, "answer(21)"))


def steps_of(task: str) -> list[tuple[str, int]]:
    """Read the steps of a task as pairs of a sign and a number."""
    signs = {"Add": "+", "Take away": "-", "Double it": "*"}
    found = re.findall(r"(Add|Take away|Double it)(?: (\d+))?", task)
    return [(signs[word], int(n or 2)) for word, n in found]


def carry(value: int, sign: str, n: int) -> int:
    """Do one step."""
    return value + n if sign == "+" else value - n if sign == "-" else value * n


def at_once(slip: float = 0.2) -> Policy:
    """Answer in one go; each step is left out with chance `slip`, and nothing is written down."""
    share("slip", slip)

    def act(seen: Sequence[str], rng: random.Random) -> tuple[str, str]:
        value = int(re.search(r"\d+", seen[0])[0])
        for sign, n in steps_of(seen[0]):
            value = value if rng.random() < slip else carry(value, sign, n)
        return "answer", str(value)

    return act


def step_by_step(slip: float = 0.02) -> Policy:
    """Write each step down, then answer with the last line; each line is wrong by one with chance `slip`."""
    share("slip", slip)

    def act(seen: Sequence[str], rng: random.Random) -> tuple[str, str]:
        chain = steps_of(seen[0])
        done = len(seen) - 1
        value = int(re.findall(r"\d+", seen[-1] if done else seen[0].split(".")[0])[-1])
        if done == len(chain):
            return "answer", str(value)
        sign, n = chain[done]
        result = carry(value, sign, n) + (rng.random() < slip)
        return "think", f"{value}{sign}{n}={result}"

    return act


def one_text(seen: Sequence[str], rng: random.Random) -> list[tuple[str, str]]:
    """Write the whole chain and the answer in one completion: nothing that it needs comes from the world."""
    act, read = step_by_step(), list(seen)
    written = [act(read, rng)]
    while written[-1][0] != "answer":
        read.append(written[-1][1])
        written.append(act(read, rng))
    return written


HABITS = {"all at once": at_once(), "step by step": step_by_step()}
BAD, GOOD = "all at once", "step by step"
