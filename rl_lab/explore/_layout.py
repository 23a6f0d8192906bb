"""Where do the axes of a picture stand? Margins from the texts around the plot, ticks, and how labels are set.

There are no font metrics here, neither in Python nor before a page has been laid out; widths are estimated per
character, a little generously. The twin of the same functions in ``assets/explore.js``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ._numbers import (
    exponent,
    log_ticks,
    multiple,
    nice_step,
    number_text,
    text_width,
    tick_texts,
    ticks,
    times,
)

SIZE = 12.0  # font size of every text in the picture, in pixels
Y_TICKS = 4  # about so many parts of the y axis
NARROW = 480  # below this width the picture has fewer ticks and is less tall


def layout(spec: dict, width: float) -> dict:
    """Work out where the plot's edges lie, from the texts that stand around it."""
    narrow = width < NARROW
    y, x = spec["y"], spec["x"]
    y_ticks, y_texts = axis_ticks(y, Y_TICKS - 1 if narrow else Y_TICKS)
    left = 12 + max(text_width(t, SIZE) for t in y_texts)
    top = 32 if y["label"] else 14
    bottom = top + (spec["tall"] * (0.8 if narrow else 1))
    box = {"narrow": narrow, "left": left, "top": top, "bottom": bottom, "right": width - 14, "width": width}
    box["y_ticks"], box["y_texts"] = y_ticks, y_texts
    place_x(spec, box)
    box["height"] = math.ceil(bottom + box["under"] + (22 if x["label"] else 4))
    return box


def fitted(spec: dict, frame: dict) -> dict:
    """Return the spec with the y axis that suits this frame, if its axis follows the frame."""
    y = spec["y"]
    if not y.get("follow"):
        return spec
    values = list(heights(spec["series"], frame["y"]))
    return {**spec, "y": {**y, "lim": limits(values, spec["series"], y["log"])}}


def heights(series: list[dict], y: list) -> Iterator[float]:
    """Yield every height of a frame; of stacked bars, their tops and feet."""
    piles: dict[int, list[float]] = {}
    for s, values in zip(series, y, strict=True):
        if s["kind"] == "point":
            yield from () if values is None else (values[1],)
            continue
        for i, value in enumerate(values):
            if value is None:
                continue
            if s["kind"] != "stack":
                yield value
                continue
            pile = piles.setdefault(i, [0.0, 0.0])
            pile[0 if value > 0 else 1] += value
    for pile in piles.values():
        yield from pile


def limits(values: Iterable[float], series: list[dict], log: bool) -> list[float]:
    """Return round limits of an axis that holds `values`; 0 and 1 if there are none."""
    values = list(values)
    low, high = (min(values), max(values)) if values else (0.1, 1.0)  # positive: the axis may be a log
    if log:
        return nice_log_limits(low, high)
    if low < 0 and any(s["kind"] == "bar" for s in series):
        low -= 0.1 * (max(high, 0.0) - low)  # room for the values under bars that hang down
    return nice_limits(low, high, any(s["kind"] in ("bar", "stack") for s in series))


def nice_limits(low: float, high: float, from_zero: bool) -> list[float]:
    """Widen limits to round numbers; keep zero in sight for bars, and for lines that come near it.

    Examples
    --------
    >>> nice_limits(0.03, 0.97, False), nice_limits(-0.41, 1.2, True), nice_limits(5.0, 5.0, False)
    ([0.0, 1.0], [-0.5, 1.25], [4.0, 6.0])
    """
    if low > 0 and (from_zero or low < 0.5 * high):
        low = 0.0
    if high < 0 and (from_zero or high > 0.5 * low):
        high = 0.0
    if not high > low:
        low, high = (low - 1.0, high + 1.0) if low else (0.0, 1.0)
    m, e = nice_step(low, high, Y_TICKS)
    half = multiple(1, m, e) / 2  # whole steps would leave much empty paper above a value just past one
    # The tolerance is less than a pixel; it keeps rounding noise from opening another half step.
    return [math.floor(low / half + 1e-4) * half, math.ceil(high / half - 1e-4) * half]


def nice_log_limits(low: float, high: float) -> list[float]:
    """Widen limits to 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> nice_log_limits(3.0, 700.0), nice_log_limits(5.0, 5.0)
    ([2.0, 1000.0], [2.5, 10.0])
    """
    a, b = exponent(low), exponent(high)
    below = max(times(m, a) for m in (1, 2, 5) if times(m, a) <= low * 1.000001)
    above = min(times(m, b) for m in (1, 2, 5, 10) if times(m, b) >= high * 0.999999)
    return [below, above] if above > below else [below / 2, above * 2]


