r"""How does a conversation become text, and how is a tool call read back out of it?

One short chat template serves the tiny model and SmolLM2: the markers of ChatML, and tool calls as the JSON that
Qwen's models write. TRL's tool loop asks three things of a template: it renders user → assistant with tool calls →
tool; a longer conversation starts with the text of the shorter one (prefix preservation), so that tokens never
change under the model's feet; and a *response template* says how to read a tool call back.

>>> find_calls('<tool_call>\n{"name": "calc", "arguments": {"expression": "80*0.75"}}\n</tool_call>')
[{'name': 'calc', 'arguments': {'expression': '80*0.75'}}]
"""

from __future__ import annotations

import json
import re
from typing import Any

PAD, START, END = "<|pad|>", "<|im_start|>", "<|im_end|>"
TOOL_TAGS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")

# The {% generation %} marks are what assistant_only_loss trains on: each turn of the assistant with its end token.
CHAT_TEMPLATE = """\
{%- for m in messages %}
{%- if m.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + m.content + '\\n</tool_response><|im_end|>\\n' }}
{%- elif m.role == 'assistant' %}
{{- '<|im_start|>assistant\\n' }}{% generation %}{{- m.content or '' }}
{%- for tc in m.tool_calls or [] %}{%- set f = tc.function if tc.function is defined else tc %}
{{- '<tool_call>\\n{"name": "' + f.name + '", "arguments": ' + (f.arguments | tojson) + '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>' }}{% endgeneration %}{{- '\\n' }}
{%- else %}
{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- endif %}"""

# TRL sets a response template only for chat templates it ships; an own one needs its own (transformers >= 5.13).
RESPONSE_TEMPLATE: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "tool_calls": {
            "open": "<tool_call>",
            "close_pattern": r"</tool_call>\s*",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|im_end\|>\s*", "content": "text"},
    },
}

_CALL = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)


def find_calls(text: str) -> list[dict[str, Any]]:
    """Read the tool calls of one assistant turn.

    Parameters
    ----------
    text : str
        What the model wrote in the turn.

    Returns
    -------
    list of dict
        ``{"name": ..., "arguments": {...}}`` each, in order. A call that is no valid JSON object with a name and
        arguments is text, not a call, as in TRL's own parser; then the turn ends the episode.
    """
    calls = []
    for body in _CALL.findall(text):
        try:
            call = json.loads(body)
        except ValueError:
            continue
        if (
            isinstance(call, dict)
            and isinstance(call.get("name"), str)
            and isinstance(call.get("arguments"), dict)
        ):
            calls.append({"name": call["name"], "arguments": call["arguments"]})
    return calls


def turn_message(text: str) -> dict[str, Any]:
    """Turn the text of one assistant turn into a message: calls apart, the rest as content.

    Examples
    --------
    >>> turn_message("Final Answer: 55<|im_end|>")
    {'role': 'assistant', 'content': 'Final Answer: 55'}
    """
    calls = find_calls(text)
    content = (_CALL.sub("", text) if calls else text).replace(END, "").strip()
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [{"type": "function", "function": call} for call in calls]
    return message


def use_chat_template(tokenizer: Any) -> Any:
    """Give a tokenizer this template and its response template; returns the tokenizer."""
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.response_template = RESPONSE_TEMPLATE
    return tokenizer


def tool_suffix(tokenizer: Any, results: list[dict[str, Any]]) -> list[int]:
    """Token ids that follow the assistant's end token when the tool has answered, up to the assistant's next turn.

    Rendered with the tokenizer's own chat template around a stand-in conversation, as TRL does it, so that the tokens
    already written are never tokenized again.
    """
    function = {"name": results[0]["name"], "arguments": {}}
    called = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]},
    ]
    before = tokenizer.apply_chat_template(called, tokenize=False)
    after = tokenizer.apply_chat_template([*called, *results], add_generation_prompt=True, tokenize=False)
    end = before.rindex(tokenizer.eos_token) + len(tokenizer.eos_token)
    return tokenizer(after[end:], add_special_tokens=False)["input_ids"]
