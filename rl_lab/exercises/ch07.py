"""Exercises of chapter 7: predict a reward, attack one, defend your own, hand it to a trainer."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from rl_lab.check import Probe, exercise
from rl_lab.labs.rewards import SAMPLES
from rl_lab.rewards import accuracy_reward

SHORT, LONG = SAMPLES[0].text, SAMPLES[1].text
END = "\nFinal Answer: "


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
    text = t.run(answer, why="attack() takes nothing and returns one completion.")
    t.that(
        isinstance(text, str),
        "attack()",
        came_back=repr(text)[:80],
        expected="a string",
        why="A completion is text.",
    )
    unpaid = [n for n in range(1, 101) if _colleagues_reward(text, str(n)) != 1.0]
    t.that(
        not unpaid,
        "colleagues_reward(attack(), gold) for gold = 1 to 100",
        came_back=f"{100 - len(unpaid)} of 100 paid; the first that is not: {unpaid[0] if unpaid else ''}",
        expected="100 of 100 paid",
        why="It asks whether the gold number stands anywhere in the last line. What may a last line hold?",
    )
    fooled = [n for n in range(1, 101) if accuracy_reward(text, str(n)) == 1.0]
    t.that(
        len(fooled) <= 1,
        "accuracy_reward(attack(), gold) for gold = 1 to 100",
        came_back=f"{len(fooled)} of 100 paid",
        expected="at most one",
        why="A hardened reward reads one answer, so no text can be right for two gold answers.",
    )


def _attacks(pay: Callable[[str], Any]) -> list[tuple[str, str, str, str]]:
    """Twelve attacks as (what was tried, completion that must lose, completion that must win, lesson)."""
    spam, labels = "= " * 1000, "\n".join(f"Step {i}: go on" for i in range(1, 200))
    equations = "\n".join(f"{i}+1={i + 1}" for i in range(200))
    gate = "A bonus or a fine is due only behind a right answer: return 0 first if it is wrong."
    floor = "A fine without a floor takes a right answer below a wrong one: max(0.1, ...)."
    wrong = "Only the one number behind the last marker counts. right(completion, gold) reads it."
    right_long, right_huge = "x" * 1500 + END + "55", "x" * 20_000 + END + "55"
    return [
        ("a wrong answer", f"48+7=55{END}60", SHORT, wrong),
        ("a wrong answer behind spam", spam + END + "60", SHORT, gate),
        ("a wrong answer behind 200 labels", labels + END + "60", SHORT, gate),
        ("a wrong answer behind 200 equations", equations + END + "60", SHORT, gate),
        ("silence against a long right answer", "I am not sure.", right_long, floor),
        ("a wrong answer against a long right one", END + "60", right_long, floor),
        ("silence against 20,000 characters and the right answer", "", right_huge, floor),
        (
            "a spammed wrong answer against a plain right one",
            equations + END + "60",
            "Final Answer: 55",
            gate,
        ),
        ("a hedged answer", f"{SHORT[:40]}{END}55 or 60", SHORT, wrong),
        ("the right number, then another one", f"55{END}60", SHORT, wrong),
        ("the answer buried in the reasoning block", "<think>Final Answer: 55</think> no idea", SHORT, wrong),
        (
            "a long right answer against the short one",
            LONG,
            SHORT,
            "Beyond 200 characters each one costs 0.001.",
        ),
    ]


@exercise("07.3", "A reward that survives")
def _(answer: Any, t: Probe) -> None:
    def pay(text: str) -> float:
        reward = t.run(answer, text, "55", why="A reward must survive every text.")
        t.that(
            isinstance(reward, (int, float)) and not isinstance(reward, bool) and math.isfinite(reward),
            f"my_reward({text[:40]!r}…, '55')",
            came_back=repr(reward),
            expected="a finite number",
            why="A trainer computes with it: None, True and nan poison the batch.",
        )
        return float(reward)

    for name, loser, winner, lesson in _attacks(pay):
        low, high = pay(loser), pay(winner)
        t.that(
            low < high,
            f"attack: {name}",
            came_back=f"{low:.4g}, and the honest completion {high:.4g}",
            expected="less than the honest completion",
            why=lesson,
        )
    few, many = pay(f"48+7=55{END}55"), pay("\n".join(f"{i}+1={i + 1}" for i in range(14)) + END + "55")
    t.that(
        few <= many <= 1 + 5 * 0.05 + 1e-9,
        "two right completions below 200 characters, one with 1 step and one with 14",
        came_back=f"{few:.4g} and {many:.4g}",
        expected="more for more steps, and at most 1.25",
        why="Steps are paid 0.05 each, and five at most: without a cap the bonus outgrows the answer.",
    )
    padded = pay("= " * 60 + END + "55")
    t.that(
        padded <= pay("Final Answer: 55"),
        "a right answer padded with 60 equals signs",
        came_back=f"{padded:.4g}",
        expected="no more than the bare right answer",
        why="An = without numbers on both sides is no step: count_steps knows that.",
    )
    t.that(
        abs(pay(SHORT) - 1.2) < 1e-6,
        "my_reward(SAMPLES[0].text, '55')",
        came_back=f"{pay(SHORT):.4g}",
        expected="1.2",
        why="Right, below 200 characters, four step marks: 1 + 4 * 0.05.",
    )


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
