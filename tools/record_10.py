"""Record the runs of chapter 10: ``python -m tools.record_10 long rate_low`` writes ``runs/10_*.json``.

Each run is LoRA-SFT of SmolLM2-135M on generated problems, evaluated on held-out problems on the way. Without names
all are recorded. The rate is constant after the warm-up, so the first updates of a long run are a short run.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUNS = Path(__file__).resolve().parents[1] / "runs"
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
PROBLEMS = {"problem_steps": (1, 2), "max_value": 60}
BATCH = 16  # problems an update; each problem is seen once
N_TEST = 50
SHOWN = (0, 1, 2)  # held-out problems whose completions are kept at every evaluation
ASKED = "Solve the problem step by step. End with one line: Final Answer: <number>"
TOKENS = 64  # limit of a completion in evaluations


@dataclass(frozen=True)
class Plan:
    """What a run does; a field that is not given is as on the page."""

    updates: int = 15
    learning_rate: float = 1e-3
    rank: int = 8
    targets: str | tuple[str, ...] = ATTENTION
    data: str = "working"  # "working", or "answer": the last line only
    evaluate_every: int = 5
    groups_at: tuple[int, ...] = ()  # sample groups of eight after these updates
    start: bool = False  # also measure the untrained model, which is the same for every run


PLANS = {
    "long": Plan(updates=30, groups_at=(0, 15, 30), start=True),
    "answer": Plan(data="answer"),
    "rate_low": Plan(learning_rate=1e-4, evaluate_every=15),
}


def main() -> None:
    """Parse the command line, record, and say what came out."""
    import torch

    from rl_lab.train.record import write_run

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PLANS)}; default: all")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--updates", type=int, help="another number of updates, to try the script")
    parser.add_argument("--model", default="smollm2", help="'tiny' tries the script in seconds")
    parser.add_argument("--into", type=Path, default=RUNS)
    arguments = parser.parse_args()
    names = arguments.names or list(PLANS)
    if unknown := [name for name in names if name not in PLANS]:
        parser.error(f"no run {', '.join(unknown)}; there are {', '.join(PLANS)}")
    torch.set_num_threads(2)
    warnings.simplefilter("ignore")
    for name in names:
        for seed in arguments.seeds:
            plan = PLANS[name]
            if arguments.updates:
                plan = dataclasses.replace(plan, updates=arguments.updates)
            run = record(name, plan, seed, arguments.model)
            path = write_run(run, arguments.into / f"10_{name}_{seed}.json")
            print(f"{path.name}: {summary(run)}", flush=True)


def record(name: str, plan: Plan, seed: int, model: str = "smollm2") -> dict[str, Any]:
    """Run a plan and return its record.

    Parameters
    ----------
    name : str
    plan : Plan
    seed : int
        Of the training problems, the adapter and the order.
    model : str

    Returns
    -------
    dict
        As :mod:`rl_lab.train.record`, with the evaluations on the way under ``held_out``.
    """
    from rl_lab.train import build_lora, load_model, load_task, run_sft
    from rl_lab.train.record import plain_result

    policy = load_model(model)
    task = load_task("problems", n_train=plan.updates * BATCH, n_test=N_TEST, seed=seed, **PROBLEMS)
    rows = demonstrations(task, plan.data)
    kept: list[tuple[int, Any]] = []
    groups: dict[str, Any] = {}

    def measure(step: int) -> Any:
        result = evaluate(policy, task.test_rows)
        kept.append((step, result))
        print(f"  step {step}: {result}", flush=True)
        if step in plan.groups_at:
            groups[str(step)] = right_in_groups(policy, task.test_rows)
            print(f"  groups: {groups[str(step)]}", flush=True)
        return result

    began = time.perf_counter()
    results = {}
    if plan.start:
        results["before"] = plain_result(measure(0))
        results["asked"] = plain_result(evaluate(policy, task.test_rows, ASKED))
    steps = iter(range(plan.evaluate_every, plan.updates + 1, plan.evaluate_every))
    run = run_sft(
        policy,
        rows,
        lora=build_lora(
            plan.rank, None, plan.targets if isinstance(plan.targets, str) else list(plan.targets)
        ),
        learning_rate=plan.learning_rate,
        evaluate=lambda: measure(next(steps)),
        evaluate_every=plan.evaluate_every,
        name=f"{name}, seed {seed}",
        command=f"python -m tools.record_10 {name} --seeds {seed}",
        max_steps=plan.updates,
        per_device_train_batch_size=BATCH,
        lr_scheduler_type="constant_with_warmup",
        max_length=256,
        seed=seed,
        live=False,
        print_every=5,
    )
    if not kept or kept[-1][0] != plan.updates:
        measure(plan.updates)
    _note_evaluations(run, task, kept)
    run["results"] |= results | {"after": plain_result(kept[-1][1])} | ({"groups": groups} if groups else {})
    run["results"] |= {"clock_s": round(time.perf_counter() - began, 1), "load_average": os.getloadavg()[0]}
    run["results"] |= _sizes(policy.model)
    run["settings"] |= {"task": "problems", "n_train": len(rows), "n_test": N_TEST, "data": plan.data}
    run["settings"] |= {"evaluate_tokens": TOKENS} | PROBLEMS
    return run


def _note_evaluations(run: dict[str, Any], task: Any, kept: Sequence[tuple[int, Any]]) -> None:
    """Put every evaluation and the same few completions of each into the record."""
    from rl_lab.train.record import add_sample, plain_result

    run["held_out"] = [{"step": s} | plain_result(r) | {"n_format": formatted(r)} for s, r in kept]
    for step, result in kept:
        for i in SHOWN:
            prompt = task.test_rows[i]["prompt"][-1]["content"]
            add_sample(run, step, prompt, result.texts[i], float(result.right[i]))


def _sizes(model: Any) -> dict[str, int]:
    return {
        "trained": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "parameters": sum(p.numel() for p in model.parameters()),
    }


def demonstrations(task: Any, data: str) -> list[dict[str, Any]]:
    """The task's SFT rows; with data="answer" only the last line of each completion."""
    if data == "working":
        return task.demonstrations
    return [
        row | {"completion": [m | {"content": m["content"].splitlines()[-1]} for m in row["completion"]]}
        for row in task.demonstrations
    ]


