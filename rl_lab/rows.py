r"""What does one GSM8K row hold, and what of it can be trusted?

A row is two texts. The answer text mixes three things: sentences, calculator marks ``<<48/2=24>>``, and the
number after ``####``. Everything here reads one row; :mod:`rl_lab.gsm8k` turns rows into training formats.

>>> answer = "Natalia sold 48/2 = <<48/2=24>>24 clips in May.\n#### 24"
>>> extract_ground_truth(answer)
'24'
>>> strip_calc_marks(answer).splitlines()[0]
'Natalia sold 48/2 = 24 clips in May.'

References
----------
Cobbe et al. (2021), "Training Verifiers to Solve Math Word Problems", arXiv:2110.14168: the data and its marks.
"""

from __future__ import annotations

import html
import numbers
import re
import unicodedata
from collections.abc import Iterable, Mapping
from decimal import Decimal
from html.entities import html5

from rl_lab._marks import (
    CURRENCY,
    NUMBER,
    calc_marks,
    check_calc_marks,
    plain_expression,
    states_value,
    strip_calc_marks,
)
from rl_lab.answers import parse_number
from rl_lab.calculator import format_number

__all__ = [
    "LABEL_KEYS",
    "Problem",
    "calc_marks",
    "check_calc_marks",
    "clean_text",
    "extract_ground_truth",
    "find_leak",
    "has_html_entities",
    "label_of",
    "last_number",
    "number_label",
    "plain_expression",
    "reasoning_lines",
    "states_value",
    "strip_calc_marks",
]

LABEL_KEYS = ("ground_truth", "target", "label")  # where sets in GSM8K's style keep a separate label

_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_LINE_ENDS = re.compile(r"\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# Soft hyphen, zero width and direction characters.
_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]")
_UNUSUAL = re.compile(r"[^\n\x20-\x7e]")
_BLANKS = re.compile(r" {2,}")
_NUMBER_IN_TEXT = re.compile(r"-?[0-9][0-9,]*(?:\.[0-9]+)?|-?\.[0-9]+")
_STATED_ANSWER = re.compile(
    rf"(?:####|\\boxed\{{|\b(?:final )?(?:answer|ans|solution)\b\.?\*{{0,3}}\s?(?:is|:|=))"
    rf"\s{{0,4}}\*{{0,3}}[{CURRENCY}]?\s?(?P<number>-?{NUMBER})",
    re.IGNORECASE,
)
_RESULT = re.compile(rf"= ?[{CURRENCY}]?(?P<number>-?{NUMBER})")
_OPERATION_BEFORE = re.compile(rf"[0-9)%] ?[-+*/×÷−x] ?[(.{CURRENCY}]*[0-9][0-9.,]*[)% ]*$")


class Problem(dict):
    r"""One row: a plain dict with ``question`` and ``answer``, plus what follows from them.

    Examples
    --------
    >>> row = Problem(question="What are 6 bags of 9 nuts?", answer="6*9=<<6*9=54>>54\n#### 54")
    >>> row.steps, row.gold, row["question"]
    (1, '54', 'What are 6 bags of 9 nuts?')
    """

    @property
    def question(self) -> str:
        """The problem text as it stands in the row."""
        return self["question"]

    @property
    def answer(self) -> str:
        """The solution text as it stands in the row, marks and ``####`` included."""
        return self["answer"]

    @property
    def steps(self) -> int:
        """Number of solution steps: lines of reasoning that are not blank (GSM8K writes one step a line)."""
        answer = self.get("answer")
        return len(reasoning_lines(answer)) if isinstance(answer, str) else 0

    @property
    def gold(self) -> str:
        """The final answer as a number text; see :func:`label_of`."""
        return label_of(self)


