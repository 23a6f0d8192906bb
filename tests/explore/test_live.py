"""The live figure: ipywidgets call the reader's own function; the bundle fits every front end."""

from __future__ import annotations

import builtins
import sys

import pytest

from rl_lab.explore import _show, _widget, explore, replay, trajectory
from rl_lab.explore._replay import _film
from rl_lab.explore._replay import _live as live_replay
from rl_lab.explore._trajectory import _live as live_trajectory
from rl_lab.explore._trajectory import read_episodes
from tests.explore import figures

widgets = pytest.importorskip("ipywidgets")


def leaves(box) -> list:
    """All widgets of a box that are no boxes."""
    return [
        leaf for child in box.children for leaf in (leaves(child) if hasattr(child, "children") else [child])
    ]


def one(box, kind, description=None):
    return next(w for w in leaves(box) if isinstance(w, kind) and description in (None, w.description))


def screen(box) -> str:
    return next(w.value for w in leaves(box) if isinstance(w, widgets.HTML) and 'class="xp"' in w.value)


@pytest.fixture
def shown(monkeypatch) -> list:
    """Catch what would be displayed inside a notebook."""
    bundles: list = []
    monkeypatch.setattr(_show, "_display", lambda: lambda bundle, raw: bundles.append(bundle))
    monkeypatch.delenv("RL_LAB_EXPLORE", raising=False)
    monkeypatch.delenv("RL_LAB_EXPLORE_ASSETS", raising=False)
    return bundles


def test_moving_a_slider_calls_the_function_and_redraws():
    calls = []

    def f(a=1):
        calls.append(a)
        return {"x": [0, 1], "y": [0, a], "double": 2 * a}

    from rl_lab.explore._explore import build as figure_of

    box = _widget.live_widget(figure_of(f, {"a": (0, 3, 1)}))
    before = screen(box)
    assert "<dd>2</dd>" in before
    calls.clear()
    one(box, widgets.SelectionSlider).value = 3
    assert calls == [3]
    assert "<dd>6</dd>" in screen(box)
    assert screen(box) != before


def test_every_kind_of_control_moves_and_reset_brings_all_back():
    figure = figures.figure(figures.groups)
    box = _widget.live_widget(figure)
    start = screen(box)
    one(box, widgets.Checkbox).value = False
    assert screen(box) != start
    one(box, widgets.SelectionSlider, "b").value = 1.0
    one(box, widgets.Button, "Reset").click()
    assert screen(box) == start
    assert isinstance(
        one(_widget.live_widget(figures.figure(figures.piles)), widgets.RadioButtons), widgets.RadioButtons
    )
    assert isinstance(
        one(_widget.live_widget(figures.figure(figures.sizes)), widgets.Dropdown), widgets.Dropdown
    )


def test_live_and_static_figures_show_the_same_read_outs():
    figure = figures.figure(figures.returns)
    box = _widget.live_widget(figure)
    sliders = [w for w in leaves(box) if isinstance(w, widgets.SelectionSlider)]
    for output, values in [(figure.outputs[0], (0, 0.0)), (figure.outputs[-1], (1, 0.2))]:
        for slider, value in zip(sliders, values, strict=True):
            slider.value = value
        for text in figure.frame(output)["read"]:
            assert f"<dd>{text}</dd>" in screen(box)


def test_the_numbers_are_shown_on_request():
    box = _widget.live_widget(figures.figure(figures.still))
    assert "<table>" not in screen(box)
    one(box, widgets.ToggleButton).value = True
    assert "<table>" in screen(box)


def test_an_error_under_the_hand_is_shown_in_place_of_the_picture():
    from rl_lab.explore._explore import build as figure_of

    broken = []

    def f(a=1):
        if broken:
            raise ValueError("<no>")
        return {"a": a}

    box = _widget.live_widget(figure_of(f, {"a": [1, 2]}))
    broken.append(True)
    one(box, widgets.SelectionSlider).value = 2
    text = next(w.value for w in leaves(box) if isinstance(w, widgets.HTML) and "alert" in w.value)
    assert "f raised ValueError: &lt;no&gt; at a=2" in text


