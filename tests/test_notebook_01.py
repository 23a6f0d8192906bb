"""Chapter 1 says nothing that its own cells do not show; its exercises teach what was missed."""

from __future__ import annotations

from math import comb

import pytest

from rl_lab.check import check
from rl_lab.mdp import ShoppingEnv, run_agentic
from tests.notebooks import ROOT, exercises_of, namespace, one_line, read

PATH = ROOT / "notebooks" / "01_what_is_agentic_rl.ipynb"
HEAD, TOOL = 1, 2  # places of the habits


@pytest.fixture(scope="module")
def page() -> dict:
    """Names that the notebook's cells define: they run here in one process, figures as plain text."""
    return namespace(PATH)


@pytest.fixture(scope="module")
def prose() -> str:
    """All Markdown of the notebook on one line."""
    return one_line(PATH)


# --- The learner -------------------------------------------------------------------------------------------


def test_the_learner_starts_with_the_habits_that_the_page_names(page, prose):
    assert page["run"][0][0] == pytest.approx([0.65, 0.30, 0.05])
    assert "guesses in 65 of 100 attempts, does 30 in its head and calls the calculator in 5" in prose


def test_mental_arithmetic_rises_first_and_then_the_calculator(page, prose):
    middle, end = page["run"][20][0], page["run"][60][0]
    assert [round(100 * share) for share in (middle[HEAD], middle[TOOL], end[TOOL])] == [82, 8, 92]
    assert "to 82 % in round 20" in prose
    assert "The calculator, at 8 %" in prose
    assert "By round 60 it has 92 %" in prose
    assert "from 5 % to 92 %" in prose
    assert "5 % of its attempts at first, 92 % after 60 rounds" in prose


def test_chance_does_not_decide_who_leads(page, prose):
    assert "each of the seeds 0 to 9" in prose

    def score(attempt):
        return page["known"](tuple(attempt))

    for seed in range(10):
        run = page["train"](page["HABITS"], [0.65, 0.30, 0.05], score, seed=seed)
        assert max(range(3), key=lambda k: run[20][0][k]) == HEAD, seed
        assert max(range(3), key=lambda k: run[60][0][k]) == TOOL, seed


def test_credit_is_the_reward_minus_the_average(page):
    for shares, _, rows in page["run"]:
        rewards = [reward for _, reward, _ in rows]
        mean = sum(rewards) / len(rewards)
        assert len(rows) == 16
        assert [credit for *_, credit in rows] == pytest.approx([r - mean for r in rewards])
        assert sum(shares) == pytest.approx(1)
    everyone_right = page["train"]([lambda rng: [("answer", "55")]] * 2, [0.5, 0.5], rounds=3)
    assert everyone_right[-1][0] == [0.5, 0.5], "where all are right, training stands still"


def test_training_shifts_along_the_slope_of_expected_reward(page):
    """The mean push over many rounds from one start, against d/dw of the expected reward, by hand."""
    start, pays = [0.5, 0.3, 0.2], [0.0, 0.5, 1.0]
    mean = sum(s * r for s, r in zip(start, pays, strict=True))
    slope = [
        s * (r - mean) * 15 / 16 for s, r in zip(start, pays, strict=True)
    ]  # 15/16: its own share of the mean
    pushes = []
    for seed in range(1500):
        first, second = page["train"](
            [lambda rng: 0.0, lambda rng: rng.choice([0.0, 1.0]), lambda rng: 1.0],
            start,
            score=lambda attempt: attempt,
            rounds=1,
            seed=seed,
        )
        pushes.append([b - a for a, b in zip(first[1], second[1], strict=True)])
    assert [sum(column) / len(pushes) for column in zip(*pushes, strict=True)] == pytest.approx(
        slope, abs=6e-3
    )


def test_the_policy_is_three_numbers_and_a_small_model_has_half_a_billion(page):
    assert len(page["before"]) == len(page["after"]) == 3
    assert [round(w, 2) for w in page["before"]] == [-0.43, -1.2, -3.0]
    assert page["find_model"]("Qwen2.5-0.5B").params == 494_032_768


def test_attempts_are_played_in_the_environment_and_paid_for_the_answer_alone(page):
    assert page["earned"]([("calc", "80*0.75"), ("calc", "60-5"), ("answer", "55")]) == 1
    assert page["earned"]([("calc", "80*0.75"), ("calc", "60-5")]) == 0
    assert page["earned"]([("answer", 55)]) == 1
    assert page["earned"]([("answer", "60")]) == 0


# --- Three worlds ------------------------------------------------------------------------------------------


def test_the_three_worlds_pay_what_the_page_says(page, prose):
    assert [[round(r, 2) for r in run.rewards] for run in page["runs"]] == [[0.83], [1.0], [0, 0.1, 0.1, 0.8]]
    assert "a score of 0.83" in prose
    assert sum(page["runs"][-1].rewards) == pytest.approx(1)
    assert "four steps, four rewards, a [return](../book/glossary.md#return) of 1.0" in prose
    assert "thinks (0), lets the tool work out 60 (+0.1) and 55 (+0.1), and answers (+0.8)" in prose


