"""What do GSM8K's calculator marks ``<<48/2=24>>`` say, and is it true?

The public names are in :mod:`rl_lab.rows` and :mod:`rl_lab.gsm8k`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from rl_lab._record import Record
from rl_lab.calculator import CalculatorError, evaluate

CURRENCY = "$€£¥￥₹"
NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_MARK = re.compile(r"<<([^<>]*)>>")


def strip_calc_marks(text: str) -> str:
    """Take the calculator marks out of a solution and nothing else.

    GSM8K writes the result behind its mark (``<<48/2=24>>24``). Where a set does not, the result takes the
    mark's place, so that no number is lost.

    Examples
    --------
    >>> strip_calc_marks("6*9=<<6*9=54>>54 nuts")
    '6*9=54 nuts'
    >>> strip_calc_marks("She has <<6*9=54>> nuts; 5 < 8.")
    'She has 54 nuts; 5 < 8.'
    """
    kept, at = [], 0
    for mark in calc_marks(text):
        kept += [text[at : mark.start], "" if mark.repeated else mark.stated]
        at = mark.end
    return "".join([*kept, text[at:]])


def calc_marks(text: str) -> list[Record]:
    """Find every calculator mark of a text.

    Returns
    -------
    list of Record
        One a mark: ``expression``, ``stated`` (its right side, "" if it has none), ``start`` and ``end`` in the
        text, and ``repeated`` (whether the text goes on with the stated number).

    Examples
    --------
    >>> calc_marks("48/2 = <<48/2=24>>24")
    [{'expression': '48/2', 'stated': '24', 'start': 7, 'end': 18, 'repeated': True}]
    """
    found = []
    for mark in _MARK.finditer(text):
        expression, _, stated = (part.strip() for part in mark[1].partition("="))
        after = text[mark.end() : mark.end() + 40].lstrip(f" {CURRENCY}")
        number = _leading_number(after)
        repeated = after.startswith(stated) or (number is not None and number == _leading_number(stated))
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
        A whole solution, or the marks themselves, with or without ``<<`` and ``>>``.

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
        marks = [mark[0] for mark in _MARK.finditer(marks)] or ([marks] if _looks_like_a_mark(marks) else [])
    return [_check(mark) for mark in marks]


def _check(mark: str) -> Record:
    if not isinstance(mark, str):
        raise TypeError(f"marks must be texts such as '<<48/2=24>>', got {mark!r}")
    expression, equals, stated = mark.strip().removeprefix("<<").removesuffix(">>").partition("=")
    check = Record(mark=mark, expression=expression.strip(), stated=stated.strip(), value=None, ok=False)
    try:
        value = evaluate(plain_expression(expression))
        check["value"] = float(value)
        check["ok"] = bool(equals) and all(states_value(side.strip(), value) for side in stated.split("="))
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
    text = text.translate(dict.fromkeys(map(ord, CURRENCY)))
    text = re.sub(rf"({NUMBER})\s*//\s*({NUMBER})", _whole_part, text)
    return re.sub(rf"({NUMBER})\s*%", r"(\1/100)", text)


def _whole_part(division: re.Match[str]) -> str:
    a, b = (Fraction(side.replace(",", "")) for side in division.groups())
    return str(a // b) if b else division[0]


def _looks_like_a_mark(text: str) -> bool:
    return "=" in text and not re.search(r"[A-Za-z]{2}", text)


def _leading_number(text: str) -> Decimal | None:
    match = re.match(rf"-?{NUMBER}", text)
    return Decimal(match[0].replace(",", "")) if match else None
