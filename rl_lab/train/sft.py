"""How is a model shown what to write? SFT with TRL: the loss on the answer only, the end token in it.

:func:`run_sft` takes rows with ``prompt`` and ``completion`` (as :func:`rl_lab.gsm8k.to_sft` makes them with
``style="messages"``), or whole conversations with tool calls, and trains an adapter (LoRA) or all weights.

>>> run = run_sft(policy, rows, lora=build_lora(8), max_steps=30)                       # doctest: +SKIP
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rl_lab.train import record
from rl_lab.train._need import need
from rl_lab.train._quiet import quiet
from rl_lab.train._run import finish, one_thread_if_tiny, settings_of, start_from
from rl_lab.train.args import build_sft_args
from rl_lab.train.monitor import Monitor, as_callback
from rl_lab.train.policy import Policy
from rl_lab.train.tool_checks import PreflightError

__all__ = ["check_end_token", "make_sft_trainer", "run_sft", "to_examples"]

SHOWN = ("loss", "mean_token_accuracy", "grad_norm", "learning_rate")


def to_examples(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Bring rows or conversations into TRL's prompt/completion form, as messages.

    Parameters
    ----------
    rows : sequence
        Dicts with ``prompt`` and ``completion`` (texts or messages), or conversations: lists of messages, of which the
        first one from the assistant starts the completion.

    Examples
    --------
    >>> to_examples([[{"role": "user", "content": "6*9?"}, {"role": "assistant", "content": "54"}]])[0]["completion"]
    [{'role': 'assistant', 'content': '54'}]
    >>> to_examples([{"prompt": "6*9?", "completion": "54"}])[0]["prompt"]
    [{'role': 'user', 'content': '6*9?'}]
    """
    return [_example(i, row) for i, row in enumerate(rows)]


