"""Exercises of chapter 15: diagnose from symptoms, mend a settings dict, write a data audit.

>>> from rl_lab.check import check
>>> check("15.1", {"A": 2, "B": 3, "C": 4, "D": 7, "E": 8, "F": 6, "G": 1}).passed
True
"""

from __future__ import annotations

import copy
from typing import Any

from rl_lab.check import Probe, exercise
from rl_lab.footprint import footprint
from rl_lab.grpo import check_batch

# Letter: the pitfalls that fit, and what speaks against others that are near.
SYMPTOMS: dict[str, tuple[tuple[int, ...], dict[int, str]]] = {
    "A": (
        (2,),
        {3: "Nothing was allocated yet: it stops at the settings. What changed between the machines?"},
    ),
    "B": (
        (3,),
        {
            2: "A batch that cuts a group is refused at the settings, not by the GPU.",
            8: "It never came to a second task. How many tokens did SFT have in a pass, and how many has GRPO?",
        },
    ),
    "C": (
        (4,),
        {
            5: "A hacked reward rises. What does this one do, and which curve moved first?",
            7: "An extractor that disagrees gives 0 from the first step. This one began at 0.31.",
        },
    ),
    "D": (
        (7,),
        {
            4: "The KL is exactly 0: nothing has moved yet. Compare the completion with the gold.",
            5: "The reward does not rise at all. Compare the completion with the gold.",
            6: "It could be the data. But read how the answer is written, and what the extractor looks for.",
        },
    ),
    "E": (
        (8,),
        {5: "The held-out accuracy of what it trains on rises as well. What falls is something else."},
    ),
    "F": (
        (6,),
        {
            5: "The policy was not trained yet. Where can a score of 93 % come from before the first step?",
            7: "An extractor that disagrees makes a score too low, not too high.",
            8: "Nothing was trained yet, so nothing can be forgotten.",
        },
    ),
    "G": (
        (1, 5),
        {6: "Equals signs can be dirt. But these are paid: look at what the five have in common."},
    ),
}


@exercise("15.1", "Seven notes from a training log")
def _(answer: Any, t: Probe) -> None:
    t.that(
        isinstance(answer, dict) and set(answer) == set(SYMPTOMS),
        "pitfall",
        came_back=repr(answer)[:120],
        expected="a dict with the keys " + ", ".join(SYMPTOMS),
        why="One whole number from 1 to 8 for each note.",
    )
    for letter, (right, clues) in SYMPTOMS.items():
        number = answer[letter]
        t.that(
            isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= 8,
            f"note {letter}",
            came_back="nothing yet" if number is None else repr(number)[:60],
            expected="a number from 1 to 8",
            why="Ask first when it happens: at the settings, at the first step, in the curves, or on another test set.",
        )
        t.that(
            number in right,
            f"note {letter}",
            came_back=str(number),
            why=clues.get(
                number, "Read the numbers in the note again: which of them would that pitfall explain?"
            ),
        )


GROUP, COMPLETIONS, TOKENS, CARD = 8, 48, 512, 24e9


@exercise("15.2", "Make it fit")
def _(answer: Any, t: Probe) -> None:
    names = {
        "per_device": int,
        "accumulation": int,
        "num_generations": int,
        "completion_tokens": int,
        "lora": bool,
        "checkpointing": bool,
        "beta": (int, float),
    }
    t.that(
        isinstance(answer, dict) and set(answer) == set(names),
        "settings",
        came_back=repr(sorted(answer) if isinstance(answer, dict) else answer)[:150],
        expected="a dict with " + ", ".join(names),
        why="Change the values, and keep the names.",
    )
    for name, kind in names.items():
        fits = isinstance(answer[name], kind) and (kind is bool or not isinstance(answer[name], bool))
        t.that(
            fits and (kind is bool or answer[name] >= (0 if name == "beta" else 1)),
            f"settings[{name!r}]",
            came_back=repr(answer[name])[:60],
            expected="True or False" if kind is bool else "a number above 0",
            why="This setting is of another kind.",
        )
    t.that(
        (answer["num_generations"], answer["completion_tokens"]) == (GROUP, TOKENS),
        "group size and completion length",
        came_back=f"{answer['num_generations']} and {answer['completion_tokens']}",
        expected=f"{GROUP} and {TOKENS}, as they were",
        why="A smaller group saves nothing, and half of this model's good completions need the length.",
    )
    verdict = check_batch(answer["per_device"], 1, answer["accumulation"], GROUP)
    t.that(
        verdict.ok,
        f"TRL, asked about {answer['per_device']} per device and {answer['accumulation']} accumulated",
        came_back=f"generation_batch_size ({verdict.generation_batch}) must be divisible by num_generations ({GROUP}).",
        expected="whole groups",
        why=verdict.message,
    )
    t.that(
        verdict.effective == COMPLETIONS,
        "completions per step",
        came_back=str(verdict.effective),
        expected=str(COMPLETIONS),
        why="Fewer per device and more accumulation, so that their product stays what it was.",
    )
    t.that(
        answer["beta"] > 0,
        "the KL in the log",
        came_back="no entry",
        expected="an entry kl",
        why="At beta = 0 there is no reference model, and TRL logs no KL.",
    )
    need = _need(answer)
    t.that(
        need.peak < CARD,
        "the peak of Qwen2.5-1.5B with these settings",
        came_back=f"{need.peak / 1e9:.1f} GB",
        expected=f"below {CARD / 1e9:.0f} GB",
        why=_most(need, answer),
    )


