"""What does a GRPO step do? The whole algorithm on one page of plain PyTorch.

Sample a group of completions for each prompt, score them, centre the scores within the group, and push the
probability of every token that the model wrote up or down by that much, not too far at once. :func:`grpo_step` is all
of it, and a test holds its loss and its gradients equal to those of TRL's ``GRPOTrainer`` on the same batch.

What TRL has and this has not: several GPUs, mixed precision, vLLM, gradient accumulation, checkpoints, other losses.
What both have: turns in which a tool answers, and a mask that keeps the tool's tokens out of the loss.

References
----------
Shao et al. (2024), DeepSeekMath, arXiv:2402.03300; the mean over all tokens of the batch is DAPO's, arXiv:2503.14476.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rl_lab.train._need import need
from rl_lab.train.policy import Policy
from rl_lab.train.reward import guard
from rl_lab.train.rollout import Environment, Episode, Rows, play

__all__ = ["Batch", "centre", "grpo_loss", "grpo_step", "log_probs", "make_batch"]


@dataclass
class Batch:
    """Episodes as tensors: n completions of at most T tokens, after prompts of at most P tokens."""

    ids: Any  # (n, P + T) prompts padded on the left, completions on the right
    seen: Any  # (n, P + T) 1 where there is a token, 0 where there is padding
    mask: Any  # (n, T) 1 where the model wrote the token: only these are in the loss
    advantages: Any  # (n, 1)


def make_batch(
    policy: Policy, episodes: Sequence[Episode], advantages: Any, *, mask_tool: bool = True
) -> Batch:
    """Pad episodes into a batch; ``mask_tool=False`` puts the tool's tokens into the loss, to see what that does."""
    torch, pad = need("torch"), policy.tokenizer.pad_token_id
    P, T = max(len(e.prompt) for e in episodes), max(len(e.completion) for e in episodes)
    ids, seen, mask = [], [], []
    for e in episodes:
        left, right, tokens = P - len(e.prompt), T - len(e.completion), e.prompt + e.completion
        ids.append([pad] * left + tokens + [pad] * right)
        seen.append([0] * left + [1] * len(tokens) + [0] * right)
        mask.append((e.own if mask_tool else [1] * len(e.own)) + [0] * right)
    device = policy.model.device
    tensors = [torch.tensor(part, device=device) for part in (ids, seen, mask)]
    A = torch.as_tensor(advantages, dtype=torch.float32, device=device).view(-1, 1)
    return Batch(tensors[0], tensors[1], tensors[2].float(), A)


def centre(rewards: Any, group_size: int) -> Any:
    """Advantage of each completion: its reward against the mean of its group, in units of the group's spread.

    A completion that could not be scored (nan) has no part in mean and spread and gets 0; so does one that is alone in
    being scored.
    """
    r = rewards.view(-1, group_size)
    return ((r - r.nanmean(1, keepdim=True)) / (_spread(r)[:, None] + 1e-4)).nan_to_num(0.0).view(-1)


def _spread(groups: Any) -> Any:
    """Standard deviation of each group's scored rewards, nan for fewer than two."""
    torch = need("torch")
    scored = [group[~group.isnan()] for group in groups]
    return torch.stack([r.std() if len(r) > 1 else torch.tensor(torch.nan) for r in scored])


def log_probs(model: Any, batch: Batch, temperature: float = 1.0) -> Any:
    """Log-probability that `model` gives to each token of the completions, shape (n, T)."""
    torch, T = need("torch"), batch.mask.shape[1]
    position = (batch.seen.cumsum(-1) - 1).clamp(min=0)
    out = model(input_ids=batch.ids, attention_mask=batch.seen, position_ids=position, logits_to_keep=T + 1)
    logits = out.logits[:, :-1].float() / temperature  # the logits at t are about the token at t + 1
    return torch.log_softmax(logits, -1).gather(-1, batch.ids[:, -T:, None])[..., 0]


