"""Train a model: SFT, GRPO, and a tool that it learns to call. Needs torch, transformers, trl, peft and datasets.

The headline on a CPU, in a minute (chapter 12)::

    from rl_lab.train import (evaluate_policy, make_environment, make_tiny, run_grpo, shopping, warm_up)

    policy = make_tiny(seed=1)                                       # 0.18 million parameters, made here
    warm_up(policy, shopping.demonstrations(8000, seed=1), seed=1)   # SFT: 30 % call the calculator, 70 % guess
    test = shopping.to_rows(shopping.sample_problems(200, 99_000, held_out=True))
    tools = make_environment()                                       # chapter 4's ShoppingEnv as a tool
    before = evaluate_policy(policy, test, tools)
    run = run_grpo(policy, shopping.to_rows(shopping.sample_problems(320, 501)), "outcome", environment=tools,
                   max_steps=40, per_device_train_batch_size=64, max_completion_length=64, learning_rate=5e-4, seed=1)
    after = evaluate_policy(policy, test, tools)                     # run["curves"]["tool_rate"] has climbed

Controls: ``make_environment("lying")``, ``make_environment("failing")`` after ``demonstrations(...,
failure_share=0.3)``, ``make_environment(reward="milestones")`` with the reward "milestones",
``run_grpo(..., learn_tool_tokens=True)``. Longer answers because it pays: :mod:`rl_lab.train.totals`.

A real chat model on a CPU, in minutes (chapter 10), or any model of the hub on a GPU (chapters 16 and 17)::

    policy = load_model("smollm2")                                   # or "Qwen/Qwen2.5-0.5B-Instruct", or a folder
    task = load_task("problems", n_train=480, n_test=100)
    run = run_sft(policy, task.demonstrations, lora=build_lora(8), learning_rate=1e-3, max_steps=30)
    policy.save("runs/out/smollm2_sft")

One GRPO step taken apart on real tensors (chapter 11): ``rollout.play``, ``mini_grpo.centre``, ``make_batch``,
``log_probs``, ``grpo_loss``; all in one: ``mini_grpo.grpo_step``.

A run is a dict that ``rl_lab.explore.replay`` draws; ``run["samples"][i]["turns"]`` goes into ``trajectory``. The same
from the command line: ``python -m rl_lab.train sft|grpo|evaluate --config configs/x.yaml key=value``.

Importing this package is quick and needs nothing; torch and its company are imported by the functions that use them,
and a missing one is an ImportError that holds the install command.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "Evaluation": "evaluate",
    "Monitor": "monitor",
    "Policy": "policy",
    "PreflightError": "tool_checks",
    "RewardError": "reward",
    "SettingWarning": "names",
    "ShoppingTools": "environment",
    "build_grpo_args": "args",
    "build_lora": "args",
    "build_sft_args": "args",
    "environment_reward": "environment",
    "episode_turns": "record",
    "evaluate_policy": "evaluate",
    "load_model": "models",
    "load_task": "tasks",
    "make_environment": "environment",
    "make_tiny": "tiny",
    "make_trainer": "grpo",
    "pick_precision": "precision",
    "play": "rollout",
    "read_run": "record",
    "run_grpo": "grpo",
    "run_sft": "sft",
    "settle": "environment",
    "warm_up": "tiny",
    "write_run": "record",
}
_MODULES = ("mini_grpo", "shopping", "totals")

__all__ = sorted([*_HOMES, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"rl_lab.train.{_HOMES[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"rl_lab.train.{name}")
    raise AttributeError(f"module 'rl_lab.train' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
