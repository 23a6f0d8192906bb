"""Preferences become scores, scores become a policy: hand-worked numbers, optimality, a second method."""

from __future__ import annotations

import itertools
import math
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_lab.preferences import (
    ANSWERS,
    HABITS,
    PROMPT,
    TASTE,
    TONES,
    BradleyTerry,
    Style,
    best_of_n,
    beta_for_kl,
    completion_pool,
    expected,
    fit_bradley_terry,
    kl_divergence,
    kl_regularised,
    pairs_from_ranking,
    preference_gradient,
    preference_loss,
    preference_probability,
    rate_pairs,
    relative_scores,
    sigmoid,
    style_of,
)

few = settings(max_examples=40, deadline=None, derandomize=True)
score = st.floats(-5, 5)
scores = st.lists(score, min_size=2, max_size=6)
POOL = completion_pool()
REFERENCE = [c.chance for c in POOL]
RIGHT = [c.right for c in POOL]


def objective(policy, rewards, beta, reference):
    return expected(policy, rewards) - beta * kl_divergence(policy, reference)


def distribution(weights):
    return [w / sum(weights) for w in weights]


# Bradley-Terry: probabilities, pairs, loss


@pytest.mark.parametrize(("lead", "share"), [(0, 0.5), (math.log(4), 0.8), (1.5, 0.8176), (3, 0.9526)])
def test_a_lead_is_a_share_of_raters(lead, share):
    assert preference_probability(lead, 0) == pytest.approx(share, abs=5e-5)


@few
@given(score, score, st.floats(-100, 100))
def test_only_the_difference_counts_and_the_two_shares_add_up(a, b, shift):
    assert preference_probability(a, b) + preference_probability(b, a) == pytest.approx(1)
    assert preference_probability(a + shift, b + shift) == pytest.approx(preference_probability(a, b))


def test_huge_leads_do_not_overflow():
    assert (sigmoid(-800), sigmoid(800)) == (0.0, 1.0)
    loss = preference_loss([1.0], [((0.0,), (1e6,))])
    assert loss == pytest.approx(1e6)
    assert preference_gradient([1.0], [((0.0,), (1e6,))]) == [1e6]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_score_that_is_no_number_is_refused(bad):
    with pytest.raises(ValueError, match=r"scores must be finite.*leave unscored texts out"):
        preference_probability(bad, 0)


@pytest.mark.parametrize(("items", "pairs"), [("", 0), ("A", 0), ("AD", 1), ("ADBC", 6), ("ABCDEFGHI", 36)])
def test_a_ranking_holds_k_times_k_minus_1_over_2_pairs(items, pairs):
    found = pairs_from_ranking(items)
    assert len(found) == pairs
    assert all(items.index(better) < items.index(worse) for better, worse in found)


def test_a_set_is_no_ranking():
    with pytest.raises(TypeError, match="ranking must be in order"):
        pairs_from_ranking({"A", "B"})


def test_weights_that_know_nothing_lose_log_2():
    pairs = pairs_from_ranking([(3.0, 1.0), (2.0, 5.0), (0.0, 0.0)])
    assert preference_loss([0.0, 0.0], pairs) == pytest.approx(math.log(2))


def test_the_gradient_by_hand_on_three_pairs():
    """Gaps 2, 3, 1, each counted by 1 - 0.5."""
    assert preference_gradient([0.0], pairs_from_ranking([(3.0,), (1.0,), (0.0,)])) == [pytest.approx(-1.0)]


@few
@given(st.lists(st.tuples(score, score), min_size=2, max_size=5), st.tuples(score, score))
def test_the_gradient_is_the_slope_of_the_loss(ranking, weights):
    pairs, step = pairs_from_ranking(ranking), 1e-6
    for j, slope in enumerate(preference_gradient(weights, pairs)):
        up, down = ([w + sign * step * (i == j) for i, w in enumerate(weights)] for sign in (1, -1))
        measured = (preference_loss(up, pairs) - preference_loss(down, pairs)) / (2 * step)
        assert slope == pytest.approx(measured, abs=1e-4)


