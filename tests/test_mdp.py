"""The environment keeps its contract, and every figure of chapter 4 is computed here a second time."""

from __future__ import annotations

import inspect
import json
import math
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_lab import mdp
from rl_lab.calculator import safe_eval
from rl_lab.mdp import (
    EXAMPLE,
    ShoppingEnv,
    ShoppingProblem,
    compare,
    crossing,
    discounted_return,
    five_tuple,
    horizon,
    returns_to_go,
    run_agentic,
    run_pbrft,
    run_rlvr,
    sample_problem,
    style_score,
    tool_policy,
)

CASES = Path(__file__).parent / "cases"
TOOL = [0, 0.1, 0.1, 0.8]


def cases(name: str, call: str) -> list:
    """Cases of one file for one call, as pytest parameters."""
    rows = [json.loads(line) for line in (CASES / name).read_text(encoding="utf-8").splitlines()]
    return [pytest.param(row, id=row["id"]) for row in rows if row["call"] == call]


@pytest.fixture
def env() -> ShoppingEnv:
    env = ShoppingEnv()
    env.reset()
    return env


# --- the figures of chapter 4 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gamma", "total", "share"),
    [(0, 0.0, 0.0), (0.5, 0.1750, 57.1), (0.9, 0.7542, 77.3), (0.99, 0.9732, 79.8), (1, 1.0, 80.0)],
)
def test_returns_of_the_running_example_and_the_share_of_its_last_reward(gamma, total, share):
    got = discounted_return(run_agentic().rewards, gamma)
    assert round(got, 4) == total
    assert round(100 * gamma**3 * 0.8 / got, 1) == share if got else share == 0


def test_the_five_tuple_is_measured_as_the_chapter_prints_it():
    assert five_tuple(run_pbrft()) == {"S": 1, "A": 1, "P": 0, "R": 1, "γ": 1, "O": 0}
    assert five_tuple(run_rlvr()) == {"S": 1, "A": 1, "P": 0, "R": 1, "γ": 1, "O": 0}
    assert five_tuple(run_agentic()) == {"S": 3, "A": 3, "P": 2, "R": 3, "γ": 4, "O": 2}


def test_the_states_and_rewards_of_the_running_example():
    run = run_agentic()
    assert run.states == [(), ("80*0.75=60",), ("80*0.75=60", "60-5=55")]
    assert run.rewards == TOOL
    assert [step.action for step in run.steps] == ["think", "calc", "calc", "answer"]


@pytest.mark.parametrize(
    ("policy", "gamma", "total"),
    [
        ([("answer", "55")], 0.9, 0.8),
        ([("answer", "60")], 0.9, 0.0),
        (tool_policy(thoughts=3), 0.9, 0.6109),
        (tool_policy(), 0.9, 0.7542),
    ],
)
def test_the_variants_to_try(policy, gamma, total):
    assert round(discounted_return(run_agentic(policy).rewards, gamma), 4) == total


def test_two_more_thoughts_make_six_steps():
    assert len(run_agentic(tool_policy(thoughts=3)).steps) == 6


def test_the_tool_pays_more_than_a_right_guess_only_above_0_9202():
    gamma = crossing(TOOL, [0.8])
    assert round(gamma, 4) == 0.9202
    assert discounted_return(TOOL, gamma) == pytest.approx(0.8, abs=1e-12)
    assert discounted_return(TOOL, 0.92) < 0.8 < discounted_return(TOOL, 0.9203)


def test_a_discount_of_0_99_looks_a_hundred_steps_ahead_not_a_dozen():
    assert horizon(0.99) == pytest.approx(100)
    assert 0.99**12 > 0.88  # a dozen steps away nothing much is lost
    assert pytest.approx(math.exp(-1), abs=0.003) == 0.99**100


# --- returns --------------------------------------------------------------------------------------------------------

REWARDS = st.lists(st.floats(-10, 10), max_size=12)
GAMMAS = st.floats(0, 1)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(REWARDS, GAMMAS)
def test_the_first_return_to_go_is_the_discounted_return(rewards, gamma):
    to_go = returns_to_go(rewards, gamma)
    assert len(to_go) == len(rewards)
    assert (to_go[0] if to_go else 0.0) == pytest.approx(discounted_return(rewards, gamma), abs=1e-9)
    for r, here, after in zip(rewards, to_go, [*to_go[1:], 0.0], strict=False):
        assert here == pytest.approx(r + gamma * after, abs=1e-9)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(REWARDS)
