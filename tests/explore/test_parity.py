"""Python and JavaScript draw the same picture from the same frame, character for character."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from rl_lab.explore import _html, _numbers, _replay, _static, _svg
from rl_lab.explore._run import read_runs
from tests.explore import figures

SCRIPT = Path(_html.ASSETS) / "explore.js"
pytestmark = pytest.mark.skipif(
    not shutil.which("node"), reason="node is not installed: the page's script cannot run here"
)


def node(expression: str, data) -> list:
    """Evaluate an expression of `m` (the script's functions) and `d` (the data) in node."""
    code = f"const m = require({json.dumps(str(SCRIPT))}), d = JSON.parse(require('fs').readFileSync(0));"
    code += f"console.log(JSON.stringify({expression}))"
    done = subprocess.run(
        ["node", "-e", code], input=json.dumps(data), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def numbers(count: int) -> list[float]:
    rng = random.Random(0)
    edge = [
        0.0,
        1,
        -1,
        0.5,
        2.5,
        -2.5,
        999.95,
        9999.5,
        12345.5,
        1e-4,
        1e-5,
        9.9996e-5,
        0.1 + 0.2,
        1e15,
        1e21,
        16777216,
        -0.00004,
    ]
    edge += [0.125, 0.375, -0.0625, 1.005, 2.675, 1e14 + 0.5]
    return edge + [rng.uniform(-1, 1) * 10 ** rng.uniform(-8, 12) for _ in range(count)]


@pytest.mark.parametrize("decimals", [None, 0, 1, 3])
def test_numbers_read_alike(decimals):
    values = [v for v in numbers(3000) if decimals is None or abs(v) < 1e20]
    expected = [_numbers.number_text(v, decimals) for v in values]
    assert node(f"d.map(v => m.numberText(v, {json.dumps(decimals)}))", values) == expected


def test_ticks_stand_and_read_alike():
    rng = random.Random(1)
    spans = []
    for _ in range(1500):
        low = rng.uniform(-50, 50)
        spans.append([low, low + 10 ** rng.uniform(-4, 11), rng.randint(2, 8), rng.random() < 0.3])
    expected = []
    for span in spans:
        values, decimals = _numbers.ticks(*span)
        expected.append([values, _numbers.tick_texts(values, decimals)])
    code = "d.map(s => { const [v, n] = m.ticks(...s); return [v, m.tickTexts(v, n, false)]; })"
    assert node(code, spans) == expected


def test_ticks_of_logarithmic_axes_are_alike():
    rng = random.Random(2)
    spans = [
        [a, a * 10 ** rng.uniform(0.1, 9), rng.randint(2, 6)]
        for a in (10 ** rng.uniform(-6, 6) for _ in range(500))
    ]
    expected = [_numbers.log_ticks(*s) for s in spans]
    assert node("d.map(s => m.logTicks(...s))", spans) == expected


def test_widths_of_texts_are_estimated_alike():
    texts = ["reward, gated", "折扣 γ", "l.i!", "", "naïve — 1,000", "😀x"]
    assert node("d.map(t => m.textWidth(t, 12))", texts) == pytest.approx(
        [_numbers.text_width(t, 12.0) for t in texts], abs=1e-9
    )


@pytest.mark.parametrize("f", figures.SETTINGS, ids=lambda f: f.__name__)
def test_pictures_are_equal_at_phone_and_page_width(f):
    figure = figures.figure(f)
    frames = [figure.frame(o) for o in figure.outputs][:60]
    if not figure.spec["series"]:
        pytest.skip("this figure has read-outs only")
    data = {"spec": figure.spec, "frames": frames, "widths": [300, 340.5, 640, 720]}
    drawn = node("d.widths.map(w => d.frames.map(f => m.draw(d.spec, f, w)))", data)
    assert drawn == [[list(_svg.draw(figure.spec, fr, w)) for fr in frames] for w in data["widths"]]


@pytest.mark.parametrize("f", figures.SETTINGS, ids=lambda f: f.__name__)
def test_tables_are_equal(f):
    figure = figures.figure(f)
    frames = [figure.frame(o) for o in figure.outputs][:60]
    data = {"spec": figure.spec, "frames": frames}
    assert node("d.frames.map(f => m.tableRows(d.spec, f))", data) == [
        _html.table_rows(figure.spec, fr) for fr in frames
    ]
    if figure.spec["series"]:
        assert node("d.frames.map(f => m.numberRows(d.spec, f))", data) == [
            _html.number_rows(figure.spec, fr) for fr in frames
        ]


@pytest.mark.parametrize("f", figures.SETTINGS, ids=lambda f: f.__name__)
def test_the_page_unpacks_what_python_packed(f):
    """Texts exactly; heights exactly where few differ, else to one part in 65,534 of their range."""
    figure = figures.figure(f)
    frames = [figure.frame(o) for o in figure.outputs]
    data = _static.page_data(figure)
    unpacked = node(
        "(r => Array.from({length: d.n}, (_, c) => r(c)))(m.frameReader(d.data))",
        {"data": data, "n": len(frames)},
    )
    for ours, theirs in zip(frames, unpacked, strict=True):
        assert theirs["read"] == ours["read"]
        assert theirs["table"] == ours["table"]
        for a, b in zip(ours["y"], theirs["y"], strict=True):
            assert (a is None) == (b is None)
            for v, w in zip(a or [], b or [], strict=True):
                assert (v is None) == (w is None)
                assert v is None or math.isclose(v, w, rel_tol=1e-9, abs_tol=3e-5)


def test_replays_are_equal_at_every_step():
    film = _replay._film(figures.RUNS, None, "", "", {}, {"kl": "nats"}, {"reward": 3}, "step")
    data = {"film": film, "at": list(range(len(film["steps"])))}
    pictures = node(
        "d.film.panels.map(p => d.at.map(i => m.draw(p.spec, {y: p.y, cut: d.film.steps[i]}, 320)))", data
    )
    expected = [
        [list(_svg.draw(p["spec"], _replay._frame(film, p, i), 320)) for i in data["at"]]
        for p in film["panels"]
    ]
    assert pictures == expected
    values = node(
        "d.film.panels.map(p => d.at.map(i => d.film.runs.map((r, k) => m.valueAt(p, k, d.film.steps[i]))))",
        data,
    )
    assert values == [
        [[_replay._value(p, k, film["steps"][i]) for k in (0, 1)] for i in data["at"]] for p in film["panels"]
    ]
    assert node("d.at.map(i => m.sampleCards(d.film, d.film.steps[i]))", data) == [
        _replay._samples(film, s) for s in film["steps"]
    ]


def test_the_value_at_a_step_is_the_last_one_recorded():
    film = _replay._film(
        {
            "a": {"steps": [0, 10], "curves": {"r": [1.0, None]}},
            "b": {"steps": [5, 6], "curves": {"r": [2, 3]}},
        },
        None,
        "",
        "",
        {},
        {},
        {},
        "step",
    )
    panel = film["panels"][0]
    assert [_replay._value(panel, 0, s) for s in (0, 5, 10)] == ["1", "1", "–"]
    assert [_replay._value(panel, 1, s) for s in (0, 5, 10)] == ["–", "2", "3"]
    assert len(read_runs(figures.RUNS)) == 2
