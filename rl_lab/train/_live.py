"""How does a figure grow while a cell runs? One HTML output that is replaced, with small SVG curves in it.

No widget and no script: the last picture stays in the notebook file and in the built page.
"""

from __future__ import annotations

import html
import math
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Canvas", "in_notebook"]

_WIDTH, _HEIGHT = 216, 72
_REFRESH_S = 0.4
_STYLE = (
    ".rl-live{font:14px/1.4 system-ui,sans-serif;max-width:47rem}"
    ".rl-live progress{width:100%;height:.5rem;accent-color:#0072b2}"
    ".rl-live .row{display:flex;flex-wrap:wrap;gap:.5rem 1rem;margin-top:.4rem}"
    ".rl-live figure{margin:0}.rl-live figcaption{font-size:13px}"
    ".rl-live svg{display:block;max-width:100%}"
    ".rl-live .warn{border-left:3px solid #d55e00;padding-left:.6rem;margin:.5rem 0}"
)


def in_notebook() -> bool:
    """Whether a notebook front end shows what this process displays."""
    shell = sys.modules.get("IPython")
    ip = shell.get_ipython() if shell else None
    return ip is not None and hasattr(ip, "kernel")


class Canvas:
    """One output of a notebook cell, painted again as the run goes on."""

    def __init__(self, title: str = "") -> None:
        self.title = title
        self._handle: Any = None
        self._painted = 0.0

    def paint(
        self,
        head: tuple[float, str],
        log: Sequence[Mapping[str, Any]],
        shown: Sequence[str],
        warnings: Sequence[str],
        last: bool,
    ) -> None:
        """Show the state of the run; at most every 0.4 s, and always at its end."""
        if not last and time.perf_counter() - self._painted < _REFRESH_S:
            return
        self._painted = time.perf_counter()
        from IPython.display import HTML, display

        page = HTML(page_html(self.title, head, log, shown, warnings))
        if self._handle is None:
            self._handle = display(page, display_id=True)
        else:
            self._handle.update(page)


def page_html(
    title: str,
    head: tuple[float, str],
    log: Sequence[Mapping[str, Any]],
    shown: Sequence[str],
    warnings: Sequence[str],
) -> str:
    """The whole output as HTML: progress, curves, warnings."""
    share, line = head
    panels = [panel for name in shown if (panel := _panel(name, log))]
    notes = "".join(f'<p class="warn">{html.escape(text)}</p>' for text in warnings)
    heading = f"<strong>{html.escape(title)}</strong> " if title else ""
    return (
        f'<style>{_STYLE}</style><div class="rl-live"><div>{heading}{html.escape(line)}</div>'
        f'<progress max="1" value="{share:.4f}" aria-label="progress"></progress>'
        f'<div class="row">{"".join(panels)}</div>{notes}</div>'
    )


def _panel(name: str, log: Sequence[Mapping[str, Any]]) -> str:
    values = [(e["step"], e[name]) for e in log if isinstance(e.get(name), (int, float))]
    points = [(step, value) for step, value in values if math.isfinite(value)]  # nan has no place on a curve
    if not points:
        return ""
    low, high = min(0.0, *(y for _, y in points)), max(y for _, y in points)
    high = high if high > low else low + 1.0
    first, last = points[0][0], max(points[-1][0], points[0][0] + 1)
    across, up = (_WIDTH - 4) / (last - first), (_HEIGHT - 6) / (high - low)
    spots = " ".join(f"{2 + (x - first) * across:.1f},{_HEIGHT - 2 - (y - low) * up:.1f}" for x, y in points)
    step, now = values[-1]
    label = f"{name}: {now:.3g} at step {step}, between {low:.3g} and {high:.3g}"
    return (
        f'<figure><svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{html.escape(label, quote=True)}"><path d="M0 {_HEIGHT - 1}h{_WIDTH}" '
        f'stroke="currentColor" opacity=".3"/><polyline points="{spots}" fill="none" stroke="#0072b2" '
        f'stroke-width="2"/></svg><figcaption>{html.escape(name)} <strong>{now:.3g}</strong></figcaption></figure>'
    )
