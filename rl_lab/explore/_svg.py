"""Draw one frame of a figure as SVG. The twin of ``draw`` in ``assets/explore.js``, character for character.

A *spec* (see :mod:`rl_lab.explore._spec`) says what stays: axes, limits, series. A *frame* says what the sliders
change: one list of numbers a series. ``draw(spec, frame, width)`` is a pure function of the three, so a
picture made at build time, one made by a live kernel and one made in the page are the same picture.
"""

from __future__ import annotations

from html import escape

from ._layout import SIZE, fitted, layout, x_at, y_at
from ._numbers import number_text, px, text_width

DASHES = ("", "7 4", "2 4", "10 3 2 3", "4 2", "1 3")


def draw(spec: dict, frame: dict, width: float) -> tuple[int, str]:
    """Return (height in pixels, SVG markup without the outer element) of one frame at `width` pixels."""
    spec = fitted(spec, frame)
    box = layout(spec, width)
    parts = [*y_axis(spec, box), *x_axis(spec, box)]
    # A nested <svg> clips what leaves the plot and needs no id, unlike a clipPath.
    parts.append(
        f'<svg x="{px(box["left"] - 7)}" y="{px(box["top"] - 7)}" width="{px(box["right"] - box["left"] + 14)}" '
        f'height="{px(box["bottom"] - box["top"] + 14)}" viewBox="{px(box["left"] - 7)} {px(box["top"] - 7)} '
        f'{px(box["right"] - box["left"] + 14)} {px(box["bottom"] - box["top"] + 14)}">'
    )
    parts += bars(spec, frame, box)
    parts += cut_line(spec, frame, box)
    for k, series in enumerate(spec["series"]):
        if series["kind"] == "line":
            parts += line(spec, frame, box, k)
    parts.append("</svg>")
    parts += bar_labels(spec, frame, box)
    for k, series in enumerate(spec["series"]):
        if series["kind"] == "point":
            parts += point(spec, frame, box, k)
    return box["height"], "".join(parts)


def y_axis(spec: dict, box: dict) -> list[str]:
    """Draw the horizontal grid, the tick labels and the label of the y axis (upright, above the axis)."""
    out = []
    for value, text in zip(box["y_ticks"], box["y_texts"], strict=True):
        y = y_at(spec, box, value)
        kind = "xp-zero" if value == 0 else "xp-grid"
        out.append(
            f'<line class="{kind}" x1="{px(box["left"])}" x2="{px(box["right"])}" y1="{px(y)}" y2="{px(y)}"/>'
            f'<text x="{px(box["left"] - 8)}" y="{px(y + 4)}" text-anchor="end">{escape(text)}</text>'
        )
    if spec["y"]["label"]:
        out.append(f'<text class="xp-axis" x="0" y="13">{escape(spec["y"]["label"])}</text>')
    return out


def x_axis(spec: dict, box: dict) -> list[str]:
    """Draw the tick labels and the label of the x axis."""
    x, base, out = spec["x"], box["bottom"], []
    if x["kind"] == "category":
        out += category_labels(spec, box)
    else:
        ends = f'x1="{px(box["left"])}" x2="{px(box["right"])}"'
        out.append(f'<line class="xp-grid" {ends} y1="{px(base)}" y2="{px(base)}"/>')
        for value, text in zip(box["x_ticks"], box["x_texts"], strict=True):
            at = px(x_at(spec, box, value))
            out.append(
                f'<line class="xp-tick" x1="{at}" x2="{at}" y1="{px(base)}" y2="{px(base + 5)}"/>'
                f'<text x="{at}" y="{px(base + 19)}" text-anchor="middle">{escape(text)}</text>'
            )
    if x["label"]:
        middle = px((box["left"] + box["right"]) / 2)
        out.append(
            f'<text class="xp-axis" x="{middle}" y="{px(box["height"] - 5)}" text-anchor="middle">'
            f"{escape(x['label'])}</text>"
        )
    return out


