"""How is a policy trained by GRPO with TRL, in one turn or in many?

:func:`run_grpo` puts together what the other modules hold: settings, reward, environment, preflight, monitor and
record; ``trl.GRPOTrainer`` does the training. With an ``environment`` the model calls its tools between its own tokens,
and what the tools wrote is masked from the loss.

>>> run = run_grpo(policy, rows, "outcome", environment=make_environment(), max_steps=40)   # doctest: +SKIP
>>> run["curves"]["tool_rate"][0], run["curves"]["tool_rate"][-1]                            # doctest: +SKIP
(0.31, 1.0)
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rl_lab.train import record
from rl_lab.train._need import need
from rl_lab.train._quiet import quiet
from rl_lab.train._run import finish, one_thread_if_tiny, settings_of, start_from
from rl_lab.train.args import build_grpo_args
from rl_lab.train.monitor import Monitor, as_callback
from rl_lab.train.policy import Policy
from rl_lab.train.preflight import preflight
from rl_lab.train.reward import guard, resolve

__all__ = ["make_trainer", "run_grpo"]

Rows = Sequence[dict[str, Any]]


def run_grpo(
    policy: Policy,
    rows: Rows,
    reward: Any = "accuracy",
    *,
    environment: Callable[[], Any] | None = None,
    lora: Any = None,
    learning_rate: float | None = None,
    learn_tool_tokens: bool = False,
    evaluate: Callable[[], Mapping[str, Any]] | None = None,
    evaluate_every: int = 0,
    name: str = "grpo",
    command: str | None = None,
    record_to: str | Path | None = None,
    resume: bool = False,
    live: bool | None = None,
    print_every: int = 1,
    title: str = "",
    skip_preflight: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Train `policy` in place and return the record of the run.

    Parameters
    ----------
    policy : Policy
        From :func:`rl_lab.train.models.load_model`, :func:`rl_lab.train.tiny.make_tiny` or an earlier run.
    rows : sequence of dict
        ``prompt``, ``ground_truth`` and what reward and environment read besides.
    reward : str, callable, or a sequence of them
        "outcome" or "milestones" (paid by the environment), a name of :func:`rl_lab.rewards.make_reward`, or a
        function in TRL's form.
    environment : callable, optional
        Factory of environments, such as :func:`rl_lab.train.environment.make_environment` returns.
    lora : peft.LoraConfig, optional
        Train a new adapter; the reference for KL is then the same model with the adapter off. A policy that has an
        adapter already goes on with it.
    learning_rate : float, optional
        See :func:`rl_lab.train.args.build_grpo_args`.
    learn_tool_tokens : bool, default False
        True takes the mask away: the policy is pushed to predict what the tool writes. An ablation.
    evaluate : callable, optional
        Returns a held-out result, called every `evaluate_every` steps; warned about when it falls as the reward rises.
    name, command : str
        For the record.
    record_to : path, optional
        Where to write the record as JSON.
    resume : bool, default False
        Go on from the last checkpoint in ``output_dir``; without one, say so and start fresh.
    live : bool, optional
        Curves in a notebook, or lines of text; found out by default.
    print_every : int
        In text, one line for each so many steps.
    skip_preflight : bool, default False
        Only for rewards that are meant to be wrong.
    **settings
        Fields of ``trl.GRPOConfig``, by today's or older names.

    Returns
    -------
    dict
        Schema of :mod:`rl_lab.train.record`, with ``results`` (seconds, seconds per step, peak memory).
    """
    args = build_grpo_args(
        learning_rate,
        device=policy.device,
        precision=policy.precision,
        lora=lora is not None or policy.has_adapter,
        parameters=sum(p.numel() for p in policy.model.parameters()),
        **settings,
    )
    run = record.new_run(
        name, seed=args.seed, settings=settings_of(args, policy, reward, lora, environment), command=command
    )
    if not skip_preflight:
        report = preflight(
            rows,
            reward,
            environment=environment,
            tokenizer=policy.tokenizer,
            args=args,
            weights=args.reward_weights,
        )
        run["preflight"] = report.checked
    keeper = _Keeper(run, args.max_steps)
    trainer = make_trainer(
        policy,
        rows,
        reward,
        args,
        environment=environment,
        lora=lora,
        learn_tool_tokens=learn_tool_tokens,
        keep=keeper,
    )
    watch = Monitor(args.max_steps, run, live=live, every=print_every, title=title)
    trainer.add_callback(as_callback(watch, evaluate=evaluate, evaluate_every=evaluate_every))
    checkpoint = start_from(args.output_dir, resume)
    clock = (time.perf_counter(), time.process_time())
    with one_thread_if_tiny(policy), quiet():
        trainer.train(resume_from_checkpoint=checkpoint)
    return finish(trainer, policy, run, clock, record_to, key="reward")


