"""What is known to be wrong before the first step is refused, with reason and remedy."""

from __future__ import annotations

import copy

import pytest

from rl_lab.gsm8k import to_rl, to_sft
from rl_lab.problems import generate
from rl_lab.train.args import build_grpo_args
from rl_lab.train.environment import ShoppingTools, make_environment
from rl_lab.train.preflight import check_lengths, preflight
from rl_lab.train.tool_checks import PreflightError, check_environment, check_template


@pytest.fixture(scope="module")
def problems():
    return [to_rl(problem, style="messages") for problem in generate(8, seed=3, steps=(1, 4))]


def test_accuracy_pays_gold_one_and_corrupted_zero(problems):
    report = preflight(problems, "accuracy")
    assert (report.gold_mean, report.corrupted_mean) == (1.0, 0.0)


@pytest.mark.parametrize("reward", ["length", "step", "hybrid", ["accuracy", "format"]])
def test_shaped_rewards_only_have_to_prefer_what_is_right(problems, reward):
    if isinstance(reward, list):
        with pytest.raises(PreflightError, match=r"pays a wrong answer: accuracy \+ format gives 1"):
            preflight(problems, reward)
        assert preflight(problems, reward, shaped=True).gold_mean == 2
    else:
        assert preflight(problems, reward).gold_mean > preflight(problems, reward).corrupted_mean


def test_solutions_of_the_data_set_are_scored_where_they_are_there():
    rows = [
        to_sft(p, style="messages") | {"ground_truth": p["answer"].split("#### ")[1]}
        for p in generate(8, seed=4, steps=2)
    ]
    assert preflight(rows, "accuracy").gold_mean == 1.0


def test_a_marker_that_the_extractor_does_not_know_is_found(problems):
    """Case I13: the reward looks for another marker, and everything would be 0 for hours."""

    def boxed_only(completions, ground_truth, **columns):
        return [
            float(f"\\boxed{{{g}}}" in c[-1]["content"])
            for c, g in zip(completions, ground_truth, strict=True)
        ]

    with pytest.raises(
        PreflightError, match=r"does not pay a right answer: boxed_only gives 0 to 'Final Answer: "
    ):
        preflight(problems, boxed_only)


def test_a_grader_by_containment_is_found(problems):
    def contains(completions, ground_truth, **columns):
        return [float(g in c[-1]["content"]) for c, g in zip(completions, ground_truth, strict=True)]

    with pytest.raises(PreflightError, match=r"pays a wrong answer: contains gives 1"):
        preflight(problems, contains)


def test_a_constant_reward_is_found(problems):
    with pytest.raises(PreflightError, match="pays a wrong answer"):
        preflight(problems, lambda completions, **columns: [1.0] * len(completions))


def test_a_missing_label_column_is_named(problems):
    renamed = [{"prompt": row["prompt"], "answer": row["ground_truth"]} for row in problems]
    with pytest.raises(PreflightError, match="no column 'ground_truth', they have prompt, answer; rename"):
        preflight(renamed, "accuracy")
    with pytest.raises(PreflightError, match="no column 'prompt'"):
        preflight([{"question": "?", "ground_truth": "1"}], "accuracy")
    with pytest.raises(PreflightError, match="no rows"):
        preflight([], "accuracy")


def test_a_label_that_is_no_number_is_named(problems):
    with pytest.raises(PreflightError, match="'twelve' is not one number"):
        preflight([problems[0] | {"ground_truth": "twelve"}], "accuracy")


@pytest.mark.parametrize("reward", ["outcome", "milestones"])
@pytest.mark.parametrize("calculator", ["honest", "lying", "failing"])
def test_environment_rewards_are_checked_with_an_honest_calculator(rows, reward, calculator):
    report = preflight(rows, reward, environment=make_environment(calculator, reward=reward))
    assert (report.gold_mean, report.corrupted_mean) == (pytest.approx(1.0), 0.0)


def test_template_lengths_and_tokens_are_checked_with_a_tokenizer(rows, warm):
    args = build_grpo_args(max_completion_length=64)
    report = preflight(rows, "outcome", environment=make_environment(), tokenizer=warm.tokenizer, args=args)
    assert "the chat template carries tool calls" in report.checked
    assert any("16 of 16 gold completions fit" in line for line in report.checked)


def test_a_limit_that_cuts_the_gold_completions_is_refused(rows, warm):
    args = build_grpo_args(max_completion_length=20)
    with pytest.raises(
        PreflightError, match=r"only 0 of 16 gold completions fit into max_completion_length=20"
    ):
        preflight(rows, "outcome", environment=make_environment(), tokenizer=warm.tokenizer, args=args)


def test_a_limit_beyond_the_models_positions_is_refused(problems, warm):
    args = build_grpo_args(max_completion_length=512)
    with pytest.raises(PreflightError, match="exceed the model's 512 positions"):
        check_lengths(problems, warm.tokenizer, args)


def test_a_template_without_tools_is_refused(warm):
    tokenizer = copy.deepcopy(warm.tokenizer)
    tokenizer.chat_template = "{% for m in messages %}{{ m['role'] + ': ' + m['content'] }}{% endfor %}"
    with pytest.raises(PreflightError, match="cannot show tool calls"):
        check_template(tokenizer)


def test_a_template_that_cannot_be_read_back_is_refused(warm):
    tokenizer = copy.deepcopy(warm.tokenizer)
    tokenizer.response_template = None
    with pytest.raises(PreflightError, match="no response_template"):
        check_template(tokenizer)


def test_a_template_that_rewrites_earlier_turns_is_refused(warm):
    tokenizer = copy.deepcopy(warm.tokenizer)
    tokenizer.chat_template = tokenizer.chat_template.replace(
        "m.content or ''", "(m.content or '') if loop.last else '~'"
    )
    with pytest.raises(PreflightError, match="writes earlier turns differently"):
        check_template(tokenizer)


class Bare:
    def reset(self, **row): ...


class NoReset(ShoppingTools):
    reset = None


class NoHint(Bare):
    def calc(self, expression):
        """Evaluate."""


class NoDoc(Bare):
    def calc(self, expression: str) -> str:
        return "1"


class NoArgs(Bare):
    def calc(self, expression: str) -> str:
        """Evaluate."""
        return "1"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (NoReset, r"NoReset has no method reset\(\*\*row\)"),
        (Bare, "Bare has no public method that could be a tool"),
        (NoHint, "NoHint.calc has no type hint for expression"),
        (NoDoc, "NoDoc.calc has no docstring"),
        (NoArgs, "does not describe expression; add Google's form"),
    ],
    ids=["no-reset", "no-tool", "no-hint", "no-docstring", "no-args"],
)
def test_an_environment_that_trl_cannot_use_is_refused(kind, message):
    with pytest.raises(PreflightError, match=message):
        check_environment(kind)


def test_the_course_environment_shows_only_its_tool():
    assert check_environment(make_environment()) == ["environment ShoppingTools offers calc"]


def test_weights_that_are_no_numbers_are_refused():
    """With nan every comparison is false, and a reward that pays anything would pass."""
    rows = [to_rl(p, style="messages") for p in generate(2, seed=13, steps=2)]
    with pytest.raises(PreflightError, match="weights of the rewards must be finite"):
        preflight(rows, ["accuracy", "format"], weights=[1.0, float("nan")])