def number_label(value: object) -> str:
    """Write a label as one plain number, or refuse it.

    Parameters
    ----------
    value : str or number
        What :func:`rl_lab.answers.parse_number` reads: a text with a currency sign, thousands separators, a final full
        stop, a unit, any of the usual minus signs; or an int, a float, a ``Decimal``.

    Returns
    -------
    str
        ASCII digits with an optional leading ``-`` and at most one point. The decimals of a text stay as written
        (``"72.0"``; equality is decided numerically); a number loses its idle decimals (``72.0`` gives ``"72"``).

    Raises
    ------
    ValueError
        If the text holds no number or more than one, or the number is infinite or NaN.
    TypeError
        If `value` is neither text nor a number.

    Examples
    --------
    >>> [number_label(v) for v in ("$1,500.", "72 clips", "\u22129", -1250.0, ".50")]
    ['1500', '72', '-9', '-1250', '0.50']
    >>> number_label("70 or 72")
    Traceback (most recent call last):
    ...
    ValueError: a label must be one plain number, got '70 or 72'; write it as a whole number or a decimal
    """
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()  # a numpy scalar
    if not isinstance(value, str):
        return format_number(value)  # type: ignore[arg-type]  # refuses other kinds itself
    number = parse_number(value)
    if number is None:
        raise ValueError(
            f"a label must be one plain number, got {value[:60]!r}; write it as a whole number or a decimal"
        )
    return format(number if number else abs(number), "f")  # -0 is 0


def extract_ground_truth(answer: str, *, row: int | None = None) -> str:
    """Read the number behind the last ``####`` of a solution.

    Parameters
    ----------
    answer : str
        GSM8K's answer field. Of several ``####`` the last one counts: it closes the solution.
    row : int, optional
        Number of the row, for the message of an error.

    Returns
    -------
    str
        The number as :func:`number_label` writes it.

    Raises
    ------
    ValueError
        If there is no ``####`` or no single number behind it. A row without a label can never be rewarded, so it must
        not slip through as an empty string.
    TypeError
        If `answer` is not text.

    Examples
    --------
    >>> [extract_ground_truth(a) for a in ("####72", "####   $1,500.", "#### 72.0", "#### -9")]
    ['72', '1500', '72.0', '-9']
    """
    where = "answer" if row is None else f"row {row}: answer"
    if not isinstance(answer, str):
        raise TypeError(
            f"{where} must be text, got {type(answer).__name__} {answer!r:.60}; pass the answer field"
        )
    if "####" not in answer:
        raise ValueError(f"{where} must end in '#### <number>', got {answer[-60:]!r}; add it or drop the row")
    label = _LINE_ENDS.sub("\n", answer.rpartition("####")[2]).strip().partition("\n")[0]
    try:
        return number_label(strip_calc_marks(label))
    except ValueError as error:
        raise ValueError(f"{where} must have a number after '####': {error}") from None


def label_of(sample: Mapping[str, object]) -> str:
    """The label of a row: its field ``ground_truth``, ``target`` or ``label``, else the number after ``####``.

    An ``answer`` that is itself a number, as in sets without solutions, is a label too. An answer *text* without
    ``####`` is not, even if it holds a number: it may be a solution.

    Raises
    ------
    ValueError
        If there is no label, or two that disagree.

    Examples
    --------
    >>> label_of({"question": "Q", "answer": "reasoning", "target": -1250.0})
    '-1250'
    >>> label_of({"question": "Q", "answer": 54.0})
    '54'
    """
    given = {key: number_label(sample[key]) for key in LABEL_KEYS if sample.get(key) is not None}
    answer = sample.get("answer")
    if isinstance(answer, str) and "####" in answer:
        given["answer"] = extract_ground_truth(answer)
    elif is_number(answer):
        given["answer"] = number_label(answer)
    if not given and isinstance(answer, str):
        return extract_ground_truth(answer)  # raises, and says why
    if not given:
        raise ValueError(
            f"a row must have a label: '#### <number>' in answer or one of {', '.join(LABEL_KEYS)}"
        )
    if len({Decimal(label) for label in given.values()}) > 1:
        raise ValueError(f"a row must have one label, got {given}; decide which is right or drop the row")
    return next(iter(given.values()))


def is_number(value: object) -> bool:
    """Whether a field holds a number, and not a text or a flag.

    Examples
    --------
    >>> [is_number(value) for value in (54, 54.0, "54", True, None)]
    [True, True, False, False, False]
    """
    return isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, bool)


def reasoning_lines(answer: str) -> list[str]:
    r"""The lines before the last ``####`` that are not blank, marks still in them.

    Examples
    --------
    >>> reasoning_lines("First 4*10=<<4*10=40>>40.\n\n\nThen 40-10=<<40-10=30>>30.\n#### 30")
    ['First 4*10=<<4*10=40>>40.', 'Then 40-10=<<40-10=30>>30.']
    """
    body = answer.rpartition("####")[0] if "####" in answer else answer
    lines = (line.strip().removeprefix("####").strip() for line in body.split("\n"))
    return [line for line in lines if line]


