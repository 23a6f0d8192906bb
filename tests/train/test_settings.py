"""Settings arrive or are reported; every field that is named anywhere exists in the installed versions."""

from __future__ import annotations

import dataclasses
import warnings

import peft
import pytest
import trl

from rl_lab.train import args as settings
from rl_lab.train._run import _TOLD
from rl_lab.train.args import LEARNING_RATES, build_grpo_args, build_lora, build_sft_args, check_learning_rate
from rl_lab.train.names import RENAMED, RETIRED, SettingWarning, translate
from rl_lab.train.precision import pick_device, pick_precision

GRPO = {field.name: field.default for field in dataclasses.fields(trl.GRPOConfig)}
SFT = {field.name: field.default for field in dataclasses.fields(trl.SFTConfig)}
LORA = {field.name: field.default for field in dataclasses.fields(peft.LoraConfig)}


def told(function, *args, **kwargs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*args, **kwargs)
    return result, [str(w.message) for w in caught if issubclass(w.category, SettingWarning)]


@pytest.mark.parametrize(
    ("device", "capability", "expected"),
    [
        ("cuda", (7, 5), "fp16"),
        ("cuda", 7.0, "fp16"),
        ("cuda cc 7.5", None, "fp16"),
        ("cuda:0", "8.0", "bf16"),
        ("cuda", (8, 9), "bf16"),
        ("cuda", (10, 0), "bf16"),
        ("cpu", None, "fp32"),
        ("mps", None, "fp32"),
    ],
)
def test_precision_follows_the_capability(device, capability, expected):
    assert pick_precision(device, capability) == expected


@pytest.mark.parametrize("flag", ["fp32", "float32"])
def test_fp32_can_be_asked_for_anywhere(flag):
    assert pick_precision("cuda", (7, 5), flag) == "fp32"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("cuda", (7, 5), "bf16"), r"needs a GPU of compute capability 8.0 or more, got 7.5"),
        (("cuda", None, "auto"), r"capability is needed"),
        (("cpu", None, "fp16"), r"precision='fp16' needs a GPU"),
        (("cuda", (8, 0), "bf61"), r"did you mean 'bf16'"),
        (("tpu", None, "auto"), r"device must be one of cpu, cuda, mps, got 'tpu'"),
    ],
)
def test_wrong_precisions_say_what_to_do(call, message):
    with pytest.raises(ValueError, match=message):
        pick_precision(*call)


def test_a_device_that_is_not_here_is_refused():
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.raises(ValueError, match="device='cuda' is not available"):
        pick_device("cuda")


def test_defaults_build_on_a_machine_without_a_gpu():
    """TRL's own defaults raise here: bf16 without a GPU."""
    config = build_grpo_args(device="cpu")
    assert (config.use_cpu, config.bf16, config.fp16, config.activation_checkpointing) == (
        True,
        False,
        False,
        False,
    )
    assert build_sft_args(device="cpu").bf16 is False


def test_grpo_and_sft_have_learning_rates_of_their_own():
    rates = [
        build_grpo_args().learning_rate,
        build_grpo_args(lora=True).learning_rate,
        build_sft_args(lora=False).learning_rate,
        build_sft_args().learning_rate,
    ]
    assert (
        rates
        == [1e-6, 1e-5, 2e-5, 2e-4]
        == [LEARNING_RATES[k] for k in (("grpo", "full"), ("grpo", "lora"), ("sft", "full"), ("sft", "lora"))]
    )
    assert GRPO["learning_rate"] == 1e-6


def test_a_given_learning_rate_reaches_the_config_and_high_ones_warn():
    config, notes = told(build_grpo_args, 3e-6)
    assert (config.learning_rate, notes) == (3e-6, [])
    config, notes = told(build_grpo_args, learning_rate=5e-5)
    assert config.learning_rate == 5e-5
    assert "learning_rate=5e-05 is above 1e-05" in notes[0]
    assert told(build_grpo_args, 5e-5, lora=True)[1] == []
    assert told(build_grpo_args, 5e-4, parameters=180_000)[1] == []
    assert check_learning_rate(1e-5, "grpo", lora=False) is None


def test_old_names_arrive_under_their_new_ones():
    config, notes = told(
        build_grpo_args,
        max_new_tokens=64,
        kl_coef=0.04,
        clip_range=0.1,
        group_size=4,
        batch_size=4,
        ppo_epochs=2,
    )
    assert (config.max_completion_length, config.beta, config.epsilon) == (64, 0.04, 0.1)
    assert (config.num_generations, config.per_device_train_batch_size, config.num_iterations) == (4, 4, 2)
    assert "kl_coef is called beta in GRPOConfig: beta=0.04" in notes
    assert build_sft_args(max_seq_length=128).max_length == 128


def test_retired_names_are_reported_by_name():
    config, notes = told(build_grpo_args, max_prompt_length=512)
    assert config.num_generations == 8
    assert notes[0].startswith("max_prompt_length=512 is not a setting of the installed GRPOConfig")


def test_unknown_names_are_refused_with_the_closest():
    with pytest.raises(
        ValueError, match=r"GRPOConfig has no setting 'num_generation'; did you mean 'num_generations'"
    ):
        build_grpo_args(num_generation=8)
    with pytest.raises(ValueError, match=r"'nonsense'"):
        build_sft_args(nonsense=1)


def test_two_names_for_one_setting_must_agree():
    with pytest.raises(ValueError, match="are the same setting; give one"):
        build_grpo_args(kl_coef=0.1, beta=0.2)
    assert told(build_grpo_args, kl_coef=0.1, beta=0.1)[0].beta == 0.1


