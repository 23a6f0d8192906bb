"""Chapter 7 says nothing that its own cells do not show."""

from __future__ import annotations

import contextlib
import io
import itertools
import re

import pytest

from rl_lab.check import check
from rl_lab.labs import rewards as lab
from rl_lab.rewards import accuracy_reward, hybrid_reward
from tests.notebooks import ROOT, exercises_of, read, tags

PATH = ROOT / "notebooks" / "07_reward_functions.ipynb"


@pytest.fixture(scope="module")
def page() -> dict:
    """Names that the notebook's cells define: they run here in one process, figures as plain text."""
    names: dict = {"__name__": "notebook"}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in read(PATH).cells:
            if cell.cell_type == "code" and "exercise" not in tags(cell):
                exec(compile(cell.source, str(PATH), "exec"), names)  # our own cells, nothing a model wrote
    return names


@pytest.fixture(scope="module")
def prose() -> str:
    """All Markdown of the notebook on one line."""
    text = " ".join(cell.source for cell in read(PATH).cells if cell.cell_type == "markdown")
    return re.sub(r"[\s>]+", " ", text)


def test_the_naive_extractor_reads_the_four_samples_and_none_of_the_wall(page, prose):
    naive = page["naive_answer"]
    assert [naive(s.text) for s in lab.SAMPLES] == ["55", "55", "60", None]
    assert not any(page["same_number"](naive(c.text), c.gold) for c in lab.WALL)
    assert all(page["extract_answer"](c.text) == c.gold for c in lab.WALL)
    assert len(lab.WALL) == 12
    assert "Twelve of twelve" in prose
    assert prose.count("](https://github.com/") == len(lab.WALL) + 1  # and Math-Verify, at the end


def test_the_naive_extractor_fails_as_the_course_says(page):
    naive = page["naive_answer"]
    assert naive("It costs $1,234.") == "234"
    assert naive("Final Answer: 48-24 = 24") == "48"
    assert naive("Final Answer: 51\nFinal Answer: 46") == "51"


def test_the_pages_formulas_are_the_labs(page):
    for s in lab.SAMPLES:
        for gate in (True, False):
            assert page["length_pay"](s.text, gate=gate) == lab.textbook_length(s.text, s.correct, gate=gate)
            assert page["step_pay"](s.text, gate=gate) == lab.textbook_steps(s.text, s.correct, gate=gate)


def test_numbers_in_the_text_about_the_first_offer(page, prose):
    first = page["offer"]()
    assert first["reward"] == pytest.approx([1.2, 0.77, -0.211, 0])
    assert first["right before wrong"] == "yes"
    dear = page["offer"](alpha=0.0025, beta=0.0)
    assert dear["reward"][1] == pytest.approx(-0.075)
    assert (dear["right before wrong"], dear["not right, paid most"]) == ("no", 0)
    assert "the long right completion falls to −0.075" in prose
    assert page["offer"](beta=0.3)["reward"][2] == pytest.approx(0.789)
    assert "the long *wrong* one earns 0.789" in prose


def test_numbers_in_the_text_about_length(page, prose):
    assert 'saying "I am not sure" earns 0' in prose
    assert "earns −0.4110" in prose
    assert page["length_pay"](lab.SAMPLES[2].text, gate=False) == pytest.approx(-0.4110)
    assert page["silence"]()["silence wins below"] == 0.43
    assert page["sample_lengths"] == pytest.approx(0.419, abs=5e-4)
    assert "right 57 % as often" in prose  # brief beats long, both gated
    assert page["length_pay"](lab.SAMPLES[1].text) == pytest.approx(0.57)
    assert page["length_pay"](page["buried"]) == pytest.approx(-0.001)


def test_numbers_in_the_text_about_the_gold_solutions(page, prose):
    assert "fines 60.5 % of GSM8K's own gold solutions" in prose
    assert "72 to 75 % if the calculation marks" in prose
    assert page["fined"]()["share"] == 60.5
    assert page["fined"](kind="marks left in")["share"] == 72.0
    for kind, target in itertools.product(lab.GOLD_LENGTHS, (50, 200, 800)):
        shown = page["fined"](target, kind)
        assert sum(shown["free"]) + sum(shown["fined"]) == 8792
        assert sum(shown["fined"]) / 8792 == pytest.approx(lab.share_fined(kind, target))


def test_numbers_in_the_text_about_steps(page, prose):
    assert "Fifty-one, of which being right is worth one" in prose
    assert page["step_pay"](page["spam"], cap=10**9) == 51.0
    assert "a *wrong* completion earns 3.0" in prose
    assert page["step_pay"](page["no_idea"], cap=10**9, gate=False) == pytest.approx(3.0)
    free = page["four"](beta=0.2, gate=False, cap=False)["steps"]
    assert "the long *wrong* completion earns 0.8 for its steps" in prose
    assert free[2] == pytest.approx(0.8)
    assert page["step_pay"](lab.SAMPLES[2].text + " = =", beta=0.2, cap=10**9, gate=False) > 1


