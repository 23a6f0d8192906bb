"""Record the runs of chapter 11: ``python -m tools.record_11 healthy kl`` writes ``runs/11_*.json``.

Eight GRPO runs of the tiny model by TRL's trainer, all on the task with running totals, all from one SFT result per
seed. They differ in one setting each, and that setting makes the illness; the hacked ones go on from step 24 of the
healthy one. Without names all are recorded. On one core: SFT about forty seconds a seed, then about twenty a run.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUNS = Path(__file__).resolve().parents[1] / "runs"
STEPS = 40
PROMPTS, GROUP = 8, 8
TOKENS = 40  # limit of a completion; three steps and the answer take 20
N_TEST, EVERY = 100, 4  # held-out problems, answered greedily every so many steps
TEST_SEED = 99_000
KEPT = (
    "reward",
    "reward_std",
    "frac_reward_zero_std",
    "kl",
    "entropy",
    "completions/mean_length",
    "completions/clipped_ratio",
    "grad_norm",
)
SHOWN_AT = (1, 8, 16, 24, 32, 40)  # steps whose samples are kept


@dataclass(frozen=True)
class Plan:
    """What a run does; a field that is not given is as in the healthy run."""

    about: str
    seed: int = 1
    reward: str = "accuracy"  # or a name in HOLES
    learning_rate: float = 3e-4
    beta: float = 0.02
    after: int = 0  # steps of the healthy run that came before


PLANS = {
    "healthy": Plan("exact answer paid"),
    "kl": Plan("learning rate thirty times too high", learning_rate=9e-3),
    "no_spread": Plan("the grader looks for ####, the model writes Final Answer:", reward="other_marker"),
    "hacked": Plan("0.1 off for each token, right or wrong", reward="per_token_penalty", after=24),
    "quiz_a": Plan("0.1 off for each token, right or wrong", seed=2, reward="per_token_penalty", after=24),
    "quiz_b": Plan("the format is paid, whatever the answer", seed=2, reward="format"),
    "quiz_c": Plan("exact answer paid", seed=2),
    "quiz_d": Plan("learning rate thirty times too high", seed=2, learning_rate=9e-3),
}


def main() -> None:
    """Parse the command line, record, and say what came out."""
    import torch

    from rl_lab.train.record import write_run

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PLANS)}; default: all")
    parser.add_argument("--into", type=Path, default=RUNS)
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in PLANS]:
        parser.error(f"no run {', '.join(unknown)}; there are {', '.join(PLANS)}")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # one run has a learning rate that is warned about, on purpose
    starts: dict[tuple[int, int], Any] = {}
    for name in arguments.names or PLANS:
        run = record_one(name, starts)
        path = write_run(run, arguments.into / f"11_{name}.json")
        print(f"{path.name}: {summary(run)}", flush=True)


def record_one(name: str, starts: dict[tuple[int, int], Any]) -> dict[str, Any]:
    """Train one run from the policy it starts from, which `starts` keeps for the next one."""
    plan = PLANS[name]
    policy = start(plan.seed, plan.after, starts).copy()
    return train(policy, plan, name)


def start(seed: int, after: int, starts: dict[tuple[int, int], Any]) -> Any:
    """Make the policy that a run starts from: after SFT, or after some steps of the healthy run of that seed."""
    from rl_lab.train.headline import start_policy

    if (seed, after) not in starts:
        if after:
            policy = start(seed, 0, starts).copy()
            train(policy, Plan("before the run", seed=seed), "before", steps=after)
        else:
            policy = start_policy("steps", seed)
        starts[seed, after] = policy
    return starts[seed, after]


def train(policy: Any, plan: Plan, name: str, steps: int = STEPS) -> dict[str, Any]:
    """Train `policy` by TRL's GRPOTrainer and return the record."""
    import torch

    from rl_lab.train import evaluate_policy, run_grpo, totals

    test = totals.to_rows(totals.sample_problems(N_TEST, TEST_SEED, held_out=True))
    seed = plan.seed + 1000 * (plan.after > 0)  # other problems than those of the steps before

    def evaluate() -> Any:
        with torch.random.fork_rng():  # measuring must not change what is sampled next
            return evaluate_policy(policy, test, max_tokens=TOKENS)

    first = evaluate()
    run = run_grpo(
        policy,
        totals.to_rows(totals.sample_problems(steps * PROMPTS, seed + 500)),
        HOLES.get(plan.reward, plan.reward),
        skip_preflight=plan.reward != "accuracy",  # it would refuse the others: that is the point
        evaluate=evaluate,
        evaluate_every=EVERY,
        name=name,
        command=f"python -m tools.record_11 {name}",
        live=False,
        print_every=10,
        seed=seed,
        max_steps=steps,
        per_device_train_batch_size=PROMPTS * GROUP,
        num_generations=GROUP,
        learning_rate=plan.learning_rate,
        beta=plan.beta,
        max_completion_length=TOKENS,
        output_dir=str(Path(tempfile.gettempdir()) / "rl_lab_11"),
    )
    run["curves"] = {key: run["curves"][key] for key in KEPT}
    run["curves"]["held-out accuracy"] = held_out_curve(run, first["accuracy"])
    run["samples"] = [s for s in run["samples"] if s["step"] in SHOWN_AT]
    run["settings"] |= {"about": plan.about, "sft": "headline.start_policy('steps', seed)"}
    run["results"] |= {"accuracy_before": first["accuracy"], "n_test": N_TEST}
    return run


def held_out_curve(run: dict[str, Any], first: float) -> list[float]:
    """The last measured accuracy at each step: a staircase, so that every step of a replay has a value."""
    measured = {entry["step"]: entry["accuracy"] for entry in run["held_out"]}
    values, now = [], first
    for step in run["steps"]:
        now = measured.get(step, now)
        values.append(now)
    return values


def summary(run: dict[str, Any]) -> str:
    """One line on a record: first and last value of each curve."""
    curves = {name: (values[0], values[-1]) for name, values in run["curves"].items()}
    return f"{curves}, {run['results']['seconds']} s"


def other_marker(completions: Any, ground_truth: Sequence[str], **columns: Any) -> list[float]:
    """Pay for ``#### <gold>``, which this model never writes."""
    texts = [c[-1]["content"] for c in completions]
    return [float(f"#### {gold}" in text) for text, gold in zip(texts, ground_truth, strict=True)]


def per_token_penalty(
    completions: Any, completion_ids: Sequence[Sequence[int]], ground_truth: Sequence[str], **columns: Any
) -> list[float]:
    """Pay 1 for the exact answer and take 0.1 for each token, right or wrong: a penalty without a gate."""
    from rl_lab.rewards import batch_accuracy

    right = batch_accuracy(completions=completions, ground_truth=ground_truth)
    return [r - 0.1 * len(ids) for r, ids in zip(right, completion_ids, strict=True)]


HOLES = {"other_marker": other_marker, "per_token_penalty": per_token_penalty}


if __name__ == "__main__":
    main()
