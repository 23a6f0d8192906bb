"""How can a module hold large regular expressions and still import in a blink?

Compiling is what costs: the extractor's patterns would take most of the time that ``import rl_lab.rewards`` may take.
"""

from __future__ import annotations

import re
from typing import Any


class LazyPattern:
    """A regular expression that is compiled at its first use, and is a plain pattern from then on.

    Examples
    --------
    >>> digits = LazyPattern(r"[0-9]+")
    >>> digits.search("abc 72").group()
    '72'
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._source = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        # Reached once only: afterwards the methods lie in the instance and cost no more than a pattern's own.
        if name.startswith("_"):
            raise AttributeError(name)
        compiled = re.compile(*self._source)
        for method in ("search", "match", "fullmatch", "finditer", "findall", "sub"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)
