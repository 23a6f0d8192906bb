"""A dict whose keys can also be read as attributes: what several functions return."""

from __future__ import annotations

import difflib
from typing import Any


class Record(dict):
    """A plain dict, so it prints, compares and goes to JSON as one, with ``record.key`` beside ``record["key"]``.

    Examples
    --------
    >>> vote = Record(value="72", tie=False)
    >>> vote.value, vote["tie"]
    ('72', False)
    >>> vote.vale
    Traceback (most recent call last):
    ...
    AttributeError: no field 'vale'; there are value, tie; did you mean 'value'?
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            # From 3.12 on Python adds a "Did you mean" of its own, from what `obj` has; one is enough.
            raise AttributeError(
                f"no field {name!r}; there are {', '.join(self)}{closest(name, self)}", name=name, obj=None
            ) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


def closest(name: object, choices: Any) -> str:
    """The end of an error message: which of the choices was probably meant; empty if none is near.

    Examples
    --------
    >>> closest("stf", ["sft", "rl"])
    "; did you mean 'sft'?"
    >>> closest("dpo", ["sft", "rl"])
    ''
    """
    near = difflib.get_close_matches(str(name), [str(choice) for choice in choices], n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
