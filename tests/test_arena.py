"""The arena: what a reward breeds, what gets past it, and whether it pays the gold solutions."""

from __future__ import annotations

import itertools
import json
import math
import random
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_lab import arena as module
from rl_lab.answers import extract_answer, same_number
from rl_lab.arena import (
    EXAMPLE_PROBLEM,
    HABITS,
    Habit,
    Outcome,
    arena,
    arena_problems,
    attack,
    attacks,
    audit,
    expected_push,
    flip_point,
    score_texts,
)
from rl_lab.arena._attack import PADDING, RIGHT, WRONG
from rl_lab.arena._training import sampled_run, softmax
from rl_lab.gsm8k import load
from rl_lab.labs.rewards import SAMPLES, textbook_length, textbook_steps
from rl_lab.problems import generate
from rl_lab.rewards import (
    accuracy_reward,
    batch_accuracy,
    batch_format,
    batch_hybrid,
    batch_length,
    batch_steps,
    format_reward,
    hybrid_reward,
    length_reward,
    make_reward,
    step_reward,
)
from tests.notebooks import ROOT


def contains(completion, gold):
    """The naivest of all: pays where the gold stands anywhere."""
    return float(str(gold) in str(completion))


def ungated(completion, gold):
    """The textbook's length reward without a gate."""
    return textbook_length(completion, bool(accuracy_reward(completion, gold)), gate=False)


def gated(completion, gold):
    return textbook_length(completion, bool(accuracy_reward(completion, gold)))


def uncapped(completion, gold):
    return textbook_steps(completion, bool(accuracy_reward(completion, gold)), max_steps=None)


# -- habits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.name)
def test_a_habits_texts_are_right_exactly_where_it_says_so(habit):
    for problem in [EXAMPLE_PROBLEM, *generate(30, seed=5)]:
        outcomes = habit.outcomes(problem, 0.6)
        assert math.fsum(o.chance for o in outcomes) == pytest.approx(1)
        for outcome in outcomes:
            assert accuracy_reward(outcome.text, problem.gold) == float(outcome.right), outcome.text


def test_the_habits_have_the_lengths_that_the_chapter_names():
    lengths = {habit.name: {len(o.text) for o in habit.outcomes(EXAMPLE_PROBLEM, 0.6)} for habit in HABITS}
    assert lengths["long"] == {630}  # as the lab's sample
    assert lengths["brief"] == {53} == {len(SAMPLES[0].text)}
    assert lengths["spam"] == {254}
    assert lengths["silent"] == {32} == {len(SAMPLES[3].text)}


def test_brief_reasoning_is_right_nine_tenths_as_often_for_every_step():
    brief = next(habit for habit in HABITS if habit.name == "brief")
    for problem in arena_problems():
        assert brief.outcomes(problem, 0.6)[0].chance == pytest.approx(0.6 * 0.9**problem.steps)


def test_a_hedge_holds_the_gold_nine_times_in_ten_and_is_never_an_answer():
    hedge = next(habit for habit in HABITS if habit.name == "hedge")
    for problem in arena_problems():
        hit, missed = hedge.outcomes(problem, 0.6)
        assert (hit.chance, problem.gold in hit.text, problem.gold in missed.text) == (0.9, True, False)
        assert extract_answer(hit.text) is None


def test_problems_without_marks_or_equations_still_have_habits():
    row = {"question": "How many?", "answer": "It is said to be seven.\n#### 7"}
    result = arena(accuracy_reward, problems=[row], group_size=None)
    assert result.table[0]["right"] == pytest.approx(0.6)
    assert result.table[1]["earns"] == pytest.approx(0.6 * 0.9)


# -- training --------------------------------------------------------------------------------------------------


def test_it_takes_well_under_a_second():
    start = time.process_time()
    arena(hybrid_reward)
    assert time.process_time() - start < 0.5


