"""Exercises of chapter 7: predict a reward, attack one, defend your own in the arena, hand it to a trainer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rl_lab.arena import arena, attack
from rl_lab.check import Probe, exercise
from rl_lab.labs.rewards import SAMPLES
from rl_lab.rewards import accuracy_reward

SHORT = SAMPLES[0].text


@exercise("07.1", "What does it earn?")
def _(answer: Any, t: Probe) -> None:
    t.value(
        answer,
        1.02,
        tol=1e-6,
        ask="the reward of a right completion of 430 characters with seven step marks",
        why="The fine is 0.001 * (430 - 200) = 0.23, the bonus 0.05 * min(7, 5) = 0.25: 1 - 0.23 + 0.25.",
        hints={
            1.12: "Seven marks are there, but the cap pays five.",
            0.77: "That is the length part. Add the bonus for the steps.",
            0.82: "The fine counts only what lies beyond the target: 430 - 200.",
            1.25: "That is the bonus. Take the fine for the 230 characters beyond the target off.",
        },
    )


def _colleagues_reward(completion: str, gold: str) -> float:
    last_line = completion.strip().splitlines()[-1] if completion.strip() else ""
    return 1.0 if re.search(rf"\b{gold}\b", last_line) else 0.0


@exercise("07.2", "One completion for every gold answer")
def _(answer: Any, t: Probe) -> None:
    text = t.run(answer, why="one_for_all() takes nothing and returns one completion.")
    t.that(
        isinstance(text, str),
        "one_for_all()",
        came_back=repr(text)[:80],
        expected="a string",
        why="A completion is text.",
    )
    unpaid = [n for n in range(1, 101) if _colleagues_reward(text, str(n)) != 1.0]
    t.that(
        not unpaid,
        "colleagues_reward(one_for_all(), gold) for gold = 1 to 100",
        came_back=f"{100 - len(unpaid)} of 100 paid; the first that is not: {unpaid[0] if unpaid else ''}",
        expected="100 of 100 paid",
        why="It asks whether the gold number stands anywhere in the last line. What may a last line hold?",
    )
    fooled = [n for n in range(1, 101) if accuracy_reward(text, str(n)) == 1.0]
    t.that(
        len(fooled) <= 1,
        "accuracy_reward(one_for_all(), gold) for gold = 1 to 100",
        came_back=f"{len(fooled)} of 100 paid",
        expected="at most one",
        why="A hardened reward reads one answer, so no text can be right for two gold answers.",
    )


@exercise("07.3", "Write it, attack it, defend it")
def _(answer: Any, t: Probe) -> None:
    report = _try(t, attack, answer)
    for verdict in report.verdicts:
        one = verdict.attack
        t.that(
            verdict.passed,
            f"attack {one.name!r}: {_cut(one.completion)}, label {one.label!r}",
            came_back=f"{verdict.came_back} ({report.score} of {report.total} attacks handled)",
            expected=verdict.expected,
            why=one.lesson,
        )
    _expect_to_win(answer, t)


def _expect_to_win(answer: Any, t: Probe) -> None:
    """Long reasoning must win the arena, and win alone: no luck, so the prices decide."""
    result = _try(t, lambda reward: arena(reward, ability=0.6, group_size=None), answer)
    came_back = f"{' and '.join(result.leaders)} won, right {result.accuracy[-1]:.0%}"
    t.that(
        result.winner in ("long", "buried"),
        "arena(my_reward, group_size=None)",
        came_back=came_back,
        expected="long won, right at least 55%",
        why="Reasoning at length is right most often, and here it is priced out: a lower α or a longer target.",
    )
    t.that(
        result.leaders == ["long"] and result.accuracy[-1] >= 0.55,
        "arena(my_reward, group_size=None)",
        came_back=came_back,
        expected="long alone won, right at least 55%",
        why="The answer buried in 3,500 characters must earn less than the same reasoning without the filler.",
    )


def _try(t: Probe, put: Callable[[Any], Any], answer: Any) -> Any:
    """Put the reader's function to a test of the arena; what cannot be used at all is a finding."""
    if not callable(answer):
        t.run(answer)
    try:
        return put(answer)
    except Exception as error:  # whatever a learner's code raises is a finding
        t.that(
            False,
            "my_reward, as the arena calls it",
            came_back=f"{type(error).__name__}: {error}",
            expected="one finite number, or None, for each completion",
            why="my_reward(completion, gold) or my_batch(completions, ground_truth, **columns).",
        )


def _cut(completion: Any) -> str:
    text = repr(completion)
    return text if len(text) <= 70 else text[:50] + "…" + text[-18:]


@exercise("07.4", "In the trainer's form")
def _(answer: Any, t: Probe) -> None:
    texts, columns = [SHORT, "Final Answer: 60"], {"prompts": ["p", "p"], "trainer_state": None}
    why = "The trainer calls by keyword and wants one float per completion."
    rewards = t.run(answer, completions=texts, ground_truth=["55", "55"], why=why, **columns)
    t.that(
        isinstance(rewards, list) and len(rewards) == 2 and all(isinstance(r, float) for r in rewards),
        "my_batch(completions=[right, wrong], ground_truth=['55', '55'], prompts=…)",
        came_back=repr(rewards)[:80],
        expected="a list of two floats",
        why=why,
    )
    t.that(
        rewards[0] > rewards[1],
        "my_batch(completions=[right, wrong], ground_truth=['55', '55'])",
        came_back=repr(rewards),
        expected="more for the right one",
        why="Each completion is scored against its own label.",
    )
    t.call(
        answer,
        [SHORT, SHORT],
        [None, "55"],
        expect=[None, rewards[0]],
        why="A label that is missing must neither pay nor punish: None leaves the sample out.",
    )
    message = [{"role": "tool", "content": "55"}, {"role": "assistant", "content": SHORT}]
    t.call(
        answer,
        [message],
        ["55"],
        expect=[rewards[0]],
        why="Conversational prompts bring lists of messages: completion_text(completion) gives the text.",
    )
    tool_last = [{"role": "assistant", "content": None}, {"role": "tool", "content": "55"}]
    t.call(
        answer,
        [tool_last],
        ["55"],
        expect=[rewards[1]],
        why="Only the assistant counts, never what a tool wrote: completion_text(completion) knows.",
    )
    _expect_mismatch(answer, t)


def _expect_mismatch(answer: Any, t: Probe) -> None:
    called = "my_batch(4 completions, 3 labels)"
    try:
        came_back = repr(answer([SHORT] * 4, ["55"] * 3))[:80]
    except ValueError as error:
        t.that(
            "4" in str(error) and "3" in str(error),
            called,
            came_back=f"ValueError: {error}",
            expected="a ValueError that names 4 and 3",
            why="Whoever reads the error at night needs both numbers.",
        )
        return
    except Exception as error:  # whatever a learner's code raises is a finding
        came_back = f"{type(error).__name__}: {error}"
    t.that(
        False,
        called,
        came_back=came_back,
        expected="a ValueError that names 4 and 3",
        why="zip stops at the shorter list and says nothing.",
    )
