"""Can a model use these tools through this chat template? Checked before TRL is asked.

TRL's own errors for the same things come later, from deep inside, or not at all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from rl_lab.train._need import need

__all__ = ["PreflightError", "check_environment", "check_template"]


class PreflightError(ValueError):
    """The run would not learn, or would fail later; the message holds the reason and the remedy."""


def check_environment(factory: Callable[[], Any]) -> list[str]:
    """Check that TRL can offer an environment's methods as tools."""
    world = factory()
    methods = dict(inspect.getmembers(type(world), inspect.isfunction))
    name = type(world).__name__
    if "reset" not in methods:
        raise PreflightError(
            f"environment {name} has no method reset(**row); TRL calls it before each completion"
        )
    tools = [m for m in methods if not m.startswith("_") and m not in ("reset", "get_reward")]
    if not tools:
        raise PreflightError(
            f"environment {name} has no public method that could be a tool; add one, with a docstring"
        )
    for tool in tools:
        _check_tool(name, tool, methods[tool])
    return [f"environment {name} offers {', '.join(tools)}"]


def _check_tool(owner: str, name: str, method: Any) -> None:
    parameters = [p for p in inspect.signature(method).parameters.values() if p.name != "self"]
    bare = [p.name for p in parameters if p.annotation is inspect.Parameter.empty]
    doc = inspect.getdoc(method) or ""
    if bare:
        raise PreflightError(
            f"tool {owner}.{name} has no type hint for {', '.join(bare)}; write {bare[0]}: str, the model is shown it"
        )
    if not doc:
        raise PreflightError(f"tool {owner}.{name} has no docstring; say what it does, the model is shown it")
    told = doc.partition("Args:")[2]
    missing = [p.name for p in parameters if f"{p.name}:" not in told and f"{p.name} (" not in told]
    if missing:
        raise PreflightError(
            f"the docstring of tool {owner}.{name} does not describe {', '.join(missing)}; add Google's form:\n"
            f"    Args:\n        {missing[0]}: what to pass, with an example"
        )


def check_template(tokenizer: Any) -> list[str]:
    """Check that the tokenizer's chat template can carry a conversation with tools through training."""
    utils = need("trl.chat_template_utils")
    remedy = "rl_lab.train._chat.use_chat_template(tokenizer) sets one that can (load_model(..., tools=True) does it)"
    if not utils.supports_tool_calling(tokenizer):
        raise PreflightError(
            f"the chat template cannot show tool calls and their results to the model; {remedy}"
        )
    if not utils.is_chat_template_prefix_preserving(tokenizer):
        try:
            utils.get_training_chat_template(tokenizer)
        except ValueError:
            raise PreflightError(
                "the chat template writes earlier turns differently once the conversation goes on, so tokens would "
                f"change under the model's feet; {remedy}"
            ) from None
    if (
        getattr(tokenizer, "response_template", None) is None
        and getattr(tokenizer, "response_schema", None) is None
    ):
        template = tokenizer.chat_template
        try:
            utils.add_response_schema(tokenizer)
        except ValueError:
            tokenizer.chat_template = template
            raise PreflightError(
                "the tokenizer has no response_template, so a tool call cannot be read back out of the text; set "
                f"tokenizer.response_template, or {remedy}"
            ) from None
    return ["the chat template carries tool calls"]
