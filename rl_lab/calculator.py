"""How does a program work out what a language model wrote, without running what a language model wrote?

A tool call such as ``calc("80*0.75")`` is text from a model, so it may hold anything: a typing slip, a power
tower that needs gigabytes, a command. Nothing here is handed to Python's own interpreter. Text is cut into
numbers, operators and parentheses; everything else is refused; lengths are checked before any work is done;
and the arithmetic is exact.

>>> safe_eval("80*0.75")
60.0
>>> safe_eval("0.1 + 0.2")
0.3
>>> safe_eval("2^3")
Traceback (most recent call last):
...
rl_lab.calculator.CalculatorError: expr may hold no power sign, got '2^3'; write the product out, as in 2*2*2
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Context, Decimal, Inexact
from fractions import Fraction

MAX_LENGTH = 200  # characters; the longest calculation in GSM8K has 30
MAX_DEPTH = 50  # open parentheses plus signs in a row
MAX_RESULT = 10**100  # largest size of a result; 1/MAX_RESULT is the smallest that is not zero
_MAX_EXPONENT = 100  # of the spelling 1.5e3
_MAX_BITS = 4096  # of the exact numbers on the way to a result
_SHOWN = 40  # characters of a refused text that a message repeats


class CalculatorError(ValueError):
    """The text is not a calculation this calculator does; the message says why and what to write instead."""


class CalculatorTypeError(CalculatorError, TypeError):
    """What was passed is no text at all.

    It is a ``TypeError`` for the programmer and a ``ValueError`` for the loop around a tool, which then needs
    to catch one kind of error only.
    """


# Full-width forms (U+FF01-FF5E) sit at a fixed distance from ASCII. Nothing wider is folded: NFKC, the usual
# shortcut, would also turn 2² into 22.
_AS_WRITTEN = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {
    ord(written): plain
    for plain, forms in {
        "*": "×✕⋅∙·∗",
        "/": "÷∕⁄",
        "-": "−–‐‑﹣",
        " ": "\u00a0\u2009\u202f\u3000\t\n\r",
    }.items()
    for written in forms
}
_NUMBER = r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
# A number must end where it ends: "1,23", "12abc" and "0x10" do not start with a number and go on.
_ITEM = re.compile(rf" *(?:(?P<number>{_NUMBER})(?![0-9A-WYZa-wyz_,])|(?P<sign>[-+*/()xX]))")
_REFUSED_ANYWHERE = (
    (re.compile(r"\*\*|\^"), "may hold no power sign", "write the product out, as in 2*2*2"),
    (re.compile(r"//"), "may hold no //", "write / for division"),
    (re.compile(r"%"), "may hold no % sign", "write 75 % as 0.75 or 75/100"),
    (re.compile(r"[$€£¥￥元]"), "may hold no currency sign", "write the number alone"),
    (re.compile(r"="), "may hold no = sign", "write the calculation alone, the result comes back"),
    # Read as a product, 0x10 would be 0; read as Python does, 16. Neither is a safe guess.
    (
        re.compile(r"(?<![0-9.,])0[xX][0-9]"),
        "may hold no hexadecimal number",
        "for a product write spaces around the x",
    ),
)
_REFUSED_HERE = (
    (
        re.compile(r"[A-Za-z_'\"\[\]{}]"),
        "may hold no names, quotes or lists",
        "write numbers and + - * / ( )",
    ),
    (re.compile(r","), "may hold commas only between groups of three digits", "write 1,234 or 1234"),
)

_OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}
_BINDING = {"(": 0, ")": 1, "+": 2, "-": 2, "*": 3, "/": 3, "neg": 4, "pos": 4}
_OPENERS = ("(", "neg", "pos")  # they wait for what stands to their right and finish nothing to their left


def safe_eval(expr: str) -> float:
    """Work out an arithmetic expression written by a person or a model.

    Parameters
    ----------
    expr : str
        Numbers, ``+ - * /``, parentheses and signs, at most 200 characters and 50 levels deep.
        Numbers as people write them: ``.5``, ``5.``, ``007`` (seven), ``1,234`` (thousands), ``1.5e3``.
        Operators as people write them: ``×``, ``÷``, ``−``, full-width forms, and the letter x between two
        operands.

    Returns
    -------
    float
        The float nearest to the exact result, so ``0.1+0.2`` is 0.3. Never infinite, never NaN.

    Raises
    ------
    CalculatorError
        A ``ValueError``, for everything else: names, powers (``**`` and ``^``), ``%``, currency signs, two
        numbers side by side, division by zero, too long, too deep, a result beyond 1e100 in size. A value
        that is not text raises a subclass which is also a ``TypeError``.

    Notes
    -----
    The work is bounded before it starts: 200 characters hold fewer than 200 operations, on numbers whose
    digits are counted on the way. There is no recursion, so depth cannot exhaust the interpreter's stack.

    Examples
    --------
    >>> [safe_eval(e) for e in ("80×0.75-5", "(2+3)*4", "-(3+4)*2", "1,234/2", "0.2 x 50")]
    [55.0, 20.0, -14.0, 617.0, 10.0]
    >>> safe_eval("5/(3-3)")
    Traceback (most recent call last):
    ...
    rl_lab.calculator.CalculatorError: division by zero in expr '5/(3-3)'; change the divisor
    """
    return float(evaluate(expr))


def evaluate(expr: str) -> Fraction:
    """Work out `expr` exactly; the language, limits and errors are those of :func:`safe_eval`.

    Examples
    --------
    >>> evaluate("1/3 + 1/6")
    Fraction(1, 2)
    """
    values: list[Fraction] = []
    waiting: list[str] = []  # operators and "(" whose right side is still being read (the shunting yard)
    for item in _checked(expr):
        if isinstance(item, Fraction):
            values.append(item)
        elif item in _OPENERS:
            waiting.append(item)
        else:
            # What binds at least as tightly is worked out first; that makes 10-4-3 go from left to right.
            while waiting and _BINDING[waiting[-1]] >= _BINDING[item]:
                _apply(waiting.pop(), values, expr)
            if item == ")":
                waiting.pop()
            else:
                waiting.append(item)
    while waiting:
        _apply(waiting.pop(), values, expr)
    return _bounded(values[0], expr)


def numbers_in(expr: str) -> list[Fraction]:
    """List the numbers written in `expr`, in order; errors as in :func:`safe_eval`.

    Examples
    --------
    >>> [float(n) for n in numbers_in("1,000 - (2*0.5)")]
    [1000.0, 2.0, 0.5]
    """
    return [item for item in _checked(expr) if isinstance(item, Fraction)]


def nearest(value: Fraction) -> int | float:
    """Give the float nearest to an exact result, or the whole number itself where a float would lose digits.

    Examples
    --------
    >>> nearest(Fraction(60)), nearest(Fraction(1, 3)), nearest(Fraction(2**53 + 1))
    (60.0, 0.3333333333333333, 9007199254740993)
    """
    near = float(value)
    return near if near == value or value.denominator != 1 else int(value)


def format_number(value: int | float | Decimal | Fraction) -> str:
    """Write a number as a person would: every digit that is meant, none that is noise.

    Parameters
    ----------
    value : int, float, Decimal or Fraction
        Finite. Integers and decimals keep all their digits. Of a float that is no whole number 15 significant
        digits are meant, the rest is rounding noise. Fractions are exact up to 28 digits, else rounded to 15.

    Returns
    -------
    str
        Digits with at most one point and a leading minus; no exponent, no thousands separator, no trailing
        zero behind the point.

    Raises
    ------
    TypeError
        If `value` is not one of these kinds (``bool`` is not a number here).
    ValueError
        If `value` is infinite or NaN.

    Examples
    --------
    >>> [format_number(v) for v in (60.0, 0.1 + 0.2, 1234567, 1e16, Fraction(1, 3))]
    ['60', '0.3', '1234567', '10000000000000000', '0.333333333333333']
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
        raise TypeError(f"value must be a number, got {type(value).__name__}; convert it first")
    if isinstance(value, Fraction):
        return _plain(_as_decimal(value))
    # float() because a numpy float is a float too, with another repr
    number = Decimal(repr(float(value))) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        raise ValueError(f"value must be finite, got {value!r}; there is no digit to write")
    if isinstance(value, float) and not value.is_integer():
        number = Context(prec=15).plus(number)
    return _plain(number)


