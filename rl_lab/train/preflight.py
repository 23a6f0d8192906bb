"""What can be known to be wrong before the first step? Everything here; a run that fails it does not start.

The commonest failure in public reports is a run whose reward, loss and gradient are 0 from the first step, found hours
later: a marker that the extractor does not know, a label column of another name, a parser that reads $1,234 as 234.
Scoring 8 gold completions and 8 corrupted ones finds them in a second.

>>> rows = [{"prompt": "What are 6 bags of 9?", "ground_truth": "54"}] * 8
>>> report = preflight(rows, "accuracy")
>>> report.gold_mean, report.corrupted_mean
(1.0, 0.0)
>>> preflight(rows, "format")
Traceback (most recent call last):
...
rl_lab.train.tool_checks.PreflightError: the reward pays a wrong answer: format gives 1 to 'Final Answer: 55' where \
the gold answer is 54; pay nothing without the right answer, or add a reward that checks it
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rl_lab._record import Record
from rl_lab.answers import ANSWER_PREFIX, parse_number
from rl_lab.calculator import format_number
from rl_lab.train.environment import ShoppingTools
from rl_lab.train.reward import guard, resolve
from rl_lab.train.shopping import to_problem, tool_trace
from rl_lab.train.tool_checks import PreflightError, check_environment, check_template

__all__ = ["PreflightError", "check_environment", "check_lengths", "check_template", "preflight"]

SHAPED = ("length", "step", "hybrid")  # rewards whose right answers need not earn exactly 1
Messages = list[dict[str, Any]]


def preflight(
    rows: Iterable[dict[str, Any]],
    reward: Any,
    *,
    environment: Callable[[], Any] | None = None,
    tokenizer: Any = None,
    args: Any = None,
    weights: Sequence[float] | None = None,
    shaped: bool | None = None,
    n: int = 8,
) -> Record:
    """Check data, reward, lengths, template and environment; refuse with reason and remedy.

    Parameters
    ----------
    rows : iterable of dict
        The training rows: ``prompt`` (text, or messages), ``ground_truth``, and what else reward and environment read.
    reward : str, callable, or a sequence of them
        As for training.
    environment : callable, optional
        The factory that the trainer gets.
    tokenizer, args : optional
        With them, prompts, gold completions and template are measured too; `args` is a ``GRPOConfig``.
    weights : sequence of float, optional
        One for each reward.
    shaped : bool, optional
        True: a right answer only has to earn more than a wrong one. By default so for the names "length", "step" and
        "hybrid"; every other reward must pay gold 1 and corrupted 0.
    n : int, default 8
        How many rows to score.

    Returns
    -------
    Record
        ``gold_mean``, ``corrupted_mean``, and ``checked``: one sentence for each thing found to be in order.

    Raises
    ------
    PreflightError
        At the first thing that is not.
    """
    listed = list(rows)
    _check_rows(listed, environment)
    names = [reward] if isinstance(reward, str) or callable(reward) else list(reward)
    relaxed = any(name in SHAPED for name in names if isinstance(name, str)) if shaped is None else shaped
    factors = [1.0] * len(names) if weights is None else [float(w) for w in weights]
    if not all(map(math.isfinite, factors)):
        raise PreflightError(f"the weights of the rewards must be finite numbers, got {factors}")
    report = _check_reward(listed[:n], resolve(names), factors, environment, relaxed)
    if environment is not None:
        report.checked += check_environment(environment)
    if tokenizer is not None:
        if environment is not None:
            report.checked += check_template(tokenizer)
        report.checked += _check_tokens(tokenizer)
        if args is not None:
            report.checked += check_lengths(listed, tokenizer, args, environment)
    return report


def _check_rows(rows: Sequence[dict[str, Any]], environment: Any) -> None:
    if not rows:
        raise PreflightError("there are no rows to train on; pass at least one")
    for column in ("prompt", "ground_truth"):
        if column not in rows[0]:
            raise PreflightError(
                f"the rows have no column {column!r}, they have {', '.join(rows[0])}; rename the column that holds the "
                f"{'question' if column == 'prompt' else 'gold answer'}"
            )
    if environment is not None and isinstance(rows[0]["prompt"], str):
        raise PreflightError(
            "tools need prompts as messages, got text; write [{'role': 'user', 'content': question}] for each prompt"
        )


def gold_completion(row: dict[str, Any], world: Any = None) -> Messages:
    """A completion that must earn everything: the row's own solution if it has one, else the gold answer announced."""
    if isinstance(world, ShoppingTools):
        return tool_trace(to_problem(row))[1:]
    told = row.get("completion")
    if told:
        return told if isinstance(told, list) else [{"role": "assistant", "content": str(told)}]
    return [{"role": "assistant", "content": f"{ANSWER_PREFIX} {row['ground_truth']}"}]


def corrupted_completion(row: dict[str, Any], i: int) -> Messages:
    """A wrong answer that a careless grader would pay: off by one, or the gold digits inside another number."""
    gold = parse_number(row["ground_truth"])
    if gold is None:
        raise PreflightError(
            f"the gold answer {row['ground_truth']!r} is not one number; mend the row, or leave it out and count it"
        )
    wrong = (format_number(gold + 1), f"1{format_number(abs(gold))}", f"{format_number(abs(gold))}9")[i % 3]
    return [{"role": "assistant", "content": f"{ANSWER_PREFIX} {wrong}"}]


