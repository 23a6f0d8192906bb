"""What does a completion hold, besides its answer?

The text that counts, whichever shape the trainer gave it; the visible steps; and whether it ends as the course's
convention asks. :mod:`rl_lab.rewards` puts prices on these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rl_lab._numerals import plain
from rl_lab._patterns import LazyPattern
from rl_lab.answers import ANSWER_PREFIX, find_answer

_MODEL_ROLES = ("assistant", "model", "ai")
_NO_TEXT = {
    "role",
    "name",
    "id",
    "tool_calls",
    "function_call",
    "reasoning_content",
    "reasoning",
    "thinking",
    "refusal",
}

# A label pays if it introduces something: "Step 1 Step 1 Final Answer: 72" holds no step.
_STEP_LABEL = LazyPattern(
    r"(?:(?<![a-z])step\s?([0-9]{1,3})(?![0-9])|步骤\s?([0-9]{1,3})(?![0-9])|第\s?([0-9]{1,3})\s?步)"
    r"(?![\s:.*_#)-]{0,12}(?:step(?![a-z])|步骤|第\s?[0-9]|final\s+answer|最终答案|$))",
    re.IGNORECASE,
)
_EQUATION = LazyPattern(r"[0-9)%][ \t*_`$]{0,4}=[ \t*_`$€£¥]{0,4}(-?\.?[0-9][0-9.,]{0,20})")
_LEFT_SIDE = LazyPattern(r"(?:[0-9.,()%$]{1,20}\s?[-+*/×÷x]\s?){0,9}[0-9.,()%$]{1,20}[ \t*_`$]{0,4}$")


def completion_text(completion: str | Iterable[Mapping[str, Any]] | None) -> str:
    """Return the text that a completion answers with, whatever shape the trainer gave it.

    Parameters
    ----------
    completion : str, list of messages, or None
        TRL hands over strings for plain prompts and lists of messages for conversational ones. Of a list, the
        last assistant message counts; what a tool wrote never does. Content in parts gives its text parts, not its
        reasoning.

    Returns
    -------
    str
        Possibly empty: for None, for a list without an assistant message, and for a message that is only a tool
        call (the model is still acting, it has not answered).

    Raises
    ------
    TypeError
        If `completion` or a message has another kind, or a message keeps its text under another key than ``content``.

    Examples
    --------
    >>> completion_text([{"role": "tool", "content": "60"}, {"role": "assistant", "content": "Final Answer: 55"}])
    'Final Answer: 55'
    """
    if completion is None or isinstance(completion, str):
        return completion or ""
    if isinstance(completion, Mapping):
        completion = [completion]
    if not isinstance(completion, (list, tuple)) or not all(isinstance(m, Mapping) for m in completion):
        raise TypeError(
            f"completion must be a string or a list of messages, got {type(completion).__name__}; "
            "pass decoded text, not token ids"
        )
    spoken = [m for m in completion if str(m.get("role", "assistant")).lower() in _MODEL_ROLES]
    for message in spoken:
        if "content" not in message and set(message) - _NO_TEXT:
            raise TypeError(
                f"a message must have the keys 'role' and 'content', got {', '.join(map(str, message)) or 'no key'}; "
                "rename them, or this completion would silently earn 0"
            )
    return _content(spoken[-1].get("content")) if spoken else ""


def _content(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, (list, tuple)):
        return "".join(_part(part) for part in content)
    raise TypeError(
        f"a message's content must be a string, a list of parts or None, got {type(content).__name__}"
    )


def _part(part: Any) -> str:
    """Give a part's text; a part of another type (reasoning, a tool call, an image) is no answer."""
    if not isinstance(part, Mapping):
        return _content(part)
    return _content(part.get("text")) if part.get("type", "text") in ("text", "output_text") else ""


def count_steps(completion: Any, limit: int | None = None) -> int:
    r"""Count marks of stepwise work: labels "Step n" (also 步骤 n, 第 n 步) and equations.

    A label counts once per n, and only if it introduces something. An "=" counts only with a number on both sides,
    the same equation counts once, and 1=1.0 not at all. So ``"= = ="`` and ``"Step 1 Step 1"`` are worth nothing.

    Parameters
    ----------
    completion : str or list of messages
        The text to search.
    limit : int, optional
        Stop counting equations there; a capped reward needs no more.

    Examples
    --------
    >>> count_steps("Step 1: 80*0.75=60.\nStep 2: 60-5=55.\nFinal Answer: 55")
    4
    >>> count_steps("= = = Step 1 Step 1 Final Answer: 55")
    0
    """
    text = plain(completion_text(completion))
    labels = {int(match[match.lastindex]) for match in _STEP_LABEL.finditer(text)}
    equations: set[str] = set()
    for match in _EQUATION.finditer(text):
        if limit is not None and len(labels) + len(equations) >= limit:
            break
        equation = _equation(text, match)
        if equation:
            equations.add(equation)
    return len(labels) + len(equations)


def _equation(text: str, match: re.Match[str]) -> str:
    """Write an equation in one form, so that twice is once; empty for 1=1.0, which says nothing."""
    sign = match[0].index("=") + match.start()
    left = _LEFT_SIDE.search(text[max(0, sign - 40) : sign])
    written = re.sub(r"[^-0-9.+*/×÷x%()]", "", left[0]) if left else ""
    right = _trimmed(match[1])
    return f"{written}={right}" if written and _trimmed(written.strip("()")) != right else ""


def _trimmed(number: str) -> str:
    number = number.rstrip(".,").replace(",", "")
    return number.rstrip("0").rstrip(".") if "." in number else number


def format_ok(completion: Any) -> bool:
    r"""Tell whether the completion ends as the course's convention asks: a last line ``Final Answer: <number>``.

    Examples
    --------
    >>> format_ok("48+24=72.\nFinal Answer: 72"), format_ok("#### 72"), format_ok("Final Answer: 72\nDone!")
    (True, False, False)
    """
    text = completion_text(completion).rstrip()
    last_line = text.rfind("\n") + 1
    found = find_answer(text) if text[last_line:].lstrip().startswith(ANSWER_PREFIX) else None
    return found is not None and found.start >= last_line