def clean_text(text: str) -> str:
    r"""Repair what scraping leaves behind, without touching the words.

    HTML entities are unescaped exactly once (``&amp;lt;`` is ``&lt;`` afterwards, because that is what the page
    showed), and only with their semicolon; line ends become ``\n`` and blank lines go; no-break spaces, tabs and
    runs of spaces become one space; control, zero-width and direction characters go.

    Because it unescapes, it must run once on a text. :mod:`rl_lab.gsm8k` runs it while converting a row, never
    while loading.

    Examples
    --------
    >>> clean_text("Tom &amp; Ann share 5 &lt; 8 cakes &#8211; who wins?")
    'Tom & Ann share 5 < 8 cakes – who wins?'
    >>> clean_text("one\u00a0 two \r\n\n\nthree")
    'one two\nthree'
    """
    if not isinstance(text, str):
        raise TypeError(
            f"text must be a str, got {type(text).__name__} {text!r:.60}; pass one field of the row"
        )
    text = _ENTITY.sub(_unescaped, text)
    text = _UNSEEN.sub("", _LINE_ENDS.sub("\n", text))
    text = _UNUSUAL.sub(lambda character: _plain_character(character[0]), text)
    lines = (_BLANKS.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def has_html_entities(text: str) -> bool:
    """Whether :func:`clean_text` would unescape something.

    Examples
    --------
    >>> has_html_entities("Tom &amp; Ann"), has_html_entities("Tom & Ann; 5 &lt 8")
    (True, False)
    """
    return any(_unescaped(entity) != entity[0] for entity in _ENTITY.finditer(text))


def find_leak(question: str, gold: str, lines: Iterable[str] = ()) -> str:
    """How the question gives its own answer away; empty if it does not.

    A number of the question that happens to equal the answer is no leak (531 of GSM8K's 8,792 rows have one). A
    label mark, a stated answer, a calculation with the answer as its result or a copied step is.

    Examples
    --------
    >>> find_leak("What are 6 bags of 9 nuts? (Answer: 54)", "54")
    "it states the answer ('Answer: 54')"
    >>> find_leak("Ana has 54 nuts and gets 0 more. How many are there?", "54")
    ''
    """
    for stated in _STATED_ANSWER.finditer(question):
        if parse_number(stated["number"]) == Decimal(gold):
            return f"it states the answer ({stated[0]!r})"
    for result in _RESULT.finditer(question):
        before = question[max(0, result.start() - 40) : result.start()]
        if parse_number(result["number"]) == Decimal(gold) and _OPERATION_BEFORE.search(before):
            return f"it works out the answer ({question[max(0, result.start() - 10) : result.end()]!r})"
    mark = next((mark for mark in calc_marks(question) if mark.stated), None)
    if mark:
        return f"it holds a calculator mark ({question[mark.start : mark.end]!r})"
    copied = next((line for line in lines if "=" in line and len(line) >= 15 and line in question), None)
    return f"it holds a step of the solution ({copied[:40]!r})" if copied else ""


def last_number(text: str) -> Decimal | None:
    """The last string of digits in a text, or None: how most quick scripts read an answer.

    Deliberately plain (of ``2:00`` it reads 0, of ``1/3`` 3): the audit counts how often it fails on gold solutions.

    Examples
    --------
    >>> last_number("She packs 1,234 boxes, which is everything.")
    Decimal('1234')
    """
    found = _NUMBER_IN_TEXT.findall(text)
    return Decimal(found[-1].replace(",", "")) if found else None


def _unescaped(entity: re.Match[str]) -> str:
    # html.unescape alone would read the start of an unknown name: "&notes;" as "&not" and "es;".
    known = entity[0][1] == "#" or entity[0][1:] in html5
    return html.unescape(entity[0]) if known else entity[0]


def _plain_character(character: str) -> str:
    kind = unicodedata.category(character)
    if kind == "Zs" or character == "\t":
        return " "
    return "" if kind in ("Cc", "Cs") else character
