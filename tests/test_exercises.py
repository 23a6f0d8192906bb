"""Every starter fails its check with a message that teaches, and every folded solution passes."""

from __future__ import annotations

import os

import nbformat
import pytest
from nbclient import NotebookClient

from rl_lab.check import exercises
from tests.notebooks import PATHS, exercises_of, light, read

pytestmark = pytest.mark.notebook


def text_of(cell) -> str:
    """Plain text of everything a cell put out."""
    return "\n".join(
        output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell.outputs
    )


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_starters_fail_and_solutions_pass(path, monkeypatch):
    notebook = light(read(path))  # an exercise needs no trained model
    found = exercises_of(notebook)
    chapter = int(path.name[:2])
    assert [e.number for e in found] == exercises(chapter), (
        "the notebook and rl_lab.exercises name the same ones"
    )
    assert 2 <= len(found) <= 4

    for exercise in reversed(found):
        answer = nbformat.v4.new_code_cell(f"{exercise.solution}\n{exercise.check_line}")
        notebook.cells.insert(exercise.cell + 1, answer)
    monkeypatch.setitem(os.environ, "RL_LAB_EXPLORE", "static")
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    ).execute()

    for shift, exercise in enumerate(found):
        starter, answer = notebook.cells[exercise.cell + shift], notebook.cells[exercise.cell + shift + 1]
        assert "not solved yet" in text_of(starter), f"starter {exercise.number}: {text_of(starter)}"
        assert ": solved, " in text_of(answer), f"solution {exercise.number}: {text_of(answer)}"
