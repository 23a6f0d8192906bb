"""What does the small model practise on? The running example's family, made from a seed.

An item costs 80 yuan, is sold at 75 % of its price, and a coupon takes off 5 yuan more: 80*0.75 = 60, 60-5 = 55.
The problems are :mod:`rl_lab.mdp`'s own. One triple (price, multiplier, coupon) in five is *held out*: it never
occurs in training, and the running example is among them.

>>> from rl_lab.mdp import EXAMPLE
>>> is_held_out(EXAMPLE)
True
>>> [message["role"] for message in tool_trace(EXAMPLE)]
['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant']

Standard library only: the data can be looked at without installing anything.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterable
from typing import Any

from rl_lab.answers import ANSWER_PREFIX
from rl_lab.calculator import format_number
from rl_lab.mdp import EXAMPLE, ShoppingProblem, sample_problem

__all__ = [
    "BUSY",
    "EXAMPLE",
    "demonstrations",
    "guess_trace",
    "is_held_out",
    "question",
    "retry_trace",
    "sample_problems",
    "to_problem",
    "to_rows",
    "tool_trace",
]

Message = dict[str, Any]
Trace = list[Message]

BUSY = "calculator busy"  # what a calculator that fails now and then says; see rl_lab.train.environment
WORDINGS = ("percent", "multiplier")


def is_held_out(problem: ShoppingProblem) -> bool:
    """Whether the problem's three numbers are kept out of all training data; one triple in five is."""
    percent_off = 100 - int(problem.multiplier * 100)
    return (int(problem.price) // 20 * 7 + percent_off // 5 * 3 + int(problem.coupon)) % 5 == 3


def sample_problems(n: int, seed: int, *, held_out: bool = False) -> list[ShoppingProblem]:
    """Draw problems with whole-yuan results, all from the training triples or all from the held-out ones.

    Parameters
    ----------
    n : int
        How many, 0 or more. The same problem can occur twice.
    seed : int
        The same seed draws the same problems.
    held_out : bool, default False
        True draws from the triples that never occur in training.

    Returns
    -------
    list of ShoppingProblem

    Examples
    --------
    >>> [p.gold for p in sample_problems(3, seed=1)] == [p.gold for p in sample_problems(3, seed=1)]
    True
    >>> all(is_held_out(p) for p in sample_problems(50, seed=2, held_out=True))
    True
    """
    if n < 0:
        raise ValueError(f"n must be 0 or more, got {n}; say how many problems to draw")
    rng, problems = random.Random(seed), []
    while len(problems) < n:
        problem = sample_problem(rng)
        if (
            rng.random() < 1 / 7
        ):  # the running example's own words, as often as each of the six things that are sold
            problem = dataclasses.replace(problem, item=EXAMPLE.item)
        if is_held_out(problem) == held_out:
            problems.append(problem)
    return problems


def question(problem: ShoppingProblem, wording: str = "percent") -> str:
    """Word the prompt.

    Parameters
    ----------
    problem : ShoppingProblem
    wording : {"percent", "multiplier"}
        "75 % of its price", as everywhere in the course, or "0.75 of its price": then the first calculation can be
        copied from the question, which a 135-million-parameter model learns in minutes.

    Examples
    --------
    >>> question(EXAMPLE, "multiplier")
    'An item costs 80 yuan, is sold at 0.75 of its price, and a coupon takes off 5 yuan more. What is paid?'
    """
    if wording not in WORDINGS:
        raise ValueError(f"wording must be one of {', '.join(WORDINGS)}, got {wording!r}")
    if wording == "percent":
        return problem.question
    percent = f"{format_number(problem.multiplier * 100)} %"
    return problem.question.replace(percent, format_number(problem.multiplier))


def tool_trace(problem: ShoppingProblem, wording: str = "percent") -> Trace:
    """A conversation that solves the problem with two calls of the calculator."""
    price, multiplier, coupon = (
        format_number(n) for n in (problem.price, problem.multiplier, problem.coupon)
    )
    return [
        _user(problem, wording),
        _call(f"{price}*{multiplier}"),
        _result(problem.charged),
        _call(f"{problem.charged}-{coupon}"),
        _result(problem.gold),
        _final(problem.gold),
    ]


def guess_trace(problem: ShoppingProblem, rng: random.Random, wording: str = "percent") -> Trace:
    """A conversation that answers at once, with the product only roughly worked out: plausible, and wrong."""
    return [_user(problem, wording), _final(_guess(problem, rng))]


def retry_trace(
    problem: ShoppingProblem, rng: random.Random, *, retry: bool, wording: str = "percent"
) -> Trace:
    """A conversation in which the calculator fails once: then it is called again, or the answer is guessed."""
    solved = tool_trace(problem, wording)
    at = rng.choice((1, 3))  # which of the two calls fails
    failed = [*solved[: at + 1], _result(f"error: {BUSY}")]
    return [*failed, *solved[at:]] if retry else [*failed, _final(_guess(problem, rng))]


def demonstrations(
    n: int,
    seed: int,
    *,
    tool_share: float = 0.3,
    failure_share: float = 0.0,
    retry_share: float = 0.2,
    wording: str = "percent",
) -> list[Trace]:
    """Conversations for SFT: some use the calculator, the others guess.

    Parameters
    ----------
    n : int
        Number of conversations.
    seed : int
        Of the problems, and of the choice between the kinds.
    tool_share : float, default 0.3
        Share (0 to 1) of conversations that call the calculator; the rest guess.
    failure_share : float, default 0.0
        Among those, the share in which the calculator fails once.
    retry_share : float, default 0.2
        Among *these*, the share that calls again; the others guess after the failure.
    wording : {"percent", "multiplier"}
        As in `question`.

    Returns
    -------
    list of list of dict
        Messages with the roles user, assistant (with ``tool_calls``) and tool.

    Examples
    --------
    >>> lengths = [len(trace) for trace in demonstrations(1000, seed=0)]
    >>> sorted(set(lengths)), 0.25 < lengths.count(6) / 1000 < 0.35
    ([2, 6], True)
    """
    for name, share in (
        ("tool_share", tool_share),
        ("failure_share", failure_share),
        ("retry_share", retry_share),
    ):
        if not 0 <= share <= 1:
            raise ValueError(f"{name} must be a share from 0 to 1, got {share}")
    rng, traces = random.Random(seed), []
    for problem in sample_problems(n, seed):
        if rng.random() >= tool_share:
            traces.append(guess_trace(problem, rng, wording))
        elif rng.random() < failure_share:
            traces.append(retry_trace(problem, rng, retry=rng.random() < retry_share, wording=wording))
        else:
            traces.append(tool_trace(problem, wording))
    return traces


def to_rows(problems: Iterable[ShoppingProblem], wording: str = "percent") -> list[dict[str, Any]]:
    """Rows for GRPO: the prompt as messages, and what environment and reward need to know.

    Examples
    --------
    >>> row = to_rows([EXAMPLE])[0]
    >>> row["ground_truth"], to_problem(row) == EXAMPLE
    ('55', True)
    """
    return [
        {
            "prompt": [_user(problem, wording)],
            "ground_truth": problem.gold,
            "price": str(problem.price),
            "multiplier": str(problem.multiplier),
            "coupon": str(problem.coupon),
            "item": problem.item,
        }
        for problem in problems
    ]


def to_problem(row: dict[str, Any]) -> ShoppingProblem:
    """Read the problem back from a row of `to_rows`; a missing column is an error that names it."""
    try:
        return ShoppingProblem(row["price"], row["multiplier"], row["coupon"], row.get("item", "An item"))
    except KeyError as error:
        raise ValueError(
            f"a row of the shopping task needs the column {error.args[0]!r}, got {', '.join(row)}; "
            "make rows with rl_lab.train.shopping.to_rows"
        ) from None


def _user(problem: ShoppingProblem, wording: str) -> Message:
    return {"role": "user", "content": question(problem, wording)}


def _call(expression: str) -> Message:
    function = {"name": "calc", "arguments": {"expression": expression}}
    return {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]}


def _result(text: str) -> Message:
    return {"role": "tool", "name": "calc", "content": text}


def _final(answer: str) -> Message:
    return {"role": "assistant", "content": f"{ANSWER_PREFIX} {answer}"}


def _guess(problem: ShoppingProblem, rng: random.Random) -> str:
    """The product worked out in the head: off by 1 yuan to 15 %, never exact."""
    charged = int(problem.charged)
    off = round(rng.uniform(1, 0.15 * charged + 1)) * rng.choice((-1, 1))
    guessed = charged + off - int(problem.coupon)
    return str(guessed if guessed > 0 else charged + abs(off) - int(problem.coupon))
