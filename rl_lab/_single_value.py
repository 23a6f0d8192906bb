r"""Which single value stands in a span of text, if there is exactly one?

This is conventions 3 and 4 of :mod:`rl_lab.answers`, applied to what one marker marks: a line, a box, a tag.

>>> str(read_value("36 + 18 = 54 clips", 0, 18).value), read_value("70 or 72", 0, 8)
('54', None)
"""

from __future__ import annotations

import re
from itertools import islice, pairwise

from rl_lab._numerals import Token, tokens
from rl_lab._patterns import LazyPattern

_SENTENCE_END = LazyPattern(
    r"[.。](?=\s|$)|[;!?](?!\s{0,3}(?:(?:or|and)\s)?[$€£¥]?[-+]?[0-9])|,?\s(?:because|since|where|see)\b",
    re.IGNORECASE,
)
_PARENTHESES = LazyPattern(r"\([^()]*\)")
_OR = LazyPattern(
    r"(?:\bor\b(?!\s(?:so|over|under|above|below|more|less|fewer|better|[a-z]{3,8}er)\b)|\b(?:maybe|perhaps|possibly|otherwise|alternatively|o(?:u|der))\b|或|または|又は|∨)"
    r"(?=[^0-9,.;()\n]{0,25}[.\\]?[0-9¼½¾])",
    re.IGNORECASE,
)
_EQUALS = LazyPattern(r"[-=]>|[=≈≃→⇒]|\bequals\b|等于", re.IGNORECASE)
_JOIN = LazyPattern(  # between two numbers: only signs, an operator, or a unit and a connector
    r"(?:[\s,&|、，~*_`$€£¥%+×x·/÷±?!;\\{}-]|\\pm)*|—|\.{2,3}|…"
    r"|\s?[<>≤≥]\s?[a-z]\s?[<>≤≥]\s?"
    r"|\s?(?:to|through|vs\.?|versus|times|plus|minus|over|by|到|至)\s?"
    r"|\s?[a-z]{1,15}\s?(?:[+×*÷]|plus|times|minus)\s?[$€£¥]?"
    r"|[^0-9\n().]{0,40}?(?:\b(?:or|and|as\swell\sas|et|und)\b|[,&|、，或和及与跟])[^\w\n(]*"
    r"(?:(?:maybe|perhaps|possibly|about|even|also|x|y)\b[^\w(]*)*",
    re.IGNORECASE,
)
# One quantity in two numbers: 5 hours 30 minutes, 5'6", 3 dollars 50 cents. Both units measure the same thing.
_MEASURES = (
    r"h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?|days?|weeks?|months?|years?|yrs?|小时|时|分钟?|秒钟?|天|周|个?月|年",
    r"km|m|cm|mm|met(?:er|re)s?|(?:centi|milli|kilo)met(?:er|re)s?|f(?:ee|oo)?t|yards?|in|inch(?:es)?|miles?|米|厘米|毫米|公里",
    r"lbs?|pounds?|oz|ounces?|k?g|(?:kilo)?grams?|公斤|千克|克|斤|两",
    r"gallons?|quarts?|pints?|cups?|lit(?:er|re)s?|ml",
    r"dollars?|bucks|cents?|euros?|pence|元|角|分|块|毛",
)
_COMPOUND = LazyPattern(
    "|".join(
        rf"\s?(?:{unit})(?<!\bin)[\s,.]{{0,2}}(?=[0-9.]{{1,6}}\s?(?:{unit})(?![a-z]))" for unit in _MEASURES
    )
    + r"|\s?['′]\s?(?=[0-9]{1,2}\s?(?:[\"″']|in\b))",
    re.IGNORECASE,
)


def read_value(text: str, start: int, end: int) -> Token | None:
    """Read the single value of one marker's span (convention 3 and 4), or None."""
    first = next(tokens(text, start, end), None)
    if first is None:
        return None
    stop = _SENTENCE_END.search(text, first.end, end)
    end = stop.start() if stop else end
    chosen = None
    for a, b in pairwise([start] + [m.start() for m in _OR.finditer(text, start, end)] + [end]):
        if next(tokens(text, a, b), None) is None:
            continue
        token = _single(text, a, b)
        if token is None or token.value is None or (chosen and token.value != chosen.value):
            return None
        chosen = chosen or token
    return chosen


def _single(text: str, start: int, end: int) -> Token | None:
    """Read one alternative: behind its last "=" that has a number, the first number that no other joins."""
    line = text[start:end]
    if "(" in line:
        outside = _PARENTHESES.sub(lambda m: " " * len(m[0]), line)
        line = outside if next(tokens(outside), None) else line
    signs = [m.span() for m in _EQUALS.finditer(line)]
    begins, ends = [0] + [end for _, end in signs], [begin for begin, _ in signs] + [len(line)]
    token = None
    for begin, stop in zip(reversed(begins), reversed(ends), strict=True):
        near = list(islice(tokens(line, begin, stop), 6))
        if token is None and near:
            token = _unjoined(line, near)
            if token and token.value is not None:
                break
        elif len(near) == 1 and near[0].value is not None:
            token = near[0]  # "72 = 48 + 24": the side that is worked out counts
            break
    return token and Token(token.value, token.start + start, token.end + start)


def _unjoined(text: str, near: list[Token]) -> Token | None:
    for left, right in pairwise(near):
        compound = _COMPOUND.match(text, left.end)
        if compound and compound.end() == right.start:
            return None
        if not _JOIN.fullmatch(text, left.end, right.start):
            break
        if left.value is None or left.value != right.value:
            return None
    return near[0]
