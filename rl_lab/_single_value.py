r"""Which single value stands in a span of text, if there is exactly one?

This is conventions 3 and 4 of :mod:`rl_lab.answers`, applied to what one marker marks: a line, a box, a tag.

>>> str(read_value("36 + 18 = 54 clips", 0, 18).value), read_value("70 or 72", 0, 8)
('54', None)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise

from rl_lab._context import is_denied, is_part, is_taken_back
from rl_lab._numerals import Token, tokens
from rl_lab._patterns import LazyPattern

# Behind a comma or "and", a name with its value, and not a comment with one: "Ann: 42, Bob: 43", "72, check: 70+2".
_NAME = (
    r"(?!(?:check|proof|note|because|since|which|so|explanation|reason|steps?|work|verif|confiden|certain|probab|score"
    r"|rating|tokens?)[a-z]{0,6}\b)"
)
_NAME += r"[^\W\d_][^\W\d]{0,20}(?:\s[^\W\d]{1,20}){0,2}"
_HAS = (
    r"(?:has|have|had|gets?|got|is|was|needs?|pays?|paid|sells?|sold|earns?|owes?|receives?|makes?|made|buys?|bought|eats?"
    r"|ate|takes?|took|spends?|spent|saves?|saved|keeps?|kept)"
)
_SENTENCE_END = LazyPattern(
    r"[.。](?=\s|$)(?!\s(?:to|by|x|×|-)\s)(?!(?<=\.\.\.)\s[$€£¥]?-?[0-9])|,?\s(?:because|since|where|see)\b"
    rf"|[;!?](?!\s{{0,3}}(?:(?:or|and)\s)?(?:{_NAME}(?:\s?[:=-]\s?|\s{_HAS}\s))?[$€£¥]?[-+]?[0-9]|\s?=)",
    re.IGNORECASE,
)
_PARENTHESES = LazyPattern(r"(?<![0-9.])\([^()]*\)")  # 0.(3) is one number
_OR = LazyPattern(
    r"(?:\bor\b(?!\s(?:minus|so|over|under|above|below|more|less|fewer|better|[a-z]{3,8}er)\b)|\b(?:maybe|perhaps|possibly|otherwise|alternatively|o(?:u|der))\b|或|または|又は|∨)"
    r"(?=[^0-9,.;()\n]{0,25}[.\\]?[0-9¼½¾])",
    re.IGNORECASE,
)
_EQUALS = LazyPattern(r"(?<![<>])=>|->|[≈≃→⇒]|(?<![<>])=(?!<)|\bequals\b|等于", re.IGNORECASE)
_JOIN = LazyPattern(  # between two numbers: only signs, an operator, or a unit and a connector
    r"(?:[\s,&|、，~*_`$€£¥%+×x·/÷±?!;\\{}-]|\\pm)*|—|\s?(?:\.{2,4}|…)\s?"
    r"|\s?[<>≤≥]=?\s?[a-z]\s?[<>≤≥]=?\s?"
    r"|[\s-]?(?:(?:up\s)?to(?:\sand\sincluding)?|through|bis|hasta|до|vs\.?|versus|times|\\times|\\cdot|\\div|plus|minus"
    r"|less|over|by|到|至)[\s-]?"
    r"|[^0-9\n().,]{0,30}?,?\s(?:and|but)\s(?:at\s(?:most|least)|up\sto|under|over|below|above|(?:no\s)?(?:less|fewer|more|greater)\sthan)\s[$€£¥]?"
    r"|\s?[a-z]{1,15}\s?(?:[+×*÷]|plus|times|minus)\s?[$€£¥]?"
    r"|[^0-9\n().]{0,40}?(?:\b(?:or|and|as\swell\sas|et|und)\b|[,&|、，或和及与跟])[^\w\n(]*"
    r"(?:(?:maybe|perhaps|possibly|about|even|also|x|y)\b[^\w(]*)*",
    re.IGNORECASE,
)
_NAMED = LazyPattern(  # ... and between the values of two names
    rf"\sfor\s[^\W\d]{{1,20}};\s?(?:and\s)?[$€£¥]?|\s{_NAME}\s?:\s?[$€£¥]?"
    r"|\s?[,;]?\s\(?[a-z]{1,3}\)\s?"
    rf"|\)\s?[,;&]?\s?(?:and\s)?{_NAME}\s?\(\s?[$€£¥]?"
    rf"|[^0-9\n.:=]{{0,30}}?(?:[,;|/、，]|\b(?:and|but|while)\b|和)\s?(?:and\s)?(?:the\s)?(?:[*_]{{0,3}}{_NAME}[*_]{{0,3}}\s?[:：]|(?:then|second|third)\s|{_NAME}\s-\s"
    rf"|(?!(?:s?he|it|they|which|that|who|there|this|we|you|i)\b)[^\W\d]{{1,20}}\s{_HAS}\s|(?-i:[A-Z])[^\W\d]{{1,15}}\s)[\s$€£¥*_]{{0,4}}",
    re.IGNORECASE,
)
_NAMED_LINE = LazyPattern(
    rf"[ \t>*•_-]{{0,8}}(?P<name>{_NAME})[*_]{{0,3}}\s?[:=][\s*_]{{0,4}}(?P<value>[$€£¥]?-?[0-9][^\n:=]{{0,60}})",
    re.IGNORECASE,
)
_LISTED = LazyPattern(r"(?<!\w)\(?([0-9]{1,2}|[a-z])[.)]{1,2}[*_]{0,3}\s")
_LISTED_NEXT = LazyPattern(r"[ \t>*_]{0,6}\(?([0-9]{1,2}|[a-z])[.)]{1,2}[*_]{0,3}\s")
_WHOLE = LazyPattern(r"total|sum|answer|result|altogether|all", re.IGNORECASE)
_SIBLING = LazyPattern(r'[^0-9\n{}:]{0,30},\s?"[^"\n0-9]{1,30}"\s?:\s?')  # two values of one JSON object
_NEXT_NAME = LazyPattern(  # behind "x = 42": a second name, but not a conclusion
    r"(?:[^0-9\n.:=]{0,30}?(?:[,;|/&，、和]|\band\b)[\s{}*_$]{0,6}"
    r"|\s?[^\W\d]{0,12}\s(?=(?-i:[A-Z])|[a-z][\s*_]{0,4}\Z))"
    r"(?!(?:so|we|i|you|it|this|which|thus|hence|then|therefore|giving|total|sum|altogether|all|answer|result)\b)"
    rf"{_NAME}[\s*_]{{0,4}}",
    re.IGNORECASE,
)
_RANGE = LazyPattern(
    r"(?P<unit>°?\s?[^\W\d]{1,15}?\.?|[%°'\"′″])?\s?"
    r"(?:(?P<by>(?:up\s)?to(?:\sand\sincluding)?|through|till|until|bis|hasta|до|by|x|×|times|到|至)|-{1,2}|—)\s?(?:(?:us|hk)\b)?\s?",
    re.IGNORECASE,
)
_UNIT_BEHIND = LazyPattern(r"[\s{}\\*_`$]{0,12}(°?\s?[^\W\d]{1,15}|[%°'\"′″])?")
_DRESS = LazyPattern(r"[{}\\$€£¥*_`~\s]+")
# One quantity in two numbers: 5 hours 30 minutes, 5'6", 3 dollars 50 cents. Both units measure the same thing.
_MEASURES = (
    r"h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?|days?|weeks?|months?|years?|yrs?|小时|时|分钟?|秒钟?|天|周|个?月|年",
    r"km|m|cm|mm|met(?:er|re)s?|(?:centi|milli|kilo)met(?:er|re)s?|f(?:ee|oo)?t|yards?|in|inch(?:es)?|miles?|米|厘米|毫米|公里",
    r"lbs?|pounds?|oz|ounces?|k?g|(?:kilo)?grams?|公斤|千克|克|斤|两",
    r"gallons?|quarts?|pints?|cups?|lit(?:er|re)s?|ml",
    r"dollars?|bucks|cents?|euros?|pence|元|角|分|块|毛",
)
_MEASURED = [LazyPattern(unit, re.IGNORECASE) for unit in _MEASURES]
_COMPOUND = LazyPattern(
    "|".join(
        rf"\s?(?:{unit})(?<!\bin)[\s,.]{{0,2}}(?=[0-9.]{{1,6}}\s?(?:{unit})(?![a-z]))" for unit in _MEASURES
    )
    + r"|\s?['′]\s?(?=[0-9]{1,2}\s?(?:[\"″']|in\b))",
    re.IGNORECASE,
)


def read_value(text: str, start: int, end: int) -> Token | None:
    """Read the single value of one marker's span (convention 3 and 4), or None."""
    first = next(_numbers(text, start, end), None)
    if first is None:
        return None
    stop = _SENTENCE_END.search(text, first.end, end)
    end = stop.start() if stop else end
    chosen = None
    splits = [m.start() for m in _OR.finditer(text, start, end)]
    for a, b in pairwise([start, *splits, end]):
        if splits and next(_numbers(text, a, b), None) is None:
            continue
        token = _single(text, a, b)
        if token is None or token.value is None or (chosen and token.value != chosen.value):
            return None
        chosen = chosen or token
    # What is taken back behind the box or the sentence was still the answer's number.
    return None if chosen and is_taken_back(text, chosen.end) else chosen


