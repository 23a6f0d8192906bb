"""The regression set: balanced, checkable, and neither too strict nor fooled by a part of a word."""

from __future__ import annotations

from collections import Counter

import pytest

from rl_lab.evaluation import recompute_steps
from rl_lab.regression import KINDS, REGRESSION_SET, Item, drifted, is_right, summarize


def test_the_set_has_forty_different_items_and_at_least_six_of_each_kind():
    assert len(REGRESSION_SET) == len({item.prompt for item in REGRESSION_SET}) == 40
    counts = Counter(item.kind for item in REGRESSION_SET)
    assert tuple(counts) == KINDS
    assert min(counts.values()) == 6


def test_yes_and_no_are_right_equally_often():
    said = Counter(item.accepted for item in REGRESSION_SET if item.kind == "yes or no")
    assert said == {("yes",): 3, ("no",): 3}


def test_no_item_is_about_numbers():
    assert not any(ch.isdigit() for item in REGRESSION_SET for ch in item.prompt)
    assert not any(recompute_steps(item.prompt) for item in REGRESSION_SET)


@pytest.mark.parametrize("item", REGRESSION_SET, ids=lambda item: item.prompt)
def test_each_accepted_answer_is_right_in_a_sentence_and_an_empty_one_is_not(item: Item):
    for answer in item.accepted:
        assert is_right(item, answer)
        assert is_right(item, f"It is {answer.upper()}.")
        assert not is_right(item, f"x{answer}x")
    assert not is_right(item, "")
    assert not is_right(item, None)


def test_a_question_that_is_only_repeated_is_not_answered():
    assert [item.prompt for item in REGRESSION_SET if is_right(item, item.prompt)] == []


def test_of_yes_and_no_the_first_decides():
    item = next(item for item in REGRESSION_SET if item.accepted == ("no",))
    assert is_right(item, "No, yes is wrong.")
    assert not is_right(item, "Yes. No.")
    assert not is_right(item, "I know nothing.")


def test_an_answer_line_is_drift_and_a_number_alone_is_not():
    assert drifted("Paris.\nFinal Answer: 5")
    assert not drifted("Paris has 2 airports.")


def test_a_summary_counts_by_item_and_by_kind():
    perfect = summarize([item.accepted[0] for item in REGRESSION_SET])
    assert (perfect["right"], perfect["drifted"], all(perfect["flags"])) == (40, 0, True)
    assert sum(perfect["by_kind"].values()) == 40
    with pytest.raises(ValueError, match="one entry per item, got 3 for 40"):
        summarize(["Paris"] * 3)
