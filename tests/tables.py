"""Reading settings out of the course's Markdown: tables of a library's configuration, and names in backticks.

A table whose header has a cell such as ``` `GRPOConfig` field ``` and a cell ``default`` promises that each field in
that column exists with that default. Any notebook that writes such a table is checked without further ado.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

import nbformat

CONFIG = re.compile(r"`(\w+Config)`")
NAME = re.compile(r"`([A-Za-z_][\w/]*)`")


@dataclass(frozen=True)
class Setting:
    """One row of such a table."""

    config: str  # name of the class
    field: str
    default: Any


def markdown_of(notebook: nbformat.NotebookNode) -> str:
    """All Markdown of a notebook."""
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def tables(markdown: str) -> list[list[list[str]]]:
    """Tables as rows of stripped cells, the header first and without the rule below it."""
    found: list[list[list[str]]] = []
    rows: list[list[str]] = []
    for line in [*markdown.splitlines(), ""]:
        if line.lstrip().startswith("|"):
            rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif rows:
            found.append([row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)])
            rows = []
    return found


def settings_of(markdown: str) -> list[Setting]:
    """Every setting that a table states with its default, in order."""
    out = []
    for header, *rows in tables(markdown):
        configs = [CONFIG.search(cell) for cell in header]
        if not any(configs) or "default" not in header:
            continue
        column = next(i for i, match in enumerate(configs) if match)
        for row in rows:
            field, default = row[column].strip("`"), row[header.index("default")].strip("`")
            out.append(Setting(configs[column][1], field, ast.literal_eval(default)))
    return out


def names_in_backticks(markdown: str) -> set[str]:
    """Single names in backticks, those in code blocks left out: `` `beta` `` but not `` `beta=0.1` ``."""
    return set(NAME.findall(re.sub(r"```.*?```", "", markdown, flags=re.S)))