@pytest.mark.parametrize("config_class", [trl.GRPOConfig, trl.SFTConfig], ids=["grpo", "sft"])
def test_every_older_name_arrives_or_is_reported(config_class):
    """Case I09: no TypeError, nothing dropped in silence."""
    fields = {field.name for field in dataclasses.fields(config_class)}
    for name in [*RENAMED, *RETIRED]:
        taken, notes = translate({name: 1}, config_class)
        assert taken or notes, name
        if name not in fields:
            assert notes, name
            assert name in notes[0]


def test_every_field_named_in_the_code_exists():
    assert {new for new in RENAMED.values() if new not in GRPO and new not in SFT} == set()
    assert {name for name in _TOLD if name not in GRPO and name not in SFT} == set()
    assert {"r", "lora_alpha", "target_modules", "task_type"} <= LORA.keys()


def test_retired_names_that_still_exist_are_passed_through():
    """A name that the installed version knows is never treated as retired."""
    config, notes = told(build_grpo_args, top_p=0.9, gradient_checkpointing=False)
    assert (config.top_p, notes) == (0.9, [])


def test_defaults_that_the_course_states():
    assert (GRPO["beta"], GRPO["epsilon"], GRPO["max_completion_length"], GRPO["num_generations"]) == (
        0.0,
        0.2,
        512,
        8,
    )
    assert (GRPO["temperature"], GRPO["scale_rewards"], GRPO["loss_type"]) == (1.0, "group", "dapo")
    assert GRPO["use_bias_correction_kl"] is True
    assert (SFT["max_length"], SFT["completion_only_loss"]) == (1024, None)
    assert (LORA["r"], LORA["lora_alpha"]) == (8, 8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"per_device_train_batch_size": 6}, r"6 completions .* are not a multiple of num_generations 8"),
        (
            {"num_generations": 1, "per_device_train_batch_size": 4},
            r"num_generations must be at least 2, got 1",
        ),
        ({"per_device_train_batch_size": 4, "world": 3}, r"12 completions .* are not a multiple"),
    ],
    ids=["six-by-eight", "group-of-one", "three-processes"],
)
def test_batches_without_whole_groups_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        build_grpo_args(**given)


def test_six_with_accumulation_four_works_for_groups_of_eight():
    assert (
        build_grpo_args(per_device_train_batch_size=6, gradient_accumulation_steps=4).generation_batch_size
        == 24
    )


def test_vllm_is_one_setting_and_its_absence_is_told(monkeypatch):
    import importlib.util

    if importlib.util.find_spec("vllm") is None:
        with pytest.raises(ImportError, match=r'pip install "trl\[vllm\]"'):
            build_grpo_args(use_vllm=True)
    monkeypatch.setattr(settings, "_check_vllm", lambda taken: None)
    assert build_grpo_args(use_vllm=True, vllm_mode="colocate").use_vllm


def test_fp16_on_a_cpu_is_refused_and_bf16_is_taken():
    """TRL takes both and computes in autocast, the one of them slowly or not at all."""
    with pytest.raises(ValueError, match="precision='fp16' needs a GPU"):
        build_grpo_args(device="cpu", fp16=True)
    assert build_grpo_args(device="cpu", bf16=True).bf16 is True


def test_lora_is_built_from_words():
    config = build_lora(16)
    assert (config.r, config.lora_alpha, config.target_modules, config.task_type) == (
        16,
        32,
        "all-linear",
        "CAUSAL_LM",
    )
    with pytest.raises(ValueError, match="rank must be at least 1, got 0"):
        build_lora(0)
    with pytest.raises(
        ValueError, match="LoraConfig has no setting 'lora_dropuot'; did you mean 'lora_dropout'"
    ):
        build_lora(4, lora_dropuot=0.1)


@pytest.mark.parametrize(
    "targets", [["q_proj", "lm_head"], ["model.lm_head"], ".*(q_proj|lm_head)", "lm_head"]
)
def test_an_adapter_on_the_output_layer_is_warned_about(targets):
    with pytest.warns(SettingWarning, match="TRL's trainers refuse an adapter there"):
        build_lora(4, target_modules=targets)


@pytest.mark.parametrize("targets", [["embed_tokens"], ["q_proj", "wte"], r".*embed_tokens"])
def test_an_adapter_on_an_embedding_that_may_be_tied_is_warned_about(targets):
    with pytest.warns(SettingWarning, match="the adapter leaves the output layer as it was"):
        build_lora(4, target_modules=targets)


@pytest.mark.parametrize("targets", ["all-linear", ["q_proj", "head"], r".*\.(q|v)_proj", ["embed_dropout"]])
def test_other_targets_are_taken_without_a_word(targets, recwarn):
    build_lora(4, target_modules=targets)
    build_lora(4, target_modules=["embed_tokens"], ensure_weight_tying=True)
    assert not recwarn.list


def test_trl_does_refuse_it(policy, rows, grpo_settings):
    """What the warning says is so; in SFT and in GRPO."""
    from rl_lab.train.grpo import run_grpo
    from rl_lab.train.sft import run_sft

    with pytest.warns(SettingWarning):
        lora = build_lora(2, target_modules=["lm_head"])
    with pytest.raises(ValueError, match="adapter to `lm_head` is not supported"):
        run_grpo(policy.copy(), rows, lora=lora, skip_preflight=True, **grpo_settings)
    examples = [
        {"prompt": row["prompt"], "completion": [{"role": "assistant", "content": "55"}]} for row in rows
    ]
    with pytest.raises(ValueError, match="adapter to `lm_head` is not supported"):
        run_sft(policy.copy(), examples, lora=lora, max_steps=1, output_dir=grpo_settings["output_dir"])
