r"""How does a number look when a language model wrote it?

``$1,234.50``, ``−7``, ``３／４``, ``1.5e3``, ``\frac{3}{4}``, ``18元``: :mod:`rl_lab.answers` decides *where* the
answer stands, this module decides *which number* stands there. Every pattern is linear in the length of the
text, because the text comes from a model that nobody has trained yet.

>>> [canonical(parse_number(text)) for text in ("$1,234", "−7", "3/4 cup", "1.5e3")]
['1234', '-7', '0.75', '1500']
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from operator import index
from typing import Any, NamedTuple

from rl_lab._context import is_part
from rl_lab._patterns import LazyPattern
from rl_lab._visible import without_invisible

MAX_DIGITS = 400  # longer digit strings are noise, and int() itself refuses more than 4,300
MAX_MAGNITUDE = 308  # beyond a float's range an "answer" is an attack on whoever computes with it
# A context of our own: the caller's precision and traps must not change a reward.
_CONTEXT = Context(prec=MAX_DIGITS + 2, Emax=999_999, Emin=-999_999, traps=[])

_DASHES = "\u2010\u2011\u2012\u2013\u2212\ufe58\ufe63\uff0d"  # hyphens, figure dash, en dash, minus signs
_LOOKALIKES = str.maketrans(
    {
        # Full-width forms, but for the comma: in Chinese text it parts clauses.
        **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if code != 0xFF0C},
        **dict.fromkeys(_DASHES, "-"),
        **dict.fromkeys("\r\x0b\x0c\x85\u2028\u2029", "\n"),
        **dict.fromkeys("\u2044\u2215", "/"),
        "\u3000": " ",
        "￥": "¥",
        "￡": "£",
        "\u301c": "~",
        "\u066b": ".",  # Arabic decimal and thousands separators
        "\u066c": ",",
    }
)
_WIDE_GROUP = LazyPattern(r"(?<=[0-9０-９])，(?=[0-9０-９]{3}(?![0-9０-９]))")

# Between groups of three stands one of these: 1,234  1{,}234  1\,234  1'234  1_234  1 234 (thin or no-break space),
# and, as in 56 places of GSM8K, a plain space: 1 234.
_GROUP = r"(?:,|\{,\}|,?\\[,!;: ]|[\u2009\u202f\u00a0'’_])"
_GROUPED = rf"(?<![0-9],)[1-9][0-9]{{0,2}}(?:{_GROUP}[0-9]{{3}})+"
_SPACED = r"(?<![0-9][ ])[1-9][0-9]{0,2}(?:[ ][0-9]{3})+(?![ ][0-9]|-[a-z])"
_INT = rf"(?:(?>{_GROUPED}|{_SPACED})(?!,?[0-9])|[0-9]++)"
# What can only be European: both separators, several groups, or cents beside their currency.
_EUROPEAN = (
    r"(?:[1-9][0-9]{0,2}(?:(?:\.[0-9]{3})+,[0-9]{1,2}|(?:\.[0-9]{3}){2,})"
    r"|(?:(?<=[€£$])|(?<=[€£$]\s))[0-9]{1,3},[0-9]{2}|[0-9]{1,4},[0-9]{2}(?=\s?(?:€|eur\b)))(?![.,]?[0-9])"
)
_VULGAR = "¼½¾⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_SCIENTIFIC = (
    r"(?:e(?P<exp>[-+]?[0-9]++)|\s?(?:×|\\times|\\cdot|x|\*)\s?10"
    r"(?:(?:\^|\*\*)\{?(?P<pow>[-+]?[0-9]++)\}?|(?P<raised>⁻?[⁰¹²³⁴-⁹]{1,4})))"
)
# A digit glued behind a letter is part of a name (x2, Q3, H2O), unless the letters are a currency's. Behind "/" it is
# a divisor, and a dot behind a letter or a dot is no decimal point (Rs.31, ...72).
_START = (
    rf"(?=[0-9.√\\{_VULGAR}])(?<![0-9])(?<![0-9]\.)(?<![0-9a-zπ)}}]/)(?!(?<=[.a-z])\.)"
    r"(?:(?<![a-z])|(?<=usd)|(?<=rmb)|(?<=cny)|(?<=eur)|(?<=gbp)|(?<=rs)|(?<=\\boxed)|(?<=\\fbox))(?<![a-z]_)(?<!step\s)(?<!\bnot\s)"
)
NUMBER = LazyPattern(
    rf"""{_START}(?:
      (?:(?P<lw>{_INT})\s?)?\\[dt]?frac\s?(?:\{{\s?(?P<ln>-?{_INT})\s?\}}|(?P<ln1>[0-9]))
                            \s?(?:\{{\s?(?P<ld>-?{_INT})\s?\}}|(?P<ld1>[0-9]))
    | (?P<mw>[0-9]++)\s(?:and\s)?(?P<mn>[0-9]{{1,2}})/(?P<md>[0-9]++)(?![/.]?[0-9])
    | (?P<n>{_INT})\\?/(?P<d>{_INT})(?![/.]?[0-9])
    | (?P<hour>[0-9]{{1,2}}):(?P<minute>[0-9]{{2}})(?![:0-9])
    | (?P<european>{_EUROPEAN})
    | (?P<opaque>\\[dt]?frac|\\sqrt|√  # not of whole numbers, so still to be worked out
        |[0-9]{{1,2}}(?:,[0-9]{{2}})+,[0-9]{{3}}(?!,?[0-9]))  # 1,00,000: an Indian lakh or a list, who knows
    | (?=[0-9][0-9,\ ]*+\.[0-9]*+(?:[(…\ \\]|\.\.\.))(?:  # 0.1(6), 0.1\overline{{6}}, 0.1666...
        (?P<once>{_INT}\.[0-9]*+)(?:\((?P<period>[0-9]{{1,30}})\)
        |\s?\\(?:overline|bar|dot)\s?(?:\{{\s?(?P<barred>[0-9]{{1,30}})\s?\}}|(?P<barred1>[0-9])))
    | (?P<endless>{_INT}\.[0-9]++)(?:\.{{3}}|…))
    | (?P<dec>{_INT}(?:\.[0-9]++)?|\.[0-9]++)(?:{_SCIENTIFIC}|\s?(?P<vulgar>[{_VULGAR}]))?
    | (?P<alone>[{_VULGAR}])
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# What makes a token more than a number: a power, a date, a ratio, a version, a multiple of π, a name (0x1F, 3x4, 5h30).
_CONTINUES = LazyPattern(
    r"\s?(?:\^\s?\{?\s?(?!(?:th|st|nd|rd|\\?circ|o)\b)[-+]?[0-9a-z(.]|\*\*\s?[0-9])|[\u00b2\u00b3\u00b9\u2070-\u2079]"
    r"|[\u0305\u0307]|[/:.][0-9]|\s?(?:\\[dt]?frac|\\sqrt|√|\\?pi\b|π)|(?!(?:[cdkm]?m|ft|in|yd)[23]\b)[A-Za-z]{1,3}[0-9]"
)
_SIGN = LazyPattern(
    r"(?:^|(?P<before>[^\s*_`{(\[\"']))[\s*_`{(\[\"']{0,8}"
    r"(?P<sign>\+/-|±|∓|\\[pm][pm]|[-+]|\bplus(?:\sor\s|\s?/\s?)minus|\bminus|\bneg\b|\bnegative|[负負])(?P<gap>\s{0,3})"
    r"(?:(?:\\?(?:us|hk|nt|a|c)?[$€£¥]|usd|rmb|cny|eur|gbp|rs\.?)\s?)?[*_`{(\[]{0,4}$",
    re.IGNORECASE,
)
_SIGNED = (  # how a text in front of a signed number can end: most numbers are done with this one look
    *"-+±∓负負", "minus", "negative", "neg", "\\pm", "\\mp", "us", "hk", "nt", "a", "c", "usd", "rmb", "cny", "eur",
    "gbp", "rs", "rs.",
)  # fmt: skip
_BOTH_SIGNS = ("+/-", "±", "∓", "\\pm", "\\mp", "plus")


_PERIOD = LazyPattern(r"(?<=[0-9.])([0-9]{1,6}?)\1{1,400}\Z")


class Token(NamedTuple):
    """A number as it stands in a text: its value (None if unreadable) and where it starts and ends."""

    value: Decimal | None
    start: int
    end: int


def plain(text: str) -> str:
    """Map typographic variants to ASCII, character by character, so that positions stay what they were.

    Examples
    --------
    >>> plain("最终答案：－７２％")
    '最终答案:-72%'
    """
    if text.isascii() and "\r" not in text:
        return text
    text = _WIDE_GROUP.sub(",", text)
    foreign = {ord(char): str(unicodedata.decimal(char)) for char in set(text) if char.isdecimal()}
    letters = {
        ord(char): unicodedata.normalize("NFKC", char)
        for char in set(text)
        if "\U0001d400" <= char <= "\U0001d7cb"
    }
    return text.translate(_LOOKALIKES | foreign | letters)


def tokens(text: str, start: int = 0, end: int | None = None, *, floor: int | None = None) -> Iterator[Token]:
    """Yield every number token of ``text[start:end]`` in order; `text` has gone through :func:`plain`.

    A sign is looked for down to `floor`, by default to `start`.
    """
    end = len(text) if end is None else end
    for match in NUMBER.finditer(text, start, end):
        yield _token(text, match, start if floor is None else floor)


def _token(text: str, match: re.Match[str], floor: int) -> Token:
    begin, end = match.span()
    if _CONTINUES.match(text, end):
        return Token(None, begin, end)
    value = _value(match)
    # The sign stands before the number or before its currency; 24 characters hold both.
    look = text[max(floor, begin - 24) : begin]
    signed = look.rstrip(" \t\n*_`{([$€£¥\\").lower().endswith(_SIGNED)
    sign = _SIGN.search(look) if signed else None
    if sign and _is_sign(sign):
        begin -= len(look) - sign.start("sign")
        if sign["sign"].lower().startswith(_BOTH_SIGNS) or _is_doubled(look, sign):
            value = None
        elif value is not None and sign["sign"] != "+":
            value = value.copy_negate()
    return Token(value, begin, end)


def _is_doubled(look: str, sign: re.Match[str]) -> bool:
    """Tell --8 and -(-8) from 74 - (-8), where the first sign subtracts."""
    if (sign["before"] or " ") not in "-+±":
        return False
    return not look[: sign.start("before")].rstrip()[-1:].isdigit()


def _is_sign(match: re.Match[str]) -> bool:
    """Tell a sign (-8, is -8, = - 8) from a subtraction (48-24) and from a dash between words."""
    before = match["before"]
    if before is None or before in "-+±":
        return True
    # Behind a number, a closing bracket or a glued word, "-" joins; it does not sign.
    if before.isdigit() or before in ")]}%" or (before == "$" and match["gap"]):
        return False
    if match["gap"] and match["sign"] in "-+":
        return before in ":="
    glued = match.start("before") + 1 == match.start("sign")
    return not (glued and before.isascii() and before.isalpha())


def _value(part: re.Match[str]) -> Decimal | None:
    if part["dec"] is not None:
        raised = unicodedata.normalize("NFKC", part["raised"] or "").replace("\u2212", "-")
        value = _decimal(part["dec"], part["exp"] or part["pow"] or raised or None)
        return _mixed(value, _vulgar(part["vulgar"])) if part["vulgar"] else value
    if part["opaque"]:
        return None
    if part["once"]:
        return _repeating(part["once"], part["period"] or part["barred"] or part["barred1"])
    if part["endless"]:  # 0.1666...: where no digits repeat, nobody knows how it goes on
        tail = _PERIOD.search(part["endless"])
        return _repeating(part["endless"][: tail.start()], tail[1]) if tail else None
    if part["european"]:
        return _decimal(part["european"].replace(".", "").replace(",", "."))
    if part["alone"]:
        return _vulgar(part["alone"])
    if part["hour"]:
        # 5:00 is the number 5 (GSM8K's own golds do this); 12:30 is no single number.
        return Decimal(part["hour"]) if part["minute"] == "00" else None
    if part["mw"]:
        return _mixed(_decimal(part["mw"]), _fraction(part["mn"], part["md"]))
    if part["n"]:
        return _fraction(part["n"], part["d"])
    fraction = _fraction(part["ln"] or part["ln1"], part["ld"] or part["ld1"])
    return _mixed(_decimal(part["lw"]), fraction) if part["lw"] else fraction


def _decimal(digits: str, exponent: str | None = None) -> Decimal | None:
    """Read digits with separators; None where the value is outside a float's range."""
    digits = re.sub(r"[^0-9.\-]", "", digits)
    if len(digits) > MAX_DIGITS or (exponent and len(exponent) > 7):
        return None
    value = Decimal(digits if exponent is None else f"{digits}e{exponent}")
    return value if not value or abs(value.adjusted()) <= MAX_MAGNITUDE else None


def _repeating(once: str, period: str) -> Decimal | None:
    """Read a decimal whose `period` goes on without end behind the digits of `once`: 0.1(6) is 1/6."""
    once = re.sub(r"[^0-9.]", "", once)
    if len(once) > MAX_DIGITS:
        return None
    digits = once.replace(".", "")
    scale = 10 ** (len(once) - once.index(".") - 1)
    top = int(digits + period) - int(digits or "0")
    return _fraction(str(top), str(scale * (10 ** len(period) - 1)))


def _fraction(top: str, bottom: str) -> Decimal | None:
    a, b = _decimal(top), _decimal(bottom)
    if a is None or not b:
        return None
    return Context(prec=28, traps=[]).divide(a, b)


def _vulgar(char: str) -> Decimal:
    # unicodedata gives a float; thirds need the full 28 digits.
    top, bottom = unicodedata.normalize("NFKC", char).split("\u2044")
    return Context(prec=28).divide(Decimal(top), Decimal(bottom))


def _mixed(whole: Decimal | None, fraction: Decimal | None) -> Decimal | None:
    if whole is None or fraction is None or not 0 <= fraction < 1:
        return None  # "48 24/2" is two numbers, not forty-eight and twelve
    return _CONTEXT.add(whole, fraction)


# A whole string that is one number: brackets, currency and emphasis around it, a unit behind it, no second digit.
_LABEL = LazyPattern(
    r"[\s$€£¥*_`(\[{\\\"'=≈~+-]{0,12}(?:us|hk|nt|usd|rmb|cny|eur|gbp|rs\.?|[$€£¥\s*_-]){0,4}", re.IGNORECASE
)
_UNIT = LazyPattern(r"[^0-9\n=]{0,40}")


def parse_number(text: object) -> Decimal | None:
    """Read one number from a label or a short string.

    Currency signs, thousands separators (English convention: ``1,234`` is never 1.234; ``1 234`` and
    ``1.234,56`` can mean but one number), a unit or a percent sign, full-width digits and U+2212 are
    understood. A unit never scales: ``25%`` is 25 and ``4 million`` is 4, as in GSM8K's own gold answers.

    Parameters
    ----------
    text : str, int, float or Decimal
        What to read, or a number of another library (NumPy, PyTorch). Anything else, booleans included, is unreadable.

    Returns
    -------
    Decimal or None
        The exact value; None if `text` is not exactly one finite number of at most 400 digits below 1e309.

    Examples
    --------
    >>> parse_number(" $31.00 "), parse_number(72.0), parse_number("70 or 72"), parse_number("nan")
    (Decimal('31.00'), Decimal('72.0'), None, None)
    """
    if isinstance(text, bool):
        return None
    if isinstance(text, str):
        return _parse_text(plain(without_invisible(text)[0].strip())) if len(text) <= 2 * MAX_DIGITS else None
    if isinstance(text, (bytes, bytearray)) or str(getattr(text, "dtype", "")).endswith("bool"):
        return None  # float() would take both
    try:
        value = text if isinstance(text, Decimal) else Decimal(_exact(text))
    except (TypeError, ValueError, ArithmeticError):
        return None
    ok = value.is_finite() and abs(value.adjusted() if value else 0) <= MAX_MAGNITUDE
    return value if ok else None


def _exact(number: Any) -> int | str:
    """Read a whole number of any kind without a detour over float, which is exact only up to 2**53."""
    if isinstance(number, Fraction) and number.denominator == 1:
        return number.numerator
    try:
        return index(number)
    except TypeError:
        return repr(float(number))


def _parse_text(text: str) -> Decimal | None:
    token = next(tokens(text), None)
    if token is None or token.value is None:
        return None
    alone = _LABEL.fullmatch(text, 0, token.start) and _UNIT.fullmatch(text, token.end)
    return token.value if alone and not is_part(text, token.start, token.end) else None


def same_number(a: object, b: object, tol: Decimal = Decimal("1e-6")) -> bool:
    """Compare two numbers by value: no rounding, absolute tolerance.

    Parameters
    ----------
    a, b : str, int, float or Decimal
        Read by :func:`parse_number`. None and unreadable text equal nothing, not even each other.
    tol : Decimal
        Largest absolute difference that still counts as equal.

    Examples
    --------
    >>> same_number("31.00", 31), same_number("8.5", "9"), same_number("8.9999999", "9"), same_number(None, None)
    (True, False, True, False)
    """
    x, y = parse_number(a), parse_number(b)
    return x is not None and y is not None and abs(_CONTEXT.subtract(x, y)) <= tol


def canonical(value: Decimal) -> str:
    """Write a value in its one normal form: ``31.00`` and ``31`` both give ``"31"``.

    Values of more than 40 digits keep scientific notation, so that ``1e300`` stays short.

    Examples
    --------
    >>> [canonical(Decimal(text)) for text in ("31.00", "-0", "1.5e3", "0.750", "1e300")]
    ['31', '0', '1500', '0.75', '1E+300']
    """
    if not value:
        return "0"
    value = value.normalize(_CONTEXT)
    return format(value, "f") if -30 <= value.adjusted() <= 40 else str(value)
