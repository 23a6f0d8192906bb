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

_LOOK_BACK = 48  # characters; the longest phrase, "not equal to exactly $", has half of that
_LARGEST_FACTORIAL = 20  # the last one below 2**64: behind a larger number "!" is a mark of joy

_DENIED = LazyPattern(
    r"(?:\b(?:not|never|no\slonger|cannot|neither|nor|except|hardly|unlikely|impossible|far\sfrom|nowhere\snear|nothing\slike"
    r"|(?:anything|everything|all)\sbut|other\sthan|instead\sof|rather\sthan)"
    r"|not\s[$€£¥]?[0-9.,]{1,12}\sor|n['’]t|[≠¬]|!=|=/=|<>|\\neq?|\\not\s?=|不是|不等于|并非|不为)"
    r"(?:[^\S\n](?:be|being|equals?|is|to|the|a|exactly|really|quite|number|value|answer|result)\b){0,3}(?:\s?\\(?:boxed|fbox)\s?)?"
    r"[^\S\n]?[*_`$€£¥\"'({\[}\\\s:-]{0,6}\Z",
    re.IGNORECASE,
)
# How the text in front of a denied number ends; most numbers are done with this one look.
_DENYING = (
    "not", "never", "longer", "cannot", "neither", "nor", "except", "but", "than", "instead of", "hardly", "far from",
    "n't", "n’t", "≠", "¬", "!=", "=/=", "<>", "\\ne", "\\neq", "not =", "not=", "不是", "不等于", "并非", "不为",
    "boxed", "fbox", " be", "being", "equal", "equals", " is", " to", " the", " a", "exactly", "number", "value",
    "answer", "result", "really", "quite", "near", "like", " or",
)  # fmt: skip

_ORDINAL = r"(?:hal(?:f|ve)|third|fourth|quarter|fifth|sixth|seventh|eighth|ninth|tenth|twelfth|hundredth|thousandth)"
_OPEN = r"[\s({\[|$€£¥]{0,4}[-+]?\s?"  # between a function's name and its argument
_BEFORE = LazyPattern(
    rf"""(?:
      \\?(?<![a-z])(?:sqrt|cbrt|root|log|ln|lg|exp|sin|cos|tan|abs)(?:_?\{{?[0-9]{{1,4}}\}}?)?{_OPEN}  # sqrt(16)
    | (?<!print)(?<!answer)(?<=[a-z])\}}?\(\s?[-+]?[$€£¥]?                                         # f(5), abs(-5)
    | \\(?:gcd|lcm|max|min|log|exp|d?binom)(?![a-z]){_OPEN} | [⌊⌈∛∜]\s?
    | \\(?:lfloor|lceil|l?[vV]ert|mid)\s? | -\s?\|\s?
    | \b(?:hundred|thousand|million|dozen|score)\s(?:and\s)?[$€£¥]?                              # two hundred and 5
    | \b(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)[\s-]
    | \b(?:one|two|three|four|five|six|seven|eight|nine|ten)\s(?:point|over)\s                  # two point 5
    | \bmod(?:ulo)?\s
    | \b(?:{_ORDINAL}s?|root|square|cube|double|triple|twice|absolute\ value|reciprocal|inverse|opposite)
        \s(?:of\s)(?:the\s)?[$€£¥]?                                                               # a third of 27
    | \b(?:half|twice|thrice|double|triple)\s[$€£¥]?
    | (?<![\w'’\\])[a-z]\s?(?:[+/×÷·^]|\\times|\\cdot|\\div|(?<!\*)\*(?!\*)|\b(?:plus|times|minus)\b)\s?[({{$]{{0,2}}
    | (?<![\w'’\\])(?-i:[b-z])\s?-\s?[({{$]{{0,2}}                                               # x - 5, but a - 5
    | [^\W\d]\s?(?:[+×÷]|\bplus|\btimes)\s[({{$]{{0,2}}                                          # tax + 5
    | \([^()\n]{{0,30}}[0-9][^()\n]{{0,30}}\)\s?[-+*/×÷·^]\s?                                    # (3+4)*2
    )\Z""",
    re.IGNORECASE | re.VERBOSE,
)
# How such a text can end: searching it backwards costs ten times as much as this look.
_OPENING = (
    *"([{|⌊⌈∛∜+-*/×÷·^)}0123456789",
    "sqrt", "cbrt", "root", "log", "ln", "lg", "exp", "sin", "cos", "tan", "abs", "gcd", "lcm", "max", "min", "binom",
    "floor", "ceil", "vert", "mod", "modulo", "cdot", "div", "mid", "of", "of the", "half", "twice", "thrice", "double",
    "triple", "plus", "times", "minus", "hundred", "thousand", "million", "dozen", "score", "and", "ty", "point",
    "over",
)  # fmt: skip
_MINUS = LazyPattern(r"(?:\b(?:minus|negative)|[-+±]\\?[$€£¥])\s?\Z", re.IGNORECASE)
_WORD_BEFORE_FRACTION = LazyPattern(  # two and 1/2
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred)"
    r"\s(?:(?:and|&)\s(?:an?\s)?)?\Z",
    re.IGNORECASE,
)

