"""How does TRL call a reward, and what must never go wrong there in silence?

``GRPOTrainer`` (TRL 1.16, ``grpo_trainer.py``, ``_calculate_rewards``) calls each reward by keyword with ``prompts``,
``completions``, ``completion_ids``, ``trainer_state``, ``log_extra``, ``log_metric`` (and ``environments``, where there
are any) plus every other column of the data set, one entry per completion. It wants one float per completion
back, or None to leave a sample out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

MISSING: Any = object()
"""Stands for a column that the trainer did not pass: None would be a legitimate label."""


def score_batch(
    score: Callable[..., float | None], completions: Any, ground_truth: Any, columns: Mapping[str, Any]
) -> list[float | None]:
    """Score each completion against its own label, after checking that there is one label each."""
    completions = _listed("completions", completions)
    if ground_truth is MISSING:
        received = ", ".join(["completions", *sorted(columns)])
        raise ValueError(
            f"the reward needs a column named ground_truth, got {received}; rename the data set's label column, "
            "for instance dataset.rename_column('answer', 'ground_truth')"
        )
    labels = _listed("ground_truth", ground_truth)
    if len(labels) != len(completions):
        raise ValueError(
            f"ground_truth must hold one label per completion, got {len(completions)} completions and "
            f"{len(labels)} labels; repeat each prompt's label for every completion of its group"
        )
    rewards = [score(completion, label) for completion, label in zip(completions, labels, strict=True)]
    _report_skipped(rewards, columns.get("log_metric"))
    return rewards


def _listed(name: str, column: Any) -> list[Any]:
    # A bare string would be taken apart into characters, each of them a "completion".
    if isinstance(column, (str, bytes, Mapping)) or not hasattr(column, "__len__"):
        raise TypeError(f"{name} must be a list with one entry per completion, got {type(column).__name__}")
    return list(column)


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