def test_a_live_replay_follows_its_slider():
    box = live_replay(_film(figures.RUNS, None, "T", "", {}, {}, {}, "step"))
    start = screen(box)
    one(box, widgets.IntSlider).value = 3
    assert screen(box) != start
    assert "step 25" in screen(box)


def test_a_live_trajectory_steps_forth_and_back():
    box = live_trajectory(read_episodes(figures.EPISODES), "T", "")
    assert screen(box).count("xp-hidden") == 4
    one(box, widgets.Button, "Next").click()
    assert screen(box).count("xp-hidden") == 2
    one(box, widgets.Button, "Back").click()
    one(box, widgets.Button, "Back").click()
    assert one(box, widgets.IntSlider).value == 1


@pytest.mark.parametrize(
    "display",
    [
        lambda: explore(figures.still, **figures.SETTINGS[figures.still]),
        lambda: replay(figures.RUNS[0]),
        lambda: trajectory(figures.EPISODES),
    ],
    ids=["explore", "replay", "trajectory"],
)
def test_the_page_and_the_widget_are_two_outputs_of_which_the_page_comes_first(shown, display):
    display()
    assert [set(bundle) for bundle in shown] == [{"text/plain", "text/html"}, {_show.WIDGET}]
    page, live = shown
    assert page["text/html"].count(f'data-xp-twin="{live[_show.WIDGET]["model_id"]}"') == 1


def test_the_widget_hides_its_own_twin_and_no_other():
    boxes = [_widget.live_widget(figures.figure(figures.still)) for _ in range(2)]
    for box in boxes:
        _show._hide_twin(box)
    rules = [[w.value for w in leaves(b) if "xp-twin" in str(getattr(w, "value", ""))] for b in boxes]
    assert rules == [[f'<style>[data-xp-twin="{b.model_id}"]{{display:none}}</style>'] for b in boxes]
    assert boxes[0].model_id != boxes[1].model_id


def test_static_mode_makes_no_widget_and_live_mode_no_page(shown, monkeypatch):
    monkeypatch.setenv("RL_LAB_EXPLORE", "static")
    explore(figures.still)
    monkeypatch.setenv("RL_LAB_EXPLORE", "live")
    explore(figures.still)
    assert [set(b) for b in shown] == [{"text/plain", "text/html"}, {"text/plain", _show.WIDGET}]


def test_colab_gets_the_widget(shown, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", object())
    explore(figures.still)
    assert set(shown[0]) == {"text/plain", _show.WIDGET}


def test_the_site_gets_no_script_of_its_own(shown, monkeypatch):
    monkeypatch.setenv("RL_LAB_EXPLORE", "static")
    monkeypatch.setenv("RL_LAB_EXPLORE_ASSETS", "site")
    explore(figures.still)
    assert "rlLabExplore" not in shown[0]["text/html"]


def test_without_ipywidgets_the_page_is_the_figure(shown, monkeypatch):
    original = builtins.__import__

    def absent(name, *args, **kwargs):
        if name.split(".")[0] == "ipywidgets":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    explore(figures.still)
    replay(figures.RUNS[0])
    trajectory(figures.EPISODES)
    assert [set(b) for b in shown] == [{"text/plain", "text/html"}] * 3


def test_an_unknown_mode_is_refused(shown, monkeypatch):
    monkeypatch.setenv("RL_LAB_EXPLORE", "alive")
    with pytest.raises(ValueError, match="RL_LAB_EXPLORE must be one of live, static, both, got 'alive'"):
        explore(figures.still)


def test_importing_the_figures_loads_no_widgets():
    import subprocess

    heavy = "{'ipywidgets', 'IPython', 'matplotlib', 'numpy'}"
    code = f"import sys, rl_lab.explore; print(sorted({heavy} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