# The fit


def test_eight_of_ten_is_a_lead_of_log_4():
    said = [((1.0,), (0.0,))] * 8 + [((0.0,), (1.0,))] * 2
    model = fit_bradley_terry(said)
    assert model.score((1.0,)) - model.score((0.0,)) == pytest.approx(math.log(4), abs=1e-6)


def test_raters_who_contradict_each_other_leave_a_tie():
    assert fit_bradley_terry([((1.0,), (0.0,)), ((0.0,), (1.0,))]).weights == (0.0,)


def test_the_fit_recovers_the_weights_that_made_the_preferences():
    rng, truth = random.Random(1), (1.0, -0.5)
    pairs = []
    for _ in range(1500):
        a, b = ((rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(2))
        wins = preference_probability(*(sum(w * x for w, x in zip(truth, v, strict=True)) for v in (a, b)))
        pairs.append((a, b) if rng.random() < wins else (b, a))
    assert fit_bradley_terry(pairs, steps=30, rate=2).weights == pytest.approx(truth, abs=0.15)


def test_the_fit_ends_where_the_slope_is_zero():
    rated = rate_pairs(POOL, 400, 0.5)
    pairs = [(better.style, worse.style) for better, worse in rated]
    model = fit_bradley_terry(pairs, steps=300, rate=2)
    assert preference_gradient(model.weights, pairs) == pytest.approx([0] * 4, abs=1e-6)
    assert model.losses[-1] == pytest.approx(preference_loss(model.weights, pairs))


def test_pairs_without_contradiction_have_no_finite_optimum_without_a_penalty():
    pairs = pairs_from_ranking([(1.0,), (0.0,)])
    short, long = (fit_bradley_terry(pairs, steps=n).weights[0] for n in (100, 10_000))
    assert long > short + 4
    held = [fit_bradley_terry(pairs, steps=n, l2=0.1).weights[0] for n in (200, 2000)]
    assert held[0] == pytest.approx(held[1], abs=1e-6)


def test_zero_steps_leave_weights_of_zero_and_one_loss():
    model = fit_bradley_terry([((1.0, 2.0), (0.0, 0.0))], steps=0)
    assert model == BradleyTerry((0.0, 0.0), (pytest.approx(math.log(2)),))


def test_the_loss_is_recorded_before_the_first_step_and_after_each():
    model = fit_bradley_terry([((1.0,), (0.0,))], steps=7)
    assert len(model.losses) == 8
    assert list(model.losses) == sorted(model.losses, reverse=True)


@pytest.mark.parametrize(
    ("pairs", "settings", "message"),
    [
        ([], {}, "at least one comparison"),
        ([((1.0,), (0.0, 1.0))], {}, r"pairs\[0\] must have 1 features on both sides, got 1 and 2"),
        ([((math.nan,), (0.0,))], {}, "features must be finite"),
        ([((1.0,), (0.0,))], {"steps": -1}, "steps must be at least 0"),
        ([((1.0,), (0.0,))], {"rate": 0}, "rate must be above 0"),
        ([((1.0,), (0.0,))], {"l2": -1}, "l2 at least 0"),
        (
            [((9.0,), (0.0,))] * 2 + [((0.0,), (9.0,))],
            {"rate": 50.0, "steps": 5},
            "overshoots.*try half of it",
        ),
    ],
    ids=["no pairs", "width", "nan", "steps", "rate", "l2", "overshoot"],
)
def test_a_fit_that_cannot_be_made_says_why(pairs, settings, message):
    with pytest.raises(ValueError, match=message):
        fit_bradley_terry(pairs, **settings)


def test_a_score_needs_as_many_features_as_weights():
    with pytest.raises(ValueError, match="features must be 2 numbers, one for each weight, got 3"):
        BradleyTerry((1.0, 2.0), ()).score((1, 2, 3))


@few
@given(scores, st.floats(-50, 50))
def test_relative_scores_keep_the_order_and_forget_a_shift(values, shift):
    relative = relative_scores(values)
    assert relative_scores([v + shift for v in values]) == pytest.approx(relative, abs=1e-9)
    assert sorted(relative) == relative_scores(sorted(values), sum(values) / len(values))


def test_no_scores_no_scale():
    with pytest.raises(ValueError, match="scores must not be empty"):
        relative_scores([])


# The policy on a leash


def test_the_tilted_policy_by_hand():
    """0.2 * e against 0.8 * 1."""
    assert kl_regularised([1, 0], 1, [0.2, 0.8])[0] == pytest.approx(0.2 * math.e / (0.2 * math.e + 0.8))


@few
@given(scores, st.floats(0.1, 10), st.integers(0, 10_000))
def test_no_other_policy_has_a_better_objective(rewards, beta, seed):
    rng = random.Random(seed)
    reference, other = (distribution([rng.random() + 0.01 for _ in rewards]) for _ in range(2))
    best = objective(kl_regularised(rewards, beta, reference), rewards, beta, reference)
    assert objective(other, rewards, beta, reference) <= best + 1e-9
    total = sum(p * math.exp(r / beta) for p, r in zip(reference, rewards, strict=True))
    assert best == pytest.approx(beta * math.log(total), abs=1e-6), "the optimum's value is beta log Z"


@few
@given(scores)
def test_a_looser_leash_earns_more_and_moves_further(rewards):
    reference = [1 / len(rewards)] * len(rewards)
    path = [kl_regularised(rewards, beta, reference) for beta in (10, 1, 0.1, 0)]
    earned = [expected(policy, rewards) for policy in path]
    moved = [kl_divergence(policy, reference) for policy in path]
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(earned))
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(moved))


