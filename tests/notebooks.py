"""Reading the course's notebooks: what several tests want to know of them."""

from __future__ import annotations

import contextlib
import io
import os
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

from tools import execute, pages

ROOT = Path(__file__).resolve().parents[1]
PATHS = pages.notebooks()
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


def one_line(path: Path) -> str:
    """All Markdown of a notebook on one line, quotation marks of Markdown left out."""
    text = " ".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    return re.sub(r"(?:^|(?<=\s))>\s|\s+", " ", text)


def states(prose: str, *sentences: str) -> None:
    """Fail with the first of `sentences` that the prose does not hold."""
    for sentence in sentences:
        assert sentence in prose, sentence


def light(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook without the cells tagged ``model``, which load or train one.

    The book build executes those, once; what they put out is read with `executed`.
    """
    copy = nbformat.from_dict(notebook)
    copy.cells = [cell for cell in notebook.cells if "model" not in tags(cell)]
    return copy


def namespace(path: Path) -> dict:
    """Names that a notebook's light cells define, exercises left out; they run in the notebook's folder."""
    names: dict = {"__name__": "notebook"}
    with contextlib.chdir(path.parent), contextlib.redirect_stdout(io.StringIO()):
        for number, cell in enumerate(light(read(path)).cells):
            if cell.cell_type == "code" and "exercise" not in tags(cell):
                code = compile(cell.source, f"{path.name}, light cell {number}", "exec")
                exec(code, names)  # our own cells, nothing that a model wrote
    return names


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of the book build.

    Where that was not made of this source, the test is skipped for a person who works at the notebook, and fails in CI,
    where a skip would hide that nothing was looked at.
    """
    page = execute.Page(f"notebooks/{path.stem}")
    if stale := page.why_stale():
        refuse = pytest.fail if os.environ.get("CI") else pytest.skip
        refuse(f"the outputs of {path.name} are not of today: {stale}; run `make book`")
    return read(page.stored)


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
