"""Exercises of chapter 16: how many examples fit, the same update on another card, the first remedy.

>>> from rl_lab.check import check
>>> check("16.1", 26).passed
True
"""

from __future__ import annotations

from typing import Any

from rl_lab.check import Probe, exercise

REMEDIES = ("smaller batch", "checkpointing", "LoRA", "more cards")


@exercise("16.1", "How many fit")
def _(answer: Any, t: Probe) -> None:
    t.value(
        answer,
        26,
        ask="the examples that fit at a time",
        why="0.9 x 24 = 21.6 GB may be used, 2 GB are always taken, and 19.6 / 0.75 = 26.1.",
        hints={
            28: "That leaves out the 2 GB of weights, gradients and optimiser.",
            29: "The trainer may use 90 % of the card, not all of it.",
            32: "Of the 24 GB a tenth stays free, and 2 GB are taken before the first example.",
            27: "26.1 is rounded down: the 27th example does not fit.",
        },
    )


@exercise("16.2", "The same update on another card")
def _(answer: Any, t: Probe) -> None:
    for arguments, expect, why in (
        (
            (32, 12, 1),
            (8, 4),
            "12 does not divide 32; 8 at a time and 4 passes are 32, and nothing above 8 works.",
        ),
        ((32, 16, 2), (16, 1), "Two cards have 16 examples each, and 16 fit: no accumulation is needed."),
        ((32, 64, 4), (8, 1), "Four cards share 32 examples: 8 each, even if 64 would fit."),
        ((30, 4, 2), (3, 5), "15 for each card: of the numbers up to 4, 3 is the largest that divides 15."),
        ((7, 4, 1), (1, 7), "7 is prime: one at a time, seven passes."),
    ):
        t.call(
            answer,
            *arguments,
            expect=list(expect),
            why=why,
            hints=[
                (
                    lambda a, at=arguments: _product(a) not in (None, at[0] / at[2]),
                    f"per device x accumulation x cards must be {arguments[0]}. {why}",
                ),
            ],
        )
    called = "your function(32, 8, 3)"
    came_back = t.run(answer, 32, 8, 3, why="32 examples cannot be shared by 3 cards: return None.")
    t.that(
        came_back is None,
        called,
        came_back=repr(came_back),
        expected="None",
        why="32 examples cannot be shared equally by 3 cards, whatever the accumulation.",
    )


@exercise("16.3", "The first remedy")
def _(answer: Any, t: Probe) -> None:
    runs = ("first_try", "long_texts", "all_of_it", "huge")
    t.that(
        isinstance(answer, dict) and all(answer.get(run) in REMEDIES for run in runs),
        "your remedies",
        came_back=repr(answer)[:160],
        expected=f"a dict with {', '.join(runs)}, each one of {', '.join(REMEDIES)}",
        why="Give each of the four runs one of the four remedies.",
    )
    for run, expect, why in (
        (
            "first_try",
            "smaller batch",
            "What fills the card are the activations of 64 examples, and fewer do as well.",
        ),
        (
            "long_texts",
            "checkpointing",
            "One example is the least there is; its activations are what can still shrink.",
        ),
        (
            "all_of_it",
            "LoRA",
            "Gradients and optimiser of 7 billion trained weights fill the card: freeze them.",
        ),
        ("huge", "more cards", "70 billion frozen weights in bf16 are 140 GB; a card holds 80."),
    ):
        # The expected value stays unsaid: it is the exercise.
        already = run == "first_try" and answer[run] in ("checkpointing", "LoRA")
        t.that(
            answer[run] == expect,
            f"the first remedy for {run!r}",
            came_back=repr(answer[run]),
            expected="",
            why="It is on already." if already else why,
        )


def _product(answer: Any) -> float | None:
    """Examples that one card sees in an update by what came back; None if it has another form."""
    try:
        per_device, accumulation = answer
        return per_device * accumulation
    except (TypeError, ValueError):
        return None
