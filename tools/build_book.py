"""Build the whole site into _build/html: every notebook executed, a warning is an error, the artefact is checked.

``make book`` runs this file. A tree whose inputs did not change is left as it is (``--force`` builds all the same).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
STAMP = ROOT / "_build" / "inputs.sha256"
INPUTS = (
    "notebooks",
    "book",
    "rl_lab",
    "runs",
    "_assets",
    "_ext",
    "tools",
    "_config.yml",
    "_toc.yml",
    "pyproject.toml",
    "course.toml",
    "requirements.txt",
)

# Folders that running makes: what a notebook writes into runs/out must not count as a change of the course.
MADE = {"__pycache__", ".ipynb_checkpoints", "out", "scratch"}


def input_hash() -> str:
    """SHA-256 over the names and bytes of everything the site is made of."""
    digest = hashlib.sha256()
    for name in INPUTS:
        path = ROOT / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and not MADE & set(file.relative_to(ROOT).parts):
                digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


def expected_pages() -> list[Path]:
    """One HTML file for each entry of _toc.yml, and the index that leads to the first."""
    import yaml

    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    names = [toc["root"], *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"])]
    return [SITE / "index.html", *(SITE / f"{name}.html" for name in names)]


def build() -> None:
    """Run Jupyter Book on a clean tree and fail if a page is missing."""
    # Warnings of an earlier build are not repeated for pages that did not change: start from nothing.
    # The execution cache stays; its folder is named by a hash of the package (see _ext/course_site.py).
    for stale in (SITE, ROOT / "_build" / ".doctrees"):
        shutil.rmtree(stale, ignore_errors=True)
    STAMP.unlink(missing_ok=True)
    command = [
        str(Path(sys.executable).with_name("jupyter-book")),
        "build",
        str(ROOT),
        "-W",
        "-n",
        "--keep-going",
        "--quiet",
    ]
    # Without a user's own configuration and without colour codes the output is the same everywhere.
    environment = {**os.environ, "PYTHONWARNINGS": "ignore::DeprecationWarning", "NO_COLOR": "1"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as book:
        for line in book.stdout:
            if line.strip() and "transport encryption" not in line:  # each kernel says so, and all are local
                print(line, end="", flush=True)
    if book.returncode:
        raise SystemExit("The book was not built: the first warning or traceback above says why.")
    missing = [str(page.relative_to(ROOT)) for page in expected_pages() if not page.is_file()]
    if missing:
        raise SystemExit(
            f"Jupyter Book ended well but wrote no {', '.join(missing)}; is jupyter-book below 2?"
        )


def main() -> None:
    """Build if needed, then say where to open the site."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--force", action="store_true", help="build even if no input changed")
    force = parser.parse_args().force
    started, inputs = time.monotonic(), input_hash()
    if force or not SITE.is_dir() or not STAMP.is_file() or STAMP.read_text() != inputs:
        build()
        STAMP.write_text(inputs)
        print(f"Built {len(expected_pages()) - 1} pages in {time.monotonic() - started:.0f} s.")
    else:
        print("Nothing changed since the last build.")
    print(f"Open {(SITE / 'index.html').as_uri()}")


if __name__ == "__main__":
    main()
