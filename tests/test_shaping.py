"""Pay on the way: break-even, milestones that cannot be collected twice, shaping that never moves the goal."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_lab.grpo import grpo_advantages
from rl_lab.mdp import discounted_return, returns_to_go
from rl_lab.shaping import break_even, milestone_rewards, shape, signal_share

FEW = settings(max_examples=50, deadline=None, derandomize=True)
NUMBER = st.floats(-10, 10, allow_nan=False)
STEPS = st.lists(st.tuples(NUMBER, NUMBER), max_size=12)
WEIGHT = st.floats(0, 1)


# --- break_even ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "effort", "forfeits", "expected"),
    [
        ([0, 0, 0, 1], 0.1, False, 0.1),
        ([0.25] * 4, 0.1, False, 0.4),
        ([0.1, 0.1, 0.2, 0.6], 0.1, False, 1 / 6),
        ([0.1, 0.1, 0.2, 0.6], 0.1, True, 0.5),
        ([0.3, 0.3, 0.3, 0.1], 0.1, False, 1.0),
        ([0.3, 0.3, 0.3, 0.1], 0.11, False, None),
        ([0.3, 0.3, 0.3, 0.1], 0.11, True, None),
        ([0.4, 0.6], 0, False, 0.0),
        ([0.4, 0.6], 0, True, 0.4),
        ([1], 0.5, True, 0.5),
        ([0, 0], 0, True, 0.0),
        ([0, 0], 0.1, False, None),
    ],
)
def test_break_even_by_hand(weights, effort, forfeits, expected):
    assert break_even(weights, effort, forfeits=forfeits) == (
        None if expected is None else pytest.approx(expected)
    )


@FEW
@given(st.lists(WEIGHT, min_size=1, max_size=5), st.floats(0, 1), st.booleans())
def test_at_break_even_stopping_and_finishing_are_worth_the_same(weights, effort, forfeits):
    on_the_way, kept = sum(weights[:-1]), 0.0 if forfeits else sum(weights[:-1])

    def gain(p):
        return p * sum(weights) + (1 - p) * kept - effort - on_the_way

    flip = break_even(weights, effort, forfeits=forfeits)
    if flip is None:
        assert gain(1.0) < 1e-9
    else:
        assert 0 <= flip <= 1
        assert gain(flip) >= -1e-9 if flip == 0 else gain(flip) == pytest.approx(0, abs=1e-9)


@FEW
@given(st.lists(WEIGHT, min_size=3, max_size=3), st.lists(WEIGHT, min_size=3, max_size=3))
def test_milestones_that_are_kept_do_not_move_the_flip(ours, theirs):
    assert break_even([*ours, 0.5], 0.2) == break_even([*theirs, 0.5], 0.2) == 0.4


@pytest.mark.parametrize(
    ("weights", "effort", "error", "message"),
    [
        ([], 0.1, ValueError, "at least the outcome's weight"),
        ([0.1, -0.2], 0.1, ValueError, r"weights\[1\] must be at least 0, got -0.2"),
        ([0.1, math.nan], 0.1, ValueError, r"weights\[1\] must be finite"),
        ([0.1, "0.9"], 0.1, TypeError, r"weights\[1\] must be a number, got '0.9'"),
        ([1.0], -1, ValueError, "effort must be at least 0"),
        ([1.0], True, TypeError, "effort must be a number"),
    ],
)
def test_break_even_names_what_is_wrong(weights, effort, error, message):
    with pytest.raises(error, match=message):
        break_even(weights, effort)


# --- milestone_rewards --------------------------------------------------------------------------------------------

WEIGHTS = {"repository": 0.1, "file": 0.1, "diagnosis": 0.2, "patch passes": 0.6}


def test_the_straight_way_is_paid_in_full_and_in_order():
    assert milestone_rewards(list(WEIGHTS), WEIGHTS) == [0.1, 0.1, 0.2, 0.6]


def test_unknown_events_are_worth_nothing():
    assert milestone_rewards(["claim", "close"], WEIGHTS) == [0.0, 0.0]
    assert milestone_rewards([], WEIGHTS) == []


@FEW
@given(st.lists(st.sampled_from([*WEIGHTS, "close", "claim"]), max_size=40))
def test_no_episode_earns_more_than_its_different_milestones(events):
    rewards = milestone_rewards(events, WEIGHTS)
    assert len(rewards) == len(events)
    assert sum(rewards) == pytest.approx(sum(WEIGHTS.get(event, 0) for event in set(events)))


def test_the_weights_of_the_caller_are_left_alone():
    weights = dict(WEIGHTS)
    milestone_rewards(["file", "file"], weights)
    assert weights == WEIGHTS


def test_milestone_rewards_names_what_is_wrong():
    with pytest.raises(TypeError, match="events must be a list of names, got the text 'file'"):
        milestone_rewards("file", WEIGHTS)
    with pytest.raises(ValueError, match=r"weights\['file'\] must be at least 0"):
        milestone_rewards(["file"], {"file": -0.1})


# --- shape --------------------------------------------------------------------------------------------------------


def test_shaping_by_hand():
    assert shape([0, 0, 0, 0.6], [0, 0.1, 0.2, 0.4]) == pytest.approx([0.1, 0.1, 0.2, 0.2])
    assert shape([0, 0], [0, 0.2], gamma=0.9) == pytest.approx([0.18, -0.2])
    assert shape([], []) == []


@FEW
@given(STEPS, st.floats(0, 1))
def test_the_return_moves_by_the_first_potential_whatever_happens_in_between(steps, gamma):
    rewards, potentials = [r for r, _ in steps], [phi for _, phi in steps]
    shaped = shape(rewards, potentials, gamma)
    start = potentials[0] if potentials else 0.0
    expected = discounted_return(rewards, gamma) - start
    assert discounted_return(shaped, gamma) == pytest.approx(expected, abs=1e-8)


@FEW
@given(STEPS, st.floats(0, 1))
def test_shaping_subtracts_a_baseline_from_what_is_still_to_come(steps, gamma):
    rewards, potentials = [r for r, _ in steps], [phi for _, phi in steps]
    plain, shaped = returns_to_go(rewards, gamma), returns_to_go(shape(rewards, potentials, gamma), gamma)
    assert [a - b for a, b in zip(plain, shaped, strict=True)] == pytest.approx(potentials, abs=1e-8)


@pytest.mark.parametrize("normalize", [False, True, "population"])
def test_in_a_group_that_shares_its_start_shaping_changes_no_advantage(normalize):
    rng = random.Random(3)
    for _ in range(20):
        start = rng.uniform(-1, 1)
        episodes = [
            ([rng.choice([0.0, 1.0]) for _ in range(n)], [start, *(rng.uniform(-1, 1) for _ in range(n - 1))])
            for n in (1, 2, 5, 9)
        ]
        plain = grpo_advantages([sum(rewards) for rewards, _ in episodes], normalize)
        shaped = grpo_advantages([sum(shape(*episode)) for episode in episodes], normalize)
        assert shaped == pytest.approx(plain, abs=1e-9)


def solve(model, gamma, extra=lambda s, t: 0.0):
    """Action values by value iteration; state -1 is the end. A second implementation, on lists."""
    V = [0.0] * len(model)
    for _ in range(400):
        Q = [
            [
                sum(p * (r + extra(s, t) + gamma * (V[t] if t >= 0 else 0.0)) for p, t, r in outcomes)
                for outcomes in actions
            ]
            for s, actions in enumerate(model)
        ]
        V = [max(row) for row in Q]
    return Q


def random_process(rng):
    """Four states with three actions each; every action can lead to the end and to two other states."""
    model = []
    for _ in range(4):
        actions = []
        for _ in range(3):
            cut = sorted(rng.random() for _ in range(2))
            chances = (cut[0], cut[1] - cut[0], 1 - cut[1])
            targets = (-1, rng.randrange(4), rng.randrange(4))
            actions.append([(p, t, rng.uniform(-1, 1)) for p, t in zip(chances, targets, strict=True)])
        model.append(actions)
    return model


def test_no_potential_moves_the_best_plan_of_any_process():
    rng = random.Random(1)
    for _ in range(25):
        model, gamma = random_process(rng), rng.choice([0.5, 0.9])
        phi = [rng.uniform(-5, 5) for _ in range(4)] + [0.0]  # phi[-1] is the end
        plain = solve(model, gamma)
        shaped = solve(model, gamma, lambda s, t, phi=phi, gamma=gamma: gamma * phi[t] - phi[s])
        for s in range(4):
            assert shaped[s] == pytest.approx([q - phi[s] for q in plain[s]], abs=1e-6)


def test_a_bonus_that_is_not_taken_back_moves_the_best_plan_of_most_processes():
    rng, moved = random.Random(2), 0
    for _ in range(25):
        model = random_process(rng)
        phi = [rng.uniform(-5, 5) for _ in range(4)] + [0.0]
        plain, paid = solve(model, 0.9), solve(model, 0.9, lambda s, t, phi=phi: phi[t])
        moved += any(a.index(max(a)) != b.index(max(b)) for a, b in zip(plain, paid, strict=True))
    assert moved > 12


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            ([0, 1], [0, 0.5, 0]),
            ValueError,
            "one value a step, 2 as rewards, got 3; the end .* is not listed",
        ),
        (([0], [0], 1.5), ValueError, "gamma must be between 0 and 1, got 1.5"),
        (([0], [0], "1"), TypeError, "gamma must be a number"),
        (([0], [math.inf]), ValueError, r"potentials\[0\] must be finite"),
        (([None], [0]), TypeError, r"rewards\[0\] must be a number, got None"),
    ],
)
def test_shape_names_what_is_wrong(arguments, error, message):
    with pytest.raises(error, match=message):
        shape(*arguments)


# --- signal_share -------------------------------------------------------------------------------------------------


def test_signal_share_agrees_with_counting():
    rng, chances = random.Random(5), [0.7, 0.2, 0.1]
    drawn = [rng.choices(range(3), chances, k=4) for _ in range(20_000)]
    assert signal_share(chances, 4) == pytest.approx(sum(len(set(g)) > 1 for g in drawn) / 20_000, abs=0.01)


def test_signal_share_at_the_edges():
    assert signal_share([1.0], 8) == 0.0
    assert signal_share([0.5, 0.5], 1) == 0.0
    assert signal_share([0.0, 1.0], 3) == 0.0
    assert 1 - signal_share([0.05, 0.95], 8) == pytest.approx(0.95**8 + 0.05**8)


@pytest.mark.parametrize(
    ("chances", "size", "error", "message"),
    [
        ([0.5, 0.4], 8, ValueError, "chances must add up to 1, got 0.9"),
        ([1.5, -0.5], 8, ValueError, r"chances\[1\] must be at least 0"),
        ([1.0], 0, ValueError, "group_size must be at least 1"),
        ([1.0], 8.0, TypeError, "group_size must be a whole number"),
    ],
)
def test_signal_share_names_what_is_wrong(chances, size, error, message):
    with pytest.raises(error, match=message):
        signal_share(chances, size)