def test_no_discount_is_the_plain_sum_and_full_discount_the_first_reward(rewards):
    assert discounted_return(rewards, 1) == pytest.approx(math.fsum(rewards))
    assert discounted_return(rewards, 0) == (rewards[0] if rewards else 0.0)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.floats(0, 0.995))
def test_the_horizon_is_the_sum_of_all_weights(gamma):
    assert discounted_return([1.0] * 5000, gamma) == pytest.approx(horizon(gamma), rel=1e-6)


def test_no_discount_has_no_horizon():
    assert horizon(1) == math.inf


@pytest.mark.parametrize("wrong", [-0.1, 1.0001, 90, math.nan, math.inf])
def test_a_discount_outside_its_range_is_refused(wrong):
    for call in (
        lambda: discounted_return(TOOL, wrong),
        lambda: horizon(wrong),
        lambda: returns_to_go(TOOL, wrong),
    ):
        with pytest.raises(ValueError, match="gamma must be from 0 to 1, got"):
            call()


@pytest.mark.parametrize("wrong", ["0.9", None, True, [0.9]])
def test_a_discount_that_is_no_number_is_refused(wrong):
    with pytest.raises(TypeError, match="gamma must be a number"):
        discounted_return(TOOL, wrong)


def test_a_broken_reward_is_refused_with_its_step():
    with pytest.raises(ValueError, match="got nan at step 2; mend the reward function"):
        discounted_return([0, 0.1, math.nan], 0.9)
    with pytest.raises(TypeError, match="got NoneType None at step 1"):
        returns_to_go([0, None], 0.9)
    for wrong in ("0.1", 0.5, None):
        with pytest.raises(TypeError, match="rewards must be a list of numbers"):
            discounted_return(wrong, 0.9)


def test_returns_are_builtin_floats_whatever_came_in():
    assert type(discounted_return((Decimal("0.1"), Fraction(1, 2), 1), Fraction(1, 2))) is float
    assert type(returns_to_go([1], 1)[0]) is float


def test_crossing_is_none_where_one_episode_is_never_overtaken():
    assert crossing([1.0], [0.5]) is None
    assert crossing([0.5], [0.5]) is None
    assert crossing([], [0.5]) is None
    assert crossing([0.0, 1.0], [0.5]) == pytest.approx(0.5)
    assert crossing([0.5], [0.0, 1.0]) == pytest.approx(0.5)


# --- the problem ----------------------------------------------------------------------------------------------------


def test_the_default_problem_is_the_running_example():
    assert (EXAMPLE.charged, EXAMPLE.gold, EXAMPLE.milestones) == ("60", "55", ("60", "55"))


def test_problems_are_worked_out_without_float_noise():
    problem = ShoppingProblem(price=30, multiplier=0.7, coupon=0.1)
    assert (problem.charged, problem.gold) == ("21", "20.9")


def test_what_the_question_states_is_no_milestone():
    assert ShoppingProblem(multiplier=1).milestones == ("75",)
    assert ShoppingProblem(coupon=0).milestones == ("60",)
    assert ShoppingProblem(multiplier=1, coupon=0).milestones == ()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"price": 0}, "price must be above 0"),
        ({"price": -80}, "price must be above 0"),
        ({"multiplier": 75}, "multiplier must be above 0 and at most 1, got 75"),
        ({"multiplier": 0}, "multiplier must be above 0"),
        ({"coupon": 61}, "coupon must be from 0 to the 60 yuan charged, got 61"),
        ({"coupon": -1}, "coupon must be from 0"),
        ({"price": math.nan}, "price must be finite"),
        ({"price": "eighty"}, "price must be a number, got 'eighty'"),
    ],
)
def test_an_impossible_problem_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        ShoppingProblem(**values)


def test_a_problem_of_wrong_kind_is_refused():
    with pytest.raises(TypeError, match="price must be a number, got list"):
        ShoppingProblem(price=[80])


def test_sampled_problems_have_whole_results_and_pay_the_tool_in_full():
    rng = random.Random(7)
    for _ in range(100):
        problem = sample_problem(rng)
        assert int(problem.charged) > 0
        assert int(problem.gold) > 0
        run = run_agentic(env=ShoppingEnv(problem))
        assert sum(run.rewards) == pytest.approx(1.0)
        assert run.steps[-1].terminated


