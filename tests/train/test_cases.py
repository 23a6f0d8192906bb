"""Public reports of class I, operating a training run: each as a test."""

from __future__ import annotations

import ast
import json
import warnings
from pathlib import Path

import pytest

from rl_lab.grpo import check_batch, oom_advice
from rl_lab.gsm8k import to_rl
from rl_lab.problems import generate
from rl_lab.train import models
from rl_lab.train.args import build_grpo_args, build_sft_args
from rl_lab.train.names import SettingWarning
from rl_lab.train.precision import pick_precision
from rl_lab.train.preflight import PreflightError, preflight
from rl_lab.train.sft import make_sft_trainer, to_examples

HERE = Path(__file__).parent
CASES = [json.loads(line) for line in (HERE.parent / "cases" / "I.jsonl").read_text("utf-8").splitlines()]


def cases(call):
    chosen = [case for case in CASES if case["call"] == call]
    assert chosen, call
    return pytest.mark.parametrize("case", chosen, ids=[case["id"] for case in chosen])


def test_every_case_is_run():
    called = {
        "pick_precision",
        "load_model on cc 7.5",
        "build_grpo_args",
        "build_sft_args",
        "tokenized SFT example",
        "hub_error",
        "oom_advice",
        "preflight",
    }
    assert {case["call"] for case in CASES if "tested_in" not in case["expected"]} <= called


@cases("pick_precision")
def test_precision(case):
    got = [pick_precision(device, flag=case["input"]["flag"]) for device in case["input"]["devices"]]
    assert got == case["expected"]


@cases("load_model on cc 7.5")
def test_explicit_bf16_on_an_old_gpu(case, monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError("the model was touched")

    monkeypatch.setattr(models, "pick_device", lambda device: ("cuda", (7, 5), "CUDA (Tesla T4, 7.5)"))
    monkeypatch.setattr(models, "_load", never)
    with pytest.raises(ValueError, match=case["expected"]["error"]):
        models.load_model(**case["input"])


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if c["call"] in ("build_grpo_args", "build_sft_args")],
    ids=lambda case: case["id"],
)
def test_settings_reach_the_configuration(case):
    build = {"build_grpo_args": build_grpo_args, "build_sft_args": build_sft_args}[case["call"]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        config = build(**case["input"])
    notes = [str(w.message) for w in caught if issubclass(w.category, SettingWarning)]
    for name, value in case["expected"].items():
        if name == "warns":
            assert bool(notes) is value
        elif name == "reported":
            assert [any(note.startswith(old) for note in notes) for old in value] == [True] * len(value)
        else:
            assert getattr(config, name) == value


@cases("tokenized SFT example")
def test_the_end_token_is_learned(case, policy):
    example = make_sft_trainer(policy, to_examples([case["input"]]), build_sft_args()).train_dataset[0]
    end = policy.tokenizer.eos_token_id
    at = max(i for i, token in enumerate(example["input_ids"]) if token == end)
    assert example["labels"][at] != -100
    assert policy.tokenizer.pad_token_id != end


@cases("hub_error")
def test_hub_errors_say_what_to_do(case):
    message = str(models.hub_error(case["input"]["name"], OSError(case["input"]["error"])))
    for name in case["expected"]["names"]:
        assert name in message
    for never in case["expected"].get("never", []):
        assert never not in message


@cases("oom_advice")
def test_out_of_memory_advice(case):
    advice = oom_advice(**case["input"]).advice
    assert advice[: len(case["expected"]["advice"])] == case["expected"]["advice"]
    first = advice[0]
    assert check_batch(
        first["per_device"], case["input"]["world"], first["grad_accum"], first["num_generations"]
    ).ok


@cases("preflight")
def test_preflight_scores_gold_and_corrupted(case):
    rows = [to_rl(p, style="messages") for p in generate(case["input"]["n"], seed=13, steps=2)]

    def other_marker(completions, ground_truth, **columns):
        return [
            float(f"#### {g}" in c[-1]["content"]) for c, g in zip(completions, ground_truth, strict=True)
        ]

    def everything(completions, **columns):
        return [1.0] * len(completions)

    reward = {
        "accuracy": "accuracy",
        "looks for another marker": other_marker,
        "pays everything": everything,
    }[case["input"]["reward"]]
    expected = case["expected"]
    if "refuses" in expected:
        with pytest.raises(PreflightError, match=expected["refuses"]) as caught:
            preflight(rows, reward)
        assert expected["shows"] in str(caught.value)
    else:
        report = preflight(rows, reward)
        assert {name: report[name] for name in expected} == expected


@pytest.mark.parametrize(
    "case", [c for c in CASES if "tested_in" in c["expected"]], ids=lambda case: case["id"]
)
def test_cases_that_need_a_run_have_one(case):
    file, name = case["expected"]["tested_in"].split("::")
    tree = ast.parse((HERE / file).read_text("utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
