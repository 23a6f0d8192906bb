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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools import execute, pages

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
STAMP = ROOT / "_build" / "inputs.sha256"
INPUTS = (
    "notebooks",
    "book",
    "rl_lab",
    "runs",
    "configs",
    "_assets",
    "_ext",
    "tools",
    "_config.yml",
    "_toc.yml",
    "pyproject.toml",
    "requirements.txt",
)

# What Jupyter Book and the kernels say of themselves at every start.
BANNER = ("Running Jupyter-Book", "Source Folder:", "Config Path:", "Output Path:")


def input_hash() -> str:
    """SHA-256 over the names and bytes of everything the site is made of."""
    digest = hashlib.sha256()
    for name in INPUTS:
        path = ROOT / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            # An editor's lock or swap file beside a page is no part of it.
            if file.is_file() and file.name[0] != "." and execute.belongs(str(file.relative_to(ROOT))):
                digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


def expected_pages() -> list[Path]:
    """One HTML file for each entry of _toc.yml, and the index that leads to the first."""
    return [SITE / "index.html", *(SITE / f"{name}.html" for name in pages.names())]


def build() -> None:
    """Run Jupyter Book on a clean tree and fail if a page is missing."""
    # Warnings of an earlier build are not repeated for pages that did not change: start from nothing.
    for old in (SITE, ROOT / "_build" / ".doctrees"):
        shutil.rmtree(old, ignore_errors=True)
    print(f"Writing {len(pages.names())} pages …", flush=True)
    command = [
        sys.executable,
        "-c",  # not the script beside python: its first line holds the place where the environment was made
        "from jupyter_book.cli.main import main; main()",
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
        try:
            said = [line for line in book.stdout if line.strip() and not line.startswith(BANNER)]
        except KeyboardInterrupt:
            book.kill()  # it was interrupted, too, and its traceback says nothing
            raise
    if book.returncode:
        print("".join(said), end="")
        raise SystemExit("The book was not built: the first warning or traceback above says why.")
    missing = [str(page.relative_to(ROOT)) for page in expected_pages() if not page.is_file()]
    if missing:
        raise SystemExit(
            f"Jupyter Book ended well but wrote no {', '.join(missing)}; is jupyter-book below 2?"
        )


def main() -> int:
    """Build if needed, then say where to open the site."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--force", action="store_true", help="build even if no input changed")
    parser.add_argument("--execute", action="store_true", help="execute every page, whatever changed")
    asked = parser.parse_args()
    started, inputs = time.monotonic(), input_hash()
    try:
        built = (SITE / "index.html").is_file() and STAMP.is_file()
        if built and not (asked.force or asked.execute) and STAMP.read_text("utf-8") == inputs:
            print("Nothing changed since the last build.")
        else:
            STAMP.unlink(missing_ok=True)
            execute.execute_stale(force=asked.execute)
            build()
            STAMP.write_text(inputs, "utf-8")
            print(f"Built {len(pages.names())} pages in {time.monotonic() - started:.0f} s.")
    except KeyboardInterrupt:
        print("\nStopped. The pages that were executed are kept: the same command goes on from there.")
        return 130
    except execute.StoppedPage as stopped:
        print(f"\n{stopped}\nThe book was not built. The pages executed so far are kept.")
        return 1
    print(f"Open {(SITE / 'index.html').as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
