r"""How does a conversation become text, and how is a tool call read back out of it?

One short chat template serves the tiny model and SmolLM2: the markers of ChatML, and tool calls as the JSON that
Qwen's models write. TRL's tool loop asks three things of a template: it renders user → assistant with tool calls →
tool; a longer conversation starts with the text of the shorter one (prefix preservation), so that tokens never
change under the model's feet; and a *response template* says how to read a tool call back.

>>> find_calls('<tool_call>\n{"name": "calc", "arguments": {"expression": "80*0.75"}}\n</tool_call>')
[{'name': 'calc', 'arguments': {'expression': '80*0.75'}}]
"""

from __future__ import annotations

from typing import Any

from rl_lab.train._need import need

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


def find_calls(text: str) -> list[dict[str, Any]]:
    """Read the tool calls of one assistant turn, as TRL does.

    Parameters
    ----------
    text : str
        What the model wrote in the turn.

    Returns
    -------
    list of dict
        ``{"name": ..., "arguments": ...}`` each, in order. Arguments that are missing or null are ``{}``; arguments of
        another form (a text, a list) are passed on, and calling the tool with them is the model's error to read. If one
        call cannot be read (no JSON, no name), the whole turn is text: there are no calls, and the turn ends the
        episode.
    """
    message = _parsed(text, RESPONSE_TEMPLATE) or {}
    return [call["function"] for call in message.get("tool_calls") or []]


def read_turn(tokenizer: Any, ids: list[int], prefix: list[int], tools: Any = None) -> dict[str, Any]:
    """Turn the tokens of one assistant turn into a message, as TRL's trainer does.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerBase
        Its ``response_template`` says how to read; without one the turn is text.
    ids, prefix : list of int
        What the model wrote, and all that came before it.
    tools : list of dict, optional
        Schemas of the tools, which say what type an argument has.

    Returns
    -------
    dict
        ``role``, ``content``, and ``tool_calls`` if there are any.
    """
    template = getattr(tokenizer, "response_template", None)
    text = tokenizer.decode(ids)
    message = _parsed(text, template, tokenizer.decode(prefix), tools) if template else None
    if message is None:
        return {"role": "assistant", "content": tokenizer.decode(ids, skip_special_tokens=True)}
    message["content"] = (message.get("content") or "").removesuffix(tokenizer.eos_token)
    return message


def _parsed(text: str, template: Any, prefix: str = "", tools: Any = None) -> dict[str, Any] | None:
    """Return the message, or None where TRL falls back to plain text (``trl.chat_template_utils.parse_response``)."""
    parse = need("transformers.utils.chat_parsing").parse_response
    try:
        message = parse(text, template, prefix=prefix, tools=tools)
    except (ValueError, TypeError, RecursionError):  # the last one: JSON nested a thousand levels deep
        return None
    for call in message.get("tool_calls") or []:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            return None
        if function.get("arguments") is None:
            function["arguments"] = {}
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
