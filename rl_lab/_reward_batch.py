"""How does TRL call a reward, and what must never go wrong there in silence?

``GRPOTrainer`` (TRL 1.16, ``grpo_trainer.py``, ``_calculate_rewards``) calls each reward by keyword with ``prompts``,
``completions``, ``completion_ids``, ``trainer_state``, ``log_extra``, ``log_metric`` (and ``environments``, where there
are any) plus every other column of the data set, one entry per completion. It wants one float per completion
back, or None to leave a sample out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

_LABELS = ("answer", "answers", "solution", "label", "labels", "target", "gold", "reference", "final_answer")

MISSING: Any = object()
"""Stands for a column that the trainer did not pass: None would be a legitimate label."""


def score_batch(
    score: Callable[..., float | None], completions: Any, ground_truth: Any, columns: Mapping[str, Any]
) -> list[float | None]:
    """Score each completion against its own label, after checking that there is one label each."""
    completions = listed("completions", completions)
    if ground_truth is MISSING:
        received = ", ".join(["completions", *sorted(columns)])
        raise ValueError(
            f"the reward needs a column named ground_truth, got {received}; rename the data set's label column, "
            f"for instance dataset.rename_column({_likely_label(columns)!r}, 'ground_truth')"
        )
    labels = listed("ground_truth", ground_truth)
    if len(labels) != len(completions):
        raise ValueError(
            f"ground_truth must hold one label per completion, got {len(completions)} completions and "
            f"{len(labels)} labels; repeat each prompt's label for every completion of its group"
        )
    rewards = [score(completion, label) for completion, label in zip(completions, labels, strict=True)]
    _report_skipped(rewards, columns.get("log_metric"))
    return rewards


def listed(name: str, column: Any) -> list[Any]:
    """Give a column as a list: of a list, a tuple, an array or a tensor with one entry per completion."""
    try:
        # A bare string would be taken apart into characters, each of them a "completion".
        entries = -1 if isinstance(column, (str, bytes, Mapping, set, frozenset)) else len(column)
    except TypeError:  # no length: a generator, None, a tensor without dimensions
        entries = -1
    if entries < 0:
        raise TypeError(
            f"{name} must be a list with one entry per completion, got {type(column).__name__}; "
            "wrap a single one in [...], and a generator in list(...)"
        )
    return list(column)


def _likely_label(columns: Mapping[str, Any]) -> str:
    """Guess which of the columns is the label: by a usual name, else by the most similar one."""
    usual = [name for name in _LABELS if name in columns]
    similar = get_close_matches("ground_truth", columns, n=1) or [c for c in columns if c.lower() in _LABELS]
    return (similar or usual or ["answer"])[0]


def _report_skipped(rewards: list[float | None], log_metric: Any) -> None:
    """Count the samples that an unusable label left out: as a metric in training, as a warning in the log elsewhere."""
    skipped = sum(reward is None for reward in rewards)
    if callable(log_metric):
        log_metric("labels_skipped", float(skipped))
    elif skipped:
        import logging  # here, because a clean batch and `import rl_lab` need it not

        logging.getLogger("rl_lab.rewards").warning(
            "%d of %d labels are missing or not one finite number: these samples are skipped (None)",
            skipped,
            len(rewards),
        )
