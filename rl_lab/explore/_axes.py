"""How far do the axes of a figure reach? So far that they hold every combination, and stand still under a slider."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ._layout import heights, limits


class AxisOptions(Protocol):
    """The part of a figure's options that the y axis asks for."""

    y_label: str
    y_range: tuple[float, float] | str | None
    y_log: bool


def x_axis(x: Sequence[Any], label: str, log: bool, kinds: Sequence[str]) -> dict[str, Any]:
    """Describe the horizontal axis: categories, or numbers with their limits."""
    if isinstance(x[0], str):
        if log:
            raise ValueError("x_log needs numbers along x, but x holds categories")
        return {"kind": "category", "values": list(x), "label": label, "log": False}
    if log and min(x) <= 0:
        raise ValueError(f"x_log needs positive numbers along x, got {min(x)!r}")
    if any(b <= a for a, b in itertools.pairwise(x)):
        raise ValueError("x must increase from each place to the next; sort it (and the series with it)")
    whole = all(v == int(v) for v in x)
    low, high, gap = _x_span([math.log10(v) if log else v for v in x], "bar" in kinds or "stack" in kinds)
    lim = [10**low, 10**high] if log else [low, high]
    return {
        "kind": "number",
        "values": list(x),
        "label": label,
        "log": log,
        "whole": whole,
        "lim": lim,
        "gap": gap,
    }


def _x_span(places: Sequence[float], has_bars: bool) -> tuple[float, float, float]:
    """Return the ends of the axis and the share of it that one bar's place takes."""
    if len(places) == 1:
        return places[0] - 0.5, places[0] + 0.5, 1.0
    nearest = min(b - a for a, b in itertools.pairwise(places))
    edge = nearest * 0.6 if has_bars else 0.0
    low, high = places[0] - edge, places[-1] + edge
    return low, high, nearest / (high - low)


def y_axis(
    outputs: Sequence[Mapping[str, Any]], series: Sequence[dict], options: AxisOptions
) -> dict[str, Any]:
    """Describe the vertical axis: limits that hold every value of every combination, or of each frame."""
    axis = {
        "label": options.y_label,
        "log": options.y_log,
        "whole": False,
        "follow": options.y_range == "frame",
    }
    if options.y_range is not None and not axis["follow"]:
        return {**axis, "lim": _given_range(options.y_range, options.y_log)}
    values = [v for o in outputs for v in heights(series, [o[s["key"]] for s in series])]
    if options.y_log and values and min(values) <= 0:
        raise ValueError(
            f"y_log needs positive values, but a series reaches {min(values)!r}; return None there for a gap"
        )
    return {**axis, "lim": limits(values, series, options.y_log)}


def _given_range(given: Any, log: bool) -> list[float]:
    try:
        low, high = (float(v) for v in given)
    except (TypeError, ValueError):
        raise TypeError(f'y_range must be a pair (low, high) of numbers, or "frame", got {given!r}') from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high) or (log and low <= 0):
        raise ValueError(
            f"y_range must have low < high{' and low > 0 with y_log' if log else ''}, got {given!r}"
        )
    return [low, high]


def hold_points(x: dict[str, Any], outputs: Sequence[Mapping[str, Any]], series: Sequence[dict]) -> None:
    """Widen a numeric x axis so that every marked point lies on it."""
    keys = [s["key"] for s in series if s["kind"] == "point"]
    across = [o[k][0] for o in outputs for k in keys if o[k] is not None]
    if not across or x["kind"] == "category":
        return
    if x["log"] and min(across) <= 0:
        raise ValueError(f"x_log needs positive numbers along x, but a point lies at {min(across)!r}")
    before = _span(x)
    x["lim"] = [min(x["lim"][0], *across), max(x["lim"][1], *across)]
    x["gap"] *= before / _span(x)  # a bar's place is a share of the axis


def _span(axis: dict[str, Any]) -> float:
    low, high = axis["lim"]
    return math.log10(high / low) if axis["log"] else high - low
