"""An evaluation plays the problems as training does, and tells its interval."""

from __future__ import annotations

import pytest
import torch

from rl_lab.evaluation import wilson_interval
from rl_lab.train.environment import make_environment
from rl_lab.train.evaluate import evaluate_policy
from rl_lab.train.rollout import play, sample


def test_an_evaluation_has_its_interval_and_is_repeatable(warm, rows):
    first = evaluate_policy(warm, rows, make_environment())
    again = evaluate_policy(warm, rows, make_environment(), batch_size=3)
    assert first.n == 16
    assert tuple(first.interval) == wilson_interval(first.correct, 16)
    assert first.texts == again.texts  # greedy, whatever the batches
    assert 0 <= first.tool_rate <= 1
    assert str(first).startswith(f"accuracy {first.accuracy * 100:.1f} % (95 % interval ")


def test_sampling_depends_on_the_seed(warm, rows):
    results = [
        evaluate_policy(warm, rows[:2], make_environment(), temperature=1.0, samples=6, seed=seed).texts
        for seed in (1, 1, 2)
    ]
    assert results[0] == results[1] != results[2]
    assert len(results[0]) == 12


def test_an_evaluation_leaves_the_model_in_its_mode(policy, rows):
    policy.model.train()
    evaluate_policy(policy, rows[:2])
    assert policy.model.training


def test_without_an_environment_there_is_one_turn(warm, rows):
    result = evaluate_policy(warm, rows[:4])
    assert result.tool_rate is None
    assert all(len(e.messages) == 1 for e in result.episodes)


def test_nothing_to_evaluate_is_an_error(warm, rows):
    with pytest.raises(ValueError, match="rows and samples must be at least 1"):
        evaluate_policy(warm, [])


def test_sampling_in_a_batch_equals_sampling_alone(warm):
    """Left padding and the cache change nothing."""
    contexts = [
        warm.tokenizer(text)["input_ids"] for text in ("Final Answer: ", "A bag costs 80 yuan, is sold at ")
    ]
    together = sample(warm, contexts, 8, 0.0)
    assert together == [sample(warm, [c], 8, 0.0)[0] for c in contexts]


def test_sampling_is_what_transformers_generates(warm, rows):
    ids = warm.tokenizer.apply_chat_template(rows[0]["prompt"], add_generation_prompt=True, return_dict=True)[
        "input_ids"
    ]
    with torch.no_grad():
        theirs = warm.model.generate(
            input_ids=torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            max_new_tokens=12,
            do_sample=False,
        )
    assert sample(warm, [ids], 12, 0.0)[0] == theirs[0, len(ids) :].tolist()


def test_an_episode_stays_within_its_limit_and_knows_who_wrote_what(warm, rows):
    torch.manual_seed(0)
    for limit in (12, 30, 64):
        for episode in play(warm, rows, make_environment(), max_tokens=limit):
            assert len(episode.completion) == len(episode.own) <= limit
            text = warm.tokenizer.decode(
                [t for t, own in zip(episode.completion, episode.own, strict=True) if not own]
            )
            assert text.count("<tool_response>") == sum(m["role"] == "tool" for m in episode.messages)


def test_turns_are_limited_and_a_call_in_the_last_one_is_not_answered(warm, rows):
    for limit in (1, 2):
        torch.manual_seed(0)
        episodes = play(warm, rows, make_environment(), max_turns=limit)
        turns = [[m["role"] for m in e.messages] for e in episodes]
        assert max(roles.count("assistant") for roles in turns) == limit
        assert any("tool_calls" in e.messages[-1] for e in episodes)
        assert max(e.world.calls for e in episodes) == limit - 1


def test_an_unknown_tool_and_a_broken_argument_are_news_for_the_model(rows):
    from rl_lab.train.rollout import _use_tool

    world = make_environment()()
    world.reset(**rows[0])
    assert (
        _use_tool(world, {"name": "reset", "arguments": {}})["content"]
        == "{'error': 'Tool reset not found.'}"
    )
    assert _use_tool(world, {"name": "_secret", "arguments": {}})["content"].startswith(
        "{'error': 'Tool _secret"
    )
    assert "unexpected keyword" in _use_tool(world, {"name": "calc", "arguments": {"x": 1}})["content"]
