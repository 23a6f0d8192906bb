"""The presets hold settings that the installed libraries know, and that fit the cards they are for."""

from __future__ import annotations

import dataclasses
import warnings

import pytest
import yaml

from rl_lab.footprint import footprint
from rl_lab.grpo import check_batch
from rl_lab.train import SettingWarning, build_grpo_args, build_lora, build_sft_args
from rl_lab.train.presets import ASKED, LARGE_GB, MIN_GB, PRESETS, choose, pick_preset
from tests.notebooks import ROOT

trl = pytest.importorskip("trl", reason="needs the train extra")
peft = pytest.importorskip("peft", reason="needs the train extra")

GIB = 2**30


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_every_field_is_known_and_arrives_without_a_warning(preset):
    size = 180_000 if preset.model == "tiny" else 500_000_000
    for build, owner, settings in (
        (build_sft_args, trl.SFTConfig, preset.sft),
        (build_grpo_args, trl.GRPOConfig, preset.grpo),
    ):
        assert set(settings) <= {field.name for field in dataclasses.fields(owner)}
        given = {key: value for key, value in settings.items() if key != "use_vllm"}
        with warnings.catch_warnings():
            warnings.simplefilter("error", SettingWarning)
            args = build(device="cpu", lora=preset.lora is not None, parameters=size, **given)
        for key, value in given.items():
            own = "activation_checkpointing" if key == "gradient_checkpointing" else key
            assert getattr(args, own) == value, key


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_the_adapter_is_what_the_preset_says(preset):
    adapter = preset.adapter()
    if preset.lora is None:
        assert adapter is None
        return
    assert isinstance(adapter, peft.LoraConfig)
    assert adapter.r == preset.lora["rank"]
    targets = preset.lora.get("target_modules", "all-linear")
    assert adapter.target_modules == (targets if isinstance(targets, str) else set(targets))
    assert {f.name for f in dataclasses.fields(peft.LoraConfig)} >= {"r", "lora_alpha", "target_modules"}
    assert build_lora(**preset.lora).lora_alpha == 2 * adapter.r


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_a_step_holds_whole_groups(preset):
    settings = preset.grpo
    verdict = check_batch(
        settings["per_device_train_batch_size"],
        grad_accum=settings.get("gradient_accumulation_steps", 1),
        num_generations=settings["num_generations"],
    )
    assert verdict.ok, verdict.message
    assert verdict.effective == preset.completions
    needed = settings["max_steps"] * verdict.prompts_per_step
    assert needed <= preset.n_grpo or preset.name in ("cpu", "t4")  # the others see no problem twice
    if preset.name == "t4":
        assert verdict.prompts_per_step * settings["max_steps"] <= preset.n_grpo


@pytest.mark.parametrize(("name", "gib"), [("t4", MIN_GB), ("large", LARGE_GB), ("short", LARGE_GB)])
def test_a_gpu_preset_fits_the_smallest_card_that_it_is_chosen_for(name, gib):
    preset = PRESETS[name]
    arithmetic = "bf16=True" if name == "t4" else "bf16 weights"  # a T4 keeps the base in 32 bits
    shared = {"mode": "lora", "r": preset.lora["rank"], "precision": arithmetic, "prompt_tokens": 200}
    for settings, length in ((preset.sft, preset.sft["max_length"] - 200), (preset.grpo, None)):
        count = footprint(
            "Qwen2.5-0.5B",
            per_device=settings["per_device_train_batch_size"],
            completion_tokens=length or settings["max_completion_length"],
            checkpointing=settings["gradient_checkpointing"],
            **shared,
        )
        assert count.peak < 0.9 * gib * GIB, (name, count.peak / GIB)


@pytest.mark.parametrize("name", ["t4", "large"])
@pytest.mark.parametrize("method", ["sft", "grpo"])
def test_the_configurations_for_the_command_line_say_the_same(name, method):
    read = yaml.safe_load((ROOT / "configs" / f"qwen_{name}_{method}.yaml").read_text(encoding="utf-8"))
    preset = PRESETS[name]
    expected = dict(getattr(preset, method)) | {
        "model_name_or_path": preset.model,
        "task": preset.task,
        "system": ASKED,
        "n_train": preset.n_sft if method == "sft" else preset.n_grpo,
        "n_test": preset.n_test,
        "lora_r": preset.lora["rank"],
    }
    if method == "sft":
        expected["evaluate_tokens"] = preset.evaluate_tokens
    for key, value in expected.items():
        if key in read:  # save_steps of SFT is the presets' alone
            assert float(read[key]) == value if isinstance(value, float) else read[key] == value, key
    assert set(expected) - set(read) <= {"save_steps"}


@pytest.mark.parametrize(
    ("machine", "name", "said"),
    [
        (("cpu",), "cpu", "no CUDA card"),
        (("mps",), "cpu", "an Apple GPU"),
        (("cuda", (7, 5), 14.7), "t4", "no bf16 units, so it trains in fp16"),
        (("cuda", (7, 0), 32.0), "t4", "trains in fp16"),
        (("cuda", (8, 9), 22.0), "t4", "it trains in bf16"),
        (("cuda", (8, 0), 39.4), "t4", "bf16"),
        (("cuda", (8, 0), 79.2), "large", "bf16"),
        (("cuda", (9, 0), 139.0), "large", "139.0 GiB"),
        (("cuda", (8, 6), 8.0), "cpu", "t4 wants 14.0 or more"),
    ],
    ids=lambda value: str(value).replace(" ", ""),
)
def test_the_choice_and_its_reason(machine, name, said):
    choice = choose(*machine)
    assert choice.name == name
    assert choice.why.startswith(f"{name}: ")
    assert said in choice.why


def test_without_the_hub_a_card_runs_the_bundled_model():
    assert choose("cuda", (9, 0), 139.0, hub=False).name == "bundled"
    assert PRESETS["bundled"].model == "smollm2"


def test_a_preset_can_be_named_and_what_was_not_run_is_said(monkeypatch, capsys):
    monkeypatch.setenv("RL_LAB_PRESET", "t4")
    assert pick_preset().name == "t4"
    assert "not run on our machines" in capsys.readouterr().out
    assert pick_preset("cpu").name == "cpu"
    assert "not run" not in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"no preset named 'tiney'; choose one of t4, .*did you mean 'tiny'"):
        pick_preset("tiney")


def test_here_the_machine_is_looked_at(monkeypatch):
    import torch

    monkeypatch.delenv("RL_LAB_PRESET", raising=False)
    if torch.cuda.is_available():
        pytest.skip("for machines without a CUDA card")
    assert pick_preset(say=None).name == "cpu"


def test_both_chapters_are_examined_on_the_same_problems_and_train_on_others():
    for name in ("cpu", "recorded", "tiny"):
        preset = PRESETS[name]
        sft, grpo = preset.data("sft"), preset.data("grpo")
        assert sft.test_rows == grpo.test_rows
        assert len(sft.test_rows) == preset.n_test
        assert len(sft.demonstrations) == preset.n_sft
        assert len(grpo.rows) == preset.n_grpo
        question = lambda row: row["prompt"][-1]["content"]  # noqa: E731
        held_out = {question(row) for row in sft.test_rows}
        assert not held_out & {question(row) for row in [*sft.rows, *grpo.rows]}
    with pytest.raises(ValueError, match="method must be 'sft' or 'grpo', got 'ppo'"):
        PRESETS["cpu"].data("ppo")
