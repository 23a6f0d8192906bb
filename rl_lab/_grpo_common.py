"""Small helpers that the parts of :mod:`rl_lab.grpo` share: names, counts, numbers and arrays.

>>> one_of("loss_type", "dappo", ("grpo", "bnpo", "dr_grpo", "dapo"))
Traceback (most recent call last):
ValueError: loss_type must be one of 'grpo', 'bnpo', 'dr_grpo', 'dapo', got 'dappo'; did you mean 'dapo'?
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from typing import Any

from rl_lab._record import closest

TRL_VERSION = "1.16"  # the release whose source the formulas and the advice were read from


def one_of(argument: str, value: object, choices: Iterable[str]) -> str:
    """Return `value` if it is among `choices`; else raise, listing the choices and the closest."""
    known = list(choices)
    if isinstance(value, str) and value in known:
        return value
    raise ValueError(
        f"{argument} must be one of {', '.join(map(repr, known))}, got {value!r}{closest(value, known)}"
    )


def count(argument: str, value: Any, least: int | None = 1) -> int:
    """Return `value` as an int if it is a whole number of at least `least`; else raise, naming the argument."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{argument} must be a whole number (int), got {value!r}")
    number = index(value)
    if least is not None and number < least:
        raise ValueError(f"{argument} must be at least {least}, got {number}")
    return number


def real(argument: str, value: Any) -> float:
    """Return `value` as a float if it is a number, also one of numpy or torch; else raise, naming the argument."""
    if isinstance(value, (bool, str, bytes)):
        raise TypeError(f"{argument} must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{argument} must fit a float, got a whole number beyond its range") from None
    except (TypeError, ValueError):
        raise TypeError(f"{argument} must be a number, got {value!r:.60}") from None


def listed(argument: str, values: Any) -> list[Any]:
    """Return `values` as a list of builtin numbers and lists, arrays and tensors unpacked; else raise a TypeError.

    >>> listed("rewards", (1, 0))
    [1, 0]
    """
    values = _unpacked(values)
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"{argument} must be a list, got {type(values).__name__} {values!r:.60}")
    return [_unpacked(value) for value in values]


def _unpacked(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
