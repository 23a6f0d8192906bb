"""Write a figure as HTML: complete without a script, alive with one.

The markup holds the picture, the read-outs and the numbers of the start values, so print, search and readers without
JavaScript see the figure. The controls wait, hidden, until ``assets/explore.js`` wakes them.
"""

from __future__ import annotations

import itertools
import json
import pathlib
from html import escape
from typing import Any

from ._grid import MAX_RADIO
from ._numbers import number_text
from ._svg import DASHES, draw, marker

ASSETS = pathlib.Path(__file__).parent / "assets"
FIRST_WIDTH = 640  # width of the picture made at build time; the page redraws it at its own width
_count = itertools.count(1)


def asset(name: str) -> str:
    """Return the text of ``explore.js`` or ``explore.css``."""
    return (ASSETS / name).read_text("utf-8")


def fresh_id(base: str) -> str:
    """Return an element id that is used once in this process, and so once in a page."""
    return f"{base}-{next(_count)}"


def json_text(data: Any) -> str:
    """Write JSON that can stand inside a script element: no text in it can end the element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def shell(uid: str, title: str, kind: str, inner: str, label: str = "") -> str:
    """Wrap a figure's parts into its outer element."""
    name = f'aria-labelledby="{uid}-h"' if title else f'aria-label="{escape(label)}"'
    head = f'<p class="xp-title" id="{uid}-h">{escape(title)}</p>' if title else ""
    return f'<div class="xp" id="{uid}" data-xp="{kind}" role="group" {name}>{head}{inner}</div>'


def with_assets(html: str, data: Any, uid: str, site: bool) -> str:
    """Add the data, and, unless the site brings them, the style and the script."""
    tail = f'<script type="application/json" class="xp-data" data-for="{uid}">{json_text(data)}</script>'
    if site:
        return html + tail
    # The script guards itself: however often a page holds it, it runs once and then wakes what is new.
    return f"<style>{asset('explore.css')}</style>{html}{tail}<script>{asset('explore.js')}</script>"


def figure_parts(spec: dict[str, Any], frame: dict[str, Any], uid: str, width: float = FIRST_WIDTH) -> str:
    """Return the part of a figure that changes: read-outs, legend, picture, table."""
    return read_outs(spec, frame) + legend(spec) + picture(spec, frame, uid, width) + table(spec, frame)


def picture(spec: dict[str, Any], frame: dict[str, Any], uid: str, width: float = FIRST_WIDTH) -> str:
    """Return the SVG element of a frame."""
    if not spec["series"]:
        return ""
    height, body = draw(spec, frame, width)
    return (
        f'<div class="xp-picture"><svg role="img" aria-label="{escape(spec["alt"])}" viewBox="0 0 {width} {height}">'
        f"{body}</svg></div>"
    )


def legend(spec: dict[str, Any]) -> str:
    """Name the series. A marked point carries its name in the picture; one series is named by its axis."""
    series = [(k, s) for k, s in enumerate(spec["series"]) if s["kind"] != "point"]
    if len(series) < 2 and (not series or spec["y"]["label"]):
        return ""
    return '<ul class="xp-legend">' + "".join(_legend_entry(k, s, spec) for k, s in series) + "</ul>"


def _legend_entry(k: int, series: dict[str, Any], spec: dict[str, Any]) -> str:
    wide = 28 if series["kind"] == "line" else 14
    if series["kind"] == "line":
        dash = f' stroke-dasharray="{DASHES[k % 6]}"' if DASHES[k % 6] else ""
        swatch = f'<path class="xp-line xp-s{k % 6}"{dash} d="M0 6L28 6"/>'
        if spec["x"] is None or len(spec["x"]["values"]) <= 24:
            swatch += "".join(marker(k, (14, 6), 3.5))
    else:
        swatch = f'<rect class="xp-bar xp-s{k % 6}" x="0.5" y="0.5" width="13" height="11"/>'
    return (
        f'<li><svg aria-hidden="true" width="{wide}" height="12" viewBox="0 0 {wide} 12">{swatch}</svg>'
        f"{escape(series['label'])}</li>"
    )


def read_outs(spec: dict[str, Any], frame: dict[str, Any]) -> str:
    """List the read-outs: name above, value below."""
    if not spec["reads"]:
        return ""
    pairs = zip(spec["reads"], frame["read"], strict=True)
    cells = (f"<div><dt>{escape(r['label'])}</dt><dd>{escape(text)}</dd></div>" for r, text in pairs)
    return '<dl class="xp-reads">' + "".join(cells) + "</dl>"


def table(spec: dict[str, Any], frame: dict[str, Any]) -> str:
    """Write the function's own table."""
    if not spec["columns"]:
        return ""
    head = "".join(f'<th scope="col"{_number(c)}>{escape(c["label"])}</th>' for c in spec["columns"])
    return _scroller(
        f"<thead><tr>{head}</tr></thead><tbody>{table_rows(spec, frame)}</tbody>", "xp-table", "Table"
    )


def table_rows(spec: dict[str, Any], frame: dict[str, Any]) -> str:
    """Write the rows of the table; twin of ``tableRows`` in the script."""
    return "".join(
        "<tr>"
        + "".join(f"<td{_number(c)}>{escape(t)}</td>" for c, t in zip(spec["columns"], row, strict=True))
        + "</tr>"
        for row in frame["table"]
    )