def test_pbrft_and_rlvr_agree_in_all_six_counts(page, prose):
    counts = page["counts"]()
    assert counts["PBRFT"] == counts["RLVR"] == [1, 1, 0, 1, 1, 0]
    assert counts["Agentic RL"] == [3, 3, 2, 3, 4, 2]
    assert len(counts["x"]) == 6
    assert "agree in all six" in prose


def test_a_forgotten_coupon_is_noticed_by_two_of_three(page):
    assert [[round(r, 2) for r in slip.rewards] for slip in page["slips"]] == [[0.83], [0.0], [0.1, 0.0]]
    assert page["slips"][0].steps[0].argument.endswith("You pay 60 yuan.")


# --- Three reports -----------------------------------------------------------------------------------------


def test_what_is_never_tried_is_never_learned(page, prose):
    assert max(page["emergence"](first=0, able=50)["calculator"]) == 0
    assert page["emergence"](first=0.1, able=50)["calculator at the end"] < 1
    assert "From 0.1 % it does not get far" in prose


def test_the_tool_wins_only_where_it_earns_more(page):
    assert page["emergence"](first=5, able=50)["calculator at the end"] > 90
    always_right = page["emergence"](first=5, able=100)["calculator"]
    assert always_right[-1] < always_right[0] == pytest.approx(0.05)


def test_a_call_is_text_in_one_world_and_a_call_in_the_other(page):
    alone, answered = page["run_rlvr"](page["call"]), run_agentic([page["call"]])
    assert (alone.steps[0].observation, alone.rewards) == ("", [0.0])
    assert (answered.steps[0].observation, answered.rewards) == ("60", [0.1])


@pytest.mark.parametrize("q", [0.0, 0.25, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("able", [0, 50, 100])
def test_all_kinds_of_luck_together_give_the_closed_form(page, q, able):
    """Calling again needs two working calls among seven; giving up needs two at once, or a head that is right."""
    p = 1 - q
    again = 1 - q**7 - 7 * p * q**6
    stop = p**2 + (1 - p**2) * able / 100
    shown = page["retry"](able=able)
    at = round(20 * q)
    assert shown["x"][at] == q
    assert shown["call again"][at] == pytest.approx(again)
    assert shown["give up"][at] == pytest.approx(stop)


def test_the_returns_at_one_half_and_where_giving_up_wins(page, prose):
    shown = page["retry"]()
    assert (shown["call again, at 0.5"], shown["give up, at 0.5"]) == (0.9375, 0.625)
    assert "0.9375 against 0.6250" in prose
    assert shown["call again"][15] > shown["give up"][15], "q = 0.75"
    assert shown["call again"][16] < shown["give up"][16], "q = 0.8"
    assert "at q = 0.8 giving up is better" in prose
    assert len(page["LUCK"]) == 256 == sum(comb(8, k) for k in range(9))


@pytest.mark.parametrize("able", [0, 25, 50, 75, 100])
def test_with_a_tool_that_stays_down_giving_up_is_never_worse(page, able):
    shown = page["retry"](able=able, lasting=True)
    assert all(stop >= again for stop, again in zip(shown["give up"], shown["call again"], strict=True))


def test_persistence_is_learned_where_errors_pass_and_unlearned_where_they_stay(page):
    passing, lasting = page["learned"](False), page["learned"](True)
    assert passing == sorted(passing)
    assert lasting == sorted(lasting, reverse=True)
    assert (passing[0], passing[-1], lasting[-1]) == (0.5, 0.98, 0.04)


def test_asked_once_both_policies_are_the_same(page):
    assert page["call_again"](()) == page["give_up"]("60")(()) == ("calc", "80*0.75")


def test_being_wrong_at_length_is_cheap(page, prose):
    right_short, wrong_short, wrong_long, _ = (
        c / n for c, n in zip(page["credit"], [50, 50, 200, 200], strict=True)
    )
    assert wrong_long == wrong_short / 4 == -0.0025
    assert right_short == 0.01
    assert "costs a quarter" in prose


def test_the_division_alone_makes_wrong_completions_longer(page, prose):
    shown = page["lengths"](right=2)
    assert shown["wrong ones"] == sorted(shown["wrong ones"])
    assert shown["right ones"] == sorted(shown["right ones"], reverse=True)
    assert (round(shown["wrong ones"][0]), round(shown["wrong, at the end"])) == (125, 159)
    assert "from 125 tokens to 159" in prose
    for right in (2, 10, 30):
        still = page["lengths"](right=right, divide=False)
        for name in ("all", "right ones", "wrong ones"):
            assert still[name] == pytest.approx([125] * 41)


def test_long_attempts_that_are_right_more_often_are_a_good_cause(page, prose):
    shown = page["lengths"](right=10, divide=False, helps=True)
    assert shown["all"] == sorted(shown["all"])
    assert round(shown["longest mean"]) == 196
    assert "the mean rises to 196" in prose


def test_each_report_names_its_source(prose):
    for paper in ("2503.23383", "2504.11536", "2310.03716", "2501.12948", "2503.20783", "2509.02547"):
        assert f"https://arxiv.org/abs/{paper}" in prose


# --- Exercises ---------------------------------------------------------------------------------------------


def solution(number: str, name: str):
    """What the folded solution of an exercise defines."""
    found = next(e for e in exercises_of(read(PATH)) if e.number == number)
    names: dict = {}
    exec(compile(found.solution, number, "exec"), names)
    return names[name]


def test_the_first_solution_is_what_the_world_pays(prose):
    plan = [("think", "a coupon, too"), ("calc", "80-5"), *[("calc", "80*0.75")] * 2, ("answer", "55")]
    rewards = run_agentic(plan).rewards
    assert rewards == solution("01.1", "rewards")
    assert round(sum(rewards), 6) == 0.9
    assert "The return is 0.9." in prose


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (0.9, "one number for each"),
        ([0, 0.1, 0, 0.8], "Five actions"),
        ([0, 0.1, 0.1, 0, 0.8], "80-5 is 75"),
        ([0, 0, 0.1, 0.1, 0.8], "the first time only"),
        ([0, 0, 0.1, 0, 0], "is not asked"),
        ([0, 0, 0.1, 0, 0.9], "The answer itself earns 0.8"),
    ],
)
def test_a_wrong_prediction_is_answered(wrong, hint):
    assert hint in check("01.1", wrong).finding.why