def make_trainer(
    policy: Policy,
    rows: Rows,
    reward: Any,
    args: Any,
    *,
    environment: Callable[[], Any] | None = None,
    lora: Any = None,
    learn_tool_tokens: bool = False,
    keep: Callable[[dict[str, Any], list[float | None]], None] | None = None,
) -> Any:
    """Build the ``trl.GRPOTrainer`` of a run; `run_grpo` does more, this is for taking a step apart.

    Raises
    ------
    ValueError
        If the policy has an adapter and `lora` asks for another one.
    """
    trl, datasets = need("trl"), need("datasets")
    if lora is not None and policy.has_adapter:
        raise ValueError(
            "the policy has a LoRA adapter already, got lora= as well; leave lora out to train that adapter on, or "
            "merge it first: policy.model = policy.model.merge_and_unload()"
        )
    # environment_factory is marked experimental in TRL 1.16, and warns on every use.
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    functions = resolve(reward)
    guarded = [
        guard(f, sole=len(functions) == 1, keep=keep if i == 0 else None) for i, f in enumerate(functions)
    ]
    kind = trl.GRPOTrainer if not learn_tool_tokens else _without_tool_mask(trl.GRPOTrainer)
    with quiet(), _reference(policy, args, lora):
        trainer = kind(
            model=policy.model,
            reward_funcs=guarded,
            args=args,
            train_dataset=datasets.Dataset.from_list(list(rows)),
            processing_class=policy.tokenizer,
            peft_config=lora,
            environment_factory=environment,
        )
        # Our monitor prints; the trainer's own printing of dicts would come between its lines.
        trainer.remove_callback(need("transformers").PrinterCallback)
    return trainer


@contextlib.contextmanager
def _reference(policy: Policy, args: Any, lora: Any) -> Iterator[None]:
    """Let TRL find the policy as it is now when it loads the reference of full tuning.

    It reads the reference from the folder or hub name that the model came from: nothing, for a model made in memory,
    and the weights *before* SFT for one that was trained since. A LoRA policy needs none: its adapter is switched off.
    """
    if args.beta == 0 or lora is not None or policy.has_adapter:
        yield
        return
    config, origin = policy.model.config, policy.model.config._name_or_path
    with tempfile.TemporaryDirectory(prefix="rl_lab-reference-") as folder:
        policy.save(folder)
        config._name_or_path = folder
        try:
            yield
        finally:
            config._name_or_path = origin


def _without_tool_mask(trainer_class: type) -> type:
    class ToolTokensInLoss(trainer_class):
        """The ablation: every token of the completion is in the loss, whoever wrote it."""

        def _generate(self, prompts: list) -> tuple:
            prompt_ids, completion_ids, tool_mask, *rest = super()._generate(prompts)
            everything = [[1] * len(mask) for mask in tool_mask] if tool_mask is not None else None
            return (prompt_ids, completion_ids, everything, *rest)

    return ToolTokensInLoss


def _called(world: Any, completion: Any) -> bool:
    # A world that counts its calls is believed: a call with broken arguments has an answer and never reached it.
    return world.calls > 0 if hasattr(world, "calls") else any(m["role"] == "tool" for m in completion)


class _Keeper:
    """Keeps the best and the worst completion of some steps; counts calls, those without an answer, and broken ones."""

    def __init__(self, run: dict[str, Any], steps: int, most: int = 40) -> None:
        self.run, self.every = run, max(1, -(-max(steps, 1) * 2 // most))

    def __call__(self, columns: dict[str, Any], rewards: list[float | None]) -> None:
        completions, log_metric = columns["completions"], columns.get("log_metric")
        if log_metric and columns.get("environments") is not None:
            n = len(completions)
            log_metric("tool_rate", sum(map(_called, columns["environments"], completions)) / n)
            log_metric("unanswered_calls", sum(bool(c[-1].get("tool_calls")) for c in completions if c) / n)
            log_metric(
                "malformed_calls", sum("<tool_call>" in (c[-1].get("content") or "") for c in completions) / n
            )
        step = getattr(columns.get("trainer_state"), "global_step", 0) + 1
        scored = [(r, i) for i, r in enumerate(rewards) if r is not None]
        if not scored or (step > 1 and step % self.every):
            return
        for r, i in {max(scored), min(scored)}:
            record.add_sample(self.run, step, columns["prompts"][i], completions[i], r)
