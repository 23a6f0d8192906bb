"""Small helpers that the parts of :mod:`rl_lab.grpo` share: names and counts.

>>> one_of("loss_type", "dappo", ("grpo", "bnpo", "dr_grpo", "dapo"))
Traceback (most recent call last):
ValueError: loss_type must be one of 'grpo', 'bnpo', 'dr_grpo', 'dapo', got 'dappo'; did you mean 'dapo'?
"""

from __future__ import annotations

from collections.abc import Iterable

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


def count(argument: str, value: object, least: int | None = 1) -> int:
    """Return `value` if it is a whole number, and at least `least`; else raise, naming the argument."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{argument} must be a whole number (int), got {value!r}")
    if least is not None and value < least:
        raise ValueError(f"{argument} must be at least {least}, got {value}")
    return value
