"""The hand-written GRPO is the algorithm: its numbers are TRL's, and it does what it says."""

from __future__ import annotations

import math

import pytest
import torch

from rl_lab.grpo import grpo_advantages
from rl_lab.rewards import batch_accuracy
from rl_lab.train import mini_grpo
from rl_lab.train.args import build_grpo_args, build_lora
from rl_lab.train.environment import environment_reward, make_environment
from rl_lab.train.grpo import make_trainer
from rl_lab.train.reward import RewardError


def trl_step(policy, rows, beta=0.0, learn_tool_tokens=False, **settings):
    """A TRL trainer and one generated, scored batch; the reward varies, so that every gradient is alive."""

    def by_length(completions, **columns):
        return [float(sum(map(ord, c[-1]["content"])) % 7) for c in completions]

    args = build_grpo_args(
        1e-4,
        parameters=180_000,
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=64,
        beta=beta,
        seed=1,
        **settings,
    )
    trainer = make_trainer(
        policy,
        rows[:2],
        by_length,
        args,
        environment=make_environment(),
        lora=build_lora(4) if beta else None,
        learn_tool_tokens=learn_tool_tokens,
    )
    trainer.model.train()
    inputs = trainer._generate_and_score_completions([row for row in rows[:2] for _ in range(4)])
    return trainer, inputs


def as_batch(inputs):
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
    seen = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
    mask = (inputs["completion_mask"] * inputs["tool_mask"]).float()
    return mini_grpo.Batch(ids, seen, mask, inputs["advantages"][:, None])


def gradients(model):
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("beta", [0.0, 0.05], ids=["without-kl", "with-kl"])
def test_loss_and_gradients_equal_trl_on_the_same_batch(policy, rows, beta):
    trainer, inputs = trl_step(policy, rows, beta)
    model = trainer.model
    if beta:  # move the adapter away from its start, else the KL is 0 whatever the formula
        with torch.no_grad():
            for name, p in model.named_parameters():
                if "lora_B" in name:
                    p.add_(0.05 * torch.randn_like(p, generator=None))
    # An old policy that differs from the new one, so that ratio and clip act.
    inputs["old_per_token_logps"] = trainer._get_per_token_logps_and_entropies(
        model,
        torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1),
        torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1),
        inputs["completion_ids"].size(1),
    )[0].detach() + 0.3 * torch.randn(inputs["completion_ids"].shape)
    trainer.current_gradient_accumulation_steps = 1
    model.zero_grad()
    theirs = trainer._compute_loss(model, inputs)
    theirs.backward()
    their_gradients = gradients(model)

    batch = as_batch(inputs)
    model.zero_grad()
    new = mini_grpo.log_probs(model, batch)
    ours, _ = mini_grpo.grpo_loss(
        new, inputs["old_per_token_logps"], inputs.get("ref_per_token_logps"), batch, beta=beta
    )
    ours.backward()
    our_gradients = gradients(model)

    assert ours.item() == pytest.approx(theirs.item(), rel=1e-5, abs=1e-6)
    assert our_gradients.keys() == their_gradients.keys()
    largest = max(g.abs().max().item() for g in their_gradients.values())
    assert largest > 1e-4
    for name, gradient in our_gradients.items():
        assert torch.allclose(gradient, their_gradients[name], rtol=1e-4, atol=1e-5 * largest), name


def test_reference_of_a_fresh_adapter_is_the_model_without_it(policy, rows):
    trainer, inputs = trl_step(policy, rows, beta=0.05)
    batch = as_batch(inputs)
    with torch.no_grad(), trainer.model.disable_adapter():
        ref = mini_grpo.log_probs(trainer.model, batch)
    seen = batch.seen[:, -ref.shape[1] :] == 1
    assert torch.allclose(ref[seen], inputs["ref_per_token_logps"][seen], atol=1e-4)


def test_centre_is_the_ground_floors_advantage():
    rewards = [1.0, 1.0, 0.0, 0.8, 0.2, 0.2, 0.2, 0.2]
    expected = grpo_advantages(rewards[:4]) + grpo_advantages(rewards[4:])
    assert mini_grpo.centre(torch.tensor(rewards), 4).tolist() == pytest.approx(expected, abs=1e-6)


def test_a_step_moves_the_weights_and_reports_its_metrics(policy, rows):
    torch.manual_seed(0)
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=1e-3)
    before = policy.model.lm_head.weight.detach().clone()
    metrics = mini_grpo.grpo_step(
        policy,
        optimizer,
        rows[:2],
        lambda completions, **columns: [
            float(len(c[-1]["content"]) % 2) + 0.1 * i for i, c in enumerate(completions)
        ],
        environment=make_environment(),
        group_size=4,
    )
    assert not torch.equal(before, policy.model.lm_head.weight)
    assert 0 <= metrics["tool_rate"] <= 1
    assert metrics["frac_reward_zero_std"] == 0
    assert metrics["completions/mean_length"] > 0


