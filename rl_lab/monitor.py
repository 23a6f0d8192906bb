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
        If `patience` is below 1.

    Examples
    --------
    >>> diagnose([{"rewards/accuracy": 0.4, "reward_std": 0.3}] * 40)
    []
    """
    if patience < 1:
        raise ValueError(f"patience must be at least 1 step, got {patience}; 20 is a usual value")
    steps = [entry for entry in log if "reward_std" in entry or _rewards(entry)]
    checks = (_no_signal, _only_the_side_show)
    return [text for check in checks if (text := check(steps, patience))]


def _no_signal(steps: list[Mapping[str, Any]], patience: int) -> str:
    silent = _streak(steps, _groups_agree)
    if silent < patience:
        return ""
    return (
        f"no learning signal for {silent} steps: within each group all completions earned the same; "
        "likely causes: " + "; ".join(f"({i}) {cause}" for i, cause in enumerate(_causes(steps[-silent:]), 1))
    )


def _causes(steps: list[Mapping[str, Any]]) -> list[str]:
    """List likely causes, with what the log itself says about each."""
    clipped = _mean(steps, "completions/clipped_ratio")
    accuracy = _mean(_flat(steps), "accuracy")
    cut = "" if clipped is None else f" ({clipped:.0%} were cut)"
    paid = {None: "", 0.0: " (accuracy is 0)", 1.0: " (accuracy is 1)"}.get(accuracy, "")
    return [
        f"truncation: completions end before the answer{cut}, so raise max_completion_length",
        "marker mismatch: the model answers in one format, the extractor expects another, so read five completions",
        "labels: the column is missing, wrong or unreadable, so check that your gold solutions are paid 1.0",
        f"all-easy or all-hard prompts{paid}: every completion of a group is right, or none is, so mix difficulties",
    ]


def _only_the_side_show(steps: list[Mapping[str, Any]], patience: int) -> str:
    """Find accuracy at 0 while another reward is still earned: the model is learning something else."""

    def side_show(entry: Mapping[str, Any]) -> bool:
        paid = _rewards(entry)
        return paid.get("accuracy") == 0 and any(value > 0 for value in paid.values())

    count = _streak(steps, side_show)
    if count < patience:
        return ""
    others = ", ".join(sorted(name for name, value in _rewards(steps[-1]).items() if value > 0))
    return (
        f"accuracy has been 0 for {count} steps while {others} is paid: the model learns {others} and nothing else; "
        "check marker and labels, start from easier prompts, or gate the other reward on a correct answer"
    )


def _groups_agree(entry: Mapping[str, Any]) -> bool:
    share = _number(entry.get("frac_reward_zero_std"))
    if share is not None:
        return share >= 1
    std = _number(entry.get("reward_std"))
    return std is not None and std <= 1e-8


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
            name = parts[1].removesuffix("_reward").removeprefix("batch_")
            found[name] = float(value)
    return found


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
