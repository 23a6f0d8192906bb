r"""How does one problem become training data for SFT, for RL, and for an agent with a tool?

:func:`load` brings rows, :func:`to_sft`, :func:`to_rl` and :func:`to_tool_trace` convert one row,
:func:`convert` a whole list, with a count of what it left out. All three formats share
one prompt, byte for byte.

>>> row = {"question": "What are 6 bags of 9 nuts?", "answer": "6*9=<<6*9=54>>54 nuts.\n#### 54"}
>>> to_rl(row, style="messages")
{'prompt': [{'role': 'user', 'content': 'What are 6 bags of 9 nuts?'}], 'ground_truth': '54'}
>>> to_sft(row)["completion"]
'6*9=54 nuts.\nFinal Answer: 54'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rl_lab._marks import without_innermost_marks
from rl_lab._record import Record
from rl_lab._sources import HUB_NAME, ProblemSet, load, one_of, skipped_rows
from rl_lab.answers import ANSWER_PREFIX, extract_answer, same_number
from rl_lab.calculator import CalculatorError, evaluate, format_number
from rl_lab.rows import (
    Problem,
    calc_marks,
    check_calc_marks,
    clean_text,
    extract_ground_truth,
    find_leak,
    label_of,
    number_label,
    reasoning_lines,
    states_value,
    strip_calc_marks,
)

__all__ = [
    "CALCULATOR_TOOL",
    "HUB_NAME",
    "SYSTEM_PROMPT",
    "Converted",
    "Problem",
    "ProblemSet",
    "RowError",
    "calc_marks",
    "chatml",
    "check_calc_marks",
    "clean_text",
    "convert",
    "extract_ground_truth",
    "find_leak",
    "label_of",
    "load",
    "number_label",
    "reasoning_lines",
    "strip_calc_marks",
    "to_rl",
    "to_sft",
    "to_tool_trace",
]

SYSTEM_PROMPT = f"Solve the problem step by step. End with one line: {ANSWER_PREFIX} <number>"
"""For a model that has not learned the format yet. The converters add it only when asked (``system=SYSTEM_PROMPT``)."""

CALCULATOR_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "calc",
        "description": "Work out an arithmetic expression.",
        "parameters": {
            "type": "object",
            "properties": {
                "expression": {"type": "string", "description": "Numbers, + - * / and parentheses."}
            },
            "required": ["expression"],
        },
    },
}
"""The tool of :func:`to_tool_trace` as a JSON schema, for the ``tools`` column that TRL's trainers read."""


class RowError(ValueError):
    """A row that cannot become training data. Its message names the row; :func:`convert` can skip and count it."""


# ChatML, Llama 3 and Phi write <|name|>; Llama 2 and Mistral, Gemma.
_TEMPLATE_MARK = re.compile(
    r"<\|[^<>|\n]{1,40}\|>|</?s>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|<[be]os>"
)

Sample = Mapping[str, Any]
Messages = list[dict[str, Any]]


class Converted(list):
    """Converted rows: a list of dicts that ``datasets.Dataset.from_list`` takes as it is.

    Attributes
    ----------
    to : str
        Name of the format.
    skipped : list of Record
        Rows left out, each with ``row`` (its number, from 0) and ``reason``.
    """

    def __init__(self, rows: Iterable[dict[str, Any]], to: str, skipped: list[Record]) -> None:
        super().__init__(rows)
        self.to, self.skipped = to, skipped

    def report(self) -> str:
        """One line: how many rows were converted, how many were left out, and why the first of these was."""
        return f"{len(self):,} of {len(self) + len(self.skipped):,} rows to {self.to}; {skipped_rows(self.skipped)}"


