r"""Which number did the completion give as its answer?

A model writes text; a reward needs one number. Everything that a reward function ever pays goes through this
module, so it follows written conventions instead of guesses:

1. Reasoning is not an answer: all up to the last ``</think>`` is dropped, and all from a ``<think>`` that never
   closes.
2. An explicit marker outranks a bare number. Markers are ``Final Answer:`` (any case; heading, bold, full-width
   colon, dash, JSON key) and ``最终答案``; ``#### 72``; ``\boxed{72}``; and, with a number right behind them,
   "the answer is", ``Answer:``, ``答案``, ``<answer>``. The **last** one wins, of whatever kind.
3. On the marker's line the right side of the last ``=`` is read (the left one, if only that is worked out);
   without ``=``, the first number. If the line is empty, the next line with text is the marker's line. What
   follows the first sentence, or stands in parentheses, is commentary.
4. Several values are no answer: ``70 or 72``, ``70, 72``, ``70-72``, ``48 + 24`` without ``=``. Nor is a marker
   without a number, a clock time off the full hour, a date, a ratio, a power, or anything that is not finite.
5. Units never scale (``25%`` is 25, ``4 million`` is 4) and number words are not read (``seventy-two``).
6. Without any marker the last number of the text counts, and ``find_answer(...).marker`` says so: watch it for
   format drift.

>>> extract_answer("48/2=24, 48+24=72.\nFinal Answer: 48 + 24 = 72 clips")
'72'
>>> find_answer("So she packs 72 boxes, as asked.")
Answer(value='72', marker='last_number', start=13, end=15)
"""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import NamedTuple

from rl_lab._numerals import MAX_DIGITS, Token, canonical, parse_number, plain, same_number, tokens
from rl_lab._patterns import LazyPattern

__all__ = [
    "ANSWER_PREFIX",
    "MARKERS",
    "Answer",
    "extract_answer",
    "find_answer",
    "parse_number",
    "same_number",
]

ANSWER_PREFIX = "Final Answer:"
"""The one convention of the course: data, SFT target, prompt and extractor all use this."""

MARKERS = ("final_answer", "hashes", "boxed", "phrase", "last_number")
"""What :attr:`Answer.marker` can be, from the convention itself to a bare guess."""

MAX_LINE = 20_000
"""Characters of a marker's line that are read; only an attack writes a longer one."""


class Answer(NamedTuple):
    """An extracted answer.

    Attributes
    ----------
    value : str
        The number in its normal form: ASCII digits, no separators, no trailing zeros.
    marker : str
        How it was found, one of :data:`MARKERS`. Anything but ``"final_answer"`` is format drift.
    start, end : int
        ``text[start:end]`` is the number as the model wrote it.
    """

    value: str
    marker: str
    start: int
    end: int