def grpo_loss(
    new: Any, old: Any, ref: Any, batch: Batch, *, epsilon: float = 0.2, beta: float = 0.0
) -> tuple[Any, Any]:
    """Loss and KL from the log-probabilities of the policy now, the policy that sampled, and the reference.

    Both are means over the tokens that the model wrote; whatever stands at the others, nan and infinities too, has no
    part in them. With beta = 0, `ref` is not read and the KL is 0.
    """
    torch, others = need("torch"), batch.mask == 0
    new, old = new.masked_fill(others, 0.0), old.masked_fill(others, 0.0)  # not by 0 times: 0 x nan is nan
    ratio, A = torch.exp(new - old), batch.advantages  # (n, T), all 1 at the first update; (n, 1)
    per_token = -torch.min(ratio * A, ratio.clamp(1 - epsilon, 1 + epsilon) * A)
    kl = torch.zeros_like(per_token)
    if beta:
        ref = ref.masked_fill(others, 0.0)
        k3 = torch.exp(ref - new) - (ref - new) - 1  # never negative
        kl = (
            ratio * k3
        )  # without the ratio the gradient is not that of the KL (DeepSeek-V3.2, arXiv:2512.02556)
        per_token = per_token + beta * kl
    tokens = batch.mask.sum().clamp(min=1)
    return (per_token * batch.mask).sum() / tokens, (kl.detach() * batch.mask).sum() / tokens


def grpo_step(
    policy: Policy,
    optimizer: Any,
    rows: Rows,
    reward: Callable[..., Sequence[float | None]],
    *,
    environment: Environment | None = None,
    group_size: int = 8,
    max_tokens: int = 64,
    temperature: float = 1.0,
    epsilon: float = 0.2,
    beta: float = 0.0,
    iterations: int = 1,
    mask_tool: bool = True,
) -> dict[str, float]:
    """One step of GRPO on `rows`, one prompt each; the policy is changed in place.

    Parameters
    ----------
    policy : Policy
        With beta > 0 a LoRA policy: its reference is the same model with the adapter off.
    optimizer : torch.optim.Optimizer
        Over the policy's trainable parameters.
    reward : callable
        In TRL's form: one number per completion, or None for one that cannot be scored, which then teaches nothing.
    iterations : int, default 1
        Updates on the same batch; from the second on the ratio leaves 1 and the clip can act.

    Returns
    -------
    dict of str to float
        The step's metrics, by TRL's names; rewards over the completions that were scored.

    Raises
    ------
    RewardError
        If the reward returns anything else than one finite number, or None, per completion.
    """
    torch, model = need("torch"), policy.model
    # 1 sample: group_size completions of each prompt
    repeated = [row for row in rows for _ in range(group_size)]
    model.eval()
    episodes = play(policy, repeated, environment, max_tokens=max_tokens, temperature=temperature)
    # 2 score
    columns = {name: [row.get(name) for row in repeated] for name in rows[0] if name != "prompt"}
    columns |= {"prompts": [row["prompt"] for row in repeated], "completions": [e.messages for e in episodes]}
    columns |= {"environments": [e.world for e in episodes]} if environment else {}
    scores = guard(reward, sole=False)(**columns)
    rewards = torch.tensor([torch.nan if score is None else score for score in scores], dtype=torch.float32)
    # 3 centre
    batch = make_batch(policy, episodes, centre(rewards, group_size), mask_tool=mask_tool)
    ref = old = None
    model.train()
    if beta:
        with torch.no_grad(), model.disable_adapter():
            ref = log_probs(model, batch, temperature)
    trained = [p for p in model.parameters() if p.requires_grad]
    for _ in range(iterations):
        # 4 ratio, clip, KL
        new = log_probs(model, batch, temperature)
        old = new.detach() if old is None else old
        loss, kl = grpo_loss(new, old, ref, batch, epsilon=epsilon, beta=beta)
        # 5 update
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
    n, spread = len(episodes), _spread(rewards.view(-1, group_size))
    return {
        "reward": rewards.nanmean().item(),
        "reward_std": _spread(rewards[None]).item(),
        "frac_reward_zero_std": (spread == 0).float().mean().item(),
        "tool_rate": sum(0 in e.own for e in episodes) / n,
        "kl": kl.item(),
        "loss": loss.item(),
        "grad_norm": norm.item(),
        "completions/mean_length": batch.mask.sum().item() / n,
    }
