"""Why does a model learn to think longer? Because it pays: problems that it gets right only when it writes the steps.

Someone has 12 apples, gets 3 more, gives away 5, gets 4 more. Every demonstration is correct; some write the running
total line by line, the others answer at once, which a tiny model cannot do in its head. Single turn, no tool.

>>> problem = TotalProblem("Anna", "apples", 12, (3, -5, 4))
>>> problem.question
'Anna has 12 apples, gets 3 more, gives away 5, gets 4 more. How many apples now?'
>>> print(problem.solution)
12+3=15
15-5=10
10+4=14

Standard library only.
"""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rl_lab.answers import ANSWER_PREFIX

__all__ = ["TotalProblem", "demonstrations", "sample_problems", "to_rows", "trace", "writes_steps"]

NAMES = ("Anna", "Ben", "Clara", "David", "Emma", "Tom")
THINGS = ("apples", "books", "coins", "eggs")
LARGEST = 20


@dataclass(frozen=True)
class TotalProblem:
    """A start and a few changes; every total on the way lies between 0 and 20."""

    name: str
    thing: str
    start: int
    changes: tuple[int, ...]  # positive: gets so many more; negative: gives so many away

    @property
    def totals(self) -> tuple[int, ...]:
        """The start and the total after each change."""
        return tuple(itertools.accumulate(self.changes, initial=self.start))

    @property
    def gold(self) -> str:
        """The last total."""
        return str(self.totals[-1])

    @property
    def question(self) -> str:
        """The prompt."""
        told = ", ".join(f"gets {c} more" if c > 0 else f"gives away {-c}" for c in self.changes)
        return f"{self.name} has {self.start} {self.thing}, {told}. How many {self.thing} now?"

    @property
    def solution(self) -> str:
        """The running total, one step a line."""
        pairs = zip(itertools.pairwise(self.totals), self.changes, strict=True)
        return "\n".join(f"{before}{change:+d}={after}" for (before, after), change in pairs)


def sample_problems(n: int, seed: int, *, held_out: bool = False, operations: int = 3) -> list[TotalProblem]:
    """Draw problems, either all from the training questions or all from the held-out ones.

    One question in five is held out, by its numbers, whoever has whatever.

    Examples
    --------
    >>> train, test = sample_problems(200, 1), sample_problems(200, 1, held_out=True)
    >>> {(p.start, p.changes) for p in train} & {(p.start, p.changes) for p in test}
    set()
    """
    if n < 0 or operations < 1:
        raise ValueError(f"n must be 0 or more and operations 1 or more, got n={n}, operations={operations}")
    rng, problems = random.Random(seed), []
    while len(problems) < n:
        start = total = rng.randint(1, LARGEST)
        changes: list[int] = []
        while len(changes) < operations:
            change = rng.randint(1, 9) * rng.choice((-1, 1))
            if 0 <= total + change <= LARGEST:
                changes.append(change)
                total += change
        if _is_held_out(start, changes) == held_out:
            problems.append(TotalProblem(rng.choice(NAMES), rng.choice(THINGS), start, tuple(changes)))
    return problems


def _is_held_out(start: int, changes: Iterable[int]) -> bool:
    # A checksum, because sums of the numbers would go with the answer: some answers would then never be trained.
    return zlib.crc32(repr((start, *changes)).encode()) % 5 == 3


def trace(problem: TotalProblem, *, steps: bool) -> list[dict[str, Any]]:
    """A correct conversation: with the steps written out, or with the answer alone."""
    written = f"{problem.solution}\n" if steps else ""
    return [
        {"role": "user", "content": problem.question},
        {"role": "assistant", "content": f"{written}{ANSWER_PREFIX} {problem.gold}"},
    ]


def demonstrations(
    n: int, seed: int, *, step_share: float = 0.3, operations: int = 3
) -> list[list[dict[str, Any]]]:
    """Conversations for SFT, all of them correct; `step_share` (0 to 1) of them write the steps."""
    if not 0 <= step_share <= 1:
        raise ValueError(f"step_share must be a share from 0 to 1, got {step_share}")
    rng = random.Random(seed)
    problems = sample_problems(n, seed, operations=operations)
    return [trace(problem, steps=rng.random() < step_share) for problem in problems]


def to_rows(problems: Iterable[TotalProblem]) -> list[dict[str, Any]]:
    """Rows for GRPO: the prompt as messages, and the gold answer."""
    return [{"prompt": [{"role": "user", "content": p.question}], "ground_truth": p.gold} for p in problems]


def writes_steps(completion: str | list[dict[str, Any]]) -> bool:
    r"""Whether a completion writes steps at all.

    Examples
    --------
    >>> writes_steps("12+3=15\nFinal Answer: 15"), writes_steps("Final Answer: 15")
    (True, False)
    """
    text = completion if isinstance(completion, str) else completion[-1]["content"]
    return "=" in text
