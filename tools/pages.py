"""Which pages does the book have? What ``_toc.yml`` lists, and nothing else that happens to lie beside it."""

from __future__ import annotations

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = (".ipynb", ".md")


def names(root: Path = ROOT) -> list[str]:
    """Names of the pages in reading order, the home page first, as ``_toc.yml`` has them (without a suffix)."""
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    return [toc["root"], *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"])]


def source(name: str, root: Path = ROOT) -> Path:
    """File that a page is made of; where a notebook and a Markdown file share the name, the notebook.

    Raises
    ------
    FileNotFoundError
        If ``_toc.yml`` lists a page that does not exist.
    """
    for suffix in SUFFIXES:
        if (path := root / f"{name}{suffix}").is_file():
            return path
    raise FileNotFoundError(
        f"_toc.yml lists {name!r}, but there is neither {name}.ipynb nor {name}.md: add the file or drop the line"
    )


def notebooks(root: Path = ROOT) -> list[Path]:
    """The chapters' notebooks in reading order."""
    return [path for name in names(root) if (path := source(name, root)).suffix == ".ipynb"]
