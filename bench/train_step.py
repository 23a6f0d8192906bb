"""What does a GRPO step cost with TRL, beside the hand-written loop on the same work? And where does the time go?

Both start from the same tiny policy after SFT, take the same prompts with the same settings (8 prompts x 8
completions, full tuning, beta 0, the calculator as a tool), and take turns, block by block, so that a busy machine
slows both. Time is CPU time of this process on one thread, setting up left out. The parts are measured by putting a
clock around the functions that do them.
"""

from __future__ import annotations

import contextlib
import importlib
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

STEPS, ROUNDS, SEED = 20, 3, 1
# (part, module, class or None, function): what does the work, in either loop. No function calls another of the list.
TRL_PARTS = (
    ("generate", "transformers.generation.utils", "GenerationMixin", "generate"),
    ("forward and loss", "trl.trainer.grpo_trainer", "GRPOTrainer", "_compute_loss"),
    ("backward", "torch", "Tensor", "backward"),
    (
        "chat template",
        "transformers.tokenization_utils_base",
        "PreTrainedTokenizerBase",
        "apply_chat_template",
    ),
    ("read tool calls", "trl.trainer.grpo_trainer", None, "parse_response"),
    ("world and reward", "trl.trainer.grpo_trainer", "GRPOTrainer", "_calculate_rewards"),
)
MINI_PARTS = (
    ("generate", "rl_lab.train.rollout", None, "sample"),
    ("forward and loss", "rl_lab.train.mini_grpo", None, "log_probs"),
    ("backward", "torch", "Tensor", "backward"),
    (
        "chat template",
        "transformers.tokenization_utils_base",
        "PreTrainedTokenizerBase",
        "apply_chat_template",
    ),
    ("read tool calls", "rl_lab.train.rollout", None, "read_turn"),
    ("world and reward", "rl_lab.train.environment", None, "settle"),
)


@contextlib.contextmanager
def clocks(parts: tuple[tuple[str, str, str | None, str], ...]) -> Iterator[dict[str, float]]:
    """Sum the CPU time spent in each of the functions while the block runs."""
    spent, restore = dict.fromkeys((part for part, *_ in parts), 0.0), []
    for part, module, owner, name in parts:
        home: Any = importlib.import_module(module)
        home = getattr(home, owner) if owner else home
        original = getattr(home, name)
        restore.append((home, name, original))
        setattr(home, name, _timed(original, spent, part))
    try:
        yield spent
    finally:
        for home, name, original in restore:
            setattr(home, name, original)


def _timed(function: Callable[..., Any], spent: dict[str, float], part: str) -> Callable[..., Any]:
    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        try:
            return function(*args, **kwargs)
        finally:
            spent[part] += time.process_time() - start

    return timed


def by_trl(policy: Any, rows: list[dict[str, Any]]) -> float:
    """STEPS steps of TRL's trainer; returns CPU seconds from the first step on, without setting up."""
    import transformers

    from rl_lab.train._quiet import quiet
    from rl_lab.train.args import build_grpo_args
    from rl_lab.train.environment import make_environment
    from rl_lab.train.grpo import make_trainer
    from rl_lab.train.headline import GRPO

    class Clock(transformers.TrainerCallback):
        began = 0.0

        def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self.began = self.began or time.process_time()

    args = build_grpo_args(parameters=180_000, max_steps=STEPS, seed=SEED, **GRPO)
    trainer = make_trainer(policy, rows, "outcome", args, environment=make_environment())
    clock = Clock()
    trainer.add_callback(clock)
    with quiet():
        trainer.train()
    return time.process_time() - clock.began


