"""Is the run going well, and how long will it take? One line a step in a terminal, live curves in a notebook.

The same monitor watches the hand-written loops and TRL's trainers. Its warnings explain themselves: what was seen, what
it means, what to do; each is given once.

>>> watch = Monitor(total=2, live=False)
>>> watch.step(1, {"reward": 0.25, "tool_rate": 0.3})                                   # doctest: +ELLIPSIS
step 1/2  reward 0.25  tool_rate 0.3 | 0:00, 0:00 left
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rl_lab.monitor import PATIENCE, diagnose
from rl_lab.train._live import Canvas, in_notebook
from rl_lab.train.record import add_step, plain_result

__all__ = ["SHOWN", "Monitor", "as_callback", "findings"]

SHOWN = (
    "loss",
    "reward",
    "success",
    "tool_rate",
    "retry_rate",
    "kl",
    "entropy",
    "completions/mean_length",
    "frac_reward_zero_std",
)
_NAMES = {"completions/mean_length": "length", "frac_reward_zero_std": "zero_std"}

KL_STOP = 0.5  # nats per token; a rule of thumb that depends on the estimator (chapter 11)
CUT_SHARE = 0.3  # share of completions that end at the limit
FLAT_ENTROPY = 0.02  # nats per token: one continuation is as good as certain
DROP = 0.05  # held-out accuracy lost before we say so


def findings(
    log: Sequence[Mapping[str, Any]],
    held_out: Sequence[Mapping[str, Any]] = (),
    *,
    patience: int = PATIENCE,
) -> list[tuple[str, str]]:
    """What is worth a warning, as pairs of a short kind and a text that explains itself.

    Parameters
    ----------
    log : sequence of mappings
        One per step, oldest first, with TRL's names.
    held_out : sequence of mappings
        Evaluations during the run: ``step`` and ``accuracy`` (0 to 1).
    patience : int
        Steps in a row that make a warning of a missing signal.

    Examples
    --------
    >>> [kind for kind, text in findings([{"reward": 0.2, "kl": 0.9}])]
    ['kl']
    """
    found = [(text.split(" for ")[0], text) for text in diagnose(log, patience=patience)]
    checks = (_ruined, _kl, _cut, _dropped_results, _entropy)
    found += [(kind, text) for check in checks for kind, text in [check(log)] if text]
    kind, text = _drifted(log, held_out)
    return [*found, (kind, text)] if text else found


def _ruined(log: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    for key in ("loss", "kl"):
        value = _last(log, key)
        # An infinite KL is far above its limit, and told there.
        if value is not None and (math.isnan(value) or (key == "loss" and math.isinf(value))):
            return "nan", (
                f"the {key} is {value}: the weights are ruined, and more steps do not repair them. Go back to a "
                "checkpoint, with a third of learning_rate; a single nan in grad_norm in the first fp16 steps is only "
                "the scaler finding its scale"
            )
    return "nan", ""


def _kl(log: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    kl = _last(log, "kl")
    if kl is None or not kl > KL_STOP:  # nan is not above it
        return "kl", ""
    return "kl", (
        f"kl is {kl:.2g} nats per token, above {KL_STOP}: the policy has left its reference. Go back to a checkpoint; "
        "lower learning_rate to a third first, then raise beta (0.05, 0.1)"
    )


def _cut(log: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    cut = _recent(log, "completions/clipped_ratio")
    if cut is None or cut < CUT_SHARE:
        return "cut", ""
    return "cut", (
        f"{cut:.0%} of completions end at max_completion_length, before their answer, and earn nothing: raise it, or "
        "check that the model can end (its end token must be in SFT's loss)"
    )


def _dropped_results(log: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    dropped = _recent(log, "unanswered_calls")
    if dropped is None or dropped < 0.05:
        return "dropped", ""
    return "dropped", (
        f"{dropped:.0%} of completions end in a tool call without its result: the result no longer fitted into "
        "max_completion_length, which counts all turns and the tool's tokens, or the turns ran out; raise "
        "max_completion_length or max_tool_calling_iterations"
    )


def _entropy(log: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    entropy, reward = _recent(log, "entropy", 10), _recent(log, "reward", 10)
    if len(log) < 10 or entropy is None or reward is None or entropy > FLAT_ENTROPY or reward > 0.9:
        return "entropy", ""
    return "entropy", (
        f"entropy is {entropy:.2g} nats per token while the reward is {reward:.2g}: all completions of a group are the "
        "same, so nothing new is tried. Go back to a checkpoint; lower learning_rate, raise beta or temperature"
    )


def _drifted(log: Sequence[Mapping[str, Any]], held_out: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    held_out = [e for e in held_out if _is_number(e.get("accuracy"))]
    if len(held_out) < 2:
        return "drift", ""
    best, now = max(held_out, key=lambda e: e["accuracy"]), held_out[-1]
    then = [e["reward"] for e in log if _is_number(e.get("reward")) and e.get("step", 0) <= best["step"]]
    lately = _recent(log, "reward")
    if (
        not then
        or lately is None
        or best["accuracy"] - now["accuracy"] <= DROP
        or lately <= sum(then[-5:]) / len(then[-5:])
    ):
        return "drift", ""
    return "drift", (
        f"the reward rises while accuracy on held-out problems fell from {best['accuracy']:.0%} (step {best['step']}) "
        f"to {now['accuracy']:.0%}: the reward pays for something else. Read the completions with the highest reward, "
        "stop, and mend the reward function"
    )


def _last(log: Sequence[Mapping[str, Any]], key: str) -> float | None:
    return log[-1].get(key) if log else None


def _recent(log: Sequence[Mapping[str, Any]], key: str, n: int = 5) -> float | None:
    values = [e[key] for e in log[-n:] if _is_number(e.get(key))]
    return sum(values) / len(values) if values else None


def _is_number(value: Any) -> bool:
    """Whether there is a value, and one that can be compared: nan is neither above a limit nor below it."""
    return value is not None and not math.isnan(value)


class Monitor:
    """Watches a run step by step.

    Parameters
    ----------
    total : int
        Steps of the run.
    run : dict, optional
        A record of :mod:`rl_lab.train.record`; steps and warnings are written into it.
    shown : sequence of str
        Curves to show, where they are there.
    live : bool, optional
        Curves in a notebook (True) or lines of text (False); found out by default.
    every : int
        In text, one line for each so many steps.
    title : str
        Stands above the live curves.
    """

    def __init__(
        self,
        total: int,
        run: dict[str, Any] | None = None,
        *,
        shown: Sequence[str] = SHOWN,
        live: bool | None = None,
        every: int = 1,
        title: str = "",
    ) -> None:
        self.total, self.run, self.shown, self.every = total, run, shown, max(1, every)
        self.log: list[dict[str, Any]] = []
        self.held_out: list[dict[str, Any]] = []
        self.warned: dict[str, str] = {}
        self.patience = max(5, min(PATIENCE, total // 2))
        self._canvas = Canvas(title) if (in_notebook() if live is None else live) else None
        self._start = time.perf_counter()
        self._first_end: float | None = None

    def begin(self, total: int) -> None:
        """Start the clock, once the trainer knows how many steps there will be."""
        self.total, self._start, self._first_end = total, time.perf_counter(), None
        self.patience = max(5, min(PATIENCE, total // 2))

    def step(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Take in the metrics of one step."""
        entry = {"step": step, **metrics}
        self.log.append(entry)
        if self.run is not None:
            add_step(self.run, step, metrics)
        head = self._head(step)
        if not self._canvas and (step % self.every == 0 or step >= self.total or len(self.log) == 1):
            print(self._line(head[1], entry), flush=True)
        self._warn()
        if self._canvas:
            self._canvas.paint(head, self.log, self.shown, list(self.warned.values()), step >= self.total)

    def evaluated(self, step: int, result: Mapping[str, Any]) -> None:
        """Take in an evaluation on held-out problems during the run."""
        entry = {"step": step, **plain_result(result)}
        self.held_out.append(entry)
        if self.run is not None:
            self.run["held_out"].append(entry)
        if not self._canvas:
            print(f"  held out, step {step}: accuracy {result['accuracy']:.1%}", flush=True)
        self._warn()

    def _warn(self) -> None:
        for kind, text in findings(self.log, self.held_out, patience=self.patience):
            if kind not in self.warned:
                self.warned[kind] = text
                if self.run is not None:
                    self.run["warnings"].append(text)
                if not self._canvas:
                    print(f"  warning: {text}", file=sys.stdout, flush=True)

    def _head(self, step: int) -> tuple[float, str]:
        now = time.perf_counter()
        # The first step waits for data and caches: the pace is measured from its end, once there is a second one.
        if self._first_end is None:
            self._first_end = now
        pace = (now - self._first_end) / (len(self.log) - 1) if len(self.log) > 1 else now - self._start
        times = f"{_clock(now - self._start)}, {_clock(pace * (self.total - step))} left"
        return step / max(1, self.total), f"step {step}/{self.total} | {times}"

    def _line(self, head: str, entry: Mapping[str, Any]) -> str:
        where, times = head.split(" | ")
        values = [
            f"{_NAMES.get(k, k)} {entry[k]:.3g}" for k in self.shown if isinstance(entry.get(k), (int, float))
        ]
        return "  ".join([where, *values]) + " | " + times


def as_callback(
    monitor: Monitor,
    *,
    evaluate: Callable[[], Mapping[str, Any]] | None = None,
    evaluate_every: int = 0,
) -> Any:
    """Wrap a monitor as a ``transformers.TrainerCallback``.

    Parameters
    ----------
    monitor : Monitor
    evaluate : callable, optional
        Returns a held-out result; called every `evaluate_every` steps.
    """
    from rl_lab.train._need import need

    class Watch(need("transformers").TrainerCallback):
        def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            monitor.begin(state.max_steps)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
            if not state.is_world_process_zero or not logs or "train_runtime" in logs:
                return
            if monitor.log and monitor.log[-1]["step"] >= state.global_step:
                return
            monitor.step(state.global_step, _numbers(logs))

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            if evaluate and evaluate_every and state.global_step % evaluate_every == 0:
                monitor.evaluated(state.global_step, evaluate())

    return Watch()


def _numbers(logs: Mapping[str, Any]) -> dict[str, float | None]:
    """TRL logs some numbers as text and missing ones as None."""
    out: dict[str, float | None] = {}
    for key, value in logs.items():
        try:
            out[key] = None if value is None else float(value)
        except (TypeError, ValueError):
            continue
    return out


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
