"""Does the second build work, too? Run after a first one: plant stray files, edit a word, build, look, put all back.

A first build on a clean tree proves little. The next one meets what tests leave behind, what an editor and a user put
beside the pages, and a page that changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools import pages  # noqa: E402

WORD = "planted-by-the-second-build"
# Folders that tools, editors and users make.
FOLDERS = """.pytest_cache .ruff_cache .mypy_cache .hypothesis .ipynb_checkpoints .idea .vscode .tox env venv2 models
node_modules/thing notebooks/.ipynb_checkpoints notebooks/mine book/drafts rl_lab/__pycache__ runs/out"""


def plant() -> list[Path]:
    """Write a stray file into each folder and some beside the pages; return them."""
    stray = [ROOT / folder / f"{WORD}.md" for folder in FOLDERS.split()]
    stray += [ROOT / f"{WORD}.md", ROOT / "book" / f"{WORD}.rst", ROOT / "notebooks" / f"{WORD}.ipynb"]
    stray += [path.with_suffix(".md") for path in pages.notebooks()[:1]]  # Jupytext's twin of a notebook
    for path in stray:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# A stray file\n" if path.suffix != ".ipynb" else "not even JSON", "utf-8")
    return stray


def build() -> tuple[str, float]:
    """Build as `make book` does; return what it said and the seconds."""
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "tools/build_book.py"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"The second build failed:\n{done.stdout}{done.stderr}")
    return done.stdout, time.monotonic() - started


def main() -> None:
    """Edit a word of a notebook among stray files, and require a build that executes nothing and shows the word."""
    path = pages.notebooks()[3]
    before, stray = path.read_bytes(), plant()
    try:
        notebook = json.loads(before)
        prose = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"][1]
        prose["source"] = ["".join(prose["source"]) + f"\n\n{WORD}\n"]
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")
        said, seconds = build()
        page = (ROOT / "_build" / "html" / path.relative_to(ROOT)).with_suffix(".html").read_text("utf-8")
        if "Executing" in said:
            sys.exit(f"An edited sentence executed pages:\n{said}")
        if WORD not in page:
            sys.exit(f"{path.name} was edited, and its page does not show it")
        found = [p for p in (ROOT / "_build" / "html").rglob(f"*{WORD}*") if "_sources" not in p.parts]
        if found:
            sys.exit(f"Stray files became pages: {found}")
    finally:
        path.write_bytes(before)
        for file in stray:
            file.unlink()
            with contextlib.suppress(OSError):  # not empty: it was there before
                os.removedirs(file.parent)
    build()
    print(f"An edited sentence among {len(stray)} stray files: built in {seconds:.0f} s, nothing executed.")


if __name__ == "__main__":
    main()
