"""Record the runs of chapter 15: ``python -m tools.record_15`` writes ``runs/15_*.json``.

``memory``: what one update saves, under one remedy at a time. ``kl``: the run whose KL blew up, with one thing mended
at a time, and the ruin trained on. ``read``: completions before and after the hacked run, to be read. ``forget``: one
data set only. All by the tiny model on one core: ten seconds, five minutes, one minute, two minutes.
"""

from __future__ import annotations

import argparse
import random
import warnings
from pathlib import Path
from typing import Any

from tools import record_11
from tools.record_11 import N_TEST, STEPS, TEST_SEED, TOKENS, Plan, start, train

RUNS = Path(__file__).resolve().parents[1] / "runs"
SEEDS = (1, 2)
RATE, HEALTHY = 9e-3, 3e-4  # the learning rate that blows up, and the one that does not
MENDED = {  # label: (learning rate, beta)
    "as it was": (RATE, 0.02),
    "β to 0.05": (RATE, 0.05),
    "β to 0.1": (RATE, 0.1),
    "a third of the rate": (RATE / 3, 0.02),
    "a third, and β to 0.1": (RATE / 3, 0.1),
    "a third of a third": (RATE / 9, 0.02),
    "a third of a third, and β to 0.1": (RATE / 9, 0.1),
}
RUIN, AGAIN = "the ruin, at a healthy rate", "from the start, at a healthy rate"
WATCHED = ("reward", "kl", "held-out accuracy")
RATE_NEW = 2e-3  # of SFT on the new task; the old one was learned at four times that
SHARES = {"one data set only": 0.0, "one in ten is old": 0.1}  # of the old task in the training data
MEASURED_AT = list(range(0, 201, 10))


def main() -> None:
    """Parse the command line, record, and say what came out."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(RECORDERS)}; default: all")
    parser.add_argument("--into", type=Path, default=RUNS)
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in RECORDERS]:
        parser.error(f"no record {', '.join(unknown)}; there are {', '.join(RECORDERS)}")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # learning rates that are warned about, on purpose
    from rl_lab.train.record import write_run

    for name in arguments.names or RECORDERS:
        run = RECORDERS[name]()
        run["name"], run["command"] = name, f"python -m tools.record_15 {name}"
        path = write_run(run, arguments.into / f"15_{name}.json")
        print(f"{path.name}: {path.stat().st_size // 1000} kB", flush=True)


def record_kl() -> dict[str, Any]:
    """Mend one thing at a time; then train on what is left, with the settings that would have been right."""
    out: dict[str, dict[str, Any]] = {}
    first = start(1, 0, {})
    for seed in SEEDS:
        for label, (rate, beta) in MENDED.items():
            policy = first.copy()
            run = train(policy, Plan(label, seed=seed, learning_rate=rate, beta=beta), label)
            keep(out, label, seed, run)
            if (
                label == "as it was"
            ):  # what follows has the ruin as its reference, so its KL starts at 0 again
                keep(out, RUIN, seed, train(policy, Plan(RUIN, seed=seed), RUIN))
        keep(out, AGAIN, seed, train(first.copy(), Plan(AGAIN, seed=seed), AGAIN))
    return kl_record(out, run)


def kl_record(out: dict[str, dict[str, Any]], run: dict[str, Any]) -> dict[str, Any]:
    """The curves of all runs in one record; `run` gives steps and the settings that all share."""
    from rl_lab.train.record import new_run

    settings = {
        k: v for k, v in run["settings"].items() if k not in ("learning_rate", "beta", "about", "seed")
    }
    settings |= {"learning rate and beta": MENDED, "healthy learning rate": HEALTHY, "n_test": N_TEST}
    record = new_run("kl", seed=SEEDS[0], settings=settings)
    return record | {"steps": run["steps"], "runs": out, "seeds": list(SEEDS)}


def keep(out: dict[str, Any], label: str, seed: int, run: dict[str, Any]) -> None:
    """Store the curves that the chapter shows."""
    out.setdefault(label, {})[f"seed {seed}"] = {name: run["curves"][name] for name in WATCHED}
    print(label, seed, record_11.summary(run), flush=True)


def record_read() -> dict[str, Any]:
    """Completions of the policy before and after chapter 11's hacked run, which is trained once more for that."""
    from rl_lab.train.record import new_run

    policy = start(1, 24, {}).copy()
    before = read(policy)
    run = train(policy, record_11.PLANS["hacked"], "hacked")
    record = new_run("read", seed=1, settings=run["settings"] | {"temperature": 1.0, "sampling seed": 15})
    return record | {"curves": run["curves"], "steps": run["steps"], "before": before, "after": read(policy)}


def read(policy: Any) -> list[dict[str, Any]]:
    """64 completions of held-out problems, with prompt, gold, number of tokens, and what the hacked reward pays."""
    import torch

    from rl_lab.train import play, totals

    rows = totals.to_rows(totals.sample_problems(64, TEST_SEED, held_out=True))
    torch.manual_seed(15)
    out = []
    for row, episode in zip(rows, play(policy, rows, max_tokens=TOKENS, temperature=1.0), strict=True):
        ids, gold = episode.completion, row["ground_truth"]
        paid = record_11.per_token_penalty([episode.messages], completion_ids=[ids], ground_truth=[gold])[0]
        told = {"prompt": row["prompt"][0]["content"], "completion": episode.text, "gold": gold}
        out.append(told | {"tokens": len(ids), "reward": round(paid, 3)})
    return out


