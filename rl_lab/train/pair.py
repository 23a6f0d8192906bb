"""What do chapters 16 and 17 share? Adapters on disk, a timed evaluation, the table of the four, and the paired test.

>>> sign_test(9, 2)
0.0654

Standard library only, until something is trained or measured.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rl_lab import _estimates
from rl_lab.train.presets import Preset
from rl_lab.train.seeds import read_record

__all__ = [
    "FOUR",
    "LOOK",
    "RECORDED_LOOK",
    "Kept",
    "find_adapter",
    "four_table",
    "groups_of",
    "keep_adapter",
    "measure",
    "only_one",
    "out_folder",
    "record_or_say",
    "recorded_cell",
    "reset_peak",
    "sign_test",
    "write_four",
]

FOUR = ("base", "SFT", "GRPO", "SFT + GRPO")


def out_folder(name: str) -> Path:
    """Where a run of the notebooks leaves its files: ``runs/out/<name>`` of the clone, or of the current folder."""
    clone = Path("../runs")
    return (clone if clone.is_dir() else Path("runs")) / "out" / name


def record_or_say(stem: str) -> dict[str, Any] | None:
    """Read a recorded run; where there is none, as in a notebook opened alone in Colab, say so and return None."""
    try:
        return read_record(stem)
    except FileNotFoundError:
        print(
            f"The record {stem}.json is not here, though it comes with the package: install it again, "
            "or set RL_LAB_RUNS to the folder runs of a clone."
        )
        return None


class Kept(NamedTuple):
    """An adapter on disk, and the run that made it: its ``results`` hold steps, seconds and peak memory."""

    folder: Path
    run: dict[str, Any]


def keep_adapter(policy: Any, preset: Preset, run: Mapping[str, Any]) -> Path:
    """Save what SFT made for the next chapter, with a note on what it cost."""
    folder = policy.save(out_folder(f"16_{preset.name}"))
    results = {key: run["results"].get(key) for key in ("steps", "seconds", "peak_memory_mb")}
    note = {"preset": preset.name, "results": results}
    (folder / "made.json").write_text(json.dumps(note), encoding="utf-8")
    return folder


def find_adapter(preset: Preset) -> Kept | None:
    """The adapter that chapter 16 left for this preset, or None."""
    folder = out_folder(f"16_{preset.name}")
    try:
        made = json.loads((folder / "made.json").read_text(encoding="utf-8"))
        of = json.loads((folder / "rl_lab.json").read_text(encoding="utf-8"))["name"]
        belongs = made["preset"] == preset.name and of == preset.model
        run = {"results": {"seconds": 0.0} | made["results"]}
    except (OSError, ValueError, KeyError, TypeError):
        return None
    whole = any((folder / name).is_file() for name in ("adapter_model.safetensors", "model.safetensors"))
    return Kept(folder, run) if whole and belongs else None


def reset_peak() -> None:
    """Start counting the peak memory of the GPU afresh; on a CPU the count is the process's and goes on."""
    import torch

    gc.collect()  # a trainer that is no longer used holds its model in a cycle of references
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def measure(
    name: str, policy: Any, rows: Sequence[dict[str, Any]], preset: Preset, *runs: Mapping[str, Any]
) -> dict[str, Any]:
    """Evaluate a policy on the held-out problems and put what it cost beside it.

    Parameters
    ----------
    name : str
        Of :data:`FOUR`, or another.
    policy : Policy
    rows : sequence of dict
        Held-out problems, the same for all.
    preset : Preset
    *runs : mapping
        Records of the training runs that led to this policy; their seconds add up, their peak memory does not.

    Returns
    -------
    dict
        ``name``, ``correct``, ``n``, ``accuracy``, ``interval`` (Wilson, 95 %), ``format_rate``, ``right`` (list of
        0 and 1), ``texts`` (the first three), ``train_s``, ``evaluate_s`` and ``peak_memory_mb``.
    """
    from rl_lab.train._run import peak_memory_mb
    from rl_lab.train.evaluate import evaluate_policy

    start = time.perf_counter()
    result = evaluate_policy(policy, rows, max_tokens=preset.evaluate_tokens, batch_size=100)
    peaks = [run["results"].get("peak_memory_mb") for run in runs]
    return {
        "name": name,
        "correct": result.correct,
        "n": result.n,
        "accuracy": result.accuracy,
        "interval": list(result.interval),
        "format_rate": result.format_rate,
        "right": [int(right) for right in result.right],
        "texts": result.texts[:3],
        "train_s": round(sum(run["results"]["seconds"] for run in runs), 1),
        "evaluate_s": round(time.perf_counter() - start, 1),
        "peak_memory_mb": max((p for p in peaks if p), default=None) if runs else peak_memory_mb(),
    }


