r"""Train and evaluate from the command line.

::

    python -m rl_lab.train sft      --config configs/tiny_shopping_sft.yaml
    python -m rl_lab.train grpo     --config configs/tiny_shopping_grpo.yaml seed=2 max_steps=60
    python -m rl_lab.train evaluate --config configs/tiny_shopping_grpo.yaml model=runs/out/tiny_shopping_grpo
    accelerate launch --config_file configs/accelerate/ddp.yaml -m rl_lab.train grpo \
                      --config configs/qwen_large_grpo.yaml

``key=value`` (or ``--key value``) overrides the file. ``--resume`` goes on from the last checkpoint in ``output_dir``.

GRPO starts from the model of an SFT run (``start_config``). Where that is not there, a tiny one is trained first, in
about a minute; for a real model the command to run first is named.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rl_lab._record import closest
from rl_lab.train import record
from rl_lab.train._need import need
from rl_lab.train.config import RunSettings, parse, read_config, split
from rl_lab.train.policy import Policy
from rl_lab.train.tasks import Task, load_task

COMMANDS = ("sft", "grpo", "evaluate")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status, 2 with a message for anything that is wrong with what was asked."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help", "help"):
        print(__doc__)
        return 0 if words else 2
    try:
        if words[0] not in COMMANDS:
            raise ValueError(  # noqa: TRY301
                f"the command must be one of {', '.join(COMMANDS)}, got {words[0]!r}{closest(words[0], COMMANDS)}"
            )
        settings, trainer = split(parse(words[1:]))
        command = f"python -m rl_lab.train {shlex.join(words)}"
        run_command(words[0], settings, trainer, command)
    except (ValueError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def run_command(kind: str, settings: RunSettings, trainer: dict[str, Any], command: str) -> dict[str, Any]:
    """Load data and model, run the command, evaluate before and after, and write everything down."""
    _make_start(kind, settings, trainer)
    if settings.threads:
        need("torch").set_num_threads(settings.threads)
    task = load_task(
        settings.task, n_train=settings.n_train, n_test=settings.n_test, **_task_options(settings, trainer)
    )
    _say(task.said)
    policy = _load(settings, task, kind, trainer.get("seed", 0))
    measure = _measure(policy, task, settings, trainer)
    if kind == "evaluate":
        return _evaluate_only(policy, task, settings, trainer, measure, command)
    before = measure(settings.n_test)
    _say(f"before: {before}")
    name = settings.run_name or f"{Path(settings.model_name_or_path).name.lower()}_{task.name}_{kind}"
    trainer.setdefault("output_dir", f"runs/out/{name}")
    # Before the run, not after it: an evaluation in between uses the sampler's seed too.
    more = {
        "name": name,
        "command": command,
        "resume": settings.resume,
        "print_every": settings.print_every,
        "evaluate": lambda: measure(settings.evaluate_n),
        "evaluate_every": settings.evaluate_every,
    }
    run = _train(kind, policy, task, settings, trainer, more)
    after = measure(settings.n_test)
    _say(f"after:  {after}")
    run["results"] |= {"before": record.plain_result(before), "after": record.plain_result(after)}
    run["settings"] |= {"task": task.name, "n_train": settings.n_train, "n_test": settings.n_test}
    return _keep(run, policy, settings, Path(trainer["output_dir"]), name)


def _make_start(kind: str, settings: RunSettings, trainer: dict[str, Any]) -> None:
    """See to it that the model to start from is there, if another run makes it: train it, or say how, at once."""
    model = Path(settings.model_name_or_path)
    if any((model / file).is_file() for file in ("config.json", "adapter_config.json")):
        return
    if kind == "evaluate" and _same(trainer.get("output_dir"), model):
        raise ValueError(
            f"no model in {model}, where this configuration's own training writes it; run that first: the same command "
            "with grpo or sft in the place of evaluate, and without model="
        )
    if settings.start_config is None:
        return
    first, options = split(read_config(settings.start_config))
    if not _same(options.get("output_dir"), model):
        return  # another model was asked for; load_model knows whether it is there
    needs = f", {first.takes}" if first.takes else ""
    if first.model_name_or_path != "tiny" or int(os.environ.get("WORLD_SIZE", 1)) > 1:
        raise ValueError(
            f"no model in {model}: another run makes it{needs}; run this first: "
            f"python -m rl_lab.train sft --config {shlex.quote(settings.start_config)}"
        )
    _say(f"no model in {model}: training the warm-up first, {settings.start_config}{needs}")
    run_command("sft", first, options, f"python -m rl_lab.train sft --config {settings.start_config}")
    _say("warm-up done, and on from there")


def _same(folder: str | None, model: Path) -> bool:
    return folder is not None and os.path.normpath(folder) == os.path.normpath(model)


def _train(
    kind: str,
    policy: Policy,
    task: Task,
    settings: RunSettings,
    trainer: dict[str, Any],
    more: dict[str, Any],
) -> dict[str, Any]:
    from rl_lab.train.args import build_lora
    from rl_lab.train.environment import make_environment
    from rl_lab.train.grpo import run_grpo
    from rl_lab.train.sft import run_sft

    lora = None
    if settings.use_peft and not policy.has_adapter:
        targets = settings.lora_target_modules
        targets = targets if isinstance(targets, str) else list(targets)
        lora = build_lora(settings.lora_r, settings.lora_alpha, targets, lora_dropout=settings.lora_dropout)
    if kind == "sft" and settings.plain_loop:
        return _plain_sft(policy, task, trainer, more)
    if kind == "sft":
        return run_sft(policy, task.demonstrations, lora=lora, **more, **trainer)
    reward = settings.reward or task.reward
    environment = _environment(make_environment, settings, task, trainer)
    return run_grpo(
        policy,
        task.rows,
        reward,
        environment=environment,
        lora=lora,
        learn_tool_tokens=settings.learn_tool_tokens,
        **more,
        **trainer,
    )


def _plain_sft(policy: Policy, task: Task, trainer: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    from rl_lab.train._run import one_thread_if_tiny
    from rl_lab.train.monitor import Monitor
    from rl_lab.train.tiny import warm_up

    names = {"max_steps": "steps", "per_device_train_batch_size": "batch_size"}
    known = {"max_steps", "per_device_train_batch_size", "learning_rate", "seed", "output_dir"}
    if unknown := set(trainer) - known:
        raise ValueError(
            f"plain_loop has no setting {', '.join(sorted(unknown))}; it takes {', '.join(sorted(known))}"
        )
    given = {names.get(key, key): value for key, value in trainer.items() if key != "output_dir"}
    run = record.new_run(
        more["name"],
        seed=trainer.get("seed", 0),
        settings={"model": policy.name} | trainer,
        command=more["command"],
    )
    watch = Monitor(given.get("steps", 900), run, shown=("loss",), every=max(100, more["print_every"]))
    with one_thread_if_tiny(policy):
        done = warm_up(
            policy, task.demonstrations, on_step=lambda s, loss, _: watch.step(s, {"loss": loss}), **given
        )
    run["results"]["seconds"] = round(done["seconds"], 2)
    return run


def _load(settings: RunSettings, task: Task, kind: str, seed: int) -> Policy:
    from rl_lab.train.models import load_model
    from rl_lab.train.tiny import make_tiny

    if settings.model_name_or_path == "tiny":
        policy = make_tiny(seed, None if task.name == "shopping" else task.demonstrations[:400])
        _say(policy.said)
        return policy
    return load_model(
        settings.model_name_or_path,
        device=settings.device,
        precision=settings.precision,
        tools=task.uses_tools,
        full_tuning=kind != "evaluate" and not settings.use_peft,
        seed=seed,
        say=lambda text, **more: _say(text),
    )


def _task_options(settings: RunSettings, trainer: dict[str, Any]) -> dict[str, Any]:
    own = {
        "shopping": ("tool_share", "failure_share", "retry_share", "wording"),
        "totals": ("step_share", "operations"),
        "problems": ("problem_steps", "families", "max_value", "system"),
        "gsm8k": ("source", "system"),
    }
    given = {name: getattr(settings, name) for names in own.values() for name in names}
    told = {name: value for name, value in given.items() if value is not None}
    if strange := [name for name in told if name not in own.get(settings.task, told)]:
        raise ValueError(
            f"the task {settings.task} has no option {', '.join(strange)}; it has {', '.join(own[settings.task])}"
        )
    return told | {"seed": trainer.get("seed", 0)}


def _environment(make: Callable[..., Any], settings: RunSettings, task: Task, trainer: dict[str, Any]) -> Any:
    if not task.uses_tools:
        return None
    paid = "milestones" if settings.reward == "milestones" else "outcome"
    seed = trainer.get("seed", 0)
    return make(settings.calculator, reward=paid, failure_rate=settings.failure_rate, seed=seed)


def _measure(
    policy: Policy, task: Task, settings: RunSettings, trainer: dict[str, Any]
) -> Callable[[int], Any]:
    from rl_lab.train.environment import make_environment
    from rl_lab.train.evaluate import evaluate_policy

    usual = 256 if not task.uses_tools else 64 if policy.name == "tiny" else 160
    trained = trainer.get("max_completion_length", trainer.get("max_new_tokens", usual))
    limit = settings.evaluate_tokens or trained

    def measure(n: int) -> Any:
        return evaluate_policy(
            policy,
            task.test_rows[:n],
            _environment(make_environment, settings, task, {"seed": 0}),
            temperature=settings.temperature_eval,
            max_tokens=limit,
        )

    return measure


def _evaluate_only(
    policy: Policy, task: Task, settings: RunSettings, trainer: dict[str, Any], measure: Any, command: str
) -> dict[str, Any]:
    used = {"max_completion_length", "max_new_tokens", "seed"}
    if unused := sorted(set(trainer) - used):
        _say(f"not used by evaluate: {', '.join(unused)}")
    result = measure(settings.n_test)
    _say(str(result))
    run = record.new_run(
        settings.run_name or "evaluation",
        seed=0,
        settings={"model": policy.name, "task": task.name},
        command=command,
    )
    run["results"] = record.plain_result(result)
    if settings.record_to:
        record.write_run(run, settings.record_to)
    return run


def _keep(
    run: dict[str, Any], policy: Policy, settings: RunSettings, folder: Path, name: str
) -> dict[str, Any]:
    if not _is_main():
        return run
    if settings.save_model:
        policy.save(folder)
        _say(f"model in {folder}")
    path = record.write_run(run, settings.record_to or f"runs/out/{name}.json")
    _say(f"record in {path}")
    return run


def _is_main() -> bool:
    return int(os.environ.get("RANK", 0)) == 0


def _say(text: str) -> None:
    if _is_main():
        print(text, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