def to_sft(
    sample: Sample,
    *,
    style: str = "chatml",
    system: str | None = None,
    tokenizer: Any = None,
    row: int | None = None,
) -> dict[str, Any]:
    r"""Convert one row to SFT format: the model is shown the whole solution and imitates it.

    Parameters
    ----------
    sample : mapping
        ``question`` and ``answer``; the label stands behind ``####`` or in ``ground_truth``, ``target`` or
        ``label``.
    style : str
        ``"messages"``: lists of role and content, what TRL's trainers want; they apply the model's own template.
        ``"chatml"`` (default): text with the ChatML marks of Qwen and SmolLM2, easy to look at, and right only
        for models that were trained with these marks.
    system : str, optional
        Content of a system message, for instance :data:`SYSTEM_PROMPT`.
    tokenizer : optional
        A tokenizer with a chat template (``apply_chat_template``): renders text with the model's own marks
        instead. If the template opens with a beginning-of-text mark (Llama, Gemma), so does this text, and a trainer
        that tokenizes text (TRL's GRPOTrainer) adds another: give those ``"messages"``.
    row : int, optional
        Number of the row, for the message of an error.

    Returns
    -------
    dict
        ``prompt`` and ``completion``. The completion holds the reasoning, one step a line, without calculator
        marks and blank lines, then one line ``Final Answer: n``. In ``"chatml"`` it carries no end-of-turn
        mark: TRL's SFTTrainer appends the tokenizer's own. With a tokenizer it ends in the mark that the
        template writes.

    Raises
    ------
    RowError
        A ``ValueError``: if the row has no label or two different ones, a broken mark, chat-template marks inside, a
        question that gives its answer away, or a solution that ends on another final answer. The row is named.
    ValueError, TypeError
        If `style`, `system` or `tokenizer` is not usable: a mistake in the call, not in the row.

    Examples
    --------
    >>> row = {"question": "What are 6 bags of 9 nuts?", "answer": "6*9=<<6*9=54>>54 nuts.\n#### 54"}
    >>> to_sft(row, style="messages")["completion"]
    [{'role': 'assistant', 'content': '6*9=54 nuts.\nFinal Answer: 54'}]
    """
    messages, gold = _prompt(sample, system, row)
    solution = strip_calc_marks(_solution(sample, gold, row))
    completion = f"{solution}\n{ANSWER_PREFIX} {gold}".lstrip()
    reply = [{"role": "assistant", "content": completion}]
    prompt = _render(messages, style, tokenizer)
    if tokenizer is not None:
        return {"prompt": prompt, "completion": _reply(messages, reply, tokenizer)}
    return {"prompt": prompt, "completion": reply if style == "messages" else completion}


def to_rl(
    sample: Sample,
    *,
    style: str = "chatml",
    system: str | None = None,
    tokenizer: Any = None,
    row: int | None = None,
) -> dict[str, Any]:
    r"""Convert one row to RL format: the model is shown the prompt only, the checker keeps the answer.

    Parameters
    ----------
    sample, style, system, tokenizer, row
        As in :func:`to_sft`.

    Returns
    -------
    dict
        ``prompt``, equal to that of :func:`to_sft` byte for byte, and ``ground_truth``, a number text. TRL's
        GRPOTrainer hands every further column to the reward function under its own name, so a reward takes
        ``ground_truth`` as an argument.

    Raises
    ------
    RowError
        As in :func:`to_sft`.

    Examples
    --------
    >>> to_rl({"question": "Q", "answer": "reasoning", "target": -1250.0})["ground_truth"]
    '-1250'
    >>> to_rl({"question": "Q", "answer": "It is seven."})
    Traceback (most recent call last):
    ...
    rl_lab.gsm8k.RowError: row 'Q': answer must end in '#### <number>', got 'It is seven.'; add it or drop the row
    """
    messages, gold = _prompt(sample, system, row)
    return {"prompt": _render(messages, style, tokenizer), "ground_truth": gold}


def to_tool_trace(
    sample: Sample, *, style: str = "messages", system: str | None = None, row: int | None = None
) -> dict[str, Any]:
    r"""Convert one row to a tool trace: each calculator mark becomes a call of ``calc`` and its result.

    Parameters
    ----------
    sample, system, row
        As in :func:`to_sft`.
    style : str
        ``"messages"`` is the only one.

    Returns
    -------
    dict
        ``prompt`` (that of the other formats in style ``"messages"``), ``completion`` (messages: assistant
        with ``tool_calls``, tool, …, assistant with the final line), ``tools`` (a JSON schema) and
        ``ground_truth``. There is no text form: how a call is written is decided by the model's chat
        template.

    Raises
    ------
    RowError
        As in :func:`to_sft`; also if the row has no mark (nothing to call) or a mark that is wrong or cannot
        be read.

    Examples
    --------
    >>> row = {"question": "What are 6 bags of 9 nuts?", "answer": "6*9=<<6*9=54>>54 nuts.\n#### 54"}
    >>> for message in to_tool_trace(row)["completion"]:
    ...     print(message["role"], repr(message["content"]), *message.get("tool_calls", []))
    assistant '6*9=' {'type': 'function', 'function': {'name': 'calc', 'arguments': {'expression': '6*9'}}}
    tool '54'
    assistant '54 nuts.\nFinal Answer: 54'
    """
    one_of("style", style, ("messages",))
    messages, gold = _prompt(sample, system, row)
    text, where = _solution(sample, gold, row), _name(sample, row)
    marks = calc_marks(text)
    if not marks:
        raise RowError(f"{where}: answer has no calculator marks, so nothing to call; skip the row")
    trace, spoken, at = [], "", 0
    for mark, check in zip(marks, check_calc_marks(text), strict=True):
        if not check.ok:
            raise RowError(f"{where}: {check.mark} is wrong or unreadable; correct or skip the row")
        trace += _call(spoken + text[at : mark.start], mark, where)
        spoken, at = "" if mark.repeated else mark.stated, mark.end
    trace.append({"role": "assistant", "content": f"{spoken}{text[at:]}\n{ANSWER_PREFIX} {gold}"})
    return {"prompt": messages, "completion": trace, "tools": [CALCULATOR_TOOL], "ground_truth": gold}


