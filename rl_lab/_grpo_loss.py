"""From token to loss: who counts how much, and the whole that is minimised.

Everything works on log-probabilities of the tokens that were sampled, one row per completion, rows of any length.
`grpo_loss` equals the loss of TRL's ``GRPOTrainer`` on the same numbers (a test compares them).

>>> aggregate([[1.0, 1.0], [0.0, 0.0, 0.0, 0.0]], loss_type="grpo")
0.5
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rl_lab._grpo_common import count, listed, one_of, real
from rl_lab._grpo_objective import clipped_objective, kl_k3, log_difference, safe_exp

Rows = Sequence[Sequence[float]]

LOSS_TYPES = {
    "grpo": "mean over each completion's tokens, then over completions (DeepSeekMath)",
    "bnpo": "mean over the tokens of the local batch",
    "dr_grpo": "sum over tokens / (completions x max_completion_length): a constant (Dr. GRPO)",
    "dapo": "mean over the tokens of the whole accumulated batch (DAPO): TRL's default",
}


def aggregate(
    per_token_losses: Rows,
    mask: Rows | None = None,
    loss_type: str = "dapo",
    *,
    max_completion_length: int | None = None,
    num_items: int | None = None,
) -> float:
    """Combine the losses of all tokens into one number.

    Parameters
    ----------
    per_token_losses : sequence of rows of float
        One row per completion; rows may differ in length.
    mask : same shape, optional
        1 where a token counts, 0 for padding and for text that a tool wrote. All ones if None.
    loss_type : {"grpo", "bnpo", "dr_grpo", "dapo"}
        TRL's ``loss_type``; see `LOSS_TYPES`.
    max_completion_length : int, optional
        The constant of "dr_grpo", in tokens; used by no other.
    num_items : int, optional
        For "dapo": counted tokens of the whole accumulated batch, if these rows are one part of it. By
        default the counted tokens of these rows, which makes "dapo" equal to "bnpo".

    Returns
    -------
    float
        The loss of these rows, for one accumulation step.

    Raises
    ------
    ValueError
        If shapes differ, the mask holds anything but 0 and 1, a counted loss is NaN, or "dr_grpo" lacks its constant.
    TypeError
        If a counted loss is no number.

    References
    ----------
    DeepSeekMath arXiv:2402.03300 eq. 3 (grpo); Dr. GRPO arXiv:2503.20783; DAPO
    arXiv:2503.14476 section 3.

    Examples
    --------
    >>> losses = [[1.0, 1.0], [0.0] * 8]
    >>> aggregate(losses, loss_type="grpo"), aggregate(losses, loss_type="dapo")
    (0.5, 0.2)
    """
    one_of("loss_type", loss_type, LOSS_TYPES)
    rows = _rows("per_token_losses", per_token_losses)
    masks = _masks(rows, mask)
    sums = [_sum(row, keep, i) for i, (row, keep) in enumerate(zip(rows, masks, strict=True))]
    tokens = [sum(keep) for keep in masks]
    if loss_type == "grpo":
        return math.fsum(s / max(n, 1) for s, n in zip(sums, tokens, strict=True)) / len(sums)
    if loss_type == "bnpo":
        return math.fsum(sums) / max(sum(tokens), 1)
    if loss_type == "dapo":
        items = sum(tokens) if num_items is None else count("num_items", num_items, least=0)
        return math.fsum(sums) / max(items, 1)
    if max_completion_length is None:
        raise ValueError(
            "loss_type 'dr_grpo' needs max_completion_length, the constant it divides by; got None"
        )
    return math.fsum(sums) / (len(sums) * count("max_completion_length", max_completion_length))


def grpo_loss(
    logps: Rows,
    old_logps: Rows,
    advantages: Sequence[float],
    mask: Rows | None = None,
    *,
    ref_logps: Rows | None = None,
    beta: float = 0.0,
    epsilon: float = 0.2,
    epsilon_high: float | None = None,
    loss_type: str = "dapo",
    importance_sampling_level: str = "token",
    use_bias_correction_kl: bool = True,
    max_completion_length: int | None = None,
    num_items: int | None = None,
) -> float:
    """Compute the GRPO loss: minus the clipped objective plus beta times k3, aggregated over the tokens.

    It is to be minimised. Options carry TRL's names and defaults (1.16).

    Parameters
    ----------
    logps, old_logps : sequence of rows of float
        Log-probabilities of the sampled tokens under the policy now, and under the one that sampled them.
    advantages : sequence of float, shape (n_completions,)
        One per completion, shared by all its tokens.
    mask : same shape as `logps`, optional
        1 where a token counts.
    ref_logps : same shape as `logps`
        Under the reference model; needed only if `beta` is not 0.
    beta : float, default 0.0
        Weight of the KL term.
    epsilon, epsilon_high : float
        As in `clipped_objective`.
    loss_type, max_completion_length, num_items
        As in `aggregate`.
    importance_sampling_level : {"token", "sequence"}
        "sequence" gives all tokens of a completion one ratio, of their mean log-ratio (GSPO,
        arXiv:2507.18071).
    use_bias_correction_kl : bool, default True
        Multiply k3 by the ratio, which makes its gradient that of KL(policy || reference) (arXiv:2512.02556).

    Returns
    -------
    float
        Loss of one accumulation step; ``inf`` where a ratio overflows.

    Raises
    ------
    ValueError, TypeError
        If shapes differ, a number is NaN or none, `beta` is negative, or `ref_logps` is missing.

    Examples
    --------
    >>> logps = [[-1.0, -2.0], [-1.5, -0.5, -1.0]]
    >>> grpo_loss(logps, logps, [0.5, -0.5], loss_type="grpo")  # on policy the value is 0, the slope is not
    0.0
    """
    one_of("importance_sampling_level", importance_sampling_level, ("token", "sequence"))
    logps, old_logps = _rows("logps", logps), _rows("old_logps", old_logps)
    advantages, beta = listed("advantages", advantages), _weight(beta)
    masks = _masks(logps, mask)
    _same_shape("old_logps", old_logps, logps)
    if len(advantages) != len(logps):
        raise ValueError(
            f"advantages must have one entry per completion, got {len(advantages)} for {len(logps)}"
        )
    if beta:
        if ref_logps is None:
            raise ValueError(
                f"beta={beta} needs ref_logps, the reference model's log-probabilities; got None"
            )
        ref_logps = _rows("ref_logps", ref_logps)
        _same_shape("ref_logps", ref_logps, logps)
    losses = []
    for i, (row, keep) in enumerate(zip(logps, masks, strict=True)):
        ratios = _ratios(row, old_logps[i], keep, importance_sampling_level)
        losses.append([0.0] * len(row))
        for t, m in enumerate(keep):
            if not m:
                continue
            losses[i][t] = -clipped_objective(ratios[t], advantages[i], epsilon, epsilon_high)
            if beta:
                weight = ratios[t] if use_bias_correction_kl else 1.0
                losses[i][t] += beta * weight * kl_k3(row[t], ref_logps[i][t])
    return (
        aggregate(losses, masks, loss_type, max_completion_length=max_completion_length, num_items=num_items)
        + 0.0
    )


def _ratios(new: Sequence[float], old: Sequence[float], keep: Sequence[int], level: str) -> list[float]:
    """One ratio per token; masked tokens get 1.0."""
    logs = [
        log_difference("logps", a, "old_logps", b) if m else 0.0
        for a, b, m in zip(new, old, keep, strict=True)
    ]
    if level == "sequence":
        logs = [math.fsum(logs) / max(sum(keep), 1)] * len(logs)
    return [safe_exp(x) for x in logs]


def _rows(argument: str, rows: Any) -> list[list[Any]]:
    return [listed(f"{argument}[{i}]", row) for i, row in enumerate(listed(argument, rows))]


def _sum(row: Sequence[Any], keep: Sequence[int], i: int) -> float:
    # Where the mask is 0 the value is not looked at: it may be NaN or infinite there.
    kept = [real(f"per_token_losses[{i}]", x) for x, m in zip(row, keep, strict=True) if m]
    if any(map(math.isnan, kept)):
        raise ValueError(
            f"per_token_losses[{i}] must hold numbers where the mask counts, got nan; mask or mend it"
        )
    return sum(kept) if any(map(math.isinf, kept)) else math.fsum(kept)


def _weight(beta: Any) -> float:
    number = real("beta", beta)
    if not (number >= 0 and math.isfinite(number)):
        raise ValueError(f"beta must be finite and at least 0, got {number}; 0.04 is DeepSeekMath's")
    return number


def _masks(rows: Sequence[Sequence[Any]], mask: Any) -> list[list[int]]:
    if not rows:
        raise ValueError("a batch must hold at least one completion, got none")
    if mask is None:
        return [[1] * len(row) for row in rows]
    given = _rows("mask", mask)
    _same_shape("mask", given, rows)
    for row in given:
        for m in row:
            if m not in (0, 1):
                raise ValueError(f"mask must hold 1 (counts) or 0 (does not count), got {m!r}")
    return [[int(m) for m in row] for row in given]


def _same_shape(argument: str, rows: Rows, like: Rows) -> None:
    have, want = [len(row) for row in rows], [len(row) for row in like]
    if have != want:
        raise ValueError(f"{argument} must have one entry per token: rows of {want} tokens, got {have}")
