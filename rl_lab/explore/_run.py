"""Read a recorded run and say precisely what is wrong with it, if something is.

A run is a dict, or a JSON file with one::

    {"name": "grpo, seed 1", "command": "…", "seed": 1, "versions": {…}, "settings": {…},
     "steps": [0, 10, 20], "curves": {"reward": [0.1, 0.3, null]},
     "samples": [{"step": 10, "prompt": "…", "completion": "…", "reward": 1.0}]}

``steps`` and ``curves`` are needed; null in a curve means that nothing was measured at that step.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from ._words import listing

KEYS = ("name", "command", "seed", "versions", "settings", "steps", "curves", "samples", "notes")


@dataclass(frozen=True)
class Run:
    """One recorded run, checked."""

    name: str
    steps: list[float]
    curves: dict[str, list[float | None]]
    samples: list[dict[str, Any]] = field(default_factory=list)
    origin: str = ""  # where the numbers come from, in a line: seed and command


def read_runs(source: Any) -> list[Run]:
    """Read one run or several.

    Parameters
    ----------
    source
        A run (dict), a path to one, a list of these, or a dict from names to these.

    Raises
    ------
    FileNotFoundError
        If a path leads nowhere; says from which folder it was looked for.
    ValueError, TypeError
        If a run breaks the schema; names the run, the field, and the rule.

    Examples
    --------
    >>> read_runs({"steps": [0, 1], "curves": {"reward": [0.2, 0.4]}})[0].curves
    {'reward': [0.2, 0.4]}
    """
    if _is_one(source):
        sources = [(None, source)]
    elif isinstance(source, Mapping):
        sources = list(source.items())
    elif isinstance(source, (list, tuple)):
        sources = [(None, one) for one in source]
    else:
        raise TypeError(f"run must be a dict, a path, or a list or dict of these, got {source!r}")
    if not sources:
        raise ValueError("run is empty: pass at least one recorded run")
    runs = [_read(one, name, i) for i, (name, one) in enumerate(sources)]
    names = [r.name for r in runs]
    if len(set(names)) < len(names):
        raise ValueError(f"two runs have one name: {listing(names)}; pass a dict from names to runs")
    return runs


def _is_one(source: Any) -> bool:
    if isinstance(source, (str, os.PathLike)):
        return True
    return isinstance(source, Mapping) and ("curves" in source or "steps" in source)


def _read(source: Any, name: str | None, i: int) -> Run:
    what = f"run {name!r}" if name else "the run" if i == 0 else f"run {i + 1}"
    if isinstance(source, (str, os.PathLike)):
        source, what = _load(pathlib.Path(source)), f"the run in {os.fspath(source)}"
    if not isinstance(source, Mapping):
        raise TypeError(f"{what} must be a dict with steps and curves, or a path to one, got {source!r}")
    steps = _steps(source, what)
    return Run(
        name=str(name or source.get("name") or f"run {i + 1}"),
        steps=steps,
        curves=_curves(source, steps, what),
        samples=_samples(source, what),
        origin=_origin(source),
    )


def _load(path: pathlib.Path) -> Any:
    if not path.is_file():
        raise FileNotFoundError(
            f"no recorded run at {path} (looked from {pathlib.Path.cwd()}); check the path"
        )
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not readable as JSON: {error}") from error


def _steps(source: Mapping[str, Any], what: str) -> list[float]:
    steps = source.get("steps")
    if not isinstance(steps, (list, tuple, range)) or len(steps) < 2:
        raise ValueError(f'{what} needs "steps", a list of at least two numbers, got {steps!r}')
    for step in steps:
        if isinstance(step, bool) or not isinstance(step, Real) or not math.isfinite(step):
            raise TypeError(f'"steps" of {what} must be numbers, got {step!r}')
    for a, b in itertools.pairwise(steps):
        if b <= a:
            raise ValueError(f'"steps" of {what} must increase, but {b!r} comes after {a!r}')
    return list(steps)


def _curves(source: Mapping[str, Any], steps: list[float], what: str) -> dict[str, list[float | None]]:
    curves = source.get("curves")
    if not isinstance(curves, Mapping) or not curves:
        raise ValueError(f'{what} needs "curves", a dict from names to lists of numbers, got {curves!r}')
    for name, values in curves.items():
        if not isinstance(values, (list, tuple)) or len(values) != len(steps):
            size = len(values) if isinstance(values, (list, tuple)) else values
            raise ValueError(
                f"curve {name!r} of {what} must be a list of {len(steps)} numbers, one a step, got {size!r}"
            )
        for step, value in zip(steps, values, strict=True):
            _check_value(value, f"curve {name!r} of {what} at step {step}")
    return {str(k): [None if v is None else _short(v) for v in values] for k, values in curves.items()}


def _check_value(value: Any, what: str) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{what} must be a number or null, got {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{what} is {value!r}; record null where nothing could be measured")


def _short(value: float) -> float:
    """Six significant digits: more than a picture or a read-out shows."""
    return value if isinstance(value, int) else float(f"{float(value):.6g}") + 0.0


def _samples(source: Mapping[str, Any], what: str) -> list[dict[str, Any]]:
    samples = source.get("samples") or []
    if not isinstance(samples, (list, tuple)):
        raise TypeError(f'"samples" of {what} must be a list of dicts, got {samples!r}')
    out = []
    for i, sample in enumerate(samples):
        if not isinstance(sample, Mapping) or not isinstance(sample.get("step"), Real):
            # A wrong record in a file is a bad value, whatever its Python type.
            raise ValueError(  # noqa: TRY004
                f'sample {i} of {what} must be a dict with "step", prompt, completion, reward; got {sample!r}'
            )
        _check_value(sample.get("reward"), f"the reward of sample {i} of {what}")
        texts = {k: "" if sample.get(k) is None else str(sample[k]) for k in ("prompt", "completion")}
        out.append({"step": sample["step"], **texts, "reward": sample.get("reward")})
    return sorted(out, key=lambda s: s["step"])


def _origin(source: Mapping[str, Any]) -> str:
    seed = f"seed {source.get('seed')}"
    parts = [seed] if source.get("seed") is not None and seed not in str(source.get("name")) else []
    if source.get("command"):
        parts.append(str(source["command"]))
    return ", ".join(parts)