# Gaps are bounded, and no gap can hold the start of another marker: that keeps every pattern linear.
_GAP = r"[ \t\u00a0*_`\"']{0,12}"
_CURRENCY = r"[$€£¥\\*_\s]{0,4}"
_NEAR = (  # what may stand between "answer is" and its number
    r"[\s*_`\"'$€£¥≈~=:({\[\\]{0,12}"
    r"(?:(?:about|approximately|approx\.?|roughly|exactly|therefore|thus|simply|just|only|now|indeed|equal\ to"
    r"|一共|总共|共|约|大约)[\s,*_:$]{0,4}){0,2}"
    rf"(?:us|hk|usd|rmb|rs\.?)?{_CURRENCY}[-+]?{_CURRENCY}(?:\.?[0-9¼½¾⅓⅔⅛]|\\[dt]?frac)"
)
_MARKER = LazyPattern(
    rf"""
      (?=[\#\\fa最答<])(?:
      (?P<hashes>(?<!\#)\#{{4}}(?!\#)(?={_NEAR}|\s*+\Z))(?!\s?[0-9]{{1,2}}[.):]\s{{1,3}}[^\W\d])
    | (?P<boxed>\\(?:boxed|fbox)\s?(?:\{{(?!\s?\}})|(?=[0-9])))
    | (?P<final>(?:(?<![a-z])final[\s_*-]{{0,4}}answers?(?![a-z])|最[终終后後](?:的)?(?:答案|结果|結果))
        (?:{_GAP}\([^()\n]{{0,60}}\))?
        (?:{_GAP}(?:[:=]|是|为|為){_GAP} | {_GAP}(?:-{{1,2}}(?=\s)|—) | -(?=[0-9])
        | (?=[*_\s\#]{{0,8}}(?:\n|\Z)) | (?={_NEAR})))
    | (?P<phrase>(?:(?<![a-z])(?:answers?|ans)(?![a-z])
        (?:{_GAP}[:=]|[^\n.:=0-9]{{0,40}}?\b(?:is|equals|was|are)\b:?)
        |答案?(?:{_GAP}(?:应该是|应为|是|为|為|[:=]))|<answer>)(?={_NEAR})))
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LOOSE = LazyPattern(
    r"(?<![a-z])answers?(?:\s?:|[^\n.:=0-9]{0,40}?\bis\b)(?!\s(?:not|n't|unknown|unclear)\b)", re.IGNORECASE
)
_LINE_START = LazyPattern(r"(?:^|\n)[\s>#*_\-0-9.)(]{0,12}$")

_THINK_END = LazyPattern(r"</think(?:ing)?>", re.IGNORECASE)
_THINK = LazyPattern(r"<think(?:ing)?>", re.IGNORECASE)
# LaTeX commands, HTML tags and entities carry no number: blank them, at equal length. Separators such as \, stay.
_MARKUP = LazyPattern(
    r"<br\s?/?>|\\n(?![a-z])|\\(?![dt]?frac|sqrt|boxed|fbox|times|cdot)[A-Za-z]{1,20}|\\[()\[\]$]"
    r"|&\#?[A-Za-z0-9]{1,8};|</?(?:b|i|u|p|em|strong|code|div|span)>"
)
_DIGIT = LazyPattern(r"[0-9¼½¾⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]")
_WORD = LazyPattern(r"\w")
_BULLET = LazyPattern(r"[\s>*#]{0,12}(?:[-+•*]\s+|\d{1,2}[.)]\s+(?=[^\n]*\d))?")
_SENTENCE_END = LazyPattern(
    r"[.。](?=\s|$)|[;!?](?!\s{0,3}[$€£¥]?[-+]?[0-9])|,?\s(?:because|since|where|see)\b", re.IGNORECASE
)
_PARENTHESES = LazyPattern(r"\([^()]*\)")
_OR = LazyPattern(
    r"(?:\bor\b(?!\s(?:so|more|less|fewer)\b)|或)(?=[^0-9,.;()\n]{0,25}[.\\]?[0-9¼½¾])", re.IGNORECASE
)
_EQUALS = LazyPattern(r"[-=]>|[=≈≃→⇒]|\bequals\b|等于", re.IGNORECASE)
_JOIN = LazyPattern(  # between two numbers: only signs, or a unit and a connector
    r"[\s,&|、，~*_`$€£¥%+×x·/÷?!;\\{}-]*"
    r"|\s?(?:to|vs\.?|versus|times|plus|minus|over|by|到|至)\s?"
    r"|[^0-9\n().]{0,40}?(?:\b(?:or|and)\b|[,&|、，或和及])[^\w\n(]*(?:(?:maybe|perhaps|possibly|about|even|also|x|y)\b[^\w(]*)*",
    re.IGNORECASE,
)
_BETWEEN = LazyPattern(  # what joins the value of one marker to the next marker
    r"[^0-9\n().,]{0,24}?(?:\b(?:or|and)\b|[,&|/或和及])[\s$*_({\[\\]{0,8}(?:(?:maybe|perhaps|possibly|the|its?)\s){0,2}",
    re.IGNORECASE,
)


def extract_answer(text: str | None) -> str | None:
    r"""Return the number that a completion gives as its answer, or None.

    Parameters
    ----------
    text : str or None
        A completion, prompt excluded. Any string is safe: 1 MB takes a fraction of a second, and nothing is ever
        evaluated. None, which chat APIs send for a turn without text, is an empty completion.

    Returns
    -------
    str or None
        The number in normal form (``"1234"``, ``"-7"``, ``"0.75"``), by the conventions in the module's docstring.
        None if there is no number, no single number, or none that is finite.

    Raises
    ------
    TypeError
        If `text` is neither a string nor None.

    Examples
    --------
    >>> extract_answer("Final Answer: 51\nWait, I forgot the coupon.\nFinal Answer: 46")
    '46'
    >>> [extract_answer(text) for text in ("Final Answer: $1,234", "最终答案：７２", "Final Answer: 70 or 72")]
    ['1234', '72', None]
    """
    found = find_answer(text)
    return found.value if found else None


def find_answer(text: str | None) -> Answer | None:
    r"""Find the answer of a completion, and say by which marker.

    Takes, returns None and raises as :func:`extract_answer` does.

    Examples
    --------
    >>> text = "Adding both months gives \\boxed{72}. I used 2 steps."
    >>> answer = find_answer(text)
    >>> answer.marker, text[answer.start : answer.end]
    ('boxed', '72')
    """
    if text is None:
        return None
    if not isinstance(text, str):
        raise TypeError(
            f"text must be a string, got {type(text).__name__}; rl_lab.rewards.completion_text reads message lists"
        )
    clean, offset = _visible(plain(text))
    if not _DIGIT.search(clean):
        return None
    clean = _MARKUP.sub(_blank, clean)
    found = _marked(clean) or _last_line(clean) or _last_number(clean)
    token, marker = found
    if token is None or token.value is None:
        return None
    return Answer(canonical(token.value), marker, token.start + offset, token.end + offset)


def _visible(text: str) -> tuple[str, int]:
    """Cut the reasoning block; return the rest and how many characters went before it."""
    start = 0
    for match in _THINK_END.finditer(text):
        start = match.end()
    opened = _THINK.search(text, start)
    return text[start : opened.start() if opened else None], start


def _blank(match: re.Match[str]) -> str:
    newline = match[0][:3].lower() == "<br" or match[0] == "\\n"
    return ("\n" if newline else " ") + " " * (len(match[0]) - 1)


def _marked(text: str) -> tuple[Token | None, str] | None:
    """Read the last explicit marker. Its token is None where it carries no single number."""
    marks = [m for m in _MARKER.finditer(text) if _counts(text, m)]
    if not marks:
        return None
    last = marks[-1]
    token, name = _read(text, *_region(text, last)), last.lastgroup
    for before in reversed(marks[-4:-1]):
        start, end = _region(text, before)
        stop = min(end, last.start())
        other = _read(text, start, stop)
        if (
            other
            and _BETWEEN.fullmatch(text, other.end, last.start())
            and token
            and other.value != token.value
        ):
            return None, name  # "\boxed{70} or \boxed{72}": the values of two markers, joined
        if start <= last.start() <= end and before.lastgroup == "final":
            name = "final"
    return token, "final_answer" if name == "final" else name


def _counts(text: str, match: re.Match[str]) -> bool:
    """A bare "final answer" at a line's end is a marker only as a heading, not as the end of a sentence."""
    if match.lastgroup != "final" or match[0][-1] not in "rsRS案果)*_" or _WORD.match(text, match.end()):
        return True
    follows = text[match.end() : match.end() + 12].lstrip("*_ #")
    return bool(follows and follows[0] != "\n") or bool(
        _LINE_START.search(text[max(0, match.start() - 14) : match.start()])
    )


def _region(text: str, match: re.Match[str]) -> tuple[int, int]:
    """Give the span that belongs to a marker: a box's content, the rest of its line, or the next line with text."""
    start = match.end()
    if match.lastgroup == "boxed":
        return start, _box_end(text, start)
    end = _line_end(text, start)
    while not _WORD.search(text, start, end) or text[start:end].rstrip(" *_").endswith(":"):
        if end >= len(text):
            break
        start = _BULLET.match(text, end + 1).end()
        end = _line_end(text, start)
    return start, end


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start, start + MAX_LINE)
    return min(len(text), start + MAX_LINE) if end < 0 else end


