"""GRPO with TRL: it trains, resumes, masks what the tool wrote, and every documented mistake has an error of ours."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
import torch

from rl_lab.train.args import build_grpo_args, build_lora
from rl_lab.train.environment import environment_reward, make_environment
from rl_lab.train.grpo import make_trainer, run_grpo
from rl_lab.train.preflight import PreflightError
from rl_lab.train.record import read_run
from rl_lab.train.reward import RewardError
from rl_lab.train.rollout import sample


def varied(completions, **columns):
    """A reward that differs within each group."""
    return [float(sum(map(ord, str(c[-1]["content"]))) % 5) / 5 for c in completions]


def weights(policy):
    return torch.cat([p.detach().flatten().clone() for p in policy.model.parameters()])


def test_two_steps_move_the_weights_and_are_recorded(policy, rows, grpo_settings, tmp_path):
    before = weights(policy)
    path = tmp_path / "run.json"
    run = run_grpo(
        policy,
        rows,
        varied,
        environment=make_environment(),
        skip_preflight=True,
        record_to=path,
        name="two steps",
        command="python train.py",
        **grpo_settings,
    )
    assert not torch.equal(before, weights(policy))
    assert run["steps"] == [1, 2]
    assert {"reward", "entropy", "tool_rate", "completions/mean_length"} <= run["curves"].keys()
    assert all(len(curve) == 2 for curve in run["curves"].values())
    assert read_run(path) == json.loads(json.dumps(run))
    assert run["results"]["steps"] == 2
    assert run["versions"]["trl"]
    assert run["samples"][0]["prompt"].startswith("A")
    assert str(tmp_path) not in path.read_text()


def test_outcome_reward_passes_preflight_and_trains(policy, rows, grpo_settings):
    run = run_grpo(policy, rows, "outcome", environment=make_environment(), **grpo_settings)
    assert run["preflight"][0] == "reward environment_reward pays 8 gold completions 1 and 8 corrupted ones 0"
    assert run["settings"]["calculator"] == "honest"


def test_milestones_are_paid_by_the_environment(policy, rows, grpo_settings):
    run = run_grpo(
        policy, rows, "milestones", environment=make_environment(reward="milestones"), **grpo_settings
    )
    assert run["settings"]["environment_reward"] == "milestones"


def test_single_turn_with_a_reward_of_the_ground_floor(policy, rows, grpo_settings):
    run = run_grpo(policy, rows, "accuracy", **grpo_settings)
    assert "rewards/accuracy/mean" in run["curves"]
    assert "tool_rate" not in run["curves"]


def test_tool_tokens_are_masked_and_the_ablation_unmasks_them(policy, rows):
    for ablated in (False, True):
        args = build_grpo_args(1e-4, parameters=1, num_generations=8, max_completion_length=64, seed=1)
        trainer = make_trainer(
            policy.copy(), rows[:1], varied, args, environment=make_environment(), learn_tool_tokens=ablated
        )
        trainer.model.train()
        inputs = trainer._generate_and_score_completions([rows[0]] * 8)
        tag = policy.tokenizer.convert_tokens_to_ids("<tool_response>")
        written_by_tool = inputs["completion_ids"] == tag
        assert written_by_tool.any()
        assert bool(inputs["tool_mask"][written_by_tool].any()) is ablated


def test_tool_suffix_and_end_are_what_trl_makes_of_them(policy, rows):
    from rl_lab.train._chat import tool_suffix

    args = build_grpo_args(num_generations=8, max_completion_length=64)
    trainer = make_trainer(policy, rows[:1], varied, args, environment=make_environment())
    for text in ("60", "error: division by zero"):
        results = [{"role": "tool", "name": "calc", "content": text}]
        assert tool_suffix(policy.tokenizer, results) == trainer._get_tool_suffix_ids(results)
    assert trainer.eos_token_ids == policy.end_ids


def test_with_the_adapter_off_the_model_is_the_base(policy, rows, grpo_settings):
    base = policy.copy()
    run = run_grpo(
        policy,
        rows,
        varied,
        environment=make_environment(),
        lora=build_lora(4),
        beta=0.05,
        skip_preflight=True,
        **grpo_settings,
    )
    assert run["curves"]["kl"][0] == pytest.approx(0.0, abs=1e-6)
    ids = torch.tensor([policy.tokenizer("Final Answer: 55")["input_ids"]])
    with torch.no_grad():
        changed = policy.model(input_ids=ids).logits
        with policy.model.disable_adapter():
            off = policy.model(input_ids=ids).logits
        assert torch.allclose(off, base.model(input_ids=ids).logits, atol=1e-5)
        assert not torch.allclose(off, changed, atol=1e-5)


def test_a_copy_of_a_trained_policy_has_weights_of_its_own(policy, rows, grpo_settings):
    """TRL's fused head is a closure over the model it was made for."""
    run_grpo(policy, rows, varied, skip_preflight=True, **grpo_settings)
    twin = policy.copy()
    with torch.no_grad():
        for p in twin.model.parameters():
            p.zero_()
        ids = torch.tensor([[5, 6, 7]])
        assert twin.model(input_ids=ids).logits.abs().max() == 0
        assert policy.model(input_ids=ids).logits.abs().max() > 0


