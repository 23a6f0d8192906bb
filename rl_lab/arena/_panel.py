"""Small panels of HTML that travel with their own style: results of the arena, in a notebook and in a page.

>>> share_bar(0.25).count("25%")
1
"""

from __future__ import annotations

import html

# Small enough to travel with each result, as the check's: a notebook opened elsewhere has no stylesheet of ours.
STYLE = (
    "<style>.rl-panel{border-left:4px solid #1d4ed8;padding:.5em .9em;margin:.5em 0;font-size:.95em;color:inherit}"
    ".rl-panel-good{border-color:#0f766e}.rl-panel-bad{border-color:#b45309}.rl-panel p{margin:0 0 .4em}"
    ".rl-panel table{border-collapse:collapse;margin:.2em 0;display:table;width:100%;color:inherit}"
    # The class twice: Jupyter aligns the cells of every table to the right, and means it.
    ".rl-panel.rl-panel table th,.rl-panel.rl-panel table td{padding:.15em .7em .15em 0;text-align:left;"
    "vertical-align:top;font-weight:400;border:0;background:none}.rl-panel thead th{opacity:.85}"
    ".rl-panel.rl-panel table .rl-n{text-align:right;white-space:nowrap}"
    ".rl-panel ol{margin:.2em 0 .4em;padding-left:1.6em}.rl-panel li{margin:.15em 0}"
    ".rl-panel code{background:none;border:0;padding:0;color:inherit;overflow-wrap:anywhere;white-space:pre-wrap}"
    ".rl-bar{display:inline-block;height:.7em;background:#1d4ed8;min-width:1px}"
    ".rl-bar-box{display:inline-block;width:6em;margin-right:.5em}.rl-share{white-space:nowrap}"
    "@media(max-width:600px){.rl-panel .rl-wide{display:none}.rl-bar-box{width:2em}}</style>"
)


def panel(kind: str, body: str) -> str:
    """Wrap HTML in a panel; `kind` is "", "good" or "bad"."""
    name = f" rl-panel-{kind}" if kind else ""
    return f'{STYLE}<div class="rl-panel{name}">{body}</div>'


def escaped(text: object) -> str:
    """Make any text safe in HTML; characters that a page cannot hold are shown as their escapes."""
    return html.escape("".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in str(text)))


def share_bar(share: float) -> str:
    """A bar whose length is a share between 0 and 1, with the percentage beside it."""
    percent = round(100 * share)
    return (
        '<span class="rl-share"><span class="rl-bar-box" aria-hidden="true">'
        f'<span class="rl-bar" style="width:{100 * share:.1f}%"></span></span>{percent}%</span>'
    )


def number(value: float | None, places: int = 2) -> str:
    """A number in a table; a dash for none."""
    return "–" if value is None else f"{value:.{places}f}".replace("-", "−")


def table(head: list[str], rows: list[list[str]], numeric: set[int], wide: set[int] = frozenset()) -> str:
    """An HTML table; cells are HTML already. `numeric` and `wide` name columns: the latter is hidden on a phone."""

    def style(i: int) -> str:
        names = [name for name, columns in (("rl-n", numeric), ("rl-wide", wide)) if i in columns]
        return f' class="{" ".join(names)}"' if names else ""

    heads = "".join(f'<th scope="col"{style(i)}>{escaped(text)}</th>' for i, text in enumerate(head))
    lines = [
        "<tr>"
        + "".join(
            f'<th scope="row"{style(i)}>{cell}</th>' if i == 0 else f"<td{style(i)}>{cell}</td>"
            for i, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    ]
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def clipped(text: object, length: int = 70) -> str:
    """The beginning of a text, and the end where it is long."""
    shown = str(text)
    return shown if len(shown) <= length else f"{shown[: length - 22]} … {shown[-18:]}"
