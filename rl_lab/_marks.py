"""What do GSM8K's calculator marks ``<<48/2=24>>`` say, and is it true?

The public names are in :mod:`rl_lab.rows` and :mod:`rl_lab.gsm8k`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction

from rl_lab._record import Record
from rl_lab.calculator import MAX_LENGTH, CalculatorError, evaluate, nearest

CURRENCY = "$€£¥￥₹"
NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
MAX_NESTED = 50  # marks around one another; GSM8K has none
_MARK = re.compile(r"<<([^<>\n]*)>>")
# Inside a mark stands a calculation: with its result behind "=", or bare. "5 << 8 and 9 >> 6" is no mark.
_INSIDE = re.compile(rf"(?=.*[0-9])(?:.*=.*|[-+*/×÷−x().,0-9% {CURRENCY}]*)")
_SIGNED = re.compile(rf"([-−]?)[{CURRENCY}]?([-−]?)({NUMBER})")


def strip_calc_marks(text: str) -> str:
    """Take the calculator marks out of a solution and nothing else.

    GSM8K writes the result behind its mark (``<<48/2=24>>24``). Where a set does not, the result takes the
    mark's place, so that no number is lost. What is no mark stays: angle brackets around words, a mark that is
    cut or broken, a mark without a result that the text does not give either. Marks within marks go as well, from the
    inside out, so a second call changes nothing; a text with more than 50 of them around each other stays as it is.

    Examples
    --------
    >>> strip_calc_marks("6*9=<<6*9=54>>54 nuts")
    '6*9=54 nuts'
    >>> strip_calc_marks("She has <<6*9=54>> nuts; 5 < 8."), strip_calc_marks("<<2*<<3+4=7>>7=14>>14")
    ('She has 54 nuts; 5 < 8.', '14')
    """
    left, before = text, None
    for _ in range(MAX_NESTED + 1):
        left, before = without_innermost_marks(left), left
        if left == before:
            return left
    return text


def without_innermost_marks(text: str) -> str:
    """Take out the marks that hold no other mark, and leave the marks around them broken.

    Examples
    --------
    >>> without_innermost_marks("<<2*<<3+4=7>>7=14>>14")
    '<<2*7=14>>14'
    """
    kept, at = [], 0
    for mark in calc_marks(text):
        if mark.repeated or mark.stated:
            kept += [text[at : mark.start], "" if mark.repeated else mark.stated]
            at = mark.end
    return "".join([*kept, text[at:]])


def calc_marks(text: str) -> list[Record]:
    """Find every calculator mark of a text.

    Parameters
    ----------
    text : str
        A solution. A mark is ``<<`` and ``>>`` on one line around a calculation, with or without its result.

    Returns
    -------
    list of Record
        One a mark: ``expression``, ``stated`` (what stands behind its last "=", "" if nothing does), ``start`` and
        ``end`` in the text, and ``repeated`` (whether the text itself goes on with the result: with the same number,
        or with any number that directly follows the mark, as a rounded one does).

    Raises
    ------
    TypeError
        If `text` is no text.

    Examples
    --------
    >>> calc_marks("48/2 = <<48/2=24>>24")
    [{'expression': '48/2', 'stated': '24', 'start': 7, 'end': 18, 'repeated': True}]
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, got {type(text).__name__} {text!r:.60}; pass one solution")
    found = []
    for mark in _marks(text):
        expression, *sides = (side.strip() for side in _sides(mark[1]))
        stated = sides[-1] if sides else ""
        repeated = _goes_on_with(stated, text[mark.end() : mark.end() + 40])
        found.append(
            Record(
                expression=expression, stated=stated, start=mark.start(), end=mark.end(), repeated=repeated
            )
        )
    return found