# --- the environment's contract -------------------------------------------------------------------------------------


def test_reset_gives_two_values_and_step_five():
    env = ShoppingEnv()
    observation, info = env.reset(seed=1, options=None)
    assert observation == EXAMPLE.question
    assert info["state"] == ()
    observation, reward, terminated, truncated, info = env.step(("think", "hm"))
    assert (observation, reward, terminated, truncated) == ("", 0.0, False, False)
    assert (type(reward), type(terminated), type(truncated), type(info)) == (float, bool, bool, dict)


def test_the_gold_answer_is_never_shown():
    env = ShoppingEnv()
    seen = [*env.reset(), *env.step(("think", "")), *env.step(("answer", "60"))]
    assert "55" not in repr(seen)


def test_a_right_answer_terminates_and_so_does_a_wrong_one(env):
    assert env.step(("answer", "55"))[:4] == ("", 0.8, True, False)
    env.reset()
    assert env.step(("answer", "60"))[:4] == ("", 0.0, True, False)


def test_the_step_limit_truncates():
    env = ShoppingEnv(max_steps=3)
    env.reset()
    ends = [env.step(("think", ""))[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


def test_an_answer_in_the_last_step_terminates_and_is_not_truncated():
    env = ShoppingEnv(max_steps=1)
    env.reset()
    assert env.step(("answer", "55"))[2:4] == (True, False)


def test_an_episode_that_is_over_asks_for_a_reset(env):
    env.step(("answer", "55"))
    with pytest.raises(RuntimeError, match=r"ended with an answer; call reset\(\) before step"):
        env.step(("think", ""))
    env.reset()
    env.step(("think", ""))
    cut = ShoppingEnv(max_steps=1)
    with pytest.raises(RuntimeError, match=r"has not started; call reset\(\)"):
        cut.step(("think", ""))
    cut.reset()
    cut.step(("think", ""))
    with pytest.raises(RuntimeError, match=r"cut at the step limit; call reset\(\)"):
        cut.step(("think", ""))


def test_reset_forgets_everything(env):
    first = [env.step(action)[:2] for action in (("calc", "80*0.75"), ("calc", "60-5"))]
    env.reset()
    assert [env.step(action)[:2] for action in (("calc", "80*0.75"), ("calc", "60-5"))] == first


def test_the_same_seed_draws_the_same_problems():
    def draw(seed):
        env = ShoppingEnv(sample_problem)
        return [env.reset(seed=seed)[0]] + [env.reset()[0] for _ in range(3)]

    assert draw(3) == draw(3) != draw(4)
    assert len(set(draw(3))) == 4


def test_options_set_the_problem_of_one_episode():
    env = ShoppingEnv()
    problem = ShoppingProblem(price=200, multiplier="0.9", coupon=7)
    assert "200 yuan" in env.reset(options={"problem": problem})[0]
    assert env.step(("answer", "173"))[1] == 0.8
    assert env.reset()[0] == EXAMPLE.question


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (
            {"reward": "milestone"},
            ValueError,
            "milestones or outcome, got 'milestone'; did you mean milestones",
        ),
        ({"max_steps": 0}, ValueError, "max_steps must be at least 1, got 0"),
        ({"max_steps": 2.5}, TypeError, "max_steps must be an int"),
        ({"problem": "80"}, TypeError, "problem must be a ShoppingProblem or a function"),
        ({"calculator": 5}, TypeError, "calculator must be callable, got 5"),
    ],
)
def test_a_wrong_setting_is_refused(arguments, kind, message):
    with pytest.raises(kind, match=message):
        ShoppingEnv(**arguments)


def test_wrong_arguments_of_reset_are_refused(env):
    with pytest.raises(ValueError, match="options must be problem, got 'problems'; did you mean problem"):
        env.reset(options={"problems": EXAMPLE})
    with pytest.raises(TypeError, match="seed must be an int"):
        env.reset(seed="7")
    with pytest.raises(TypeError, match="problem must be a ShoppingProblem"):
        env.reset(options={"problem": "80 yuan"})


