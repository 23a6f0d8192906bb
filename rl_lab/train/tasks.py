"""What can be trained on? Four tasks, each with its demonstrations, its prompts, and held-out problems to test on.

=============  ===============================================  ======================  ===============
task           problems                                         turns                   needs
=============  ===============================================  ======================  ===============
``shopping``   the running example's family                     several, a calculator   nothing
``totals``     running totals, right only with the steps         one                     nothing
``problems``   generated word problems in GSM8K's form          one                     nothing
``gsm8k``      GSM8K itself                                     one                     hub, or a folder
=============  ===============================================  ======================  ===============

>>> load_task("shopping", n_train=3, n_test=2).said
'shopping: 3 training and 2 held-out problems, generated with seed 0; 0 left out'
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rl_lab import gsm8k
from rl_lab._record import closest
from rl_lab.problems import generate
from rl_lab.train import shopping, totals

__all__ = ["TASKS", "Task", "load_task"]

HUB = "openai/gsm8k"
_ORIGINS = {HUB: "GSM8K", "bundled": "bundled problems in GSM8K's form"}


@dataclass
class Task:
    """Data of a run."""

    name: str
    demonstrations: list[Any]  # for SFT: rows with prompt and completion, or conversations
    rows: list[dict[str, Any]]  # for GRPO: prompt, ground_truth and what the environment reads
    test_rows: list[dict[str, Any]]  # the same form; none of their problems is in training
    uses_tools: bool = False
    reward: str = "accuracy"
    said: str = ""  # what was loaded, from where, and how much was left out


def load_task(name: str, *, n_train: int = 1000, n_test: int = 200, seed: int = 0, **options: Any) -> Task:
    """Make or load a task's data.

    Parameters
    ----------
    name : {"shopping", "totals", "problems", "gsm8k"}
    n_train, n_test : int
        Number of training and of held-out problems.
    seed : int
        Of generated training problems. The held-out ones are the same for every seed, so that runs can be compared.
    **options
        shopping: ``tool_share``, ``failure_share``, ``retry_share``, ``wording``. totals: ``step_share``,
        ``operations``. problems: ``problem_steps`` (two numbers), ``families``, ``max_value``, ``system``.
        gsm8k: ``source`` (a folder, or the hub's name; by default the folder in the environment variable
        ``RL_LAB_GSM8K``, else the hub), ``system``.

    Returns
    -------
    Task

    Raises
    ------
    ValueError
        If the task is unknown.
    OSError
        If GSM8K is on the hub alone, and the hub cannot be reached; names the ways out.
    TypeError
        If it has no such option.
    """
    if name not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {name!r}{closest(name, TASKS)}")
    return TASKS[name](n_train, n_test, seed, **options)


TEST_SEED = 99_000


def _shopping(n_train: int, n_test: int, seed: int, wording: str = "percent", **shares: float) -> Task:
    return Task(
        "shopping",
        shopping.demonstrations(n_train, seed, wording=wording, **shares),
        shopping.to_rows(shopping.sample_problems(n_train, seed + 500), wording),
        shopping.to_rows(shopping.sample_problems(n_test, TEST_SEED, held_out=True), wording),
        uses_tools=True,
        reward="outcome",
        said=_said("shopping", n_train, n_test, f"generated with seed {seed}", 0),
    )


def _totals(n_train: int, n_test: int, seed: int, step_share: float = 0.3, operations: int = 3) -> Task:
    return Task(
        "totals",
        totals.demonstrations(n_train, seed, step_share=step_share, operations=operations),
        totals.to_rows(totals.sample_problems(n_train, seed + 500, operations=operations)),
        totals.to_rows(totals.sample_problems(n_test, TEST_SEED, held_out=True, operations=operations)),
        said=_said("totals", n_train, n_test, f"generated with seed {seed}", 0),
    )


def _problems(
    n_train: int,
    n_test: int,
    seed: int,
    problem_steps: tuple[int, int] = (1, 2),
    families: list[str] | None = None,
    max_value: int = 100,
    system: str | None = None,
) -> Task:
    kinds = {"steps": tuple(problem_steps), "families": families, "max_value": max_value}
    train = generate(n_train, seed, split="train", **kinds)
    test = generate(n_test, TEST_SEED, split="test", **kinds)
    return _from_problems("problems", train, test, system, f"generated with seed {seed}")


def _gsm8k(
    n_train: int, n_test: int, seed: int, source: str | None = None, system: str | None = None
) -> Task:
    source = source or os.environ.get("RL_LAB_GSM8K") or HUB
    train = gsm8k.load(source, "train", limit=n_train)
    test = gsm8k.load(source, "test", limit=n_test)
    return _from_problems("gsm8k", train, test, system, _ORIGINS.get(source, "a GSM8K folder"))


def _from_problems(name: str, train: Any, test: Any, system: str | None, origin: str) -> Task:
    options = {"on_error": "skip", "style": "messages", "system": system}
    sft, rl, held_out = (
        gsm8k.convert(rows, to, **options) for rows, to in ((train, "sft"), (train, "rl"), (test, "rl"))
    )
    left_out = len(rl.skipped) + len(held_out.skipped)
    said = _said(name, len(rl), len(held_out), origin, left_out)
    return Task(name, list(sft), list(rl), list(held_out), said=said)


def _said(name: str, n_train: int, n_test: int, origin: str, left_out: int) -> str:
    return f"{name}: {n_train} training and {n_test} held-out problems, {origin}; {left_out} left out"


TASKS: dict[str, Callable[..., Task]] = {
    "shopping": _shopping,
    "totals": _totals,
    "problems": _problems,
    "gsm8k": _gsm8k,
}
