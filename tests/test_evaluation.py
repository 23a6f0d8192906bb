"""Evaluation: real cases (class G), estimators against counting, intervals, difficulty, errors by recomputing."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_lab import evaluation
from rl_lab.calculator import format_number, safe_eval
from rl_lab.evaluation import (
    ERROR_ACTIONS,
    ERROR_KINDS,
    accuracy_at_k,
    accuracy_by_difficulty,
    classify_error,
    evaluate,
    majority_vote,
    mean_over_problems,
    paired_difference,
    pass_at_k,
    pass_hat_k,
    recompute_steps,
    wilson_interval,
)
from rl_lab.problems import family_names, generate
from rl_lab.rows import check_calc_marks, strip_calc_marks
from tests.test_answers import cases

few = settings(max_examples=60, derandomize=True, deadline=None, database=None)
QUESTION = (
    "An item costs 80 yuan, is sold at 75% of its price, and a coupon takes off 5 yuan more. What is paid?"
)


# -- real cases --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in cases("G")])
def test_real_case(case):
    call, expected = getattr(evaluation, case["call"]), case["expected"]
    if "raises" in expected:
        error = {"ValueError": ValueError, "TypeError": TypeError}[expected["raises"]]
        with pytest.raises(error, match=expected["match"]):
            call(*case["input"].values())
        return
    got = call(*case["input"].values())
    if isinstance(got, dict):
        assert {key: got[key] for key in expected} == expected, case["why"]
    elif got is None or expected["value"] is None:
        assert got is expected["value"], case["why"]
    else:
        assert got == pytest.approx(expected["value"], rel=1e-4), case["why"]
        assert got != pytest.approx(expected.get("not", -1), abs=1e-3), case["why"]


# -- several samples per problem ---------------------------------------------------------------------------------


def counted(n, c, k, want):
    """Share of all subsets of k samples in which any (or all) are right, by listing them."""
    samples = [True] * c + [False] * (n - c)
    subsets = list(itertools.combinations(samples, k))
    return sum(map(want, subsets)) / len(subsets)


@few
@given(data=st.data())
def test_the_estimators_equal_counting_every_subset(data):
    n = data.draw(st.integers(1, 9))
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    assert pass_at_k(n, c, k) == pytest.approx(counted(n, c, k, any))
    assert pass_hat_k(n, c, k) == pytest.approx(counted(n, c, k, all))
    assert pass_hat_k(n, c, k) <= c / n + 1e-12 <= pass_at_k(n, c, k) + 2e-12


def test_at_one_sample_all_three_are_the_share_of_right_samples():
    assert pass_at_k(8, 3, 1) == pass_hat_k(8, 3, 1) == accuracy_at_k([[True] * 3 + [False] * 5], 1) == 0.375


def test_the_course_example_of_the_plug_in_formula():
    assert pass_at_k(16, 1, 8) == 0.5
    assert round(1 - (1 - 1 / 16) ** 8, 3) == 0.403


def test_more_samples_allowed_never_lower_pass_at_k():
    values = [pass_at_k(16, 3, k) for k in range(1, 17)]
    assert values == sorted(values)
    assert values[-1] == 1.0


def test_accuracy_at_k_refuses_what_is_no_table():
    with pytest.raises(ValueError, match="at least one problem"):
        accuracy_at_k([], 1)
    with pytest.raises(ValueError, match=r"correct\[1\]\[0\] must be right or wrong"):
        accuracy_at_k([[True], ["yes"]], 1)


def test_scores_outside_0_to_1_are_refused():
    for score in (1.5, -0.1, float("nan"), None):
        with pytest.raises(ValueError, match="between 0 and 1"):
            mean_over_problems([0.5, score])


def test_a_vote_reads_whole_completions_too():
    vote = majority_vote(["2+2=4. Final Answer: 4", "Final Answer: 5", "so it is 4"])
    assert (vote.value, vote.votes, vote.voters) == ("4", 2, 3)
    with pytest.raises(TypeError, match="one entry per sample"):
        majority_vote("72")


@few
@given(st.lists(st.sampled_from(["70", "72", "72.0", "", None, "x"]), max_size=8))
def test_a_vote_counts_every_sample_once(answers):
    vote = majority_vote(answers)
    assert vote.voters + vote.unparsed == len(answers)
    assert (vote.value is None) == (vote.voters == 0)
    assert vote == majority_vote(answers)


# -- how sure ----------------------------------------------------------------------------------------------------


def test_wilson_agrees_with_hand_worked_numbers():
    # 8 of 10, z = 1.96: (0.8 + 0.19208) / 1.38416 = 0.7167; half width 0.2266.
    assert [round(end, 3) for end in wilson_interval(8, 10)] == [0.490, 0.943]
    assert wilson_interval(0, 10)[0] == 0.0
    assert wilson_interval(10, 10)[1] == 1.0
    assert wilson_interval(0, 0) == (0.0, 1.0)


@few
@given(data=st.data())
def test_wilson_ends_solve_the_equation_that_defines_them(data):
    n = data.draw(st.integers(1, 300))
    c = data.draw(st.integers(1, n - 1)) if n > 1 else 1
    for end in wilson_interval(c, n):
        if 0 < end < 1:
            assert abs(c / n - end) == pytest.approx(1.959964 * math.sqrt(end * (1 - end) / n), rel=1e-4)


def test_wilson_holds_its_promise_on_average():
    # Exact coverage of the 95 % interval over all outcomes of n = 20, averaged over true rates.
    def covered(p, n=20):
        inside = (c for c in range(n + 1) if wilson_interval(c, n)[0] <= p <= wilson_interval(c, n)[1])
        return sum(math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in inside)

    rates = [i / 100 for i in range(2, 99, 4)]
    assert 0.945 < sum(map(covered, rates)) / len(rates) < 0.965


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((5, 3), ValueError, "successes must lie between 0 and n, got 5 of 3"),
        ((-1, 3), ValueError, "between 0 and n"),
        ((1, 3, 1.0), ValueError, "confidence must lie strictly between 0 and 1"),
        ((0.5, 3), TypeError, "successes must be a whole number"),
    ],
)
def test_wilson_refuses_impossible_counts(arguments, error, message):
    with pytest.raises(error, match=message):
        wilson_interval(*arguments)


def test_a_paired_comparison_is_sharper_than_two_intervals():
    before = [True] * 84 + [False] * 116
    after = [True] * 80 + [False] * 4 + [True] * 20 + [False] * 96
    result = paired_difference(before, after)
    assert (result.gained, result.lost, result.n) == (20, 4, 200)
    assert result.difference == pytest.approx(0.08)
    assert result.low > 0
    # The separate intervals overlap: 42 % of 200 and 50 % of 200.
    assert wilson_interval(84, 200)[1] > wilson_interval(100, 200)[0]
    # Exact sign test, 4 or fewer of 24: 2 * (1 + 24 + 276 + 2024 + 10626) / 2**24.
    assert result.p_value == pytest.approx(2 * 12951 / 2**24)


def test_no_difference_is_no_evidence():
    result = paired_difference([True, False] * 5, [True, False] * 5)
    assert (result.difference, result.p_value) == (0.0, 1.0)
    assert result.low < 0 < result.high
    with pytest.raises(ValueError, match="the same problems"):
        paired_difference([True], [True, False])
    with pytest.raises(ValueError, match="at least one"):
        paired_difference([], [])


# -- evaluating completions --------------------------------------------------------------------------------------


def test_the_four_outcomes_add_up_and_rates_are_floats():
    result = evaluate(
        ["Final Answer: 72", "#### 72", "Final Answer: 70 or 72", "so 48/2"],
        [72] * 4,
        [False, False, False, True],
    )
    assert result.correct + result.wrong + result.unparsed + result.truncated == result.n == 4
    assert (result.correct, result.unparsed, result.truncated) == (2, 1, 1)
    assert isinstance(result["accuracy"], float)
    assert isinstance(result["format_rate"], float)
    assert result.format_rate == 0.25
    assert json.loads(json.dumps(result))["accuracy"] == 0.5


def test_lengths_and_steps_are_means_and_messages_are_read():
    result = evaluate(
        ["1+1=2\nFinal Answer: 2", [{"role": "assistant", "content": "Final Answer: 22"}]], ["2", "22"]
    )
    assert (result.accuracy, result.mean_length, result.mean_steps) == (1.0, (21 + 16) / 2, 0.5)


def test_an_evaluation_prints_percent_and_an_empty_one_says_so():
    assert str(evaluate([], [])) == "accuracy n/a (n = 0)"
    assert "accuracy 50.0 % (95 % interval 9.5 % to 90.5 %, n = 2)" in str(
        evaluate(["Final Answer: 1", "2"], [1, 1])
    )


def test_truncated_flags_must_fit():
    with pytest.raises(ValueError, match="1 completions, 1 gold answers and 2 truncated flags"):
        evaluate(["1"], ["1"], [False, True])


def test_gold_solutions_of_the_generator_are_all_right_and_in_format():
    from rl_lab.gsm8k import to_sft

    problems = generate(100, seed=2)
    result = evaluate([to_sft(p)["completion"] for p in problems], [p.gold for p in problems])
    assert (result.accuracy, result.format_rate) == (1.0, 1.0)


def test_difficulty_levels_carry_their_own_intervals():
    rows = accuracy_by_difficulty([1, 1, 0, 1, 0, 0], [1, 1, 1, 2, 5, 5], levels=[1, 2, 3, 5])
    assert [(row.steps, row.n, row.correct) for row in rows] == [(1, 3, 2), (2, 1, 1), (3, 0, 0), (5, 2, 0)]
    assert rows[2].accuracy is rows[2].low is rows[2].high is None
    assert (rows[3].low, rows[3].high) == wilson_interval(0, 2)
    with pytest.raises(ValueError, match="equally long"):
        accuracy_by_difficulty([True], [1, 2])


# -- errors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("completion", "kind", "fixed"),
    [
        ("80*0.75 = 60, 60-5 = 55.\nFinal Answer: 55", "correct", False),
        ("80*0.75 = 62, 62-5 = 57.\nFinal Answer: 57", "arithmetic", True),
        ("80*0.75 = 60, 60-5 = 56.\nFinal Answer: 56", "arithmetic", True),
        ("80-5 = 76, 76*0.75 = 57.\nFinal Answer: 57", "arithmetic", False),
        ("80-5 = 75, 75*0.75 = 56.25.\nFinal Answer: 56.25", "set-up", False),
        ("80*0.75 = 60, 60-5 = 55.\nFinal Answer: 60", "copy", False),
        ("80*0.75 = 60, 60-5 = 55. So it is cheap at 80", "format", False),
        ("85*0.75 = 63.75, 63.75-5 = 58.75.\nFinal Answer: 58.75", "reading", False),
        ("It is expensive.", "format", False),
        ("Final Answer: 60", "unknown", False),
        ("", "format", False),
    ],
)
def test_an_error_is_named_by_recomputing(completion, kind, fixed):
    found = classify_error(completion, 55, question=QUESTION)
    assert (found.kind, found.fixed_by_calculator) == (kind, fixed), found
    assert found.kind in ERROR_KINDS
    assert ERROR_ACTIONS[found.kind]


def test_truncation_comes_first():
    assert classify_error("80*0.75 = 62, so we", 55, truncated=True).kind == "truncated"
    assert classify_error("Final Answer: 55\nLet me ch", 55, truncated=True).kind == "correct"


def test_without_the_question_no_number_is_called_misread():
    assert classify_error("85*0.75 = 63.75.\nFinal Answer: 63.75", 55).kind == "set-up"


def test_an_unreadable_gold_answer_is_a_broken_data_set():
    with pytest.raises(ValueError, match="gold must be one number, got 'n/a'"):
        classify_error("Final Answer: 55", "n/a")


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("1. 48/2 = 24", [("48/2", True)]),
        ("Step 2: $12 × 5 = $60.", [("$12 × 5", True)]),
        ("1,000 + 234 = 1,234 stamps", [("1,000 + 234", True)]),
        ("20 apples + 3 = 23", []),
        ("60 questions x 60/100 = 36", []),
        ("n + 5 = 12 and 3x + 4 = 10", []),
        ("2*4 + 3*6 = 8 + 18 = 26", [("2*4 + 3*6", True), ("8 + 18", True)]),
        ("48/2 = 24 + 5 = 29", [("48/2", True), ("24 + 5", True)]),
        ("12/20 x 100% = 60%", [("12/20 x 100%", True)]),
        ("10/3 = 3.33", [("10/3", True)]),
        ("10/3 = 3", [("10/3", False)]),
        ("5 - 1.5 = 3 1/2", [("5 - 1.5", True)]),
        ("4 - 9 = -5, then -5 + 2 = -3", [("4 - 9", True), ("-5 + 2", True)]),
        ("48 \\div 2 = 24", [("48 ÷ 2", True)]),
        ("5/0 = 0", []),
        ("a = b == c = = =", []),
    ],
)
def test_steps_are_found_as_people_write_them(text, steps):
    assert [(step.expression, step.ok) for step in recompute_steps(text)] == steps


def test_a_right_result_is_carried_through_a_chain():
    steps = recompute_steps("6*7 = 41, 41+9 = 50, 50/2 = 25. Final Answer: 25")
    assert [step.carried for step in steps] == [42.0, 51.0, 25.5]
    assert [step.ok for step in steps] == [False, True, True]


def test_a_right_result_is_carried_through_negative_numbers():
    steps = recompute_steps("2-5 = -2, then -2 - 4 = -6, then -6 + 9 = 3")
    assert [step.carried for step in steps] == [-3.0, -7.0, 2.0]


def test_a_planted_slip_is_found_and_a_calculator_would_mend_it():
    rng = random.Random(0)
    families = [name for name in family_names() if name != "weather"]  # the helper reads no negative numbers
    mended = 0
    for problem in generate(200, seed=11, steps=(2, 5), families=families):
        broken = rng.randrange(problem["steps"])
        text = with_a_slip(check_calc_marks(problem.answer), broken)
        found = classify_error(text, problem.gold, question=problem.question)
        assert found.kind == "arithmetic", (problem, text)
        assert [step.ok for step in found.steps].index(False) == broken
        mended += found.fixed_by_calculator
    # Results are followed by their number: where it also stands in the question, the chain can be misread.
    assert mended >= 190


def with_a_slip(checks, broken):
    """The solution of someone who calculates one result wrong by one and goes on from there."""
    wrong, lines, value = {}, [], ""
    for number, check in enumerate(checks):
        expression = re.sub(r"[0-9.]+", lambda match: wrong.get(match[0], match[0]), check.expression)
        value = format_number(safe_eval(expression) + (number == broken))
        wrong[check.stated] = value
        lines.append(f"That is {expression} = {value}.")
    return "\n".join([*lines, f"Final Answer: {value}"])


def test_recomputing_gsm8ks_own_solutions_raises_few_alarms(gsm8k_dir):
    texts = [
        json.loads(line)["answer"]
        for line in (gsm8k_dir / "test.jsonl").read_text(encoding="utf-8").split("\n")
        if line
    ]
    steps = [step for text in texts for step in recompute_steps(strip_calc_marks(text))]
    alarms = sum(not step.ok for step in steps)
    assert len(steps) > 3000
    assert alarms / len(steps) < 0.005  # and most of these are slips of the data set


@pytest.mark.parametrize("text", ["=" * 50_000, "1+" * 25_000 + "1=1", "1=" * 25_000, "((((" * 12_000 + "=1"])
def test_hostile_text_is_read_in_linear_time(text):
    import time

    start = time.perf_counter()
    recompute_steps(text)
    assert time.perf_counter() - start < 5


# -- sizes and kinds that slip in ----------------------------------------------------------------------------------


@few
@given(data=st.data())
def test_the_quick_form_for_many_samples_equals_the_exact_one(data):
    n = data.draw(st.integers(2001, 4000))
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    subsets = math.comb(n, k)
    exact = Fraction(subsets - math.comb(n - c, k), subsets), Fraction(math.comb(c, k), subsets)
    assert pass_at_k(n, c, k) == pytest.approx(float(exact[0]), rel=1e-12, abs=0)
    assert pass_hat_k(n, c, k) == pytest.approx(float(exact[1]), rel=1e-9, abs=1e-300)


def test_a_sign_test_on_thousands_of_problems_is_quick():
    started = time.process_time()
    result = paired_difference([True] * 2000 + [False] * 2100, [False] * 2000 + [True] * 2100)
    assert time.process_time() - started < 1
    assert result.p_value == pytest.approx(0.1223, abs=1e-3)  # z = (100 - 1) / sqrt(4100)


def test_iterators_are_read_once_and_texts_are_no_lists():
    assert evaluate(iter(["Final Answer: 1"]), iter(["1"]), iter([False])).correct == 1
    assert accuracy_at_k(iter([iter([True, False])]), 1) == 0.5
    for call in (
        lambda: majority_vote(None),
        lambda: mean_over_problems(0.5),
        lambda: accuracy_at_k("10", 1),
        lambda: paired_difference(None, [True]),
        lambda: accuracy_by_difficulty([True], [1], levels=5),
        lambda: evaluate(["Final Answer: 1"], "1"),
    ):
        with pytest.raises(TypeError, match="must be a list, got"):
            call()


def test_a_level_that_is_no_whole_number_is_refused():
    with pytest.raises(TypeError, match="levels must be a whole number, got '1'"):
        accuracy_by_difficulty([True], [1], levels=["1"])


def test_a_finish_reason_is_no_flag_for_one_completion_either():
    with pytest.raises(ValueError, match="truncated must be True or False, got 'stop'"):
        classify_error("Final Answer: 1", 1, truncated="stop")
    with pytest.raises(TypeError, match="question must be text or None"):
        classify_error("Final Answer: 1", 1, question=5)


def test_a_wrong_confidence_shows_on_an_empty_set_too():
    with pytest.raises(ValueError, match="confidence must lie strictly between 0 and 1, got 95"):
        evaluate([], [], confidence=95)


def test_pass_hat_k_at_a_very_large_n():
    """T3-07: a share that a float cannot tell from 1."""
    assert pass_hat_k(10**18, 1, 1) == pytest.approx(1e-18, rel=1e-12)
    assert pass_hat_k(10**18, 10**18 - 1, 2) == pytest.approx(1 - 2e-18)
    assert pass_hat_k(10**18, 3, 2) == pytest.approx(6e-36, rel=1e-12)
    assert pass_hat_k(10**400, 1, 1) == 0.0
    assert pass_at_k(10**18, 10**18 - 1, 1) == 1.0
    assert pass_at_k(10**18, 1, 1) == pytest.approx(1e-18, rel=1e-12)


def test_many_samples_of_very_many_cost_no_time():
    """A billion factors are integrated; the logarithm of a product of a few million is the reference."""
    started = time.process_time()
    assert pass_at_k(10**18, 10**9, 10**9) == pytest.approx(1 - math.exp(-1), rel=1e-8)
    assert pass_at_k(10**700, 10**350, 10**350) == pytest.approx(1 - math.exp(-1), rel=1e-12)
    assert pass_hat_k(10**18, 10**18 - 10**9, 10**8) == pytest.approx(math.exp(-0.1), rel=1e-8)
    assert pass_at_k(10**18, 10**10, 10**9) == pytest.approx(1 - math.exp(-10), rel=1e-8)
    assert pass_hat_k(10**18, 10**17, 10**17) == 0.0
    assert time.process_time() - started < 1
    n, wrong, k = 10**12, 1_200_000, 2_000_000
    exact = math.fsum(math.log1p(-k / (n - j)) for j in range(wrong))
    assert pass_hat_k(n, n - wrong, k) == pytest.approx(math.exp(exact), rel=1e-12)


def test_large_n_agrees_with_whole_numbers():
    for n, c, k in ((2001, 1999, 3), (5000, 2500, 4), (3000, 3000, 2), (2500, 1, 2400)):
        exact = math.comb(c, k) / math.comb(n, k)
        assert pass_hat_k(n, c, k) == pytest.approx(exact, rel=1e-11)


def test_a_step_of_whole_numbers_keeps_every_digit():
    step = recompute_steps("123456789*987654321 = 121932631112635269")[0]
    assert step.ok
    assert step.value == 121932631112635269