# --- actions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "action",
    [
        ("calc", "80*0.75"),
        ["calc", "80*0.75"],
        'calc("80*0.75")',
        "calc(80*0.75)",
        "CALC( '80*0.75' )",
        "calc: 80*0.75",
        "calc 80*0.75",
        " calc(80*(1-0.25))",
        {"name": "calc", "arguments": {"expression": "80*0.75"}},
        {"name": "calc", "arguments": '{"expression": "80*0.75"}'},
        {"name": "calc", "arguments": "80*0.75"},
        ("calc", {"expr": "80*0.75"}),
    ],
)
def test_one_call_in_many_spellings(env, action):
    assert env.step(action)[:2] == ("60", 0.1)


@pytest.mark.parametrize(
    "answer", ["55", 55, 55.0, "55.00", Decimal(55), Fraction(55), "Final Answer: 55", "￥55", "55 yuan"]
)
def test_one_answer_in_many_spellings(env, answer):
    assert env.step(("answer", answer))[1] == 0.8


@pytest.mark.parametrize(
    "answer", ["60", 155, 5.55, "55.01", math.nan, math.inf, True, "none", [55, 60], "54 or 55"]
)
def test_other_answers_earn_nothing(env, answer):
    assert env.step(("answer", answer))[1:4] == (0.0, True, False)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (("clac", "80*0.75"), "think, calc or answer, got 'clac'; did you mean calc"),
        ("I would say it is 55.", "the action must be think, calc or answer"),
        ("", "the action must be"),
        ({"arguments": {}}, "the action must be"),
        (("calc", None), "hold a calculation"),
        ("calc()", "hold a calculation"),
        (("calc", "eighty"), "names"),
        (("calc", "{bad json"), "names"),
        (("answer", ""), "answer needs a number"),
        ("answer", "answer needs a number"),
    ],
)
def test_a_slip_of_the_agent_is_an_observation_and_costs_a_step(env, action, message):
    observation, reward, terminated, truncated, info = env.step(action)
    assert observation.startswith("error: ")
    assert message in observation
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["steps"] == 1
    assert info["state"] == ()
    assert info["error"] in observation
    assert env.step(("answer", "55"))[1] == 0.8


@pytest.mark.parametrize("wrong", [None, 55, ("calc", "1", "2"), (), {"calc"}])
def test_what_no_agent_could_emit_is_the_programmers_error(env, wrong):
    with pytest.raises(TypeError, match="action must be a"):
        env.step(wrong)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_survived(name, argument):
    env = ShoppingEnv(max_steps=10)
    env.reset()
    for action in (name, (name, argument), ("calc", argument), ("think", argument)):
        if name.strip().lower().startswith("answer"):
            continue
        observation, reward, terminated, _, _ = env.step(action)
        assert isinstance(observation, str)
        assert (reward, terminated) in ((0.0, False), (0.1, False))


# --- the tool -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("E.jsonl", "ShoppingEnv.step"))
def test_known_faults_of_tools_do_not_occur_here(env, case):
    observation, reward, terminated, truncated, _ = env.step(tuple(case["input"]["action"]))
    expected = case["expected"]
    if "observation" in expected:
        assert observation == expected["observation"], case["why"]
    else:
        assert all(part in observation for part in expected["observation_has"])
        assert (reward, terminated, truncated) == (0.0, False, False), case["why"]
        assert env.step(("answer", "55"))[1] == 0.8


@pytest.mark.parametrize(
    "error",
    [
        ValueError("boom"),
        RuntimeError("boom"),
        TimeoutError("boom"),
        ZeroDivisionError("boom"),
        KeyError("boom"),
    ],
)
def test_whatever_a_failing_tool_raises_the_episode_goes_on(error):
    def failing(expr):
        raise error

    env = ShoppingEnv(calculator=failing)
    env.reset()
    observation, reward, terminated, truncated, _ = env.step(("calc", "80*0.75"))
    assert observation.startswith("error: ")
    assert "boom" in observation
    assert (reward, terminated, truncated) == (0.0, False, False)


@pytest.mark.parametrize("result", [math.inf, math.nan, None, "60"])
def test_a_tool_that_returns_no_number_is_an_error_too(result):
    env = ShoppingEnv(calculator=lambda expr: result)
    env.reset()
    observation, reward, terminated, _, info = env.step(("calc", "80*0.75"))
    assert observation.startswith("error: value must be")
    assert (reward, terminated, info["state"]) == (0.0, False, ())