def evaluate(policy: Any, rows: Sequence[dict[str, Any]], system: str | None = None) -> Any:
    """Greedy evaluation, with a system prompt in front if one is given."""
    from rl_lab.train import evaluate_policy

    if system:
        rows = [row | {"prompt": [{"role": "system", "content": system}, *row["prompt"]]} for row in rows]
    return evaluate_policy(policy, rows, max_tokens=TOKENS, batch_size=50)


def formatted(result: Any) -> int:
    """How many of the completions of an evaluation keep the format."""
    return round(result.format_rate * result.n)


def right_in_groups(
    policy: Any, rows: Sequence[dict[str, Any]], n: int = 12, size: int = 8
) -> dict[str, list[int]]:
    """Sample groups at temperature 1; how many of each are right, and right in the format as well."""
    from rl_lab.answers import find_answer
    from rl_lab.train import evaluate_policy

    result = evaluate_policy(policy, rows[:n], temperature=1.0, samples=size, max_tokens=TOKENS)
    paid = [
        right and (found := find_answer(text)) is not None and found.marker == "final_answer"
        for right, text in zip(result.right, result.texts, strict=True)
    ]
    starts = range(0, n * size, size)
    return {
        "right": [sum(result.right[i : i + size]) for i in starts],
        "paid": [sum(paid[i : i + size]) for i in starts],
    }


def summary(run: dict[str, Any]) -> str:
    """One line on a record."""
    path = [f"{e['step']}: {e['format_rate']:.0%}/{e['accuracy']:.0%}" for e in run["held_out"]]
    return (
        f"format/accuracy {', '.join(path)}; {run['results']['seconds_per_step']} s an update "
        f"(evaluations included), {run['results']['clock_s']} s in all"
    )


if __name__ == "__main__":
    main()
