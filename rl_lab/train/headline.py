"""Does a language model learn to call a tool because it pays? The experiments of chapter 12, each in one call.

Every experiment has the same course: SFT puts a rare habit into the tiny model, it is measured, GRPO trains it, it is
measured again. They differ in one thing each: what the calculator does, what is paid, or which tokens are learned.

>>> sorted(EXPERIMENTS)
['coin', 'failing', 'half_lying', 'lying', 'milestones', 'outcome', 'steps', 'unmasked']
>>> run = run_experiment("outcome", seed=1)                                             # doctest: +SKIP
>>> run["curves"]["tool_rate"][0], run["curves"]["tool_rate"][-1]                       # doctest: +SKIP
(0.2031, 0.9531)

The records lie in ``runs/12_<experiment>_<seed>.json``; ``tools/record_12.py`` made them,
:func:`rl_lab.train.seeds.recorded` reads them.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from rl_lab._record import closest
from rl_lab.calculator import CalculatorError, evaluate
from rl_lab.rewards import batch_accuracy
from rl_lab.train import record, shopping, totals
from rl_lab.train.environment import ShoppingTools, environment_reward, make_environment
from rl_lab.train.policy import Policy

__all__ = [
    "CASE",
    "EXPERIMENTS",
    "GRPO",
    "Experiment",
    "fails_once",
    "held_out_rows",
    "measure",
    "run_experiment",
    "start_policy",
    "train",
    "watch_sft",
]

CASE = shopping.to_rows([shopping.EXAMPLE])[0]
"""The row of the 80-yuan problem, which is held out from all training data."""

GRPO: dict[str, Any] = {
    "per_device_train_batch_size": 64,  # 8 prompts, 8 completions each
    "num_generations": 8,
    "learning_rate": 5e-4,  # a 0.18-million-parameter model wants far more than a big one
    "lr_scheduler_type": "constant",
    "max_completion_length": 64,  # all turns together, the tool's tokens counted
    "max_tool_calling_iterations": 4,
    "output_dir": str(Path(tempfile.gettempdir()) / "rl_lab_12"),
}
"""Settings of ``trl.GRPOConfig`` that all experiments share."""

PROMPTS_PER_STEP = GRPO["per_device_train_batch_size"] // GRPO["num_generations"]
_TEST_SEED = 99_000  # the same held-out problems for every seed
_KEPT = (
    "reward",
    "success",
    "tool_rate",
    "calls",
    "tool_errors",
    "retry_rate",
    "writes_steps",
    "completions/mean_length",
    "frac_reward_zero_std",
    "entropy",
    "grad_norm",
    "unanswered_calls",
)


@dataclass(frozen=True)
class Experiment:
    """What one experiment does otherwise than the headline."""

    about: str
    calculator: str = "honest"  # honest, lying, half_lying or failing
    reward: str = "outcome"  # outcome, milestones, or coin: paid by chance
    learn_tool_tokens: bool = False  # True takes the mask away
    task: str = "shopping"  # or totals: one turn, no tool
    steps: int = 40
    demonstrations: int = 8000
    shares: dict[str, float] = field(default_factory=dict)  # of the kinds of demonstrations
    sft: dict[str, int] = field(default_factory=dict)  # steps and batch_size of warm_up
    grpo: dict[str, Any] = field(default_factory=dict)  # what differs from GRPO


_RETRIES = {"tool_share": 0.5, "failure_share": 0.5, "retry_share": 0.1}
EXPERIMENTS: dict[str, Experiment] = {
    "outcome": Experiment("outcome reward, honest calculator"),
    "lying": Experiment("the calculator is always wrong", calculator="lying"),
    "half_lying": Experiment("every call is wrong with probability one half", calculator="half_lying"),
    "coin": Experiment("each completion is paid 0 or 1 by chance", reward="coin"),
    "milestones": Experiment("0.1 for each milestone, 0.8 for the answer", reward="milestones"),
    "unmasked": Experiment("the tool's tokens are in the loss", learn_tool_tokens=True),
    "failing": Experiment(
        "every call fails with probability 0.3",
        calculator="failing",
        steps=60,
        shares=_RETRIES,
        grpo={"max_completion_length": 160, "max_tool_calling_iterations": 8},
    ),
    "steps": Experiment(
        "one turn without a tool: write the steps or answer at once",
        task="totals",
        demonstrations=15_000,
        sft={"steps": 800, "batch_size": 64},
        grpo={"max_completion_length": 40},
    ),
}


def run_experiment(
    name: str, seed: int, *, start: Policy | None = None, command: str = "", live: bool | None = False
) -> dict[str, Any]:
    """Do one experiment from SFT to the last measurement and return its record.

    Parameters
    ----------
    name : str
        A key of `EXPERIMENTS`.
    seed : int
        Of weights, data, sampling and of what the calculator does.
    start : Policy, optional
        The policy after SFT, from `start_policy`; it is copied, so that experiments can share it.
    command : str
        For the record.
    live : bool, optional
        As in :func:`rl_lab.train.grpo.run_grpo`.

    Returns
    -------
    dict
        Schema of :mod:`rl_lab.train.record`. ``results`` has ``before`` and ``after`` (see `measure`), and seconds of
        wall clock and of CPU for SFT, GRPO and the measurements.
    """
    plan, clock = _plan(name), _Clock()
    policy = start_policy(name, seed) if start is None else start.copy()
    sft = clock.lap()
    before = measure(policy, name, seed)
    measured = clock.lap()
    run = train(policy, name, seed, command=command, live=live)
    grpo = clock.lap()
    after = measure(policy, name, seed)
    measured = [a + b for a, b in zip(measured, clock.lap(), strict=True)]
    run["name"] = f"seed {seed}"
    run["curves"] = {key: run["curves"][key] for key in _KEPT if key in run["curves"]}
    run["samples"] = [s for s in run["samples"] if s["step"] in (1, 10, 20, 30, 40, 50, 60)]
    run["settings"] |= {"experiment": name, "about": plan.about, "demonstrations": plan.demonstrations}
    run["settings"] |= plan.shares | {f"sft_{key}": value for key, value in plan.sft.items()}
    run["results"] |= {"before": before, "after": after}
    run["results"]["clock"] = {
        part: {"seconds": round(wall, 1), "cpu_seconds": round(cpu, 1)}
        for part, (wall, cpu) in (("sft", sft), ("grpo", grpo), ("measuring", measured))
        if start is None or part != "sft"
    }
    return run


def start_policy(name: str, seed: int, on_step: Callable[[int, float, float], None] | None = None) -> Policy:
    """Make the tiny model and train it by SFT on the demonstrations of an experiment."""
    from rl_lab.train.tiny import make_tiny, warm_up

    plan = _plan(name)
    kind = totals if plan.task == "totals" else shopping
    traces = kind.demonstrations(plan.demonstrations, seed, **plan.shares)
    policy = make_tiny(seed, traces[:400] if plan.task == "totals" else None)
    warm_up(policy, traces, seed=seed, on_step=on_step, **plan.sft)
    return policy


def train(
    policy: Policy, name: str, seed: int, *, command: str = "", live: bool | None = None
) -> dict[str, Any]:
    """Train a policy by GRPO as an experiment does; returns the record of the run."""
    from rl_lab.train.grpo import run_grpo

    plan = _plan(name)
    kind = totals if plan.task == "totals" else shopping
    rows = kind.to_rows(kind.sample_problems(plan.steps * PROMPTS_PER_STEP, seed + 500))
    return run_grpo(
        policy,
        rows,
        _reward(plan, seed),
        environment=_world(plan, seed),
        learn_tool_tokens=plan.learn_tool_tokens,
        skip_preflight=plan.reward == "coin",  # it pays wrong answers, on purpose
        name=name,
        command=command,
        live=live,
        print_every=10,
        max_steps=plan.steps,
        seed=seed,
        **(GRPO | plan.grpo),
    )


def measure(policy: Policy, name: str, seed: int, n: int = 200) -> dict[str, Any]:
    """Measure a policy on held-out problems, greedily and at temperature 1.

    Returns
    -------
    dict
        ``greedy`` and ``sampled``: numbers of :func:`rl_lab.train.evaluate.evaluate_policy` on `n` held-out problems.
        In the shopping task also ``case``, 64 samples of the 80-yuan problem, and ``episode``, its greedy turns. With
        a failing calculator ``errors`` and ``retried`` of the sampled episodes, how many are right by their number of
        errors, and an ``episode`` in which the first call fails. In the task with steps ``writes_steps``, and how
        often it is right with and without them.
    """
    from rl_lab.train.evaluate import evaluate_policy

    plan, rows = _plan(name), held_out_rows(name, n)
    limits = {"max_tokens": (GRPO | plan.grpo)["max_completion_length"], "max_turns": 9}
    world = _world(plan, seed + 1000)

    def play(rows: Sequence[Mapping[str, Any]], world: Any, **more: Any) -> Any:
        return evaluate_policy(policy, rows, world, seed=seed, keep=len(rows), **limits, **more)

    greedy, sampled = play(rows, world), play(rows, world, temperature=1.0)
    out = {"greedy": record.plain_result(greedy), "sampled": record.plain_result(sampled)}
    if plan.task == "totals":
        return out | _steps_or_not(sampled)
    out["case"] = record.plain_result(play([CASE] * 64, world, temperature=1.0))
    one = play([CASE], fails_once if plan.calculator == "failing" else make_environment())
    out["episode"] = record.episode_turns(one.episodes[0].messages, one.mean_reward)
    if plan.calculator == "failing":
        out |= _by_errors([e.world for e in sampled.episodes])
    return out


def held_out_rows(name: str = "outcome", n: int = 200) -> list[dict[str, Any]]:
    """The held-out problems of an experiment, the same for all seeds."""
    kind = totals if _plan(name).task == "totals" else shopping
    return kind.to_rows(kind.sample_problems(n, _TEST_SEED, held_out=True))


def _steps_or_not(sampled: Any) -> dict[str, Any]:
    wrote = [totals.writes_steps(text) for text in sampled["texts"]]
    with_steps = [right for right, w in zip(sampled["right"], wrote, strict=True) if w]
    without = [right for right, w in zip(sampled["right"], wrote, strict=True) if not w]
    return {
        "writes_steps": len(with_steps) / len(wrote),
        "right_with_steps": [sum(with_steps), len(with_steps)],
        "right_without": [sum(without), len(without)],
    }


def _by_errors(worlds: Sequence[ShoppingTools]) -> dict[str, Any]:
    out: dict[str, Any] = {"errors": sum(w.errors for w in worlds), "retried": sum(w.retries for w in worlds)}
    for label, group in (
        ("no_error", [w for w in worlds if w.calls and not w.errors]),
        ("one_error", [w for w in worlds if w.errors == 1]),
        ("more_errors", [w for w in worlds if w.errors > 1]),
    ):
        out[f"right_{label}"] = [sum(w.correct for w in group), len(group)]
    return out


def _plan(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise ValueError(
            f"experiment must be one of {', '.join(EXPERIMENTS)}, got {name!r}{closest(name, EXPERIMENTS)}"
        )
    return EXPERIMENTS[name]


def _world(plan: Experiment, seed: int) -> Callable[[], ShoppingTools] | None:
    if plan.task == "totals":
        return None
    if plan.calculator == "half_lying":
        return HalfLying(seed)
    reward = "milestones" if plan.reward == "milestones" else "outcome"
    return make_environment(plan.calculator, reward=reward, failure_rate=0.3, seed=seed)


def _reward(plan: Experiment, seed: int) -> Any:
    if plan.reward == "coin":
        return coin_reward(seed)
    if plan.task == "totals":
        return accuracy_and_steps
    return plan.reward


class HalfLying:
    """Factory of worlds whose calculator is wrong by 7, 11 or 13 in every second call, by chance."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.settings = {"environment": "ShoppingTools", "calculator": "half_lying"}

    def __call__(self) -> ShoppingTools:
        """Make a world."""
        return ShoppingTools(self._calculate)

    def honest(self) -> ShoppingTools:
        """Make a world whose calculator is right, for the check of the reward."""
        return ShoppingTools()

    def _calculate(self, expr: str) -> Fraction:
        lie = self._rng.choice((7, 11, 13)) if self._rng.random() < 0.5 else 0
        return evaluate(expr) + Fraction(lie)


