"""The figure of the built page: every combination packed into the page, for the script to unpack."""

from __future__ import annotations

from typing import Any

from ._html import control, figure_parts, fresh_id, given, numbers, shell, with_assets
from ._pack import pack_items, pack_rows
from ._spec import Figure


def static_html(figure: Figure, site: bool) -> str:
    """Return the figure as HTML.

    Parameters
    ----------
    figure
        From :func:`rl_lab.explore._spec.tabulate`.
    site
        True when the page itself brings ``explore.js`` and ``explore.css``.
    """
    spec = figure.spec
    uid = fresh_id(spec["id"])
    frame = figure.frame(figure.outputs[figure.start])
    data = page_data(figure)
    rounded = any("low" in packed for packed in data["frames"]["y"])
    inner = controls_html(spec, uid) + figure_parts(spec, frame, uid) + numbers(spec, frame, rounded)
    return with_assets(shell(uid, spec["title"], "explore", inner, spec["alt"]), data, uid, site)


def controls_html(spec: dict[str, Any], uid: str) -> str:
    """Write the controls with their reset button, and the line that stands for them without a script."""
    if not spec["controls"]:
        return ""
    rows = "".join(control(spec, k, uid) for k in range(len(spec["controls"])))
    return (
        f'<div class="xp-controls">{rows}<button type="button" class="xp-reset" disabled>Reset</button></div>'
        f'{given(spec)}<p class="xp-say" role="status"></p>'
    )


def page_data(figure: Figure) -> dict[str, Any]:
    """Return what the script needs: the spec without what only Python reads, and all frames, packed."""
    spec = {k: v for k, v in figure.spec.items() if k not in ("title", "alt", "id")}
    frames = [figure.frame(o) for o in figure.outputs]
    packed = [_pack_series(s["kind"], [f["y"][k] for f in frames]) for k, s in enumerate(spec["series"])]
    return {
        **spec,
        "frames": {
            "y": packed,
            "read": [pack_items([f["read"][k] for f in frames]) for k in range(len(spec["reads"]))],
            "table": _pack_tables([f["table"] for f in frames]) if spec["columns"] else None,
        },
    }


def _pack_series(kind: str, rows: list[Any]) -> dict[str, Any]:
    if kind != "point":
        return pack_rows([tuple(row) for row in rows])
    pairs = [(None, None) if row is None else row for row in rows]
    return {"point": [pack_rows([(pair[i],) for pair in pairs]) for i in (0, 1)]}


def _pack_tables(tables: list[list[list[str]]]) -> dict[str, Any]:
    """Pack whole tables; tuples, because equal tables are found by hashing."""
    return pack_items([tuple(tuple(row) for row in table) for table in tables])