def test_the_same_seed_gives_the_same_run_and_another_one_another():
    first, again, other = (arena(accuracy_reward, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.shares != other.shares


def test_every_curve_has_one_value_more_than_there_are_steps_and_shares_add_up_to_1():
    for group_size in (4, None):
        result = arena(hybrid_reward, steps=7, group_size=group_size)
        assert {len(c) for c in [*result.shares.values(), result.accuracy, result.reward]} == {8}
        for shares in zip(*result.shares.values(), strict=True):
            assert math.fsum(shares) == pytest.approx(1)
        assert all(type(value) is float for value in result.accuracy + result.reward)
        assert result.shares["long"][0] == pytest.approx(1 / 8)


@pytest.mark.parametrize(
    ("reward", "leaders"),
    [
        (accuracy_reward, ["long", "buried"]),  # nothing tells them apart
        (hybrid_reward, ["brief"]),
        (make_reward("hybrid", target_len=1000), ["long"]),
        (uncapped, ["spam"]),
        (gated, ["brief"]),
        (ungated, ["brief"]),
        (contains, ["hedge"]),
        (batch_accuracy, ["long", "buried"]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_best_paid_habit_wins(reward, leaders):
    average = arena(reward, group_size=None)
    assert average.leaders == leaders
    assert arena(reward, seed=3).winner in leaders


def test_what_earns_most_on_one_problem_always_wins_the_average_run():
    rng = random.Random(4)
    for normalize in (True, False):
        for _ in range(10):
            prices = {habit.name: rng.random() for habit in HABITS}
            named = [Habit(h.name, "", lambda p, a, text=h.name: [Outcome(text, 1.0, False)]) for h in HABITS]
            result = arena(
                lambda text, gold, prices=prices: prices[text],
                habits=named,
                problems=[EXAMPLE_PROBLEM],
                group_size=None,
                normalize=normalize,
            )
            assert result.winner == max(prices, key=prices.get)


def test_equal_rewards_teach_nothing():
    for group_size in (8, None):
        result = arena(lambda completion, gold: 0.57, group_size=group_size)
        assert {shares[-1] for shares in result.shares.values()} == {1 / 8}
        assert result.winner == "long"  # the first of equals
        assert result.leaders == []


def test_the_average_run_is_what_large_groups_come_to():
    average = arena(hybrid_reward, steps=20, group_size=None)
    runs = [arena(hybrid_reward, steps=20, group_size=600, seed=seed) for seed in range(6)]
    for habit in average.habits:
        mean = sum(run.shares[habit][-1] for run in runs) / len(runs)
        assert mean == pytest.approx(average.shares[habit][-1], abs=0.05)


def test_one_average_step_by_hand():
    """Two habits pay 1 and 0: each push is 0.5 * (±0.5) / 0.5, and the logits move apart by twice that."""
    habits = [Habit(name, "", lambda p, a, name=name: [Outcome(name, 1.0, True)]) for name in ("a", "b")]
    for normalize, push in ((True, 0.5 * 0.5 / (0.5 + 1e-4)), (False, 0.25)):
        result = arena(
            lambda text, gold: float(text == "a"),
            habits=habits,
            problems=[EXAMPLE_PROBLEM],
            steps=1,
            learning_rate=1.0,
            normalize=normalize,
            group_size=None,
        )
        assert result.shares["a"] == pytest.approx([0.5, 1 / (1 + math.exp(-2 * push))])


def test_unscored_completions_neither_win_nor_lose():
    def skips(completion, gold):
        return None if "= = =" in completion else accuracy_reward(completion, gold)

    for group_size in (8, None):
        result = arena(skips, group_size=group_size)
        earns = {row["habit"]: row["earns"] for row in result.table}
        assert earns["spam"] is None
        assert result.winner in ("long", "buried")


def test_the_clip_stops_a_second_update_that_goes_too_far():
    bouts = module.scored_bouts(
        lambda text, gold: float(text == "a"),
        [Habit(name, "", lambda p, a, name=name: [Outcome(name, 1.0, True)]) for name in ("a", "b")],
        [EXAMPLE_PROBLEM],
        0.5,
    )
    given = {"steps": 1, "group_size": 8, "normalize": True, "learning_rate": 3.0, "seed": 0}
    once = sampled_run(bouts, epochs=1, epsilon=0.2, **given)[-1][0]
    thrice = sampled_run(bouts, epochs=3, epsilon=0.2, **given)[-1][0]
    free = sampled_run(bouts, epochs=3, epsilon=1.0, **given)[-1][0]
    assert once / 0.5 > 1.2  # beyond the clip after one update: the others change nothing
    assert thrice == once
    assert free > once


def test_softmax_of_large_logits_does_not_overflow():
    assert softmax([1e6, 0.0]) == [1.0, 0.0]


def test_huge_rewards_stay_finite():
    for normalize, group_size in itertools.product((True, False), (8, None)):
        result = arena(
            lambda text, gold: 1e90 * len(text), steps=5, normalize=normalize, group_size=group_size
        )
        assert all(map(math.isfinite, result.accuracy + result.reward))


# -- flips -----------------------------------------------------------------------------------------------------


def duel(reward, habits, **settings):
    return arena(reward, habits=habits, problems=[EXAMPLE_PROBLEM], group_size=None, **settings).winner


def test_without_a_gate_silence_beats_long_reasoning_below_043():
    flip = flip_point(lambda p: duel(ungated, ["long", "silent"], ability=p), 0.1, 0.9)
    assert flip == pytest.approx(0.001 * (630 - 200), abs=1e-5)
    assert duel(gated, ["silent", "long"], ability=0.02) == "long"  # with a gate it never does


def test_with_the_samples_own_lengths_the_flip_lies_at_0419():
    def outcomes(problem, ability):
        return [Outcome(SAMPLES[1].text, ability, True), Outcome(SAMPLES[2].text, 1 - ability, False)]

    lab = Habit("lab", "the two long samples of lab 3", outcomes)
    flip = flip_point(lambda p: duel(ungated, [lab, "silent"], ability=p), 0.1, 0.9)
    assert flip == pytest.approx(0.411 / (0.57 + 0.411), abs=1e-5)
    assert flip == pytest.approx(0.419, abs=5e-4)


def test_with_a_gate_brevity_wins_where_the_formula_says():
    def at(alpha):
        def reward(text, gold):
            return textbook_length(text, accuracy_reward(text, gold) == 1.0, alpha=alpha)

        return duel(reward, ["long", "brief"])

    assert flip_point(at, 0.0, 0.002) == pytest.approx((1 - 0.81) / 430, abs=1e-6)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.lists(st.floats(-2, 2), min_size=2, max_size=3),
    st.lists(st.integers(1, 9), min_size=3, max_size=3),
    st.integers(2, 9),
)
def test_the_push_without_division_has_a_closed_form(rewards, weights, group_size):
    weights = weights[: len(rewards)]
    chances = [weight / sum(weights) for weight in weights]
    mean = sum(p * r for p, r in zip(chances, rewards, strict=True))
    expected = [(1 - 1 / group_size) * p * (r - mean) for p, r in zip(chances, rewards, strict=True)]
    assert expected_push(rewards, chances, group_size, normalize=False) == pytest.approx(expected, abs=1e-8)
    assert sum(expected_push(rewards, chances, group_size)) == pytest.approx(0, abs=1e-9)


def test_the_push_with_division_is_the_mean_over_sampled_groups():
    rewards, chances = [0.57, -0.43, 0.0], [0.25, 0.25, 0.5]
    rng, total, n = random.Random(0), [0.0, 0.0, 0.0], 20_000
    from rl_lab.grpo import grpo_advantages

    for _ in range(n):
        picked = rng.choices(range(3), chances, k=4)
        for i, advantage in zip(picked, grpo_advantages([rewards[i] for i in picked]), strict=True):
            total[i] += advantage / (4 * n)
    assert expected_push(rewards, chances, 4) == pytest.approx(total, abs=0.006)


def test_in_pairs_the_division_counts_who_earned_more_and_not_by_how_much():
    def long_gains(p, group_size, normalize):
        chances = [p / 2, (1 - p) / 2, 0.5]
        return expected_push([0.57, -0.43, 0.0], chances, group_size, normalize=normalize)[2] < 0

    flips = {g: flip_point(lambda p, g=g: long_gains(p, g, True), 0.3, 0.7) for g in (2, 4, 8, 16)}
    assert flips[2] == pytest.approx(0.5, abs=1e-3)
    assert flips[2] > flips[4] > flips[8] > flips[16] > 0.43
    for group_size in (2, 8):
        flip = flip_point(lambda p, g=group_size: long_gains(p, g, False), 0.3, 0.7)
        assert flip == pytest.approx(0.43, abs=1e-5)


def test_the_division_moves_the_flip_of_real_training_too():
    def long_wins(normalize):
        return sum(
            arena(
                ungated,
                ability=0.465,
                habits=["long", "silent"],
                problems=[EXAMPLE_PROBLEM],
                group_size=2,
                normalize=normalize,
                steps=200,
                learning_rate=0.5,
                seed=seed,
            ).winner
            == "long"
            for seed in range(16)
        )

    assert long_wins(normalize=True) <= 6 < 9 <= long_wins(normalize=False)


def test_no_flip_is_none():
    assert flip_point(lambda x: True, 0, 1) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: flip_point(bool, 1, 0), "low must be below high, got 1.0 and 0.0"),
        (lambda: flip_point(bool, 0, 1, tolerance=0), "tolerance must be above 0"),
        (lambda: expected_push([1, 0], [0.5, 0.4], 2), "add up to 1"),
        (lambda: expected_push([1, 0], [1.0], 2), "one chance for each"),
        (lambda: expected_push([1, 0], [0.5, 0.5], 1), "group_size must be at least 2, got 1"),
        (lambda: expected_push([1, 0, 2], [0.5, 0.25, 0.25], 1000), "501,501 different groups, too many"),
    ],
)
def test_searches_refuse_settings_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# -- a reader's reward -----------------------------------------------------------------------------------------


def test_the_trainers_form_is_called_as_the_trainer_does():
    seen = {}

    def spy(completions, **columns):
        seen.update(columns, n=len(completions))
        return [0.0] * (len(completions) - 1) + [1.0]

    arena(spy, steps=1)
    assert {"prompts", "completion_ids", "ground_truth", "trainer_state", "log_extra", "log_metric"} <= set(
        seen
    )
    assert len(seen["prompts"]) == len(seen["ground_truth"]) == len(seen["completion_ids"]) == seen["n"]


def test_the_plain_form_is_called_for_each_completion():
    assert score_texts(lambda text, answer: len(text), ["a", "bb"], ["1", "2"]) == [1.0, 2.0]
    assert score_texts(hybrid_reward, ["Final Answer: 55"], ["55"]) == [1.1]
    assert score_texts(make_reward("hybrid").score, ["Final Answer: 55"], ["55"]) == [1.1]
    assert score_texts(make_reward("hybrid"), ["Final Answer: 55"], ["55"]) == [1.1]


class Zero:
    """A number of another library: its item() gives the builtin."""

    def item(self):
        return 0.5


def test_numbers_of_other_libraries_and_booleans_are_numbers():
    values = iter([Zero(), True, 3, None])
    assert score_texts(lambda text, gold: next(values), ["a"] * 4, ["1"] * 4) == [0.5, 1.0, 3.0, None]


BROKEN = {
    "no return": (
        lambda completions, **c: None,
        TypeError,
        "returned None for 60 completions; is there a return",
    ),
    "no return, one by one": (lambda text, gold: None, TypeError, "None for each of 60 completions"),
    "one number": (lambda completions, **c: 1.0, TypeError, "one number, 1.0, for 60 completions"),
    "too few": (lambda completions, **c: [1.0], ValueError, "1 rewards for 60 completions"),
    "text": (lambda completions, **c: "1.0", TypeError, "must be a list, got str"),
    "texts": (
        lambda completions, **c: ["1.0"] * len(completions),
        TypeError,
        "got str '1.0' for the completion",
    ),
    "a list each": (lambda text, gold: [1.0], TypeError, "must be a number or None, got list"),
    "nan": (lambda text, gold: math.nan, ValueError, "must be finite, got nan for the completion 'Let me"),
    "infinite": (lambda text, gold: -math.inf, ValueError, "must be finite, got -inf"),
    "an object": (lambda text, gold: object(), TypeError, "must be a number or None, got object"),
    "no columns": (lambda completions, ground_truth: [], TypeError, r"must take \*\*columns as well"),
    "one argument": (lambda text: 1.0, TypeError, r"must take \(completion, gold\)"),
    "three arguments": (lambda text, gold, more: 1.0, TypeError, r"got \(text, gold, more\)"),
    "its result": (1.0, TypeError, "reward must be a function, got float 1.0; pass it without calling it"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_reward_is_an_error_that_teaches(name):
    reward, kind, message = BROKEN[name]
    with pytest.raises(kind, match=message):
        arena(reward)


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"ability": 1.5}, ValueError, "ability must be between 0 and 1, got 1.5"),
        ({"ability": "0.5"}, TypeError, "ability must be a number"),
        ({"group_size": 1}, ValueError, "group_size must be at least 2, got 1"),
        ({"steps": 0}, ValueError, "steps must be at least 1, got 0"),
        ({"steps": 1.5}, TypeError, "steps must be a whole number"),
        ({"learning_rate": 0}, ValueError, "learning_rate must be above 0"),
        ({"epsilon": 2}, ValueError, "epsilon must be between 0 and 1, got 2"),
        ({"epochs": 0}, ValueError, "epochs must be at least 1"),
        ({"normalize": "batch"}, TypeError, "normalize must be True .* or False, got 'batch'"),
        ({"habits": ["long", "briefly"]}, ValueError, "got 'briefly'; did you mean 'brief'"),
        ({"habits": ["long"]}, ValueError, "at least two"),
        ({"habits": ["long", "long"]}, ValueError, "different names"),
        ({"habits": ["long", 7]}, TypeError, "names or Habit objects, got int 7"),
        ({"problems": []}, ValueError, "at least one row, got none"),
        ({"problems": EXAMPLE_PROBLEM}, TypeError, "wrap a single row"),
        ({"problems": [{"question": "?"}]}, ValueError, "must have question and answer, got question"),
        (
            {"habits": ["long", Habit("x", "", lambda p, a: [])]},
            TypeError,
            "outcomes of habit 'x' must be a list",
        ),
        (
            {"habits": ["long", Habit("x", "", lambda p, a: [Outcome("", 0.4, True)])]},
            ValueError,
            "chances of habit 'x' must .* add up to 1",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_settings_are_refused_by_name(settings, kind, message):
    with pytest.raises(kind, match=message):
        arena(accuracy_reward, **settings)


def test_a_readers_own_habit_joins_the_others():
    magic = Habit("magic", "says the magic word", lambda p, a: [Outcome("please", 1.0, False)])
    result = arena(lambda text, gold: float(text == "please"), habits=[*HABITS, magic])
    assert result.winner == "magic"
    assert result.accuracy[-1] < 0.05


def test_the_result_shows_itself_as_text_and_html():
    nasty = Habit("<b>", "<script>", lambda p, a: [Outcome("x", 1.0, True)])
    result = arena(accuracy_reward, habits=["long", nasty], steps=10)
    assert all(len(line) <= 80 for line in result.text().splitlines())
    assert "<script>" not in result._repr_html_()
    assert "&lt;script&gt;" in result._repr_html_()
    assert "After 10 steps" in repr(result)


def test_the_figure_is_what_explore_takes():
    result = arena(accuracy_reward, steps=10)
    figure = result.figure(6)
    assert figure["x"] == [0, 2, 4, 6, 8, 10]
    assert set(figure) == {"x", *result.habits}
    assert json.dumps(figure)


# -- attacks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reward",
    [
        accuracy_reward,
        length_reward,
        step_reward,
        hybrid_reward,
        batch_accuracy,
        batch_length,
        batch_steps,
        batch_hybrid,
        make_reward("hybrid", target_len=0, alpha=0.01, beta=0.2),
    ],
    ids=lambda reward: reward.__name__,
)
def test_the_courses_own_rewards_handle_every_attack(reward):
    report = attack(reward)
    assert report.faults == []
    assert report.score == report.total == len(attacks()) == 48


@pytest.mark.parametrize(
    ("reward", "score"),
    [
        (contains, 23),
        (uncapped, 41),
        (gated, 44),
        (ungated, 44),
        (batch_format, 20),
        (format_reward, 20),
        (lambda text, gold: 1.0, 4),
        (lambda text, gold: None, 2),
        (lambda text, gold: 1 / 0, 0),
        (lambda text, gold: math.nan, 0),
        (lambda completions, **columns: [], 0),
    ],
)
def test_naive_rewards_score_visibly_less(reward, score):
    assert attack(reward).score == score


def test_each_kind_of_attack_is_a_different_fault():
    kinds = {one.name: one.kind for one in attacks()}
    assert len(kinds) == len(attacks())
    assert attack(gated).faults == ["1,201 characters", "10,000 characters, right", "no label", "label 'nan'"]
    padded = [name for name in attack(uncapped).faults if kinds[name] == PADDING]
    assert padded == ["right, and 60 equals signs", "200 equations against 20"]


def test_the_suite_says_the_truth_about_itself():
    for one in attacks():
        if one.kind in (WRONG, RIGHT, PADDING):
            assert accuracy_reward(one.completion, one.label) == float(one.kind != WRONG), one.name
        else:
            assert accuracy_reward(one.completion, one.label) is None
        assert one.lesson.endswith((".", ")"))


def test_nothing_in_the_suite_is_ever_run():
    evaluated = []

    def reward(completion, gold):
        evaluated.append(completion)
        return accuracy_reward(completion, gold)

    attack(reward)
    assert all(isinstance(one, (str, list)) for one in evaluated)


def test_a_scale_of_rewards_is_free_to_choose():
    for low, high in ((-1, 1), (0, 100), (5, 6)):

        def reward(completion, gold, low=low, high=high):
            accuracy = accuracy_reward(completion, gold)
            return accuracy if accuracy is None else low + accuracy * (high - low)

        assert attack(reward).faults == []


def test_one_crash_does_not_hide_the_rest():
    def reward(completion, gold):
        if isinstance(completion, list):
            raise RuntimeError("no lists, please")
        return accuracy_reward(completion, gold)

    report = attack(reward)
    assert report.faults == ["a turn without text", "the tool knew it", "a list of messages"]
    assert "RuntimeError: no lists, please" in report.text()


def test_leaving_wrong_answers_out_is_a_fault():
    """None is no punishment: the optimiser would hide there."""

    def reward(completion, gold):
        return accuracy_reward(completion, gold) or None

    report = attack(reward)
    assert "two answers" in report.faults
    assert "left out (None)" in report.text()


def test_the_report_shows_itself_as_text_and_html():
    report = attack(contains)
    assert str(report).startswith("23 of 48 attacks handled\n")
    html = report._repr_html_()
    assert html.count("<li>") == 25
    assert "17 more got through" in html
    assert "</think>" not in html
    assert "48 of 48" in attack(hybrid_reward)._repr_html_()


def test_attack_refuses_what_is_no_reward():
    with pytest.raises(TypeError, match="pass it without calling it"):
        attack(1.0)
    with pytest.raises(TypeError, match="columns"):
        attack(lambda completions, ground_truth: [])


# -- gold audit ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_written", [False, True], ids=["as trained on", "as written"])
def test_every_gold_solution_of_the_generator_is_paid(as_written):
    for reward in (accuracy_reward, batch_hybrid):
        assert audit(reward, generate(200, seed=9), as_written=as_written).passed


@pytest.mark.parametrize(
    ("split", "as_written"),
    [("train", False), ("test", False), ("test", True)],
    ids=["train, as trained on", "test, as trained on", "test, as written"],
)
def test_every_gold_solution_of_gsm8k_is_paid(gsm8k_dir, split, as_written):
    found = audit(hybrid_reward, load(gsm8k_dir, split), as_written=as_written)
    assert found.passed, found.text()
    assert found.n == {"train": 7473, "test": 1319}[split]


def test_an_audit_finds_what_is_not_paid_and_what_should_not_be():
    rows = generate(20, seed=2)
    strict = audit(lambda text, gold: accuracy_reward(text, gold) * ("###" in text), rows)
    assert (len(strict.unpaid), len(strict.neighbours), strict.passed) == (20, 0, False)
    loose = audit(lambda text, gold: float(bool(text)), rows)
    assert (len(loose.unpaid), len(loose.neighbours)) == (0, 20)
    near = audit(lambda text, gold: float(abs(float(extract_answer(text) or -9) - float(gold)) <= 1), rows)
    assert len(near.neighbours) == 20
    assert "neighbour paid" in loose.text()
    assert "<code>" in loose._repr_html_()
    assert same_number(loose.neighbours[0][2], int(rows[0].gold) + 1)


def test_a_long_gold_solution_below_zero_is_not_paid():
    long = {"question": "?", "answer": "x" * 2000 + " 3*4=<<3*4=12>>12\n#### 12"}
    assert not audit(gated, [long]).passed
    assert audit(length_reward, [long]).passed


def test_an_audit_refuses_nothing_and_single_rows():
    with pytest.raises(ValueError, match="an audit of nothing finds nothing"):
        audit(accuracy_reward, [])
    with pytest.raises(TypeError, match="wrap a single row"):
        audit(accuracy_reward, EXAMPLE_PROBLEM)
    with pytest.raises(ValueError, match="1 rewards for 2 completions"):
        audit(lambda completions, **columns: [1.0], generate(2, seed=0))


def test_it_imports_quickly_and_without_threads_or_processes():
    code = (
        "import sys; import rl_lab.arena; "
        "print(sorted({'threading', 'subprocess', 'socket', 'multiprocessing', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


# --- what a fresh reader stumbled on ------------------------------------------------------------------------------


@pytest.mark.parametrize("problems", [5, None, [5], "text"])
def test_an_audit_of_something_else_says_what_it_wants(problems):
    with pytest.raises(TypeError, match="problems must be a list of rows"):
        audit(accuracy_reward, problems)


def test_a_reward_that_asks_for_another_column_is_told_its_name():
    with pytest.raises(TypeError, match=r"asks for a column 'answer'.*ground_truth"):
        arena(lambda prompts, completions, answer, **columns: [0.0] * len(completions))


def test_a_bonus_without_a_gate_is_told_from_a_wrong_extraction():
    def ungated(completion, gold):
        return accuracy_reward(completion, gold) + 0.05 * min(completion.count("="), 5)

    lessons = {v.attack.name: v.attack.lesson for v in attack(ungated).verdicts if not v.passed}
    assert "before any bonus" in lessons["gold in the middle"]


def test_without_a_reward_for_the_plain_wrong_answer_the_expectation_still_reads():
    report = attack(lambda completion, gold: None)
    assert "no more than the reward of a plainly wrong answer" in report.text()