def _box_end(text: str, start: int) -> int:
    """Find the brace that closes the box; without one, the box ends with its line."""
    depth, line = 1, _line_end(text, start)
    for brace in re.finditer(r"[{}]", text[start:line]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return start + brace.start()
    return line


def _read(text: str, start: int, end: int) -> Token | None:
    """Read the single value of one marker's span (convention 3 and 4), or None."""
    first = next(tokens(text, start, end), None)
    if first is None:
        return None
    stop = _SENTENCE_END.search(text, first.end, end)
    end = stop.start() if stop else end
    cuts = [start] + [m.start() for m in _OR.finditer(text, start, end)] + [end]
    found = [_single(text, a, b) for a, b in pairwise(cuts) if next(tokens(text, a, b), None)]
    same = all(token and token.value is not None and token.value == found[0].value for token in found)
    return found[0] if same else None


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
        if not _JOIN.fullmatch(text, left.end, right.start):
            break
        if left.value is None or left.value != right.value:
            return None
    return near[0]


def _last_line(text: str) -> tuple[Token | None, str] | None:
    """Read "the answer is that she sold 72 clips", if it is the last thing that the text says."""
    text = text.rstrip()
    start = text.rfind("\n") + 1
    match = _LOOSE.search(text, start)
    token = next(tokens(text, match.end()), None) if match else None
    return (token, "phrase") if token else None


def _last_number(text: str, window: int = 2000) -> tuple[Token | None, str]:
    """Take the last number of the text, looking backwards window by window: a long text is not read twice."""
    end = len(text)
    while end > 0:
        start = max(0, end - window)
        # A number may reach beyond its window, so each window is read a little further than it counts.
        found = [t for t in tokens(text, start, min(len(text), end + MAX_DIGITS), floor=0) if t.start < end]
        if found:
            return found[-1], "last_number"
        end = start
    return None, "last_number"
