"""Resolve pyproject.toml into requirements.txt (``make requirements``): every package pinned, none but PyPI's names."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADER = """\
# Every package of the course, pinned: `pip install -r requirements.txt` reproduces the build on Python 3.11 to 3.13.
# Resolved from pyproject.toml (extra "test", which includes notebooks, book and train) by `make requirements`.
# On Linux, PyPI's torch is the CUDA build of several GB; for the CPU build add
#   --extra-index-url https://download.pytorch.org/whl/cpu
"""


def main() -> None:
    """Run pip-compile and write its pins without indexes, local versions or this package itself."""
    command = [
        sys.executable,
        "-m",
        "piptools",
        "compile",
        "--extra",
        "test",
        "--strip-extras",
        "--no-header",
    ]
    command += ["--no-emit-index-url", "--no-emit-options", "--no-emit-find-links", "--no-emit-trusted-host"]
    command += ["--no-annotate", "--quiet", "--output-file", "-", "pyproject.toml"]
    out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    pins = [
        line
        for line in out.splitlines()
        if re.match(r"^[A-Za-z0-9_.-]+==", line) and not line.startswith("agentic-rl-lab")
    ]
    pins = [re.sub(r"\+\w+", "", pin) for pin in pins]
    (ROOT / "requirements.txt").write_text(HEADER + "\n".join(pins) + "\n", "utf-8")
    print(f"{len(pins)} packages pinned")


if __name__ == "__main__":
    main()