def by_hand(policy: Any, rows: list[dict[str, Any]]) -> float:
    """STEPS steps of the hand-written loop; returns CPU seconds."""
    import torch

    from rl_lab.train.environment import environment_reward, make_environment
    from rl_lab.train.headline import GRPO, PROMPTS_PER_STEP
    from rl_lab.train.mini_grpo import grpo_step

    torch.manual_seed(SEED)
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=GRPO["learning_rate"], weight_decay=0.0)
    world, began = make_environment(), time.process_time()
    for step in range(STEPS):
        batch = rows[PROMPTS_PER_STEP * step : PROMPTS_PER_STEP * (step + 1)]
        grpo_step(policy, optimizer, batch, environment_reward, environment=world)
    return time.process_time() - began


def measure() -> dict[str, Any]:
    """Take turns and return seconds a step, parts and ratio."""
    import torch

    from rl_lab.train import shopping
    from rl_lab.train.headline import PROMPTS_PER_STEP, start_policy

    torch.set_num_threads(1)
    warnings.simplefilter("ignore", FutureWarning)
    start = start_policy("outcome", SEED)
    rows = shopping.to_rows(shopping.sample_problems(STEPS * PROMPTS_PER_STEP, 500 + SEED))
    loops = {"TRL": (by_trl, TRL_PARTS), "by hand": (by_hand, MINI_PARTS)}
    seconds: dict[str, list[float]] = {name: [] for name in loops}
    parts: dict[str, list[dict[str, float]]] = {name: [] for name in loops}
    for _ in range(ROUNDS + 1):  # the first round warms up and is thrown away
        for name, (loop, clocked) in loops.items():
            with clocks(clocked) as spent:
                seconds[name].append(loop(start.copy(), rows) / STEPS)
            parts[name].append({part: value / STEPS for part, value in spent.items()})
    return {
        "steps": STEPS,
        "seconds_per_step": {name: values[1:] for name, values in seconds.items()},
        "ratio": statistics.median(seconds["TRL"][1:]) / statistics.median(seconds["by hand"][1:]),
        "parts": {name: _medians(values[1:], seconds[name][1:]) for name, values in parts.items()},
    }


def _medians(parts: list[dict[str, float]], totals: list[float]) -> dict[str, float]:
    out = {part: statistics.median(p[part] for p in parts) for part in parts[0]}
    rest = [total - sum(p.values()) for p, total in zip(parts, totals, strict=True)]
    return out | {"everything else": statistics.median(rest)}


def main() -> None:
    """Print the table; with ``--record`` it is written to ``runs/12_step_time.json`` too."""
    result = measure()
    trl, hand = (result["parts"][name] for name in ("TRL", "by hand"))
    print(f"{'CPU seconds a step':<20} {'TRL':>8} {'by hand':>8}")
    for part in trl:
        print(f"{part:<20} {trl[part]:>8.3f} {hand[part]:>8.3f}")
    medians = [statistics.median(values) for values in result["seconds_per_step"].values()]
    print(f"{'together':<20} {medians[0]:>8.3f} {medians[1]:>8.3f}   ratio {result['ratio']:.2f}")
    if "--record" in sys.argv:
        record(result)


def record(result: dict[str, Any]) -> None:
    """Write the measurement in the schema of a run; a 'step' is one round."""
    from rl_lab.train.record import add_step, new_run, write_run

    settings = {
        "model": "tiny",
        "steps_per_round": STEPS,
        "rounds": ROUNDS,
        "threads": 1,
        "time": "CPU seconds",
    }
    run = new_run(
        "seconds a step", seed=SEED, settings=settings, command="python -m bench.train_step --record"
    )
    for i, pair in enumerate(zip(*result["seconds_per_step"].values(), strict=True)):
        add_step(run, i + 1, dict(zip(result["seconds_per_step"], pair, strict=True)))
    run["results"] = {"ratio": round(result["ratio"], 3), "parts": _rounded(result["parts"])}
    write_run(run, Path(__file__).resolve().parents[1] / "runs" / "12_step_time.json")


def _rounded(parts: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    return {name: {part: round(value, 4) for part, value in p.items()} for name, p in parts.items()}


if __name__ == "__main__":
    main()
