"""Exercises of chapter 6: which rows survive, mend a converter, skip and count, marks to calls."""

from __future__ import annotations

from typing import Any

from rl_lab.check import Probe, exercise
from rl_lab.gsm8k import to_sft
from rl_lab.labs.formats import CLIPS, LESSON


@exercise("06.1", "How many survive?")
def _(answer: Any, t: Probe) -> None:
    t.value(
        answer,
        2,
        ask="the number of rows that are converted",
        why="1,200 and $15.50 are single numbers. A word and two values are not, and one question holds its answer.",
        hints={
            3: "Look at the question of the last row: what would a model learn from a prompt with the answer in it?",
            1: "A comma, a currency sign and decimals are all read: the label becomes 1200, or 15.50.",
            5: "Then a sentence could be a label. Which of the five could a completion ever be equal to?",
            4: "Number words are not read: no extractor of ours turns them into numbers either.",
        },
    )


def _hint(text: str, advice: str) -> tuple:
    return (lambda got: isinstance(got, str) and text in got, advice)


@exercise("06.2", "Mend a converter")
def _(answer: Any, t: Probe) -> None:
    hints = [
        _hint("<<", "A mark is still there. What may stand between << and >>, and what may not?"),
        _hint("####", "The label's mark is still there."),
        _hint("\n\n", "A blank line is left: many programs stop reading at one."),
        _hint("Final Answer:  ", "There is one space too many behind the colon: strip the label."),
        _hint("Answer: 1,2", "The label keeps its comma; a model that writes 1234 would never equal it."),
        _hint("1000+234", "The reasoning lost its commas as well; take them out of the label only."),
    ]
    expected = to_sft(CLIPS)["completion"]
    t.call(
        answer, CLIPS["answer"], expect=expected, why="One step a line, then the answer line.", hints=hints
    )
    t.call(
        answer,
        "Mon 2*3=<<2*3=6>>6, Tue 6*9=<<6*9=54>>54.\n#### 54",
        expect="Mon 2*3=6, Tue 6*9=54.\nFinal Answer: 54",
        why="Between two marks of one line stands text: a greedy pattern takes it along.",
        hints=hints,
    )
    t.call(
        answer,
        "1,000+234=<<1000+234=1234>>1,234 stamps.\n\n\n#### 1,234",
        expect="1,000+234=1,234 stamps.\nFinal Answer: 1234",
        why="No blank lines, and the label without separators.",
        hints=hints,
    )
    t.call(
        answer,
        "As 5 < 8, 8-5=<<8-5=3>>3.\n#### 3",
        expect="As 5 < 8, 8-5=3.\nFinal Answer: 3",
        why="Only marks go; a comparison stays.",
        hints=hints,
    )


_ROWS = [
    {"question": "Q0", "answer": "1,000+234=<<1000+234=1234>>1,234\n#### 1,234"},
    {"question": "Q1", "answer": "It is seven."},
    {"question": "Q2", "answer": "11-20=<<11-20=-9>>-9\n#### -9"},
    {"question": "Q3", "answer": "It depends.\n#### 3 or 4"},
    {"question": "Q4", "answer": "Nothing here.\n####"},
]


@exercise("06.3", "Skip and count")
def _(answer: Any, t: Probe) -> None:
    got = t.run(answer, _ROWS, why="rl_rows(rows) takes a list of raw rows.")
    t.that(
        isinstance(got, (tuple, list)) and len(got) == 2,
        "rl_rows(rows)",
        came_back=repr(got)[:120],
        expected="two lists: the RL rows and the numbers of those left out",
        why="Whoever calls it needs to know what is missing.",
    )
    done, skipped = got
    labels = [row.get("ground_truth") for row in done if isinstance(row, dict)]
    t.value(
        labels,
        ["1234", "-9"],
        ask="the ground_truth of the rows that are left",
        why="extract_ground_truth reads 1,234 and -9, and raises ValueError for the other three.",
        hints=[
            (
                lambda got: len(got) == 5,
                "All five came through: a sentence, two values and an empty text are no labels.",
            ),
            (
                lambda got: " 1,234" in got or "1,234" in got,
                "The label keeps its comma: a model that writes 1234 never equals it.",
            ),
        ],
    )
    t.value(
        skipped,
        [1, 3, 4],
        ask="the numbers of the rows left out, counted from 0",
        why="Three rows have no single number behind ####.",
        hints={(2, 4, 5): "Count from 0, as Python does."},
    )
    t.value(
        done[0].get("prompt"),
        [{"role": "user", "content": "Q0"}],
        ask="the first prompt",
        why="As messages, so that the trainer can apply the model's own template.",
        hints=[
            (
                lambda got: isinstance(got, str),
                "That is a text. Which model's marks should it wear? Leave that to the trainer.",
            )
        ],
    )
    t.that(
        all(set(row) == {"prompt", "ground_truth"} for row in done),
        "the fields of each RL row",
        came_back=", ".join(sorted({field for row in done for field in row})),
        expected="prompt, ground_truth",
        why="The solution stays at home.",
    )


@exercise("06.4", "From marks to calls")
def _(answer: Any, t: Probe) -> None:
    copied = "That result is copied from the mark. Let the calculator work out the expression."
    t.call(
        answer,
        CLIPS["answer"],
        expect=[("48/2", "24"), ("48+24", "72")],
        why="Two marks, two calls.",
        hints=[
            (
                lambda got: got and got[0][1] in (24, 24.0, "24.0"),
                'Results are texts as a calculator shows them: format_number makes "24" of 24.0.',
            )
        ],
    )
    t.call(
        answer,
        "2*3=<<2*3=6>>6 and 6*9=<<6*9=54>>54",
        expect=[("2*3", "6"), ("6*9", "54")],
        why="Two marks in one line are two calls.",
        hints=[(lambda got: len(got) == 1, "A greedy pattern ran from the first << to the last >>.")],
    )
    t.call(answer, "<<3*4=13>>13", expect=[("3*4", "12")], why=copied, hints={(("3*4", "13"),): copied})
    t.call(
        answer,
        LESSON["answer"],
        expect=[("12/60", "0.2"), ("0.2*50", "10")],
        why="Decimals are written short.",
    )
    t.call(answer, "No marks here.\n#### 7", expect=[], why="No marks, no calls.")
