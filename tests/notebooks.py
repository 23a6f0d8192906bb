"""Reading the course's notebooks: what several tests want to know of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SOLUTION = re.compile(r"<details>\s*<summary>Solution (\d+\.\d+)</summary>(.*?)</details>", re.S)
CODE = re.compile(r"```python\n(.*?)```", re.S)
CHECK = re.compile(r'^check\("(\d\d\.\d+)",.*\)$')


@dataclass(frozen=True)
class Exercise:
    """One exercise as it stands in a notebook: the number, the starter cell and the code of the folded solution."""

    number: str
    cell: int
    starter: str
    solution: str

    @property
    def check_line(self) -> str:
        """The starter's last line, which calls ``check``."""
        return self.starter.rstrip().splitlines()[-1]


def read(path: Path) -> nbformat.NotebookNode:
    """The notebook, format 4."""
    return nbformat.read(path, as_version=4)


def tags(cell: nbformat.NotebookNode) -> list[str]:
    """Tags of a cell."""
    return cell.metadata.get("tags", [])


def exercises_of(notebook: nbformat.NotebookNode) -> list[Exercise]:
    """Exercises in order; raises AssertionError where a starter has no check line or no solution."""
    markdown = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    solutions = {number: "\n".join(CODE.findall(body)) for number, body in SOLUTION.findall(markdown)}
    found = []
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type != "code" or "exercise" not in tags(cell):
            continue
        last = cell.source.rstrip().splitlines()[-1]
        match = CHECK.match(last)
        assert match, f'an exercise cell ends in check("NN.n", …), this one in {last!r}'
        readable = match[1].lstrip("0")
        assert readable in solutions, f"exercise {match[1]} has no folded 'Solution {readable}'"
        found.append(Exercise(match[1], index, cell.source, solutions.pop(readable)))
    assert not solutions, f"solutions without an exercise: {sorted(solutions)}"
    return found
