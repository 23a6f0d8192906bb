"""How is a reader's reward function called, and what may come back?

In the form of TRL's ``GRPOTrainer``, by keyword and for a whole batch, or for one completion after the other: the names
of its parameters say which. What comes back is checked here, so that a forgotten ``return`` reads as one. Public
through :mod:`rl_lab.arena`.

>>> def mine(completion, gold):
...     return float(completion.endswith(gold))
>>> score_texts(mine, ["Final Answer: 55", "no idea"], ["55", "55"])
[1.0, 0.0]
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rl_lab._grpo_common import listed

Paid = float | None

_LARGEST = 1e100


def score_texts(
    reward: Callable[..., Any],
    completions: Sequence[Any],
    labels: Sequence[Any],
    prompts: Sequence[str] | None = None,
) -> list[Paid]:
    """Score completions with a reader's reward function.

    Parameters
    ----------
    reward : callable
        ``reward(completions, ground_truth, **columns)``, the trainer's form: known by a parameter named
        ``completions``. Or ``reward(completion, gold)``, any other names: called once for each completion.
    completions, labels : sequence, same length
        What the model wrote, and the gold answers.
    prompts : sequence of str, optional
        Given to the trainer's form, with ``completion_ids``, ``trainer_state``, ``log_extra`` and ``log_metric``.

    Returns
    -------
    list of float or None
        None where the reward left a completion out.

    Raises
    ------
    TypeError
        If `reward` cannot be called this way, or gives anything but numbers and None.
    ValueError
        If it gives another number of rewards than there are completions, or one that is NaN or infinite.
    """
    if not callable_reward(reward):
        return [
            checked(reward(completion, label), completion)
            for completion, label in zip(completions, labels, strict=True)
        ]
    n = len(completions)
    columns: dict[str, Any] = {
        "prompts": list(prompts) if prompts is not None else [""] * n,
        "completion_ids": [[] for _ in range(n)],
        "ground_truth": list(labels),
        "trainer_state": None,
        "log_extra": None,
        "log_metric": lambda name, value: None,
    }
    return _checked_batch(reward(completions=list(completions), **columns), completions)


SENT = (
    "completions",
    "prompts",
    "completion_ids",
    "ground_truth",
    "trainer_state",
    "log_extra",
    "log_metric",
)
"""What a reward in the trainer's form is called with."""


def callable_reward(reward: Any) -> bool:
    """Whether `reward` has the trainer's form; raises a TypeError if it has neither form.

    Examples
    --------
    >>> callable_reward(lambda completions, ground_truth, **columns: []), callable_reward(lambda text, gold: 0.0)
    (True, False)
    """
    if not callable(reward):
        raise TypeError(
            f"reward must be a function, got {type(reward).__name__} {reward!r:.60}; pass it without calling it"
        )
    try:
        parameters = inspect.signature(reward).parameters
    except (TypeError, ValueError):  # some built-in functions hide theirs
        return False
    given = list(parameters.values())
    anything = any(p.kind is p.VAR_KEYWORD for p in given)
    if "completions" in parameters or (anything and len(given) == 1):
        if not anything:
            raise TypeError(
                f"{_name(reward)} must take **columns as well: the trainer passes every column of the data set by "
                f"keyword, and it takes only {', '.join(parameters)}"
            )
        missing = [
            p.name
            for p in given
            if p.default is p.empty and p.kind is not p.VAR_KEYWORD and p.name not in SENT
        ]
        if missing:
            raise TypeError(
                f"{_name(reward)} asks for a column {missing[0]!r} that is not sent; the label comes as ground_truth: "
                "rename the parameter, or give it a default"
            )
        return True
    places = [p for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in given if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    if (len(places) < 2 and not any(p.kind is p.VAR_POSITIONAL for p in given)) or len(needed) > 2:
        raise TypeError(
            f"{_name(reward)} must take (completion, gold) or (completions, ground_truth, **columns), "
            f"got ({', '.join(map(str, given))})"
        )
    return False


def checked(value: Any, completion: Any) -> Paid:
    """One reward as float or None; else raise, naming what came back and for which completion."""
    if value is None:
        return None
    where = f"for the completion {_short(completion)}"
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()  # a NumPy or torch scalar
    if isinstance(value, (str, bytes, list, tuple, Mapping)):
        raise TypeError(
            f"a reward must be a number or None, got {type(value).__name__} {value!r:.60} {where}; return a float"
        )
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"a reward must be a number or None, got {type(value).__name__} {value!r:.60} {where}"
        ) from None
    if not math.isfinite(number) or abs(number) > _LARGEST:
        raise ValueError(
            f"a reward must be finite, got {number} {where}; one such value poisons its whole group: return 0.0 or None"
        )
    return number


def _checked_batch(rewards: Any, completions: Sequence[Any]) -> list[Paid]:
    n = len(completions)
    if rewards is None:
        raise TypeError(f"the reward returned None for {n} completions; is there a return at its end?")
    if isinstance(rewards, (int, float)):
        raise TypeError(
            f"the reward returned one number, {rewards!r}, for {n} completions; return a list, one float each"
        )
    found = listed("the rewards", rewards)
    if len(found) != n:
        raise ValueError(
            f"the reward returned {len(found)} rewards for {n} completions; return exactly one each, "
            "None where one is to be left out"
        )
    return [checked(value, completion) for value, completion in zip(found, completions, strict=True)]


def _name(reward: Any) -> str:
    name = getattr(reward, "__name__", "the reward")
    return "the reward" if name == "<lambda>" else name


def _short(completion: Any) -> str:
    text = repr(completion)
    return text if len(text) <= 50 else text[:47] + "…" + text[0]
