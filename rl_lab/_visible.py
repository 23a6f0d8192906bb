r"""Which part of a completion does the model stand by, and which part can a reader see at all?

Reasoning blocks, struck-out text, markup and invisible characters carry no answer; a question that the model
invents after its answer starts somebody else's turn. :mod:`rl_lab.answers` reads what is left. Nothing here moves a
character without saying where it stood.

>>> text, places = without_invisible("7\u200b2")
>>> text, places
('72', [0, 2])
>>> without_reasoning("<think>24?</think>72")
('72', 18)
"""

from __future__ import annotations

import re

from rl_lab._patterns import LazyPattern

# Soft hyphen, joiners, direction marks, variation selectors, keycap frames: a reader sees "72" with or without them.
_INVISIBLE = LazyPattern(
    "[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\u20e3\ufe00-\ufe0f\ufeff]"
)

_NAMES = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning|scratchpad|analysis|reflection)"
_BLOCK = LazyPattern(  # <think>, <thinking>, <reasoning>, [THINK], ◁think▷, <|begin_of_thought|> and what closes them
    rf"(?P<close>(?:</|\[/|◁/){_NAMES}\s{{0,3}}[>\]▷]|<\|end_of_thought\|>)"
    rf"|(?:[<\[◁]{_NAMES}\s{{0,3}}[>\]▷]|<\|begin_of_thought\|>)",
    re.IGNORECASE,
)
_THINK_END = LazyPattern(r"(?:</|\[/|◁/)(?:seed:)?think(?:ing)?\s{0,3}[>\]▷]", re.IGNORECASE)

# LaTeX commands, HTML tags and entities carry no number, and struck-out text no longer does: blank them, at equal
# length. Separators such as \, stay, and so do the commands that make a number more or less than its digits.
_MARKUP = LazyPattern(
    r"<br\s?/?>|\\n(?![a-z])|~~[^~\n]{1,200}~~|<(?P<gone>del|s|strike)>[^<\n]{0,200}</(?P=gone)>"
    r"|\\x?cancel\{[^{}\n]{0,60}\}|\\(?:begin|end)\{[a-z]{1,12}\*?\}(?:\{[clr|]{0,8}\})?"
    r"|\\(?![dt]?frac|sqrt|boxed|fbox|times|cdot|(?:pi|pm|mp|log|ln|lg|exp|sin|cos|tan|gcd|lcm|max|min|d?binom|not|neq?"
    r"|overline|bar|dot|abs|lfloor|lceil|div|mid|l?[vV]ert)(?![A-Za-z]))[A-Za-z]{1,20}|\\[()\[\]$]"
    r"|&\#?[A-Za-z0-9]{1,8};|</?(?:b|i|u|p|em|strong|code|div|span)>"
)

