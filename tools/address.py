"""Set or check the course's own address: ``python tools/address.py https://github.com/you/your-fork``.

The address lives in ``pyproject.toml`` ([tool.course] repository). A notebook opened in Colab is a single file, so
its first code cell must carry the address too: this script writes that cell into every notebook, and ``--check``
(part of the tests) says which ones disagree. An empty address removes the install line; the site then shows no button.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = ROOT / "pyproject.toml"
WITHOUT_ADDRESS = """\
try:
    import rl_lab
except ModuleNotFoundError:
    raise ModuleNotFoundError("rl_lab is missing: run `pip install -e .` in the clone") from None"""
WITH_ADDRESS = """\
try:
    import rl_lab
except ModuleNotFoundError:
    %pip install --quiet "agentic-rl-lab @ git+{address}@{branch}"
    import rl_lab"""


def course() -> tuple[str, str]:
    """Address and branch from pyproject.toml."""
    table = tomllib.loads(PYPROJECT.read_text("utf-8"))["tool"]["course"]
    return table["repository"], table.get("branch", "main")


def setup_source(address: str, branch: str) -> str:
    """Source of the first code cell of every notebook."""
    return WITH_ADDRESS.format(address=address, branch=branch) if address else WITHOUT_ADDRESS


def notebooks() -> list[Path]:
    """The course's notebooks in reading order."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def setup_cell(notebook: dict) -> dict:
    """Return the first code cell, or raise if it is not tagged ``setup``."""
    cell = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    if "setup" not in cell["metadata"].get("tags", []):
        raise ValueError('the first code cell must carry the tags "setup" and "remove-cell"')
    return cell


def disagreeing() -> list[str]:
    """Names of the notebooks whose first cell is not the one the address asks for."""
    wanted = setup_source(*course())
    read = {path.name: json.loads(path.read_text("utf-8")) for path in notebooks()}
    return [name for name, notebook in read.items() if "".join(setup_cell(notebook)["source"]) != wanted]


def write(address: str) -> None:
    """Put the address into pyproject.toml and into each notebook's first code cell."""
    if address and not re.fullmatch(r"https://[\w.-]+/[\w./-]+?", address):
        raise SystemExit(f"URL must be the https address of a public git repository, got {address!r}")
    address = address.removesuffix("/").removesuffix(".git")
    text = PYPROJECT.read_text("utf-8")
    PYPROJECT.write_text(re.sub(r'(?m)^repository = ".*"$', f'repository = "{address}"', text), "utf-8")
    for path in notebooks():
        notebook = json.loads(path.read_text("utf-8"))
        setup_cell(notebook)["source"] = setup_source(*course()).splitlines(keepends=True)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"{len(notebooks())} notebooks now install from {address or 'nowhere (no address)'}")


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", nargs="?", default="", help="https address of your fork; empty removes it")
    parser.add_argument("--check", action="store_true", help="only say which notebooks disagree")
    arguments = parser.parse_args()
    if not arguments.check:
        write(arguments.url)
    elif wrong := disagreeing():
        sys.exit(
            f"first cell does not carry the address of pyproject.toml: {', '.join(wrong)}; run tools/address.py"
        )


if __name__ == "__main__":
    main()
