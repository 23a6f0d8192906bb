"""Checks of single arguments that :mod:`rl_lab.cost` and :mod:`rl_lab.decide` share. Each error names the argument."""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

from rl_lab._record import closest


def number(name: str, value: Any) -> float:
    """Return `value` as a float if it is a finite number.

    >>> number("price", float("nan"))
    Traceback (most recent call last):
    ...
    ValueError: price must be finite, got nan; pass the number you expect
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}; pass an int or a float")
    try:
        found = float(value)
    except OverflowError:
        raise ValueError(
            f"{name} must be a number a float can hold, got one too large; is it a typing error?"
        ) from None
    if not math.isfinite(found):
        raise ValueError(f"{name} must be finite, got {value}; pass the number you expect")
    return found


def amount(name: str, value: Any) -> float:
    """Return a number of at least 0."""
    found = number(name, value)
    if found < 0:
        raise ValueError(f"{name} must be at least 0, got {value}; pass 0 if there is none")
    return found


def above_zero(name: str, value: Any, *, usual: str, most: float = math.inf) -> float:
    """Return a number above 0 and up to `most`, beyond which a unit was mistaken; `usual` says what is usual."""
    found = number(name, value)
    if found <= 0:
        raise ValueError(f"{name} must be above 0, got {value}; {usual}")
    if found > most:
        raise ValueError(f"{name} must be at most {most:g}, got {value}: mind the unit; {usual}")
    return found


def fraction(name: str, value: Any) -> float:
    """Return a number from 0 to 1."""
    found = number(name, value)
    if not 0 <= found <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value}; write 40 % as 0.4")
    return found


def whole(name: str, value: Any, *, least: int) -> int:
    """Return a whole number of at least `least`."""
    try:
        value = operator.index(value) if not isinstance(value, bool) else None
    except TypeError:
        raise TypeError(
            f"{name} must be a whole number (int), got {value!r}; pass a count such as 8"
        ) from None
    if value is None:
        raise TypeError(f"{name} must be a whole number (int), got True or False; pass a count such as 8")
    if value < least:
        raise ValueError(
            f"{name} must be at least {least}, got {value}; pass a count such as {max(8, least)}"
        )
    return value


def flag(name: str, value: Any) -> bool:
    """Return True or False, and nothing that merely looks like it."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}; answer yes or no")
    return value


def choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return one of `choices`; an unknown name lists them and the closest."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {', '.join(choices)}, got {value!r}; pass the name as text")
    if value not in choices:
        near = closest(value, choices)
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}{near}")
    return value