def category_labels(spec: dict, box: dict) -> list[str]:
    """Draw the names under the bars."""
    out = []
    for i in range(len(spec["x"]["values"])):
        at, base = x_at(spec, box, i), box["bottom"]
        if box["wrapped"]:
            out += [
                f'<text x="{px(at)}" y="{px(base + 19 + 15 * j)}" text-anchor="middle">{escape(text)}</text>'
                for j, text in enumerate(box["wrapped"][i])
            ]
        else:
            spot = f"{px(at + 4)} {px(base + 14)}"
            out.append(
                f'<text transform="translate({spot}) rotate(-40)" text-anchor="end">'
                f"{escape(box['tilted'][i])}</text>"
            )
    return out


def columns(spec: dict) -> tuple[list[int], list[int]]:
    """Return the numbers of the series drawn as bars side by side, and of those drawn as one stack."""
    kinds = [s["kind"] for s in spec["series"]]
    return [k for k, v in enumerate(kinds) if v == "bar"], [k for k, v in enumerate(kinds) if v == "stack"]


def bar_places(spec: dict, box: dict, i: int) -> tuple[float, float]:
    """Return the left edge of the first bar at place `i` and the width of one bar."""
    side, stack = columns(spec)
    count = len(side) + (1 if stack else 0)
    wide = min(64.0, box["slot"] * 0.78 / count)
    value = i if spec["x"]["kind"] == "category" else spec["x"]["values"][i]
    return x_at(spec, box, value) - wide * count / 2, wide


def baseline(spec: dict) -> float:
    """Return the value that bars grow from: 0, or the foot of a logarithmic or cut axis."""
    low, high = spec["y"]["lim"]
    return low if spec["y"]["log"] else min(max(0.0, low), high)


def bars(spec: dict, frame: dict, box: dict) -> list[str]:
    """Draw the bars and stacked bars of a frame."""
    side, stack = columns(spec)
    if not side and not stack:
        return []
    out, foot = [], baseline(spec)
    for i in range(len(spec["x"]["values"])):
        left, wide = bar_places(spec, box, i)
        for j, k in enumerate(side):
            out += bar(spec, box, k, left + j * wide, wide, foot, frame["y"][k][i])
        up, down = 0.0, 0.0  # positive parts pile up from zero, negative parts hang below it
        for k in stack:
            value = frame["y"][k][i]
            if value is not None and value > 0:
                out += bar(spec, box, k, left + len(side) * wide, wide, up, up + value)
                up += value
            elif value is not None and value < 0:
                out += bar(spec, box, k, left + len(side) * wide, wide, down, down + value)
                down += value
    return out


def bar(
    spec: dict, box: dict, k: int, left: float, wide: float, foot: float, value: float | None
) -> list[str]:
    """Draw one bar of series `k` from `foot` to `value`; none where there is no value."""
    if value is None:
        return []
    a, b = y_at(spec, box, foot), y_at(spec, box, value)
    gap = 1 if wide > 5 else 0
    place = f'x="{px(left + gap)}" y="{px(min(a, b))}" width="{px(wide - 2 * gap)}" height="{px(abs(a - b))}"'
    return [f'<rect class="xp-bar xp-s{k % 6}" {place}/>']


def bar_labels(spec: dict, frame: dict, box: dict) -> list[str]:
    """Write each bar's value at its end, if there are few bars and every text fits."""
    side, stack = columns(spec)
    count = len(spec["x"]["values"])
    if not side or stack or count * len(side) > 16:
        return []
    out, foot = [], baseline(spec)
    for i in range(count):
        left, wide = bar_places(spec, box, i)
        room = box["slot"] - 4 if len(side) == 1 else wide + 2
        for j, k in enumerate(side):
            value = frame["y"][k][i]
            if value is None:
                continue
            text = number_text(value, spec["series"][k]["decimals"])
            if text_width(text, SIZE) > room:
                return []
            y = y_at(spec, box, value) + (-5 if value >= foot else 14)
            y = min(max(y, box["top"] - 5), box["bottom"] - 4)
            out.append(
                f'<text class="xp-worth" x="{px(left + (j + 0.5) * wide)}" y="{px(y)}" text-anchor="middle">'
                f"{escape(text)}</text>"
            )
    return out


