"""Chapter 10 says nothing that its recorded runs, its own cells or the installed libraries do not show."""

from __future__ import annotations

import ast
import dataclasses
import re

import pytest

from rl_lab.evaluation import wilson_interval
from rl_lab.lora import model_lora_params
from rl_lab.train.record import read_run
from tests.notebooks import ROOT, executed, namespace, read
from tests.tables import markdown_of, settings_of, tables

PATH = ROOT / "notebooks" / "10_sft.ipynb"
NAMES = ("long", "answer", "rate_low")


@pytest.fixture(scope="module")
def notebook():
    return read(PATH)


@pytest.fixture(scope="module")
def text(notebook):
    return markdown_of(notebook)


@pytest.fixture(scope="module")
def runs():
    return {name: read_run(ROOT / "runs" / f"10_{name}_1.json") for name in NAMES}


@pytest.fixture(scope="module")
def page(notebook):
    return namespace(PATH)


def source_of(notebook, start):
    return next(c.source for c in notebook.cells if c.cell_type == "code" and start in c.source)


def at(run, step):
    return next(e for e in run["held_out"] if e["step"] == step)


# --- the records ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_record_is_small_says_how_it_was_made_and_is_consistent(runs, name):
    run = runs[name]
    path = ROOT / "runs" / f"10_{name}_1.json"
    assert path.stat().st_size < 150_000
    assert run["command"] == f"python -m tools.record_10 {name} --seeds 1"
    assert run["settings"]["model"] == "smollm2"
    assert run["steps"] == list(range(1, run["settings"]["max_steps"] + 1))
    from tools.record_10 import PLANS

    every, last = PLANS[name].evaluate_every, run["settings"]["max_steps"]
    first = 0 if PLANS[name].start else every
    assert [e["step"] for e in run["held_out"]] == list(range(first, last + 1, every))
    for evaluation in run["held_out"]:
        assert evaluation["n"] == 50
        assert evaluation["accuracy"] == evaluation["correct"] / 50
        low, high = wilson_interval(evaluation["correct"], 50)
        assert evaluation["interval"] == pytest.approx([low, high], abs=1e-4)
    assert {s["step"] for s in run["samples"]} == {e["step"] for e in run["held_out"]}


def test_the_runs_differ_in_one_setting_each(runs):
    same = ("learning_rate", "lora_r", "data", "lora_target_modules", "per_device_train_batch_size", "seed")
    reference = {key: runs["long"]["settings"][key] for key in same}
    for name, key in (("answer", "data"), ("rate_low", "learning_rate")):
        found = {k: runs[name]["settings"][k] for k in same}
        assert {k for k in same if found[k] != reference[k]} == {key}


def test_the_recorder_s_plans_are_what_was_recorded(runs):
    from tools.record_10 import BATCH, N_TEST, PLANS, PROBLEMS

    assert set(NAMES) <= set(PLANS)
    for name, run in runs.items():
        plan, settings = PLANS[name], run["settings"]
        assert (plan.updates, plan.learning_rate, plan.rank, plan.data) == (
            settings["max_steps"],
            settings["learning_rate"],
            settings["lora_r"],
            settings["data"],
        )
        assert settings["n_train"] == plan.updates * BATCH
        assert settings["n_test"] == N_TEST
        assert tuple(settings["problem_steps"]) == PROBLEMS["problem_steps"]


# --- the settings ---------------------------------------------------------------------------------------


def test_every_setting_in_the_tables_has_the_default_that_is_stated(text):
    trl, peft = pytest.importorskip("trl"), pytest.importorskip("peft")
    stated = settings_of(text)
    assert {s.config for s in stated} == {"SFTConfig", "LoraConfig"}
    assert len(stated) >= 16
    for setting in stated:
        owner = trl.SFTConfig if setting.config == "SFTConfig" else peft.LoraConfig
        field = {f.name: f for f in dataclasses.fields(owner)}[setting.field]
        assert field.default == setting.default, setting.field


