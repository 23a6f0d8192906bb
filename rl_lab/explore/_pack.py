"""Pack thousands of frames into a few kilobytes of text that a page can carry.

Three observations make a figure small: most series depend on some of the sliders only, so equal rows are stored
once; many hold few different numbers, so those are stored once, exactly; and the rest is drawn on a few hundred
pixels, so 16 bits a number draw the same picture (and show four digits when the reader asks for numbers).

>>> unpack_rows(pack_rows([(1, 2.5), (1, None), (1, 2.5)]))
[[1, 2.5], [1, None], [1, 2.5]]
"""

from __future__ import annotations

import base64
import sys
from array import array
from collections.abc import Hashable, Sequence
from typing import Any

EXACT = 2048  # up to this many different numbers are kept as they are
GAP = 65535  # marks a missing value among 16-bit numbers
LEVELS = 65534


def to_text(numbers: Sequence[int], code: str = "H") -> str:
    """Write unsigned integers (16 bit, or 8 with code "B") as base64, little-endian."""
    packed = array(code, numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return base64.b64encode(packed.tobytes()).decode("ascii")


def from_text(text: str, code: str = "H") -> list[int]:
    """Undo :func:`to_text`."""
    packed = array(code, base64.b64decode(text))
    if sys.byteorder == "big":
        packed.byteswap()
    return list(packed)


def distinct(items: Sequence[Hashable]) -> tuple[list[Any], list[int]]:
    """Return the different items in order of appearance, and for each item its place among them."""
    seen: dict[Any, int] = {}
    places = [seen.setdefault(item, len(seen)) for item in items]
    return list(seen), places


def pack_items(items: Sequence[Hashable]) -> dict[str, Any]:
    """Pack one JSON value a combination, each different one once."""
    unique, places = distinct(items)
    return {"items": unique, **({"at": to_text(places)} if len(unique) > 1 else {})}


def pack_rows(rows: Sequence[tuple[float | None, ...]]) -> dict[str, Any]:
    """Pack one row of numbers a combination; all rows are of one length, None is a gap."""
    unique, places = distinct(rows)
    flat = [v for row in unique for v in row]
    out: dict[str, Any] = {"n": len(rows[0])}
    if len(unique) > 1:
        out["at"] = to_text(places)
    values, spots = distinct([v if v is None or isinstance(v, int) else _short(v) for v in flat])
    if len(values) <= 256:
        return {**out, "values": values, "u8": to_text(spots, "B")}
    if len(values) <= EXACT:
        return {**out, "values": values, "u16": to_text(spots)}
    low, high = min(v for v in flat if v is not None), max(v for v in flat if v is not None)
    scale = [GAP if v is None else round((v - low) / (high - low) * LEVELS) for v in flat]
    return {**out, "low": float(low), "high": float(high), "u16": to_text(scale)}


def _short(value: float) -> float:
    """Keep ten significant digits: far more than is ever shown, and without noise such as 0.30000000000000004."""
    return float(f"{value:.10g}") + 0.0


def unpack_rows(packed: dict[str, Any]) -> list[list[float | None]]:
    """Undo :func:`pack_rows`, as the page does (and as the tests check)."""
    codes = from_text(packed["u8"], "B") if "u8" in packed else from_text(packed["u16"])
    if "values" in packed:
        flat = [packed["values"][c] for c in codes]
    else:
        low, high = packed["low"], packed["high"]
        flat = [None if c == GAP else low + c / LEVELS * (high - low) for c in codes]
    n = packed["n"]
    unique = [flat[i : i + n] for i in range(0, len(flat), n)]
    return [unique[i] for i in from_text(packed["at"])] if "at" in packed else unique
