"""Reward functions: lab 3's numbers, the three promises, TRL's calling form, real cases (class C), all of GSM8K."""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import logging
import math
import pickle
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_lab import rewards
from rl_lab.gsm8k import strip_calc_marks
from rl_lab.labs import rewards as lab
from rl_lab.monitor import diagnose
from rl_lab.rewards import (
    accuracy_reward,
    batch_accuracy,
    batch_format,
    batch_hybrid,
    batch_length,
    batch_steps,
    completion_text,
    count_steps,
    format_ok,
    hybrid_reward,
    length_reward,
    make_reward,
    step_reward,
)
from tests.test_answers import cases, text_of

few = settings(max_examples=120, derandomize=True, deadline=None, database=None)
BATCHES = {"accuracy": batch_accuracy, "length": batch_length, "step": batch_steps, "hybrid": batch_hybrid}


# -- lab 3 -----------------------------------------------------------------------------------------------------


def test_lab_3_pays_what_the_course_says():
    assert [len(s.text) for s in lab.SAMPLES] == [53, 630, 611, 32]
    assert [accuracy_reward(s.text, "55") for s in lab.SAMPLES] == [1.0, 1.0, 0.0, 0.0]
    assert [round(lab.textbook_length(s.text, s.correct), 4) for s in lab.SAMPLES] == [1.0, 0.57, 0.0, 0.0]
    assert [round(lab.textbook_steps(s.text, s.correct), 4) for s in lab.SAMPLES] == [1.2, 1.2, 0.0, 0.0]


def test_the_safe_forms_agree_with_the_textbook_where_the_textbook_is_right():
    for s in lab.SAMPLES:
        assert length_reward(s.text, "55") == pytest.approx(lab.textbook_length(s.text, s.correct))
        assert step_reward(s.text, "55") == pytest.approx(lab.textbook_steps(s.text, s.correct))


def test_both_correct_samples_hold_four_steps_so_the_cap_is_not_reached():
    assert [count_steps(s.text) for s in lab.SAMPLES] == [4, 4, 4, 0]


def test_without_the_gate_the_long_wrong_sample_earns_minus_0_411():
    assert round(lab.textbook_length(lab.SAMPLES[2].text, False, gate=False), 4) == -0.4110


def test_a_correct_answer_of_1201_characters_falls_below_a_wrong_one_in_the_textbook_only():
    text = "x" * 1185 + "Final Answer: 55"
    assert len(text) == 1201
    assert lab.textbook_length(text, True) < 0 < length_reward(text, "55")


def test_the_lab_prints_its_numbers_within_80_columns():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        lab.main()
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "long, correct           630         1   0.5700   1.2000" in lines
    assert "-0.4110" in out.getvalue()


# -- real cases ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("C"), ids=lambda case: case["id"])
def test_real_cases_of_class_c(case):
    given, expected, why = dict(case["input"]), case["expected"], case["why"]
    started = time.perf_counter()
    if case["call"] == "diagnose":
        said = diagnose(given["log"] * given["times"])
        assert all(word in said[0] for word in expected["says"]), why
    elif case["call"] == "make_reward":
        made = [make_reward(name, **kw) for name, kw in given["rewards"]]
        assert len({r.__name__ for r in made}) >= 3, why
        assert made[1].__name__ != made[2].__name__
        assert [pickle.loads(pickle.dumps(r)).__name__ for r in made] == [r.__name__ for r in made]
    elif expected.get("property") == "non-increasing":
        answer = "\nFinal Answer: 72"
        paid = [length_reward("x" * (n - len(answer)) + answer, "72") for n in given["lengths"]]
        assert paid == sorted(paid, reverse=True), why
        assert paid[-1] > 0
    elif "raises" in expected:
        with pytest.raises(ValueError, match=expected["match"]):
            getattr(rewards, case["call"])(**given)
    elif "rewards" in expected:
        paid = getattr(rewards, case["call"])(**given)
        assert paid == expected["rewards"], why
        assert {type(r) for r in paid} <= {float, type(None)}
        json.dumps(paid)
    else:
        paid = getattr(rewards, case["call"])(text_of(given["text"]), given["ground_truth"])
        assert paid == pytest.approx(expected["reward"]), why
        assert type(paid) is float
    assert time.perf_counter() - started < 1.0


# -- the three promises, attacked ------------------------------------------------------------------------------