def test_which_habit_wins_flips_where_the_text_says(page, prose):
    habits = page["habits"]

    def winner(**settings):
        return habits(**settings)["this habit wins"]

    assert winner() == "brief"
    for ability, beta in itertools.product([0.05, 0.2, 0.4, 0.6, 0.8], [0.025, 0.05]):
        assert winner(ability=ability, beta=beta, cap=False) == "spam"
    both = page["expected"]
    assert both("spam", 0.6) == pytest.approx(both("brief", 0.6))
    assert winner(gate=False, cap=False) == "spam"
    assert both("spam", 0.6, gate=False, cap=False) == pytest.approx(1.73)
    assert "of its 1.73 being right brings 0.48" in prose
    assert winner(alpha=0.0) == winner(alpha=0.0005) == "long"
    assert page["flip"] == pytest.approx(0.00058, abs=5e-6)
    assert winner(alpha=0.00057) == "long"
    assert winner(alpha=0.00059) == "brief"
    assert winner(gate=False, beta=0.0, ability=0.05) == "guess"


def test_silence_wins_nowhere_in_the_figure(page):
    grid = itertools.product(
        [0.05, 0.2, 0.4, 0.6, 0.8], [0, 0.0005, 0.001, 0.0015, 0.002], [0, 200, 400, 600], [0, 0.025, 0.05],
        [True, False], [True, False],
    )  # fmt: skip
    for ability, alpha, target, beta, gate, cap in grid:
        assert page["habits"](ability, alpha, target, beta, gate, cap)["this habit wins"] != "silent"


def test_numbers_in_the_text_about_the_attack_and_the_audit(page, prose):
    assert "among 2,000 earns 0.2, the best wrong one 0" in prose
    assert (page["worst_right"], page["best_wrong"]) == (0.2, 0.0)
    assert "All 200 gold solutions are paid, none of their neighbours" in prose
    assert (sum(page["paid"]), sum(page["neighbour"])) == (200, 0)


def test_the_naive_batch_is_as_silent_as_the_text_says(page):
    naive = page["naive_batch"]
    assert naive(**page["trl_call"]) == [1.0, 0.0]
    assert naive(["Final Answer: 55"] * 4, ["55"]) == [1.0]
    assert naive(["Final Answer: 55"] * 4, answer=["55"] * 4) == []


def test_solutions_report_true_numbers(page, prose):
    solutions = {e.number: e.solution for e in exercises_of(read(PATH))}
    names = dict(page)
    for code in solutions.values():
        exec(compile(code, str(PATH), "exec"), names)  # our own solutions
    assert names["reward"] == pytest.approx(1.02)
    text = names["attack"]()
    assert sum(accuracy_reward(text, n) for n in range(1, 101)) == 0
    assert "`accuracy_reward` pays 0 of 100" in prose
    mine = names["my_reward"]
    assert [mine(s.text, "55") for s in lab.SAMPLES] == pytest.approx([1.2, 0.77, 0, 0])
    assert mine("x" * 20_000 + "\nFinal Answer: 55", "55") == pytest.approx(0.1)
    with pytest.raises(ValueError, match="4 completions but 3 labels"):
        names["my_batch"](["a"] * 4, ["1"] * 3)


# -- exercises -------------------------------------------------------------------------------------------------


def careless(completion, gold):
    """Right or wrong, nothing else."""
    return accuracy_reward(completion, gold)


WEAK = {
    "a wrong answer": lambda c, g: 1.0,
    "spam": lambda c, g: accuracy_reward(c, g) + 0.05 * c.count("="),
    "against a long right answer": lambda c, g: accuracy_reward(c, g) * (1 - 0.001 * max(0, len(c) - 200)),
    "a hedged answer": lambda c, g: float("55" in c.rsplit("\n", 1)[-1]),
    "a long right answer against the short one": careless,
    "one with 14": lambda c, g: accuracy_reward(c, g) * (max(0.1, 1 - len(c) / 5000) + 0.05 * c.count("=")),
    "padded with 60": lambda c, g: (
        accuracy_reward(c, g) * (max(0.1, 1 - 0.001 * max(0, len(c) - 200)) + 0.05 * min(c.count("="), 5))
    ),
    "SAMPLES[0]": lambda c, g: accuracy_reward(c, g) * max(0.1, 1 - 0.001 * max(0, len(c) - 200)),
    "…, '55')": lambda c, g: None,
}


@pytest.mark.parametrize("attack", WEAK)
def test_exercise_3_names_the_attack_that_succeeded(attack):
    result = check("07.3", WEAK[attack])
    assert not result.passed
    assert attack in result.finding.called


def test_exercise_3_takes_other_good_rewards(page):
    assert not check("07.3", hybrid_reward).passed  # its format bonus is not what was asked: 1.3, not 1.2
    assert check("07.3", lambda c, g: hybrid_reward(c, g, format_bonus=0)).passed


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        (lambda completions, ground_truth, **c: [1.0], "a list of two floats"),
        (lambda completions, ground_truth, **c: [1.0, 1.0], "more for the right one"),
        (
            lambda completions, ground_truth, **c: [
                careless(t, g) for t, g in zip(completions, ground_truth, strict=False)
            ],
            "4 and 3",
        ),
    ],
    ids=["too few", "all alike", "zip"],
)
def test_exercise_4_says_what_is_missing(answer, finding):
    result = check("07.4", answer)
    assert not result.passed
    assert finding in result.finding.expected


def test_exercise_2_wants_one_text_for_all():
    assert not check("07.2", lambda: "Final Answer: 1 or 2").passed
    assert check("07.2", lambda: " ".join(map(str, range(1, 101)))).passed
    assert "98 of 100" not in check("07.2", lambda: 55).text()