def axis_ticks(axis: dict, count: int) -> tuple[list[float], list[str]]:
    """Return the ticks of one axis and their texts."""
    low, high = axis["lim"]
    if axis["log"]:
        values = log_ticks(low, high, count)
        return values, tick_texts(values, 0, True)
    values, decimals = ticks(low, high, count, axis["whole"])
    return values, tick_texts(values, decimals)


def place_x(spec: dict, box: dict) -> None:
    """Choose the ticks of the x axis and how their labels stand: in a row, wrapped, or tilted."""
    x, room = spec["x"], box["right"] - box["left"]
    if x["kind"] == "category":
        box["slot"] = room / len(x["values"])
        box["wrapped"] = wrap_all(x["values"], box["slot"] - 6, 3)
        if box["wrapped"]:
            box["under"] = 8 + 15 * max(len(lines) for lines in box["wrapped"])
        else:
            shown = [shorten(t, 18) for t in x["values"]]
            box["tilted"] = shown
            box["under"] = 14 + 0.64 * max(text_width(t, SIZE) for t in shown)
            # A tilted label hangs to the left of its bar; the first must not leave the picture.
            over = 0.77 * text_width(shown[0], SIZE) - box["left"] - box["slot"] / 2 + 4
            if over > 0:
                box["left"] += over
                box["slot"] = (box["right"] - box["left"]) / len(x["values"])
        return
    box["under"] = 23
    box["slot"] = x["gap"] * room
    box["x_ticks"], box["x_texts"] = x_ticks(x, box)
    # Half of the last label may hang over the right edge.
    box["right"] -= max(0, text_width(box["x_texts"][-1], SIZE) / 2 - 12) if box["x_texts"] else 0


def x_ticks(x: dict, box: dict) -> tuple[list[float], list[str]]:
    """Return the ticks of a numeric x axis: its own values where they fit, else round numbers.

    On a logarithmic axis every second, third … of its own values will do: 1, 4, 16 for powers of two.
    """
    room = box["right"] - box["left"]
    for stride in (1, 2, 3, 4) if x["log"] else (1,):
        own = x["values"][::stride]
        if len(own) <= 12 and fits(x, own, room):
            return own, [number_text(v) for v in own]
    return axis_ticks(x, max(2, math.floor(room / (70 if box["narrow"] else 84))))


def fits(axis: dict, values: list[float], room: float) -> bool:
    """Tell whether the labels of `values` stand apart on an axis of `room` pixels."""
    places = [position(axis, v, 0.0, room) for v in values]
    half = [text_width(number_text(v), SIZE) / 2 + 5 for v in values]
    return all(places[i] - places[i - 1] >= half[i - 1] + half[i] for i in range(1, len(values)))


def wrap_all(labels: list[str], room: float, most: int) -> list[list[str]] | None:
    """Break every label into at most `most` lines that fit into `room` pixels; None if one cannot."""
    out = []
    for label in labels:
        lines = [""]
        for word in label.split(" "):
            if text_width(word, SIZE) > room:
                return None
            longer = f"{lines[-1]} {word}" if lines[-1] else word
            if text_width(longer, SIZE) <= room:
                lines[-1] = longer
            else:
                lines.append(word)
        if len(lines) > most:
            return None
        out.append(lines)
    return out


def shorten(text: str, most: int) -> str:
    """Cut a long label, with a mark that it was cut."""
    return text if len(text) <= most else text[: most - 1] + "…"


def position(axis: dict, value: float, start: float, end: float) -> float:
    """Map a value of a numeric axis to pixels between `start` and `end`."""
    low, high = axis["lim"]
    if axis["log"]:
        low, high, value = math.log10(low), math.log10(high), math.log10(value)
    share = (value - low) / (high - low)
    # Far outside the picture every place looks alike; this keeps the numbers short.
    return start + min(max(share, -20.0), 20.0) * (end - start)


def x_at(spec: dict, box: dict, value: float) -> float:
    """Return the horizontal place of an x value; of a category, its number counted from 0."""
    if spec["x"]["kind"] == "category":
        return box["left"] + box["slot"] * (value + 0.5)
    return position(spec["x"], value, box["left"], box["right"])


def y_at(spec: dict, box: dict, value: float) -> float:
    """Return the vertical place of a y value."""
    return position(spec["y"], value, box["bottom"], box["top"])