def _check_reward(
    rows: Sequence[dict[str, Any]],
    functions: Sequence[Any],
    weights: Sequence[float],
    environment: Callable[[], Any] | None,
    shaped: bool,
) -> Record:
    golds, wrongs = [], []
    for i, row in enumerate(rows):
        wrong = corrupted_completion(row, i)
        worlds = [_world(environment, row) for _ in range(2)]
        gold = gold_completion(row, worlds[0])
        for completion, world, out in ((gold, worlds[0], golds), (wrong, worlds[1], wrongs)):
            _act(completion, world)
            out.append((_paid(completion, row, world, functions, weights), completion, row))
    name = " + ".join(getattr(f, "__name__", type(f).__name__) for f in functions)
    for paid, completion, row in wrongs:
        if paid > 1e-9 and not shaped:
            raise PreflightError(
                f"the reward pays a wrong answer: {name} gives {paid:g} to {_said(completion)!r} where the gold answer "
                f"is {row['ground_truth']}; pay nothing without the right answer, or add a reward that checks it"
            )
    most = max(paid for paid, _, _ in wrongs)
    for paid, completion, row in golds:
        if (abs(paid - 1) > 1e-6 and not shaped) or (shaped and paid <= most):
            raise PreflightError(
                f"the reward does not pay a right answer: {name} gives {paid:g} to {_said(completion)!r} where the "
                f"gold answer is {row['ground_truth']}; check the answer marker, the label column and the extractor"
            )
    gold_mean = sum(paid for paid, _, _ in golds) / len(golds)
    corrupted_mean = sum(paid for paid, _, _ in wrongs) / len(wrongs)
    paid = f"{len(golds)} gold completions {gold_mean:g} and {len(wrongs)} corrupted ones {corrupted_mean:g}"
    return Record(gold_mean=gold_mean, corrupted_mean=corrupted_mean, checked=[f"reward {name} pays {paid}"])


def _world(environment: Callable[[], Any] | None, row: dict[str, Any]) -> Any:
    if environment is None:
        return None
    # A calculator that lies must not make the reward look broken: the reward is checked with an honest one.
    world = getattr(environment, "honest", environment)()
    world.reset(**row)
    return world


def _act(completion: Messages, world: Any) -> None:
    for message in completion if world is not None else []:
        for call in message.get("tool_calls") or []:
            function = call["function"]
            getattr(world, function["name"])(**function["arguments"])


def _paid(
    completion: Messages, row: dict[str, Any], world: Any, functions: Sequence[Any], weights: Sequence[float]
) -> float:
    text = isinstance(row["prompt"], str)
    columns = {key: [value] for key, value in row.items() if key not in ("prompt", "completion")}
    columns |= {"environments": [world]} if world is not None else {}
    shown = completion[-1]["content"] if text else completion
    total = 0.0
    for function, weight in zip(functions, weights, strict=True):
        value = guard(function, sole=False)(
            prompts=[row["prompt"]], completions=[shown], completion_ids=[[]], **columns
        )[0]
        total += weight * (value or 0.0)
    return total


def _said(completion: Messages) -> str:
    return completion[-1]["content"][-80:]


def _check_tokens(tokenizer: Any) -> list[str]:
    if tokenizer.pad_token_id is None or tokenizer.pad_token_id == tokenizer.eos_token_id:
        raise PreflightError(
            f"pad token and end token must differ, got {tokenizer.pad_token!r} and {tokenizer.eos_token!r}: padding is "
            "kept out of the loss, and the model would never learn to stop; load_model gives a pad token of its own"
        )
    return [f"pad token {tokenizer.pad_token} and end token {tokenizer.eos_token} differ"]


def check_lengths(
    rows: Sequence[dict[str, Any]],
    tokenizer: Any,
    args: Any,
    environment: Callable[[], Any] | None = None,
    *,
    n: int = 64,
) -> list[str]:
    """Check that a gold completion, the tools' tokens included, fits into ``max_completion_length``."""
    limit, lengths, longest = args.max_completion_length, [], 0
    for row in rows[:n]:
        prompt = row["prompt"]
        completion = gold_completion(row, _world(environment, row))
        if isinstance(prompt, str):
            lengths.append(len(tokenizer(completion[-1]["content"])["input_ids"]) + 1)
            longest = max(longest, len(tokenizer(prompt)["input_ids"]))
            continue
        before = len(_ids(tokenizer, prompt, add_generation_prompt=True))
        lengths.append(len(_ids(tokenizer, [*prompt, *completion])) - before)
        longest = max(longest, before)
    fit = sum(length <= limit for length in lengths)
    if fit < 0.8 * len(lengths):
        raise PreflightError(
            f"only {fit} of {len(lengths)} gold completions fit into max_completion_length={limit} (the longest has "
            f"{max(lengths)} tokens, all turns and the tool's tokens counted): the others could never be rewarded; "
            "raise it"
        )
    room = getattr(tokenizer, "model_max_length", None)
    if room and longest + limit > room:
        raise PreflightError(
            f"a prompt of {longest} tokens and max_completion_length={limit} exceed the model's {room} positions; "
            "lower it"
        )
    return [
        f"{fit} of {len(lengths)} gold completions fit into max_completion_length={limit} (longest {max(lengths)})"
    ]


def _ids(tokenizer: Any, messages: Messages, **more: Any) -> list[int]:
    return tokenizer.apply_chat_template(messages, tokenize=True, return_dict=True, **more)["input_ids"]
