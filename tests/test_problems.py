"""Generated problems: exact steps, true marks, one reading, no repeats, the same on every machine."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_lab._errors import recompute_steps
from rl_lab.answers import same_number
from rl_lab.audit import audit
from rl_lab.gsm8k import convert
from rl_lab.problems import MAX_STEPS, family_names, generate, split_of
from rl_lab.rows import check_calc_marks, strip_calc_marks
from rl_lab.stories import FAMILIES
from rl_lab.stories._story import NAMES

few = settings(max_examples=40, derandomize=True, deadline=None, database=None)


@pytest.fixture(scope="module")
def many():
    """1,600 problems of all kinds and lengths."""
    return generate(1600, seed=7)


def numbers_of(text):
    return {float(n.replace(",", "")) for n in re.findall(r"[0-9][0-9,]*(?:\.[0-9]+)?", text)}


def test_the_number_of_steps_is_exact(many):
    for problem in many:
        marks = check_calc_marks(problem.answer)
        lines = problem.answer.split("\n")[:-1]
        assert len(marks) == len(lines) == problem["steps"] == problem.steps
        assert all("<<" in line for line in lines)


def test_every_mark_is_right_and_the_last_result_is_the_answer(many):
    for problem in many:
        checks = check_calc_marks(problem.answer)
        assert all(check.ok for check in checks)
        assert same_number(checks[-1].stated, problem.gold)


def test_answers_are_whole_numbers_and_some_carry_separators_or_a_minus(many):
    assert all(re.fullmatch(r"-?[0-9]+", problem.gold) for problem in many)
    counts = audit(many).counts()
    assert counts["separators"] > 50
    assert counts["negative"] > 20
    plain = [p for p in many if re.search(r"#### [0-9]{4}", p.answer)]
    assert len(plain) > 50  # GSM8K writes both 1,250 and 1250


def test_only_the_weather_goes_below_zero(many):
    for problem in many:
        if problem["family"] != "weather":
            assert all(float(check.stated) > 1 for check in check_calc_marks(problem.answer)), problem


def test_the_audit_finds_no_fault(many):
    counts = audit(many).counts()
    faults = ("no_label", "no_marks", "wrong_marks", "last_number_differs", "decimal", "blank_lines", "html_entities",
              "odd_characters", "leaks", "duplicates")  # fmt: skip
    assert {name: counts[name] for name in faults} == dict.fromkeys(faults, 0)


def test_every_problem_converts_to_every_format(many):
    for to in ("sft", "rl", "tool_trace"):
        assert len(convert(many, to)) == len(many)


def test_every_step_can_be_read_back_from_the_completion(many):
    for problem in many:
        steps = recompute_steps(strip_calc_marks(problem.answer))
        assert [step.ok for step in steps] == [True] * problem["steps"]


def test_every_number_a_step_uses_is_in_the_question_or_worked_out_before(many):
    # 2 doubles and halves, 3 and 4 are thirds, quarters and "three times"; 75% is used as 0.75.
    words = {2.0, 3.0, 4.0}
    for problem in many:
        known = numbers_of(problem.question) | words
        known |= {round(number / 100, 4) for number in known}
        for check in check_calc_marks(problem.answer):
            assert numbers_of(re.sub(r"(?<![0-9])-", "", check.expression)) <= known, problem
            known.add(abs(float(check.stated)))


def test_every_number_of_the_question_is_used(many):
    # A sentence without a step would be a distraction the solution never mentions. Clock times are no quantities.
    for problem in many:
        question = re.sub(r"\b(?:[0-9]+ [ap]m|1 litre|in the 2 hours)\b", "", problem.question, flags=re.I)
        used = numbers_of(" ".join(check.expression for check in check_calc_marks(problem.answer)))
        assert {
            n for n in numbers_of(question) if n not in used and round(n / 100, 4) not in used
        } == set(), problem


def test_questions_read_as_english(many):
    for problem in many:
        sentences = re.findall(r"[^.?]+[.?]", re.sub(r"(?<=[0-9])\.(?=[0-9])", "", problem.question))
        assert problem.question.endswith("?")
        assert problem.question.count("?") == 1
        for sentence in sentences:
            assert re.match(r" ?[A-Z0-9]", sentence), problem.question
        assert not re.search(r"\b(?:he|she|his|her|their)\b", problem.question)
        assert "  " not in problem.question
        assert not re.search(
            r"(?<![0-9,])1 (?:sticker|marble|coin|stamp|card|shell|badge|box|day|page|seat)s", problem.answer
        )


def test_no_question_repeats_and_all_families_and_lengths_occur(many):
    assert len({problem.question for problem in many}) == len(many)
    assert set(Counter(p["family"] for p in many)) == set(family_names())
    pairs = Counter((p["family"], p["steps"]) for p in many)
    assert all(pairs[family.name, steps] for family in FAMILIES for steps in range(1, MAX_STEPS + 1))


def test_openings_vary(many):
    first = Counter(re.sub(r"[0-9,]+|" + "|".join(NAMES), "_", p.question.split(". ")[0]) for p in many)
    assert len(first) > 60


def test_the_same_seed_gives_the_same_problems_on_every_machine():
    assert generate(30, seed=3) == generate(30, seed=3)
    assert generate(30, seed=3) != generate(30, seed=4)
    problem = generate(1, seed=8, steps=2, families=["shopping"])[0]
    assert problem.question.startswith("A helmet costs 260 yuan. Priya buys one.")
    assert problem["family"] == "shopping"


def test_a_longer_list_starts_with_the_shorter_one():
    assert generate(50, seed=5)[:20] == generate(20, seed=5)


def test_the_splits_never_share_a_question():
    train = generate(400, seed=1, split="train", steps=1)
    test = generate(80, seed=9, split="test", steps=1)
    assert {split_of(p.question) for p in train} == {"train"}
    assert not {p.question for p in train} & {p.question for p in test}


@few
@given(
    seed=st.integers(0, 10**6),
    steps=st.integers(1, MAX_STEPS),
    family=st.sampled_from(family_names()),
    max_value=st.sampled_from([1000, 5000, 50_000]),
)
def test_no_number_exceeds_the_limit(seed, steps, family, max_value):
    for problem in generate(2, seed, steps, families=[family], max_value=max_value):
        assert max(numbers_of(problem.question + problem.answer)) <= max_value
        assert problem["steps"] == steps
        assert problem["family"] == family


def test_small_numbers_are_there_for_small_models():
    problems = generate(200, seed=0, steps=(1, 3), max_value=100)
    assert max(max(numbers_of(p.question + p.answer)) for p in problems) <= 100
    assert len({p["family"] for p in problems}) >= 5


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"steps": 9}, ValueError, "between 1 and 8"),
        ({"steps": (3, 2)}, ValueError, "the lower first"),
        ({"steps": 0}, ValueError, "between 1 and 8"),
        ({"n": -1}, ValueError, "n must be 0 or more"),
        ({"n": 2.0}, TypeError, "n must be a whole number"),
        ({"seed": "a"}, TypeError, "seed must be a whole number"),
        ({"max_value": 5}, ValueError, "max_value must be 20 or more"),
        ({"families": ["shoping"]}, ValueError, "did you mean 'shopping'"),
        ({"families": []}, ValueError, "at least one"),
        ({"split": "tset"}, ValueError, "did you mean 'test'"),
        ({"families": "hall", "max_value": 20, "steps": 8}, ValueError, "ask for fewer, raise max_value"),
    ],
)
def test_impossible_settings_are_named(settings, error, message):
    with pytest.raises(error, match=message):
        generate(**{"n": 3, "seed": 0, **settings})


def test_nothing_is_asked_for_nothing():
    assert generate(0, seed=0) == []


@pytest.mark.parametrize("steps", [None, 2.0, "3", (1, 2, 3), (1.0, 2), True])
def test_steps_of_another_kind_are_refused(steps):
    with pytest.raises(TypeError, match="steps must be a whole number or two of them"):
        generate(1, 0, steps)
