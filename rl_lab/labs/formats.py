r"""Lab 2: one problem as raw row, SFT row, RL row and tool trace (chapter 6).

>>> len(textbook_completion(CLIPS_SHORT)), len(textbook_completion(CLIPS)), to_rl(CLIPS)["ground_truth"]
(139, 156, '72')
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from typing import Any

from rl_lab.answers import ANSWER_PREFIX
from rl_lab.gsm8k import Problem, extract_ground_truth, strip_calc_marks, to_rl, to_sft, to_tool_trace
from rl_lab.rows import reasoning_lines

WIDTH = 78

CLIPS = Problem(  # the first training row of GSM8K (Cobbe et al. 2021, MIT licence), as it stands there
    question=(
        "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. "
        "How many clips did Natalia sell altogether in April and May?"
    ),
    answer=(
        "Natalia sold 48/2 = <<48/2=24>>24 clips in May.\n"
        "Natalia sold 48+24 = <<48+24=72>>72 clips altogether in April and May.\n"
        "#### 72"
    ),
)
CLIPS_SHORT = (
    Problem(  # the same row without the closing words "in April and May": the story ends at "in May."
        question=CLIPS.question.replace(" altogether in April and May?", " altogether?"),
        answer=CLIPS.answer.replace(" altogether in April and May.", " altogether."),
    )
)
LESSON = Problem(  # our wording of the same arithmetic as the second training row
    question="A piano teacher takes $12 an hour. What does a lesson of 50 minutes cost?",
    answer=(
        "A minute costs 12/60 = $<<12/60=0.2>>0.2.\nFifty minutes cost 0.2*50 = $<<0.2*50=10>>10.\n#### 10"
    ),
)


def textbook_completion(sample: Mapping[str, Any]) -> str:
    """The SFT completion as tutorials write it: an opening sentence, blank lines, and ChatML's end mark by hand.

    Parameters
    ----------
    sample : mapping
        A raw row.

    Returns
    -------
    str
        44 characters longer than that of :func:`rl_lab.gsm8k.to_sft`, on every row: 33 of opening, 1 line
        end, 10 of end mark.
    """
    steps = strip_calc_marks("\n".join(reasoning_lines(sample["answer"])))
    gold = extract_ground_truth(sample["answer"])
    return f"Let me solve this step by step.\n\n{steps}\n\n{ANSWER_PREFIX} {gold}<|im_end|>"


def loss_text(row: Mapping[str, Any]) -> str:
    """What a trainer's loss imitates in a converted row: all that the model is to write, and no tool's result.

    Parameters
    ----------
    row : mapping
        From ``to_sft``, ``to_rl`` or ``to_tool_trace``. An RL row has no completion, so nothing of it is
        imitated.

    Examples
    --------
    >>> [len(loss_text(row)) for row in (to_sft(CLIPS), to_rl(CLIPS))]
    [112, 0]
    """
    completion = row.get("completion", "")
    if isinstance(completion, str):
        return completion
    written = []
    for message in completion:
        if message["role"] == "assistant":
            calls = [json.dumps(call["function"]) for call in message.get("tool_calls", [])]
            written += [message["content"], *calls]
    return "".join(written)


def main() -> None:
    """Print the lab."""
    print("LAB 2: one problem, three formats (and a fourth)")
    for title, sample in (("the clips", CLIPS), ("the lesson", LESSON)):
        _print_problem(title, sample)
    _print_lengths()


def _print_problem(title: str, sample: Problem) -> None:
    sft, rl, trace = to_sft(sample), to_rl(sample), to_tool_trace(sample)
    _heading(f"Problem: {title}. The raw row, as it is stored")
    _field("question", sample.question)
    _field("answer", sample.answer)
    _heading("SFT row: the model sees the solution, the loss is on all of it")
    _field("prompt", sft["prompt"])
    _field("completion", sft["completion"])
    _heading("RL row: the checker keeps the answer, the model writes its own")
    _field("prompt", "the same, byte for byte" if rl["prompt"] == sft["prompt"] else rl["prompt"])
    _field("ground_truth", rl["ground_truth"])
    _heading("Tool trace: the calculator marks, listened to")
    for message in trace["completion"]:
        calls = [
            f"-> {c['function']['name']}({c['function']['arguments']['expression']!r})"
            for c in message.get("tool_calls", [])
        ]
        _field(message["role"], "\n".join([message["content"], *calls]))


def _print_lengths() -> None:
    _heading("Characters that the loss imitates / that the checker is told")
    print(f"  {'':<12}{'SFT':>6}{'tool trace':>12}{'RL':>6}   ground_truth")
    for title, sample in (("the clips", CLIPS), ("the lesson", LESSON)):
        rl = to_rl(sample)
        counts = [len(loss_text(row)) for row in (to_sft(sample), to_tool_trace(sample), rl)]
        print(f"  {title:<12}{counts[0]:>6}{counts[1]:>12}{counts[2]:>6}   {len(rl['ground_truth'])}")
    short, full = len(textbook_completion(CLIPS_SHORT)), len(textbook_completion(CLIPS))
    print(
        f"\n  As tutorials render the clips, with an opening sentence and an end mark:"
        f"\n  {full} characters, or {short} where the row is quoted without its last words."
    )


def _heading(text: str) -> None:
    print(f"\n{text}\n{'-' * min(len(text), WIDTH)}")


def _field(name: str, text: str) -> None:
    for i, line in enumerate(text.split("\n")):
        label = f"  {name:<13}" if i == 0 else " " * 15
        for j, piece in enumerate(textwrap.wrap(line, WIDTH - 15) or [""]):
            print(((label if j == 0 else " " * 15) + piece).rstrip())
