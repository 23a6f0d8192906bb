"""``replay``: move through the steps of recorded runs; every curve in a small panel, the same step in all of them."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ._grid import value_text, with_unit
from ._html import asset, fresh_id, legend, shell, with_assets
from ._layout import nice_limits
from ._numbers import number_text
from ._run import Run, read_runs
from ._show import show
from ._svg import draw, marker
from ._words import choose

PANEL_WIDTH = 320
MOST_RUNS = 6
MOST_SAMPLES = 4  # of one step and one run; how many more there are is said


def replay(
    run: Any,
    curves: Sequence[str] | None = None,
    *,
    title: str = "",
    alt: str = "",
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    decimals: Mapping[str, int] | None = None,
    x_label: str = "step",
) -> None:
    """Show recorded runs with a slider over their steps.

    Parameters
    ----------
    run
        A run as described in :mod:`rl_lab.explore._run`, a path to its JSON, a list of these, or a dict from names to
        these. Several runs are laid over each other (up to six).
    curves
        Which curves to show, one panel each; all of the first run by default.
    title, alt
        As in :func:`rl_lab.explore.explore`.
    labels, units, decimals
        By name of curve.
    x_label
        What is counted along the axis.

    Raises
    ------
    ValueError, TypeError, FileNotFoundError
        If a run breaks the schema, or a curve is not in it.

    Examples
    --------
    >>> replay({"name": "seed 1", "steps": [0, 10], "curves": {"reward": [0.25, 0.75]}}, title="A short run")
    Replay of a recorded run: A short run
      seed 1: 2 steps, 0 to 10; reward 0.25 → 0.75
    """
    film = _film(run, curves, title, alt, labels, units, decimals, x_label)
    show(_summary(film), lambda site: _static(film, site), lambda: _live(film))


def replay_html(run: Any, curves: Sequence[str] | None = None, *, site: bool = False, **settings: Any) -> str:
    """Return the static figure of :func:`replay` as HTML; see :func:`rl_lab.explore.figure_html`."""
    allowed = ("title", "alt", "labels", "units", "decimals", "x_label")
    choose(settings, allowed, "replay_html", "one of its settings", TypeError)
    return _static(_film(run, curves, *_defaults(settings)), site)


def _defaults(settings: Mapping[str, Any]) -> list[Any]:
    get = settings.get
    return [
        get("title", ""),
        get("alt", ""),
        get("labels"),
        get("units"),
        get("decimals"),
        get("x_label", "step"),
    ]


def _film(run, curves, title, alt, labels, units, decimals, x_label) -> dict[str, Any]:
    """Lay runs over each other: one panel a curve, one series a run, one slider position a step."""
    runs = read_runs(run)
    if len(runs) > MOST_RUNS:
        raise ValueError(f"replay shows up to {MOST_RUNS} runs at once, got {len(runs)}; leave some out")
    names = list(curves) if curves is not None else list(runs[0].curves)
    for one in runs:
        choose(names, one.curves, "curves", f"in {one.name!r}")
    labels, units, decimals = labels or {}, units or {}, decimals or {}
    for what, given in (("labels", labels), ("units", units), ("decimals", decimals)):
        choose(given, names, what, "a curve that is shown")
    steps = sorted({s for one in runs for s in one.steps})
    panels = [_panel(n, runs, steps, labels.get(n, n), units.get(n, ""), decimals.get(n)) for n in names]
    film = {
        "title": title,
        "alt": alt,
        "x_label": x_label,
        "steps": steps,
        "start": len(steps) - 1,
        "panels": panels,
    }
    film["runs"] = [{"name": r.name, "origin": r.origin, "samples": r.samples} for r in runs]
    film["texts"] = [value_text(s) for s in steps]
    return film


def _panel(
    name: str, runs: list[Run], steps: list[float], label: str, unit: str, decimals: int | None
) -> dict[str, Any]:
    values = [[v for v in r.curves[name] if v is not None] for r in runs]
    flat = [v for one in values for v in one] or [0.0, 1.0]
    x = {"kind": "number", "values": steps, "label": "", "log": False, "lim": [steps[0], steps[-1]], "gap": 0}
    x["whole"] = all(s == int(s) for s in steps)
    series = [{"label": r.name, "kind": "line", "x": r.steps, "decimals": decimals} for r in runs]
    y = {"label": "", "log": False, "whole": False, "lim": nice_limits(min(flat), max(flat), False)}
    spec = {"key": name, "label": label, "unit": unit, "tall": 130, "x": x, "y": y, "series": series}
    return {"spec": spec, "y": [r.curves[name] for r in runs]}


def _frame(film: dict[str, Any], panel: dict[str, Any], at: int) -> dict[str, Any]:
    return {"y": panel["y"], "cut": film["steps"][at]}


def _value(panel: dict[str, Any], k: int, step: float) -> str:
    """Return what run `k` last measured up to `step`, with its unit."""
    series = panel["spec"]["series"][k]
    i = bisect_right(series["x"], step) - 1
    value = panel["y"][k][i] if i >= 0 else None
    text = number_text(value, series["decimals"])
    return text if value is None else with_unit(text, panel["spec"]["unit"])


def _panels(film: dict[str, Any], at: int) -> str:
    return '<div class="xp-panels">' + "".join(_panel_html(film, p, at) for p in film["panels"]) + "</div>"


def _panel_html(film: dict[str, Any], panel: dict[str, Any], at: int) -> str:
    height, body = draw(panel["spec"], _frame(film, panel, at), PANEL_WIDTH)
    label = escape(panel["spec"]["label"])
    about = f"{label} over {escape(film['x_label'])}s" + (f". {escape(film['alt'])}" if film["alt"] else "")
    values = "".join(
        f"<b>{_swatch(film, k)}{escape(_value(panel, k, film['steps'][at]))}</b>"
        for k in range(len(film["runs"]))
    )
    box = f"0 0 {PANEL_WIDTH} {height}"
    return (
        f'<div class="xp-panel"><p class="xp-head"><span>{label}</span><span class="xp-at">{values}</span></p>'
        f'<div class="xp-picture"><svg role="img" aria-label="{about}" viewBox="{box}">{body}</svg></div></div>'
    )


def _swatch(film: dict[str, Any], k: int) -> str:
    """Mark a value with its run's marker, where there are several runs."""
    if len(film["runs"]) < 2:
        return ""
    return f'<svg aria-hidden="true" width="12" height="12" viewBox="0 0 12 12">{marker(k, (6, 6), 4.0)[0]}</svg>'


