"""How does a policy over habits change under a reward, step by step?

The smallest policy there is: one logit for each habit, and the softmax of them says how often each is shown. GRPO
samples a group of completions for each problem, compares them with their group's mean and moves the logits; or, with
``group_size=None``, the average of that push over an infinitely large group is taken, without luck. Public through
:mod:`rl_lab.arena`.
"""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from rl_lab._grpo_objective import clipped_objective
from rl_lab.arena._bouts import Bouts, Scored
from rl_lab.arena._scoring import Paid
from rl_lab.grpo import grpo_advantages

_EPS = 1e-4  # TRL adds it to the standard deviation
_NO_SPREAD = 1e-7  # mean square minus squared mean keeps half the digits: less than this is rounding


class Push(NamedTuple):
    """How often a habit's completion is scored on a problem, its mean reward and mean squared reward."""

    scored: float
    first: float
    second: float


def softmax(logits: Sequence[float]) -> list[float]:
    """Turn logits into shares that add up to 1.

    Examples
    --------
    >>> softmax([0.0, 0.0])
    [0.5, 0.5]
    """
    top = max(logits)
    weights = [math.exp(logit - top) for logit in logits]
    total = sum(weights)
    return [weight / total for weight in weights]


def average_run(bouts: Bouts, *, steps: int, normalize: bool, learning_rate: float) -> list[list[float]]:
    """Shares before each step and after the last, under the average push of an infinitely large group.

    On a problem the push on habit h is ``share * (mean reward of h - mean reward)``, divided by the standard deviation
    of the rewards if `normalize`; problems count alike.
    """
    pushes = [[_push(outcomes) for outcomes in habits] for habits in bouts]
    rate = learning_rate / len(pushes)
    logits = [0.0] * len(bouts[0])
    history = [softmax(logits)]
    for _ in range(steps):
        shares = history[-1]
        gradient = [0.0] * len(shares)
        for problem in pushes:
            for habit, push in enumerate(_advantages(problem, shares, normalize)):
                gradient[habit] += push
        mean = sum(map(operator.mul, shares, gradient))
        for habit, (share, push) in enumerate(zip(shares, gradient, strict=True)):
            logits[habit] += rate * share * (push - mean)
        history.append(softmax(logits))
    return history


def _push(outcomes: Sequence[Scored]) -> Push:
    paid = [(outcome.chance, reward) for outcome, reward in outcomes if reward is not None]
    return Push(
        sum(chance for chance, _ in paid),
        sum(chance * reward for chance, reward in paid),
        sum(chance * reward * reward for chance, reward in paid),
    )


def _advantages(problem: Sequence[Push], shares: Sequence[float], normalize: bool) -> list[float]:
    """Mean advantage of each habit on one problem; an unscored completion has advantage 0."""
    scored = first = second = 0.0
    for share, push in zip(shares, problem, strict=True):
        scored += share * push.scored
        first += share * push.first
        second += share * push.second
    if scored <= 0:
        return [0.0] * len(shares)
    mean = first / scored
    std = math.sqrt(max(0.0, second / scored - mean * mean))
    if std < _NO_SPREAD * max(1.0, abs(mean)):
        return [0.0] * len(shares)
    scale = std + _EPS if normalize else 1.0
    return [(push.first - mean * push.scored) / scale for push in problem]


def sampled_run(
    bouts: Bouts,
    *,
    steps: int,
    group_size: int,
    normalize: bool,
    learning_rate: float,
    epochs: int,
    epsilon: float,
    seed: int,
) -> list[list[float]]:
    """Shares before each step and after the last, under real GRPO: one sampled group for each problem and step."""
    rng = random.Random(seed)
    logits = [0.0] * len(bouts[0])
    places = range(len(logits))
    ladders = [[list(accumulate(one.outcome.chance for one in habit)) for habit in row] for row in bouts]
    history = [softmax(logits)]
    for _ in range(steps):
        old = history[-1]
        picked = [rng.choices(places, old, k=group_size) for _ in bouts]
        rewards = [
            [_draw(rng, row[habit], ladder[habit]) for habit in group]
            for row, ladder, group in zip(bouts, ladders, picked, strict=True)
        ]
        advantages = grpo_advantages(rewards, normalize=normalize)
        signal = [
            (habit, advantage)
            for group, found in zip(picked, advantages, strict=True)
            for habit, advantage in zip(group, found, strict=True)
            if advantage
        ]
        for _ in range(epochs):
            _update(logits, old, signal, learning_rate / (group_size * len(bouts)), epsilon)
        history.append(softmax(logits))
    return history


def _draw(rng: random.Random, outcomes: Sequence[Scored], ladder: Sequence[float]) -> Paid:
    luck = rng.random() * ladder[-1]
    return next(one.reward for one, top in zip(outcomes, ladder, strict=True) if luck <= top)


def _update(
    logits: list[float],
    old: Sequence[float],
    signal: Sequence[tuple[int, float]],
    rate: float,
    epsilon: float,
) -> None:
    """One ascent of the clipped objective; d log(share h) / d logit k is 1 where k = h, minus share k."""
    shares = softmax(logits)
    total = 0.0
    gradient = [0.0] * len(logits)
    for habit, advantage in signal:
        ratio = shares[habit] / old[habit]
        if clipped_objective(ratio, advantage, epsilon) == ratio * advantage:  # elsewhere it is flat
            gradient[habit] += ratio * advantage
            total += ratio * advantage
    for habit, share in enumerate(shares):
        logits[habit] += rate * (gradient[habit] - total * share)
