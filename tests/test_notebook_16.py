"""Every number that chapter 16 states in its prose comes out of its own cells or of the recorded runs."""

from __future__ import annotations

import ast
import dataclasses
import re

import pytest

from rl_lab.check import check
from rl_lab.evaluation import wilson_interval
from rl_lab.footprint import footprint
from rl_lab.train.presets import PRESETS, choose
from rl_lab.train.seeds import read_record
from tests.notebooks import ROOT, executed, light, namespace, read, tags
from tests.tables import markdown_of, tables

pytestmark = pytest.mark.notebook
PATH = ROOT / "notebooks" / "16_lora_sft_gpu.ipynb"
RECORDS = {"base": "16_base_1", "sft": "16_sft_1"}


@pytest.fixture(scope="module")
def text():
    return markdown_of(read(PATH))


@pytest.fixture(scope="module")
def ns():
    return namespace(PATH)


@pytest.fixture(scope="module")
def runs():
    return {name: read_record(stem) for name, stem in RECORDS.items()}


def gb(ns, **settings):
    return {key: value for key, value in ns["card"](**settings).items() if isinstance(value, float)}


def test_the_card_s_numbers(ns, text):
    first = ns["card"]()
    assert [round(first[key][0], 1) for key in ("weights", "activations")] == [1.0, 6.0]
    assert "6.0 GB, beside 1.0 GB of weights" in text
    assert (round(first["first"], 1), round(first["second"], 1)) == (7.2, 1.8)
    assert "shrinks from 7.2 to 1.8 GB" in text
    assert "6.0 of 7.2 GB at 8 examples of 512 tokens" in text
    assert first["x"][0] == "LoRA"
    on_t4 = ns["card"](16, 512, "fp16 (T4)")
    assert round(on_t4["first"], 1) == 16.4
    assert on_t4["first"] > on_t4["a T4"][0] > on_t4["second"]
    assert first["a T4"][0] == pytest.approx(14.74 * 2**30 / 1e9, abs=0.05), "a T4 shows 14.74 GiB"


def test_rank_1_saves_a_tenth_of_a_gigabyte():
    def states(rank):
        count = footprint("Qwen2.5-0.5B", mode="lora", r=rank, precision="bf16 weights")
        return (count.gradients + count.optimizer) / 1e9

    assert round(states(16) - states(1), 1) == 0.1


def test_on_a_t4_the_base_takes_two_gigabytes(ns, text):
    weights = [ns["card"](arithmetic=a)["weights"][0] for a in ("bf16 (A100, L4, H100)", "fp16 (T4)")]
    assert [round(w) for w in weights] == [1, 2]
    assert "the base takes 2 GB instead of 1" in text


def test_four_machines_get_the_preset_that_the_cell_prints():
    source = next(c.source for c in read(PATH).cells if "for machine in [" in c.source)
    machines = re.search(r"for machine in (\[.*\]):", source)[1]
    assert [choose(*m).name for m in ast.literal_eval(machines)] == ["t4", "t4", "large", "cpu"]


def test_what_was_not_run_is_marked(ns, text):
    assert "**`t4` and `large` were not run on our machines**" in text
    for name, expected in (
        ("t4", "not run on our machines"),
        ("large", "not run on our machines"),
        ("cpu", "run on a CPU"),
    ):
        shown = ns["chosen"](name)
        assert shown["run"] == expected
        recorded = list((ROOT / "runs").glob(f"1[67]_gpu_{name}.json"))
        assert bool(recorded) == (expected == "run on a CPU") or name == "cpu", (
            "a record exists: change the page"
        )


def test_the_presets_figure_counts_updates(ns):
    assert ns["chosen"]("t4")["count"] == [16, 125]
    assert ns["chosen"]("large")["count"] == [32, 234]
    cpu = PRESETS["cpu"]
    assert ns["chosen"]("cpu")["count"] == [16, cpu.sft["max_steps"]]


def test_bf16_is_said_to_be_supported_where_it_is_emulated():
    torch = pytest.importorskip("torch")
    import inspect

    assert inspect.signature(torch.cuda.is_bf16_supported).parameters["including_emulation"].default is True


def test_settings_named_in_the_remedies_exist(text):
    trl = pytest.importorskip("trl")
    header, *rows = next(t for t in tables(text) if "remedy" in t[0])
    named = {name for row in rows for name in re.findall(r"`(\w+)(?:=\w+)?`", row[header.index("setting")])}
    named -= {"peft_config", "dtype"}  # arguments of the trainer and of from_pretrained
    assert named == {
        "per_device_train_batch_size",
        "gradient_accumulation_steps",
        "gradient_checkpointing",
        "max_length",
    }
    assert named <= {field.name for field in dataclasses.fields(trl.SFTConfig)}