CONVERTERS: dict[str, Callable[..., dict[str, Any]]] = {
    "sft": to_sft,
    "rl": to_rl,
    "tool_trace": to_tool_trace,
}


def convert(rows: Iterable[Sample], to: str, *, on_error: str = "raise", **options: Any) -> Converted:
    r"""Convert many rows, and count what is left out.

    Parameters
    ----------
    rows : iterable of mapping
        As :func:`load` gives them.
    to : str
        ``"sft"``, ``"rl"`` or ``"tool_trace"``.
    on_error : str
        ``"raise"`` at the first row that cannot be converted, or ``"skip"`` it and count it.
    **options
        Passed on to the converter: ``style``, ``system``, ``tokenizer``.

    Returns
    -------
    Converted
        The converted rows, with ``skipped`` and ``report()``.

    Raises
    ------
    ValueError
        For an unknown format, mode or style: a mistake in the call is never booked as a bad row.
    RowError
        For a bad row (named by its number, from 0), unless skipped.

    Examples
    --------
    >>> rows = [{"question": "2+2?", "answer": "#### 4"}, {"question": "Why?", "answer": "Because."}]
    >>> done = convert(rows, "rl", on_error="skip")
    >>> print(done.report())  # doctest: +ELLIPSIS
    1 of 2 rows to rl; 1 row skipped, the first: row 1: answer must end in '#### <number>', got 'Because.'; ...
    """
    converter = CONVERTERS[one_of("to", to, CONVERTERS)]
    one_of("on_error", on_error, ("raise", "skip"))
    done, skipped = [], []
    if isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, Iterable):
        raise TypeError(f"rows must be a list of rows, got {type(rows).__name__}; wrap a single row in [ ]")
    for number, sample in enumerate(rows):
        try:
            done.append(converter(_mapping(sample, number), row=number, **options))
        except RowError as error:
            if on_error == "raise":
                raise
            skipped.append(Record(row=number, reason=str(error)))
    return Converted(done, to, skipped)