_SUMS = r"[-+*/×÷^0-9.,$%\s]{0,40}"
_ARITHMETIC = rf"\({_SUMS}(?:[a-z](?![a-z]){_SUMS}){{0,4}}\)"  # (3+4), (x+1), but no words
_CLOSE = r"[\s}$*_`]{0,4}"
_AFTER = LazyPattern(
    rf"""
      {_CLOSE}(?:squared|cubed|halved|doubled|tripled|raised\ to|factorial|choose|mod(?:ulo)?)\b
    | {_CLOSE}to\ the\ (?:power|[0-9a-z]{{2,10}}\ power)\b
    | \s?(?:\\|\b|(?<=[0-9]))(?:sqrt|cbrt|log|ln|sin|cos|tan|exp)(?:_|(?![a-z])\s?(?:[\\({{0-9]|[a-zθ](?![a-z])))
    | \sto\ the\ [0-9]                                                                            # 2 to the 5th
    | \s%\s[0-9]                                                                                  # 17 % 5
    | \s?(?:\\?%|percent)\s{{0,3}}(?:off?|(?:more|less)\ than)\s[$€£¥]?[0-9]
    | \s(?:more|less|fewer|greater)\sthan\s[$€£¥]?[0-9]
    | {_CLOSE}\(?(?:repeating|recurring)\b
    | [eijnyz](?![\w-])                                                                           # 2e, 3i, 4n
    | (?:\s\+\s|\+|\s?[×÷·]\s?|\splus\s|\s?\\(?:times|cdot|div)\s?)[({{$\\]{{0,2}}[a-z]                 # 5 + tax
    | (?:\s?-\s?|\s?/\s?(?![cdghlms]\b)|\s?(?<!\*)\*(?!\*)\s?|\*\*|\s(?:times|minus)\s)
        [({{$]{{0,2}}(?![ai][\s-])[a-z](?![a-z'’)])                                               # 5 - x
    | \s?(?<!\*)[a-z]\s?(?:[-+×÷*·^]|\\times|\\cdot)\s?[({{]?(?:[0-9]|[a-z](?![a-z]))                # 5x + y
    | {_ARITHMETIC}                                                                               # 2(3+4)
    | \s?(?:[-+/×÷·^]|(?<!\*)\*(?!\*)|\\times|\\cdot)\s?{_ARITHMETIC}                              # 5 - (-3)
    | \s?\)(?:\s?[-+*/×÷·^]\s?)?\(\s?[-+]?[0-9]                                                    # (2)(3)
    | [\s-](?:[^\W\d]{{1,12}}\s)?(?:and|&)[\s-](?:an?|one|two|three|four|[0-9])?[\s-]?{_ORDINAL}s?\b  # 2 and a half
    | [\s-](?!quarter){_ORDINAL}s?(?=\s{{0,3}}(?:[.,;)!?$}}*]|of\b|\Z|\n))                            # 2 thirds
    | (?<![/0-9][0-9])(?<!/)(?:th|rd)s\b                                                            # three 4ths
    | -quarters?\b | \s(?:point|comma)\s[0-9] | \s(?:hundred|thousand|million|billion)\s(?:and\s)?[0-9]
    | \s(?:quarter|fourth)s?\sof\s(?:an?|the|one)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_FRACTION_AFTER = LazyPattern(r"[a-z](?![a-z])|\sof\s[$€£¥]?[0-9]", re.IGNORECASE)  # \frac{1}{2}x, 3/4 of 16
_BARS = LazyPattern(r"\s{0,8}\|")

_FALSE = r"(?:wrong|incorrect|false|impossible|not\s(?:right|correct|true|possible|the\sanswer)|a\smistake)\b"
_TAKEN_BACK = LazyPattern(
    rf"""[\s)\]}}*_`$"'%]{{0,8}}(?:(?!no\b|is\b|was\b)[^\W\d]{{1,15}}+\s?){{0,3}}?(?:
      \s?[(\[:,;?=—-]?\s?(?:❌|✗|✘|{_FALSE}(?!\s[^\W\d]))                                # but: 4 incorrect answers
    | \s?(?:is|was|are|seems|looks)\s(?:the\s|a\s)?{_FALSE}
    | \s?(?:does|did)(?:\snot|n['’]t)\s(?:work|fit|make\ssense|add\sup|check\sout)\b
    | \s?(?:cannot|can['’]?t|could\s?n[o'’]t)\sbe(?:\s(?:right|correct|true)\b|[\s.!]{{0,4}}(?:\n|\Z))
    | \s?(?:is|was|can\sbe)\s(?:ruled\sout|excluded|rejected|not\sit)\b
    | [\s,;(—-]{{1,3}}(?:but\s)?(?:it\s)?should\s(?:be|have\sbeen)\s[$€£¥]?-?[0-9]
    | \s?(?:is|was)n['’]t\s(?:right|correct|true|the\sanswer)\b
    | \s?was\s(?:my|the)\s(?:first|initial|old|earlier|previous)\b
    | \s?\?{{1,3}}\s?no\s?(?:\n|\Z)
    | [\s,，.。;:?!…(—-]{{1,6}}(?:
        no(?:[,!;:—]|(?<!\(no)\.|\s(?:wait|it['’]?s?|that['’]?s?|i|the|[-$]?[0-9]))
      | not\s(?:quite|really)\b|nope\b|wait\b(?!\s(?:for|until|till|time))
      | (?:scratch|strike|make)\sthat\b|nah\b|on\ssecond\sthought|hold\son\b|oops\b|correction\b|my\s(?:bad|mistake)\b
      | 不对|等等|错了
      | (?:but\s)?(?:which|that|this|it)(?:['’]s|\sis|\swas)\s{_FALSE}
      | (?:actually|sorry|i\smean|i\smeant|or\srather|hmm)\b(?=[^\n]{{0,60}}[0-9])
      )
    | [\s.!]{{0,4}}\n\s{{0,4}}(?:no|wait|oops|hmm|sorry|actually)[,.!…\ —-]{{1,4}}[^\n]{{0,80}}
      (?:wrong|incorrect|mistake|forgot|error|not\sright|should\s(?:be|have))
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def is_denied(text: str, start: int) -> bool:
    """Tell whether the number at `start` is what the answer is said not to be: "cannot be 42", "≠ 42"."""
    before = text[max(0, start - _LOOK_BACK) : start].lower()
    return before.rstrip(" \t*_`$€£¥\"'({[}\\:-").endswith(_DENYING) and bool(_DENIED.search(before))