def test_the_column_ours_is_what_the_training_cell_sets(text, notebook):
    pytest.importorskip("trl")
    from rl_lab.train import build_lora, build_sft_args

    call = next(
        node
        for node in ast.walk(ast.parse(source_of(notebook, "run = run_sft(")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "run_sft"
    )
    given = {k.arg: k.value for k in call.keywords}
    assert ast.unparse(given["max_steps"]) == "updates"
    own = ("lora", "max_steps", "output_dir", "title")
    values = {k: ast.literal_eval(v) for k, v in given.items() if k not in own}
    args = build_sft_args(lora=True, device="cpu", max_steps=15, **values)
    lora = build_lora(8, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"])
    for header, *rows in tables(text):
        if "ours here" not in header:
            continue
        owner = args if "SFTConfig" in header[0] else lora
        for row in rows:
            field = row[0].strip("`")
            ours = ast.literal_eval(row[header.index("ours here")].strip("`"))
            # TRL moves gradient_checkpointing to its new name, transformers' activation_checkpointing.
            actual = getattr(
                owner, "activation_checkpointing" if field == "gradient_checkpointing" else field
            )
            assert set(actual) == set(ours) if field == "target_modules" else actual == ours, field


def test_the_count_of_trained_parameters(page, text, runs):
    assert page["by_hand"] == page["count"]["trainable"] == 921_600
    assert runs["long"]["results"]["trained"] == 921_600
    assert runs["long"]["results"]["parameters"] == page["count"]["all"]
    assert round(page["count"]["percent"], 2) == 0.68
    rank_one = model_lora_params("SmolLM2-135M", ["q", "k", "v", "o"], r=1)
    assert (rank_one["trainable"], round(rank_one["percent"], 2)) == (115_200, 0.09)
    assert "921,600 numbers, 0.68 %" in text
    assert "115,200, or 0.09 %" in text


# --- labels ---------------------------------------------------------------------------------------------


def test_labels_by_hand_are_trl_s_labels(notebook, tmp_path):
    """The cell's ``tokenised`` on the tiny model, whose chat template is the one that SmolLM2 is given here."""
    pytest.importorskip("trl")
    from rl_lab.train import build_sft_args, load_task, make_tiny
    from rl_lab.train.sft import make_sft_trainer, to_examples

    rows = load_task(
        "problems", n_train=4, n_test=1, seed=1, problem_steps=(1, 2), max_value=60
    ).demonstrations
    policy = make_tiny(0)
    names = {"policy": policy, "row": rows[3]}
    exec(compile(source_of(notebook, "def tokenised"), str(PATH), "exec"), names)
    args = build_sft_args(output_dir=str(tmp_path), max_length=1024)
    trainer = make_sft_trainer(policy, to_examples(rows), args)
    for row, example in zip(rows, trainer.train_dataset, strict=True):
        ids, labels = names["tokenised"](row)
        assert list(example["input_ids"]) == ids
        assert list(example["labels"]) == labels


def test_masking_by_id_loses_the_end_mark_where_pad_is_end(page):
    mask, turn, end, pad = page["mask_by_id"], page["turn"], page["END"], page["PAD"]
    assert mask([*turn, pad, pad], pad)[3] == end
    assert end not in mask([*turn, end, end], end)


def test_kinds_of_tokens(notebook):
    source = source_of(notebook, "def kinds_of")
    function = source[source.index("def kinds_of") : source.index("KINDS =")]
    text = "With the gift card it is ␣ 6 0 ␣- ␣ 2 9 ␣= ␣€ 3 1 . ⏎ Final ␣Answer : ␣ 3 1 <|im_end|> ⏎"
    tokens = text.split()
    names = {"shown": lambda token: token}
    exec(compile(function, str(PATH), "exec"), names)
    kinds = names["kinds_of"](tokens)

    def of(kind):
        return [token for token, k in zip(tokens, kinds, strict=True) if k == kind]

    assert of("result") == ["3", "1"]
    assert of("number") == ["6", "0", "2", "9", "3", "1"]
    assert of("choice") == ["␣-"]
    negative = names["kinds_of"](["␣=", "␣-", "9", "␣degrees", "␣5"])
    assert negative == ["words", "result", "result", "words", "number"]


# --- what is read from the recorded runs ----------------------------------------------------------------


def percent(interval):
    return f"{100 * interval[0]:.0f} to {100 * interval[1]:.0f} %"


def test_groups_before_and_after(page, text, runs):
    groups = runs["long"]["results"]["groups"]
    assert sum(groups["0"]["right"]) == 0
    assert len(groups["0"]["paid"]) * 8 == 96
    assert sum(len(groups[k]["paid"]) for k in groups) == 3 * 12
    assert [page["after_updates"](n)["silent"] for n in (0, 15, 30)] == [12, 10, 7]
    assert "all 12 groups were silent, after 15 updates 10, after 30 updates 7" in text
    assert "All 96 completions earn 0" in text
    assert "Two groups speak, then five." in text


def test_the_untrained_model(text, runs):
    before, asked = (runs["long"]["results"][key] for key in ("before", "asked"))
    assert (before["correct"], before["format_rate"], percent(before["interval"])) == (3, 0, "2 to 16 %")
    assert (asked["correct"], asked["format_rate"]) == (3, 0)
    assert "3 of 50 (95 % interval 2 to 16 %)" in text


def test_form_loss_and_being_right_come_in_that_order(text, runs):
    run = runs["long"]
    assert [at(run, s)["n_format"] for s in (0, 5, 10, 15, 30)] == [0, 0, 24, 50, 50]
    assert [at(run, s)["correct"] for s in (0, 15, 30)] == [3, 8, 16]
    assert "2 to 16 %, 8 to 29 %, 21 to 46 %" in text
    spans = [at(run, s)["interval"] for s in (0, 15, 30)]
    assert [percent(i) for i in spans] == ["2 to 16 %", "8 to 29 %", "21 to 46 %"]
    assert spans[0][1] > spans[1][0], "update 15 cannot be told from the start"
    assert spans[0][1] < spans[2][0], "update 30 can"
    loss = run["curves"]["loss"]
    first, middle, last = (sum(loss[k - 5 : k]) / 5 for k in (5, 15, 30))
    assert (
        f"{first:.1f} over the first five updates, {middle:.2f} up to update 15, {last:.2f} over the last five"
        in text
    )
    assert 0.67 < (first - middle) / (first - last) < 0.72, "about 70 %"
    assert text.count("about 70 %") == 2


def test_the_sample_that_is_paid_for_wrong_working(page, text, runs):
    sample = next(s for s in runs["long"]["samples"] if s["step"] == 25)
    assert sample["reward"] == 1
    for line in ("8 - 10 = -2", "-2 + 2 = -4", "Final Answer: -4"):
        assert line in sample["completion"]
        assert f"`{line}`" in text


def test_without_working_the_loss_is_lower_and_nothing_is_right(text, runs):
    working, answer = runs["long"], runs["answer"]
    means = [f"{sum(run['curves']['loss'][10:15]) / 5:.2f}" for run in (answer, working)]
    assert means == ["0.68", "0.74"]
    assert "0.68 over the last five updates, where the run with working has 0.74" in text
    assert [at(answer, s)["n_format"] for s in (5, 10, 15)] == [0, 50, 50]
    assert (at(answer, 15)["correct"], percent(at(answer, 15)["interval"])) == (0, "0 to 7 %")
    assert {s["completion"] for s in answer["samples"] if s["step"] == 10} == {"Final Answer: 10"}


def test_at_a_tenth_of_the_rate_the_format_is_not_there_yet(text, runs):
    run = runs["rate_low"]
    assert run["settings"]["learning_rate"] == 1e-4
    assert f"{run['curves']['loss'][14]:.2f}" == "1.69"
    assert at(run, 15)["n_format"] == 0
    assert "After 15 updates the loss is 1.69" in text
    assert at(run, 15)["correct"] == 0


def test_the_solution_of_10_2_on_the_recorded_run(runs):
    held_out = runs["long"]["held_out"]
    assert next(e["step"] for e in held_out if e["format_rate"] >= 0.9) == 15
    assert at(runs["long"], 10)["format_rate"] == 0.48
    assert all(e["accuracy"] < 0.9 for e in held_out)


def test_the_three_columns_are_there(text):
    header = next(t for t in tables(text) if "the warm-up must contain" in [row[0] for row in t])[0]
    assert [cell.split("]")[0].strip("[") for cell in header[1:]] == ["PBRFT", "RLVR", "Agentic RL"]


# --- what the book build trained ------------------------------------------------------------------------


def test_the_run_on_the_page_learned_the_form():
    """Live, so only what holds on any machine: hardly a completion in the format before, nearly all after."""
    results = [
        [float(x) for x in re.search(r"accuracy ([\d.]+) % .*format ([\d.]+) %", text).groups()]
        for cell in executed(PATH).cells
        if cell.cell_type == "code" and cell.source.splitlines()[-1:] in (["before"], ["after"])
        for text in [cell.outputs[0]["data"]["text/plain"]]
    ]
    (_, before), (_, after) = results
    assert before < 20
    assert after > 80
