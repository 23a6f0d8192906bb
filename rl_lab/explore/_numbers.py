"""How does a number look on a figure? The same characters from Python and from the page's JavaScript.

Every function here has a twin of the same name in ``assets/explore.js``; ``tests/explore/test_parity.py`` holds the
two together, character for character. That is why rounding is spelled out (half away from zero on the exact
binary value, as JavaScript's ``toFixed`` does) and why powers of ten are read from text, never computed.

>>> number_text(6815744), number_text(0.1 + 0.2), number_text(0.119841)
('6,815,744', '0.3', '0.1198')
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal

MISSING = "–"
# Enough digits for any double written out in full; the default context stops at 28.
_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)


def fixed(value: float, decimals: int) -> str:
    """Write `value` with exactly `decimals` digits after the point, like JavaScript's ``toFixed``.

    Examples
    --------
    >>> fixed(0.125, 2), fixed(-2.5, 0), fixed(3, 1)
    ('0.13', '-3', '3.0')
    """
    text = format(Decimal(value).quantize(Decimal(1).scaleb(-decimals), context=_EXACT), "f")
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def exponent(value: float) -> int:
    """Return the power of ten of the leading digit of a non-zero `value`: 1234 → 3, 0.05 → −2."""
    return Decimal(value).adjusted()


def power10(e: int) -> float:
    """Return 10**e, correctly rounded for every e (a computed power may be one bit off)."""
    return float(f"1e{e}")


def group(text: str) -> str:
    """Put a comma between every three digits before the point.

    Examples
    --------
    >>> group("-1234567.25")
    '-1,234,567.25'
    """
    sign, rest = ("-", text[1:]) if text.startswith("-") else ("", text)
    whole, dot, decimals = rest.partition(".")
    head = len(whole) % 3 or 3
    parts = [whole[:head], *(whole[i : i + 3] for i in range(head, len(whole), 3))]
    return sign + ",".join(parts) + dot + decimals


def strip_zeros(text: str) -> str:
    """Drop zeros that end a decimal fraction: 0.500 → 0.5."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def number_text(value: float | None, decimals: int | None = None) -> str:
    """Write a number for reading: whole numbers in full, others to four significant digits.

    Parameters
    ----------
    value : float or None
        None is a gap and reads ``–``.
    decimals : int, optional
        Fixed number of digits after the point; keeps a read-out from jumping while a slider moves.

    Examples
    --------
    >>> number_text(16777216), number_text(0.75426), number_text(1234.5), number_text(2e-5)
    ('16,777,216', '0.7543', '1,235', '2e-5')
    >>> number_text(0.12, decimals=3)
    '0.120'
    """
    if value is None:
        return MISSING
    if decimals is not None:
        return group(fixed(value, decimals))
    size = abs(value)
    if size < 1e15 and value == math.floor(value):
        return group(fixed(value, 0))
    e = exponent(value)
    if e < -4 or size >= 1e15:
        return scientific(value, e)
    return group(strip_zeros(fixed(value, max(0, 3 - e))))


def scientific(value: float, e: int) -> str:
    """Write `value` as mantissa and power of ten, ``1.5e-5``; `e` is its exponent."""
    mantissa = value * power10(-e) if e < 0 else value / power10(e)
    return f"{strip_zeros(fixed(mantissa, 2))}e{e}"


def times(m: int, e: int) -> float:
    """Return m·10**e, correctly rounded."""
    return m * power10(e) if e >= 0 else m / power10(-e)


def nice_step(low: float, high: float, count: int, whole: bool = False) -> tuple[int, int]:
    """Return (m, e): the step m·10**e, with m of 1, 2 or 5, that cuts low…high into about `count` parts."""
    raw = (high - low) / count
    e = exponent(raw)
    f = raw / power10(e)
    m = 1 if f < 1.5 else 2 if f < 3.5 else 5 if f < 7.5 else 10
    if m == 10:
        m, e = 1, e + 1
    return (1, 0) if whole and e < 0 else (m, e)


def multiple(k: int, m: int, e: int) -> float:
    """Return k·m·10**e without the rounding noise of adding a step again and again."""
    return k * m / power10(-e) if e < 0 else k * m * power10(e)


def ticks(low: float, high: float, count: int, whole: bool = False) -> tuple[list[float], int]:
    """Return round tick positions in low…high and the number of decimals that tells them apart.

    Examples
    --------
    >>> ticks(0.0, 1.0, 5)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], 1)
    >>> ticks(1, 4, 8, whole=True)
    ([1.0, 2.0, 3.0, 4.0], 0)
    """
    if not high > low:
        return [low], 0
    m, e = nice_step(low, high, count, whole)
    step = multiple(1, m, e)
    k, out = math.ceil(low / step - 1e-9), []
    while multiple(k, m, e) <= high + step * 1e-9:
        out.append(multiple(k, m, e))
        k += 1
    return out, max(0, -e)


def log_ticks(low: float, high: float, count: int) -> list[float]:
    """Return ticks for a logarithmic axis: powers of ten, with 2 and 5 between them where they fit."""
    a, b = exponent(low), exponent(high)
    every = max(1, math.ceil((b - a) / count))
    steps = (1, 2, 5) if (b - a) * 2 <= count else (1,)
    out = [times(m, e) for e in range(a, b + 1, every) for m in steps]
    return [t for t in out if low * 0.999999 <= t <= high * 1.000001]


def tick_texts(values: list[float], decimals: int, log: bool = False) -> list[str]:
    """Write tick labels alike: one number of decimals, and one suffix (M, B, T) for millions and above.

    Examples
    --------
    >>> tick_texts([0.0, 0.5, 1.0], 1), tick_texts([0.0, 5e6, 1e7], 0)
    (['0.0', '0.5', '1.0'], ['0', '5M', '10M'])
    """
    if log:
        return [short_text(t, abs(t)) for t in values]
    top = max((abs(t) for t in values), default=0.0)
    if top >= 1e6:
        return [short_text(t, top) for t in values]
    if top < 1e-3 and top > 0:
        return [number_text(t) for t in values]
    return [group(fixed(t, decimals)) for t in values]


def short_text(value: float, top: float) -> str:
    """Write `value` in the unit that suits an axis whose largest value is `top`."""
    if value == 0:
        return "0"
    for limit, suffix in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if limit <= top < 1e15:
            return number_text(value / limit) + suffix
    return number_text(value)


def px(value: float) -> str:
    """Write a length in pixels, to a tenth: 12.3, and 12 rather than 12.0."""
    tenth = math.floor(value * 10 + 0.5) / 10
    return str(int(tenth)) if tenth == int(tenth) else repr(tenth)


def text_width(text: str, size: float) -> float:
    """Estimate the width of `text` in pixels at font size `size`; an East Asian character is a full square."""
    return size * sum(1.0 if c >= "\u2e80" else 0.3 if c in ".,:;'|!il " else 0.57 for c in text)
