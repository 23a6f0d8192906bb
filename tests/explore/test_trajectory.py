"""Episodes: what is read, what is refused, what is shown."""

from __future__ import annotations

import pytest

from rl_lab.explore import trajectory, trajectory_html
from rl_lab.explore._trajectory import read_episodes
from tests.explore import figures


def test_rewards_add_up_to_the_running_return_without_noise():
    turns = [{"role": "agent", "text": "", "reward": 0.1}] * 3
    assert [t.total for t in read_episodes(turns)[""]] == [0.1, 0.2, 0.3]


def test_a_turn_without_a_reward_earns_nothing():
    turns = [{"role": "tool", "text": "60"}, {"role": "agent", "text": "55", "reward": 0.8}]
    assert [(t.reward, t.total) for t in read_episodes(turns)[""]] == [(None, 0.0), (0.8, 0.8)]


@pytest.mark.parametrize(
    ("episodes", "error", "message"),
    [
        ({}, TypeError, "episodes must be a dict"),
        ("text", TypeError, "episodes must be a dict"),
        ({"a": []}, ValueError, "episode 'a' must be a list of at least one turn"),
        ({"a": ["x"]}, TypeError, "turn 1 of episode 'a' must be a dict"),
        ({"a": [{"role": "agent"}]}, TypeError, 'needs "role" and "text"'),
        ({"a": [{"role": "agnt", "text": ""}]}, ValueError, "'agnt', which is not a role; did you mean 'agent'"),
        ({"a": [{"role": "agent", "text": "", "rewrd": 1}]}, ValueError, "'rewrd'.*did you mean 'reward'"),
        ({"a": [{"role": "agent", "text": "", "reward": "1"}]}, TypeError, "reward of turn 1 of episode 'a'"),
        ({"a": [{"role": "agent", "text": "", "reward": float("nan")}]}, TypeError, "finite number"),
        ({"a": [{"role": "agent", "text": "", "note": 1}]}, TypeError, "note of turn 1"),
        ([{"role": "agent", "text": 5}], TypeError, "turn 1 of the episode"),
    ],
    ids=lambda v: str(v)[:40],
)  # fmt: skip
def test_a_broken_episode_names_the_turn_and_the_rule(episodes, error, message):
    with pytest.raises(error, match=message):
        read_episodes(episodes)


def test_every_turn_is_readable_without_a_script():
    html = trajectory_html(figures.EPISODES, site=True)
    assert html.count("<li") == 6
    assert "xp-hidden" not in html
    assert 'return <b class="xp-total">-0.15</b>' in html
    assert '<span class="xp-badge">+0.83</span>' in html


def test_a_single_turn_needs_no_controls():
    assert "<input" not in trajectory_html([{"role": "agent", "text": "55"}], site=True)


def test_plain_python_prints_the_turns(capsys):
    trajectory(figures.EPISODES, title="Two")
    out = capsys.readouterr().out
    assert out.startswith(
        "Trajectory: Two\n  PBRFT, 2 turns, return 0.83\n    agent: It is about 55.\n    judge: reads well  [+0.83]"
    )
