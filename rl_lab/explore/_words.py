"""Sentences that errors and fallbacks share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


def listing(values: Iterable[Any], most: int = 8) -> str:
    """Name the values of a short list, or the first of a long one.

    Examples
    --------
    >>> listing(["a", "b"]), listing(range(20), most=3)
    ("'a', 'b'", '0, 1, 2 … (20 in all)')
    """
    values = list(values)
    text = ", ".join(repr(v) for v in values[:most])
    return text if len(values) <= most else f"{text} … ({len(values)} in all)"


def choose(
    named: Iterable[str], known: Iterable[str], where: str, what: str, error: type[Exception] = ValueError
) -> None:
    """Raise if `named` holds a name that is not `known`, with the choices and the closest of them.

    Examples
    --------
    >>> choose(["gama"], ["gamma", "cost"], "start", "a slider")
    Traceback (most recent call last):
    ...
    ValueError: start names 'gama', which is not a slider; did you mean 'gamma'? Choices: 'gamma', 'cost'
    """
    known = list(known)
    for name in named:
        if name in known:
            continue
        close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise error(
            f"{where} names {name!r}, which is not {what}; {hint}"
            + (f"Choices: {listing(known)}" if known else "There is none in this figure")
        )


def at_values(values: dict[str, Any]) -> str:
    """Say for which parameter values something happened: ' at gamma=0.9, cost=0.1'."""
    return " at " + ", ".join(f"{k}={v!r}" for k, v in values.items()) if values else ""