def _number(column: dict[str, Any]) -> str:
    return ' class="xp-n"' if column["number"] else ""


def _scroller(rows: str, kind: str, name: str) -> str:
    # A part that scrolls must be reachable by keyboard.
    return f'<div class="{kind}" tabindex="0" role="group" aria-label="{escape(name)}"><table>{rows}</table></div>'


def numbers(spec: dict[str, Any], frame: dict[str, Any], rounded: bool = False) -> str:
    """Write what is drawn as a table, folded away: for screen readers and for everyone who wants the numbers.

    `rounded` says that the page holds some heights in 16 bits only.
    """
    if not spec["series"]:
        return ""
    return (
        '<details class="xp-numbers"><summary>Show the numbers</summary>'
        + _scroller(number_rows(spec, frame), "xp-scroll", "The numbers of this picture")
        + ('<p class="xp-more">Heights are kept to one part in 65,534 of their range.</p>' if rounded else "")
        + "</details>"
    )


def number_rows(spec: dict[str, Any], frame: dict[str, Any]) -> str:
    """Write the table of a frame's numbers; twin of ``numberRows`` in the script."""
    drawn = [(k, s) for k, s in enumerate(spec["series"]) if s["kind"] != "point"]
    head = "".join(f'<th scope="col" class="xp-n">{escape(_with_unit(s))}</th>' for _, s in drawn)
    out = [f'<thead><tr><th scope="col">{escape(spec["x"]["label"] or "x")}</th>{head}</tr></thead><tbody>']
    for i, x in enumerate(spec["x"]["values"]):
        cells = "".join(
            f'<td class="xp-n">{number_text(frame["y"][k][i], s["decimals"])}</td>' for k, s in drawn
        )
        name = x if isinstance(x, str) else number_text(x)
        out.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    for k, s in enumerate(spec["series"]):
        if s["kind"] == "point":
            place = _point_text(spec, frame["y"][k], s["decimals"])
            cell = f'<td colspan="{max(1, len(drawn))}">{escape(place)}</td>'
            out.append(f'<tr><th scope="row">{escape(s["label"])}</th>{cell}</tr>')
    return "".join(out) + "</tbody>"


def _with_unit(series: dict[str, Any]) -> str:
    return f"{series['label']} ({series['unit']})" if series["unit"] else series["label"]


def _point_text(spec: dict[str, Any], spot: Any, decimals: int | None) -> str:
    if spot is None:
        return "not in the picture"
    x = spec["x"]
    across = (
        x["values"][spot[0]]
        if x["kind"] == "category" and spot[0] in range(len(x["values"]))
        else number_text(spot[0])
    )
    return f"at {across}: {number_text(spot[1], decimals)}"


def control(spec: dict[str, Any], k: int, uid: str) -> str:
    """Write one control, disabled until the script wakes it."""
    c, name = spec["controls"][k], f"{uid}-{k}"
    if c["kind"] == "check":
        return _checkbox(c, name)
    if c["kind"] == "range":
        return _slider(c, name)
    return _radios(c, name) if len(c["texts"]) <= MAX_RADIO else _list(c, name)


def _checkbox(c: dict[str, Any], name: str) -> str:
    on = " checked" if c["start"] else ""
    return (
        f'<div class="xp-control xp-check"><input type="checkbox" id="{name}" disabled{on}>'
        f'<label for="{name}">{escape(c["label"])}</label></div>'
    )


def _slider(c: dict[str, Any], name: str) -> str:
    text = escape(c["texts"][c["start"]])
    longest = max(len(t) for t in c["texts"])  # so that the slider beside it does not move with its value
    return (
        f'<div class="xp-control xp-range"><label for="{name}">{escape(c["label"])}</label>'
        f'<span class="xp-value" aria-hidden="true" style="min-width:{longest}ch">{text}</span>'
        f'<input type="range" id="{name}" min="0" max="{len(c["texts"]) - 1}" step="1" value="{c["start"]}" '
        f'aria-valuetext="{text}" disabled></div>'
    )


def _list(c: dict[str, Any], name: str) -> str:
    options = "".join(
        f'<option value="{i}"{" selected" if i == c["start"] else ""}>{escape(t)}</option>'
        for i, t in enumerate(c["texts"])
    )
    return (
        f'<div class="xp-control xp-select"><label for="{name}">{escape(c["label"])}</label>'
        f'<select id="{name}" disabled>{options}</select></div>'
    )


def _radios(c: dict[str, Any], name: str) -> str:
    radios = "".join(
        f'<label><input type="radio" name="{name}" value="{i}" disabled{" checked" if i == c["start"] else ""}>'
        f"{escape(t)}</label>"
        for i, t in enumerate(c["texts"])
    )
    legend = f"<legend>{escape(c['label'])}</legend>"
    return f'<fieldset class="xp-control xp-radio">{legend}<div>{radios}</div></fieldset>'


def given(spec: dict[str, Any]) -> str:
    """Say which values the picture is drawn for: for print, and for readers without a script."""
    pairs = (f"{c['label']}: {c['texts'][c['start']]}" for c in spec["controls"])
    return f'<p class="xp-given">{escape(" · ".join(pairs))}</p>' if spec["controls"] else ""
