"""The checker teaches: what was called, what came back, what was expected and why; and it never crashes."""

import pytest

from rl_lab.calculator import evaluate, format_number
from rl_lab.check import _EXERCISES, check, exercise, exercises
from rl_lab.gsm8k import calc_marks


@pytest.fixture
def double():
    @exercise("98.1", "Double it")
    def _(answer, t):
        t.call(answer, 3, expect=6, why="3 + 3 is 6.", hints={9: "That is the square."})
        t.call(answer, 0.1, expect=0.2, tol=1e-6, why="Works for fractions too.")

    yield "98.1"
    del _EXERCISES["98.1"]


def test_a_right_function_is_solved_and_counts_its_questions(double):
    result = check(double, lambda x: 2 * x)
    assert result.passed
    assert result.asked == 2
    assert "2 questions" in result.text()


def test_a_wrong_value_shows_call_result_expectation_and_reason(double):
    text = check(double, lambda x: x).text()
    assert "your function(3)" in text
    assert "came back: 3" in text
    assert "expected:  6" in text
    assert "3 + 3 is 6." in text


def test_a_known_mistake_gets_its_own_hint(double):
    assert "That is the square." in check(double, lambda x: x * x).text()


def test_an_exception_of_the_reader_is_a_finding(double):
    text = check(double, lambda x: 1 / 0).text()
    assert "ZeroDivisionError" in text
    assert "not solved yet" in text


@pytest.mark.parametrize("answer", [None, lambda x: None, ...], ids=["none", "returns none", "ellipsis"])
def test_an_untouched_starter_is_open_not_an_error(double, answer):
    result = check(double, answer)
    assert not result.passed


def test_a_result_instead_of_a_function_is_explained(double):
    assert "Pass the function itself" in check(double, 6).text()


def test_endless_recursion_is_a_finding(double):
    def again(x):
        return again(x)

    assert "RecursionError" in check(double, again).text()


def test_html_escapes_what_the_reader_returned(double):
    shown = check(double, lambda x: "<script>alert(1)</script>")._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_true_is_not_one(double):
    assert not check(double, lambda x: True).passed


def test_an_unknown_exercise_lists_the_known_ones(double):
    with pytest.raises(ValueError, match=r"no exercise 98\.7; chapter 98 has 98\.1"):
        check("98.7", None)


def test_a_malformed_number_says_what_one_looks_like():
    with pytest.raises(ValueError, match="such as"):
        check("four", None)


def test_short_numbers_are_understood(double):
    assert check(98.1, lambda x: 2 * x).passed
    assert exercises(98) == ["98.1"]


def test_two_modules_cannot_claim_one_number(double):
    def other(answer, t):
        """Stands in for a test of another module."""

    other.__module__ = "rl_lab.exercises.elsewhere"
    with pytest.raises(ValueError, match="exists already"):
        exercise("98.1", "Again")(other)


def test_sequences_compare_item_by_item_and_numpy_counts():
    numpy = pytest.importorskip("numpy")

    @exercise("97.1", "Three numbers")
    def _(answer, t):
        t.value(answer, [1.0, 0.0, -1.0], ask="three numbers", why="By symmetry.", tol=1e-6)

    try:
        assert check("97.1", numpy.array([1.0, 0.0, -1.0])).passed
        assert check("97.1", (1, 0, -1)).passed
        assert not check("97.1", [1.0, 0.0]).passed
        assert not check("97.1", "1, 0, -1").passed
    finally:
        del _EXERCISES["97.1"]


@pytest.mark.parametrize(
    "answer", [{1, 3, 4}, {1: 0, 3: 0, 4: 0}, {1: 0, 3: 0, 4: 0}.keys(), frozenset({1, 3, 4})]
)
def test_a_set_is_no_sequence_even_if_its_order_happens_to_fit(answer):
    @exercise("96.1", "Three numbers in order")
    def _(given, t):
        t.value(
            given, [1, 3, 4], ask="three numbers", why="In order.", hints=[(lambda v: list(v) == [1], "No.")]
        )

    try:
        assert check("96.1", [1, 3, 4]).passed
        result = check("96.1", answer)
        assert not result.passed
        assert "no sequence: use a list" in result.text()
    finally:
        del _EXERCISES["96.1"]


def test_the_numbers_of_the_rows_left_out_have_an_order():
    def rows(wanted):
        def rl_rows(given):
            kept = [i for i in range(len(given)) if i not in (1, 3, 4)]
            labels = dict(zip(kept, ("1234", "-9"), strict=True))
            done = [
                {"prompt": [{"role": "user", "content": given[i]["question"]}], "ground_truth": labels[i]}
                for i in kept
            ]
            return done, wanted

        return rl_rows

    assert check("06.3", rows([1, 3, 4])).passed
    assert not check("06.3", rows({1, 3, 4})).passed


@pytest.mark.parametrize("kind", [set, lambda flags: dict(enumerate(flags))])
def test_a_mask_is_a_sequence(kind):
    assert not check("12.3", lambda tokens: kind([1] * len(tokens))).passed
    assert "use a list" in check("12.3", lambda tokens: kind([1] * len(tokens))).text()


@pytest.mark.parametrize(
    ("pair", "passes"), [(tuple, True), (list, True), (lambda p: dict.fromkeys(p), False)]
)
def test_a_pair_of_call_and_result_has_an_order(pair, passes):
    """A set of two texts may come out in this order too; a dict, which always does, stands for it here."""

    def calls(answer):
        marks = [mark.expression for mark in calc_marks(answer)]
        return [pair((text, format_number(evaluate(text)))) for text in marks]

    assert check("06.4", calls).passed is passes
