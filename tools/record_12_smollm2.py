"""Record chapter 12's runs with a real chat model: ``python -m tools.record_12_smollm2 --seeds 1`` writes one JSON.

SmolLM2-135M sees 240 conversations, two in five of which call the calculator (LoRA-SFT), and is then trained by GRPO on
the outcome alone. The questions say the multiplier ("0.75 of its price"), so that the first call can be copied from
them. One seed takes a quarter of an hour with two threads (``--threads 2``) and 8 GB of memory. Each file is
``runs/12_smollm2_<seed>.json``.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RUNS = Path(__file__).resolve().parents[1] / "runs"
TASK = {"n_train": 240, "n_test": 60, "tool_share": 0.4, "wording": "multiplier"}
LORA = {"rank": 8, "target_modules": ["q_proj", "k_proj", "v_proj", "o_proj"]}
SFT = {"learning_rate": 2e-3, "per_device_train_batch_size": 8, "max_length": 256}  # 30 updates
GRPO = {
    "learning_rate": 3e-4,
    "per_device_train_batch_size": 16,  # 2 prompts, 8 completions each
    "num_generations": 8,
    "max_completion_length": 160,  # all turns together; the right solution of the 80 yuan takes 127
    "max_tool_calling_iterations": 4,
    "max_steps": 10,
}
CASE_SAMPLES = 32  # of the 80-yuan problem
KEPT = (
    "reward", "success", "tool_rate", "calls", "tool_errors", "unanswered_calls", "malformed_calls",
    "completions/mean_length", "completions/clipped_ratio", "frac_reward_zero_std", "entropy", "grad_norm",
)  # fmt: skip


def main() -> None:
    """Parse the command line, record, and say what came out."""
    import torch

    from rl_lab.train.record import write_run

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--into", type=Path, default=RUNS)
    parser.add_argument("--model", default="smollm2", help="'tiny' tries the script in seconds")
    parser.add_argument(
        "--steps", type=int, default=GRPO["max_steps"], help="another number, to try the script"
    )
    parser.add_argument("--threads", type=int, default=1, help="as many as cores are free")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    warnings.simplefilter("ignore")
    for seed in arguments.seeds:
        run = record(seed, arguments.model, arguments.steps)
        path = write_run(run, arguments.into / f"12_smollm2_{seed}.json")
        print(f"{path.name}: {summary(run)}", flush=True)


def record(seed: int, model: str = "smollm2", steps: int = GRPO["max_steps"]) -> dict[str, Any]:
    """Do one seed from the untrained model to the last measurement.

    Parameters
    ----------
    seed : int
        Of the training data, the adapter's weights, the order and the sampling.
    model : str
        As :func:`rl_lab.train.load_model` takes it.
    steps : int
        Of GRPO.

    Returns
    -------
    dict
        As :mod:`rl_lab.train.record`; under ``results`` are ``sft``, ``before``, ``after`` (see `measure`) and the
        seconds of each part.
    """
    import torch

    from rl_lab.train import build_lora, load_model, load_task, make_environment, run_grpo, run_sft

    began, scratch = time.perf_counter(), Path(tempfile.gettempdir()) / "rl_lab_12_smollm2"
    torch.manual_seed(seed)
    policy = load_model(model, tools=True)
    task = load_task("shopping", seed=seed, **TASK)
    common = {"seed": seed, "live": False, "output_dir": str(scratch)}
    sft = run_sft(policy, task.demonstrations, lora=build_lora(**LORA), print_every=10, **common, **SFT)
    before = measure(policy, task.test_rows, seed)
    print("before:", before["line"], flush=True)
    run = run_grpo(
        policy,
        task.rows,
        "outcome",
        environment=make_environment(),
        name=f"seed {seed}",
        command=f"python -m tools.record_12_smollm2 --seeds {seed}",
        **common,
        **(GRPO | {"max_steps": steps}),
    )
    after = measure(policy, task.test_rows, seed)
    print("after:", after["line"], flush=True)
    run["curves"] = {key: run["curves"][key] for key in KEPT if key in run["curves"]}
    run["settings"] |= (
        {"threads": torch.get_num_threads(), "task": "shopping"}
        | TASK
        | {f"sft_{key}": value for key, value in SFT.items()}
    )
    parts = {"sft": sft["results"]["seconds"], "grpo": run["results"]["seconds"]}
    parts["measuring"] = round(before.pop("seconds") + after.pop("seconds"), 1)
    for measured in (before, after):
        measured.pop("line")
    run["results"] |= {"before": before, "after": after, "sft": _of_sft(sft), "clock": parts}
    run["results"] |= {"clock_s": round(time.perf_counter() - began, 1), "load_average": os.getloadavg()[0]}
    run["results"]["trained"] = sum(p.numel() for p in policy.model.parameters() if p.requires_grad)
    run["results"]["parameters"] = sum(p.numel() for p in policy.model.parameters())
    return run


def _of_sft(run: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: run["results"][key] for key in ("steps", "seconds", "seconds_per_step", "peak_memory_mb")}
    return kept | {"loss": run["curves"]["loss"]}


def measure(policy: Any, rows: list[dict[str, Any]], seed: int) -> dict[str, Any]:
    """Measure on held-out problems, greedily and at temperature 1, and on the 80-yuan problem.

    Returns
    -------
    dict
        ``greedy`` and ``sampled``: as :func:`rl_lab.train.record.plain_result`; ``texts``: greedy completions of three
        problems, as turns; ``case``: `CASE_SAMPLES` samples of the 80-yuan problem; ``episode``: its greedy turns;
        ``seconds``, and ``line`` for people.
    """
    from rl_lab.train import evaluate_policy, make_environment
    from rl_lab.train.record import episode_turns
    from rl_lab.train.shopping import EXAMPLE, to_rows

    case, n = to_rows([EXAMPLE], TASK["wording"]), len(rows)
    settings = {"max_tokens": GRPO["max_completion_length"], "batch_size": 100, "seed": seed, "keep": 100}
    world, began = make_environment(), time.perf_counter()
    # Side by side in one batch: half the time of one after the other.
    greedy = evaluate_policy(policy, [*rows, *case], world, **settings)
    sampled = evaluate_policy(policy, [*rows, *case * CASE_SAMPLES], world, temperature=1.0, **settings)
    out = {"greedy": part(greedy, 0, n), "sampled": part(sampled, 0, n)}
    out["case"] = part(sampled, n, n + CASE_SAMPLES)
    played = {"texts": greedy.episodes[:3], "sampled_texts": sampled.episodes[:3]}
    for key, episodes in played.items():
        out[key] = [episode_turns([*e.row["prompt"], *e.messages], e.world.earned) for e in episodes]
    one = greedy.episodes[n]
    out["episode"] = episode_turns(one.messages, one.world.earned)
    numbers = [f"{out[k]['accuracy']:.0%}/{out[k]['tool_rate']:.0%}" for k in ("greedy", "sampled", "case")]
    out["line"] = f"right/called: greedy {numbers[0]}, sampled {numbers[1]}, 80 yuan {numbers[2]}"
    return out | {"seconds": time.perf_counter() - began}


def part(result: Any, start: int, stop: int) -> dict[str, Any]:
    """Numbers of the completions `start` to `stop` of an evaluation that kept its episodes."""
    from rl_lab.evaluation import wilson_interval
    from rl_lab.train.record import plain_result

    right, episodes = result.right[start:stop], result.episodes[start:stop]
    n, correct = len(right), sum(right)
    return plain_result(
        {
            "accuracy": correct / n,
            "interval": wilson_interval(correct, n),
            "n": n,
            "correct": correct,
            "tool_rate": sum(e.world.calls > 0 for e in episodes) / n,
            "calls": sum(e.world.calls for e in episodes) / n,
            "mean_length": sum(sum(e.own) for e in episodes) / n,
        }
    )


def summary(run: Mapping[str, Any]) -> str:
    """One line on a record."""
    greedy = [f"{run['results'][when]['greedy']['accuracy']:.0%}" for when in ("before", "after")]
    return f"greedy {' -> '.join(greedy)}, tool rate {run['curves']['tool_rate']}, {run['results']['clock']}"


if __name__ == "__main__":
    main()