def check_calc_marks(marks: str | Iterable[str]) -> list[Record]:
    """Recompute calculator marks.

    Parameters
    ----------
    marks : str or iterable of str
        A whole solution, or the marks themselves, with or without ``<<`` and ``>>``, or texts that hold marks.

    Returns
    -------
    list of Record
        One a mark, in order: ``mark``, ``expression``, ``stated``, ``value`` (recomputed, or None if it cannot
        be read) and ``ok``. Both sides may be expressions (``3/4=3/4``), with currency and percent signs. A
        stated decimal may be rounded or cut to its own last place (``2/3=0.67``) if the true value does not end
        there; a whole number must be exact.

    Raises
    ------
    TypeError
        If `marks` is neither text nor texts.

    Examples
    --------
    >>> [c.ok for c in check_calc_marks(["<<200*40*.01=80>>", "<<3/4=3/4>>", "<<3*4=13>>"])]
    [True, True, False]
    """
    if isinstance(marks, str):
        given = [mark[0] for mark in _marks(marks)] or ([marks] if _looks_like_a_mark(marks) else [])
    elif isinstance(marks, Iterable) and not isinstance(marks, (bytes, Mapping)):
        given = [one for mark in marks for one in _single_marks(mark)]
    else:
        raise TypeError(f"marks must be a text or a list of texts, got {type(marks).__name__} {marks!r:.60}")
    return [_check(mark) for mark in given]


def _single_marks(mark: object) -> list[str]:
    if not isinstance(mark, str):
        raise TypeError(f"marks must be texts such as '<<48/2=24>>', got {mark!r}")
    return [found[0] for found in _marks(mark)] or [mark]


def _check(mark: str) -> Record:
    inside = mark.strip().removeprefix("<<").removesuffix(">>")
    expression, *sides = (side.strip() for side in _sides(inside))
    check = Record(mark=mark, expression=expression, stated="=".join(sides), value=None, ok=False)
    try:
        value = evaluate(plain_expression(expression))
        check["value"] = nearest(value)
        check["ok"] = bool(sides) and all(states_value(side, value) for side in sides)
    except CalculatorError:  # unreadable or impossible: not a mark anyone should learn from
        pass
    return check


def states_value(stated: str, value: Fraction) -> bool:
    """Whether a stated result is `value`, exactly or rounded to the decimals it shows; a whole number must be exact.

    Examples
    --------
    >>> [states_value(text, Fraction(2, 3)) for text in ("2/3", "0.67", "0.66", "0.6", "0.7", "1")]
    [True, True, True, True, True, False]
    >>> states_value("1.3", Fraction(12, 10))
    False
    """
    shown = evaluate(plain_expression(stated))
    if shown == value:
        return True
    decimals = len(stated.partition(".")[2]) if re.fullmatch(r"-?[0-9,]*\.[0-9]+", stated) else 0
    ends_there = (value * 10**decimals).denominator == 1
    return decimals > 0 and not ends_there and abs(shown - value) < Fraction(1, 10**decimals)


def plain_expression(text: str) -> str:
    """Write an expression as the calculator reads it: no currency, 20% as (20/100), 7//2 (twice in GSM8K) as 3.

    Examples
    --------
    >>> plain_expression("20% * $50"), plain_expression("560//10")
    ('(20/100) * 50', '56')
    """
    if len(text) > 2 * MAX_LENGTH:
        return text  # the calculator refuses it anyway, and a search in endless digits would take minutes
    text = text.translate(dict.fromkeys(map(ord, CURRENCY)))
    text = re.sub(rf"({NUMBER})\s*//\s*({NUMBER})", _whole_part, text)
    return re.sub(rf"({NUMBER})\s*%", r"(\1/100)", text)


def _whole_part(division: re.Match[str]) -> str:
    a, b = (Fraction(side.replace(",", "")) for side in division.groups())
    return str(a // b) if b else division[0]


def _marks(text: str) -> list[re.Match[str]]:
    return [mark for mark in _MARK.finditer(text) if _INSIDE.fullmatch(mark[1])]


def _sides(inside: str) -> list[str]:
    return re.split(r"=+", inside)


def _goes_on_with(stated: str, after: str) -> bool:
    """Whether the text behind a mark gives its result, so that the result need not be put there."""
    if re.match(rf"[{CURRENCY}]?\.?[0-9]", after):
        return True  # a number put in front of another would run into it
    after = after.lstrip(" ")
    if stated and re.match(rf"{re.escape(stated)}(?![0-9]|[.,/][0-9])", after):
        return True  # the same text, a fraction for instance
    number = _leading_number(after)
    return number is not None and number == _leading_number(stated)


def _looks_like_a_mark(text: str) -> bool:
    return "=" in text and not re.search(r"[A-Za-z]{2}", text)


def _leading_number(text: str) -> Decimal | None:
    match = _SIGNED.match(text)
    if match is None or (match[1] and match[2]):
        return None
    number = Decimal(match[3].replace(",", ""))
    return -number if match[1] or match[2] else number