def test_t2_18b_a_label_that_cannot_be_used_costs_its_own_group_only(policy, rows):
    """The case: one row of two has no label."""
    rows = [dict(rows[0]), dict(rows[1], ground_truth=None)]
    torch.manual_seed(0)
    metrics = mini_grpo.grpo_step(
        policy, torch.optim.AdamW(policy.model.parameters()), rows, batch_accuracy, group_size=4, max_tokens=8
    )
    assert math.isfinite(metrics["loss"])
    assert math.isfinite(metrics["grad_norm"])
    assert math.isfinite(metrics["reward"])


HOLES = [1.0, None, 0.0, 1.0, None, None, 0.25, None, None, None, None, None, 0.5, 0.0, 0.5, 1.0]


def test_advantages_with_unscored_completions_are_trls(policy, rows):
    """One missing, two missing, one left, none left: the baseline is over those that were scored."""
    args = build_grpo_args(num_generations=4, per_device_train_batch_size=16, max_completion_length=16)
    trainer = make_trainer(policy, rows[:4], lambda completions, **columns: HOLES[: len(completions)], args)
    trainer.model.train()
    inputs = trainer._generate_and_score_completions([row for row in rows[:4] for _ in range(4)])
    theirs = inputs["advantages"].flatten()
    scores = torch.tensor([math.nan if score is None else score for score in HOLES])
    assert mini_grpo.centre(scores, 4).tolist() == pytest.approx(theirs.tolist(), abs=1e-5)
    ground_floor = [a for at in range(0, 16, 4) for a in grpo_advantages(HOLES[at : at + 4])]
    assert mini_grpo.centre(scores, 4).tolist() == pytest.approx(ground_floor, abs=1e-5)


def test_nothing_scored_leaves_the_weights_and_is_told(policy, rows):
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=1e-3, weight_decay=0.0)
    before = policy.model.lm_head.weight.detach().clone()
    metrics = mini_grpo.grpo_step(
        policy, optimizer, rows[:2], lambda completions, **columns: [None] * len(completions), group_size=4
    )
    assert (metrics["loss"], metrics["grad_norm"]) == (0, 0)
    assert math.isnan(metrics["reward"])
    assert torch.equal(before, policy.model.lm_head.weight)


@pytest.mark.parametrize(
    ("returned", "message"),
    [([1.0] * 4, "must return 8 rewards"), (["1"] * 8, "numbers or None"), ([math.nan] * 8, "finite")],
)
def test_a_reward_that_breaks_the_contract_is_named(policy, rows, returned, message):
    def mine(completions, **columns):
        return returned

    with pytest.raises(RewardError, match=f"reward function mine .*{message}"):
        mini_grpo.grpo_step(policy, None, rows[:2], mine, group_size=4, max_tokens=8)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["new", "old", "ref"])
def test_what_stands_at_a_masked_token_has_no_part_in_the_loss(bad, where):
    mask = torch.tensor([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    batch = mini_grpo.Batch(None, None, mask, torch.tensor([[1.0], [-1.0]]))
    torch.manual_seed(0)
    values = {name: -torch.rand(2, 3) for name in ("new", "old", "ref")}
    results = []
    for filling in (0.0, bad):
        values[where] = values[where].masked_fill(mask == 0, filling)
        given = {name: value.clone().requires_grad_(name == "new") for name, value in values.items()}
        loss, kl = mini_grpo.grpo_loss(**given, batch=batch, beta=0.1)
        loss.backward()
        results.append((loss.item(), kl.item(), given["new"].grad.tolist()))
    assert results[0] == results[1]
    assert math.isfinite(results[1][0])


def test_a_batch_in_which_nothing_counts_has_a_loss_of_0():
    batch = mini_grpo.Batch(None, None, torch.zeros(1, 2), torch.ones(1, 1))
    loss, kl = mini_grpo.grpo_loss(torch.zeros(1, 2), torch.zeros(1, 2), None, batch)
    assert (loss.item(), kl.item()) == (0, 0)


def test_equal_rewards_leave_the_weights_where_they_are(policy, rows):
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=1e-3, weight_decay=0.0)
    before = policy.model.lm_head.weight.detach().clone()
    metrics = mini_grpo.grpo_step(
        policy, optimizer, rows[:2], lambda completions, **columns: [1.0] * len(completions), group_size=4
    )
    assert metrics["frac_reward_zero_std"] == 1.0
    assert metrics["grad_norm"] == 0
    assert torch.equal(before, policy.model.lm_head.weight)


def test_the_habit_that_is_paid_grows(policy, rows):
    """Nine steps in which only an answer without a call is paid: calls become rare."""
    torch.manual_seed(0)
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=2e-3, weight_decay=0.0)

    def answers_at_once(environments, **columns):
        return [float(world.calls == 0) for world in environments]

    rates = [
        mini_grpo.grpo_step(policy, optimizer, rows[:4], answers_at_once, environment=make_environment())[
            "tool_rate"
        ]
        for _ in range(9)
    ]
    assert sum(rates[-3:]) < 0.5 * sum(rates[:3]), rates


def test_environment_reward_scores_the_mini_loop_too(policy, rows):
    metrics = mini_grpo.grpo_step(
        policy,
        torch.optim.SGD(policy.model.parameters(), lr=0.0),
        rows[:2],
        environment_reward,
        environment=make_environment(),
        group_size=4,
    )
    assert 0 <= metrics["reward"] <= 1