def test_a_policy_trains_again_after_training(policy, rows, grpo_settings):
    for _ in range(2):
        run_grpo(policy, rows, varied, skip_preflight=True, **grpo_settings | {"max_steps": 1})
    assert sample(policy, [[1, 2, 3]], 4, 0.0)


def test_resume_continues_at_the_step(policy, rows, grpo_settings, capsys):
    settings = grpo_settings | {"save_steps": 1, "max_steps": 2}
    first = run_grpo(policy, rows, varied, skip_preflight=True, **settings)
    again = run_grpo(policy, rows, varied, skip_preflight=True, resume=True, **settings | {"max_steps": 3})
    assert "resuming from checkpoint-2" in capsys.readouterr().out
    assert again["steps"] == [1, 2, 3]
    assert again["curves"]["reward"][:2] == pytest.approx(first["curves"]["reward"], rel=1e-3)


def test_resume_without_a_checkpoint_says_so_and_starts_fresh(policy, rows, grpo_settings, capsys):
    run = run_grpo(policy, rows, varied, skip_preflight=True, resume=True, **grpo_settings | {"max_steps": 1})
    assert "no checkpoint to resume from; starting fresh" in capsys.readouterr().out
    assert run["steps"] == [1]


def test_half_a_checkpoint_is_passed_over(tmp_path):
    from rl_lab.train._run import complete_checkpoint

    for name, whole in (("checkpoint-1", True), ("checkpoint-2", False), ("checkpoint-10", True)):
        (tmp_path / name).mkdir()
        if whole:
            (tmp_path / name / "trainer_state.json").write_text("{}")
    assert complete_checkpoint(tmp_path).name == "checkpoint-10"
    (tmp_path / "checkpoint-10" / "trainer_state.json").unlink()
    assert complete_checkpoint(tmp_path).name == "checkpoint-1"


def test_full_tuning_with_kl_needs_no_folder_of_yours(policy, rows, grpo_settings):
    """TRL reloads the reference from a folder, and a model made in memory has none."""
    run = run_grpo(policy, rows, varied, beta=0.05, skip_preflight=True, **grpo_settings | {"max_steps": 1})
    assert run["curves"]["kl"][0] == pytest.approx(0.0, abs=1e-5)


def test_the_reference_of_full_tuning_is_the_policy_now_not_the_one_in_its_folder(
    policy, rows, grpo_settings, tmp_path
):
    """TRL reads the reference from where the model was loaded: for a model trained since, that is an older one."""
    from rl_lab.train.models import load_model

    loaded = load_model(str(policy.save(tmp_path / "saved")), device="cpu", say=None)
    with torch.no_grad():
        for p in loaded.model.parameters():
            p.mul_(1.2)
    run = run_grpo(loaded, rows, varied, beta=0.05, skip_preflight=True, **grpo_settings | {"max_steps": 1})
    assert run["curves"]["kl"][0] == pytest.approx(0.0, abs=1e-5)
    # Neither the temporary folder nor the one whose weights these no longer are.
    assert loaded.model.config._name_or_path == ""


