"""What do several seeds say together? Recorded runs of one experiment, their mean, and how sure it is.

>>> [round(x, 2) for x in mean_interval([0.84, 0.86, 0.94])]
[0.88, 0.75, 1.01]

Standard library only.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

__all__ = ["average", "mean_interval", "read_record", "recorded", "step_above"]


def recorded(name: str, folder: str | os.PathLike[str] | None = None) -> dict[str, dict[str, Any]]:
    """Read the recorded runs of an experiment.

    Parameters
    ----------
    name : str
        Of :data:`rl_lab.train.headline.EXPERIMENTS`, or another that stands after ``12_`` in ``runs/``.
    folder : path, optional
        Where the records lie: ``runs/`` of the clone or of the installed package, or what ``RL_LAB_RUNS`` names.

    Returns
    -------
    dict of str to dict
        From "seed 1" and so on to records, in order.

    Raises
    ------
    FileNotFoundError
        If there is none, with what there is.
    """
    place = _folder(folder)
    found = {path.stem.removeprefix(f"12_{name}_"): path for path in place.glob(f"12_{name}_*.json")}
    numbered = sorted((int(seed), path) for seed, path in found.items() if seed.isdigit())
    if not numbered:
        raise _missing(f"12_{name}_<seed>.json", place)
    return {f"seed {seed}": json.loads(path.read_text(encoding="utf-8")) for seed, path in numbered}


def read_record(stem: str, folder: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Read one record, such as ``12_step_time``; parameters and errors as in `recorded`."""
    place = _folder(folder)
    path = place / f"{stem}.json"
    if not path.is_file():
        raise _missing(path.name, place)
    return json.loads(path.read_text(encoding="utf-8"))


def _folder(folder: str | os.PathLike[str] | None) -> Path:
    if chosen := folder or os.environ.get("RL_LAB_RUNS"):
        return Path(chosen)
    package = Path(__file__).resolve().parents[1]
    clone = package.parent / "runs"
    # An installed package carries the records (setup.py).
    return clone if clone.is_dir() else package / "runs"


def _missing(wanted: str, place: Path) -> FileNotFoundError:
    there = sorted({path.stem.rstrip("0123456789").rstrip("_") for path in place.glob("[0-9][0-9]_*.json")})
    return FileNotFoundError(
        f"no record {wanted} in {place.name}/, there are {', '.join(there) or 'none'}; "
        "they come with the course's repository and its package: install it again, or set RL_LAB_RUNS to its runs/"
    )


def average(runs: Mapping[str, Mapping[str, Any]], *curves: str) -> dict[str, Any]:
    """Average the curves of several runs, step by step, into one that ``rl_lab.explore.replay`` draws.

    Parameters
    ----------
    runs : mapping from names to records
        With the same steps.
    *curves : str
        Which curves; all of the first run by default.

    Raises
    ------
    ValueError
        If the runs have different steps, or there are none.

    Examples
    --------
    >>> runs = {"a": {"steps": [1, 2], "curves": {"reward": [0.0, 1.0]}},
    ...         "b": {"steps": [1, 2], "curves": {"reward": [0.5, None]}}}
    >>> average(runs)["curves"]
    {'reward': [0.25, 1.0]}
    """
    records = list(runs.values())
    if not records or any(run["steps"] != records[0]["steps"] for run in records):
        raise ValueError(f"average takes runs with the same steps, got {', '.join(runs) or 'none'}")
    names = curves or tuple(records[0]["curves"])
    columns = {name: zip(*(run["curves"][name] for run in records), strict=True) for name in names}
    means = {name: [_mean(values) for values in column] for name, column in columns.items()}
    made_by = records[0].get("command", "").partition(" --seeds")[0]
    about = f"mean of {len(records)} runs" + (f" by {made_by}" if made_by else "")
    return {"name": about, "steps": records[0]["steps"], "curves": means, "command": about}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return sum(known) / len(known) if known else None


# Student's t for a two-sided 95 % interval, by degrees of freedom.
_T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean over seeds with its 95 % interval by Student's t.

    Parameters
    ----------
    values : sequence of float
        One per seed, 2 to 10 of them.

    Returns
    -------
    tuple of float
        Mean, lower and upper end. With so few values the interval is wide, and may leave the range 0 to 1.

    Examples
    --------
    >>> [round(x, 3) for x in mean_interval([0.8, 0.9, 1.0])]
    [0.9, 0.652, 1.148]
    """
    values = list(values)
    if not all(isinstance(value, Real) and math.isfinite(value) for value in values):
        raise ValueError(
            f"mean_interval takes finite numbers, one per seed, got {values!r:.80}; leave a seed out"
        )
    n = len(values)
    if n - 1 not in _T95:
        raise ValueError(f"mean_interval takes 2 to 10 values, one per seed, got {n}")
    mean, half = statistics.mean(values), _T95[n - 1] * statistics.stdev(values) / math.sqrt(n)
    return mean, mean - half, mean + half


def step_above(
    steps: Sequence[int], rates: Sequence[float | None], level: float, window: int = 5
) -> int | None:
    """First step at which the mean of the last `window` rates is at least `level`; None if that never happens.

    One step holds 64 completions, so a single rate is off by several points by chance; the window steadies it.

    Examples
    --------
    >>> step_above([1, 2, 3, 4], [0.5, 0.9, 0.9, 1.0], 0.9, window=2)
    3
    """
    if len(rates) != len(steps) or window < 1:
        raise ValueError(
            f"step_above takes one rate a step and a window of 1 or more, got {len(rates)} rates "
            f"for {len(steps)} steps and window={window}"
        )
    for i in range(window - 1, len(steps)):
        last = [rate for rate in rates[i - window + 1 : i + 1] if rate is not None and math.isfinite(rate)]
        if last and sum(last) / len(last) >= level - 1e-12:
            return steps[i]
    return None