def test_a_tool_that_fails_once_is_called_again_and_the_return_is_the_same():
    calls = []

    def flaky(expr):
        calls.append(expr)
        if len(calls) == 1:
            raise TimeoutError("the calculator did not answer")
        return safe_eval(expr)

    run = run_agentic(env=ShoppingEnv(calculator=flaky))
    assert calls == ["80*0.75", "80*0.75", "60-5"]
    assert run.rewards == [0.0, 0.0, 0.1, 0.1, 0.8]


def test_a_tool_that_lies_earns_no_milestone_and_spoils_the_answer():
    run = run_agentic(env=ShoppingEnv(calculator=lambda expr: safe_eval(expr) + 7))
    assert run.rewards == [0.0, 0.0, 0.0, 0.0]
    assert run.steps[-1].argument == "69"


# --- rewards cannot be farmed ---------------------------------------------------------------------------------------


def test_repeating_a_calculation_earns_nothing():
    run = run_agentic([("calc", "80*0.75")] * 8)
    assert run.rewards == [0.1] + [0.0] * 7
    assert run.steps[-1].truncated


def test_the_same_result_by_another_way_earns_nothing():
    run = run_agentic([("calc", "80*0.75"), ("calc", "80*3/4"), ("calc", "120/2"), ("calc", "20*3")])
    assert sum(run.rewards) == pytest.approx(0.1)


@pytest.mark.parametrize("expr", ["60", "60+0", "60*1", "(60)", "60.0", "0+60", "60-0*5", "55", "55+0"])
def test_a_calculation_that_holds_its_own_result_earns_nothing(env, expr):
    assert env.step(("calc", expr))[1] == 0.0


def test_what_the_agent_knew_beforehand_is_not_seen(env):
    assert env.step(("calc", "61-1"))[1] == 0.1  # the chapter says so


def test_a_result_that_the_question_happens_to_state_is_still_worked_out():
    env = ShoppingEnv(
        ShoppingProblem(price=10, multiplier="0.6", coupon=3)
    )  # 6, then 6-3=3, and 3 is the coupon
    env.reset()
    assert [env.step(("calc", expr))[1] for expr in ("10*0.6", "6-3")] == [0.1, 0.1]


def test_wrong_and_useless_calculations_earn_nothing(env):
    assert [env.step(("calc", expr))[1] for expr in ("80*0.25", "80-75", "1+1", "5/0")] == [0.0] * 4


def test_one_long_calculation_reaches_only_the_last_milestone():
    assert run_agentic([("calc", "80*0.75-5"), ("answer", "55")]).rewards == [0.1, 0.8]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["think", "calc", "answer"]),
            st.sampled_from(["80*0.75", "60-5", "80*0.75-5", "60+0", "5/0", "55", "60", "155", "2*30"]),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_no_sequence_of_actions_earns_more_than_one(actions):
    run = run_agentic(actions)
    assert sum(run.rewards) <= 1.0 + 1e-9
    assert sum(r == 0.1 for r in run.rewards) <= 2
    assert len(run.steps) <= 8


def test_outcome_only_pays_the_answer_alone():
    env = ShoppingEnv(reward="outcome")
    assert run_agentic(env=env).rewards == [0.0, 0.0, 0.0, 1.0]
    assert run_agentic([("answer", "60")], env=env).rewards == [0.0]


# --- grading is never by containment --------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("C16_containment.jsonl", "run_rlvr | ShoppingEnv answer"))
def test_digits_inside_another_number_are_not_the_answer(case):
    text, right = case["input"]["text"], case["expected"]["right"]
    assert EXAMPLE.gold == case["input"]["gold"]
    assert run_rlvr(text).rewards == [float(right)], case["why"]
    assert sum(run_agentic([("answer", text)]).rewards) == (0.8 if right else 0.0), case["why"]


def test_style_pays_a_wrong_number_like_the_right_one():
    right = run_pbrft()
    wrong = run_pbrft(right.steps[0].argument.replace("55", "155"))
    assert right.rewards == wrong.rewards == [pytest.approx(5 / 6)]


def test_a_scorer_of_ones_own_takes_the_place_of_style():
    assert run_pbrft("hello", scorer=len).rewards == [5.0]


def test_style_is_a_share_of_its_checks():
    assert style_score("55") == 0.0
    laid_out = run_pbrft().steps[0].argument + "\n- **55**."
    assert style_score(laid_out) == 1.0


# --- trajectories ---------------------------------------------------------------------------------------------------