def _example(i: int, row: Any) -> dict[str, Any]:
    if isinstance(row, (list, tuple)):
        at = next((k for k, message in enumerate(row) if message["role"] == "assistant"), None)
        if not at:
            raise PreflightError(
                f"conversation {i} needs a user message and then an assistant message to learn from"
            )
        return {"prompt": list(row[:at]), "completion": list(row[at:])}
    missing = [key for key in ("prompt", "completion") if not row.get(key)]
    if missing:
        raise PreflightError(
            f"row {i} has no {' and no '.join(missing)}, it has {', '.join(row)}; make rows with rl_lab.gsm8k.to_sft"
        )
    prompt, completion = row["prompt"], row["completion"]
    return {
        "prompt": [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt,
        "completion": [{"role": "assistant", "content": completion}]
        if isinstance(completion, str)
        else completion,
    }


def run_sft(
    policy: Policy,
    rows: Sequence[Any],
    *,
    lora: Any = None,
    learning_rate: float | None = None,
    evaluate: Callable[[], Mapping[str, Any]] | None = None,
    evaluate_every: int = 0,
    name: str = "sft",
    command: str | None = None,
    record_to: str | Path | None = None,
    resume: bool = False,
    live: bool | None = None,
    print_every: int = 1,
    title: str = "",
    **settings: Any,
) -> dict[str, Any]:
    """Train `policy` in place and return the record of the run.

    Parameters
    ----------
    policy : Policy
    rows : sequence
        As `to_examples` takes them.
    lora : peft.LoraConfig, optional
        Train a new adapter, which stays on the model afterwards; without it all weights are trained (or the adapter
        that the policy has).
    learning_rate : float, optional
        See :func:`rl_lab.train.args.build_sft_args`.
    evaluate, evaluate_every, name, command, record_to, resume, live, print_every, title
        As in :func:`rl_lab.train.grpo.run_grpo`.
    **settings
        Fields of ``trl.SFTConfig``, by today's or older names.

    Returns
    -------
    dict
        Schema of :mod:`rl_lab.train.record`.
    """
    examples = to_examples(rows)
    args = build_sft_args(
        learning_rate,
        device=policy.device,
        precision=policy.precision,
        lora=lora is not None or policy.has_adapter,
        parameters=sum(p.numel() for p in policy.model.parameters()),
        **({"assistant_only_loss": True} if _uses_tools(examples) else {}) | settings,
    )
    run = record.new_run(name, seed=args.seed, settings=settings_of(args, policy, lora=lora), command=command)
    trainer = make_sft_trainer(policy, examples, args, lora=lora)
    watch = Monitor(args.max_steps, run, shown=SHOWN, live=live, every=print_every, title=title)
    trainer.add_callback(as_callback(watch, evaluate=evaluate, evaluate_every=evaluate_every))
    checkpoint = start_from(args.output_dir, resume)
    clock = (time.perf_counter(), time.process_time())
    with one_thread_if_tiny(policy), quiet():
        trainer.train(resume_from_checkpoint=checkpoint)
    return finish(trainer, policy, run, clock, record_to, key="loss")


def make_sft_trainer(
    policy: Policy, examples: Sequence[dict[str, Any]], args: Any, *, lora: Any = None
) -> Any:
    """Build the ``trl.SFTTrainer`` of a run and check what it will learn from.

    Raises
    ------
    PreflightError
        If pad and end token are the same, the chat template cannot mark the assistant's turns, or the end token is not
        in the loss.
    """
    trl, datasets = need("trl"), need("datasets")
    tokenizer = policy.tokenizer
    if tokenizer.pad_token_id is None or tokenizer.pad_token_id == tokenizer.eos_token_id:
        raise PreflightError(
            f"pad token and end token must differ, got {tokenizer.pad_token!r} and {tokenizer.eos_token!r}; "
            "load_model gives a pad token of its own"
        )
    if lora is not None and policy.has_adapter:
        raise ValueError(
            "the policy has a LoRA adapter already, got lora= as well; leave lora out to train that one on"
        )
    if args.assistant_only_loss:
        _check_generation_marks(tokenizer)
    with quiet():
        trainer = trl.SFTTrainer(
            model=policy.model,
            args=args,
            train_dataset=datasets.Dataset.from_list(list(examples)),
            processing_class=tokenizer,
            peft_config=lora,
        )
        trainer.remove_callback(need("transformers").PrinterCallback)
    check_end_token(trainer.train_dataset[0], policy.end_ids)
    return trainer


def check_end_token(example: Mapping[str, Sequence[int]], end_ids: Sequence[int]) -> None:
    """Refuse a tokenized example whose last end token is not learned.

    Parameters
    ----------
    example : mapping
        ``input_ids`` and ``labels`` (-100 where there is no loss).
    end_ids : sequence of int
        Ids that end a turn.

    Examples
    --------
    >>> check_end_token({"input_ids": [5, 6, 2, 9], "labels": [-100, 6, 2, 9]}, [2])
    >>> check_end_token({"input_ids": [5, 6, 2], "labels": [-100, 6, -100]}, [2])
    Traceback (most recent call last):
    ...
    rl_lab.train.tool_checks.PreflightError: the end token of the completion is not in the loss (label -100 at \
position 2): the model would never learn to stop; give the tokenizer a pad token of its own, and check the chat template
    """
    ids, labels = example["input_ids"], example["labels"]
    first = next((i for i, label in enumerate(labels) if label != -100), len(ids))
    at = max((i for i, token in enumerate(ids) if token in end_ids and i >= first), default=None)
    if at is None:
        raise PreflightError(
            "the tokenized completion holds no end token: it was cut at max_length, or the chat template writes none; "
            "raise max_length"
        )
    if labels[at] == -100:
        raise PreflightError(
            f"the end token of the completion is not in the loss (label -100 at position {at}): the model would never "
            "learn to stop; give the tokenizer a pad token of its own, and check the chat template"
        )


def _uses_tools(examples: Sequence[dict[str, Any]]) -> bool:
    return any(message["role"] == "tool" for example in examples for message in example["completion"])


def _check_generation_marks(tokenizer: Any) -> None:
    utils = need("trl.chat_template_utils")
    if utils.has_generation_markers(tokenizer.chat_template):
        return
    try:
        utils.get_training_chat_template(tokenizer)
    except ValueError:
        raise PreflightError(
            "the chat template does not mark the assistant's turns with {% generation %}, so what the tool wrote "
            "cannot be kept out of the loss; use load_model(..., tools=True), which sets a template that does"
        ) from None
