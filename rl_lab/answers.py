r"""Which number did the completion give as its answer?

A model writes text; a reward needs one number. Everything that a reward function ever pays goes through this
module, so it follows written conventions instead of guesses:

1. Reasoning is not an answer: all up to the last ``</think>`` is dropped, all from a ``<think>`` that never closes,
   and blocks of other names (``<reasoning>``). Nor is struck-out text, nor what follows once the model, having
   answered, invents the next ``Question:``, ``Example 2`` or ``Task:`` or plays the user, the student, the teacher.
2. An explicit marker outranks a bare number. Markers are ``Final Answer:`` (any case; heading, bold, full-width
   colon, dash, arrow, table cell, JSON key) and ``最终答案``; ``#### 72``; ``\boxed{72}``; ``<answer>72</answer>``;
   and, with a number right behind them, "the answer is", ``Answer:``, ``答案``. The **last** one wins, of any kind.
3. On the marker's line the right side of the last ``=`` is read (the left one, if only that is worked out); without
   ``=``, the first number behind a list number (``1) 42``). If the line is empty, the next line with text is the
   marker's line. What follows the first sentence, or stands in parentheses, is commentary.
4. Several values are no answer: ``70 or 72``, ``70, 72``, ``70-72``, ``$4 to $6``, ``3 m x 4 m``, ``Ann: 42, Bob:
   43``, ``±8``, ``--8``, ``48 + 24`` without ``=``, ``5 hours 30 minutes``. Nor is a part of a value that is still to
   be worked out (``sqrt(16)``, ``5 + x``, ``half of 16``, ``5!``, ``|-5|``, ``2 and a half``), nor what is denied or
   taken back (``cannot be 42``, ``42? No, 43``). Nor is a marker without a number, a clock time off the full hour, a
   date, a ratio, a power, a multiple of π, a name such as ``3x4``, or anything that is not finite.
5. Separators are English: ``1,234`` is 1234 and ``12,34`` two numbers. What can mean but one number is read as well:
   ``1 234``, ``1'234``, ``1.234,56``, ``€31,50``, and ``0.(3)`` or ``0.333...``, which is a third. Units never scale
   (``25%`` is 25, ``4 million`` is 4), and number words are not read (``seventy-two``).
6. Without any marker the last number of the text counts, and ``find_answer(...).marker`` says so: watch it for
   format drift.

>>> extract_answer("48/2=24, 48+24=72.\nFinal Answer: 48 + 24 = 72 clips")
'72'
>>> find_answer("So she packs 72 boxes, as asked.")
Answer(value='72', marker='last_number', start=13, end=15)
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rl_lab._context import is_denied, is_part, is_taken_back
from rl_lab._numerals import MAX_DIGITS, Token, canonical, parse_number, plain, same_number, tokens
from rl_lab._patterns import LazyPattern
from rl_lab._single_value import goes_on_below, read_value
from rl_lab._visible import end_of_turn, without_invisible, without_markup, without_reasoning

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
    r"|value|一共|总共|共|约|大约)[\s,*_:$\"']{0,4}){0,2}"
    rf"(?:us|hk|usd|rmb|rs\.?)?{_CURRENCY}[-+]?{_CURRENCY}(?:\.?[0-9¼½¾⅓⅔⅛]|\\[dt]?frac)"
)
_VERB = r"(?:is|equals|was|are|be|becomes|comes\ (?:out\ )?to)"  # "be" stands for would be, should be, turns out to be
_TAG = r"(?:final[_\s-]?)?answer"
_MARKER = LazyPattern(
    rf"""
      (?=[\#\\fa最答<\[])(?:
      (?P<hashes>(?<!\#)\#{{4}}(?!\#)(?:(?={_NEAR})|(?<![^\n]\#{{4}})(?=\s*+\Z))(?!\s?[0-9]{{1,2}}[.):]\s{{1,3}}[^\W\d]))
    | (?P<boxed>\\(?:boxed|fbox)\s?(?:\{{(?!\s?\}})|(?=[0-9])))
    | (?P<final>(?:(?<![a-z])final[\s_*-]{{0,4}}answers?(?![a-z])|最[终終后後](?:的)?(?:答案|结果|結果))
        (?:{_GAP}(?:[(\[][^()\[\]\n0-9]{{0,60}}[)\]]|[(\[][^()\[\]\n]{{0,60}}[)\]](?={_GAP}[:=])))?
        (?:{_GAP}(?:[:=|→⇒]|-{{1,2}}>|是|为|為){_GAP} | {_GAP}(?:-{{1,2}}(?=\s)|—) | -(?=[0-9])
        | (?=[*_\s\#]{{0,8}}(?:\n|\Z)) | (?={_NEAR})))
    | (?P<tag>(?:<{_TAG}>|\[{_TAG}\])
        (?:(?={_NEAR})|(?=\s{{0,20}}(?!(?:and|or|tags?)\b)[^\s<\[][^<\[]{{0,1000}}[<\[]/{_TAG})))
    | (?P<phrase>(?:(?<![a-z])(?:answers?|ans)(?![a-z])
        (?:{_GAP}[:=]|[^\n.:=0-9]{{0,40}}?\b{_VERB}\b:?)
        |答案?(?:{_GAP}(?:应该是|应为|是|为|為|[:=])))(?={_NEAR})))
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LOOSE = LazyPattern(
    r"(?<![a-z])answers?(?:\s?:|[^\n.:=0-9]{0,40}?\bis\b)(?!\s(?:not|n't|unknown|unclear)\b)", re.IGNORECASE
)
_LINE_START = LazyPattern(r"(?:^|\n)[\s>#*_\-0-9.)(]{0,12}$")

_DIGIT = LazyPattern(r"[0-9¼½¾⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]")
_WORD = LazyPattern(r"\w")
_BULLET = LazyPattern(r"[\s>*#]{0,12}(?:[-+•*]\s+|\d{1,2}[.)]\s+(?=[^\n]*\d))?")
_LIST_NUMBER = LazyPattern(  # "1) 42", "**1.** 42"; but "18. 2 checks" is an answer and a comment
    r"[\s*_]{0,6}(?:(?:\d{1,2}\.?\)|\[\d{1,2}\])(?:[*_}]{0,3}\s+(?![a-z]{2})|(?=[-$]?\d))(?=[^\n]*\d)|1\.[*_]{0,3}\s+(?=[*_$€£¥\\-]{0,4}[0-9]))"
)
_BRACE = LazyPattern(r"[{}]")
_TAG_END = LazyPattern(rf"[<\[]/{_TAG}", re.IGNORECASE)
_LEADS_ON = LazyPattern(
    r"(?:[:=]|\b(?:is|are|was|be))[ *_]{0,8}$"
)  # "The total is:", and the number on the next line
# A line that only frames the next ones: the opening of a code block, the head of a table.
_FRAME = LazyPattern(r"\s*(?:```|~~~)\s?\w{0,12}\s*|\s*\|[^0-9]*\|\s*")
_SAFE_BREAK = LazyPattern(r"[^\w.,'’{}\\/^×*+ \u00a0\u2009\u202f-]|[^\W\d_]\s|[\u3400-\u9fff]")
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
    shown, places = without_invisible(text)
    clean, offset = without_reasoning(plain(shown))
    if not _DIGIT.search(clean):
        return None
    clean = without_markup(clean)
    token, marker = _marked(clean) or _last_line(clean) or _last_number(clean)
    if token is None or token.value is None:
        return None
    start, end = token.start + offset, token.end + offset
    if places:
        start, end = places[start], places[end - 1] + 1
    return Answer(canonical(token.value), marker, start, end)


def _marked(text: str) -> tuple[Token | None, str] | None:
    """Read the last explicit marker. Its token is None where it carries no single number."""
    marks = [m for m in _MARKER.finditer(text) if _counts(text, m)]
    if not marks:
        return None
    strong = next((m.end() for m in marks if m.lastgroup != "phrase"), len(text))
    text = text[: end_of_turn(text, marks[0].end(), strong)]
    marks = [m for m in marks if m.end() <= len(text)]
    last = marks[-1]
    (start, end), name = _region(text, last), last.lastgroup
    token = None if name != "boxed" and goes_on_below(text, start, end) else read_value(text, start, end)
    for before in reversed(marks[-4:-1]):
        start, end = _region(text, before)
        stop = min(end, last.start())
        other = read_value(text, start, stop)
        if (
            other
            and _BETWEEN.fullmatch(text, other.end, last.start())
            and token
            and other.value != token.value
        ):
            return None, name  # "\boxed{70} or \boxed{72}": the values of two markers, joined
        if start <= last.start() <= end and before.lastgroup == "final":
            name = "final"
    return token, {"final": "final_answer", "tag": "phrase"}.get(name, name)


def _counts(text: str, match: re.Match[str]) -> bool:
    """A bare "final answer" at a line's end is a marker only as a heading, not as the end of a sentence."""
    if match.lastgroup != "final" or match[0][-1] not in "rsRS案果)*_" or _WORD.match(text, match.end()):
        return True
    follows = text[match.end() : match.end() + 12].lstrip("*_ #")
    return bool(follows and follows[0] != "\n") or bool(
        _LINE_START.search(text[max(0, match.start() - 14) : match.start()])
    )


def _region(text: str, match: re.Match[str]) -> tuple[int, int]:
    """Give the span that belongs to a marker: what a box or tag holds, the rest of its line, or the next with text."""
    start = match.end()
    if match.lastgroup == "boxed":
        end = _box_end(text, start)
        return start, end if match[0].endswith("{") else min(end, _line_end(text, start))
    closed = _TAG_END.search(text, start, start + MAX_LINE) if match.lastgroup == "tag" else None
    if closed:
        return start, closed.start()
    if match[0][-1] in "rsRS" and text.startswith("(", start):  # final_answer(72), as an agent's tool call
        return start + 1, _line_end(text, start, ")")
    listed = _LIST_NUMBER.match(text, start)
    if (
        listed and text.count("(", text.rfind("\n", 0, start) + 1, start) == 0
    ):  # "(Final Answer: 5) in 2 steps"
        start = listed.end()
    end = _line_end(text, start)
    while (
        not _WORD.search(text, start, end)
        or _LEADS_ON.search(text, start, end)
        or _FRAME.fullmatch(text, start, end)
    ):
        if end >= len(text):
            break
        start = _BULLET.match(text, end + 1).end()
        end = _line_end(text, start)
    return start, end


def _line_end(text: str, start: int, stop: str = "\n") -> int:
    end = text.find(stop, start, start + MAX_LINE)
    return min(len(text), start + MAX_LINE) if end < 0 else end


def _box_end(text: str, start: int) -> int:
    """Find the brace that closes the box; without one, the box ends with its line."""
    depth = 1
    for brace in _BRACE.finditer(text, start, start + MAX_LINE):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    return _line_end(text, start)


def _last_line(text: str) -> tuple[Token | None, str] | None:
    """Read "the answer is that she sold 72 clips", if it is the last thing that the text says."""
    text = text.rstrip()
    start = text.rfind("\n") + 1
    match = _LOOSE.search(text, start)
    if not match or next(tokens(text, match.end()), None) is None:
        return None
    return read_value(text, match.end(), len(text)), "phrase"


def _last_number(text: str, window: int = 2000) -> tuple[Token | None, str]:
    """Take the last number of the text, looking backwards window by window: a long text is not read twice."""
    end = len(text)
    while end > 0:
        start = max(0, end - window)
        if start:  # a window must not begin within a number
            for match in _SAFE_BREAK.finditer(text, max(0, start - MAX_DIGITS), start):
                start = match.end()
        # A number may reach beyond its window, so each window is read a little further than it counts.
        found = [t for t in tokens(text, start, min(len(text), end + MAX_DIGITS), floor=0) if t.start < end]
        for token in reversed(found):
            if not is_denied(text, token.start):
                line = text.rfind("\n", 0, token.start) + 1
                part = is_part(text, token.start, token.end, line) or is_taken_back(text, token.end)
                return None if part else token, "last_number"
        end = start
    return None, "last_number"
