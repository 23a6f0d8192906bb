"""Exercises of chapter 3: read a lead, find the leash, build the gradient, build a judge that cannot be charmed."""

from __future__ import annotations

from typing import Any

from rl_lab.check import Probe, exercise
from rl_lab.preferences import (
    completion_pool,
    expected,
    fit_bradley_terry,
    kl_regularised,
    pairs_from_ranking,
    preference_gradient,
    rate_pairs,
)


@exercise("03.1", "Two judges")
def _(answer: Any, t: Probe) -> None:
    t.value(
        answer,
        (0.8176, 0.8176),
        tol=1e-3,
        ask="the share that prefers A, at scores 2.0 and 0.5, and at scores 12.0 and 10.5",
        why="The lead is 1.5 both times, and 1 / (1 + exp(-1.5)) = 0.818.",
        hints=[
            (
                lambda a: abs(a[0] - 0.8) < 1e-6,
                "That is 2.0 / (2.0 + 0.5). Scores are no odds: use the lead.",
            ),
            (
                lambda a: abs(a[0] - 0.8808) < 2e-3,
                "That is the sigmoid of 2.0, one score. It takes the lead of A over D.",
            ),
            (
                lambda a: abs(a[0] - 0.8176) < 1e-3,
                "The first is right. The second judge adds 10 to both scores: what becomes of the lead?",
            ),
            (lambda a: abs(a[0] - 0.1824) < 1e-3, "That is the share that prefers D."),
            (lambda a: abs(a[0] - 81.76) < 0.1, "As a share between 0 and 1, please, not in percent."),
        ],
    )


@exercise("03.2", "Find the leash")
def _(answer: Any, t: Probe) -> None:
    pool = completion_pool()
    reference, right = [c.chance for c in pool], [c.right for c in pool]
    for name, checking, seed in (("the judge of this page", 0.5, 0), ("a judge of other raters", 0.75, 1)):
        scores = _judge_scores(pool, checking, seed)
        beta = t.run(answer, scores, reference, right, why="The function must return a number.")
        t.that(
            isinstance(beta, (int, float)) and not isinstance(beta, bool) and beta >= 0,
            f"best_beta for {name}",
            came_back=repr(beta)[:80],
            expected="a number from 0 up",
            why="Return one value of β.",
        )
        rate = expected(kl_regularised(scores, beta, reference), right)
        best = max(expected(kl_regularised(scores, b, reference), right) for b in _GRID)
        t.that(
            rate >= best - 0.003,
            f"best_beta for {name}",
            came_back=f"β = {beta:.3g}, with {100 * rate:.1f} % right",
            expected=f"a β with about {100 * best:.1f} % right",
            why=_leash_hint(beta, rate, scores, reference, right),
        )


# From 0.02 to about 40, in steps of 5 percent.
_GRID = [0.0] + [0.02 * 1.05**i for i in range(156)]


def _leash_hint(beta: float, rate: float, scores: list[float], reference: list[float], right: list) -> str:
    if beta == 0:
        return "Without a leash the policy takes what the judge likes best, right or wrong. Try several β."
    looser = expected(kl_regularised(scores, beta / 1.3, reference), right)
    return (
        "A slightly looser leash (smaller β) does better here: go on."
        if looser > rate
        else "A slightly tighter leash (larger β) does better here: go back."
    )


@exercise("03.3", "Build the gradient")
def _(answer: Any, t: Probe) -> None:
    t.call(
        answer,
        [0.0],
        [[1.0], [0.0]],
        expect=[-0.5],
        tol=1e-6,
        why="One pair. At weights of zero P is 0.5, and the gap is 1: -(1 - 0.5) * 1.",
        hints={(0.5,): "The sign: the loss falls when the preferred text gains, so the slope is negative."},
    )
    t.call(
        answer,
        [0.0],
        [[3.0], [1.0], [0.0]],
        expect=[-1.0],
        tol=1e-6,
        why="Three pairs with gaps 2, 3 and 1. Their mean is 2, and half of it, with a minus, is -1.",
        hints={
            (-3.0,): "That is the sum over the pairs. Divide by their number.",
            (-1.5,): "These are the neighbours only: 3 > 1 and 1 > 0. The ranking also says 3 > 0.",
            (-0.75,): "These are the neighbours only: 3 > 1 and 1 > 0. The ranking also says 3 > 0.",
            (-2.0,): "Each gap counts by 1 - P, which is 0.5 at weights of zero.",
        },
    )
    letters = [[3, 1, 0, 2.2], [3, 0, 0, 1.9], [0, 0, 1, 1.2], [0, 0, 0, 0.8]]
    weights = [0.5, -1.0, 0.25, 1.0]
    t.call(
        answer,
        weights,
        letters,
        expect=preference_gradient(weights, pairs_from_ranking(letters)),
        tol=1e-6,
        why="The four letters, at other weights: P depends on the lead, the sum of weight times gap.",
    )
    t.call(answer, [1.0, 2.0], [[4.0, 4.0]], expect=[0.0, 0.0], why="One text makes no pair: no slope.")


@exercise("03.4", "A judge that cannot be charmed")
def _(answer: Any, t: Probe) -> None:
    pool = completion_pool()
    scores = _judge_scores(pool, 0.5, 0)
    cases = (
        ("55", 1.0, "the judge of this page"),
        ("65", 1.0, "the same judge, and a problem whose gold is 65"),
        ("55", 1000.0, "a judge with scores a thousand times as large"),
    )
    for gold, loud, name in cases:
        rewards = [
            t.run(answer, c.text, gold, loud * s, why="The reward must be one number for each completion.")
            for c, s in zip(pool, scores, strict=True)
        ]
        t.that(
            all(isinstance(r, (int, float)) for r in rewards),
            "mended(text, gold, score)",
            came_back=repr(rewards[0])[:80],
            expected="a number",
            why="Return the reward as a float.",
        )
        right = min(r for r, c in zip(rewards, pool, strict=True) if c.answer == gold)
        wrong = max(r for r, c in zip(rewards, pool, strict=True) if c.answer != gold)
        t.that(
            right > wrong,
            f"the worst-paid right completion and the best-paid wrong one, {name}",
            came_back=f"{right:.4g} and {wrong:.4g}",
            expected="more for the right one",
            why=_MENDED_WHY[gold == "55", loud > 1],
        )
    # The highest and the lowest score among the right ones; both texts answer 55.
    liked, plain = (
        pick((s, c.text) for s, c in zip(scores, pool, strict=True) if c.right) for pick in (max, min)
    )
    more, less = answer(liked[1], "55", liked[0]), answer(plain[1], "55", plain[0])
    t.that(
        more > less,
        f"two right completions, with scores {liked[0]:.2f} and {plain[0]:.2f}",
        came_back=f"{more:.4g} and {less:.4g}",
        expected="more for the first",
        why="Both are right, so taste may decide: keep the score in the reward.",
    )


_MENDED_WHY = {
    (
        True,
        False,
    ): "A wrong completion that the judge likes still earns more than a right one. Check the answer.",
    (False, False): "The gold is an argument; do not write 55 into the function.",
    (True, True): (
        "A large enough score outweighs the number. Bound the judge's part, for instance with "
        "preference_probability(score, 0), which stays between 0 and 1."
    ),
}


def _judge_scores(pool: list, checking: float, seed: int) -> list[float]:
    rated = rate_pairs(pool, 800, checking, seed=seed)
    judge = fit_bradley_terry([(better.style, worse.style) for better, worse in rated], steps=100, rate=2)
    return [judge.score(c.style) for c in pool]
