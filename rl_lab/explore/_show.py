"""Where is the reader? Choose what to display: widgets, a page, or a sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

MODES = ("live", "static", "both")
WIDGET = "application/vnd.jupyter.widget-view+json"
# A notebook that is opened again has no widget for its figures, and JupyterLab writes "Error displaying widget: model
# not found", whatever else the same output holds. So the page's figure is an output of its own: the living widget hides
# it, and it hides a widget's output that stayed empty.
ALONE = ".jp-OutputArea-child:has([data-xp-twin])+.jp-OutputArea-child:not(:has(.widget-vbox)){display:none!important}"


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
    """Display a figure in the kinds that the present mode asks for: a widget, a page, or one above the other.

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
    live = _widget(widget) if mode() != "static" else None
    if live is not None and mode() == "live":
        display({"text/plain": text, WIDGET: _view(live)}, raw=True)
    elif live is None:
        display({"text/plain": text, "text/html": html(site_assets())}, raw=True)
    else:
        _hide_twin(live)
        twin = f'<div data-xp-twin="{live.model_id}">{html(site_assets())}</div><style>{ALONE}</style>'
        display({"text/plain": text, "text/html": twin}, raw=True)
        display({WIDGET: _view(live)}, raw=True)  # no text: a terminal has just shown it


def _view(live: Any) -> dict[str, Any]:
    return {"version_major": 2, "version_minor": 0, "model_id": live.model_id}


def _hide_twin(live: Any) -> None:
    """Let the widget hide the page's figure above it, for as long as it is there itself."""
    import ipywidgets as w

    rule = f'<style>[data-xp-twin="{live.model_id}"]{{display:none}}</style>'
    live.children = (*live.children, w.HTML(rule, layout={"display": "none"}))


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