def recorded_cell(name: str, record: Mapping[str, Any], *earlier: Mapping[str, Any]) -> dict[str, Any]:
    """A record of ``tools/record_17.py`` in the form of `measure`, with CPU time: other programs ran beside it.

    Parameters
    ----------
    name : str
    record : mapping
    *earlier : mapping
        Records of the training before it, whose seconds belong to it too.
    """
    results = record["results"]
    keys = ("correct", "n", "accuracy", "interval", "format_rate")
    seconds = sum(run["results"].get("cpu_seconds", 0) for run in (record, *earlier))
    peak = max(run["results"].get("peak_memory_mb") or 0 for run in (record, *earlier))
    return {key: results["after"][key] for key in keys} | {
        "name": name,
        "right": results["right"],
        "train_s": seconds,
        "peak_memory_mb": peak,
    }


def groups_of(
    policy: Any, rows: Sequence[dict[str, Any]], preset: Preset, groups: int | None = None
) -> list[int]:
    """Sample groups at temperature 1, 12 or on a CPU 4 of them; how many completions of each earn the reward."""
    from rl_lab.train.evaluate import evaluate_policy

    size, groups = preset.grpo["num_generations"], groups or (4 if preset.name in ("cpu", "tiny") else 12)
    result = evaluate_policy(
        policy, rows[:groups], temperature=1.0, samples=size, max_tokens=preset.evaluate_tokens
    )
    return [sum(result.right[i : i + size]) for i in range(0, len(result.right), size)]


def four_table(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Bars and table of the comparison, as ``rl_lab.explore.explore`` draws them.

    Parameters
    ----------
    cells : sequence of mappings
        As `measure` returns them.

    Examples
    --------
    >>> cell = {"name": "base", "correct": 2, "n": 8, "accuracy": 0.25, "interval": [0.07, 0.59], "format_rate": 0.5,
    ...         "train_s": 0, "peak_memory_mb": 1234}
    >>> four_table([cell])["table"]
    [{'run': 'base', 'right': '2 of 8', 'low': 7.0, 'high': 59.0, 'format': 50.0, 'minutes': 0.0, \
'memory': 1.2}]
    """
    return {
        "x": [cell["name"] for cell in cells],
        "lowest": [100 * cell["interval"][0] for cell in cells],
        "right": [100 * cell["accuracy"] for cell in cells],
        "highest": [100 * cell["interval"][1] for cell in cells],
        "table": [
            {
                "run": cell["name"],
                "right": f"{cell['correct']} of {cell['n']}",
                "low": round(100 * cell["interval"][0], 1),
                "high": round(100 * cell["interval"][1], 1),
                "format": round(100 * cell["format_rate"], 1),
                "minutes": round((cell["train_s"] or 0) / 60, 1),
                "memory": round((cell["peak_memory_mb"] or 0) / 1024, 1),
            }
            for cell in cells
        ],
    }


LOOK: dict[str, Any] = {
    "kinds": {"lowest": "bar", "right": "bar", "highest": "bar"},
    "labels": {
        "right": "right",
        "lowest": "95 % interval from",
        "highest": "to",
        "low": "from",
        "high": "to",
        "format": "in the format",
        "minutes": "minutes of training",
        "memory": "peak memory",
    },
    "units": {"low": "%", "high": "%", "format": "%", "memory": "GiB"},
    "decimals": {"low": 0, "high": 0, "format": 0, "minutes": 1, "memory": 1, "right": 0}
    | {"lowest": 0, "highest": 0},
    "y_range": (0, 100),
    "y_label": "held-out problems, %",
}
"""How ``explore`` shows what `four_table` returns."""
RECORDED_LOOK = LOOK | {"labels": LOOK["labels"] | {"minutes": "CPU minutes of training"}}
"""The same for records."""


def only_one(before: Sequence[int], after: Sequence[int]) -> tuple[int, int]:
    """On how many problems only the second is right, and on how many only the first.

    Examples
    --------
    >>> only_one([1, 0, 0, 1], [1, 1, 1, 0])
    (2, 1)
    """
    pairs = list(zip(before, after, strict=True))
    return sum(b > a for a, b in pairs), sum(a > b for a, b in pairs)


def sign_test(gained: int, lost: int) -> float:
    """Probability of a split at least this uneven if gains and losses were a coin toss (McNemar's exact test).

    Problems that both solve, or neither, say nothing about which is better, and drop out.

    Parameters
    ----------
    gained, lost : int
        As `only_one` returns them.

    Returns
    -------
    float
        Two-sided, rounded to four digits; 1.0 if no problem differs.

    References
    ----------
    McNemar (1947), "Note on the sampling error of the difference between correlated proportions or percentages".
    """
    if min(gained, lost) < 0:
        raise ValueError(f"gained and lost must be counts of problems, 0 or more, got {gained} and {lost}")
    return round(_estimates.sign_test(gained, lost), 4)


def write_four(cells: Sequence[Mapping[str, Any]], preset: Preset, path: str | Path, **more: Any) -> Path:
    """Write the comparison as one small JSON with the settings and versions that belong to it."""
    from rl_lab.train.record import new_run, write_run

    settings = {"preset": preset.name, "model": preset.model, "task": preset.task} | {
        "sft": dict(preset.sft),
        "grpo": dict(preset.grpo),
        "lora": dict(preset.lora or {}),
        "options": dict(preset.options),
    }
    run = new_run(f"the four, preset {preset.name}", seed=1, settings=settings)
    run["results"] = {"cells": [dict(cell) for cell in cells]} | more
    return write_run(run, path)
