"""The data of the training tasks, and the world that answers: no package needed."""

from __future__ import annotations

import random

import pytest

from rl_lab.calculator import safe_eval
from rl_lab.mdp import EXAMPLE
from rl_lab.train import shopping, totals
from rl_lab.train.environment import ShoppingTools, make_environment, settle
from rl_lab.train.tasks import load_task


def final(text):
    return [{"role": "assistant", "content": f"Final Answer: {text}"}]


def world(**options):
    made = make_environment(**options)()
    made.reset(**shopping.to_rows([EXAMPLE])[0])
    return made


def test_held_out_triples_never_occur_in_training():
    def key(p):
        return (p.price, p.multiplier, p.coupon)

    train = {key(p) for p in shopping.sample_problems(3000, 1)}
    test = {key(p) for p in shopping.sample_problems(300, 2, held_out=True)}
    assert not train & test
    assert shopping.is_held_out(EXAMPLE)
    assert any(p.item == EXAMPLE.item for p in shopping.sample_problems(100, 1))


def test_one_triple_in_five_is_held_out():
    rng = random.Random(0)
    share = sum(shopping.is_held_out(shopping.sample_problem(rng)) for _ in range(4000)) / 4000
    assert 0.17 < share < 0.23


def test_every_tool_trace_is_right_and_every_guess_is_wrong():
    rng = random.Random(1)
    for problem in shopping.sample_problems(400, 3):
        trace = shopping.tool_trace(problem)
        results = [m["content"] for m in trace if m["role"] == "tool"]
        calls = [
            m["tool_calls"][0]["function"]["arguments"]["expression"] for m in trace if m.get("tool_calls")
        ]
        assert [safe_eval(c) for c in calls] == [float(r) for r in results]
        assert trace[-1]["content"] == f"Final Answer: {problem.gold}"
        guess = shopping.guess_trace(problem, rng)[-1]["content"]
        assert guess != f"Final Answer: {problem.gold}"
        assert int(guess.removeprefix("Final Answer: ")) > 0


def test_shares_of_the_kinds_are_what_was_asked_for():
    traces = shopping.demonstrations(4000, 5, tool_share=0.6, failure_share=0.5, retry_share=0.2)
    failed = [t for t in traces if any(m["content"].startswith("error") for m in t)]
    retried = [t for t in failed if sum("tool_calls" in m for m in t) == 3]
    used = [t for t in traces if len(t) > 2]
    assert len(used) / 4000 == pytest.approx(0.6, abs=0.03)
    assert len(failed) / len(used) == pytest.approx(0.5, abs=0.04)
    assert len(retried) / len(failed) == pytest.approx(0.2, abs=0.04)


@pytest.mark.parametrize("call", [{"tool_share": 1.5}, {"failure_share": -1}, {"retry_share": 2}])
def test_a_share_outside_its_range_is_named(call):
    with pytest.raises(ValueError, match=f"{next(iter(call))} must be a share from 0 to 1"):
        shopping.demonstrations(1, 0, **call)


def test_the_other_wording_states_the_multiplier():
    text = shopping.to_rows([EXAMPLE], "multiplier")[0]["prompt"][0]["content"]
    assert "is sold at 0.75 of its price" in text
    with pytest.raises(ValueError, match="wording must be one of percent, multiplier"):
        shopping.question(EXAMPLE, "words")


def test_a_row_without_a_column_is_named():
    with pytest.raises(ValueError, match="needs the column 'coupon'"):
        ShoppingTools().reset(price="80", multiplier="0.75")


def test_outcome_pays_the_answer_and_milestones_pay_the_way():
    honest = world()
    assert settle(honest, final("55")) == 1.0
    assert settle(honest, final("55")) == 1.0  # twice changes nothing
    stepwise = world(reward="milestones")
    stepwise.calc("80*0.75")
    stepwise.calc("80*0.75")
    stepwise.calc("60-5")
    assert settle(stepwise, final("55")) == pytest.approx(1.0)
    assert settle(world(reward="milestones"), final("55")) == pytest.approx(0.8)
    assert settle(world(), final("155")) == 0.0


