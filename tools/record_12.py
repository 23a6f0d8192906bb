"""Record the runs of chapter 12: ``python -m tools.record_12 outcome lying --seeds 1 2 3`` writes ``runs/12_*.json``.

Without names all experiments are recorded. On one core an experiment takes about a minute a seed; experiments with the
same SFT share its result. Each file says by which command, on which versions and in which time it was made.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

RUNS = Path(__file__).resolve().parents[1] / "runs"


def main() -> None:
    """Parse the command line, record, and say what came out."""
    import torch

    from rl_lab.train.headline import EXPERIMENTS, run_experiment, start_policy
    from rl_lab.train.record import write_run

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(EXPERIMENTS)}; default: all")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--into", type=Path, default=RUNS)
    arguments = parser.parse_args()
    names = arguments.names or list(EXPERIMENTS)
    if unknown := [name for name in names if name not in EXPERIMENTS]:
        parser.error(f"no experiment {', '.join(unknown)}; there are {', '.join(EXPERIMENTS)}")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", FutureWarning)
    for seed in arguments.seeds:
        starts: dict[str, object] = {}
        for name in names:
            plan = EXPERIMENTS[name]
            key = f"{plan.task} {plan.shares}"
            if name != "outcome" and key not in starts:
                starts[key] = start_policy(name, seed)
            # The headline does its own SFT, so that its record holds the time of the whole.
            start = starts.get(key) if name != "outcome" else None
            command = f"python -m tools.record_12 {name} --seeds {seed}"
            run = run_experiment(name, seed, start=start, command=command)
            path = write_run(run, arguments.into / f"12_{name}_{seed}.json")
            print(f"{path.name}: {summary(run)}", flush=True)


def summary(run: dict) -> str:
    """One line on a record."""
    before, after = (run["results"][key] for key in ("before", "after"))
    greedy = [f"{r['greedy']['accuracy']:.1%}" for r in (before, after)]
    curves = {
        k: [v[0], v[-1]] for k, v in run["curves"].items() if k in ("tool_rate", "retry_rate", "success")
    }
    return f"greedy {greedy[0]} -> {greedy[1]}, {curves}, {run['results']['clock']}"


if __name__ == "__main__":
    main()
