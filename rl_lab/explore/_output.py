"""Read what a figure's function returned: what is drawn, what is read out, what goes into the table.

A function returns a dict. ``"x"`` and every other sequence as long as x are drawn; a scalar is a read-out; ``"table"``
is a list of dicts. Whatever else it holds is an error that names the key, the parameter values and the remedy.

>>> read_output({"x": [0, 1], "share": [0.5, 1.0], "total": 1.5}, {}, "").reads
{'total': 1.5}
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from ._words import choose, listing

KINDS = ("line", "bar", "stack", "point")
LONGEST_TEXT = 200  # a read-out is a number or a short text; more belongs into a cell of its own


@dataclass(frozen=True)
class Output:
    """One return value of the function, checked and in built-in types."""

    x: list[float] | list[str]
    series: dict[str, Any]  # list of numbers (None is a gap); for a point (x, y) or None
    reads: dict[str, float | str | None]
    table: list[dict[str, Any]] | None


def read_output(out: Any, kinds: Mapping[str, str], at: str) -> Output:
    """Check one return value.

    Parameters
    ----------
    out
        What the function returned.
    kinds
        Series → "line", "bar", "stack" or "point".
    at
        The parameter values, for messages (``" at gamma=0.9"``).

    Raises
    ------
    TypeError
        If `out` is no dict, or a value is neither a number nor a text.
    ValueError
        If a length differs from x, x is empty, or a number is NaN or infinite.
    """
    if not isinstance(out, Mapping):
        raise TypeError(
            f'the function must return a dict such as {{"x": [...], "y": [...]}}, got {out!r}{at}'
        )
    x, series, reads, table = [], {}, {}, None
    for key, value in out.items():
        if not isinstance(key, str):
            raise TypeError(f"keys of the returned dict must be strings, got {key!r}{at}")
        value = _plain(value)
        if key == "x":
            x = _read_x(value, at)
        elif key == "table":
            table = _read_table(value, at)
        elif kinds.get(key) == "point":
            series[key] = value
        elif _is_sequence(value):
            series[key] = _read_numbers(key, value, at, gaps=True)
        else:
            reads[key] = _read_scalar(key, value, at)
    return Output(x, _check_series(x, series, kinds, at, "x" in out), reads, table)


def _check_series(x, series, kinds, at, has_x) -> dict[str, Any]:
    if series and not has_x:
        raise ValueError(
            f'the returned dict has {listing(series)} to draw but no "x"{at}; add "x": the places along the axis'
        )
    if has_x and not series:
        raise ValueError(
            f'the returned dict has "x" but nothing to draw over it{at}; add a list as long as x'
        )
    out = {}
    for key, values in series.items():
        if kinds.get(key) == "point":
            out[key] = _read_point(key, values, x, at)
        elif len(values) != len(x):
            raise ValueError(
                f"{key!r} has {len(values)} values but x has {len(x)}{at}; every series must be as long as x "
                f'(a marked point is a pair with kinds={{{key!r}: "point"}})'
            )
        else:
            out[key] = values
    return out


def _read_x(value: Any, at: str) -> list[float] | list[str]:
    if not _is_sequence(value):
        raise TypeError(f"x must be a list of numbers or of strings, got {value!r}{at}")
    if len(value) == 0:
        raise ValueError(f"x is empty{at}; a picture needs at least one place along its axis")
    if all(isinstance(v, str) for v in value):
        if len(set(value)) < len(value):
            raise ValueError(f"x names a category twice: {listing(value)}{at}; make the names differ")
        return list(value)
    return _read_numbers("x", value, at, gaps=False)


def _read_numbers(key: str, values: Any, at: str, gaps: bool) -> list[float | None]:
    return [_read_number(f"{key!r}", _plain(v), f" at position {i}{at}", gaps) for i, v in enumerate(values)]


def _read_number(what: str, value: Any, at: str, gap: bool) -> float | None:
    if value is None and gap:
        return None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{what} must hold numbers{' (or None for a gap)' if gap else ''}, got {value!r}{at}")
    number = int(value) if isinstance(value, int) else float(value)
    if not math.isfinite(number):
        remedy = "return None there to leave a gap" if gap else "return a finite number"
        raise ValueError(f"{what} is {number}{at}; {remedy}, or keep that setting off the sliders")
    return number


def _read_point(key: str, value: Any, x: list[Any], at: str) -> tuple[float, float] | None:
    if value is None:
        return None
    if not _is_sequence(value) or len(value) != 2:
        raise TypeError(f"{key!r} is a point, so it must be a pair (x, y) or None, got {value!r}{at}")
    across, up = (_plain(v) for v in value)
    if isinstance(across, str):
        choose([across], [c for c in x if isinstance(c, str)], f"{key!r}{at}", "a category of x")
        across = x.index(across)
    return (_read_number(f"{key!r}", across, at, False), _read_number(f"{key!r}", up, at, False))


def _read_scalar(key: str, value: Any, at: str) -> float | str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return None
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise ValueError(
                f"{key!r} is a text of {len(value)} characters{at}; a read-out takes {LONGEST_TEXT}"
            )
        return value
    if not isinstance(value, Real):
        raise TypeError(f"{key!r} must be a number, a short text or a list of numbers, got {value!r}{at}")
    return _read_number(f"{key!r}", value, at, False)


def _read_table(value: Any, at: str) -> list[dict[str, Any]]:
    if not _is_sequence(value) or not all(isinstance(row, Mapping) for row in value):
        raise TypeError(f'"table" must be a list of dicts, one a row, got {value!r}{at}')
    rows = [
        {str(k): _read_scalar(f"table[{i}][{k!r}]", _plain(v), at) for k, v in r.items()}
        for i, r in enumerate(value)
    ]
    if not rows:
        raise ValueError(f'"table" has no rows{at}; leave the key out, or return at least one row')
    for i, row in enumerate(rows):
        if list(row) != list(rows[0]):
            raise ValueError(
                f"row {i} of the table has the columns {listing(row)}, row 0 has {listing(rows[0])}{at}; "
                "give every row the same keys in the same order"
            )
    return rows


def _is_sequence(value: Any) -> bool:
    if isinstance(value, (str, bytes, Mapping)):
        return False
    return isinstance(value, (Sequence, range)) or (
        hasattr(value, "__len__") and hasattr(value, "__getitem__")
    )


def _plain(value: Any) -> Any:
    """Turn a NumPy scalar or a Decimal into a built-in number; leave everything else as it is."""
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return value.item()
    if type(value).__name__ == "Decimal":
        return float(value)
    return value