def chatml(messages: Messages, *, add_generation_prompt: bool = True) -> str:
    r"""Render messages with the ChatML marks of Qwen and SmolLM2.

    Most other models use other marks (Llama 3, Gemma and Phi each have their own), and even Qwen's template
    adds a system message of its own. For training use messages and let the tokenizer's template render them.

    Examples
    --------
    >>> chatml([{"role": "user", "content": "2+2?"}])
    '<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n'
    """
    for turn in messages:
        if not isinstance(turn, Mapping) or not all(
            isinstance(turn.get(k), str) for k in ("role", "content")
        ):
            raise TypeError(f"messages must have role and content, both text, got {turn!r:.60}")
    turns = "".join(f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>\n" for turn in messages)
    return turns + ("<|im_start|>assistant\n" if add_generation_prompt else "")


def _mapping(sample: Any, row: int) -> Sample:
    if not isinstance(sample, Mapping):
        raise RowError(
            f"row {row}: must have question and answer, got a {type(sample).__name__}; drop the row"
        )
    return sample


def _prompt(sample: Sample, system: str | None, row: int | None) -> tuple[Messages, str]:
    """The messages that every format shares, and the label."""
    if not isinstance(sample, Mapping):
        raise TypeError(
            f"sample must be a mapping with question and answer, got {type(sample).__name__}; pass one row"
        )
    if system is not None and not isinstance(system, str):
        raise TypeError(f"system must be text or None, got {type(system).__name__} {system!r:.60}")
    where, question, answer = _name(sample, row), sample.get("question"), sample.get("answer")
    if not isinstance(question, str) or not question.strip():
        raise RowError(
            f"{where}: question must be text that is not empty, got {question!r:.60}; drop the row"
        )
    try:
        gold = label_of(sample)
    except (TypeError, ValueError) as error:
        raise RowError(f"{where}: {error}") from None
    question = clean_text(question)
    # A step can only have been copied into a question that holds an "=": most questions need no second look.
    steps = strip_calc_marks(clean_text(answer)) if "=" in question and isinstance(answer, str) else ""
    leak = find_leak(question, gold, steps.split("\n"))
    if leak:
        raise RowError(f"{where}: question gives its answer away: {leak}; repair or drop the row")
    _refuse_template_marks(question, where)
    messages = [{"role": "system", "content": system}] if system else []
    return [*messages, {"role": "user", "content": question}], gold


def _solution(sample: Sample, gold: str, row: int | None) -> str:
    """The cleaned reasoning, marks still in it: HTML has to be unescaped before marks can be seen.

    A solution that already closes with the answer line loses it, because the converters write their own.
    """
    answer = sample.get("answer", "")
    if not isinstance(answer, str):
        raise RowError(
            f"{_name(sample, row)}: answer must be text, got {type(answer).__name__}; drop the row"
        )
    lines = reasoning_lines(clean_text(answer))
    if lines and lines[-1].casefold().startswith(ANSWER_PREFIX.casefold()):
        if not same_number(extract_answer(lines[-1]), gold):
            raise RowError(
                f"{_name(sample, row)}: answer ends on {lines[-1][:60]!r}, and the label is {gold}; drop the row"
            )
        lines.pop()
    solution = "\n".join(lines)
    _refuse_template_marks(solution, _name(sample, row))
    left = without_innermost_marks(
        solution
    )  # a mark within a mark is broken: no call of a tool can stand for it
    if "<<" in left or ">>" in left:
        raise RowError(f"{_name(sample, row)}: answer has a broken calculator mark; repair or drop the row")
    return solution


def _refuse_template_marks(text: str, where: str) -> None:
    found = _TEMPLATE_MARK.search(text)
    if found:
        # Rendered again it would end the turn, or open a second prompt inside the first.
        raise RowError(
            f"{where}: text must hold no chat-template mark, got {found[0]}; pass plain text, not a rendered prompt"
        )


def _render(messages: Messages, style: str, tokenizer: Any) -> str | Messages:
    one_of("style", style, ("chatml", "messages"))
    if tokenizer is not None:
        if style == "messages":
            raise ValueError(
                "style='messages' leaves rendering to the trainer; leave tokenizer out, or leave style out"
            )
        if not hasattr(tokenizer, "apply_chat_template"):
            raise TypeError(
                f"tokenizer must have apply_chat_template, got {type(tokenizer).__name__} {tokenizer!r:.60}; "
                "load it with transformers.AutoTokenizer.from_pretrained"
            )
        return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return messages if style == "messages" else chatml(messages)


def _reply(messages: Messages, reply: Messages, tokenizer: Any) -> str:
    """What the template writes for the completion: the whole conversation less the prompt."""
    prompt = _render(messages, "chatml", tokenizer)
    whole = tokenizer.apply_chat_template([*messages, *reply], tokenize=False)
    if not whole.startswith(prompt):
        raise ValueError(
            "the tokenizer's chat template must continue its own prompt, and it rewrites it; use style='messages'"
        )
    # Some templates end the line behind the end-of-turn mark; SFTTrainer would then add a second mark.
    return whole[len(prompt) :].rstrip("\n")


def _call(spoken: str, mark: Record, where: str) -> Messages:
    expression = mark.expression.replace("//", "/")  # the tool has no whole-number division
    try:
        result = evaluate(expression)
        readable = states_value(mark.stated, result)
    except CalculatorError:  # the mark checker reads currency and percent signs, the tool does not
        readable = False
    if not readable:
        raise RowError(
            f"{where}: the tool cannot work out {mark.expression!r}; write the mark with numbers and + - * / ( )"
        )
    call = {"type": "function", "function": {"name": "calc", "arguments": {"expression": expression}}}
    return [
        {"role": "assistant", "content": spoken, "tool_calls": [call]},
        {"role": "tool", "name": "calc", "content": format_number(result)},
    ]


def _name(sample: Sample, row: int | None) -> str:
    return f"row {row}" if row is not None else f"row {str(sample.get('question', '?'))[:40]!r}"