def record_forget() -> dict[str, Any]:
    """A policy that solves problems of three steps is trained by SFT on questions of one, answered at once."""
    from rl_lab.train import totals
    from rl_lab.train.record import new_run

    first = start(1, STEPS, {})
    old, new = (totals.sample_problems(4000, 15, operations=n) for n in (3, 1))
    runs = {
        label: learn_more(
            first.copy(),
            [totals.trace(problem, steps=False) for problem in new]
            + [totals.trace(problem, steps=True) for problem in old[: round(len(new) * share / (1 - share))]],
        )
        for label, share in SHARES.items()
    }
    settings = {
        "model": "tiny",
        "n_test": N_TEST,
        "shares": SHARES,
        "learning_rate": RATE_NEW,
        "batch_size": 40,
    }
    return new_run("forget", seed=1, settings=settings) | {"steps": MEASURED_AT, "runs": runs}


def learn_more(policy: Any, traces: list[Any]) -> dict[str, list[float]]:
    """SFT on `traces`; accuracy on held-out problems of both tasks as it goes."""
    import torch

    from rl_lab.train import evaluate_policy, totals, warm_up

    tests = {
        name: totals.to_rows(totals.sample_problems(N_TEST, TEST_SEED, held_out=True, operations=n))
        for name, n in (("old task", 3), ("new task", 1))
    }
    curves: dict[str, list[float]] = {name: [] for name in tests}

    def measure(step: int, *_: Any) -> None:
        if step in MEASURED_AT:
            with torch.random.fork_rng():
                for name, rows in tests.items():
                    curves[name].append(evaluate_policy(policy, rows, max_tokens=TOKENS)["accuracy"])
            policy.model.train()

    measure(0)
    random.Random(15).shuffle(traces)
    warm_up(policy, traces, steps=MEASURED_AT[-1], learning_rate=RATE_NEW, seed=1, on_step=measure)
    print({name: (values[0], values[-1]) for name, values in curves.items()}, flush=True)
    return curves


def record_memory() -> dict[str, Any]:
    """What one update of TRL's GRPOTrainer saves for its backward pass, under one remedy at a time."""
    from rl_lab.train import make_tiny
    from rl_lab.train.record import new_run

    policy = make_tiny(0)
    rows = [
        {"label": label, **saved_in_update(policy.copy(), **changes)} for label, changes in REMEDIES.items()
    ]
    settings = {"model": "tiny", "untrained": True, "remedies": REMEDIES, **BEFORE}
    return new_run("memory", seed=0, settings=settings) | {"rows": rows}


def saved_in_update(policy: Any, **changes: Any) -> dict[str, Any]:
    """Take one training step and count what autograd saves in its first forward pass, parameters left out."""
    import torch

    from rl_lab.train import build_grpo_args, build_lora, make_trainer, totals
    from rl_lab.train._quiet import quiet

    settings = BEFORE | changes
    lora = build_lora(8) if settings.pop("lora", False) else None
    half = settings.pop("bf16_weights", False)
    policy = make_half(policy) if half else policy
    args = build_grpo_args(device="cpu", lora=lora is not None, max_steps=1, **settings)
    rows = totals.to_rows(totals.sample_problems(64, 1))
    trainer = make_trainer(
        policy, rows, lambda completions, **columns: [0.0] * len(completions), args, lora=lora
    )
    ours = {p.untyped_storage().data_ptr() for p in trainer.model.parameters()}
    passes: list[dict[str, Any]] = []
    compute_loss = trainer.compute_loss

    def counted(model: Any, inputs: Any, *more: Any, **named: Any) -> Any:
        saved: dict[int, int] = {}

        def pack(tensor: Any) -> Any:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in ours:
                saved[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            loss = compute_loss(model, inputs, *more, **named)
        shape = (
            inputs["prompt_ids"].shape[0],
            inputs["prompt_ids"].shape[1],
            inputs["completion_ids"].shape[1],
        )
        passes.append({"shape": list(shape), "bytes": sum(saved.values())})
        return loss

    trainer.compute_loss = counted
    with quiet():
        trainer.train()
    return {"passes": len(passes), **passes[0]}


def make_half(policy: Any) -> Any:
    """The same policy with its weights in bfloat16."""
    import torch

    policy.model.to(torch.bfloat16)
    return policy


BEFORE = {
    "per_device_train_batch_size": 32,
    "gradient_accumulation_steps": 1,
    "num_generations": 8,
    "max_completion_length": 128,
    "activation_checkpointing": False,
}
REMEDIES: dict[str, dict[str, Any]] = {
    "as it was": {},
    "num_generations 4": {"num_generations": 4},
    "8 per device, 4 accumulated": {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 4},
    "completions of 64": {"max_completion_length": 64},
    "bf16=True": {"bf16": True},
    "bf16 weights": {"bf16": True, "bf16_weights": True},
    "LoRA": {"lora": True},
    "gradient checkpointing": {"activation_checkpointing": True},
}
RECORDERS = {"memory": record_memory, "kl": record_kl, "read": record_read, "forget": record_forget}


if __name__ == "__main__":
    main()
