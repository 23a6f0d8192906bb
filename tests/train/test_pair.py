"""What chapters 16 and 17 share: adapters on disk, groups, the table, and the prepared script for a card."""

from __future__ import annotations

import itertools
import json

import pytest

from rl_lab.train.pair import (
    find_adapter,
    four_table,
    groups_of,
    keep_adapter,
    measure,
    only_one,
    record_or_say,
    sign_test,
    write_four,
)
from rl_lab.train.presets import PRESETS

TINY = PRESETS["tiny"]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A working folder without a clone beside it, as in Colab."""
    folder = tmp_path / "content"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_sign_test_by_enumeration():
    for gained, lost in ((0, 0), (3, 3), (5, 1), (9, 2), (2, 9)):
        n = gained + lost
        splits = [sum(toss) for toss in itertools.product((0, 1), repeat=n)]
        extreme = max(gained, lost)
        share = sum(max(s, n - s) >= extreme for s in splits) / len(splits)
        assert sign_test(gained, lost) == pytest.approx(min(1, share), abs=1e-4)


def test_only_one_counts_the_problems_that_differ():
    assert only_one([1, 1, 0, 0, 0], [1, 0, 1, 1, 0]) == (2, 1)
    with pytest.raises(ValueError, match="zip"):
        only_one([1], [1, 0])


def test_an_adapter_is_found_only_where_it_belongs(elsewhere):
    assert find_adapter(TINY) is None
    task = TINY.data("sft")
    policy = TINY.load(task.demonstrations)
    run = {"results": {"steps": 2, "seconds": 7.5, "peak_memory_mb": 900}}
    folder = keep_adapter(policy, TINY, run)
    assert find_adapter(TINY) == (folder, run)
    assert find_adapter(PRESETS["cpu"]) is None
    (folder / "model.safetensors").rename(folder / "half.part")
    assert find_adapter(TINY) is None, "without its weights it is no adapter"
    (folder / "made.json").write_text("{", encoding="utf-8")
    assert find_adapter(TINY) is None


def test_measure_and_groups(elsewhere):
    task = TINY.data("grpo")
    policy = TINY.load(TINY.data("sft").demonstrations)
    run = {"results": {"seconds": 90.0, "peak_memory_mb": 2048}}
    cell = measure("SFT", policy, task.test_rows, TINY, run, run)
    assert cell["n"] == TINY.n_test
    assert (cell["train_s"], cell["peak_memory_mb"]) == (180.0, 2048)
    assert cell["correct"] == sum(cell["right"])
    row = four_table([cell])["table"][0]
    assert (row["minutes"], row["memory"], row["right"]) == (3.0, 2.0, f"{cell['correct']} of {cell['n']}")
    groups = groups_of(policy, task.rows, TINY, groups=3)
    assert len(groups) == 3
    assert all(0 <= right <= TINY.grpo["num_generations"] for right in groups)
    path = write_four([cell], TINY, elsewhere / "four.json")
    assert json.loads(path.read_text())["results"]["cells"][0]["name"] == "SFT"


def test_a_record_that_is_not_there_is_said_and_not_raised(elsewhere, monkeypatch, capsys):
    monkeypatch.setenv("RL_LAB_RUNS", str(elsewhere))
    assert record_or_say("16_base_1") is None
    said = capsys.readouterr().out
    assert "16_base_1.json is not here" in said
    assert "RL_LAB_RUNS" in said


def test_the_script_for_a_card_runs_the_notebooks_cells(elsewhere, monkeypatch, capsys):
    from tools.gpu_pair import main

    for variable in ("RL_LAB_PRESET", "RL_LAB_EXPLORE"):
        monkeypatch.setenv(variable, "auto")
    into = elsewhere / "records"
    assert main(["--preset", "tiny", "--into", str(into)]) == 0
    sft, four = (json.loads((into / f"{n}_gpu_tiny.json").read_text()) for n in (16, 17))
    assert [cell["name"] for cell in sft["results"]["cells"]] == ["base", "SFT"]
    assert [cell["name"] for cell in four["results"]["cells"]] == ["base", "SFT", "GRPO", "SFT + GRPO"]
    assert four["steps"] == sft["steps"] == [1, 2]
    assert four["results"]["groups"]["base"] == [0, 0, 0, 0]
    assert four["results"]["machine"]["device"]
    assert "SFT: the adapter of chapter 16" in capsys.readouterr().out


def test_the_script_begins_nothing_that_would_end_too_late(monkeypatch, capsys):
    from tools import gpu_pair

    monkeypatch.setenv("RL_LAB_EXPLORE", "auto")
    monkeypatch.setattr(gpu_pair, "run_pair", lambda *_: pytest.fail("it was begun"))
    assert gpu_pair.main(["--preset", "short", "--minutes", "1"]) == 0
    assert "short: not begun" in capsys.readouterr().out