def goes_on_below(text: str, start: int, end: int) -> bool:
    """Tell whether the next line gives another value: "Bob: 43" below "Ann: 42", "2) 43" below "1) 42"."""
    following = _LISTED_NEXT.match(text, end + 1)
    number = following and _LISTED.search(text, max(0, start - 8), min(end, start + 8))
    if number and _place(following[1]) == _place(number[1]) + 1:
        below = text.find("\n", following.end(), following.end() + 200)
        a, b = (
            read_value(text, start, end),
            read_value(text, following.end(), below if below >= 0 else len(text)),
        )
        return bool(a and b and a.value != b.value)
    first = _NAMED_LINE.fullmatch(text, start, end)
    second = first and _NAMED_LINE.match(text, end + 1)
    if not second or _WHOLE.search(first["name"]):
        return False
    a, b = (next(tokens(text, *line.span("value")), None) for line in (first, second))
    return bool(a and b and a.value != b.value)


def _place(item: str) -> int:
    return int(item) if item.isdecimal() else ord(item)


def _numbers(text: str, start: int = 0, end: int | None = None) -> Iterator[Token]:
    """Yield the numbers that are not denied: of "not 70 but 72" the second one."""
    return (token for token in tokens(text, start, end) if not is_denied(text, token.start))


def _single(text: str, start: int, end: int) -> Token | None:
    """Read one alternative: behind its last "=" that has a number, the first number that no other joins."""
    line = text[start:end]
    if "(" in line:
        outside = _PARENTHESES.sub(lambda m: " " * len(m[0]), line)
        line = outside if next(_numbers(outside), None) else line
    signs = [m.span() for m in _EQUALS.finditer(line)]
    begins, ends = [0] + [end for _, end in signs], [begin for begin, _ in signs] + [len(line)]
    token = None
    for i in reversed(range(len(begins))):
        # Parentheses are commentary, unless they are a factor or an argument: is_part reads them in the text itself.
        near = [
            Token(None, *t[1:]) if is_part(text, t.start + start, t.end + start, start) else t
            for t in islice(_numbers(line, begins[i], ends[i]), 6)
        ]
        if token is None and near:
            token = _unjoined(line, near)
            if token and token.value is not None:
                if i and _another_name(line, begins[i - 1], ends[i - 1], token, nested=i > 1):
                    return None
                break
        elif len(near) == 1 and near[0].value is not None:
            token = near[0]  # "72 = 48 + 24": the side that is worked out counts
            break
    return token and Token(token.value, token.start + start, token.end + start)