def fails_once() -> ShoppingTools:
    """Make a world whose calculator fails at the first call and then works.

    >>> world = fails_once()
    >>> world.reset(**CASE)
    >>> world.calc("80*0.75"), world.calc("80*0.75")
    ('error: calculator busy', '60')
    """
    calls: list[str] = []

    def calculator(expr: str) -> Any:
        calls.append(expr)
        if len(calls) == 1:
            raise CalculatorError(shopping.BUSY)
        return evaluate(expr)

    return ShoppingTools(calculator)


def coin_reward(seed: int) -> Callable[..., list[float]]:
    """Make a reward that knows nothing: 0 or 1 by chance. What a policy does under it is drift."""
    rng = random.Random(seed)

    def coin(
        completions: Any, environments: Any = None, log_metric: Any = None, **columns: Any
    ) -> list[float]:
        environment_reward(completions, environments, log_metric)  # for the curves only
        return [float(rng.random() < 0.5) for _ in completions]

    return coin


def accuracy_and_steps(completions: Any, log_metric: Any = None, **columns: Any) -> list[float | None]:
    """Pay 1 for a right answer, and log ``writes_steps``; the steps themselves earn nothing."""
    if log_metric:
        log_metric("writes_steps", sum(map(totals.writes_steps, completions)) / len(completions))
    return batch_accuracy(completions=completions, **columns)


def watch_sft(total: int, title: str = "SFT") -> Callable[[int, float, float], None]:
    """Make an ``on_step`` for ``warm_up`` that shows the loss as it falls, every twentieth step."""
    from rl_lab.train.monitor import Monitor

    watch = Monitor(total, title=title, every=max(1, total // 5))

    def on_step(step: int, loss: float, seconds: float) -> None:
        if step % 20 == 0 or step == total:
            watch.step(step, {"loss": loss})

    return on_step


class _Clock:
    """Seconds of wall clock and of CPU since the last lap."""

    def __init__(self) -> None:
        self._last = time.perf_counter(), time.process_time()

    def lap(self) -> list[float]:
        now = time.perf_counter(), time.process_time()
        passed = [b - a for a, b in zip(self._last, now, strict=True)]
        self._last = now
        return passed
