"""Errors are placed where they happened, and percentages in print are held against the counts that can make them."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_lab.error_analysis import KINDS, diagnose, possible_counts, tally
from rl_lab.evaluation import ERROR_KINDS, classify_error
from rl_lab.problems import generate
from rl_lab.rows import strip_calc_marks

GOLD = "80*0.75 = <<80*0.75=60>>60 yuan.\n60-5 = <<60-5=55>>55 yuan.\n#### 55"
QUESTION = (
    "An item costs 80 yuan, is sold at 75% of its price, and a coupon takes off 5 yuan more. What is paid?"
)


def kind(text: str, **more) -> str:
    return diagnose(text, GOLD, **{"question": QUESTION} | more).kind


# --- the first thing that went wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected", "step", "fixed"),
    [
        ("80 * 0.75 = 60\n60 - 5 = 55\nFinal Answer: 55", "correct", None, False),
        ("80 * 0.75 = 62\n62 - 5 = 57\nFinal Answer: 57", "arithmetic", 1, True),
        ("80 * 0.75 = 60\n60 - 5 = 56\nFinal Answer: 56", "arithmetic", 2, True),
        ("80 - 5 = 75\n75 * 0.75 = 56.25\nFinal Answer: 56.25", "set-up", 1, False),
        ("80 * 0.75 = 60\nFinal Answer: 60", "set-up", None, False),
        ("80 * 0.75 = 60\n60 + 5 = 65\nFinal Answer: 65", "set-up", 2, False),
        ("80 * 0.7 = 56\n56 - 5 = 51\nFinal Answer: 51", "reading", 1, False),
        ("80 * 0.75 = 60\n60 - 5 = 55\nFinal Answer: 60", "copy", None, False),
        ("Final Answer: 60", "unknown", None, False),
        ("80 * 0.75 = 60\n60 - 5 = 55 and that is all I paid on day 2", "format", None, False),
        ("I cannot say.", "format", None, False),
    ],
)
def test_each_kind_is_found_at_its_step(text, expected, step, fixed):
    found = diagnose(text, GOLD, question=QUESTION)
    assert (found.kind, found.step, found.fixed_by_calculator) == (expected, step, fixed)


def test_a_wrong_plan_with_a_slip_in_it_is_a_wrong_plan():
    text = "80 - 5 = 74\n74 * 0.75 = 55.5\nFinal Answer: 55.5"
    assert classify_error(text, 55).kind == "arithmetic", "what the completion alone shows"
    found = diagnose(text, GOLD)
    assert (found.kind, found.step, found.fixed_by_calculator) == ("set-up", 1, False)


def test_a_slip_before_the_plan_goes_wrong_counts_as_what_no_calculator_mends():
    found = diagnose("80 * 0.75 = 62\nFinal Answer: 62", GOLD)
    assert (found.kind, found.step, found.fixed_by_calculator) == ("arithmetic", 1, False)


def test_another_way_to_the_answer_is_no_error():
    other = "80 / 4 = 20\n80 - 20 = 60\n60 - 5 = 55\nFinal Answer: 55"
    assert kind(other) == "correct"


def test_a_slip_on_another_way_is_arithmetic_all_the_same():
    found = diagnose("80 / 4 = 25\n80 - 25 = 55\n55 - 5 = 50\nFinal Answer: 50", GOLD, question=QUESTION)
    assert (found.kind, found.fixed_by_calculator) == ("arithmetic", True)


def test_both_steps_on_one_line_are_no_missing_step():
    assert kind("80 * 0.75 - 5 = 55\nFinal Answer: 60") == "copy"


def test_without_the_question_no_error_is_called_reading():
    assert diagnose("80 * 0.7 = 56\n56 - 5 = 51\nFinal Answer: 51", GOLD).kind == "set-up"


def test_a_share_may_be_written_as_what_is_paid_or_what_is_left():
    question = "A kettle costs 80 yuan and is 25% off. What is paid?"
    gold = "80 * 0.25 = 20\n80 - 20 = 60\n#### 60"
    for share in ("0.25", "0.75", "25"):
        text = f"80 * {share} = {80 * Fraction(share)}\n{80 * Fraction(share)} + 80 = 3\nFinal Answer: 3"
        assert diagnose(text, gold, question=question).kind != "reading", share


def test_a_cut_completion_is_truncated_whatever_its_steps_say():
    assert kind("80 - 5 = 75\n75 * 0.7", truncated=True) == "truncated"


def test_the_messages_of_a_chat_are_read_like_text():
    messages = [{"role": "assistant", "content": "80 * 0.75 = 62\n62 - 5 = 57\nFinal Answer: 57"}]
    assert diagnose(messages, GOLD).kind == "arithmetic"


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_on_generated_problems_each_planted_error_is_found(steps):
    for problem in generate(60, 20 + steps, steps=steps, max_value=60):
        solution, question = problem["answer"], problem["question"]
        lines = strip_calc_marks(solution).replace("####", "Final Answer:").splitlines()
        assert diagnose("\n".join(lines), solution, question=question).kind == "correct"
        copied = "\n".join([*lines[:-1], "Final Answer: 98765"])
        assert diagnose(copied, solution, question=question).kind == "copy"
        if steps == 1:
            continue
        early = [*lines[:-2], "Final Answer: " + re.findall(r"-?[\d,]+", lines[-3].split("=")[1])[0]]
        found = diagnose("\n".join(early), solution, question=question)
        assert found.kind == "correct" or found.detail == f"stops after {steps - 1} of {steps} steps"


def test_a_slip_planted_in_any_step_is_found_there_and_a_calculator_mends_it():
    solution = "3 * 4 = 12\n12 + 9 = 21\n21 - 6 = 15\n#### 15"
    for slip in range(3):
        value, lines = 3, []
        for at, (sign, b) in enumerate((("*", 4), ("+", 9), ("-", 6))):
            result = {"*": value * b, "+": value + b, "-": value - b}[sign] + (at == slip)
            lines.append(f"{value} {sign} {b} = {result}")
            value = result
        found = diagnose("\n".join([*lines, f"Final Answer: {value}"]), solution, question="3 4 9 6")
        assert (found.kind, found.step, found.fixed_by_calculator) == ("arithmetic", slip + 1, True)


def test_errors_of_the_caller_are_named():
    with pytest.raises(TypeError, match="solution must be text, got int 55"):
        diagnose("Final Answer: 55", 55)
    with pytest.raises(ValueError, match="####"):
        diagnose("Final Answer: 55", "80*0.75 = 60")
    with pytest.raises(ValueError, match="truncated must be True or False"):
        diagnose("Final Answer: 55", GOLD, truncated="stop")


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.text(max_size=200), st.booleans())
def test_any_text_gets_exactly_one_kind(text, cut):
    assert diagnose(text, GOLD, question=QUESTION, truncated=cut).kind in ("correct", *KINDS)


# --- counting -------------------------------------------------------------------------------------------------------


def test_the_counts_of_a_tally_sum_to_the_errors_and_the_shares_to_one():
    found = [
        {"kind": kind, "fixed_by_calculator": i % 2 == 0} for i, kind in enumerate(("correct", *KINDS) * 3)
    ]
    rows = tally(found)
    assert [row.kind for row in rows] == list(KINDS)
    assert sum(row.n for row in rows) == 3 * len(KINDS)
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert all(row.low <= row.share <= row.high for row in rows)


def test_the_kinds_are_those_of_the_evaluation_and_all_have_an_action():
    assert set(KINDS) | {"correct"} == set(ERROR_KINDS)
    assert all(row.action for row in tally([{"kind": k, "fixed_by_calculator": False} for k in KINDS]))


def test_nothing_wrong_gives_an_empty_tally_and_a_strange_kind_is_refused():
    assert tally([]) == [] == tally([{"kind": "correct", "fixed_by_calculator": False}])
    with pytest.raises(ValueError, match=r"kind must be correct or one of truncated, .*, got slip"):
        tally([{"kind": "slip", "fixed_by_calculator": False}])


# --- percentages in print -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percent", "n", "counts"),
    [
        ("78.5", 85, []), ("78.50", 85, []), ("58.3", 96, [56]), ("58.30", 96, []), ("31.6", 19, [6]),
        ("31.60", 19, []), ("42.1", 76, [32]), ("23.7", 76, [18]), ("28.9", 76, [22]), ("5.3", 76, [4]),
        ("0", 7, [0]), ("100", 7, [7]), ("50", 3, []), ("33 %", 1000, list(range(325, 335))), (68, 100, [68]),
        ("12.5", 8, [1]), ("12", 8, [1]), ("13", 8, [1]),
    ],
)  # fmt: skip
def test_counts_behind_a_percentage(percent, n, counts):
    assert possible_counts(percent, n) == counts


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.integers(1, 400), st.integers(0, 3), st.data())
def test_what_was_counted_is_always_possible_and_nothing_else_is(n, decimals, data):
    count = data.draw(st.integers(0, n))
    assert count in possible_counts(f"{100 * count / n:.{decimals}f}", n)
    shown = f"{data.draw(st.integers(0, 100 * 10**decimals)) / 10**decimals:.{decimals}f}"
    half = Fraction(1, 2 * 10**decimals)
    near = [c for c in range(n + 1) if abs(Fraction(100 * c, n) - Fraction(shown)) <= half]
    assert set(possible_counts(shown, n)) <= set(near)
    assert {c for c in near if abs(Fraction(100 * c, n) - Fraction(shown)) < half} <= set(
        possible_counts(shown, n)
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("101", 10), ValueError, "from 0 to 100"),
        (("-1", 10), ValueError, "from 0 to 100"),
        (("many", 10), ValueError, "plain number"),
        (("50", 0), ValueError, "n must be 1 or more"),
        (("50", 10, 13), ValueError, "decimals 0 to 12"),
        (("50", 1.5), TypeError, "n must be a whole number"),
        ((None, 10), TypeError, "percent must be a number"),
    ],
)
def test_an_impossible_question_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        possible_counts(*arguments)
