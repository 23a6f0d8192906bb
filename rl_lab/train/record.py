"""What must be written down so that a run can be replayed, believed and repeated? One small JSON.

Name, command, seed, versions and settings; one value per step for each curve; samples with their rewards; held-out
results before and after. ``rl_lab.explore.replay`` draws it, ``trajectory`` shows its episodes. No path, no host name
and no token of the machine is in it.

>>> run = new_run("demo", seed=1, settings={"beta": 0.0, "output_dir": "/home/me/x"})
>>> add_step(run, 1, {"reward": 0.25, "kl": None})
>>> run["steps"], run["curves"]["reward"], run["settings"]["output_dir"]
([1], [0.25], 'x')
"""

from __future__ import annotations

import enum
import importlib.metadata
import json
import math
import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import rl_lab

__all__ = [
    "PACKAGES",
    "add_sample",
    "add_step",
    "episode_text",
    "episode_turns",
    "new_run",
    "plain_result",
    "read_run",
    "versions",
    "write_run",
]

PACKAGES = ("torch", "transformers", "trl", "peft", "accelerate", "datasets", "tokenizers")
_RESULT = (
    "accuracy", "interval", "n", "problems", "correct", "format_rate", "tool_rate", "calls", "tool_errors",
    "retry_rate", "mean_length", "mean_reward", "seconds",
)  # fmt: skip
_SECRET = re.compile(r"token|secret|password|api_?key", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"\bhf_[A-Za-z0-9]{8,}")
_PATH = re.compile(r"(?:^|(?<=[\s='\"]))(?:/|~/|[A-Za-z]:\\)[^\s'\"]+")


def versions() -> dict[str, str]:
    """Versions of Python, of this package and of the libraries that are installed."""
    found = {"python": platform.python_version(), "rl_lab": rl_lab.__version__}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def new_run(
    name: str, *, seed: int, settings: Mapping[str, Any], command: str | None = None
) -> dict[str, Any]:
    """Start the record of a run.

    Parameters
    ----------
    name : str
        Short, such as "tool_use_seed1".
    seed : int
    settings : mapping
        What was set; paths are cut to their last part, and what looks like a credential is left out.
    command : str, optional
        The command line that repeats the run.
    """
    return {
        "name": name,
        "command": _scrub(command or ""),
        "seed": int(seed),
        "versions": versions(),
        "settings": {
            k: _scrub(v) for k, v in settings.items() if not (_SECRET.search(k) and isinstance(v, str))
        },
        "steps": [],
        "curves": {},
        "samples": [],
        "held_out": [],
        "warnings": [],
        "results": {},
    }


def add_step(run: dict[str, Any], step: int, metrics: Mapping[str, Any]) -> None:
    """Append one step; every curve stays as long as the list of steps, with None where there is no value."""
    if run["steps"] and step <= run["steps"][-1]:
        raise ValueError(f"step must go up, got {step} after {run['steps'][-1]}; record each step once")
    run["steps"].append(int(step))
    for name, value in metrics.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, str, type(None))):
            continue
        curve = run["curves"].setdefault(name, [None] * (len(run["steps"]) - 1))
        curve.append(_short(value))
    for curve in run["curves"].values():
        curve += [None] * (len(run["steps"]) - len(curve))


def add_sample(
    run: dict[str, Any], step: int, prompt: Any, completion: Any, reward: float | None, **more: Any
) -> None:
    """Append one sample: texts for people, and the turns of an episode if it had any."""
    sample = {
        "step": int(step),
        "prompt": episode_text(prompt) if not isinstance(prompt, str) else prompt,
        "completion": episode_text(completion) if not isinstance(completion, str) else completion,
        "reward": None if reward is None else _short(reward),
    }
    if not isinstance(completion, str) and any(m.get("role") == "tool" for m in completion):
        sample["turns"] = episode_turns(completion, reward)
    run["samples"].append(sample | more)


def plain_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an evaluation that belongs into a record: numbers, without the texts."""
    return {key: _rounded(result[key]) for key in _RESULT if result.get(key) is not None}


def _rounded(value: Any) -> Any:
    return [_short(v) for v in value] if isinstance(value, (list, tuple)) else _short(value)


def episode_turns(messages: Sequence[Mapping[str, Any]], reward: float | None = None) -> list[dict[str, Any]]:
    """Turn messages into what ``rl_lab.explore.trajectory`` shows; the reward goes to the last turn.

    Examples
    --------
    >>> call = {"function": {"name": "calc", "arguments": {"expression": "60-5"}}}
    >>> turns = episode_turns([{"role": "assistant", "content": "", "tool_calls": [call]},
    ...                        {"role": "tool", "name": "calc", "content": "55"},
    ...                        {"role": "assistant", "content": "Final Answer: 55"}], 1.0)
    >>> [(turn["role"], turn["text"], turn["reward"]) for turn in turns]
    [('agent', 'calc("60-5")', None), ('tool', '55', None), ('agent', 'Final Answer: 55', 1)]
    """
    roles = {"assistant": "agent", "user": "env", "system": "env"}
    turns = [
        {"role": roles.get(m["role"], m["role"]), "text": _message_text(m), "reward": None, "note": None}
        for m in messages
    ]
    if turns and reward is not None:
        turns[-1]["reward"] = _short(reward)
    return turns


def episode_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """Messages as a few lines of text; what a tool said is marked."""
    return "\n".join(("→ " if m.get("role") == "tool" else "") + _message_text(m) for m in messages)


def write_run(run: Mapping[str, Any], path: str | Path) -> Path:
    """Write a run as JSON, one step or sample a line would be too long: compact, and stable to compare.

    Raises
    ------
    ValueError
        If a number is not finite: no JSON reader could take it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(run, ensure_ascii=False, allow_nan=False, indent=None, separators=(",", ":"))
    part = path.with_suffix(".part")
    part.write_text(text + "\n", encoding="utf-8")
    os.replace(part, path)  # a kill while writing leaves the old file, never half a file
    return path


def read_run(path: str | Path) -> dict[str, Any]:
    """Read a run; a file of another kind is an error that names what is missing."""
    run = json.loads(Path(path).read_text(encoding="utf-8"))
    missing = [key for key in ("name", "steps", "curves") if not isinstance(run, dict) or key not in run]
    if missing:
        raise ValueError(f"{Path(path).name} is no recorded run: it lacks {', '.join(missing)}")
    return run


def _message_text(message: Mapping[str, Any]) -> str:
    calls = [call.get("function", call) for call in message.get("tool_calls") or []]
    written = [_call_text(call) for call in calls]
    content = message.get("content") or ""
    return "\n".join([content, *written] if content else written or [""])


def _call_text(call: Mapping[str, Any]) -> str:
    arguments = call.get("arguments") or {}
    # What a model passes need not be an object; the call is shown as it was written.
    values = arguments.values() if isinstance(arguments, Mapping) else [arguments]
    shown = ", ".join(json.dumps(v, ensure_ascii=False) for v in values)
    return f"{call.get('name')}({shown})"


def _short(value: Any) -> Any:
    """Five significant digits are all that a curve can show; NaN and infinity become None."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 1e9 else float(f"{number:.5g}")


def _scrub(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _scrub(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_scrub(v) for v in (sorted(value) if isinstance(value, (set, frozenset)) else value)]
    if isinstance(value, (bool, int, type(None))):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    text = value.value if isinstance(value, enum.Enum) else value
    text = _PATH.sub(lambda found: re.split(r"[/\\]", found[0].rstrip("/\\"))[-1], str(text))
    return _SECRET_VALUE.sub("[credential]", text)
