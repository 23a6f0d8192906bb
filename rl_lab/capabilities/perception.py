"""Does it read what is there, and not what is usually there? A table with rows and columns in any order.

>>> env = Perception()
>>> print(env.reset(seed=2)[0])
Delivery note 374, page 1 of 2. Returns within 30 days.
item | ordered | delivered | returned
lamps | 87 | 37 | 14
rugs | 84 | 97 | 30
desks | 65 | 91 | 60
chairs | 75 | 57 | 79
How many rugs were returned?
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from rl_lab.capabilities._base import CapabilityEnv, is_right
from rl_lab.capabilities._play import Policy

ROWS = ("lamps", "chairs", "desks", "rugs")
COLUMNS = ("ordered", "delivered", "returned")


class Perception(CapabilityEnv):
    """Read one cell of a table whose rows and columns come in a new order each time.

    The twelve numbers differ, so a reader who finds the row but not the column is right once in three, and one who
    picks any number of the table once in twelve.

    Actions
    -------
    ``answer(number)`` ends the episode.

    Observations
    ------------
    A delivery note with a number, a date and a footnote that nobody asks for, and the question.

    Rewards
    -------
    1 for the number in the cell, else 0.
    """

    name = "perception"
    actions = ("answer",)

    def __init__(self) -> None:
        super().__init__(max_steps=3)

    def _begin(self, rng: random.Random) -> str:
        rows, columns = rng.sample(ROWS, 4), rng.sample(COLUMNS, 3)
        cells = iter(rng.sample(range(10, 100), 12))
        table = {row: {column: next(cells) for column in columns} for row in rows}
        row, column = rng.choice(ROWS), rng.choice(COLUMNS)
        self._gold = table[row][column]
        lines = [f"Delivery note {rng.randint(100, 999)}, page 1 of 2. Returns within 30 days."]
        lines += [" | ".join(["item", *columns])]
        lines += [" | ".join([row, *(str(table[row][column]) for column in columns)]) for row in rows]
        return "\n".join([*lines, f"How many {row} were {column}?"])

    def _do_answer(self, argument: Any) -> tuple[str, float, bool]:
        return self._finish(is_right(argument, self._gold, "answer(38)"))


def asked(note: str) -> tuple[str, str]:
    """Row and column of the question."""
    return re.search(r"How many (\w+) were (\w+)\?", note).groups()


def table_of(note: str) -> dict[str, dict[str, int]]:
    """Read the table: row → column → number."""
    _, header, *rows, _ = ([cell.strip() for cell in line.split("|")] for line in note.splitlines())
    return {row[0]: dict(zip(header[1:], map(int, row[1:]), strict=True)) for row in rows}


def first_number(seen: Sequence[str], rng: random.Random) -> tuple[str, str]:
    """Take the first number on the page."""
    return "answer", re.search(r"\d+", seen[0])[0]


def right_row(seen: Sequence[str], rng: random.Random) -> tuple[str, str]:
    """Find the word of the question, and take the number behind it."""
    row, _ = asked(seen[0])
    return "answer", re.search(rf"^{row} \| (\d+)", seen[0], re.M)[1]


def row_and_column(seen: Sequence[str], rng: random.Random) -> tuple[str, str]:
    """Find the row, find the column, take the cell."""
    row, column = asked(seen[0])
    return "answer", str(table_of(seen[0])[row][column])


def one_text(seen: Sequence[str], rng: random.Random) -> list[tuple[str, str]]:
    """Answer: all there is to see is on the page."""
    return [row_and_column(seen, rng)]


HABITS: dict[str, Policy] = {
    "first number": first_number,
    "right row": right_row,
    "row and column": row_and_column,
}
BAD, GOOD = "right row", "row and column"