# Base models, shown question after question, go on with the next one; chat models may play the user.
_ITEM = (
    r"(?:(?:(?:word|story|maths?)\ )?(?:question|problem|example|exercise|task|instruction)s?|ex\.?|q\.?|puzzle|riddle"
    r"|quiz|challenge|query|prompt|input|homework|assignment|scenario|follow-?up(?:\ question)?"
    r"|(?:case|test|item)(?=\ [0-9])|pregunta|problema|ejercicio|ejemplo|frage|aufgabe|beispiel"
    r"|задача|вопрос|пример|问题|問題|题目|題目|例题?|例題|示例|练习题?|习题|任务|输入)"
)
_SPEAKER = r"(?:human|user|student|pupil|teacher|tutor|customer|client|learner|person|asker|me|you|用户|学生|老师|提问)"
_COUNT = r"(?:\s?(?:[\#№]|no\.\s|\()?[0-9]{1,3}\)?|\ (?:one|two|three|four|five))?"
_NEXT_TURN = LazyPattern(
    rf"""
      \n(?!\n)(?:[ \t>*_\[(\#=~-]|[0-9]\.\ ){{0,10}}(?:here\ is\ |let's\ (?:try|do|solve)\ )?
        (?:(?:the|a|an|next|new|another|second|other|similar|practice|bonus|sample)\ ){{0,3}}
        (?:(?:{_ITEM}|{_SPEAKER}){_COUNT}[*_\]) ]{{0,4}}:                                # Task: **Example 2**:
        | {_ITEM}\s?\#?[0-9]{{1,3}}[*_\])]{{0,4}}(?:[.)\]]|\s?[-—]\s|[*_ \t]{{0,4}}(?=\n))    # Q2. Problem 3
        | 第\s?[0-9]{{1,3}}\s?题 | [<\[]{_ITEM}{_COUNT}[>\]])
    | \n[ \t]{{0,3}}(?:\#{{1,6}}\ ?|\*\*|__)(?:(?:next|new|another)\ )?{_ITEM}\s?\#?[0-9]{{1,3}}\b  # ## Problem 3 Tom
    | \n[ \t]{{0,3}}(?:here(?:\ is|['’]s)|let(?:\ us|['’]s))\ (?:[a-z]{{2,9}}\ ){{0,3}}
        (?:next|new|another|similar)\ {_ITEM}\b
    | \n(?:\#{{1,6}}\ ?|\*\*|__)(?:{_ITEM}|{_SPEAKER}){_COUNT}[*_:\ ]{{0,4}}(?=\n)             # ### User
    | (?P<template><\|im_start\|>user|<\|start_header_id\|>user|<start_of_turn>user|<\|?user\|?>|\[INST\]
        |<\|(?:im_end|eot_id|endoftext|end_of_text|end)\|>|</s>)""",
    re.IGNORECASE | re.VERBOSE,
)
_BLANK_LINE = LazyPattern(r"\n[ \t]*(?=\n)")


def without_invisible(text: str) -> tuple[str, list[int] | None]:
    """Drop characters that nobody sees; return the rest and where each of its characters stood (None: as before)."""
    if text.isascii() or not _INVISIBLE.search(text):
        return text, None
    gone = {match.start() for match in _INVISIBLE.finditer(text)}
    places = [i for i in range(len(text)) if i not in gone]
    return "".join(text[i] for i in places), places


def without_reasoning(text: str) -> tuple[str, int]:
    """Cut the reasoning; return the rest and how many characters went before it.

    All up to the last ``</think>`` goes, and all from a block that never closes. A closed block of another name, which
    may stand anywhere, is blanked at equal length.
    """
    start = 0
    for match in _THINK_END.finditer(text):
        start = match.end()
    pieces, kept, opened = [], start, None
    for match in _BLOCK.finditer(text, start):
        if not match["close"]:
            opened = match.start() if opened is None else opened
            continue
        if opened is None:  # its beginning lies in the prompt
            pieces = []
            start = kept = match.end()
        else:
            pieces += [text[kept:opened], " " * (match.end() - opened)]
            kept, opened = match.end(), None
    return "".join([*pieces, text[kept:opened]]), start


def without_markup(text: str) -> str:
    r"""Blank markup at equal length; ``<br>`` and a written-out ``\n`` become line breaks.

    Examples
    --------
    >>> without_markup("<b>72</b>")
    '   72    '
    """
    return _MARKUP.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    newline = match[0][:3].lower() == "<br" or match[0] == "\\n"
    return ("\n" if newline else " ") + " " * (len(match[0]) - 1)


def end_of_turn(text: str, first: int, strong: int) -> int:
    r"""Find where the model, having answered, starts a question or a turn of its own invention.

    Parameters
    ----------
    text : str
        What is visible of the completion.
    first : int
        End of its first marker of any kind: a question further up belongs to the solution.
    strong : int
        End of its first marker that is no mere phrase. "Answer: 24" may answer a sub-question, so up to here a new
        question counts only behind a blank line.

    Examples
    --------
    >>> end_of_turn("#### 72\n\nQuestion: Tom has 3 apples.", first=5, strong=5)
    8
    """
    for match in _NEXT_TURN.finditer(text, first):
        start = match.start()
        if start >= strong or match["template"] or _BLANK_LINE.search(text, max(0, start - 12), start + 1):
            return start
    return len(text)
