r"""Why is this completion wrong? What recomputing its steps can tell, and what it cannot.

A step is a calculation with its result, ``80*0.75 = 60``, anywhere in the text. Each is recomputed exactly.
That decides whether a number was *calculated* wrongly. Whether the right calculation was *chosen* is not
visible in a number: with every step right and the answer wrong, the set-up is wrong by exclusion, and only
the question can hint at a misread number.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

from rl_lab._record import Record
from rl_lab.answers import Answer, find_answer, parse_number, same_number
from rl_lab.calculator import CalculatorError, evaluate, nearest
from rl_lab.rewards import completion_text, format_ok
from rl_lab.rows import plain_expression, states_value

ERROR_ACTIONS = {
    "correct": "nothing to do",
    "truncated": "raise the token limit, or train for shorter answers",
    "format": "show the format in the prompt, or SFT on it",
    "arithmetic": "give the model a calculator",
    "copy": "SFT on the format: the steps were right, the answer line was not",
    "reading": "check how the question is worded; better base model or more SFT data",
    "set-up": "more and more varied data, more samples, or a bigger model",
    "unknown": "ask for visible steps; without them nothing can be recomputed",
}
"""What each kind of error calls for."""

ERROR_KINDS = tuple(ERROR_ACTIONS)

# Everything before "=" that can belong to a calculation; x is a sign only between two numbers.
_RUN = re.compile(r"(?:[-+*/×÷−–().,0-9$€£¥% \t]|(?<=[0-9 )])[xX](?=[ \t]?[0-9($]))+$")
_STATED = re.compile(
    r"[ \t]*[$€£¥]?[ \t]*(-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+|[ ]?[0-9]*/[0-9]+)?|-?\.[0-9]+)[ \t]?(%?)"
)
# What may follow "=": the rest of a line of calculation, as in 2*4 + 3*6 = 8 + 18 = 26.
_RIGHT = re.compile(r"[-+*/×÷−–().,0-9$€£¥% \t]{1,80}")
# Before a run: its first operand is a word ("60 boxes x 1/2"), a variable ("n + 5") or a mixed number ("1 and 1/4").
_LOST = re.compile(r"(?:(?:^|[^A-Za-z])[A-Za-z]|\band|\bof)[ \t]*$")
_OPERATION = re.compile(r"[0-9)%][ \t]*[-+*/×÷−–xX][ \t]*[-(.$€£¥0-9]")
_NUMBER = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+")
# Numbers a solver brings along: halves and doubles, months, days, hours, minutes, percent.
_BROUGHT = {Decimal(n) for n in (0, 1, 2, 3, 4, 7, 10, 12, 24, 30, 52, 60, 100, 365, 1000)}
_LATEX = {"\\times": "×", "\\cdot": "×", "\\div": "÷"}


def recompute_steps(completion: Any) -> list[Record]:
    r"""Find every calculation with a result in a completion, and recompute it.

    Parameters
    ----------
    completion : str or list of messages
        What the model wrote.

    Returns
    -------
    list of Record
        In order: ``expression``, ``stated``, ``value`` (exact result as a float), ``ok``, and ``carried``:
        the value this step would have had if every result before it had been right, where a later step uses
        an earlier result by its stated number. (If that number also stands in the question, a use of the
        question's is taken for a use of the result.)

    Examples
    --------
    >>> steps = recompute_steps("80*0.75 = 62, then 62 - 5 = 57. Final Answer: 57")
    >>> [(s.expression, s.stated, s.value, s.ok, s.carried) for s in steps]
    [('80*0.75', '62', 60.0, False, 60.0), ('62 - 5', '57', 57.0, True, 55.0)]
    """
    text = completion_text(completion)
    for command, sign in _LATEX.items():
        text = text.replace(command, sign)
    steps: list[Record] = []
    right: dict[Fraction, Fraction] = {}  # stated result -> what it should have been
    for equals in re.finditer("=", text):
        run = _RUN.search(text, max(0, equals.start() - 120), equals.start())
        stated = _STATED.match(text, equals.end())
        lost = run and _LOST.search(text, max(0, run.start() - 8), run.start())
        found = _expression(run[0]) if run and stated and not lost else None
        if found is None:
            continue
        expression, value = found
        carried = _carried(expression, right, value)
        ok = _says(stated, expression, value) or _right_side(text, equals.end()) == value
        steps.append(
            Record(
                expression=expression, stated=stated[1], value=nearest(value), ok=ok, carried=nearest(carried)
            )
        )
        if not ok or carried != value:  # else the stated number stands, rounded as it may be
            # Keyed without its sign: in "-2 - 4" the number that is found is 2.
            said = _mixed(stated[1])
            right[abs(said)] = carried if said >= 0 else -carried
    return steps


def classify_error(
    completion: Any, gold: Any, *, question: str | None = None, truncated: bool = False
) -> Record:
    r"""Name the first thing that went wrong in a completion.

    Parameters
    ----------
    completion : str or list of messages
        What the model wrote.
    gold : str or number
        The right answer.
    question : str, optional
        Lets numbers be traced: without it no error is ever called ``"reading"``.
    truncated : bool
        Whether generation stopped at the token limit.

    Returns
    -------
    Record
        ``kind``, one of :data:`ERROR_KINDS`; ``detail``, the evidence in words; ``answer`` (or None);
        ``steps`` as from :func:`recompute_steps`; ``fixed_by_calculator``: would the answer be right if every
        result had been calculated rightly?

    Raises
    ------
    ValueError
        If `gold` is no number, or `truncated` neither True nor False.
    TypeError
        If `question` is no text, or `completion` neither text, message list nor None.

    Notes
    -----
    Decided by recomputing: ``correct``, ``arithmetic`` (a step's result is wrong), ``copy`` (the steps reach
    the gold number, the answer line says another). Decided by the text: ``format`` (no single number is
    given, or the gold number is reached but never stated as the answer) and ``truncated``. A *hint* only:
    ``reading`` (a step uses a number that neither the question holds nor a step produced). By exclusion:
    ``set-up``. An answer that is wrong twice over is counted under the first of arithmetic, copy, reading,
    set-up.

    Examples
    --------
    >>> classify_error("80*0.75 = 62, 62 - 5 = 57.\nFinal Answer: 57", 55).kind
    'arithmetic'
    >>> result = classify_error("80 - 5 = 75, 75*0.75 = 56.25.\nFinal Answer: 56.25", 55)
    >>> result.kind, result.fixed_by_calculator
    ('set-up', False)
    """
    if parse_number(gold) is None:
        raise ValueError(f"gold must be one number, got {gold!r:.60}; repair or drop the row")
    if question is not None and not isinstance(question, str):
        raise TypeError(f"question must be text or None, got {type(question).__name__} {question!r:.60}")
    truncated = flag("truncated", truncated)
    text = completion_text(completion)
    found, steps = find_answer(text), recompute_steps(text)
    answer = found.value if found else None
    kind, detail = _kind(text, found, gold, steps, question, truncated)
    fixed = kind == "arithmetic" and _would_be(answer, steps, gold)
    return Record(kind=kind, detail=detail, answer=answer, steps=steps, fixed_by_calculator=fixed)


def flag(name: str, value: Any) -> bool:
    """Return a flag as a bool, or raise: every text is true to Python, the finish reason "stop" too."""
    if isinstance(value, str) or value not in (0, 1):
        raise ValueError(
            f"{name} must be True or False, got {value!r:.40}; it says finish_reason == 'length'"
        )
    return bool(value)


def answer_is_cut_off(text: str, found: Answer | None) -> bool:
    r"""Whether a completion that hit the token limit stopped before its answer was finished.

    An answer counts as finished if it stands behind a marker and the text goes on after it: a number at the
    very end may have been cut in two.

    Examples
    --------
    >>> text = "Final Answer: 72\nLet me check:"
    >>> answer_is_cut_off(text, find_answer(text)), answer_is_cut_off(text[:16], find_answer(text[:16]))
    (False, True)
    """
    if found is None or found.marker == "last_number":
        return True
    return found.end >= len(text.rstrip(" .*}$\n"))


def _kind(
    text: str, found: Answer | None, gold: Any, steps: list[Record], question: str | None, cut: bool
) -> tuple[str, str]:
    reached = any(same_number(step.stated, gold) for step in steps if step.ok)
    if cut and answer_is_cut_off(text, found):
        return "truncated", "the token limit came before a finished answer"
    if found is None:
        return "format", "no single number is given as the answer"
    if same_number(found.value, gold):
        return "correct", "" if format_ok(
            text
        ) else f"right, but read from {found.marker}, not from the answer line"
    if found.marker == "last_number" and reached:
        return "format", f"{gold} is reached but not stated as the answer"
    wrong = next((step for step in steps if not step.ok), None)
    if wrong:
        return "arithmetic", f"{wrong.expression} is not {wrong.stated}"
    if reached:
        return "copy", f"the steps reach {gold}, the answer says {found.value}"
    stray = _stray_number(steps, question)
    if stray:
        return "reading", f"uses {stray}, which the question does not hold"
    if steps:
        return "set-up", "every step is calculated rightly, but these steps do not lead to the answer"
    return "unknown", "no step is written down"


def _expression(run: str) -> tuple[str, Fraction] | None:
    """The calculation at the end of a run of signs: "1. 48/2" is a list number and 48/2.

    A run that starts with an operator has lost its first operand to a word ("20 apples + 3"): nothing to recompute.
    """
    pieces = run.strip().split()
    for start in range(len(pieces)):
        candidate = " ".join(pieces[start:])
        if not _OPERATION.search(candidate) or re.match(r"[+*/×÷xX]|[-−–](?![.0-9(])", candidate):
            return None
        try:
            return candidate, evaluate(plain_expression(candidate))
        except CalculatorError:
            continue
    return None


def _says(stated: re.Match[str], expression: str, value: Fraction) -> bool:
    """Whether the stated result is right; with a percent sign about, 0.6 may be written as 60 or 60%."""
    scales = (1, 100) if stated[2] or "%" in expression else (1,)
    if "/" in stated[1]:
        return any(_mixed(stated[1]) == value * scale for scale in scales)
    return any(states_value(stated[1], value * scale) for scale in scales)


def _right_side(text: str, start: int) -> Fraction | None:
    pieces = _RIGHT.match(text, start)[0].split()
    for end in range(len(pieces), 0, -1):
        try:
            return evaluate(plain_expression(" ".join(pieces[:end]).rstrip(".,")))
        except CalculatorError:
            continue
    return None


def _mixed(stated: str) -> Fraction:
    """The value of 24, 2/3 or 3 1/2; division by zero counts as zero, which no step states."""
    whole, _, fraction = stated.replace(",", "").rpartition(" ")
    try:
        return (evaluate(whole) if whole else Fraction(0)) + evaluate(fraction)
    except CalculatorError:
        return Fraction(0)


def _carried(expression: str, right: dict[Fraction, Fraction], value: Fraction) -> Fraction:
    def put_right(match: re.Match[str]) -> str:
        number = evaluate(match[0].rstrip(","))
        better = right.get(number, number)
        return match[0] if better == number else f"({better.numerator}/{better.denominator})"

    try:
        return evaluate(_NUMBER.sub(put_right, plain_expression(expression)))
    except CalculatorError:
        return value


def _would_be(answer: str | None, steps: list[Record], gold: Any) -> bool:
    last = next((step for step in reversed(steps) if same_number(step.stated, answer)), None)
    return last is not None and same_number(last.carried, gold)


def _stray_number(steps: list[Record], question: str | None) -> str:
    if question is None:
        return ""
    known = {_decimal(number) for number in _NUMBER.findall(question)} | _BROUGHT
    # 25% may appear as 0.25, or as the 0.75 that is left.
    known |= {number / 100 for number in known} | {1 - number / 100 for number in known}
    for step in steps:
        for number in _NUMBER.findall(step.expression):
            if _decimal(number) not in known:
                return number
        known.add(parse_number(step.stated))
    return ""


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))
