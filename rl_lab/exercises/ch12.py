"""Exercises of chapter 12: a doubtful calculator, when a habit has formed, the tool-call mask, an outcome reward."""

from __future__ import annotations

import functools
import random
from numbers import Real
from typing import Any

from rl_lab.check import Probe, exercise, is_ordered

# Mean over the recorded seeds of the tool rate in the last five steps (runs/12_half_lying_*.json); a test compares.
HALF_LYING_RATE = 0.92


@exercise("12.1", "A calculator that is wrong half of the time")
def _(answer: Any, t: Probe) -> None:
    t.that(
        answer is not None,
        "the tool rate at the end",
        came_back="nothing yet",
        expected="a share from 0 to 1",
        why="Compare what a call earns with what a guess earns, then put a number in.",
    )
    t.that(
        isinstance(answer, Real) and not isinstance(answer, bool) and 0 <= answer <= 1,
        "the tool rate at the end",
        came_back=repr(answer)[:60],
        expected="a share from 0 to 1",
        why="A rate is a share of the completions: 0.5 means half of them.",
    )
    why = (
        "Two calls are both right in a quarter of the episodes, and a guess is right in a few of a hundred. A tool "
        "need not be good to be worth calling, it must be better than what the policy does without it."
    )
    t.that(
        -0.15 <= answer - HALF_LYING_RATE <= 0.06,
        "the tool rate at the end",
        came_back=f"{float(answer):g}",
        expected="near what was measured",
        why=why if answer < HALF_LYING_RATE else "A little lower: single completions still guess.",
    )


@exercise("12.2", "When has the habit formed?")
def _(answer: Any, t: Probe) -> None:
    t.call(
        answer,
        [0.2, 0.4, 0.6, 0.8, 1.0, 1.0],
        0.9,
        3,
        expect=6,
        why="Means of three: 0.4 at step 3, then 0.6, 0.8, and 0.93 at step 6.",
        hints={
            None: "None says 'never'. The mean of the window must reach the level, not each rate in it: at step 6 "
            "it is 0.93. (Or is a return missing?)",
            5: "That is the first single rate above the level, or a position counted from 0. Steps count from 1.",
            4: "The window ends at the step that is reported; it does not start there.",
        },
    )
    t.call(
        answer,
        [0.3, 1.0, 0.4, 0.5, 0.6],
        0.9,
        3,
        expect=None,
        why="One lucky batch at step 2 is no habit: no three rates in a row have a mean of 0.9.",
    )
    t.call(
        answer,
        [1.0, 1.0, 1.0],
        0.9,
        3,
        expect=3,
        why="The window must be full: three steps are needed before the first mean.",
        hints={1: "A mean of one or two rates is not the mean of the last three."},
    )
    t.call(answer, [1.0, 1.0], 0.9, 3, expect=None, why="Two steps do not fill a window of three.")
    rng = random.Random(7)
    rates = [min(1.0, 0.2 + 0.02 * i + rng.uniform(-0.1, 0.1)) for i in range(60)]
    t.call(answer, rates, 0.8, 5, expect=_first(rates, 0.8, 5), why="Sixty noisy rates, a window of five.")


def _first(rates: list[float], level: float, window: int) -> int | None:
    for end in range(window, len(rates) + 1):
        if sum(rates[end - window : end]) / window >= level:
            return end
    return None


_CALL = ["<tool_call>", '{"name": "calc", …', "80", "*", "0.75", '"}}', "</tool_call>", "<|im_end|>"]
_RESULT = [
    "\n",
    "<|im_start|>",
    "user\n",
    "<tool_response>",
    "\n",
    "60",
    "\n",
    "</tool_response>",
    "<|im_end|>",
    "\n",
]
_NEXT = ["<|im_start|>", "assistant\n"]
_ANSWER = ["Final Answer: ", "60", "<|im_end|>"]


def _as_numbers(function: Any) -> Any:
    """The reader's function, with its mask as a list of numbers: bools and tensors are as good."""
    if not callable(function):
        return function

    @functools.wraps(function)
    def mask(tokens: list[str]) -> Any:
        got = function(tokens)
        return [int(one) for one in got] if is_ordered(got) else got

    return mask


