"""The objective of one token: ratio, clip, and the estimators of KL to the reference model.

>>> round(clipped_objective(ratio=1.3, advantage=0.63), 3)  # a gain of 1.3 counts as 1.2
0.756
"""

from __future__ import annotations

import math

from rl_lab._grpo_common import real


def ratio(logp_new: float, logp_old: float) -> float:
    """How much more likely a token has become since it was sampled: ``exp(logp_new - logp_old)``.

    Parameters
    ----------
    logp_new, logp_old : float
        Natural log-probability of the same token under the policy now, and under the policy that sampled it.

    Returns
    -------
    float
        1.0 if nothing changed; ``inf`` where the exponential overflows.

    Raises
    ------
    ValueError, TypeError
        If one is NaN or no number, or both are the same infinity.

    Examples
    --------
    >>> round(ratio(math.log(0.13), math.log(0.10)), 6)
    1.3
    """
    return safe_exp(log_difference("logp_new", logp_new, "logp_old", logp_old))


def clipped_objective(
    ratio: float, advantage: float, epsilon: float = 0.2, epsilon_high: float | None = None
) -> float:
    """PPO's clipped objective of one token, to be maximised: ``min(ratio * A, clip(ratio) * A)``.

    A token of a good completion earns nothing more beyond ``1 + epsilon_high``, one of a bad completion
    nothing more below ``1 - epsilon``: there the objective is flat and the gradient 0. Moves in the wrong
    direction are never clipped.

    Parameters
    ----------
    ratio : float
        New over old probability, at least 0.
    advantage : float
        Advantage of the completion the token belongs to.
    epsilon : float, default 0.2
        Width of the clip below 1, in [0, 1] (TRL's ``epsilon``).
    epsilon_high : float, optional
        Width above 1 (TRL's ``epsilon_high``); `epsilon` if None. DAPO uses 0.28.

    Raises
    ------
    ValueError
        If `ratio` is negative or NaN, `advantage` is not finite, or a width is out of range.

    References
    ----------
    Schulman et al. (2017), arXiv:1707.06347, eq. 7; Yu et al. (2025), DAPO, arXiv:2503.14476, section 3.

    Examples
    --------
    >>> clipped_objective(0.5, advantage=-1.0), clipped_objective(1.5, advantage=-1.0)
    (-0.8, -1.5)
    """
    ratio, advantage = real("ratio", ratio), real("advantage", advantage)
    if not ratio >= 0:
        raise ValueError(f"ratio must be at least 0 (it is a quotient of probabilities), got {ratio}")
    if not math.isfinite(advantage):
        raise ValueError(f"advantage must be finite, got {advantage}; grpo_advantages gives finite ones")
    low, high = _clip_range(epsilon, epsilon_high)
    if advantage == 0:
        return 0.0
    return float(min(ratio * advantage, min(max(ratio, low), high) * advantage))


def kl_k1(logp: float, logp_ref: float) -> float:
    """Schulman's k1, ``logp - logp_ref``: one sample's estimate of KL(policy || reference).

    The token must have been sampled from the policy. Unbiased, but negative whenever the reference likes the
    token more than the policy does, so it scatters widely.

    Examples
    --------
    >>> round(kl_k1(math.log(0.2), math.log(0.4)), 4)
    -0.6931
    """
    return -log_difference("logp_ref", logp_ref, "logp", logp) + 0.0


def kl_k2(logp: float, logp_ref: float) -> float:
    """Schulman's k2, ``(logp_ref - logp) ** 2 / 2``: never negative, low variance, but biased.

    Examples
    --------
    >>> round(kl_k2(math.log(0.2), math.log(0.4)), 4)
    0.2402
    """
    d = log_difference("logp_ref", logp_ref, "logp", logp)
    return d * d / 2


def kl_k3(logp: float, logp_ref: float) -> float:
    """Schulman's k3, ``exp(d) - d - 1`` with ``d = logp_ref - logp``: the one GRPO uses.

    Never negative, and unbiased for KL(policy || reference) when the token was sampled from the policy: the
    extra ``exp(d) - 1`` has mean zero and cancels most of k1's scatter as long as the two stay close.

    Parameters
    ----------
    logp : float
        Log-probability of the sampled token under the policy.
    logp_ref : float
        The same under the reference model. Mind the direction: d is reference minus policy.

    Returns
    -------
    float
        In nats; ``inf`` if the reference gives the token probability 0, or where the exponential overflows.

    Raises
    ------
    ValueError, TypeError
        As in :func:`ratio`.

    References
    ----------
    Schulman (2020), http://joschu.net/blog/kl-approx.html; Shao et al. (2024), arXiv:2402.03300, eq. 4.

    Examples
    --------
    >>> round(kl_k3(math.log(0.2), math.log(0.4)), 4)
    0.3069
    >>> kl_k3(-1.5, -1.5)
    0.0
    """
    d = log_difference("logp_ref", logp_ref, "logp", logp)
    if math.isinf(d):
        return math.inf
    # expm1 keeps the digits that exp(d) - 1 loses near d = 0, where policies live.
    try:
        return max(0.0, math.expm1(d) - d)
    except OverflowError:
        return math.inf


def _clip_range(epsilon: float, epsilon_high: float | None) -> tuple[float, float]:
    epsilon = real("epsilon", epsilon)
    high = epsilon if epsilon_high is None else real("epsilon_high", epsilon_high)
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon must be between 0 and 1, got {epsilon}; 0.2 is usual")
    if not (high >= 0 and math.isfinite(high)):
        raise ValueError(f"epsilon_high must be at least 0, got {high}; DAPO uses 0.28")
    return 1 - epsilon, 1 + high


def log_difference(a_name: str, a: float, b_name: str, b: float) -> float:
    d = real(a_name, a) - real(b_name, b)
    if math.isnan(d):
        raise ValueError(
            f"{a_name} and {b_name} must be log-probabilities of a sampled token, got {a} and {b}"
        )
    return d


def safe_exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf
