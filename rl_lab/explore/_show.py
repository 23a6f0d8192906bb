"""Where is the reader? Choose what to display: widgets, a page, or a sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

MODES = ("live", "static", "both")
WIDGET = "application/vnd.jupyter.widget-view+json"


def mode() -> str:
    """Return "live", "static" or "both": ``RL_LAB_EXPLORE`` decides, else the host.

    Raises
    ------
    ValueError
        If the variable holds anything else.
    """
    asked = os.environ.get("RL_LAB_EXPLORE", "")
    if asked and asked not in MODES:
        raise ValueError(
            f"RL_LAB_EXPLORE must be one of {', '.join(MODES)}, got {asked!r}; unset it to let the host decide"
        )
    # Colab shows the widget; the page's copy would only make the notebook larger there.
    return asked or ("live" if "google.colab" in sys.modules else "both")


def site_assets() -> bool:
    """Tell whether the page brings the script and the style itself (the book build says so)."""
    return os.environ.get("RL_LAB_EXPLORE_ASSETS", "") == "site"


def show(text: str, html: Callable[[bool], str], widget: Callable[[], Any]) -> None:
    """Display a figure as one bundle of the kinds that the present mode asks for.

    Parameters
    ----------
    text
        What the figure shows, for a terminal or a front end without HTML.
    html
        Called with :func:`site_assets`; returns the static figure.
    widget
        Returns the live figure, an ipywidgets widget; may raise ImportError.
    """
    display = _display()
    if display is None:
        print(text)
        return
    bundle: dict[str, Any] = {"text/plain": text}
    live = _widget(widget) if mode() != "static" else None
    if live is not None:
        bundle[WIDGET] = {"version_major": 2, "version_minor": 0, "model_id": live.model_id}
    if live is None or mode() != "live":
        bundle["text/html"] = html(site_assets())
    display(bundle, raw=True)


def _display() -> Callable[..., Any] | None:
    """Return IPython's display inside an IPython shell, else None."""
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        return None
    return display if get_ipython() is not None else None


def _widget(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except ImportError:
        return None  # no ipywidgets here: the static figure is alive without them
