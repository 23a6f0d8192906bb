"""``explore``: a function of a few parameters becomes a figure with sliders, live in a notebook and in a plain page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ._show import show
from ._spec import Figure, Options, tabulate
from ._static import static_html
from ._widget import live_widget


def explore(
    f: Callable[..., Mapping[str, Any]],
    *,
    start: Mapping[str, Any] | None = None,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    decimals: Mapping[str, int] | None = None,
    y_range: tuple[float, float] | str | None = None,
    x_log: bool = False,
    y_log: bool = False,
    alt: str = "",
    **parameters: Any,
) -> None:
    """Show what `f` returns, with a control for each of its parameters.

    With a kernel the controls are ipywidgets and every move calls `f`. In a built page, where no kernel is, `f` has
    been called for every combination beforehand and a small script shows the one that the reader chose.

    Parameters
    ----------
    f
        A plain function, pure and quick. It returns a dict: ``"x"``, numbers or category names, the same for every
        combination; sequences as long as x, drawn over it (None in a line is a gap); numbers or short texts,
        shown as read-outs; ``"table"``, a list of dicts with the same keys.
    **parameters
        For each parameter of `f` that the reader can change: ``(low, high, step)`` or a list of numbers (slider),
        True or False (checkbox, with that start), a list of strings (choice).
    start
        Start values by name. Without one: the default in `f`'s signature, else the middle of a slider and the
        first of several choices.
    title, x_label, y_label
        Texts on the figure. No parameter of `f` can have the name of one of these arguments.
    labels, units
        Shown names and units, by name of parameter, series, read-out or table column.
    kinds
        ``"line"`` (default), ``"bar"`` (side by side), ``"stack"`` (stacked bars) or ``"point"`` (a pair (x, y),
        marked with its name; x may be a category, None hides it), by name of series.
    decimals
        Digits after the point, by name; without it whole numbers are written in full and others to four digits.
    y_range
        (low, high) of the y axis. Without it the axis holds every combination, and so stands still; ``"frame"`` lets it
        follow what is drawn, for heights that differ by orders of magnitude.
    x_log, y_log
        Logarithmic axes.
    alt
        One or two sentences on what the picture shows, for those who do not see it.

    Raises
    ------
    ValueError
        For more than 5,000 combinations, series that change length, NaN, start values off the grid, unknown names.
    TypeError
        For a parameter that `f` does not take and values that cannot be shown.
    RuntimeError
        If `f` raises; says for which parameter values, and keeps the original exception as its cause.

    Examples
    --------
    >>> def growth(rate=0.5):
    ...     return {"x": [0, 1, 2], "size": [(1 + rate) ** t for t in range(3)], "end": (1 + rate) ** 2}
    >>> explore(growth, rate=(0.0, 1.0, 0.5), title="Growth", labels={"end": "size at the end"})
    Interactive figure: Growth
      rate: slider, 0 to 1 (3 values), here 0.5
      size at the end: 2.25
    """
    options = Options(
        start=start or {},
        title=title,
        x_label=x_label,
        y_label=y_label,
        labels=labels or {},
        units=units or {},
        kinds=kinds or {},
        decimals=decimals or {},
        y_range=y_range,
        x_log=x_log,
        y_log=y_log,
        alt=alt,
    )
    figure = tabulate(f, parameters, options)
    show(summary(figure), lambda site: static_html(figure, site), lambda: live_widget(figure))


def figure_html(f: Callable[..., Mapping[str, Any]], *, site: bool = False, **settings: Any) -> str:
    """Return the static figure of :func:`explore` as HTML, for a page that is not a notebook.

    Parameters
    ----------
    f, **settings
        As for :func:`explore`.
    site
        True if the page brings ``explore.js`` and ``explore.css`` itself; else they are part of the result.
    """
    return static_html(build(f, settings), site)


def build(f: Callable[..., Any], settings: Mapping[str, Any]) -> Figure:
    """Tell the options among `settings` from the parameters of `f`, and tabulate."""
    names = set(Options.__dataclass_fields__)
    options = {k: v for k, v in settings.items() if k in names and v is not None}
    return tabulate(f, {k: v for k, v in settings.items() if k not in names}, Options(**options))


def summary(figure: Figure) -> str:
    """Say in plain text what a figure shows and what can be moved."""
    spec = figure.spec
    alt = figure.options.alt
    lines = [
        "Interactive figure: "
        + (f"{spec['title']}. {alt}" if spec["title"] and alt else spec["title"] or alt)
    ]
    for c in spec["controls"]:
        here, texts = c["texts"][c["start"]], c["texts"]
        if c["kind"] == "range":
            lines.append(
                f"  {c['label']}: slider, {texts[0]} to {texts[-1]} ({len(texts)} values), here {here}"
            )
        else:
            what = "checkbox" if c["kind"] == "check" else "choice of " + ", ".join(texts)
            lines.append(f"  {c['label']}: {what}, here {here}")
    frame = figure.frame(figure.outputs[figure.start])
    lines += [f"  {r['label']}: {text}" for r, text in zip(spec["reads"], frame["read"], strict=True)]
    return "\n".join(lines)
