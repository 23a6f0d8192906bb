"""A run is written down whole and without traces of the machine; its monitor warns once and explains itself."""

from __future__ import annotations

import json
import math
import re

import pytest

from rl_lab.train._live import page_html
from rl_lab.train.monitor import Monitor, findings
from rl_lab.train.record import add_sample, add_step, episode_turns, new_run, read_run, write_run


@pytest.fixture
def run():
    made = new_run(
        "demo",
        seed=1,
        command="python -m rl_lab.train grpo --config configs/x.yaml model=/home/someone/models/tiny output_dir=~/out",
        settings={
            "output_dir": "/home/someone/runs/out",
            "hub_token": "hf_abcdefghijklmnop",
            "note": "token hf_abcdefghijklmnop",
            "model": "Qwen/Qwen2.5-0.5B-Instruct",
            "beta": 0.0,
            "windows": r"C:\Users\someone\out",
        },
    )
    add_step(made, 1, {"reward": 0.123456789, "kl": None})
    add_step(made, 2, {"reward": float("nan"), "entropy": 0.5})
    return made


def test_curves_are_as_long_as_the_steps(run):
    assert run["steps"] == [1, 2]
    assert run["curves"] == {"reward": [0.12346, None], "kl": [None, None], "entropy": [None, 0.5]}


def test_no_path_and_no_credential_is_written(run, tmp_path):
    text = write_run(run, tmp_path / "run.json").read_text()
    for trace in ("/home", "someone", "hf_abc", "Users", "~"):
        assert trace not in text, trace
    assert "Qwen/Qwen2.5-0.5B-Instruct" in text
    assert "configs/x.yaml" in text
    assert run["settings"]["output_dir"] == "out"


def test_a_run_reads_back_and_other_files_are_refused(run, tmp_path):
    path = write_run(run, tmp_path / "deep" / "run.json")
    assert read_run(path) == run
    assert not list(path.parent.glob("*.part"))
    (tmp_path / "other.json").write_text('{"a": 1}')
    with pytest.raises(ValueError, match=r"other.json is no recorded run: it lacks name, steps, curves"):
        read_run(tmp_path / "other.json")


def test_steps_only_go_up(run):
    with pytest.raises(ValueError, match="step must go up, got 2 after 2"):
        add_step(run, 2, {})


def test_explore_replays_what_was_recorded(run):
    """The schema is the one that the figures read."""
    from rl_lab.explore import replay_html

    add_sample(
        run,
        2,
        [{"role": "user", "content": "How much?"}],
        [{"role": "assistant", "content": "Final Answer: 5"}],
        1.0,
    )
    assert "Final Answer: 5" in replay_html(run, ["reward", "entropy"])


def test_episodes_can_be_shown_turn_by_turn(run):
    from rl_lab.explore import trajectory_html

    call = {"type": "function", "function": {"name": "calc", "arguments": {"expression": "60-5"}}}
    episode = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "calc", "content": "55"},
        {"role": "assistant", "content": "Final Answer: 55"},
    ]
    add_sample(run, 2, "How much?", episode, 1.0)
    sample = run["samples"][-1]
    assert sample["completion"] == 'calc("60-5")\n→ 55\nFinal Answer: 55'
    assert "60-5" in trajectory_html({"after": sample["turns"]})


def test_one_line_a_step_with_the_remaining_time(capsys):
    watch = Monitor(3, live=False)
    for step in (1, 2, 3):
        watch.step(step, {"reward": 0.25 * step, "completions/mean_length": 12.0})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("step 2/3  reward 0.5  length 12 | 0:00, 0:00 left")


def test_fewer_lines_can_be_asked_for(capsys):
    watch = Monitor(10, live=False, every=5)
    for step in range(1, 11):
        watch.step(step, {"loss": 1.0})
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["1/10", "5/10", "10/10"]


def test_live_curves_are_one_html_output():
    log = [{"step": i, "reward": i / 10, "kl": None} for i in range(1, 11)]
    page = page_html("Run <1>", (0.5, "step 10/20"), log, ("reward", "kl", "loss"), ["a < b"])
    assert page.count("<svg") == 1
    assert "Run &lt;1&gt;" in page
    assert "a &lt; b" in page
    assert 'aria-label="reward: 1 at step 10, between 0 and 1"' in page
    assert "<script" not in page


def test_a_notebook_gets_one_output_that_is_replaced(monkeypatch):
    ipython = pytest.importorskip("IPython.display")
    shown = []

    class Handle:
        def update(self, page):
            shown.append(page.data)

    def display(page, display_id):
        shown.append(page.data)
        return Handle()

    monkeypatch.setattr(ipython, "display", display)
    watch = Monitor(2, live=True, title="GRPO")
    watch.step(1, {"reward": 0.1})
    watch.step(2, {"reward": 0.2})
    assert len(shown) == 2
    assert "step 2/2" in shown[-1]