def line(spec: dict, frame: dict, box: dict, k: int) -> list[str]:
    """Draw one line; a missing value leaves a gap. With a cut, what lies after it is faint."""
    runs = spots(spec, frame, box, k)
    dash = f' stroke-dasharray="{DASHES[k % 6]}"' if DASHES[k % 6] else ""
    tone = f'class="xp-line xp-s{k % 6}"{dash}'
    if frame.get("cut") is not None:
        end = x_at(spec, box, frame["cut"])
        out = paths(runs, f'class="xp-line xp-later xp-s{k % 6}"{dash}')
        past = [[p for p in run if p[0] <= end + 1e-6] for run in runs]
        past = [run for run in past if run]
        return out + paths(past, tone) + (marker(k, past[-1][-1], 4.0) if past else [])
    out = paths(runs, tone)
    count = sum(len(run) for run in runs)
    if count <= 24 or any(len(run) == 1 for run in runs):
        for run in runs:
            for spot in run:
                if count <= 24 or len(run) == 1:
                    out += marker(k, spot, 3.5)
    return out


def spots(spec: dict, frame: dict, box: dict, k: int) -> list[list[tuple[float, float]]]:
    """Return the pixel places of series `k`, split into runs at the gaps."""
    values, runs = frame["y"][k], [[]]
    xs = spec["series"][k].get("x") or spec["x"]["values"]
    for i, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            x = x_at(spec, box, i if spec["x"]["kind"] == "category" else xs[i])
            runs[-1].append((x, y_at(spec, box, value)))
    return [run for run in runs if run]


def paths(runs: list[list[tuple[float, float]]], attributes: str) -> list[str]:
    """Draw runs of two or more places as one path."""
    steps = ["M" + "L".join(f"{px(x)} {px(y)}" for x, y in run) for run in runs if len(run) > 1]
    return [f'<path {attributes} d="{"".join(steps)}"/>'] if steps else []


def marker(k: int, spot: tuple[float, float], r: float) -> list[str]:
    """Draw the marker of series `k`: the shape tells series apart where the colour does not."""
    x, y = spot
    tone = f'class="xp-mark xp-s{k % 6}"'
    if k % 6 == 0:
        return [f'<circle {tone} cx="{px(x)}" cy="{px(y)}" r="{px(r)}"/>']
    s = r * 0.9
    shapes = (
        ((-s, -s), (s, -s), (s, s), (-s, s)),
        ((0, -r * 1.2), (r * 1.15, r * 0.85), (-r * 1.15, r * 0.85)),
        ((0, -r * 1.3), (r * 1.3, 0), (0, r * 1.3), (-r * 1.3, 0)),
        ((0, r * 1.2), (r * 1.15, -r * 0.85), (-r * 1.15, -r * 0.85)),
        ((-r * 1.3, -r * 0.5), (r * 1.3, -r * 0.5), (r * 1.3, r * 0.5), (-r * 1.3, r * 0.5)),
    )
    corners = "L".join(f"{px(x + dx)} {px(y + dy)}" for dx, dy in shapes[k % 6 - 1])
    return [f'<path {tone} d="M{corners}Z"/>']


def point(spec: dict, frame: dict, box: dict, k: int) -> list[str]:
    """Draw a marked point with its name beside it, on the side that has more room."""
    spot = frame["y"][k]
    if spot is None:
        return []
    x, y = x_at(spec, box, spot[0]), y_at(spec, box, spot[1])
    if not box["left"] - 1 <= x <= box["right"] + 1 or not box["top"] - 1 <= y <= box["bottom"] + 1:
        return []
    name = spec["series"][k]["label"]
    right = x + 12 + text_width(name, SIZE) <= box["right"]
    place = (
        f'x="{px(x + (12 if right else -12))}" y="{px(y - 8)}" text-anchor="{"start" if right else "end"}"'
    )
    return [*marker(k, (x, y), 6.0), f'<text class="xp-name" {place}>{escape(name)}</text>']


def cut_line(spec: dict, frame: dict, box: dict) -> list[str]:
    """Draw the upright line that marks the present step of a replay."""
    if frame.get("cut") is None:
        return []
    x = px(x_at(spec, box, frame["cut"]))
    return [f'<line class="xp-now" x1="{x}" x2="{x}" y1="{px(box["top"])}" y2="{px(box["bottom"])}"/>']