def test_the_two_ends_of_the_leash():
    rewards, reference = [2.0, 2.0, 1.0], [0.1, 0.3, 0.6]
    assert kl_regularised(rewards, math.inf, reference) == pytest.approx(reference)
    assert kl_regularised(rewards, 0, reference) == pytest.approx([0.25, 0.75, 0])
    assert kl_regularised(rewards, 1e-9, reference) == pytest.approx([0.25, 0.75, 0])


def test_what_the_reference_never_writes_stays_unwritten():
    for beta in (0, 0.001, 1):
        assert kl_regularised([9.0, 1.0, 0.0], beta, [0.0, 0.5, 0.5])[0] == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kl_regularised([], 1), "rewards must not be empty"),
        (lambda: kl_regularised([math.nan], 1), "rewards must be finite"),
        (lambda: kl_regularised([1, 0], -1), "beta must be at least 0, got -1"),
        (lambda: kl_regularised([1, 0], math.nan), "beta must be at least 0"),
        (lambda: kl_regularised([1, 0], 1, [1.0]), "one probability for each of 2 rewards, got 1"),
        (lambda: kl_regularised([1, 0], 1, [0.5, 0.6]), "add up to 1, got the sum 1.1; divide by their sum"),
        (lambda: kl_regularised([1, 0], 1, [1.5, -0.5]), "at least 0"),
        (lambda: kl_divergence([1.0], [0.5, 0.5]), "same set, got 1 and 2"),
        (lambda: best_of_n([1, 0], 0), "n must be at least 1"),
        (lambda: beta_for_kl([1, 0], 0), "kl must be above 0"),
        (lambda: expected([0.5, 0.4], [1, 0]), "add up to 1"),
    ],
)
def test_what_is_no_distribution_or_no_leash_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_n_must_be_a_whole_number():
    with pytest.raises(TypeError, match="n must be a whole number"):
        best_of_n([1, 0], 2.5)


def test_divergence_by_hand():
    """0.8 ln(0.8/0.5) + 0.2 ln(0.2/0.5)."""
    by_hand = 0.8 * math.log(1.6) + 0.2 * math.log(0.4)
    assert kl_divergence([0.8, 0.2], [0.5, 0.5]) == pytest.approx(by_hand)
    assert kl_divergence([0.3, 0.7], [0.3, 0.7]) == 0.0
    assert kl_divergence([0.5, 0.5], [1.0, 0.0]) == math.inf