def test_the_situations_of_exercise_3_are_as_told():
    small = {"model": "Qwen2.5-0.5B", "mode": "lora", "precision": "bf16 weights", "prompt_tokens": 100}
    for per_device, tokens, before, card in ((64, 1024, True, 8), (1, 12_000, False, 16)):
        shared = small | {"completion_tokens": tokens - 100}
        assert footprint(**shared, per_device=per_device, checkpointing=before).peak > card * 1e9
        fewer = max(1, per_device // 4)
        assert footprint(**shared, per_device=fewer, checkpointing=True).peak < 0.9 * card * 1e9
    seven = {"model": "Qwen2.5-7B", "per_device": 1, "checkpointing": True}
    assert footprint(mode="full", **seven).peak > 24e9
    assert footprint(mode="lora", precision="bf16 weights", **seven).peak < 0.9 * 24e9
    assert 70e9 * 2 > 80e9


def test_exercise_1_is_about_what_one_example_keeps(ns):
    one = ns["card"](1, 512)
    assert one["activations"][0] == pytest.approx(0.75, abs=0.06)


@pytest.mark.parametrize("wrong", [28, 29, 32, 27, None, 20])
def test_wrong_counts_are_told_why(wrong):
    result = check("16.1", wrong)
    assert not result.passed


def test_plans_that_lose_examples_are_refused():
    from_solution = lambda target, fits, cards=1: (8, target // 8 // cards)  # noqa: E731
    assert not check("16.2", from_solution).passed
    assert "12 does not divide 32" in check("16.2", lambda t, f, c=1: (f, t // f)).text()
    assert not check("16.2", lambda t, f, c=1: (1, t // c)).passed


def test_each_remedy_has_its_reason():
    right = {
        "first_try": "smaller batch",
        "long_texts": "checkpointing",
        "all_of_it": "LoRA",
        "huge": "more cards",
    }
    assert check("16.3", right).passed
    for run in right:
        assert not check("16.3", right | {run: next(r for r in right.values() if r != right[run])}).passed
    assert not check("16.3", {"first_try": "a prayer"}).passed


def test_light_cells_need_no_model_and_model_cells_are_marked():
    for cell in light(read(PATH)).cells:
        if cell.cell_type == "code":
            assert not re.search(r"pick_preset\(|run_sft\(|measure\(|preset\.load", cell.source), cell.source[
                :80
            ]


# --- the records ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", RECORDS)
def test_a_record_is_small_and_says_how_it_was_made(runs, piece):
    run, preset = runs[piece], PRESETS["recorded"]
    assert (ROOT / "runs" / f"{RECORDS[piece]}.json").stat().st_size < 150_000
    assert run["command"] == f"python -m tools.record_17 {piece} --seed 1"
    settings = run["settings"]
    assert (settings["model"], settings["preset"], settings["n_test"]) == (
        "smollm2",
        "recorded",
        preset.n_test,
    )
    done = run["results"]["after"]
    assert done["n"] == preset.n_test == len(run["results"]["right"])
    assert done["correct"] == sum(run["results"]["right"])
    assert done["interval"] == pytest.approx(list(wilson_interval(done["correct"], done["n"])), abs=1e-4)
    if piece != "base":
        for key, value in preset.sft.items():
            assert settings[key] == value
        assert run["steps"] == list(range(1, settings["max_steps"] + 1))
        assert settings["n_train"] == 16 * len(run["steps"]), "every problem is seen once"


def test_the_reading_of_the_records(runs, text):
    base, sft = runs["base"]["results"]["after"], runs["sft"]["results"]["after"]
    low, high = ("{:.0f} to {:.0f} %".format(*(100 * end for end in r["interval"])) for r in (base, sft))
    first = f"From {base['correct']} to {sft['correct']} of 100, with 95 % intervals of {low} and {high}"
    assert first in text
    apart = base["interval"][1] < sft["interval"][0]
    assert ("they do not overlap, so this is a gain" in text) is apart
    assert (
        f"And {sft['n_format']} of 100 completions are in the format, where the untrained model had " in text
    )
    assert f"the untrained model had {base['n_format']}." in text
    loss = runs["sft"]["curves"]["loss"]
    assert f"The loss went from {loss[0]:.2f} to about {sum(loss[-5:]) / 5:.2f}" in text
    assert 0.7 < 1 - sft["accuracy"] < 0.85, "four of five answers are wrong"
    assert any(
        "At 8 am it is 8 - 10 = 2 degrees." in sample["completion"] for sample in runs["sft"]["samples"]
    )
    assert f"from {base['correct']} to {sft['correct']} of 100 problems" in text
    assert PRESETS["recorded"].evaluate_tokens == 64
    assert base["mean_length"] > 62
    assert f"the untrained model's have {base['mean_length']:.0f} on average: nearly all are cut" in text


def test_the_executed_page_shows_a_live_result():
    outputs = {c.source: c for c in executed(PATH).cells if "model" in tags(c)}
    shown = next(c for source, c in outputs.items() if "before = measure(" in source)
    assert "right," in "".join(o.get("text", "") for o in shown.outputs)