def _legend(film: dict[str, Any]) -> str:
    series = [{"kind": "line", "label": r["name"]} for r in film["runs"]]
    return legend({"series": series, "x": None, "y": {"label": "y"}})


def _samples(film: dict[str, Any], step: float) -> str:
    """Write the samples recorded nearest to `step`; twin of ``sampleCards`` in the script."""
    cards = []
    for run in film["runs"]:
        near = _nearest(run["samples"], step)
        name = run["name"] if len(film["runs"]) > 1 else ""
        cards += [_card(sample, name, film["x_label"]) for sample in near[:MOST_SAMPLES]]
        if len(near) > MOST_SAMPLES:
            cards.append(f'<p class="xp-more">and {len(near) - MOST_SAMPLES} more recorded at this step</p>')
    return "".join(cards)


def _nearest(samples: list[dict[str, Any]], step: float) -> list[dict[str, Any]]:
    """Return the samples of the recorded step that is nearest; of two equally near, the earlier."""
    if not samples:
        return []
    best = min(samples, key=lambda s: (abs(s["step"] - step), s["step"]))["step"]
    return [s for s in samples if s["step"] == best]


def _card(sample: dict[str, Any], run: str, x_label: str) -> str:
    head = [run] if run else []
    head.append(f"{x_label} {number_text(sample['step'])}")
    if sample["reward"] is not None:
        head.append(f"reward {number_text(sample['reward'])}")
    prompt = f'<p class="xp-prompt">{escape(sample["prompt"])}</p>' if sample["prompt"] else ""
    return (
        f'<div class="xp-sample"><p class="xp-who">{escape(" · ".join(head))}</p>{prompt}'
        f'<p class="xp-text">{escape(sample["completion"])}</p></div>'
    )


