"""How does a policy act? It writes, the tool answers, it goes on from there.

:func:`sample` continues token lists in a batch; :func:`play` lets the policy work on problems over several turns and
keeps track of who wrote which token. The hand-written GRPO and every evaluation stand on these two.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rl_lab.train._chat import read_turn, tool_suffix
from rl_lab.train._need import need
from rl_lab.train.policy import Policy
from rl_lab.train.tool_checks import check_template

__all__ = ["Episode", "play", "sample"]

Rows = Sequence[dict[str, Any]]
Environment = Callable[[], Any]


@dataclass
class Episode:
    """One completion: its tokens, who wrote which, and the same as messages."""

    prompt: list[int]
    completion: list[int] = field(default_factory=list)
    own: list[int] = field(default_factory=list)  # 1 where the model wrote the token, 0 where the tool did
    messages: list[dict[str, Any]] = field(default_factory=list)  # as TRL hands a completion to rewards
    world: Any = None  # the environment that answered, if there is one
    row: dict[str, Any] = field(default_factory=dict)  # where the prompt came from

    @property
    def text(self) -> str:
        """What was said last."""
        return self.messages[-1]["content"] if self.messages else ""


def sample(policy: Policy, contexts: list[list[int]], max_new: int, temperature: float) -> list[list[int]]:
    """Continue each context up to its end token.

    Parameters
    ----------
    policy : Policy
    contexts : list of list of int
        Token ids, of different lengths.
    max_new : int
        Most tokens to add to each.
    temperature : float
        Divides the logits; 0 takes the likeliest token each time.

    Returns
    -------
    list of list of int
        The new tokens only, end token included.
    """
    torch = need("torch")
    model, pad, ends = policy.model, policy.tokenizer.pad_token_id, policy.end_ids
    width = max(map(len, contexts))
    # Padded on the left, so that all rows go on at the same place; positions do not count the padding.
    ids = torch.tensor([[pad] * (width - len(c)) + c for c in contexts], device=model.device)  # (n, width)
    seen = torch.tensor([[0] * (width - len(c)) + [1] * len(c) for c in contexts], device=model.device)
    position, cache, new = (seen.cumsum(-1) - 1).clamp(min=0), None, []
    end, done = (
        torch.tensor(ends, device=model.device),
        torch.zeros(len(ids), 1, dtype=torch.bool, device=model.device),
    )
    with torch.no_grad(), policy.autocast():
        for _ in range(max_new):
            state = {"attention_mask": seen, "position_ids": position, "cache": cache, "use_cache": True}
            out = model(input_ids=ids, logits_to_keep=1, **state)
            logits, cache = out.logits[:, -1].float(), out.cache  # (n, vocabulary)
            if temperature:
                chosen = torch.multinomial(torch.softmax(logits / temperature, -1), 1)  # (n, 1)
            else:
                chosen = logits.argmax(-1, keepdim=True)
            ids = torch.where(done, pad, chosen)
            new.append(ids)
            done = done | torch.isin(chosen, end)
            if done.all():
                break
            position = seen.sum(-1, keepdim=True)
            seen = torch.cat([seen, torch.ones_like(ids)], 1)
    return [_up_to_end(row, ends) for row in torch.cat(new, 1).tolist()]


def _up_to_end(row: list[int], ends: list[int]) -> list[int]:
    at = min((row.index(end) for end in ends if end in row), default=len(row) - 1)
    return row[: at + 1]


def play(
    policy: Policy,
    rows: Rows,
    environment: Environment | None = None,
    *,
    max_tokens: int = 64,
    max_turns: int = 5,
    temperature: float = 1.0,
) -> list[Episode]:
    """Let the policy work on each row.

    Parameters
    ----------
    policy : Policy
    rows : sequence of dict
        With ``prompt`` as messages; the environment's ``reset`` gets all columns.
    environment : callable, optional
        Makes one environment per row; its public methods are the tools. Without one there is a single turn.
    max_tokens : int, default 64
        Limit of a completion over all its turns, the tool's tokens counted. A result that no longer fits, here or into
        the model's context, ends the episode, as in TRL.
    max_turns : int, default 5
        Limit of the assistant's turns; a call in the last one is not answered. TRL's ``max_tool_calling_iterations`` is
        one less.
    temperature : float, default 1.0
        As in `sample`.

    Returns
    -------
    list of Episode
        In the order of `rows`.
    """
    if environment and getattr(policy.tokenizer, "response_template", None) is None:
        check_template(policy.tokenizer)  # gives it one, as TRL's trainer does, or says that there is none
    episodes = [_start(policy, row, environment) for row in rows]
    live = episodes
    for turn in range(1, max_turns + 1):
        if not live:
            break
        room = max(max_tokens - len(e.completion) for e in live)
        written = sample(policy, [e.prompt + e.completion for e in live], room, temperature)
        calling = [e for e, ids in zip(live, written, strict=True) if _write(policy, e, ids, max_tokens)]
        live = [e for e in calling if turn < max_turns and _answer(policy, e, max_tokens)]
    return episodes


def _start(policy: Policy, row: dict[str, Any], environment: Environment | None) -> Episode:
    world = environment() if environment else None
    if world is not None:
        world.reset(**row)
    tools = _tool_schemas(type(world)) if world is not None else None
    render = policy.tokenizer.apply_chat_template
    ids = render(row["prompt"], tools=tools, add_generation_prompt=True, return_dict=True)["input_ids"]
    return Episode(ids, world=world, row=row)


@functools.lru_cache(maxsize=16)
def _tool_schemas(kind: type) -> list[dict[str, Any]]:
    """The tools as templates show them to the model; our own template leaves them out to keep prompts short."""
    schema = need("transformers.utils").get_json_schema
    return [schema(getattr(kind, name)) for name in _tool_names(kind)]


@functools.lru_cache(maxsize=16)
def _tool_names(kind: type) -> tuple[str, ...]:
    methods = (name for name, _ in inspect.getmembers(kind, inspect.isfunction))
    return tuple(m for m in methods if not m.startswith("_") and m not in ("reset", "get_reward"))


def _write(policy: Policy, episode: Episode, turn: list[int], max_tokens: int) -> bool:
    """Add what the model wrote; says whether it calls a tool."""
    turn = turn[: max_tokens - len(episode.completion)]
    if not turn:
        return False
    tools = None if episode.world is None else _tool_schemas(type(episode.world))
    message = read_turn(policy.tokenizer, turn, episode.prompt + episode.completion, tools)
    episode.completion += turn
    episode.own += [1] * len(turn)
    episode.messages.append(message)
    return episode.world is not None and bool(message.get("tool_calls"))


def _answer(policy: Policy, episode: Episode, max_tokens: int) -> bool:
    """Run the calls of the last turn and add the results; says whether they fit and the episode goes on."""
    calls = episode.messages[-1]["tool_calls"]
    results = [_use_tool(episode.world, call["function"]) for call in calls]
    suffix = tool_suffix(policy.tokenizer, results)
    length = len(episode.completion) + len(suffix)
    most = getattr(policy.model.config, "max_position_embeddings", None)
    if length > max_tokens or (most and len(episode.prompt) + length >= most):
        return False
    episode.completion += suffix
    episode.own += [0] * len(suffix)  # the tool's tokens: read, never learned
    episode.messages += results
    return True


def _use_tool(world: Any, call: dict[str, Any]) -> dict[str, Any]:
    """Run one call; what goes wrong is shown to the model, in the words TRL uses."""
    name, result = call["name"], None
    if name not in _tool_names(type(world)):
        result = {"error": f"Tool {name} not found."}
    else:
        try:
            result = getattr(world, name)(**call["arguments"])
        except Exception as error:  # the model's mistake is data, not a crash
            result = {"error": str(error)}
    return {"role": "tool", "name": name, "content": str(result)}