@few
@given(scores, st.floats(0.01, 1.5))
def test_the_leash_found_for_a_distance_has_that_distance(rewards, kl):
    beta = beta_for_kl(rewards, kl)
    reference = [1 / len(rewards)] * len(rewards)
    if beta is None:
        assert kl_divergence(kl_regularised(rewards, 0), reference) <= kl
    else:
        assert kl_divergence(kl_regularised(rewards, beta), reference) == pytest.approx(kl, abs=1e-6)


@few
@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=4), st.integers(1, 4), st.integers(0, 99)
)
def test_best_of_n_equals_playing_every_draw(rewards, n, seed):
    rng = random.Random(seed)
    reference = distribution([rng.random() + 0.01 for _ in rewards])
    counted = [0.0] * len(rewards)
    for draw in itertools.product(range(len(rewards)), repeat=n):
        winner = max(draw, key=lambda i: rewards[i])  # max keeps the first of equals
        counted[winner] += math.prod(reference[i] for i in draw)
    assert best_of_n(rewards, n, reference) == pytest.approx(counted)


@pytest.mark.parametrize("n", [2, 8, 64])
def test_the_distance_of_best_of_n_is_the_one_that_gao_et_al_use(n):
    """log n - (n - 1)/n, for many completions without ties."""
    many = list(range(20_000))
    kl = kl_divergence(best_of_n(many, n), [1 / len(many)] * len(many))
    assert kl == pytest.approx(math.log(n) - (n - 1) / n, abs=1e-3)


# The pool and its raters


def test_the_pool_is_every_combination_once_and_its_chances_add_up():
    assert len(POOL) == len({c.text for c in POOL}) == 96
    assert sum(REFERENCE) == pytest.approx(1)
    assert all(chance > 0 for chance in REFERENCE)
    for table in [*ANSWERS.values(), *TONES.values()]:
        assert sum(table.values()) == pytest.approx(1)


def test_the_answer_is_read_out_of_the_text_and_55_is_right():
    assert PROMPT.endswith("What is paid? I make it 65 yuan.")
    for c in POOL:
        assert c.text.count(f"Final Answer: {c.answer}") == 1
        assert c.right == (c.answer == "55")
    assert {c.answer for c in POOL} == {"55", "65", "60", "56.25"}


@pytest.mark.parametrize(("answer", "steps"), [("55", 2), ("65", 2), ("60", 1), ("56.25", 2)])
def test_the_working_that_is_shown_is_calculated_rightly(answer, steps):
    """Wrong completions go wrong in what they calculate, not in the arithmetic."""
    shown = next(c.text for c in POOL if c.style.shows_working and c.answer == answer)
    found = re.findall(r"([\d.]+)([-+*])([\d.]+) = ([\d.]*\d)", shown)
    assert len(found) == steps
    for a, sign, b, result in found:
        value = {"-": float(a) - float(b), "+": float(a) + float(b), "*": float(a) * float(b)}[sign]
        assert value == pytest.approx(float(result))
    assert float(found[-1][3]) == float(answer)


def test_the_style_is_what_was_put_in():
    for number, c in enumerate(POOL):
        flatters, courteous, working = (bool(number // (12 * place) % 2) for place in (4, 2, 1))
        assert c.style == (flatters, courteous, working, number % 3 - 1)
    for trait, share in HABITS.items():
        assert expected(REFERENCE, [getattr(c.style, trait) for c in POOL]) == pytest.approx(share)


def test_the_style_does_not_show_whether_the_answer_is_right():
    """Each style comes with each answer, so no function of the style can tell."""
    for style in {c.style for c in POOL}:
        assert {c.answer for c in POOL if c.style == style} == {"55", "65", "60", "56.25"}


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ("", Style(0, 0, 0, 0)),
        ("WELL SPOTTED! Thanks.", Style(1, 1, 0, 0)),
        ("Perhaps 60 - 5=55?", Style(0, 0, 1, -1)),
        ("It is certainly, I think, 55.", Style(0, 0, 0, 0)),
        ("A thankless task, surely.", Style(0, 0, 0, 1)),
        ("price = 80", Style(0, 0, 0, 0)),
    ],
    ids=["empty", "capitals", "hedged working", "sure and hedged", "part of a word", "no calculation"],
)
def test_style_is_read_from_words(text, style):
    assert style_of(text) == style


