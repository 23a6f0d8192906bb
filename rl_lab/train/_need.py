"""Where do the heavy packages come in? Here, when a function needs them, never when a module is imported."""

from __future__ import annotations

import importlib
from types import ModuleType

# Not by the name of a package: PyPI's rl-lab is another project.
INSTALL = (
    'pip install "trl>=1.16,<2" "peft>=0.21,<1" "transformers>=5.24,<6" '
    '"datasets>=5.2" "accelerate>=1.15" gguf pyyaml'
)
_VERSIONS = {
    "torch": "torch",
    "transformers": '"transformers>=5.24,<6"',
    "trl": '"trl>=1.16,<2"',
    "peft": '"peft>=0.21,<1"',
    "datasets": '"datasets>=5.2"',
    "accelerate": '"accelerate>=1.15"',
    "tokenizers": '"transformers>=5.24,<6"',
    "yaml": "pyyaml",
    "gguf": "gguf",
}


def need(name: str) -> ModuleType:
    """Import a package that training needs, or say how to get it.

    Parameters
    ----------
    name : str
        Name of the package as Python imports it.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        If it is not installed; the message holds the command that installs it.

    Examples
    --------
    >>> need("json").__name__
    'json'
    >>> need("no_such_package")
    Traceback (most recent call last):
    ...
    ImportError: this part of rl_lab.train needs no_such_package, which is not installed; \
run: pip install no_such_package
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.split(".")[0]:
            raise  # the package is there, but something it needs is not: its own message is the better one
        package = name.split(".")[0]
        command = f"pip install {_VERSIONS.get(package, package)}"
        also = f" (all of them at once: {INSTALL})" if package in _VERSIONS else ""
        raise ImportError(
            f"this part of rl_lab.train needs {package}, which is not installed; run: {command}{also}"
        ) from None