def _checked(expr: str) -> Iterator[Fraction | str]:
    """Yield numbers and operators, signs as "neg" and "pos", in an order that forms one expression."""
    if not isinstance(expr, str):
        raise CalculatorTypeError(f"expr must be text, got {type(expr).__name__}; pass a str")
    if len(expr) > MAX_LENGTH:
        raise CalculatorError(f"expr must have at most {MAX_LENGTH} characters, got {len(expr)}; split it")
    depth, signs, operand_next = 0, 0, True
    for item in _items(expr):
        if operand_next and item in ("+", "-"):
            signs, item = signs + 1, "neg" if item == "-" else "pos"
        elif operand_next != (isinstance(item, Fraction) or item == "("):
            _refuse_order(expr, operand_next)
        elif item in ("(", ")"):
            depth += 1 if item == "(" else -1
        else:
            signs, operand_next = 0, not isinstance(item, Fraction)
        if depth < 0:
            raise CalculatorError(f"expr must open each parenthesis it closes, got {_cut(expr)}; remove a )")
        if depth + signs > MAX_DEPTH:
            raise CalculatorError(
                f"expr must be at most {MAX_DEPTH} levels deep, got {_cut(expr)}; flatten it"
            )
        yield item
    if operand_next:
        _refuse_order(expr, operand_next)
    if depth:
        raise CalculatorError(f"expr must close each parenthesis it opens, got {_cut(expr)}; add a )")


