"""The figure of a live notebook: ordinary ipywidgets, and the reader's own function on every move.

Only the core widgets of ipywidgets are used, those that version 7.7 (Colab's) and 8 share, so there is nothing to
enable. ipywidgets is imported here, inside, and nowhere else.
"""

from __future__ import annotations

from html import escape
from typing import Any

from ._grid import MAX_RADIO, Control
from ._html import asset, figure_parts, fresh_id, number_rows, shell
from ._spec import Figure

WIDE = {"description_width": "12em"}


def live_widget(figure: Figure) -> Any:
    """Return a box of controls above the figure, which redraws when a control moves."""
    import ipywidgets as w

    inputs = [_input(w, c) for c in figure.controls]
    style = w.HTML(f"<style>{asset('explore.css')}</style>", layout={"display": "none"})
    uid = fresh_id(figure.spec["id"])
    screen, numbers = w.HTML(), w.ToggleButton(value=False, description="Show the numbers")
    reset = w.Button(description="Reset")

    def update(_change: Any = None) -> None:
        values = {c.name: i.value for c, i in zip(figure.controls, inputs, strict=True)}
        screen.value = _screen(figure, values, uid, numbers.value)

    def back(_button: Any) -> None:
        for control, box in zip(figure.controls, inputs, strict=True):
            box.value = control.values[control.start]

    for box in (*inputs, numbers):
        box.observe(update, "value")
    reset.on_click(back)
    update()
    buttons = ([numbers] if figure.spec["series"] else []) + ([reset] if inputs else [])
    title = [w.HTML(f"<b>{escape(figure.spec['title'])}</b>")] if figure.spec["title"] else []
    return w.VBox([style, *title, *inputs, screen, w.HBox(buttons)])


def _screen(figure: Figure, values: dict[str, Any], uid: str, with_numbers: bool) -> str:
    """Call the function and write its frame; an error is shown in place of the picture, as the finding it is."""
    try:
        frame = figure.frame(figure.call(values))
    except (RuntimeError, TypeError, ValueError) as error:
        return f'<pre role="alert">{escape(str(error))}</pre>'
    inner = figure_parts(figure.spec, frame, uid)
    if with_numbers:
        inner += f'<div class="xp-scroll"><table>{number_rows(figure.spec, frame)}</table></div>'
    return shell(uid, "", "live", inner, figure.spec["alt"])


def _input(w: Any, control: Control) -> Any:
    start = control.values[control.start]
    if control.kind == "check":
        return w.Checkbox(value=start, description=control.label, indent=True, style=WIDE)
    kind = "SelectionSlider"
    if control.kind == "choice":
        kind = "RadioButtons" if len(control.texts) <= MAX_RADIO else "Dropdown"
    return getattr(w, kind)(
        options=list(zip(control.texts, control.values, strict=True)),
        value=start,
        description=control.label,
        style=WIDE,
        layout={"width": "95%", "max_width": "640px"},
    )