def _sample_box(film: dict[str, Any], at: int) -> str:
    if not any(r["samples"] for r in film["runs"]):
        return ""
    return f'<div class="xp-samples">{_samples(film, film["steps"][at])}</div>'


def _origins(film: dict[str, Any]) -> str:
    lines = [f"{r['name']}: {r['origin']}" for r in film["runs"] if r["origin"]]
    return f'<p class="xp-origin">{escape("Recorded runs. " + "; ".join(lines))}</p>' if lines else ""


def _static(film: dict[str, Any], site: bool) -> str:
    data = {k: v for k, v in film.items() if k not in ("title", "alt")}
    uid = fresh_id("xp-" + hashlib.sha256(json.dumps(film, sort_keys=True).encode()).hexdigest()[:8])
    at, name = film["start"], f"{uid}-0"
    text = escape(film["texts"][at])
    controls = (
        f'<div class="xp-controls xp-player"><button type="button" class="xp-play" disabled>Play</button>'
        f'<div class="xp-control xp-range"><label for="{name}">{escape(film["x_label"])}</label>'
        f'<span class="xp-value" aria-hidden="true">{text}</span><input type="range" id="{name}" min="0" '
        f'max="{len(film["steps"]) - 1}" step="1" value="{at}" aria-valuetext="{text}" disabled></div></div>'
        f'<p class="xp-given">{escape(film["x_label"])} {text}</p><p class="xp-say" role="status"></p>'
    )
    inner = controls + _legend(film) + _panels(film, at) + _sample_box(film, at) + _origins(film)
    return with_assets(
        shell(uid, film["title"], "replay", inner, film["alt"] or "Replay of a recorded run"), data, uid, site
    )


def _live(film: dict[str, Any]) -> Any:
    """Return the live figure: a play button and a slider of ipywidgets over the same picture."""
    import ipywidgets as w

    last = len(film["steps"]) - 1
    style = w.HTML(f"<style>{asset('explore.css')}</style>", layout={"display": "none"})
    slider = w.IntSlider(
        value=film["start"],
        min=0,
        max=last,
        description=film["x_label"],
        readout=False,
        layout={"width": "70%"},
    )
    play = w.Play(value=film["start"], min=0, max=last, step=max(1, last // 100), interval=100)
    w.jslink((play, "value"), (slider, "value"))
    screen, uid = w.HTML(), fresh_id("xp-replay")

    def update(_change: Any = None) -> None:
        at = slider.value
        head = f'<p class="xp-given">{escape(film["x_label"])} {escape(film["texts"][at])}</p>'
        inner = head + _legend(film) + _panels(film, at) + _sample_box(film, at) + _origins(film)
        screen.value = shell(uid, film["title"], "live", inner, film["alt"] or "Replay of a recorded run")

    slider.observe(update, "value")
    update()
    return w.VBox([style, w.HBox([play, slider]), screen])


def _summary(film: dict[str, Any]) -> str:
    lines = ["Replay of a recorded run" + (f": {film['title']}" if film["title"] else "")]
    if film["alt"]:
        lines.append(f"  {film['alt']}")
    first, last = film["steps"][0], film["steps"][-1]
    for k, run in enumerate(film["runs"]):
        ends = (f"{p['spec']['label']} {_value(p, k, first)} → {_value(p, k, last)}" for p in film["panels"])
        count = len(film["panels"][0]["spec"]["series"][k]["x"]) if film["panels"] else 0
        lines.append(
            f"  {run['name']}: {count} steps, {film['texts'][0]} to {film['texts'][-1]}; {', '.join(ends)}"
        )
    return "\n".join(lines)