def _items(expr: str) -> Iterator[Fraction | str]:
    text = expr.translate(_AS_WRITTEN)
    for pattern, rule, remedy in _REFUSED_ANYWHERE:
        if pattern.search(text):
            raise CalculatorError(f"expr {rule}, got {_cut(expr)}; {remedy}")
    at, end = 0, len(text.rstrip(" "))
    while at < end:
        match = _ITEM.match(text, at, end)
        if match is None:
            raise CalculatorError(_why_refused(text[at:], expr))
        at = match.end()
        yield _number(match["number"], expr) if match["number"] else re.sub("[xX]", "*", match["sign"])


def _why_refused(rest: str, expr: str) -> str:
    for pattern, rule, remedy in _REFUSED_HERE:
        if pattern.search(rest):
            return f"expr {rule}, got {_cut(expr)}; {remedy}"
    return (
        f"expr may hold numbers and + - * / ( ) only, got {_cut(expr)}; {rest.lstrip(' ')[:1]!r} is neither"
    )


def _refuse_order(expr: str, operand_next: bool) -> None:
    if not expr.strip():
        raise CalculatorError(f"expr must hold a calculation, got {_cut(expr)}; write numbers and + - * /")
    rule = "a number on both sides of each operator" if operand_next else "an operator between two numbers"
    raise CalculatorError(f"expr must have {rule}, got {_cut(expr)}; write it as in 80*0.75-5")


def _number(text: str, expr: str) -> Fraction:
    digits, _, exponent = text.replace(",", "").lower().partition("e")
    if exponent and abs(int(exponent)) > _MAX_EXPONENT:
        raise CalculatorError(
            f"expr must keep exponents within {_MAX_EXPONENT}, got {_cut(expr)}; use other numbers"
        )
    whole, _, decimals = digits.partition(".")
    return Fraction(int(whole + decimals), 10 ** len(decimals)) * Fraction(10) ** int(exponent or 0)


def _apply(operator: str, values: list[Fraction], expr: str) -> None:
    right = values.pop()
    if operator in ("neg", "pos"):
        values.append(-right if operator == "neg" else right)
        return
    if operator == "/" and right == 0:
        raise CalculatorError(f"division by zero in expr {_cut(expr)}; change the divisor")
    result = _OPERATIONS[operator](values.pop(), right)
    if result.numerator.bit_length() + result.denominator.bit_length() > _MAX_BITS:
        raise CalculatorError(f"expr must keep its numbers short, got {_cut(expr)}; use fewer digits")
    values.append(result)


def _bounded(value: Fraction, expr: str) -> Fraction:
    if value and not Fraction(1, MAX_RESULT) <= abs(value) <= MAX_RESULT:
        raise CalculatorError(
            f"expr must have a result between 1e-100 and 1e100 in size, got {_cut(expr)}; use other numbers"
        )
    return value


def _as_decimal(value: Fraction) -> Decimal:
    if value.denominator == 1:
        return Decimal(value.numerator)
    top, bottom = Decimal(value.numerator), Decimal(value.denominator)
    exactly = Context(prec=28)
    number = exactly.divide(top, bottom)
    return Context(prec=15).divide(top, bottom) if exactly.flags[Inexact] else number


def _plain(number: Decimal) -> str:
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _cut(expr: str) -> str:
    text = repr(expr[: 2 * _SHOWN])
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