def test_without_kl_weight_there_is_no_kl_curve(policy, rows, grpo_settings):
    run = run_grpo(policy, rows, varied, skip_preflight=True, **grpo_settings | {"max_steps": 1})
    assert "kl" not in run["curves"]


def test_equal_rewards_are_warned_about(policy, rows, grpo_settings):
    def flat(completions, **columns):
        return [1.0] * len(completions)

    run = run_grpo(policy, rows, flat, skip_preflight=True, **grpo_settings | {"max_steps": 5})
    assert run["curves"]["frac_reward_zero_std"] == [1] * 5
    assert run["curves"]["grad_norm"] == [0] * 5
    assert run["warnings"][0].startswith("no learning signal for 5 steps")


def test_a_tool_result_that_no_longer_fits_is_counted(policy, rows, grpo_settings):
    short = grpo_settings | {"max_steps": 1, "max_completion_length": 12, "per_device_train_batch_size": 16}
    run = run_grpo(policy, rows, varied, environment=make_environment(), skip_preflight=True, **short)
    assert run["curves"]["unanswered_calls"][0] > 0
    assert "end in a tool call without its result" in " ".join(run["warnings"])


def test_adapter_and_new_adapter_are_refused(policy, rows, grpo_settings):
    peft = pytest.importorskip("peft")
    policy.model = peft.get_peft_model(policy.model, build_lora(2))
    with pytest.raises(ValueError, match=r"has a LoRA adapter already, got lora= as well"):
        run_grpo(policy, rows, varied, lora=build_lora(2), skip_preflight=True, **grpo_settings)


def test_evaluation_during_the_run_is_recorded(policy, rows, grpo_settings):
    results = iter([{"accuracy": 0.5, "n": 10}, {"accuracy": 0.25, "n": 10}])
    run = run_grpo(
        policy,
        rows,
        varied,
        skip_preflight=True,
        evaluate=lambda: next(results),
        evaluate_every=1,
        **grpo_settings,
    )
    assert [entry["accuracy"] for entry in run["held_out"]] == [0.5, 0.25]


def test_prompts_as_text_train_too_and_rewards_see_text(policy, rows, grpo_settings):
    seen = []

    def keep(completions, **columns):
        seen.extend(completions)
        return [float(i % 2) for i in range(len(completions))]

    texts = [
        {
            "prompt": policy.tokenizer.apply_chat_template(
                row["prompt"], tokenize=False, add_generation_prompt=True
            ),
            "ground_truth": row["ground_truth"],
        }
        for row in rows
    ]
    run_grpo(policy, texts, keep, skip_preflight=True, **grpo_settings | {"max_steps": 1})
    assert all(isinstance(completion, str) for completion in seen)
    run_grpo(policy, texts, "accuracy", **grpo_settings | {"max_steps": 1})


def test_an_adapter_that_goes_on_is_its_own_reference(policy, rows, grpo_settings):
    """TRL freezes a copy of the adapter it starts from: the KL starts at 0 although the adapter is not new."""
    one = grpo_settings | {"max_steps": 1}
    run_grpo(policy, rows, varied, lora=build_lora(4), skip_preflight=True, **one | {"learning_rate": 0.05})
    run = run_grpo(policy, rows, varied, beta=0.05, skip_preflight=True, **one)
    assert run["curves"]["kl"][0] == pytest.approx(0.0, abs=1e-5)
    assert run["settings"]["lora_r"] == 4


def test_broken_calls_are_counted(policy, rows):
    from rl_lab.train.grpo import _Keeper

    logged = {}
    broken = [
        {
            "role": "assistant",
            "content": '<tool_call>\n{"name": "calc", "arguments": {"expression": 80*0.75}}',
        }
    ]
    whole = [{"role": "assistant", "content": "Final Answer: 55"}]
    columns = {
        "completions": [broken, whole],
        "environments": [None, None],
        "log_metric": logged.__setitem__,
        "prompts": ["a", "b"],
    }
    _Keeper({"samples": []}, 1)(columns, [0.0, 1.0])
    assert logged == {"tool_rate": 0.0, "unanswered_calls": 0.0, "malformed_calls": 0.5}


