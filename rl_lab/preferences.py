r"""What do people prefer, and what becomes of a model that is paid for it?

Preference-based fine-tuning in three steps, small enough to compute exactly: preferences become pairs, pairs become
a Bradley-Terry reward model, and the policy moves towards its score on a leash of KL divergence.

>>> letters = [(3.0, 1.0), (3.0, 0.0), (0.0, 0.0)]  # polite words and dates, best letter first
>>> judge = fit_bradley_terry(pairs_from_ranking(letters), l2=0.1)
>>> scores = [judge.score(letter) for letter in letters]
>>> [round(share, 2) for share in relative_scores(scores)]
[0.83, 0.64, 0.11]
>>> [round(p, 2) for p in kl_regularised(scores, beta=1.0)]
[0.72, 0.27, 0.02]

The finite set is the point: on it the optimum of the KL-regularised objective is one line, so what an optimiser such
as PPO would reach can be looked at without running one. A pool of completions with a known truth, and raters who
prefer some of them for the wrong reasons, come from a private module and are used from here.

References
----------
Bradley and Terry (1952), doi:10.2307/2334029. Christiano et al. (2017), arXiv:1706.03741. Ouyang et al. (2022),
arXiv:2203.02155. Gao et al. (2022), arXiv:2210.10760. Rafailov et al. (2023), arXiv:2305.18290, equation 4.
"""

from __future__ import annotations

from collections.abc import Sequence

from rl_lab._bradley_terry import (
    BradleyTerry,
    fit_bradley_terry,
    pairs_from_ranking,
    preference_gradient,
    preference_loss,
    preference_probability,
    sigmoid,
)
from rl_lab._leash import best_of_n, beta_for_kl, expected, finite, kl_divergence, kl_regularised
from rl_lab._preference_pool import (
    ANSWERS,
    HABITS,
    PROMPT,
    TASTE,
    TONES,
    Completion,
    Style,
    completion_pool,
    rate_pairs,
    style_of,
)

__all__ = [
    "ANSWERS",
    "HABITS",
    "PROMPT",
    "TASTE",
    "TONES",
    "BradleyTerry",
    "Completion",
    "Style",
    "best_of_n",
    "beta_for_kl",
    "completion_pool",
    "expected",
    "fit_bradley_terry",
    "kl_divergence",
    "kl_regularised",
    "pairs_from_ranking",
    "preference_gradient",
    "preference_loss",
    "preference_probability",
    "rate_pairs",
    "relative_scores",
    "sigmoid",
    "style_of",
]


def relative_scores(scores: Sequence[float], average: float | None = None) -> list[float]:
    """Put scores on a scale from 0 to 1: how often each would be preferred to an average one.

    Parameters
    ----------
    scores : sequence of float
        Bradley-Terry scores, which have no zero of their own.
    average : float, optional
        The score to compare with; their mean if not given.

    Returns
    -------
    list of float
        sigmoid(score - average); 0.5 is average. A scale, not a grade: it says nothing about being right.

    Raises
    ------
    ValueError
        If there are no scores, or one is not finite.

    Examples
    --------
    >>> [round(share, 2) for share in relative_scores([2.0, 0.0, -2.0])]
    [0.88, 0.5, 0.12]
    """
    finite("scores", scores)
    middle = sum(scores) / len(scores) if average is None else average
    return [preference_probability(score, middle) for score in scores]