def is_part(text: str, start: int, end: int, floor: int = 0) -> bool:
    """Tell whether the number ``text[start:end]`` is a part of an expression or of a phrase with another value.

    What stands before `floor` is another line, or the marker.
    """
    before, number = text[max(floor, start - _LOOK_BACK) : start], text[start:end]
    nearest = before.rstrip(" \t$€£¥").lower()
    opened = nearest.endswith(_OPENING) and _BEFORE.search(before)
    if opened or _AFTER.match(text, end):
        return True
    if text.startswith("!", end) and not text.startswith(("!!", "!="), end):
        return number.isdecimal() and len(number) <= 2 and int(number) <= _LARGEST_FACTORIAL
    if not number[0].isdecimal() and _MINUS.search(before):  # minus -5
        return True
    if number.startswith("-") and before.rstrip().endswith(("||", "‖", "\\|")):
        return True
    if number.startswith("-") and before.rstrip().endswith("|") and _BARS.match(text, end):
        line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        return text.count("|", line_start, line_end if line_end >= 0 else len(text)) == 2  # more: a table
    fraction = "/" in number or number.startswith(("\\", "-\\")) or not number.isascii()
    return fraction and bool(_WORD_BEFORE_FRACTION.search(before) or _FRACTION_AFTER.match(text, end))


def is_taken_back(text: str, end: int) -> bool:
    """Tell whether the text behind a number withdraws it: "42? No, 43", "42 is wrong"."""
    return bool(_TAKEN_BACK.match(text, end))
