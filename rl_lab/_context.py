r"""Does a number stand there for itself, or is it a part of something else?

``sqrt(16)``, ``5 + x``, ``half of 16`` and ``2 and a half`` hold a number that is not their value; ``cannot be 42``
denies one, and ``42? No, 43`` takes one back. :mod:`rl_lab.answers` gives no answer for any of them: it does not
calculate, and a reward must not pay for a part. Every look is bounded, so that no text can make it slow.

>>> part = "Final Answer: half of 16"
>>> is_part(part, 22, 24), is_denied("It cannot be 42", 13), is_taken_back("42? No, 43", 2)
(True, True, True)
"""

from __future__ import annotations

import re

from rl_lab._patterns import LazyPattern

_LOOK_BACK = (
    48  # characters; the longest phrase in front of a number, "not equal to exactly $", has half of that
)
_LARGEST_FACTORIAL = 20  # the last one below 2**64: behind a larger number "!" is a mark of joy

_DENIED = LazyPattern(
    r"(?:\b(?:not|never|cannot|neither|nor|except|(?:anything|everything|all)\sbut|other\sthan|instead\sof|rather\sthan)"
    r"|n['’]t|≠|!=|=/=|\\neq?|\\not\s?=|不是|不等于|并非|不为)"
    r"(?:[^\S\n](?:be|being|equals?|is|to|the|a|exactly)\b){0,3}(?:\s?\\(?:boxed|fbox)\s?)?"
    r"[^\S\n]?[*_`$€£¥\"'({\[}\\\s-]{0,6}\Z",
    re.IGNORECASE,
)

_ORDINAL = r"(?:hal(?:f|ve)|third|fourth|quarter|fifth|sixth|seventh|eighth|ninth|tenth|twelfth|hundredth|thousandth)"
_OPEN = r"[\s({\[|$€£¥]{0,4}[-+]?\s?"  # between a function's name and its argument
_BEFORE = LazyPattern(
    rf"""(?:
      \\?(?<![a-z])(?:sqrt|cbrt|root|log|ln|lg|exp|sin|cos|tan)(?:_?\{{?[0-9]{{1,4}}\}}?)?{_OPEN}  # sqrt(16), log 100
    | (?<!print)(?<!answer)(?<=[a-z])\}}?\(\s?[-+]?[$€£¥]?                                         # f(5), abs(-5)
    | \\(?:gcd|lcm|max|min|log|exp|d?binom)(?![a-z]){_OPEN} | [⌊⌈]\s? | \\l(?:floor|ceil|[vV]ert)\s? | \\[vV]ert\s?
    | -\s?\|\s?
    | \bmod(?:ulo)?\s
    | \b(?:{_ORDINAL}s?|root|square|cube|double|triple|twice|absolute\ value|reciprocal|inverse|opposite)
        \s(?:of\s)(?:the\s)?[$€£¥]?                                                               # a third of 27
    | \b(?:half|twice|thrice|double|triple)\s[$€£¥]?
    | (?<![\w'’\\])[a-z]\s?(?:[+/×÷·^]|\\times|\\cdot|(?<!\*)\*(?!\*)|\bplus\b|\btimes\b|\bminus\b)\s?[({{$]{{0,2}}
    | (?<![\w'’\\])(?-i:[b-z])\s?-\s?[({{$]{{0,2}}                                               # x - 5, but a - 5
    | [^\W\d]\s?(?:[+×÷]|\bplus|\btimes)\s[({{$]{{0,2}}                                          # tax + 5
    | \([^()\n]{{0,30}}[0-9][^()\n]{{0,30}}\)\s?[-+*/×÷·^]\s?                                    # (3+4)*2
    )\Z""",
    re.IGNORECASE | re.VERBOSE,
)
_MINUS = LazyPattern(r"\b(?:minus|negative)\s\Z", re.IGNORECASE)
_WORD_BEFORE_FRACTION = LazyPattern(  # two and 1/2
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred)"
    r"\s(?:and\s)?\Z",
    re.IGNORECASE,
)

