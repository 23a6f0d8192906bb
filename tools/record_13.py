"""Record what chapter 13 evaluates: ``python -m tools.record_13 train sample`` writes ``runs/13_*.json``.

``train`` makes the checkpoints: LoRA-SFT of SmolLM2-135M as in chapter 10, on problems of one to three steps, kept
after 20 and 40 updates under ``runs/out`` (five minutes on two quiet cores). ``sample`` lets the untrained model and
each checkpoint work on the same held-out problems of one to four steps, once greedily and eight or sixteen times at
temperature 1, and on the regression set of :mod:`rl_lab.regression` (ten minutes). ``forget`` asks the regression set
alone; with ``--rates high`` after a training at five times the learning rate.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RUNS = Path(__file__).resolve().parents[1] / "runs"
KEPT = RUNS / "out" / "13"  # checkpoints: large, and not in git
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
BATCH = 16  # problems an update; each problem is seen at most once
N_TRAIN = 960  # problems made; how many are seen depends on the updates
TRAINED_ON = {"problem_steps": (1, 3), "max_value": 60}
CHECKPOINTS = (0, 20, 40)
LEVELS = (1, 2, 3, 4)  # steps of the held-out problems; no problem of four steps was trained on
PER_LEVEL = 15
TEST_SEED = 99_130
SAMPLES = {0: 8, 20: 8, 40: 16}  # of each problem, at each checkpoint
TOKENS = 96  # limit of a completion; the longest worked solution of these problems has 82
PATIENT = 192  # a second limit for the untrained model, which never stops by itself
KEPT_TEXTS = 8  # of the samples of the last checkpoint, per problem, to read
ANSWER_TOKENS = 24  # limit for the regression set
RATES = {"page": 1e-3, "high": 5e-3}
UPDATES = {"page": 40, "high": 20}

SETTINGS = {
    "model": "smollm2", "lora_r": 8, "lora_alpha": 16, "lora_target_modules": ATTENTION, "batch": BATCH,
    "n_train": N_TRAIN, "lr_scheduler_type": "constant_with_warmup", "warmup_steps": 3,
    "trained_on_steps": TRAINED_ON["problem_steps"], "max_value": TRAINED_ON["max_value"],
}  # fmt: skip


def main() -> None:
    """Parse the command line and do what was asked for, in order."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stages", nargs="+", choices=["train", "sample", "forget"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checkpoints", type=int, nargs="+", default=list(CHECKPOINTS))
    parser.add_argument("--rates", nargs="+", choices=list(RATES), default=["page"])
    parser.add_argument("--into", type=Path, default=RUNS)
    asked = parser.parse_args()
    torch.set_num_threads(2)
    warnings.simplefilter("ignore")
    for stage in asked.stages:
        if stage == "train":
            train(asked.seed, "page")
        elif stage == "sample":
            for checkpoint in asked.checkpoints:
                sample(checkpoint, asked.seed, asked.into)
        else:
            for rate in asked.rates:
                forget(rate, asked.seed, asked.into)


def folder(rate: str, seed: int) -> Path:
    """Where a training keeps its checkpoints."""
    return KEPT / f"{rate}_{seed}"


def train(seed: int, rate: str) -> dict[str, Any]:
    """Train one adapter and keep its checkpoints; returns the record of the run."""
    from rl_lab.train import build_lora, load_model, load_task, run_sft

    policy, updates = load_model("smollm2"), UPDATES[rate]
    task = load_task("problems", n_train=N_TRAIN, n_test=1, seed=seed, **TRAINED_ON)
    run = run_sft(
        policy,
        task.demonstrations,
        lora=build_lora(8, None, ATTENTION),
        learning_rate=RATES[rate],
        name=f"evaluation, rate {RATES[rate]:g}, seed {seed}",
        command=f"python -m tools.record_13 train --seed {seed}",
        max_steps=updates,
        per_device_train_batch_size=BATCH,
        lr_scheduler_type="constant_with_warmup",
        max_length=256,
        output_dir=str(folder(rate, seed)),
        save_steps=20,
        seed=seed,
        live=False,
        print_every=5,
    )
    print(f"trained: {run['results']}", flush=True)
    return run


def sample(checkpoint: int, seed: int, into: Path) -> None:
    """Let one checkpoint work on the held-out problems and on the regression set; writes two files' worth of facts."""
    from rl_lab.train import evaluate_policy, load_model
    from rl_lab.train.record import new_run, write_run

    began = time.perf_counter()
    policy = load_model(str(folder("page", seed) / f"checkpoint-{checkpoint}") if checkpoint else "smollm2")
    problems = held_out()
    rows = as_rows(problems)

    def work(**how: Any) -> Any:
        return evaluate_policy(policy, rows, keep=10**6, batch_size=160, **{"max_tokens": TOKENS} | how)

    n = SAMPLES[checkpoint]
    greedy, sampled = work(), work(temperature=1.0, samples=n, seed=seed)
    run = new_run(
        f"checkpoint {checkpoint}, seed {seed}",
        seed=seed,
        settings=SETTINGS
        | {
            "checkpoint": checkpoint, "learning_rate": RATES["page"], "test_seed": TEST_SEED,
            "per_level": PER_LEVEL, "levels": LEVELS, "samples": n, "temperature": 1.0, "max_new": TOKENS,
        },
        command=f"python -m tools.record_13 train sample --seed {seed} --checkpoints {checkpoint}",
    )  # fmt: skip
    run["steps"] = [checkpoint]
    run["greedy"] = told(policy, rows, greedy) | {"texts": greedy.texts}
    run["sampled"] = in_groups(told(policy, rows, sampled), n)
    if checkpoint == max(CHECKPOINTS):
        kept = [sampled.texts[i : i + KEPT_TEXTS] for i in range(0, len(sampled.texts), n)]
        run["sampled"]["texts"] = kept
    if not checkpoint:
        patient = work(max_tokens=PATIENT)
        run["patient"] = told(policy, rows, patient) | {"texts": patient.texts, "max_new": PATIENT}
    run["regression"] = regression(policy)
    run["results"] = {
        "greedy_right": greedy.correct, "sampled_right": sampled.correct, "seconds_greedy": round(greedy.seconds, 1),
        "seconds_sampled": round(sampled.seconds, 1), "clock_s": round(time.perf_counter() - began, 1),
        "load_average": os.getloadavg()[0],
    }  # fmt: skip
    write_run(run, into / f"13_step_{checkpoint}_{seed}.json")
    write_problems(problems, into)
    print(f"checkpoint {checkpoint}: {run['results']}, regression {run['regression']['right']}", flush=True)


def held_out() -> list[Any]:
    """The problems that every checkpoint works on, as many of each number of steps."""
    from rl_lab.problems import generate

    return [
        problem
        for level in LEVELS
        for problem in generate(
            PER_LEVEL, TEST_SEED + level, steps=level, max_value=TRAINED_ON["max_value"], split="test"
        )
    ]


def as_rows(problems: Sequence[Any]) -> list[dict[str, Any]]:
    """Problems as prompts with their gold answers."""
    from rl_lab import gsm8k

    return list(gsm8k.convert(problems, "rl", style="messages"))


def write_problems(problems: Sequence[Any], into: Path) -> None:
    """Write the held-out problems with their worked solutions: what the texts are compared with."""
    from rl_lab.train.record import new_run, write_run

    settings = {"test_seed": TEST_SEED, "per_level": PER_LEVEL, "levels": LEVELS, "split": "test"}
    run = new_run(
        "held-out problems", seed=TEST_SEED, settings=settings, command="python -m tools.record_13 sample"
    )
    run["problems"] = [dict(problem) for problem in problems]
    write_run(run, into / "13_problems.json")


def told(policy: Any, rows: Sequence[dict[str, Any]], result: Any) -> dict[str, Any]:
    """What is kept of each completion: answers as three extractors read them, length, cut or not, reward."""
    from rl_lab.rewards import hybrid_reward

    samples = len(result.texts) // len(rows)
    gold = [row["ground_truth"] for row in rows for _ in range(samples)]
    return {
        "answers": [extract(text, "hardened") for text in result.texts],
        "marked": "".join("01"[extract(text, "strict") is not None] for text in result.texts),
        "naive": [extract(text, "naive") for text in result.texts],
        "tokens": [len(episode.completion) for episode in result.episodes],
        "cut": "".join("01"[episode.completion[-1] not in policy.end_ids] for episode in result.episodes),
        "reward": [round(hybrid_reward(text, g), 4) for text, g in zip(result.texts, gold, strict=True)],
    }


def in_groups(facts: dict[str, Any], n: int) -> dict[str, Any]:
    """Cut lists with an entry per completion into one list per problem."""
    return {name: [values[i : i + n] for i in range(0, len(values), n)] for name, values in facts.items()}


def extract(text: str, how: str) -> str | None:
    """An answer by one of three extractors: only the agreed line; the course's; the obvious one of chapter 7."""
    from rl_lab.answers import find_answer

    if how == "naive":
        marked = re.search(r"Final Answer: *(-?\d+)", text)
        numbers = re.findall(r"-?\d+", text)
        return marked[1] if marked else numbers[-1] if numbers else None
    found = find_answer(text)
    if found is None or (how == "strict" and found.marker != "final_answer"):
        return None
    return found.value


def regression(policy: Any) -> dict[str, Any]:
    """Run the regression set greedily."""
    from rl_lab.regression import REGRESSION_SET, summarize
    from rl_lab.train.rollout import play

    rows = [{"prompt": [{"role": "user", "content": item.prompt}]} for item in REGRESSION_SET]
    policy.model.eval()
    texts = [e.text for e in play(policy, rows, max_tokens=ANSWER_TOKENS, temperature=0.0)]
    return summarize(texts) | {"texts": texts}


def forget(rate: str, seed: int, into: Path) -> None:
    """The regression set at every checkpoint of one training, which is done if it was not."""
    from rl_lab.train import load_model
    from rl_lab.train.record import new_run, write_run

    place = folder(rate, seed)
    last = place / f"checkpoint-{UPDATES[rate]}" / "trainer_state.json"
    if not last.is_file():
        train(seed, rate)
    history = json.loads(last.read_text(encoding="utf-8"))["log_history"]
    losses = {entry["step"]: round(entry["loss"], 4) for entry in history if "loss" in entry}
    run = new_run(
        f"forgetting, rate {RATES[rate]:g}, seed {seed}",
        seed=seed,
        settings=SETTINGS
        | {"learning_rate": RATES[rate], "updates": UPDATES[rate], "max_new": ANSWER_TOKENS},
        command=f"python -m tools.record_13 forget --rates {rate} --seed {seed}",
    )
    run["regression"] = []
    kept = [checkpoint for checkpoint in CHECKPOINTS if checkpoint <= UPDATES[rate]]
    for checkpoint in kept:
        policy = load_model(str(place / f"checkpoint-{checkpoint}") if checkpoint else "smollm2", say=None)
        run["steps"].append(checkpoint)
        run["regression"].append(regression(policy))
        solved = quick_accuracy(policy)
        run["regression"][-1] |= {"solved": sum(solved), "n_solved": len(solved)}
        print(
            f"rate {rate}, checkpoint {checkpoint}: {run['regression'][-1]['right']} of 40, {sum(solved)}",
            flush=True,
        )
    run["curves"] = {"loss": [None, *(losses[checkpoint] for checkpoint in kept[1:])]}
    write_run(run, into / f"13_forget_{rate}_{seed}.json")


def quick_accuracy(policy: Any) -> list[bool]:
    """Right or wrong on the held-out problems, greedily."""
    from rl_lab.train import evaluate_policy

    return list(evaluate_policy(policy, as_rows(held_out()), max_tokens=TOKENS, batch_size=160).right)


if __name__ == "__main__":
    main()
