"""Is this a reward function that TRL can use? Asked before training, and of every batch while it runs.

TRL calls a reward by keyword with ``prompts``, ``completions``, ``completion_ids``, every column of the data set and
more, and wants one number (or None) per completion. What goes wrong there ends in messages such as
``TypeError: 'float' object is not iterable``; the checks here name the function and the remedy.

>>> def mine(completions, **columns):
...     return [float(len(c) < 20) for c in completions]
>>> guard(mine)(completions=["Final Answer: 55"], ground_truth=["55"])
[1.0]
"""

from __future__ import annotations

import functools
import inspect
import numbers
from collections.abc import Callable, Sequence
from typing import Any

from rl_lab._record import closest
from rl_lab.rewards import make_reward
from rl_lab.train.environment import REWARDS as ENVIRONMENT_REWARDS
from rl_lab.train.environment import environment_reward

__all__ = ["REWARD_NAMES", "RewardError", "check_signature", "guard", "resolve"]

RewardFunction = Callable[..., Sequence[float | None]]
REWARD_NAMES = (*ENVIRONMENT_REWARDS, "accuracy", "length", "step", "hybrid", "format")


class RewardError(ValueError):
    """A reward function broke the contract; the message says which one, how, and what to write instead."""


def resolve(reward: str | RewardFunction | Sequence[str | RewardFunction]) -> list[RewardFunction]:
    """Turn names and functions into a list of reward functions.

    Parameters
    ----------
    reward : str, callable, or a sequence of them
        "outcome" and "milestones" are paid by the environment; "accuracy", "length", "step", "hybrid" and "format" are
        :func:`rl_lab.rewards.make_reward`'s.

    Examples
    --------
    >>> [f.__name__ for f in resolve(["outcome", "format"])]
    ['environment_reward', 'format']
    >>> resolve("accuracies")
    Traceback (most recent call last):
    ...
    ValueError: reward must be a function or one of outcome, milestones, accuracy, length, step, hybrid, format, \
got 'accuracies'; did you mean 'accuracy'?
    """
    if isinstance(reward, str) or callable(reward):
        reward = [reward]
    return [_one(item) for item in reward]


def _one(reward: str | RewardFunction) -> RewardFunction:
    if callable(reward):
        check_signature(reward)
        return reward
    if reward not in REWARD_NAMES:
        raise ValueError(
            f"reward must be a function or one of {', '.join(REWARD_NAMES)}, "
            f"got {reward!r}{closest(reward, REWARD_NAMES)}"
        )
    if reward in ENVIRONMENT_REWARDS:
        return environment_reward
    made = make_reward(reward)

    def named(completions: Any, **columns: Any) -> list[float | None]:
        return made(completions=completions, **columns)

    named.__name__ = reward  # TRL names its curves after it
    return named


def check_signature(reward: RewardFunction) -> None:
    """Refuse a function that TRL cannot call by keyword with all its columns.

    Raises
    ------
    RewardError
        If it has no ``completions``, no ``**columns``, or a parameter that must be given by position.

    Examples
    --------
    >>> def f(completion, truth): return 1.0
    >>> check_signature(f)
    Traceback (most recent call last):
    ...
    rl_lab.train.reward.RewardError: reward function f must take completions and **columns, got f(completion, truth); \
write def f(completions, ground_truth, **columns)
    """
    name = getattr(reward, "__name__", type(reward).__name__)
    try:
        signature = inspect.signature(reward)
    except (TypeError, ValueError):  # built in C: nothing to look at
        return
    kinds = {p.name: p.kind for p in signature.parameters.values()}
    takes_all = inspect.Parameter.VAR_KEYWORD in kinds.values()
    by_position = inspect.Parameter.POSITIONAL_ONLY in kinds.values()
    if not takes_all or by_position or ("completions" not in kinds and len(kinds) > 1):
        raise RewardError(
            f"reward function {name} must take completions and **columns, got {name}{signature}; "
            f"write def {name}(completions, ground_truth, **columns)"
        )


def guard(
    reward: RewardFunction,
    *,
    sole: bool = True,
    keep: Callable[[dict[str, Any], list[float | None]], None] | None = None,
) -> RewardFunction:
    """Wrap a reward so that a broken result is an error that names it.

    Parameters
    ----------
    reward : callable
        In TRL's form.
    sole : bool, default True
        Whether it is the only reward: then None for every completion of a batch is an error, since nothing could be
        learned. Beside others it may skip a batch.
    keep : callable, optional
        Called with all columns and the rewards of each batch.

    Returns
    -------
    callable
        Same name, same call.

    Raises
    ------
    RewardError
        When called: if the result is no list, has the wrong length, holds something that is no finite number, or None
        throughout.
    """
    name = getattr(reward, "__name__", type(reward).__name__)

    @functools.wraps(reward, updated=())
    def guarded(**columns: Any) -> list[float | None]:
        result = reward(**columns)
        rewards = _checked(name, result, len(columns["completions"]), sole)
        if keep:
            keep(columns, rewards)
        return rewards

    guarded.__name__ = name
    return guarded


def _checked(name: str, result: Any, n: int, sole: bool) -> list[float | None]:
    if isinstance(result, (str, bytes)) or not hasattr(result, "__len__"):
        raise RewardError(
            f"reward function {name} must return one number per completion ({n}), got {result!r}; "
            "return a list, [... for completion in completions]"
        )
    values = result.tolist() if hasattr(result, "tolist") else list(result)
    if len(values) != n:
        raise RewardError(
            f"reward function {name} must return {n} rewards, one per completion, got {len(values)}"
        )
    for i, value in enumerate(values):
        if value is None:
            continue
        if isinstance(value, (str, bytes)) or not isinstance(value, numbers.Real):
            raise RewardError(
                f"reward function {name} must return numbers or None, got {value!r} for completion {i}; use float()"
            )
        if value != value or value in (float("inf"), float("-inf")):
            raise RewardError(
                f"reward function {name} must return finite numbers, got {value} for completion {i}"
            )
    if sole and n and all(value is None for value in values):
        raise RewardError(
            f"reward function {name} returned None for all {n} completions: nothing can be learned from that. "
            "None means 'cannot be scored'; check that the label column holds numbers"
        )
    return [None if value is None else float(value) for value in values]