setting = st.floats(min_value=0, max_value=1e9, allow_nan=False)
options = st.fixed_dictionaries(
    {},
    optional={
        "target_len": st.integers(0, 10**6),
        "alpha": setting,
        "floor": st.floats(min_value=0, max_value=1, exclude_min=True),
        "beta": setting,
        "max_steps": st.integers(0, 10**6),
        "format_bonus": setting,
    },
)
texts = st.text(
    alphabet=st.sampled_from(list("0123456789=+-*/. \nabcxyz#,")) | st.characters(), max_size=120
) | st.sampled_from(
    ["= " * 500, "Step 1: Step 2: Step 3: ", "1=1\n" * 50, "Step 7: 5*5=25\n" * 20, "x" * 3000]
)


def scores(given: dict) -> list[rewards.Reward]:
    """Every reward with those of the settings that it has."""
    made = []
    for name in ("accuracy", "length", "step", "hybrid"):
        known = getattr(rewards, f"{name}_reward").__kwdefaults__ or {}
        made.append(make_reward(name, **{key: value for key, value in given.items() if key in known}))
    return made


@given(texts, texts, options)
@few
def test_any_correct_answer_earns_more_than_any_wrong_one(one, other, given):
    for reward in scores(given):
        right = reward.score(one + "\n\nFinal Answer: 55", "55")
        wrong = reward.score(other + "\n\nFinal Answer: 56", "55")
        silent = reward.score("I would rather not say.", "55")
        assert right > wrong == silent == 0.0, reward
        assert math.isfinite(right)


@given(texts, options)
@few
def test_more_text_never_pays_more(text, given):
    base = {key: value for key, value in given.items() if key in ("target_len", "alpha", "floor")}
    short, long = (length_reward(t + "\n\nFinal Answer: 55", "55", **base) for t in (text, text + "x" * 700))
    assert short >= long


@given(texts, st.floats(0, 10), st.integers(0, 50))
@few
def test_the_step_bonus_is_capped(text, beta, max_steps):
    paid = step_reward(text + "\n\nFinal Answer: 55", "55", beta=beta, max_steps=max_steps)
    assert 1 <= paid <= 1 + beta * max_steps + 1e-9


@given(st.integers(1, 3000), st.integers(0, 1000), st.floats(0, 0.01))
@few
def test_length_reward_is_the_textbooks_where_that_is_above_the_floor(size, target_len, alpha):
    text = "x" * size + "\nFinal Answer: 55"
    textbook = lab.textbook_length(text, True, target_len=target_len, alpha=alpha)
    paid = length_reward(text, "55", target_len=target_len, alpha=alpha)
    assert paid == pytest.approx(max(textbook, rewards.LENGTH_FLOOR))


# -- parts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("48/2=24\n48+24=72", 2),
        ("48/2 = 24 clips, so 48 + 24 = $72", 2),
        ("**Step 1:** halve. **Step 2:** add.", 2),
        ("Step 1\nhalve\nStep 2\nadd", 2),
        ("step 1: a; STEP 1: b", 1),
        ("Step 1 Step 2 Step 3 Final Answer: 72", 0),
        ("= = = == =", 0),
        ("x = y, 5 =, = 5", 0),
        ("1=1 1=1 1=1\n1=1", 0),
        ("total = 48+24 = 72", 1),
        ("24+48=72\n24+48=72\n24 + 48 = 72", 1),
        ("20+4=24\n48/2=24", 2),
        ("", 0),
    ],
)
def test_only_real_steps_count(text, steps):
    assert count_steps(text) == steps


@pytest.mark.parametrize(
    ("text", "ok"),
    [
        ("48+24=72\nFinal Answer: 72", True),
        ("Final Answer: $1,234\n\n", True),
        ("Final Answer: 51\nFinal Answer: 46", True),
        ("final answer: 72", False),
        ("**Final Answer:** 72", False),
        ("Final Answer: 72\nThat was easy.", False),
        ("Final Answer: 70 or 72", False),
        ("Final Answer:", False),
        ("Final Answer: \\boxed{72}", True),
        ("<think>Final Answer: 72", False),
        ("", False),
    ],
)
def test_the_format_is_the_courses_one_convention(text, ok):
    assert format_ok(text) is ok
    assert batch_format([text]) == [float(ok)]


def test_hybrid_adds_up():
    assert [hybrid_reward(s.text, "55") for s in lab.SAMPLES] == [1.3, 0.87, 0.0, 0.0]
    assert hybrid_reward("x" * 9000 + "\nFinal Answer: 55\nDone.", "55") == 0.1
    assert hybrid_reward("Final Answer: 55", "55", format_bonus=0, beta=0) == 1.0