@exercise("12.3", "Mask what the tool wrote")
def _(answer: Any, t: Probe) -> None:
    answer = _as_numbers(answer)
    t.call(
        answer,
        _ANSWER,
        expect=[1, 1, 1],
        why="Without a tool every token is the model's own, the end token too: it must learn to stop.",
        hints={
            (
                1,
                1,
                0,
            ): "The end token is written by the model: keep it in the loss, or it never learns to stop."
        },
    )
    t.call(
        answer,
        [*_CALL, *_RESULT, *_NEXT, *_ANSWER],
        expect=[1] * 8 + [0] * 12 + [1] * 3,
        why="After the end token the template and the tool write, until 'assistant\\n' hands the turn back.",
        hints=[
            (
                lambda a: list(a) == [1] * 8 + [0] * 11 + [1] * 4,
                "'assistant\\n' itself is written by the template; the model starts behind it.",
            ),
            (
                lambda a: list(a) == [1] * 7 + [0] * 13 + [1] * 3,
                "The end token of the call is the model's own: it decided to stop there.",
            ),
            (
                lambda a: len(a) == 23 and sum(a) > 11,
                "Some of the template's tokens count as the model's: line breaks and turn headers are not its own.",
            ),
            (
                lambda a: len(a) == 23 and list(a[20:]) == [0, 0, 0],
                "After 'assistant\\n' it is the model's turn again.",
            ),
        ],
    )
    twice = [*_CALL, *_RESULT, *_NEXT, *_CALL, *_RESULT, *_NEXT, *_ANSWER]
    t.call(
        answer,
        twice,
        expect=[1] * 8 + [0] * 12 + [1] * 8 + [0] * 12 + [1] * 3,
        why="Two calls, two results: the same rule, twice.",
    )
    t.call(
        answer,
        [*_CALL, *_RESULT],
        expect=[1] * 8 + [0] * 10,
        why="An episode that was cut off after a result ends in the tool's tokens.",
    )
    t.call(answer, [], expect=[], why="No tokens, no mask.")


def _say(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def _calls(expression: str) -> dict[str, Any]:
    function = {"name": "calc", "arguments": {"expression": expression}}
    return {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]}


def _bools(got: Any) -> bool:
    return isinstance(got, list) and any(isinstance(one, bool) for one in got)


def _tool(text: str) -> dict[str, Any]:
    return {"role": "tool", "name": "calc", "content": text}


@exercise("12.4", "Pay for the outcome of an episode")
def _(answer: Any, t: Probe) -> None:
    honest = [_calls("80*0.75"), _tool("60"), _calls("60-5"), _tool("55"), _say("Final Answer: 55")]
    cases = [
        (honest, "55", 1.0, "Two calls and the right answer."),
        (
            [_say("Final Answer: 55")],
            "55",
            1.0,
            "Right without the tool is right: the outcome is paid, not the way.",
        ),
        ([*honest[:-1], _say("Final Answer: 60")], "55", 0.0, "The tool said 55, the answer says 60."),
        (
            honest[:-1],
            "55",
            0.0,
            "The last message is the tool's. Nothing was answered, though 55 stands there.",
        ),
        (
            [*honest[:-1], _calls("55*1")],
            "55",
            0.0,
            "The last message is a call: the episode was cut off before an answer.",
        ),
        ([_say("Final Answer: 155")], "55", 0.0, "155 contains 55. Compare numbers, never texts."),
        ([_say("Final Answer: 55.00")], "55", 1.0, "55.00 is 55. Compare numbers, never texts."),
        (
            [_say("Final Answer: 1,055")],
            "1055",
            1.0,
            "People and models write 1,055; find_answer reads it.",
        ),
        ([_say("I think 55, but I am not sure.")], "55", 0.0, "No 'Final Answer:' was announced."),
        ([], "55", 0.0, "An empty completion answers nothing."),
        (
            [_calls("60-5"), _tool("Final Answer: 55")],
            "55",
            0.0,
            "The tool's message says 'Final Answer: 55'. Only the assistant's own words are an answer.",
        ),
        (
            [_calls("60-5") | {"content": "Final Answer: 55"}],
            "55",
            0.0,
            "The last message is a call, whatever stands beside it: the episode is not over.",
        ),
        (
            [_say("Final Answer: 55"), _calls("60-5"), _tool("55"), _say("Done.")],
            "55",
            0.0,
            "Only the last message counts. Joining the messages pays an answer that was not the last word.",
        ),
    ]
    for messages, gold, expect, why in cases:
        t.call(
            answer,
            completions=[messages],
            ground_truth=[gold],
            environments=[None],
            expect=[expect],
            why=why,
            hints=[(_bools, "Right or wrong is a bool; a reward is a number: return 1.0 or 0.0.")],
        )
    t.call(
        answer,
        completions=[honest, [_say("Final Answer: 60")]],
        ground_truth=["55", "55"],
        prompts=["", ""],
        expect=[1.0, 0.0],
        why="One reward for each completion, in order; TRL passes further columns, which **columns takes.",
    )
