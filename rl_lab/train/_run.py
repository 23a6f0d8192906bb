"""Small things that SFT and GRPO runs share: threads, checkpoints, memory, what to write down."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rl_lab.train import record
from rl_lab.train._need import need
from rl_lab.train.policy import Policy

TINY = 1_000_000  # parameters; below, a second thread waits at barriers more than it works

# Of the hundred and more fields of a TRL configuration, those that say what was done.
_TOLD = (
    "learning_rate", "lr_scheduler_type", "warmup_steps", "max_steps", "per_device_train_batch_size",
    "gradient_accumulation_steps", "num_generations", "steps_per_generation", "num_iterations", "max_completion_length",
    "max_length", "temperature", "beta", "epsilon", "loss_type", "scale_rewards", "reward_weights", "max_grad_norm",
    "weight_decay", "max_tool_calling_iterations", "completion_only_loss", "assistant_only_loss", "use_vllm", "bf16",
    "fp16", "seed",
)  # fmt: skip


def settings_of(
    args: Any, policy: Policy, reward: Any = None, lora: Any = None, environment: Any = None
) -> dict[str, Any]:
    """The settings of a run, for its record."""
    out: dict[str, Any] = {"model": policy.name, "device": policy.device, "precision": policy.precision}
    out |= {name: getattr(args, name) for name in _TOLD if getattr(args, name, None) is not None}
    if reward is not None:
        listed = [reward] if isinstance(reward, str) or callable(reward) else list(reward)
        out["reward"] = [
            r if isinstance(r, str) else getattr(r, "__name__", type(r).__name__) for r in listed
        ]
    lora = policy.model.peft_config["default"] if lora is None and policy.has_adapter else lora
    if lora is not None:
        out |= {"lora_r": lora.r, "lora_alpha": lora.lora_alpha, "lora_target_modules": lora.target_modules}
    if environment is not None:
        fallback = {"environment": getattr(environment, "__name__", type(environment).__name__)}
        out |= getattr(environment, "settings", fallback)
    return out


@contextlib.contextmanager
def one_thread_if_tiny(policy: Policy) -> Iterator[None]:
    """Compute a tiny model on one thread; measured: two are slower as soon as anything else runs."""
    torch = need("torch")
    before = torch.get_num_threads()
    if policy.device == "cpu" and sum(p.numel() for p in policy.model.parameters()) < TINY:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def complete_checkpoint(folder: str | Path) -> Path | None:
    """The last checkpoint that was written to its end, or None; a kill can leave half of one.

    The trainer writes ``trainer_state.json`` last, so a checkpoint without it is not complete.
    """
    found = [
        p
        for p in Path(folder).glob("checkpoint-*")
        if (p / "trainer_state.json").is_file() and p.name[11:].isdigit()
    ]
    return max(found, key=lambda p: int(p.name[11:]), default=None)


def peak_memory_mb() -> int | None:
    """Peak memory of this process: the GPU's where there is one, else the main memory; None where it cannot be read."""
    torch = need("torch")
    if torch.cuda.is_available():
        return round(torch.cuda.max_memory_allocated() / 2**20)
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10))


def start_from(folder: str | Path, resume: bool) -> str | None:
    """Path of the checkpoint to go on from; says which one, or that there is none."""
    if not resume:
        return None
    found = complete_checkpoint(folder)
    if found is None:
        print("no checkpoint to resume from; starting fresh", flush=True)
        return None
    print(f"resuming from {found.name}", flush=True)
    return str(found)


def finish(
    trainer: Any,
    policy: Policy,
    run: dict[str, Any],
    clock: tuple[float, float],
    record_to: str | Path | None,
    *,
    key: str,
) -> dict[str, Any]:
    """Put the trained model into the policy, and time, memory and earlier steps into the record."""
    seconds, cpu = time.perf_counter() - clock[0], time.process_time() - clock[1]
    steps = len(run["steps"])
    policy.model = trainer.accelerator.unwrap_model(trainer.model)
    unpatch(policy.model)
    policy.model.eval()
    if not policy.has_adapter:
        policy.model.config._name_or_path = ""  # these are no longer the weights that the name stands for
    _restore_log(run, trainer.state.log_history, key)
    run["results"] |= {
        "steps": trainer.state.global_step,
        "seconds": round(seconds, 2),
        "seconds_per_step": round(seconds / max(1, steps), 4),
        "cpu_seconds": round(cpu, 2),
        "peak_memory_mb": peak_memory_mb(),
    }
    if record_to and trainer.is_world_process_zero():
        record.write_run(run, record_to)
    return run


def unpatch(model: Any) -> None:
    """Take off what TRL put over ``forward``.

    Its fused head is a closure over the model it was made for: a deep copy of the patched model would compute with the
    *original's* weights, without a word.
    """
    for module in model.modules():
        if not hasattr(module, "_hf_hook"):  # device-map hooks replace forward too, and must stay
            module.__dict__.pop("forward", None)


def _restore_log(run: dict[str, Any], history: Sequence[Mapping[str, Any]], key: str) -> None:
    """Put the steps before a resume back in front; the trainer keeps them in its checkpoint."""
    if not run["steps"]:
        return
    earlier = [entry for entry in history if key in entry and entry["step"] < run["steps"][0]]
    if not earlier:
        return
    steps, curves = run["steps"], run["curves"]
    run["steps"], run["curves"] = [], {}
    for entry in earlier:
        record.add_step(run, entry["step"], {k: v for k, v in entry.items() if k != "step"})
    for i, step in enumerate(steps):
        record.add_step(run, step, {name: values[i] for name, values in curves.items()})
