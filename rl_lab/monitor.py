"""Is this run learning anything, and if not, where would you look first?

The commonest failure in public reports of RL training is a silent zero: the loss is 0, nothing crashes, and hours
later the model is what it was. In GRPO only differences *within* a group teach, so a run whose groups all agree has
no learning signal, however good its format reward looks. :func:`diagnose` reads the metrics that TRL logs and says so.

>>> log = [{"rewards/accuracy": 0.0, "rewards/format": 1.0, "reward_std": 0.0}] * 20
>>> print(diagnose(log)[0].split(";")[0])
no learning signal for 20 steps: within each group all completions earned the same
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

_SAME_AS_ACCURACY = ("correctness", "correct", "exact_match")

PATIENCE = 20
"""Steps without a signal that are worth a warning: a few are normal, above all at the start."""


def diagnose(log: Iterable[Mapping[str, Any]], *, patience: int = PATIENCE) -> list[str]:
    """Read a training log and return what is worth a warning.

    Parameters
    ----------
    log : iterable of dict
        One dict per logged step, oldest first, for instance ``trainer.state.log_history``. Used are ``reward_std``
        or ``frac_reward_zero_std``, ``rewards/<name>`` (or ``rewards/<name>/mean``) and
        ``completions/clipped_ratio``. Entries without rewards, such as evaluation results, are passed over.
    patience : int
        Steps in a row, at the end of the log, that make a warning; at least 1.

    Returns
    -------
    list of str
        One text per finding, most serious first; empty if there is nothing to say.

    Raises
    ------
    ValueError
        If `patience` is below 1, or no whole number.
    TypeError
        If `log` is no sequence of dicts.

    Examples
    --------
    >>> diagnose([{"rewards/accuracy": 0.4, "reward_std": 0.3}] * 40)
    []
    """
    if not isinstance(patience, int) or patience < 1:
        raise ValueError(f"patience must be at least 1 step, got {patience!r}; 20 is a usual value")
    spread = ("reward_std", "frac_reward_zero_std")
    steps = [entry for entry in _entries(log) if any(key in entry for key in spread) or _rewards(entry)]
    checks = (_no_signal, _only_the_side_show)
    return [text for check in checks if (text := check(steps, patience))]


def _entries(log: Any) -> list[Mapping[str, Any]]:
    entries = list(log) if isinstance(log, Iterable) and not isinstance(log, (Mapping, str)) else [None]
    for entry in entries:
        if not isinstance(entry, Mapping):
            kind = type(log if entry is None else entry).__name__
            raise TypeError(
                f"log must be a list of dicts, one per step, got {kind}; trainer.state.log_history is such a list"
            )
    return entries


def _no_signal(steps: list[Mapping[str, Any]], patience: int) -> str:
    silent = _streak(steps, _groups_agree)
    if silent < patience:
        return ""
    unscored = all(map(_unscored, steps[-silent:]))
    seen = (
        "no completion could be scored" if unscored else "within each group all completions earned the same"
    )
    return f"no learning signal for {silent} steps: {seen}; likely causes: " + "; ".join(
        f"({i}) {cause}" for i, cause in enumerate(_causes(steps[-silent:]), 1)
    )


def _causes(steps: list[Mapping[str, Any]]) -> list[str]:
    """List likely causes, with what the log itself says about each."""
    clipped = _mean(steps, "completions/clipped_ratio")
    accuracy = _mean(_flat(steps), "accuracy")
    cut = "" if clipped is None else f" ({clipped:.0%} were cut)"
    paid = {None: "", 0.0: " (accuracy is 0)", 1.0: " (accuracy is 1)"}.get(accuracy, "")
    unread = (
        " (a mean reward is NaN: every label of a batch was unusable)" if any(map(_has_nan, steps)) else ""
    )
    return [
        f"truncation: completions end before the answer{cut}, so raise max_completion_length",
        "marker mismatch: the model answers in one format, the extractor expects another, so read five completions",
        f"labels: the column is missing, wrong or unreadable{unread}, so check that your gold solutions are paid 1.0",
        f"all-easy or all-hard prompts{paid}: every completion of a group is right, or none is, so mix difficulties",
    ]


def _only_the_side_show(steps: list[Mapping[str, Any]], patience: int) -> str:
    """Find accuracy at 0 while another reward, or a fine, still moves: the model is learning something else."""

    def side_show(entry: Mapping[str, Any]) -> bool:
        paid = _rewards(entry)
        return paid.get("accuracy") == 0 and any(paid.values())

    count = _streak(steps, side_show)
    if count < patience:
        return ""
    moving = {name: value for name, value in sorted(_rewards(steps[-1]).items()) if value}
    others, verb = ", ".join(moving), "paid" if max(moving.values()) > 0 else "fined"
    return (
        f"accuracy has been 0 for {count} steps while {others} is {verb}: the model learns {others} and nothing else; "
        "check marker and labels, start from easier prompts, or gate the other reward on a correct answer"
    )


def _groups_agree(entry: Mapping[str, Any]) -> bool:
    if _unscored(entry):  # TRL logs a share of 0 silent groups then
        return True
    share = _number(entry.get("frac_reward_zero_std"))
    if share is not None:
        return share >= 1
    std = _number(entry.get("reward_std"))
    if std is not None:
        return std <= 1e-8
    # No spread was logged. A reward between 0 and 1 whose mean is one of the two was the same for everyone.
    paid = _rewards(entry).values()
    return bool(paid) and all(value in (0.0, 1.0) for value in paid)


def _streak(steps: list[Mapping[str, Any]], holds: Any) -> int:
    """Count how many steps in a row, counted back from the last, a condition holds."""
    count = 0
    while count < len(steps) and holds(steps[-1 - count]):
        count += 1
    return count


def _rewards(entry: Mapping[str, Any]) -> dict[str, float]:
    """Return the mean of each reward by its bare name: TRL writes ``rewards/accuracy/mean``, older logs no suffix."""
    found = {}
    for key, value in entry.items():
        parts = str(key).split("/")
        if parts[0] == "rewards" and len(parts) > 1 and parts[-1] != "std" and _number(value) is not None:
            name = parts[1].removesuffix("_func").removesuffix("_reward").removeprefix("batch_")
            found["accuracy" if name in _SAME_AS_ACCURACY else name] = float(value)
    return found


def _unscored(entry: Mapping[str, Any]) -> bool:
    """Whether every mean reward of a step is NaN: each reward function returned None for each completion."""
    means = [
        v for k, v in entry.items() if str(k).split("/")[0] in ("reward", "rewards") and k[-4:] != "/std"
    ]
    return bool(means) and all(value != value for value in means)


def _has_nan(entry: Mapping[str, Any]) -> bool:
    return any(str(key).startswith("rewards/") and value != value for key, value in entry.items())


def _flat(steps: list[Mapping[str, Any]]) -> list[dict[str, float]]:
    return [_rewards(entry) for entry in steps]


def _mean(steps: Iterable[Mapping[str, Any]], key: str) -> float | None:
    values = [value for entry in steps if (value := _number(entry.get(key))) is not None]
    return sum(values) / len(values) if values else None


def _number(value: Any) -> float | None:
    """Return a finite float, or None: a NaN mean says that every label of the batch was unusable."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