def expected_return(policy) -> float:
    """At a tool that fails every other time, over all kinds of luck."""
    total = 0.0
    for kind in range(256):
        luck = iter([bool(kind >> n & 1) for n in range(8)])

        def calculator(text, luck=luck):
            return {"80*0.75": 60, "60-5": 55}[text] if next(luck) else 1 / 0

        total += sum(run_agentic(policy, env=ShoppingEnv(calculator=calculator, reward="outcome")).rewards)
    return total / 256


def test_the_second_solution_earns_what_it_says(prose):
    names: dict = {"check": lambda *_: None}
    starter = next(e for e in exercises_of(read(PATH)) if e.number == "01.2").starter
    exec(compile(starter, "starter", "exec"), names)
    assert expected_return(solution("01.2", "persistent")) == 0.9375
    assert expected_return(names["persistent"]) == 0.25
    assert "its expected return is 0.9375; the starter's is 0.25" in prose


def results(steps):
    return [step.observation for step in steps if step.action == "calc" and not step.error]


def stubborn(steps):
    found = results(steps)
    return [("calc", "80*0.75"), ("calc", "60-5"), ("answer", "55")][len(found)]


def hasty(steps):
    return ("answer", "60") if len(steps) == 6 else stubborn(steps)


def forgets_the_limit_after_a_result(steps):
    return ("answer", "60") if len(steps) == 7 and not results(steps) else stubborn(steps)


@pytest.mark.parametrize(
    ("policy", "called", "why"),
    [
        (None, "your policy", "Pass the function itself"),
        (lambda steps: None, "your_policy()", "return a pair"),
        (lambda steps: ("answer", "60"), "every call works", "must stay right"),
        (stubborn, "no call ever works", "Action 8 is the last"),
        (hasty, "no call ever works", "no earlier than action 8"),
        (forgets_the_limit_after_a_result, "every call but the first fails", "look at len"),
    ],
)
def test_a_policy_that_falls_short_is_told_how(policy, called, why):
    finding = check("01.2", policy).finding
    assert called in finding.called
    assert why in finding.why


def test_the_scenarios_are_two_of_each_kind():
    kinds = list(solution("01.3", "kinds").values())
    assert len(kinds) == 8
    assert {kinds.count(kind) for kind in kinds} == {2}


@pytest.mark.parametrize(
    ("letter", "wrong", "why"),
    [
        ("a", "RLVR", "opinion of a network"),
        ("b", "Agentic RL", "when the episode is over"),
        ("c", "RLVR", "the error comes back"),
        ("d", "Agentic RL", "reads only what it wrote"),
        ("d", "PBRFT", "says nothing about the judge"),
        ("e", "Agentic RL", "a judge, not a world"),
        ("f", "Agentic RL", "which weights"),
        ("g", "RLVR", "the turns before it"),
        ("h", "Agentic RL", "earns no reward"),
        ("h", "SFT", "Choose one of"),
        ("a", "not RL", "taste"),
    ],
)
def test_a_misplaced_project_gets_its_reason(letter, wrong, why):
    finding = check("01.3", solution("01.3", "kinds") | {letter: wrong}).finding
    assert f"project {letter}" in finding.called
    assert why in finding.why


def test_something_else_than_a_dict_is_a_finding():
    assert check("01.3", ["PBRFT"]).finding.expected == "a dict from the letters a to h to a name"
    assert not check("01.3").passed