def test_turns_are_what_the_viewer_shows():
    turns = run_agentic().turns()
    assert [turn["role"] for turn in turns] == [
        "env",
        "agent",
        "agent",
        "tool",
        "agent",
        "tool",
        "agent",
        "judge",
    ]
    assert [turn["reward"] for turn in turns if turn["reward"] is not None] == TOOL
    assert turns[2]["text"] == "calc(80*0.75)"
    assert turns[3]["text"] == "60"
    assert turns[-1]["note"] == "terminated"
    assert all(set(turn) == {"role", "text", "reward", "note"} for turn in turns)


def test_an_open_episode_has_no_judge_yet():
    assert run_agentic([("think", "")]).turns()[-1]["role"] == "agent"


def test_a_policy_sees_the_steps_so_far():
    seen = []

    def policy(steps):
        seen.append(len(steps))
        return ("answer", "55") if steps else ("think", "")

    assert run_agentic(policy).rewards == [0.0, 0.8]
    assert seen == [0, 1]


def test_wrong_policies_are_refused():
    with pytest.raises(ValueError, match="policy must hold at least one action"):
        run_agentic([])
    with pytest.raises(TypeError, match="policy must be a function or a list of actions"):
        run_agentic("answer(55)")


def test_compare_lays_out_the_columns_it_is_given():
    rows = compare(run_rlvr(name="one"), run_agentic(tool_policy(thoughts=3), name="slow"))
    assert [row["field"] for row in rows] == ["S", "A", "P", "R", "γ", "O"]
    assert rows[4] == {"field": "γ", "counted": "steps", "one": 1, "slow": 6}
    with pytest.raises(ValueError, match="different names"):
        compare(run_rlvr(), run_rlvr())


def test_every_public_name_is_there():
    assert all(hasattr(mdp, name) for name in mdp.__all__)


# --- what training will need ----------------------------------------------------------------------------------------


class ToolEnv:
    """A wrapper in the form that TRL's environment_factory takes: its public methods are the model's tools."""

    def reset(self, price: int, multiplier: float, coupon: int, **columns: object) -> str | None:
        self._env = ShoppingEnv(reward="outcome")
        self._env.reset(options={"problem": ShoppingProblem(price, multiplier, coupon)})

    def calc(self, expression: str) -> str:
        """Work out an arithmetic expression.

        Args:
            expression: For example "80*0.75".

        Returns:
            The result as text.
        """
        return self._env.step(("calc", expression))[0]


def test_the_environment_can_be_wrapped_for_training():
    env = ToolEnv()
    env.reset(price=80, multiplier=0.75, coupon=5, prompt="ignored")
    assert [env.calc("80*0.75"), env.calc("60-5")] == ["60", "55"]
    assert env.calc("5/0").startswith("error: division by zero")
    tools = [
        n
        for n, _ in inspect.getmembers(ToolEnv, inspect.isfunction)
        if not n.startswith("_") and n != "reset"
    ]
    assert tools == ["calc"]


# --- kinds and sizes that slip in -----------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [discounted_return, returns_to_go])
def test_a_return_beyond_a_float_is_refused_not_infinite(function):
    for rewards in ([1e308] * 10, [10**400]):
        with pytest.raises(ValueError, match="finite"):
            function(rewards, 1.0)


def test_a_tool_that_gives_another_librarys_float_is_read():
    class Float64(float):  # numpy's prints as np.float64(60.0)
        def __repr__(self):
            return f"np.float64({float(self)})"

    env = ShoppingEnv(calculator=lambda expr: Float64(60))
    env.reset()
    assert env.step(("calc", "80*0.75"))[:2] == ("60", 0.1)


@pytest.mark.parametrize("score", [math.nan, math.inf, None, "0.8"])
def test_a_scorer_must_give_a_finite_number(score):
    with pytest.raises(ValueError, match="scorer must return a finite number"):
        run_pbrft("Sure!", scorer=lambda text: score)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: run_pbrft(5), "text must be text, got int"),
        (lambda: run_rlvr([]), "completion must be text, got list"),
        (lambda: style_score(None), "text must be text, got NoneType"),
        (lambda: run_agentic(5), "policy must be a function or a list of actions, got 5"),
        (lambda: compare(5), "trajectories must be Trajectory objects, got int"),
    ],
)
def test_a_wrong_kind_is_named_with_the_argument(call, message):
    with pytest.raises(TypeError, match=message):
        call()