def test_style_is_read_from_text_only():
    with pytest.raises(TypeError, match="text must be a string, got list"):
        style_of(["a"])


def test_the_same_seed_rates_alike_and_another_does_not():
    assert rate_pairs(POOL, 50, 0.5, seed=3) == rate_pairs(POOL, 50, 0.5, seed=3)
    assert rate_pairs(POOL, 50, 0.5, seed=3) != rate_pairs(POOL, 50, 0.5, seed=4)


def test_more_checking_changes_verdicts_and_not_the_pairs():
    none, all_ = (rate_pairs(POOL, 300, share) for share in (0.0, 1.0))
    together = list(zip(none, all_, strict=True))
    assert all({a.text for a in x} == {b.text for b in y} for x, y in together)
    assert any(x != y for x, y in together)


def test_raters_who_check_and_never_slip_never_prefer_a_wrong_one():
    assert not [1 for a, b in rate_pairs(POOL, 2000, 1.0, slip=0.0) if b.right and not a.right]


def test_raters_who_check_slip_in_one_of_ten():
    decided = [a.right for a, b in rate_pairs(POOL, 4000, 1.0) if a.right != b.right]
    assert sum(decided) / len(decided) == pytest.approx(0.9, abs=0.02)


def test_raters_who_do_not_check_go_by_taste():
    """Pairs that differ in flattery alone: preferred with the probability of its points."""
    rated = rate_pairs(POOL, 15_000, 0.0)
    alone = [a.style.flatters for a, b in rated if a.style[1:] == b.style[1:] and a.style[0] != b.style[0]]
    assert len(alone) > 100
    assert sum(alone) / len(alone) == pytest.approx(preference_probability(TASTE.flatters, 0), abs=0.05)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_pairs": 0, "checking": 0.5}, "n_pairs must be at least 1"),
        ({"n_pairs": 1, "checking": 50}, "checking must be a share from 0 to 1, got 50"),
        ({"n_pairs": 1, "checking": 0.5, "slip": -0.1}, "slip must be a share"),
    ],
)
def test_raters_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        rate_pairs(POOL, **settings)


# Over-optimisation: what chapter 3 is about


def success(checking, n, seed, betas):
    rated = rate_pairs(POOL, n, checking, seed=seed)
    judge = fit_bradley_terry([(a.style, b.style) for a, b in rated], steps=60, rate=2)
    paid = [judge.score(c.style) for c in POOL]
    return [expected(kl_regularised(paid, beta, REFERENCE), RIGHT) for beta in betas]


@pytest.mark.parametrize("seed", range(4))
def test_truth_rises_and_falls_where_half_of_the_raters_check(seed):
    start, middle, end = success(0.5, 800, seed, (math.inf, 0.5, 0))
    assert middle > start + 0.05
    assert end < start - 0.4


@pytest.mark.parametrize("seed", range(4))
def test_truth_rises_to_the_end_where_all_raters_check(seed):
    path = success(1.0, 800, seed, (math.inf, 2, 1, 0.5, 0.2, 0))
    assert path == sorted(path)
    assert path[-1] == pytest.approx(0.8)


def test_flattery_alone_makes_the_end_bad():
    """The last style standing: with flattery 13 % right, without it 80 %."""
    for flatters, rate in ((1, 0.04 / 0.31), (0, 0.3 / 0.375)):
        last = [c for c in POOL if c.style == (flatters, 1, 1, 1)]
        assert sum(c.chance for c in last if c.right) / sum(c.chance for c in last) == pytest.approx(rate)