def _need(answer: dict[str, Any]) -> Any:
    return footprint(
        "Qwen2.5-1.5B",
        per_device=answer["per_device"],
        steps=answer["accumulation"],
        completion_tokens=answer["completion_tokens"],
        mode="lora" if answer["lora"] else "full",
        checkpointing=answer["checkpointing"],
        reference=not answer["lora"],
    )


def _most(need: Any, answer: dict[str, Any]) -> str:
    """Where most of the memory goes, and what lowers that."""
    held = need.weights + need.gradients + need.optimizer
    if held > CARD:
        return (
            f"Weights, reference, gradients and optimizer alone take {held / 1e9:.1f} GB. No batch is small enough for "
            "that; train fewer parameters."
        )
    return (
        f"What the pass saves takes {need.activations / 1e9:.1f} GB for {answer['per_device']} completions per device. "
        "Take fewer, or save less of each."
    )


ROWS: list[tuple[str, str, str]] = [  # question, answer, fault ("" for none)
    ("What are 6 bags of 9 nuts?", "6*9=54\n#### 54", ""),
    ("What are 6 bags of 9 nuts?", "6*9=<<6*9=54>>54\n#### 54", "marks"),
    ("What are 9 bags of 6 nuts?", "9*6=54\n\n#### 54", "blank"),
    ("What are 9 bags of 6 nuts?", "9*6=54\n \t\n#### 54", "blank"),
    ("Tom &amp; Ann share 10 nuts. How many has each?", "10/2=5\n#### 5", "entities"),
    ("Fish &#36;4, chips &#36;3. Together?", "4+3=7\n#### 7", "entities"),
    ("Tom & Ann share 10; how many has each?", "10/2=5\n#### 5", ""),
    ("What are 9 bags of 6 nuts? (Answer: 54)", "9*6=54\n#### 54", "leak"),
    ("What are 10 bags of 123 nuts? The answer is 1,230.", "10*123=1230\n#### 1,230", "leak"),
    ("What are 3 bags of 5 nuts? The answer is below 155.", "3*5=15\n#### 15", ""),
    ("Tom has 12 eggs, eats 3 and gets 3. How many now?", "12-3+3=12\n#### 12", ""),
    ("Is 5 < 8, or 9 > 8? How many are true?", "Both.\n#### 2", ""),
]
NO_LEAK = (
    "The number is in the question, but nobody says that it is the answer (or it is part of another number)."
)
FAULTS = ("marks", "blank", "entities", "leak")


@exercise("15.3", "Write the audit")
def _(answer: Any, t: Probe) -> None:
    why = {
        "marks": "A calculator mark stands between << and >>.",
        "blank": "A line is blank if nothing but white space is on it.",
        "entities": "If html.unescape changes the text, there was an entity in it. A bare & is none.",
        "leak": "Announced by the word answer, a whole number, commas aside: 1,230 is the gold, 155 does not hold 15.",
        "": "This row has no fault of the four. Look at which count went up.",
    }
    for question, solution, fault in ROWS:
        row = {"question": question, "answer": solution}
        t.call(
            answer,
            [row],
            expect={name: int(name == fault) for name in FAULTS},
            why=why[fault],
            hints=None if fault else [(lambda counts: counts.get("leak") == 1, NO_LEAK)],
        )
    rows = [{"question": question, "answer": solution} for question, solution, _ in ROWS]
    before = copy.deepcopy(rows)
    t.call(
        answer,
        rows,
        expect={name: sum(fault == name for _, _, fault in ROWS) for name in FAULTS},
        why="All rows together: the counts add up.",
    )
    t.that(
        rows == before,
        "the rows that you were given, afterwards",
        came_back="changed",
        expected="as they were",
        why="An audit looks and does not touch.",
    )
    twice = {"question": "2+2? (Answer: 4)", "answer": "2+2=<<2+2=4>>4\n\n#### 4"}
    t.call(
        answer,
        [twice],
        expect={"marks": 1, "blank": 1, "entities": 0, "leak": 1},
        why="One row, three faults.",
    )
    t.call(answer, [], expect=dict.fromkeys(FAULTS, 0), why="No rows, no faults; every name is still there.")