@pytest.mark.parametrize(
    "completion",
    [
        [],
        [{"role": "assistant", "content": "55"}],
        [{"role": "assistant", "content": "", "tool_calls": [{}]}, {"role": "tool", "content": "55"}],
        [{"role": "assistant", "content": '<tool_call>{"expression": "60-5=55'}],
    ],
    ids=["nothing", "no-marker", "ends-with-the-tool", "broken-call"],
)
def test_without_an_announced_answer_there_is_no_pay(completion):
    assert settle(world(), completion) == 0.0


def test_a_lying_calculator_is_never_right_and_never_cancels():
    for seed in range(20):
        liar = world(calculator="lying", seed=seed)
        first = liar.calc("80*0.75")
        assert first != "60"
        assert liar.calc(f"{first}-5") != "55"


def test_a_failing_calculator_fails_as_often_as_it_should():
    busy = make_environment("failing", failure_rate=0.3, seed=1)
    results = []
    for _ in range(400):
        one = busy()
        one.reset(**shopping.to_rows([EXAMPLE])[0])
        results.append(one.calc("80*0.75"))
    share = results.count("error: calculator busy") / 400
    assert 0.24 < share < 0.36
    assert set(results) == {"60", "error: calculator busy"}


def test_calls_after_an_error_are_counted_as_retries():
    one = world()
    for expression in ("5/0", "80*0.75", "60-", "60-5"):
        one.calc(expression)
    assert (one.calls, one.errors, one.retries) == (4, 2, 2)


def test_broken_expressions_are_errors_that_the_model_sees():
    one = world()
    assert one.calc("__import__('os')").startswith("error:")
    assert one.calc("5/0").startswith("error: division by zero")
    assert one.errors == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"calculator": "liar"}, "calculator must be honest, lying or failing, got 'liar'"),
        ({"reward": "milestone"}, "did you mean 'milestones'"),
        ({"failure_rate": 1.5}, "failure_rate must be a probability"),
    ],
)
def test_unknown_environments_list_the_choices(call, message):
    with pytest.raises(ValueError, match=message):
        make_environment(**call)


def test_running_totals_are_right_and_stay_in_range():
    for problem in totals.sample_problems(300, 2) + totals.sample_problems(50, 2, held_out=True):
        assert all(0 <= total <= 20 for total in problem.totals)
        for line in problem.solution.splitlines():
            left, right = line.split("=")
            assert safe_eval(left) == int(right)
        assert problem.solution.endswith(f"={problem.gold}")


def test_held_out_totals_have_the_answers_of_the_training_problems():
    golds = [
        {p.gold for p in totals.sample_problems(2000, 1, held_out=held_out)} for held_out in (False, True)
    ]
    assert golds[0] == golds[1] == {str(n) for n in range(21)}


def test_held_out_shopping_problems_have_the_answers_of_the_training_problems():
    train = {p.gold for p in shopping.sample_problems(8000, 1)}
    test = {p.gold for p in shopping.sample_problems(400, 2, held_out=True)}
    assert len(test - train) < 0.05 * len(test)


def test_every_demonstration_of_totals_is_correct():
    traces = totals.demonstrations(500, 4, step_share=0.3)
    assert 0.22 < sum(totals.writes_steps(t) for t in traces) / 500 < 0.38
    problems = totals.sample_problems(500, 4)
    assert all(
        t[-1]["content"].endswith(f"Final Answer: {p.gold}") for t, p in zip(traces, problems, strict=True)
    )


@pytest.mark.parametrize("name", ["shopping", "totals", "problems"])
def test_tasks_hold_no_test_problem_in_training(name):
    task = load_task(name, n_train=200, n_test=40, seed=3)
    assert (len(task.demonstrations), len(task.rows), len(task.test_rows)) == (200, 200, 40)
    assert not {str(r["prompt"]) for r in task.rows} & {str(r["prompt"]) for r in task.test_rows}
    assert all(r["ground_truth"] for r in task.rows + task.test_rows)


def test_held_out_problems_are_the_same_for_every_seed():
    assert (
        load_task("shopping", n_train=1, n_test=20, seed=1).test_rows
        == load_task("shopping", n_train=1, n_test=20, seed=2).test_rows
    )


def test_gsm8k_comes_from_a_folder_too(gsm8k_dir):
    task = load_task("gsm8k", n_train=30, n_test=10, source=str(gsm8k_dir))
    assert len(task.rows) == 30
    assert str(gsm8k_dir) not in task.said


def test_an_unknown_task_lists_the_choices():
    with pytest.raises(ValueError, match="did you mean 'shopping'"):
        load_task("shoping")