def test_a_completion_of_another_kind_is_a_programming_error():
    with pytest.raises(TypeError, match="completion must be a string or a list of messages, got int"):
        accuracy_reward(72, "72")
    with pytest.raises(TypeError, match=r"got list; pass decoded text, not token ids"):
        completion_text([101, 102])
    assert (
        completion_text(None)
        == completion_text([])
        == completion_text([{"role": "user", "content": "72"}])
        == ""
    )
    assert completion_text({"role": "assistant", "content": "72"}) == "72"


def test_a_message_without_text_is_an_error_and_not_a_silent_zero():
    with pytest.raises(
        TypeError, match="must have the keys 'role' and 'content', got from, value; rename them"
    ):
        batch_accuracy([[{"from": "gpt", "value": "Final Answer: 72"}]], ["72"])
    for silent in ({"tool_calls": [{}]}, {"reasoning_content": "Final Answer: 72"}, {}):
        assert completion_text([{"role": "assistant", **silent}]) == ""


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: length_reward("", "1", alpha=-1), ValueError, "alpha must be between 0 and 1e9, got -1"),
        (lambda: length_reward("", "1", alpha=math.nan), ValueError, "alpha must be between 0 and 1e9, got nan"),
        (lambda: length_reward("", "1", floor=0), ValueError, "floor must be above 0 and at most 1, got 0"),
        (lambda: length_reward("", "1", target_len="200"), TypeError, "target_len must be a number, got str '200'"),
        (lambda: step_reward("", "1", max_steps=2.5), ValueError, "max_steps must be a whole number, got 2.5"),
        (lambda: batch_length(["a"], ["1"], alpha=[1]), TypeError, r"alpha .* got list \[1\].*rename the column"),
        (lambda: make_reward("accurate"), ValueError, "no reward named 'accurate'.*did you mean 'accuracy'"),
        (lambda: make_reward("length", target=9), TypeError, "'target'; it has target_len.*mean 'target_len'"),
        (lambda: make_reward("accuracy", beta=9), TypeError, "no setting 'beta'; it has none"),
        (lambda: make_reward("step", beta=-1), ValueError, "beta must be between 0 and 1e9, got -1"),
        (lambda: batch_accuracy("abc", ["1"] * 3), TypeError, "completions must be a list .* got str"),
        (lambda: batch_accuracy(["a", "b"], "12"), TypeError, "ground_truth must be a list .* got str"),
        (lambda: batch_accuracy([], ["1"]), ValueError, "0 completions and 1 labels"),
        (lambda: batch_accuracy(["a"], None), TypeError, "ground_truth must be a list .* got NoneType"),
        (lambda: batch_format(c for c in "ab"), TypeError, r"completions must be a list .* a generator in list\("),
        (lambda: batch_format(None), TypeError, "completions must be a list .* got NoneType"),
    ],
)  # fmt: skip
def test_errors_say_what_and_what_next(call, error, message):
    with pytest.raises(error, match=message):
        call()


# -- the batch form --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BATCHES)
def test_batch_and_single_forms_agree(name):
    texts = [s.text for s in lab.SAMPLES]
    single = [getattr(rewards, f"{name}_reward")(text, "55") for text in texts]
    assert BATCHES[name](completions=texts, ground_truth=["55"] * 4) == single
    assert make_reward(name)(completions=texts, ground_truth=["55"] * 4, prompts=["p"] * 4) == single


def test_settings_reach_the_reward_and_its_name():
    reward = make_reward("length", target_len=400, alpha=0.002)
    assert reward.__name__ == "length_alpha_0.002_target_len_400"
    long = lab.SAMPLES[1].text
    assert reward([long], ["55"]) == batch_length([long], ["55"], target_len=400, alpha=0.002) == [0.54]
    assert make_reward("length", target_len=200.0).__name__ == make_reward("length").__name__ == "length"
    assert repr(pickle.loads(pickle.dumps(reward))) == "<reward length_alpha_0.002_target_len_400>"
    assert make_reward("format")(["Final Answer: 1"], ["2"]) == [1.0]


def test_numbers_of_other_libraries_become_plain_ones():
    np = pytest.importorskip("numpy", reason="NumPy is not installed")
    long = lab.SAMPLES[1].text
    for alpha in (np.float32(0.002), np.float64(0.002)):
        paid = [
            length_reward(long, "55", alpha=alpha),
            hybrid_reward(long, "55", alpha=alpha, beta=np.float32(0.05)),
        ]
        assert {type(reward) for reward in paid} == {float}
    reward = make_reward("length", target_len=np.int64(400))
    assert reward.__name__ == "length_target_len_400"
    assert json.dumps(reward.settings) == '{"target_len": 400}'
    labels = np.array([72, 70])
    assert batch_accuracy(np.array(["Final Answer: 72"] * 2), labels) == [1.0, 0.0]
    exact = "Final Answer: 1152921504606846977"
    assert batch_accuracy([exact] * 3, [np.int64(2**60 + 1), np.int64(2**60), np.bool_(True)]) == [
        1.0,
        0.0,
        None,
    ]
    with pytest.raises(TypeError, match="ground_truth must be a list"):
        batch_accuracy(["a"], np.array(72))