def _another_name(line: str, start: int, end: int, token: Token, *, nested: bool) -> bool:
    """Tell whether the part before "= token" ends in another name behind a value of its own: "x = 42, y"."""
    before = list(_numbers(line, start, end))
    if not before or before[-1].value == token.value or not (nested or ";" in line[before[-1].end : end]):
        return False
    return bool(_NEXT_NAME.fullmatch(line, before[-1].end, end))


def _unjoined(text: str, near: list[Token]) -> Token | None:
    for left, right in pairwise(near):
        compound = _COMPOUND.match(text, left.end)
        if compound and compound.end() == right.start:
            return None
        if not (
            _JOIN.fullmatch(text, left.end, right.start)
            or _NAMED.fullmatch(text, left.end, right.start)
            or _is_range(text, left, right)
            or ("{" in text[: left.start] and _SIBLING.fullmatch(text, left.end, right.start))
        ):
            break
        if left.value is None or left.value != right.value:
            return None
    return near[0]


def _is_range(text: str, left: Token, right: Token) -> bool:
    """Tell a range or a size (4 km to 6 km, $4 to $6, 3 m x 4 m) from "72 clips to 48 friends": by the units."""
    if right.start - left.end > 60:
        return False
    found = _RANGE.fullmatch(_DRESS.sub(" ", text[left.end : right.start]).strip())
    if not found:
        return False
    unit = (found["unit"] or "").strip(" .").lower()
    behind = (_UNIT_BEHIND.match(text, right.end)[1] or "").lower()
    if not unit or not behind:
        return not unit or bool(found["by"])
    return unit.rstrip("s") == behind.rstrip("s") or any(
        measure.fullmatch(unit) and measure.fullmatch(behind) for measure in _MEASURED
    )
