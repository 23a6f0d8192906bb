"""Record the runs of chapters 16 and 17: ``python -m tools.record_17 sft sft_grpo`` writes ``runs/16_*`` and ``17_*``.

Each piece is a process of its own, so that its peak memory is its own. ``sft_grpo`` goes on from what ``sft`` saved in
``runs/out``. The settings are those of the preset ``recorded``.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KEPT = 4  # held-out problems whose completions are kept
GROUPS = 12  # groups of eight that are sampled before training

FILES = {
    "base": "16_base",
    "sft": "16_sft",
    "grpo": "17_grpo",
    "sft_grpo": "17_sft_grpo",
}


def main() -> None:
    """Parse the command line, record, and say what came out."""
    import torch

    from rl_lab.train.presets import PRESETS
    from rl_lab.train.record import write_run

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("piece", choices=list(FILES), help="what to record")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--preset", default="recorded", choices=list(PRESETS), help="'tiny' tries the script")
    parser.add_argument("--threads", type=int, default=1, help="2 on a quiet machine, 1 where others compute")
    parser.add_argument("--into", type=Path, default=ROOT / "runs")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    warnings.simplefilter("ignore")
    run = record(arguments.piece, PRESETS[arguments.preset], arguments.seed, arguments.into / "out")
    path = write_run(run, arguments.into / f"{FILES[arguments.piece]}_{arguments.seed}.json")
    print(f"{path.name}: {run['results']['after']}, {run['results'].get('seconds')} s", flush=True)


def record(piece: str, preset: Any, seed: int, out: Path) -> dict[str, Any]:
    """Run one piece and return its record.

    Parameters
    ----------
    piece : str
        A key of `FILES`.
    preset : rl_lab.train.presets.Preset
    seed : int
    out : Path
        Where adapters are kept between pieces.

    Returns
    -------
    dict
        As :mod:`rl_lab.train.record`; ``results`` holds the evaluation on the held-out problems under ``after``.
    """
    from rl_lab.train.models import load_model
    from rl_lab.train.record import new_run

    began = time.perf_counter()
    task = preset.data("grpo" if piece.endswith("grpo") else "sft", seed)
    folder = out / f"17_record_sft_{preset.name}_{seed}"
    if piece == "sft_grpo":
        if not folder.is_dir():
            raise FileNotFoundError(
                f"record the piece sft first: it saves the adapter that {piece} goes on from"
            )
        policy = load_model(str(folder))
    else:
        policy = preset.load(task.demonstrations)
    command = f"python -m tools.record_17 {piece} --seed {seed}"
    if piece == "base":
        run = new_run("base, untrained", seed=seed, settings={"model": policy.name}, command=command)
    else:
        run = _train(piece, preset, policy, task, seed, command, out)
    _measure(run, policy, task, preset, groups=piece in ("base", "sft"))
    if piece == "sft":
        policy.save(folder)
    run["settings"] |= {"preset": preset.name, "task": preset.task, "n_test": preset.n_test}
    run["settings"] |= {"n_train": len(task.rows), "evaluate_tokens": preset.evaluate_tokens} | dict(
        preset.options
    )
    run["results"] |= {"clock_s": round(time.perf_counter() - began, 1), "load_average": os.getloadavg()[0]}
    return run


def _train(
    piece: str, preset: Any, policy: Any, task: Any, seed: int, command: str, out: Path
) -> dict[str, Any]:
    from rl_lab.train import run_grpo, run_sft

    shared = {
        "name": f"{piece}, seed {seed}",
        "command": command,
        "seed": seed,
        "live": False,
        "print_every": 1,
    }
    shared |= {"output_dir": str(out / f"17_scratch_{piece}")}
    if piece == "sft":
        return run_sft(policy, task.demonstrations, lora=preset.adapter(), **preset.sft, **shared)
    lora = preset.adapter() if piece == "grpo" else None  # sft_grpo goes on with the adapter it has
    return run_grpo(policy, task.rows, "accuracy", lora=lora, **preset.grpo, **shared)


def _measure(run: dict[str, Any], policy: Any, task: Any, preset: Any, *, groups: bool) -> None:
    from rl_lab.train import evaluate_policy
    from rl_lab.train._run import peak_memory_mb
    from rl_lab.train.record import add_sample, plain_result

    run["results"].setdefault("peak_memory_mb", peak_memory_mb())  # of the training, where there is one
    evaluate: Callable[..., Any] = lambda rows, **more: evaluate_policy(  # noqa: E731
        policy, rows, max_tokens=preset.evaluate_tokens, batch_size=50, **more
    )
    result = evaluate(task.test_rows)
    run["results"]["after"] = plain_result(result) | {"n_format": round(result.format_rate * result.n)}
    run["results"]["right"] = [int(right) for right in result.right]
    step = (run["steps"] or [0])[-1]
    for i in range(min(KEPT, result.n)):
        prompt = task.test_rows[i]["prompt"][-1]["content"]
        add_sample(run, step, prompt, result.texts[i], float(result.right[i]), held_out=True)
    if groups:
        size = preset.grpo["num_generations"]
        sampled = evaluate(task.test_rows[:GROUPS], temperature=1.0, samples=size)
        starts = range(0, len(sampled.right), size)
        run["results"]["groups"] = [sum(sampled.right[i : i + size]) for i in starts]


if __name__ == "__main__":
    main()