_SUMS = r"[-+*/×÷^0-9.,$%\s]{0,40}"
_ARITHMETIC = rf"\({_SUMS}(?:[a-z](?![a-z]){_SUMS}){{0,4}}\)"  # (3+4), (x+1), but no words
_CLOSE = r"[\s}$*_`]{0,4}"
_AFTER = LazyPattern(
    rf"""
      {_CLOSE}(?:squared|cubed|factorial|choose|modulo|mod|to\ the\ (?:power|[a-z]{{2,10}}\ power))\b
    | \s?(?:\\|\b|(?<=[0-9]))(?:sqrt|cbrt|log|ln|sin|cos|tan|exp)(?:\b|_)
    | \s%\s[0-9]                                                                                  # 17 % 5
    | \s?(?:\\?%|percent)\s?of\s[$€£¥]?[0-9]
    | \s(?:[^\W\d]{{1,15}}\s)?(?:more|less|fewer|greater)\sthan\s[$€£¥]?[0-9]
    | {_CLOSE}\(?(?:repeating|recurring)\b
    | [ei](?![\w])                                                                                # 2e, 3i
    | (?:\s\+\s|\+|\s?[×÷·]\s?|\splus\s|\s?\\(?:times|cdot)\s?)[({{$\\]{{0,2}}[a-z]                 # 5 + tax
    | (?:\s?-\s?|\s?/\s?(?![cdghlms]\b)|\s?(?<!\*)\*(?!\*)\s?|\*\*|\stimes\s)[({{$]{{0,2}}(?!a\s)[a-z](?![a-z'’)])
    | \s?(?<!\*)[a-z]\s?(?:[-+×÷*·^]|\\times|\\cdot)\s?[({{]?(?:[0-9]|[a-z](?![a-z]))                # 5x + y
    | {_ARITHMETIC}                                                                               # 2(3+4)
    | \s?(?:[-+/×÷·^]|(?<!\*)\*(?!\*)|\\times|\\cdot)\s?{_ARITHMETIC}                              # 5 - (-3)
    | \s?\)(?:\s?[-+*/×÷·^]\s?)?\(\s?[-+]?[0-9]                                                    # (2)(3)
    | \s(?:[^\W\d]{{1,12}}\s)?(?:and|&)\s(?:an?|one|two|three|four|five|[0-9])?\s?{_ORDINAL}s?\b     # 2 and a half
    | \s(?!quarter){_ORDINAL}s?(?=\s{{0,3}}(?:[.,;)!?$}}*]|of\b|\Z|\n))                            # 2 thirds
    | \s(?:quarter|fourth)s?\sof\s(?:an?|the|one)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_FRACTION_AFTER = LazyPattern(r"[a-z](?![a-z])|\sof\s[$€£¥]?[0-9]", re.IGNORECASE)  # \frac{1}{2}x, 3/4 of 16
_BARS = LazyPattern(r"\s{0,8}\|")

_TAKEN_BACK = LazyPattern(
    r"""[\s)\]}*_`$"'%]{0,8}(?:(?!no\b)[^\W\d]{1,15}\s?){0,3}?(?:
      \(?\s?(?:(?:is|was|are|seems|looks)\s)?(?:wrong|incorrect|not\s(?:right|correct|true|the\sanswer)|a\smistake)\b
    | \s?(?:cannot|can['’]?t|could\snot|couldn['’]t)\sbe\s(?:right|correct|true)\b
    | [\s,，.。;:?!…—-]{1,6}(?:
        no(?:[,.!;:—]|\s(?:wait|it['’]?s?|that['’]?s?|i|the|[-$]?[0-9]))|nope\b|wait\b|scratch\sthat|oops\b|correction\b
      | my\smistake|不对|等等|错了|(?:actually|sorry|i\smean|i\smeant|or\srather|hmm)\b(?=[^\n]{0,60}[0-9])
      )
    | [\s.!]{0,4}\n\s{0,4}(?:no|wait|oops|hmm|sorry|actually)[,.!… —-]{1,4}[^\n]{0,80}
      (?:wrong|incorrect|mistake|forgot|error|not\sright|should\s(?:be|have))
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def is_denied(text: str, start: int) -> bool:
    """Tell whether the number at `start` is what the answer is said not to be: "cannot be 42", "≠ 42"."""
    return bool(_DENIED.search(text[max(0, start - _LOOK_BACK) : start]))


def is_part(text: str, start: int, end: int, floor: int = 0) -> bool:
    """Tell whether the number ``text[start:end]`` is a part of an expression or of a phrase with another value.

    What stands before `floor` is another line, or the marker.
    """
    before, number = text[max(floor, start - _LOOK_BACK) : start], text[start:end]
    if _BEFORE.search(before) or _AFTER.match(text, end):
        return True
    if text.startswith("!", end) and not text.startswith(("!!", "!="), end):
        return number.isdecimal() and len(number) <= 2 and int(number) <= _LARGEST_FACTORIAL
    if number.startswith("-") and _MINUS.search(before):  # minus -5
        return True
    if number.startswith("-") and before.rstrip().endswith("|") and _BARS.match(text, end):
        line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        return text.count("|", line_start, line_end if line_end >= 0 else len(text)) == 2  # more: a table
    fraction = "/" in number or number.startswith(("\\", "-\\")) or not number.isascii()
    return fraction and bool(_WORD_BEFORE_FRACTION.search(before) or _FRACTION_AFTER.match(text, end))


def is_taken_back(text: str, end: int) -> bool:
    """Tell whether the text behind a number withdraws it: "42? No, 43", "42 is wrong"."""
    return bool(_TAKEN_BACK.match(text, end))
