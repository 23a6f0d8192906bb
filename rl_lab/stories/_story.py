"""The parts of a generated story: what happens, what is worked out, and which parts a kind of story has.

A part adds sentences to the question and, for each step it costs, one line to the solution. Every part must stay true
wherever it stands: it names who does what, never refers to a sentence before, and uses no pronoun.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

# No story uses a pronoun, so any name fits any part.
# fmt: off
NAMES = (
    "Amara", "Anna", "Ben", "Carlos", "Chen", "Clara", "Daniel", "Elif", "Emma", "Farid", "Grace", "Hana", "Iris",
    "Jonas", "Kofi", "Lena", "Leo", "Lin", "Maya", "Mia", "Noah", "Olga", "Omar", "Paul", "Priya", "Rosa", "Sam",
    "Sofia", "Tariq", "Wei", "Yuki", "Zoe",
)
# fmt: on


class NoFit(Exception):
    """The numbers drawn so far do not allow what was asked; draw again. Never leaves this module."""


class Story:
    """One problem in the making: its sentences, its solution lines and the value it has reached.

    Parameters
    ----------
    rng : random.Random
        Source of every choice.
    max_value : int
        Largest size of any number that appears.
    """

    def __init__(self, rng: random.Random, max_value: int) -> None:
        self.rng, self.max_value = rng, max_value
        self.name, self.friend, self.other = rng.sample(NAMES, 3)
        self.sentences: list[str] = []
        self.lines: list[str] = []
        self.words: dict[str, str] = {}
        self.value = 0
        self.prefix = self.suffix = ""  # what stands before and behind a number: "$", " yuan", " stamps"
        self.grouped = rng.random() < 0.5  # 1,250 or 1250: GSM8K has both

    def draw(self, low: int, high: int, step: int = 1) -> int:
        """A whole number from `low` to `high`, kept below `max_value`."""
        high = min(high, self.max_value)
        if high < low:
            raise NoFit
        return self.rng.randrange(low, high + 1, step)

    def choose(self, *choices: str) -> str:
        """One of several wordings."""
        return self.rng.choice(choices)

    def divisor(self, low: int, high: int) -> int:
        """A number from `low` to `high` that divides the value, with at least 2 in each part."""
        fits = [k for k in range(low, high + 1) if self.value % k == 0 and self.value // k > 1]
        if not fits:
            raise NoFit
        return self.rng.choice(fits)

    def use_money(self) -> None:
        """Count in dollars, euros or yuan from here on."""
        self.words["currency"] = self.words.get("currency") or self.choose("$", "€", " yuan")
        currency = self.words["currency"]
        self.prefix, self.suffix = ("", currency) if currency.startswith(" ") else (currency, "")

    def number(self, value: float) -> str:
        """A number as this story writes numbers."""
        return f"{value:,}" if self.grouped else str(value)

    def amount(self, value: int) -> str:
        """A number with its currency."""
        currency = self.words["currency"]
        return (
            f"{self.number(value)}{currency}"
            if currency.startswith(" ")
            else f"{currency}{self.number(value)}"
        )

    def say(self, *wordings: str) -> None:
        """Add one sentence of the question, in one of several wordings."""
        self.sentences.append(self.rng.choice(wordings))

    def work_out(self, a: int, sign: str, b: float, lead: str) -> int:
        """Add one solution line ``lead a sign b = <<…>>result`` and return the result."""
        result = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else 0}[sign]
        if abs(result - round(result)) > 1e-9 or abs(result) > self.max_value:
            raise NoFit
        result = round(result)
        if result <= 1 and "any_size" not in self.words:
            raise NoFit  # less than nothing, nothing, or "1 stamps"
        mark = f"<<{a}{sign}{b}={result}>>"
        shown = f"{self.number(a)} {sign} {self.number(b)}"
        self.lines.append(f"{lead} {shown} = {self.prefix}{mark}{self.number(result)}{self.suffix}.")
        return result

    def step(self, sign: str, b: float, lead: str) -> None:
        """One step on the value itself."""
        self.value = self.work_out(self.value, sign, b, lead)


Part = Callable[[Story], None]


@dataclass(frozen=True)
class Family:
    """A kind of story.

    Attributes
    ----------
    name : str
        How :func:`generate` calls it.
    opening : callable
        Sets the scene and the first value; no step.
    core : tuple of (int, callable)
        Steps in this order; a story takes the first few of them, at least `core_min`.
    events : tuple of (int, callable)
        What may happen then, each at most once, in any order. The number is how many steps it costs.
    endings : tuple of (int, callable)
        A last turn that asks its own question.
    question : callable
        The question where there is no ending.
    core_min : int
        How many core parts the story needs to make sense.
    ordered : bool
        Keep the events in their written order (a week, a day).
    """

    name: str
    opening: Part
    core: tuple[tuple[int, Part], ...]
    events: tuple[tuple[int, Part], ...]
    endings: tuple[tuple[int, Part], ...]
    question: Part
    core_min: int = 0
    ordered: bool = False
