"""An evaluation plays the problems as training does, and tells its interval."""

from __future__ import annotations

import random

import pytest
import torch

from rl_lab.evaluation import wilson_interval
from rl_lab.train.environment import make_environment
from rl_lab.train.evaluate import _interval, evaluate_policy
from rl_lab.train.rollout import play, sample


def test_an_evaluation_has_its_interval_and_is_repeatable(warm, rows):
    first = evaluate_policy(warm, rows, make_environment())
    again = evaluate_policy(warm, rows, make_environment(), batch_size=3)
    assert first.n == 16
    assert tuple(first.interval) == wilson_interval(first.correct, 16)
    assert first.texts == again.texts  # greedy, whatever the batches
    assert 0 <= first.tool_rate <= 1
    assert str(first).startswith(f"accuracy {first.accuracy * 100:.1f} % (95 % interval ")


def test_t2_13_copies_of_a_problem_are_no_new_problems(warm, rows):
    """Greedily, eight samples are eight copies: 0 of 4 is 0 to 0.49, not 0 to 0.107."""
    once, often = (evaluate_policy(warm, rows[:4], make_environment(), samples=k) for k in (1, 8))
    assert (often.n, often.problems, often.accuracy) == (32, 4, once.accuracy)
    assert often.interval == pytest.approx(once.interval, abs=1e-6)
    assert often.interval[1] - often.interval[0] > 0.4
    assert "n = 32 samples of 4 problems)" in str(often)
    # The same, asked for by rows that say so themselves.
    assert evaluate_policy(warm, rows[:4] * 8, make_environment()).interval == often.interval


def test_samples_of_one_problem_tell_of_that_problem(warm, rows):
    drawn = evaluate_policy(warm, rows[:1] * 24, temperature=1.0)
    assert tuple(drawn.interval) == wilson_interval(drawn.correct, 24)
    assert "n = 24 samples of 1 problem)" in str(drawn)
    greedy = evaluate_policy(warm, rows[:1] * 24)
    assert greedy.interval == pytest.approx(wilson_interval(greedy.correct // 24, 1), abs=1e-6)


def test_the_interval_holds_its_promise_and_that_of_independent_samples_does_not():
    rng, mean, problems, samples = random.Random(1), 0.3, 30, 8
    held = naive = 0
    for _ in range(400):  # problems differ: each has a rate of its own, and eight samples of it
        rates = [rng.betavariate(0.3, 0.7) for _ in range(problems)]
        correct = sum(rng.random() < rate for rate in rates for _ in range(samples))
        low, high = _interval(correct, [samples] * problems, sampled=True)
        held += low <= mean <= high
        low, high = wilson_interval(correct, problems * samples)
        naive += low <= mean <= high
    assert held / 400 >= 0.95
    assert naive / 400 < 0.7


def test_a_problem_that_weighs_more_counts_for_more(warm):
    even, uneven = (_interval(20, sizes, sampled=False) for sizes in ([10] * 4, [37, 1, 1, 1]))
    assert even == pytest.approx(list(wilson_interval(2, 4)), abs=1e-6)
    assert uneven[1] - uneven[0] > even[1] - even[0]


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