KINDS = {
    "kl": ([{"reward": 0.3, "kl": 0.8}], "above 0.5: the policy has left its reference"),
    "cut": (
        [{"reward": 0.1, "completions/clipped_ratio": 0.6}],
        "60% of completions end at max_completion_length",
    ),
    "dropped": ([{"reward": 0.1, "unanswered_calls": 0.1}], "end in a tool call without its result"),
    "entropy": ([{"reward": 0.4, "entropy": 0.001}] * 10, "nothing new is tried"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_warning_says_what_it_means_and_what_to_do(kind):
    log, text = KINDS[kind]
    found = dict(findings(log))
    assert text in found[kind]


def test_a_healthy_run_is_not_warned_about():
    log = [
        {
            "step": i,
            "reward": 0.2 + i / 100,
            "reward_std": 0.4,
            "kl": 0.02,
            "entropy": 0.3,
            "frac_reward_zero_std": 0.2,
            "completions/clipped_ratio": 0.0,
        }
        for i in range(40)
    ]
    assert findings(log) == []
    solved = [{"reward": 0.99, "entropy": 0.001, "reward_std": 0.05} for _ in range(20)]
    assert findings(solved) == []


@pytest.mark.parametrize("key", ["loss", "kl"])
def test_a_nan_is_told_as_one_and_not_as_above_a_limit(key):
    found = dict(findings([{"reward": 0.2, "loss": 0.1, "kl": 0.01} | {key: math.nan}]))
    assert list(found) == ["nan"]
    assert found["nan"].startswith(f"the {key} is nan: the weights are ruined")


def test_an_infinite_kl_is_above_its_limit():
    assert list(dict(findings([{"reward": 0.2, "loss": 0.1, "kl": math.inf}]))) == ["kl"]
    assert list(dict(findings([{"reward": 0.2, "loss": math.inf, "kl": 0.1}]))) == ["nan"]


WATCHED = ("kl", "completions/clipped_ratio", "unanswered_calls", "entropy", "reward", "grad_norm")


@pytest.mark.parametrize("key", WATCHED)
def test_a_nan_is_neither_above_a_limit_nor_below_it(key):
    healthy = {"reward": 0.5, "reward_std": 0.3, "entropy": 0.4, "kl": 0.01}
    healthy |= {"completions/clipped_ratio": 0.0, "unanswered_calls": 0.0}
    log = [healthy | {"step": i, key: math.nan} for i in range(1, 13)] + [healthy | {"step": 13}]
    held_out = [{"step": 5, "accuracy": 0.6}, {"step": 13, "accuracy": 0.4}]
    assert [kind for kind, _ in findings(log)] == []
    log[-1][key] = math.nan
    assert [kind for kind, _ in findings(log)] == (["nan"] if key == "kl" else [])
    assert "drift" not in dict(findings(log, held_out))


def test_an_evaluation_that_is_nan_is_no_fall():
    log = [{"step": i, "reward": i / 20} for i in range(1, 21)]
    held_out = [
        {"step": 5, "accuracy": 0.6},
        {"step": 15, "accuracy": 0.6},
        {"step": 20, "accuracy": math.nan},
    ]
    assert findings(log, held_out) == []
    held_out[0]["accuracy"] = math.nan
    assert findings(log, [*held_out, {"step": 20}]) == []


def test_live_curves_leave_nan_out_and_say_it():
    log = [{"step": i, "loss": value} for i, value in enumerate([0.5, math.nan, 0.25, math.inf, math.nan], 1)]
    page = page_html("", (1.0, "step 5/5"), log, ("loss",), [])
    spots = re.search(r'polyline points="([^"]+)"', page)[1]
    assert len(spots.split()) == 2
    assert "nan" not in spots
    assert "loss: nan at step 5, between 0 and 0.5" in page
    assert "polyline" not in page_html("", (1.0, "step 2/2"), log[1:2], ("loss",), [])


def test_a_call_with_arguments_that_are_no_object_is_shown_as_written():
    shown = [
        episode_turns(
            [
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"function": {"name": "calc", "arguments": a}}],
                }
            ]
        )[0]["text"]
        for a in ('{"expression": "1+1"}', ["80"], 7, {})
    ]
    assert shown == ['calc("{\\"expression\\": \\"1+1\\"}")', 'calc(["80"])', "calc(7)", "calc()"]


def test_a_silent_zero_is_warned_about_after_twenty_steps():
    """Case C23: the format reward saturates, accuracy stays 0, and nobody notices."""
    log = [{"rewards/accuracy": 0.0, "rewards/format": 1.0, "reward_std": 0.0}] * 20
    texts = [text for _, text in findings(log)]
    assert texts[0].startswith("no learning signal for 20 steps")
    for cause in ("truncation", "marker mismatch", "labels", "all-easy or all-hard"):
        assert cause in texts[0]
    assert findings(log[:19]) == []


def test_reward_up_while_held_out_accuracy_falls_is_warned_about():
    log = [{"step": i, "reward": i / 20} for i in range(1, 21)]
    falling = [{"step": 5, "accuracy": 0.6}, {"step": 20, "accuracy": 0.4}]
    assert "fell from 60% (step 5) to 40%" in dict(findings(log, falling))["drift"]
    assert findings(log, [{"step": 5, "accuracy": 0.6}, {"step": 20, "accuracy": 0.58}]) == []


def test_each_warning_is_given_once_and_recorded(capsys, run):
    watch = Monitor(30, run, live=False)
    for step in range(3, 8):
        watch.step(step, {"reward": 0.2, "kl": 0.9})
    assert capsys.readouterr().out.count("warning:") == 1
    assert len(run["warnings"]) == 1
    assert json.dumps(run, allow_nan=False)