def test_any_name_of_a_column_is_absorbed():
    names = ("self", "name", "settings", "score", "rewards", "limit", "alpha", "text")
    paid = make_reward("length")(
        completions=["Final Answer: 1"], ground_truth=["1"], **{n: ["x"] for n in names}
    )
    assert paid == [1.0]


def test_unusable_labels_are_counted_not_hidden(caplog):
    with caplog.at_level(logging.WARNING, "rl_lab.rewards"):
        assert batch_accuracy(["Final Answer: 1"] * 3, [None, "nan", "1"]) == [None, None, 1.0]
    assert "2 of 3 labels are missing or not one finite number" in caplog.text
    logged = {}
    batch_accuracy(["Final Answer: 1"] * 2, [None, "1"], log_metric=logged.__setitem__)
    assert logged == {"labels_skipped": 1.0}


def test_trl_can_call_every_reward_as_it_calls_its_own():
    trainer = pytest.importorskip("trl.trainer.grpo_trainer", reason="TRL is not installed")
    source = inspect.getsource(trainer.GRPOTrainer._calculate_rewards)
    named = set(re.findall(r'(?<!row_)reward_kwargs\["(\w+)"\]', source))
    assert named == {"trainer_state", "log_extra", "log_metric", "environments"}
    assert (
        "prompts=prompts, completions=completions, completion_ids=completion_ids_list, **reward_kwargs"
        in source
    )
    given = {
        "prompts": ["p"] * 2, "completions": ["Final Answer: 1", "#### 2"], "completion_ids": [[1], [2]],
        "ground_truth": ["1", "1"], "trainer_state": object(), "log_extra": lambda *_: None,
        "log_metric": lambda *_: None, "environments": [object()] * 2, "question": ["q"] * 2,
    }  # fmt: skip
    functions = [*BATCHES.values(), batch_format, make_reward("length", target_len=400)]
    for function in functions:
        paid = function(**given)
        assert len(paid) == 2
        assert all(type(r) is float for r in paid)
    callable_name = pytest.importorskip("trl.trainer.utils").get_callable_name
    assert len({callable_name(f) for f in functions}) == len(functions)


# -- the real data ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def golds(gsm8k_dir) -> list[tuple[str, str]]:
    """Gold solution and label of all 8,792 problems."""
    lines = [
        line
        for name in ("train.jsonl", "test.jsonl")
        for line in (gsm8k_dir / name).read_text(encoding="utf-8").splitlines()
    ]
    return [tuple(json.loads(line)["answer"].split("\n#### ")) for line in lines]


def test_every_gold_solution_earns_full_accuracy_and_its_neighbour_nothing(golds):
    assert len(golds) == 8792
    for solution, label in golds:
        neighbour = str(int(label.replace(",", "")) + 1)
        for completion in (f"{solution}\n#### {label}", f"{solution}\nFinal Answer: {label}"):
            assert accuracy_reward(completion, label) == 1.0
            assert accuracy_reward(completion, neighbour) == 0.0


def test_the_bundled_lengths_are_those_of_the_data(golds):
    stripped = [f"{strip_calc_marks(s).strip()}\nFinal Answer: {a}" for s, a in golds]
    marked = [f"{s}\nFinal Answer: {a}" for s, a in golds]
    counted = {"as trained on": lab.gold_lengths(stripped), "marks left in": lab.gold_lengths(marked)}
    assert counted == lab.GOLD_LENGTHS


def test_a_target_of_200_fines_60_percent_as_trained_on_and_72_to_75_with_the_marks_left_in(golds):
    assert lab.share_fined("as trained on", 200) == pytest.approx(0.6045, abs=1e-4)
    assert lab.share_fined("marks left in", 200) == pytest.approx(0.7199, abs=1e-4)
    both = [f"{s}\n#### {a}\nFinal Answer: {a}" for s, a in golds]
    assert sum(len(text) > 200 for text in both) / len(both) == pytest.approx(0.7482, abs=1e-4)
    with pytest.raises(ValueError, match="target_len must be a multiple of 50, got 120"):
        lab.share_fined("as trained on", 120)
