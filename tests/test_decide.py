"""The decision list: hand-worked cases, and what must hold for every team."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_lab.decide import FIRST, GAP, REWARDS, VERDICTS, should_you_train

FEW = settings(max_examples=60, deadline=None, derandomize=True)
READY = {
    "pass_1": 0.40,
    "pass_k": 0.85,
    "target": 0.80,
    "n": 200,
    "tried": FIRST,
    "reward": "checker",
    "owner": True,
    "accelerator": True,
}
SHARE = st.integers(0, 20).map(lambda i: i / 20)
TEAM = st.fixed_dictionaries(
    {
        "shares": st.tuples(SHARE, SHARE).map(sorted),
        "target": st.integers(1, 20).map(lambda i: i / 20),
        "n": st.sampled_from([0, 10, 50, 200, 2000]),
        "tried": st.lists(st.sampled_from(FIRST), unique=True),
        "tool_share": st.sampled_from([0.0, 0.3, 0.5, 0.6, 1.0]),
        "reward": st.sampled_from(REWARDS),
        "steps": st.sampled_from(["one", "many"]),
        "demonstrations": st.booleans(),
        "format_rate": st.sampled_from([0.0, 0.5, 0.9, 1.0]),
        "owner": st.booleans(),
        "accelerator": st.booleans(),
    }
)
LIKELY = TEAM.map(lambda t: t | {"tried": FIRST, "owner": True, "accelerator": True, "tool_share": 0.0})


def ask(team, **changed):
    team = dict(team)
    team["pass_1"], team["pass_k"] = team.pop("shares", (team.get("pass_1"), team.get("pass_k")))
    return should_you_train(**team | changed)


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "rlvr"),
        ({"steps": "many"}, "agentic"),
        ({"n": 0}, "measure"),
        ({"target": 0.42}, "more problems"),
        ({"pass_1": 0.95, "pass_k": 0.99}, "done"),
        ({"tried": ()}, "tools"),
        ({"tried": ("prompt", "retrieval")}, "tools"),
        ({"tried": ("tools", "retrieval")}, "prompt"),
        ({"tried": ("tools", "prompt")}, "retrieval"),
        ({"tool_share": 0.51}, "tools"),
        ({"target": 0.6, "tool_share": 0.4}, "tools"),  # 0.4 + 0.6 * 0.4 = 0.64 reaches 0.6
        ({"tool_share": 0.4}, "rlvr"),  # 0.64 does not reach 0.8
        ({"owner": False}, "owner"),
        ({"accelerator": False}, "accelerator"),
        ({"format_rate": 0.5}, "data"),
        ({"format_rate": 0.5, "demonstrations": True}, "sft"),
        ({"pass_k": 0.45}, "data"),
        ({"pass_k": 0.45, "demonstrations": True}, "sft"),
        ({"pass_k": 0.55}, "rlvr"),
        ({"pass_k": 0.54}, "data"),
        ({"pass_1": 0.0, "pass_k": 0.0}, "data"),
        ({"reward": "preferences"}, "pbrft"),
        ({"reward": "preferences", "demonstrations": True}, "sft"),
        ({"reward": "none"}, "data"),
        ({"reward": "none", "demonstrations": True}, "sft"),
        ({"demonstrations": True}, "rlvr"),
    ],
)
def test_one_change_at_a_time(changed, verdict):
    result = should_you_train(**READY | changed)
    assert result.verdict == verdict
    assert result.headline == VERDICTS[verdict]
    assert result.train == (verdict in ("sft", "pbrft", "rlvr", "agentic"))


def test_every_verdict_can_be_reached_and_says_what_to_do():
    assert all(text.startswith(("Train: ", "Do not train")) for text in VERDICTS.values())


def test_a_team_with_nothing_is_told_to_measure():
    assert should_you_train(pass_1=0.4, pass_k=0.85, target=0.8).verdict == "measure"


@FEW
@given(TEAM)
def test_without_an_evaluation_set_nobody_trains(team):
    assert ask(team, n=0).verdict == "measure"


@FEW
@given(TEAM, st.sampled_from(["owner", "accelerator"]))
def test_without_an_owner_or_an_accelerator_nobody_trains(team, missing):
    assert not ask(team, **{missing: False}).train


@FEW
@given(TEAM, st.sampled_from(FIRST))
def test_with_something_cheaper_untried_nobody_trains(team, name):
    assert not ask(team, tried=[t for t in team["tried"] if t != name]).train


@FEW
@given(TEAM | LIKELY, st.sampled_from(["owner", "accelerator", "demonstrations", "reward", "n", "tried"]))
def test_losing_something_never_turns_no_into_yes(team, lost):
    nothing = {"reward": "none", "n": 0, "tried": ()}.get(lost, False)
    if ask(team, **{lost: nothing}).train:
        assert ask(team).train


@FEW
@given(LIKELY, SHARE)
def test_more_headroom_never_takes_rl_back(team, more):
    team = team | {"reward": "checker"}
    low, high = team["shares"]
    better = team | {"shares": (low, max(high, more))}
    if ask(team).verdict in ("rlvr", "agentic"):
        assert ask(better).verdict in ("rlvr", "agentic")


@FEW
@given(LIKELY, st.integers(1, 20).map(lambda i: i / 20))
def test_a_higher_target_never_ends_training(team, target):
    if ask(team).train:
        assert ask(team, target=max(target, team["target"])).train


@FEW
@given(LIKELY, st.sampled_from([0.3, 0.5, 0.6, 1.0]))
def test_errors_that_a_tool_removes_never_argue_for_training(team, share):
    if ask(team, tool_share=share).train:
        assert ask(team).train


@FEW
@given(TEAM | LIKELY)
def test_more_problems_never_blur_a_verdict(team):
    if team["n"] and ask(team).train:
        assert ask(team, n=team["n"] * 10).train


@FEW
@given(TEAM | LIKELY)
def test_rl_needs_a_checker_and_headroom_and_says_the_kind(team):
    result = ask(team)
    if result.verdict in ("rlvr", "agentic"):
        low, high = team["shares"]
        assert team["reward"] == "checker"
        assert high - low >= GAP - 1e-9
        assert (result.verdict == "agentic") == (team["steps"] == "many")
    if result.verdict == "pbrft":
        assert team["reward"] == "preferences"


@FEW
@given(TEAM | LIKELY)
def test_the_list_always_has_ten_questions_and_one_decides(team):
    result = ask(team)
    assert len(result.reasons) == 10
    asked = [r for r in result.reasons if r.follows != "not asked"]
    assert result.reasons[: len(asked)] == tuple(asked)
    assert [r for r in asked if r.follows != "go on"] == [result.decided_by]
    assert bool(result.cautions) == result.train
    assert str(result).startswith(result.headline)


def test_cautions_name_what_the_numbers_say():
    rare = should_you_train(**READY | {"pass_1": 0.02, "pass_k": 0.2})
    # 1 - 0.98**8 - 0.02**8 = 0.149
    assert "the target lies above pass@8" in rare.cautions[0]
    assert "at most 15 % of the groups of eight" in rare.cautions[1]
    assert not any("lies above" in c for c in should_you_train(**READY).cautions)
    assert not any("SFT first" in c for c in should_you_train(**READY).cautions)
    assert any("SFT first" in c for c in should_you_train(**READY | {"demonstrations": True}).cautions)


def test_the_interval_decides_and_not_the_point():
    few, many = (should_you_train(**READY | {"pass_1": 0.78, "pass_k": 0.95, "n": n}) for n in (40, 1000))
    assert (few.verdict, many.verdict) == ("more problems", "more problems")
    assert should_you_train(**READY | {"pass_1": 0.78, "pass_k": 0.95, "n": 2000}).verdict == "rlvr"
    assert "95 % interval 63 % to 88 %" in few.decided_by.answer


def test_one_problem_or_ten_are_too_few_to_train_on():
    """The interval is that of the share itself: rounded to a count, 0.5 of one problem would be 0 of 1."""
    for pass_1, n, target in ((0.5, 1, 0.8), (0.45, 10, 0.7)):
        found = should_you_train(**READY | {"pass_1": pass_1, "pass_k": 0.9, "n": n, "target": target})
        assert found.verdict == "more problems"


def test_who_is_at_the_target_is_told_so():
    found = should_you_train(**READY | {"pass_1": 1.0, "pass_k": 1.0, "n": 30, "target": 1.0})
    assert found.verdict in ("done", "more problems")
    found = should_you_train(**READY | {"pass_1": 0.8, "pass_k": 0.9, "n": 10**6, "target": 0.8})
    assert "as measured you are there" in found.decided_by.follows


def test_taste_needs_something_to_like():
    never = READY | {"pass_1": 0.0, "pass_k": 0.0, "reward": "preferences"}
    assert should_you_train(**never).verdict == "data"
    seldom = should_you_train(**never | {"pass_k": 0.1})
    assert seldom.verdict == "pbrft"
    assert "lies above" in seldom.cautions[0]


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"pass_k": 0.3}, ValueError, "pass_k must be at least pass_1=0.4, got 0.3"),
        ({"pass_1": 40}, ValueError, "pass_1 must be between 0 and 1, got 40; write 40 % as 0.4"),
        ({"pass_1": True}, TypeError, "pass_1 must be a number"),
        ({"pass_1": float("nan")}, ValueError, "pass_1 must be finite"),
        ({"target": 0}, ValueError, "target must be above 0"),
        ({"n": -1}, ValueError, "n must be at least 0, got -1"),
        ({"n": 20.5}, TypeError, "n must be a whole number"),
        ({"k": 1}, ValueError, "k must be at least 2, got 1"),
        ({"tried": "tools"}, TypeError, "tried must be a list of names, got 'tools'"),
        ({"tried": ["toolz"]}, ValueError, "got 'toolz'; did you mean 'tools'"),
        ({"reward": "check"}, ValueError, "reward must be one of checker, preferences, none.*did you mean"),
        ({"reward": None}, TypeError, "reward must be one of"),
        ({"steps": 4}, TypeError, "steps must be one of one, many, got 4"),
        ({"owner": "yes"}, TypeError, "owner must be True or False, got 'yes'"),
        ({"accelerator": 1}, TypeError, "accelerator must be True or False"),
        ({"format_rate": 1.2}, ValueError, "format_rate must be between 0 and 1"),
    ],
)
def test_errors_name_argument_rule_and_value(changed, error, message):
    with pytest.raises(error, match=message):
        should_you_train(**READY | changed)