def test_a_tiny_model_computes_on_one_thread_and_the_setting_is_restored(policy, rows, grpo_settings):
    seen = []

    def threads(completions, **columns):
        seen.append(torch.get_num_threads())
        return [float(i % 2) for i in range(len(completions))]

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        run_grpo(policy, rows, threads, skip_preflight=True, **grpo_settings | {"max_steps": 1})
        assert seen == [1]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


BAD_REWARDS = {
    "one-float": (
        lambda completions, **columns: 1.0,
        r"must return one number per completion \(8\), got 1.0",
    ),
    "too-few": (lambda completions, **columns: [1.0], r"must return 8 rewards, one per completion, got 1"),
    "texts": (
        lambda completions, **columns: ["1"] * 8,
        r"must return numbers or None, got '1' for completion 0",
    ),
    "none": (lambda completions, **columns: [None] * 8, r"returned None for all 8 completions"),
    "nan": (lambda completions, **columns: [float("nan")] * 8, r"must return finite numbers, got nan"),
}


@pytest.mark.parametrize("name", BAD_REWARDS)
def test_a_broken_reward_is_named(policy, rows, grpo_settings, name):
    reward, message = BAD_REWARDS[name]
    with pytest.raises(RewardError, match=message):
        run_grpo(policy, rows, reward, skip_preflight=True, **grpo_settings)


def test_a_reward_that_trl_cannot_call_is_refused_before_the_model_works(policy, rows, grpo_settings):
    def f(completion, truth):
        return 1.0

    def g(completions, ground_truth):
        return [1.0] * len(completions)

    for reward in (f, g):
        with pytest.raises(RewardError, match=r"must take completions and \*\*columns, got [fg]\("):
            run_grpo(policy, rows, reward, **grpo_settings)


def test_environment_reward_without_environment_says_what_to_pass():
    with pytest.raises(ValueError, match="pass environment_factory=make_environment"):
        environment_reward([[{"role": "assistant", "content": "Final Answer: 5"}]])


def test_prompts_as_text_cannot_have_tools(policy, grpo_settings):
    with pytest.raises(PreflightError, match="tools need prompts as messages, got text"):
        run_grpo(
            policy,
            [{"prompt": "6*9?", "ground_truth": "54"}],
            "outcome",
            environment=make_environment(),
            **grpo_settings,
        )


KILLED = """
import sys, torch
torch.set_num_threads(1)
sys.path.insert(0, sys.argv[2])
from test_grpo import run_that_is_killed
run_that_is_killed(sys.argv[1], 400)
"""


def run_that_is_killed(folder, steps, **more):
    """Small and quick, with a checkpoint at every step."""
    from rl_lab.train import shopping, tiny

    def varied(completions, **columns):
        return [float(i % 2) for i in range(len(completions))]

    settings = {
        "num_generations": 4,
        "per_device_train_batch_size": 4,
        "max_completion_length": 8,
        "save_steps": 1,
    }
    return run_grpo(
        tiny.make_tiny(0),
        shopping.to_rows(shopping.sample_problems(8, 1)),
        varied,
        skip_preflight=True,
        output_dir=str(folder),
        max_steps=steps,
        learning_rate=1e-4,
        live=False,
        **settings,
        **more,
    )


def test_a_killed_run_goes_on_where_it_was(tmp_path, root, capsys):
    """Case I06: the process is killed, not stopped; the second one starts at the last whole checkpoint."""
    out = tmp_path / "killed"
    command = [sys.executable, "-c", KILLED, str(out), str(root / "tests" / "train")]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=root)
    try:
        deadline = time.monotonic() + 180
        while not (out / "checkpoint-2" / "trainer_state.json").is_file():
            assert time.monotonic() < deadline, "no checkpoint within three minutes"
            assert first.poll() is None, "the run ended by itself"
            time.sleep(0.05)
    finally:
        first.kill()
        first.wait()
    from rl_lab.train._run import complete_checkpoint

    at = int(complete_checkpoint(out).name.removeprefix("checkpoint-"))
    run = run_that_is_killed(out, at + 1, resume=True)
    said = capsys.readouterr().out
    assert f"resuming from checkpoint-{at}" in said
    assert f"step {at + 1}/{at + 1}" in said
    assert run["steps"] == list(range(1, at + 2))
