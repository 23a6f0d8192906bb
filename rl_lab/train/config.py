"""How does a YAML file and a few words on the command line become a run? As in TRL: the words override the file.

``python -m rl_lab.train grpo --config configs/x.yaml learning_rate=1e-6`` reads three layers: our defaults, the file,
the command line. ``key=value``, ``--key value`` and ``--key=value`` mean the same. Keys are :class:`RunSettings`'
below, or fields of ``trl.SFTConfig`` and ``trl.GRPOConfig``; anything else is refused by name.

>>> settings, trainer = split({"task": "shopping", "lora_r": 8, "beta": "2e-2"})
>>> settings.task, settings.lora_r, trainer
('shopping', 8, {'beta': 0.02})
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rl_lab.train._need import need

__all__ = ["RunSettings", "parse", "read_config", "split"]


@dataclass(frozen=True)
class RunSettings:
    """What a run needs besides the trainer's own configuration."""

    model_name_or_path: str = "tiny"  # "tiny", "smollm2", a folder, or a name on the hub
    start_config: str | None = None  # what trains that folder's model; in a file: beside it
    takes: str | None = None  # how long the run takes, in words, for whoever has to wait
    task: str = "shopping"  # shopping, totals, problems or gsm8k
    n_train: int = 1000  # training problems
    n_test: int = 200  # held-out problems, evaluated greedily before and after
    source: str | None = None  # gsm8k: a folder, or the hub's name
    system: str | None = None  # problems, gsm8k: a system prompt for a model that has not learned the format
    problem_steps: tuple[int, int] | None = None  # problems: fewest and most solution steps
    families: tuple[str, ...] | None = None  # problems: kinds of story
    max_value: int | None = None  # problems: largest number in a problem
    tool_share: float | None = None  # shopping: share of demonstrations that call the calculator
    failure_share: float | None = None  # shopping: among those, share in which it fails once
    retry_share: float | None = None  # shopping: among these, share that calls again
    wording: str | None = None  # shopping: "percent" or "multiplier"
    step_share: float | None = None  # totals: share of demonstrations that write the steps
    operations: int | None = None  # totals: changes in a problem
    reward: str | None = None  # outcome, milestones, accuracy, length, step, hybrid; by default the task's
    calculator: str = "honest"  # shopping: honest, lying or failing
    failure_rate: float = 0.3  # shopping: how often the failing calculator fails
    device: str = "auto"  # auto, cpu, cuda or mps
    precision: str = "auto"  # auto, fp32, bf16 or fp16
    use_peft: bool = False  # train a LoRA adapter
    lora_r: int = 8  # its rank
    lora_alpha: float | None = None  # twice the rank by default
    lora_target_modules: str | tuple[str, ...] = "all-linear"
    lora_dropout: float = 0.0
    plain_loop: bool = (
        False  # SFT of the tiny model by the short bucketed loop, several times faster than a trainer
    )
    learn_tool_tokens: bool = False  # ablation: the tool's tokens are in GRPO's loss
    evaluate_every: int = (
        0  # steps between evaluations on held-out problems during the run; 0: only before and after
    )
    evaluate_n: int = 50  # problems of such an evaluation
    evaluate_tokens: int | None = None  # limit of a completion in evaluations; by default the trainer's
    temperature_eval: float = 0.0  # of evaluations; 0 is greedy
    record_to: str | None = None  # where the record of the run goes; runs/out/<name>.json by default
    run_name: str | None = None  # for the record; made from model, task and method by default
    resume: bool = False  # go on from the last checkpoint in output_dir
    save_model: bool = True  # write model and tokenizer to output_dir at the end
    threads: int | None = None  # of the CPU; by default torch's choice (1 for the tiny model)
    print_every: int = 1  # lines in the terminal


ALIASES = {"model": "model_name_or_path", "name": "run_name", "rank": "lora_r", "alpha": "lora_alpha"}
_FIELDS = {field.name for field in dataclasses.fields(RunSettings)}
# YAML 1.1 reads 1e-5 as text, because it wants 1.0e-5; so does every config that a person writes.
_FLOAT = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+")


def parse(argv: Sequence[str]) -> dict[str, Any]:
    """Read the words after the command: the file's keys first, then those of the command line over them.

    Raises
    ------
    ValueError
        For a word that is no setting, naming it.

    Examples
    --------
    >>> parse(["max_steps=40", "--beta", "0.02", "--resume", "--families=shopping,collection"])
    {'max_steps': 40, 'beta': 0.02, 'resume': True, 'families': ['shopping', 'collection']}
    """
    words, given, files = list(argv), {}, []
    while words:
        word = words.pop(0)
        key, sign, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and not sign:
            follows = bool(words) and not words[0].startswith("--") and "=" not in words[0]
            value = words.pop(0) if follows else "true"
        elif not sign:
            raise ValueError(f"{word!r} is no setting; write key=value or --key value")
        if key == "config":
            files.append(value)
        else:
            given[key.replace("-", "_")] = _value(value)
    merged: dict[str, Any] = {}
    for file in files:
        merged |= read_config(file)
    return merged | given


def read_config(path: str | Path) -> dict[str, Any]:
    """Read one YAML file of settings.

    Raises
    ------
    ValueError
        If it is no mapping, or holds a section ``env``: a configuration is committed, so no credential may be in it.
    FileNotFoundError
        If it is not there.
    """
    path = Path(path)
    if not path.is_file():
        near = (
            ", ".join(sorted(p.name for p in path.parent.glob("*.yaml"))[:12]) if path.parent.is_dir() else ""
        )
        raise FileNotFoundError(
            f"no configuration at {path}; " + (f"there are {near}" if near else "check the path")
        )
    read = need("yaml").safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(read, dict):
        raise ValueError(f"{path.name} must hold a mapping of settings, got {type(read).__name__}")  # noqa: TRY004
    if "env" in read:
        raise ValueError(
            f"{path.name} must not set environment variables (env:); set them in the shell or in .env"
        )
    if isinstance(read.get("start_config"), str):
        read["start_config"] = str(path.parent / read["start_config"])
    return {key: _number(value) for key, value in read.items()}


def split(given: dict[str, Any]) -> tuple[RunSettings, dict[str, Any]]:
    """Tell our settings from the trainer's; those of the trainer are checked when its configuration is built."""
    ours, theirs = {}, {}
    for key, value in given.items():
        name = ALIASES.get(key, key)
        if name in _FIELDS:
            ours[name] = tuple(value) if isinstance(value, list) else value
        else:
            theirs[key] = _number(value)
    if "seed" in theirs and not isinstance(theirs["seed"], int):
        raise ValueError(f"seed must be a whole number, got {theirs['seed']!r}")
    return RunSettings(**ours), theirs


def _value(text: str) -> Any:
    if "," in text and not text.lstrip().startswith(("[", "{", '"', "'")):
        return [_value(part) for part in text.split(",")]
    return _number(need("yaml").safe_load(text) if text else "")


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str) and _FLOAT.fullmatch(value) else value
