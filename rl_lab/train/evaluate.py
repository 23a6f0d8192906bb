"""How good is the model, and how sure are we? Accuracy on held-out problems, always with its interval.

The policy works on each row, greedily or by sampling, with the same environment and the same scoring as in training.

>>> evaluate_policy(policy, rows, make_environment())                                   # doctest: +SKIP
accuracy 84.0 % (95 % interval 78.3 to 88.4, n = 200)  tool rate 100.0 %  format 100.0 %
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from rl_lab._estimates import share_interval, wilson_interval
from rl_lab._record import Record
from rl_lab.answers import extract_answer, same_number
from rl_lab.rewards import format_ok
from rl_lab.train.environment import settle
from rl_lab.train.policy import Policy
from rl_lab.train.rollout import Episode, play

__all__ = ["Evaluation", "evaluate_policy"]


class Evaluation(Record):
    """Result of an evaluation: a dict whose keys are attributes too, and one line of text for people."""

    def __repr__(self) -> str:
        low, high = self["interval"]
        interval = f"95 % interval {low * 100:.1f} to {high * 100:.1f}, n = {self['n']}{_problems(self)}"
        parts = [f"accuracy {self['accuracy'] * 100:.1f} % ({interval})"]
        if self.get("tool_rate") is not None:
            parts.append(f"tool rate {self['tool_rate'] * 100:.1f} %")
        return "  ".join([*parts, f"format {self['format_rate'] * 100:.1f} %"])

    __str__ = __repr__


def _problems(result: Evaluation) -> str:
    n, problems = result["n"], result["problems"]
    if n < 2 * problems:  # twins among generated problems are not worth the words
        return ""
    return f" samples of {problems} {'problem' if problems == 1 else 'problems'}"


def evaluate_policy(
    policy: Policy,
    rows: Sequence[dict[str, Any]],
    environment: Callable[[], Any] | None = None,
    *,
    temperature: float = 0.0,
    samples: int = 1,
    max_tokens: int = 64,
    max_turns: int = 5,
    batch_size: int = 100,
    seed: int = 0,
    keep: int = 3,
) -> Evaluation:
    """Let the policy work on each row and count what is right.

    Parameters
    ----------
    policy : Policy
    rows : sequence of dict
        With ``prompt`` (messages) and ``ground_truth``; with an environment also the columns it reads.
    environment : callable, optional
        As for training; without one the policy answers in a single turn.
    temperature : float, default 0.0
        0 is greedy: one answer per prompt, always the same.
    samples : int, default 1
        Completions per row.
    max_tokens : int
        Limit of a completion, over all its turns and with the tool's tokens.
    max_turns : int
        Limit of the assistant's turns.
    batch_size : int
        Completions generated side by side; more is faster and takes more memory.
    seed : int
        Of the sampling.
    keep : int
        How many episodes to keep for reading.

    Returns
    -------
    Evaluation
        ``accuracy`` (0 to 1), ``interval`` (Wilson, 95 %, see below), ``n`` (completions), ``problems`` (different
        prompts among them), ``correct``, ``format_rate``, ``mean_length`` (tokens that the model wrote), ``seconds``,
        ``right`` (list of bool, one per completion), ``texts`` (last turns), ``episodes`` (the first `keep`). With an
        environment also ``tool_rate``, ``calls`` and ``tool_errors`` (per completion), ``retry_rate`` (share of errors
        after which the tool was called again) and ``mean_reward`` (what the environment paid); None without one.

    Raises
    ------
    ValueError
        If there are no rows, or `samples` is below 1.

    Notes
    -----
    Samples of one problem are alike, so the interval counts problems: it is Wilson's around the mean of the problems'
    own rates, each problem one trial. That allows for at least the variance that their clustered standard error
    measures, and it holds where that one shrinks to nothing, at 0 and at 1. Where all completions are samples of one
    problem, drawn at a temperature, it is about that problem alone, and they are the trials.

    References
    ----------
    Miller (2024), Adding error bars to evals, arXiv:2411.00640 (clustered standard errors).
    """
    if not rows or samples < 1:
        raise ValueError(f"rows and samples must be at least 1, got {len(rows)} rows and samples={samples}")
    from rl_lab.train._need import need

    torch = need("torch")
    torch.manual_seed(seed)
    repeated = [row for row in rows for _ in range(samples)]
    # Similar lengths side by side: less padding to compute, and the same result.
    order = sorted(range(len(repeated)), key=lambda i: len(repeated[i]["prompt"][-1]["content"]))
    episodes: list[Episode | None] = [None] * len(repeated)
    training, start = policy.model.training, time.perf_counter()
    policy.model.eval()
    for at in range(0, len(order), batch_size):
        part = order[at : at + batch_size]
        played = play(
            policy,
            [repeated[i] for i in part],
            environment,
            max_tokens=max_tokens,
            max_turns=max_turns,
            temperature=temperature,
        )
        for i, episode in zip(part, played, strict=True):
            episodes[i] = episode
    policy.model.train(training)
    return _summary([e for e in episodes if e is not None], time.perf_counter() - start, keep, temperature)


def _summary(episodes: list[Episode], seconds: float, keep: int, temperature: float) -> Evaluation:
    n, worlds = len(episodes), [e.world for e in episodes if e.world is not None]
    paid = [settle(e.world, e.messages) for e in episodes if e.world is not None]
    errors = sum(w.errors for w in worlds)
    right = [_is_right(e) for e in episodes]
    sizes = Counter(json.dumps(e.row["prompt"], default=str) for e in episodes)
    return Evaluation(
        accuracy=sum(right) / n,
        interval=_interval(sum(right), list(sizes.values()), sampled=temperature > 0),
        n=n,
        problems=len(sizes),
        correct=sum(right),
        format_rate=sum(format_ok(e.messages) for e in episodes) / n,
        tool_rate=sum(w.calls > 0 for w in worlds) / n if worlds else None,
        calls=sum(w.calls for w in worlds) / n if worlds else None,
        tool_errors=sum(w.errors for w in worlds) / n if worlds else None,
        retry_rate=sum(w.retries for w in worlds) / errors if errors else None,
        mean_length=sum(sum(e.own) for e in episodes) / n,
        mean_reward=sum(paid) / n if worlds else None,
        seconds=seconds,
        right=right,
        texts=[e.text for e in episodes],
        episodes=episodes[:keep],
    )


def _interval(correct: int, sizes: list[int], *, sampled: bool) -> list[float]:
    """Wilson's interval with problems as trials; `sizes` holds the completions of each."""
    n = sum(sizes)
    if len(sizes) == n or (len(sizes) == 1 and sampled):
        return list(wilson_interval(correct, n))
    # The number of problems if all have equally many completions, fewer if some weigh more (Kish's effective size).
    return list(share_interval(correct / n, n * n / sum(size * size for size in sizes)))


def _is_right(episode: Episode) -> bool:
    if episode.world is not None:
        return bool(episode.world.correct)
    # What counts as an answer is decided where the rewards decide it.
    return same_number(extract_answer(episode.text), episode.row["ground_truth"])
