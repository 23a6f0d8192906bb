"""Pages of the site and the figures in them, as Python made them."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from unittest import mock

import nbformat

from tests.notebooks import light
from tools import pages
from tools.pages import source

ROOT = Path(__file__).resolve().parents[2]
PAGES = pages.names()


def code_cells(name: str) -> list[str]:
    """Sources of the code cells of a page, prose pages included; without those that need a model."""
    path = source(name)
    if path.suffix == ".ipynb":
        notebook = light(nbformat.read(path, as_version=4))
    else:
        from myst_nb.core.read import read_myst_markdown_notebook

        text = path.read_text("utf-8")
        if "{code-cell}" not in text:
            return []
        notebook = read_myst_markdown_notebook(text)
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


@functools.cache
def figures(name: str) -> list:
    """Run a page's cells and return each ``explore`` figure with its function, in order."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    from rl_lab.explore import _explore

    made, tabulate = [], _explore.tabulate

    def remember(*args, **kwargs):
        made.append(tabulate(*args, **kwargs))
        return made[-1]

    cells = code_cells(name)
    if not cells:
        return []
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(history_load_length=0)
    shell.history_manager.enabled = False
    here = Path.cwd()
    try:
        os.chdir(source(name).parent)
        with (
            mock.patch.object(_explore, "tabulate", remember),
            mock.patch.dict(os.environ, RL_LAB_EXPLORE="static"),
        ):
            for cell in cells:
                with capture_output():
                    result = shell.run_cell(cell, store_history=False)
                result.raise_error()
    finally:
        os.chdir(here)
        InteractiveShell.clear_instance()
    return made
