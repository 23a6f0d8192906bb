"""Call the reader's function at every position of its sliders, check what comes back, and fix the axes.

Live or static, a figure starts here: a function that fails for one setting fails now, with that setting in the
message, and not under the hand of a reader.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ._axes import hold_points, x_axis, y_axis
from ._grid import Control, controls, signature_defaults, with_unit
from ._numbers import number_text
from ._output import KINDS, Output, read_output
from ._words import at_values, choose, listing

MAX_COMBINATIONS = 5_000
TALL = 230  # height of the plot in pixels on a wide page


@dataclass(frozen=True)
class Options:
    """What a figure is told besides its function and parameters; see :func:`rl_lab.explore.explore`."""

    start: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    decimals: Mapping[str, int] = field(default_factory=dict)
    y_range: tuple[float, float] | str | None = None
    x_log: bool = False
    y_log: bool = False
    alt: str = ""


@dataclass(frozen=True)
class Figure:
    """A function with all its outputs, and the spec that says how they are drawn."""

    f: Callable[..., Any]
    controls: list[Control]
    options: Options
    outputs: list[Output]  # one a combination, the last parameter moving fastest
    spec: dict[str, Any]

    @property
    def start(self) -> int:
        """Number of the combination that the figure opens with."""
        place = 0
        for c in self.controls:
            place = place * len(c.values) + c.start
        return place

    def call(self, values: dict[str, Any]) -> Output:
        """Ask the function itself, as a live figure does on every move."""
        output = _call(self.f, values, self.options.kinds)
        _same_shape(self.outputs[0], output, at_values(values))
        return output

    def frame(self, output: Output) -> dict[str, Any]:
        """Turn an output into what is drawn and shown."""
        return {
            "y": [output.series[s["key"]] for s in self.spec["series"]],
            "read": [self._text(r["key"], output.reads[r["key"]]) for r in self.spec["reads"]],
            "table": [[self._text(k, v) for k, v in row.items()] for row in output.table or []],
        }

    def _text(self, key: str, value: float | str | None) -> str:
        if isinstance(value, str):
            return value
        text = number_text(value, self.options.decimals.get(key))
        return text if value is None else with_unit(text, self.options.units.get(key, ""))


def tabulate(f: Callable[..., Any], parameters: Mapping[str, Any], options: Options) -> Figure:
    """Build a figure: every combination called and checked.

    Raises
    ------
    ValueError
        If there are more than 5,000 combinations, if outputs differ in keys or lengths, hold NaN or infinity, or
        if an option names something that is not there.
    TypeError
        If the function does not take a parameter, or returns something that cannot be shown.
    RuntimeError
        If the function raises; the original exception is its cause.
    """
    _check_options(options)
    defaults = signature_defaults(f, list(parameters))
    shown = controls(parameters, defaults, start=options.start, labels=options.labels, units=options.units)
    _limit(shown)
    names = [c.name for c in shown]
    outputs: list[Output] = []
    for combination in itertools.product(*(c.values for c in shown)):
        values = dict(zip(names, combination, strict=True))
        outputs.append(_call(f, values, options.kinds))
        _same_shape(outputs[0], outputs[-1], at_values(values))
    _check_names(options, names, outputs[0])
    figure = Figure(f, shown, options, outputs, {})
    figure.spec.update(_spec(figure))
    return figure


def _call(f: Callable[..., Any], values: dict[str, Any], kinds: Mapping[str, str]) -> Output:
    at = at_values(values)
    try:
        out = f(**values)
    except Exception as error:
        name = getattr(f, "__name__", "the function")
        raise RuntimeError(f"{name} raised {type(error).__name__}: {error}{at}") from error
    return read_output(out, kinds, at)


def _limit(shown: list[Control]) -> None:
    count = math.prod(len(c.values) for c in shown)
    if count > MAX_COMBINATIONS:
        each = " × ".join(f"{c.name}: {len(c.values)}" for c in shown)
        raise ValueError(
            f"{count:,} combinations ({each}) are more than the {MAX_COMBINATIONS:,} a page can carry; "
            "take coarser steps, a shorter range, or fewer sliders"
        )


def _same_shape(first: Output, other: Output, at: str) -> None:
    """Check that two combinations return the same keys, places and lengths."""
    for what, a, b in (("series", first.series, other.series), ("read-outs", first.reads, other.reads)):
        if list(a) != list(b):
            raise ValueError(
                f"the {what} change with the sliders: {listing(a) or 'none'} at first, {listing(b) or 'none'}{at}; "
                "return the same keys, of the same kind and in the same order, every time"
            )
    if len(first.x) != len(other.x):
        raise ValueError(
            f"the length of x changes with the sliders: {len(first.x)} at first, {len(other.x)}{at}; "
            "keep x fixed and fill what is not there with None"
        )
    if first.x != other.x:
        raise ValueError(
            f"x changes with the sliders{at}; keep the same places (or categories) for every combination"
        )
    if (first.table is None) != (other.table is None) or (
        first.table and other.table and list(first.table[0]) != list(other.table[0])
    ):
        raise ValueError(
            f"the table's columns change with the sliders{at}; return the same columns every time"
        )


def _check_options(options: Options) -> None:
    for name in ("title", "x_label", "y_label", "alt"):
        if not isinstance(getattr(options, name), str):
            raise TypeError(
                f"{name} must be a text, got {getattr(options, name)!r}; "
                "a parameter of the function cannot have this name"
            )
    for name in ("start", "labels", "units", "kinds", "decimals"):
        if not isinstance(getattr(options, name), Mapping):
            raise TypeError(f"{name} must be a dict from names to values, got {getattr(options, name)!r}")
    for key, kind in options.kinds.items():
        if kind not in KINDS:
            choose([kind], KINDS, f"kinds[{key!r}]", "a way of drawing")
    for key, count in options.decimals.items():
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= 12:
            raise ValueError(f"decimals[{key!r}] must be a whole number from 0 to 12, got {count!r}")


def _check_names(options: Options, names: list[str], first: Output) -> None:
    """Check that labels, units, kinds and decimals name something in the figure."""
    columns = list(first.table[0]) if first.table else []
    known = [*names, *first.series, *first.reads, *columns]
    choose(options.kinds, first.series, "kinds", "a series that the function returned")
    for name in ("labels", "units", "decimals"):
        choose(getattr(options, name), known, name, "a parameter, series, read-out or column")
    if options.y_log and "stack" in options.kinds.values():
        raise ValueError("y_log cannot be used with stacked bars: heights that add up need a linear axis")


def _spec(figure: Figure) -> dict[str, Any]:
    options, first = figure.options, figure.outputs[0]
    label = options.labels.get
    series = [
        {
            "key": k,
            "label": label(k, k),
            "kind": options.kinds.get(k, "line"),
            "unit": options.units.get(k, ""),
            "decimals": options.decimals.get(k),
        }
        for k in first.series
    ]
    spec = {
        "title": options.title,
        "alt": options.alt or _alt(figure, series),
        "tall": TALL,
        "controls": [
            {"name": c.name, "label": c.label, "kind": c.kind, "texts": list(c.texts), "start": c.start}
            for c in figure.controls
        ],
        "series": series,
        "reads": [{"key": k, "label": label(k, k)} for k in first.reads],
        "columns": _columns(first, label),
        "x": None,
        "y": None,
    }
    if series:
        spec["x"] = x_axis(first.x, options.x_label, options.x_log, [s["kind"] for s in series])
        spec["y"] = y_axis([o.series for o in figure.outputs], series, options)
        hold_points(spec["x"], [o.series for o in figure.outputs], series)
    spec["id"] = "xp-" + hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8]
    return spec


def _alt(figure: Figure, series: list[dict[str, Any]]) -> str:
    """Say the least that helps: what is drawn over what."""
    name = figure.options.title or getattr(figure.f, "__name__", "figure").replace("_", " ")
    drawn = ", ".join(s["label"] for s in series)
    return f"{name}: {drawn} over {figure.options.x_label or 'x'}" if drawn else name


def _columns(first: Output, label: Callable[[str, str], str]) -> list[dict[str, Any]]:
    if not first.table:
        return []
    return [{"label": label(k, k), "number": not isinstance(v, str)} for k, v in first.table[0].items()]
