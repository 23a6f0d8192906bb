"""Recorded runs: what is read, what is refused, what is shown."""

from __future__ import annotations

import json
import math

import pytest

from rl_lab.explore import replay, replay_html
from rl_lab.explore._run import read_runs
from tests.explore import figures

GOOD = {"steps": [0, 10], "curves": {"reward": [0.2, 0.4], "kl": [None, 0.01]}}


def test_a_run_is_read_from_a_dict_or_from_its_file(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(figures.RUNS[0]), "utf-8")
    assert read_runs(path) == read_runs(str(path)) == read_runs(figures.RUNS[0])


def test_several_runs_carry_the_names_they_are_given():
    assert [r.name for r in read_runs({"healthy": GOOD, "sick": GOOD})] == ["healthy", "sick"]
    assert [r.name for r in read_runs(figures.RUNS)] == ["seed 1", "seed 2"]


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (3, TypeError, "run must be a dict, a path, or a list"),
        ([], ValueError, "run is empty"),
        ("no/such.json", FileNotFoundError, "no recorded run at no/such.json .looked from"),
        ({"steps": [0, 1]}, ValueError, 'the run needs "curves"'),
        ({"curves": {"r": [1]}}, ValueError, 'the run needs "steps"'),
        (GOOD | {"steps": [0]}, ValueError, "at least two numbers"),
        (GOOD | {"steps": [10, 0]}, ValueError, '"steps" of the run must increase, but 0 comes after 10'),
        (GOOD | {"steps": [0, "1"]}, TypeError, "must be numbers, got '1'"),
        (GOOD | {"curves": {"reward": [1]}}, ValueError, "curve 'reward' of the run must be a list of 2 numbers"),
        (GOOD | {"curves": {"reward": [1, math.nan]}}, ValueError, "'reward' of the run at step 10 is nan"),
        (GOOD | {"curves": {"reward": [1, "x"]}}, TypeError, "must be a number or null, got 'x'"),
        (GOOD | {"samples": [{"prompt": "p"}]}, ValueError, 'sample 0 of the run must be a dict with "step"'),
        (GOOD | {"samples": [{"step": 1, "reward": "x"}]}, TypeError, "reward of sample 0"),
        ([GOOD | {"name": "a"}, GOOD | {"name": "a"}], ValueError, "two runs have one name"),
        ({"sick": GOOD | {"steps": [0]}}, ValueError, "run 'sick' needs"),
    ],
    ids=lambda v: str(v)[:40],
)  # fmt: skip
def test_a_broken_run_names_the_field_and_the_rule(run, error, message):
    with pytest.raises(error, match=message):
        read_runs(run)


def test_a_file_that_is_no_json_is_named(tmp_path):
    path = tmp_path / "broken.json"
    path.write_text("{", "utf-8")
    with pytest.raises(ValueError, match=r"broken.json is not readable as JSON"):
        read_runs(path)


def test_an_unknown_curve_gets_a_suggestion():
    with pytest.raises(ValueError, match=r"curves names 'rewrd'.*did you mean 'reward'"):
        replay(GOOD, ["rewrd"])
    with pytest.raises(ValueError, match="labels names 'kl'"):
        replay(GOOD, ["reward"], labels={"kl": "KL"})


def test_more_than_six_runs_are_refused():
    with pytest.raises(ValueError, match="up to 6 runs at once, got 7"):
        replay({str(i): GOOD for i in range(7)})


def test_the_page_holds_one_panel_a_curve_and_the_nearest_samples():
    html = replay_html(figures.RUNS[0], title="One", site=True)
    assert html.count('class="xp-panel"') == 3
    assert "step 100 · reward 0.1" in html
    assert "Recorded runs. seed 1: python -m rl_lab.train" in html


def test_samples_beyond_four_of_a_step_are_counted_not_lost():
    from rl_lab.explore import _replay

    film = _replay._film(figures.RUNS[0], None, "", "", {}, {}, {}, "step")
    assert "and 1 more recorded at this step" in _replay._samples(film, 0)


def test_plain_python_prints_the_ends_of_each_curve(capsys):
    replay(GOOD, labels={"kl": "KL"}, alt="A run.")
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  A run.",
        "  run 1: 2 steps, 0 to 10; reward 0.2 → 0.4, KL – → 0.01",
    ]
