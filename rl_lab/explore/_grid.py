"""Turn what a figure was given for each parameter into a control: its values, their texts, where it starts.

>>> controls({"gamma": (0, 1, 0.5)}, {}, start={"gamma": 1.0}, labels={}, units={})[0].texts
('0', '0.5', '1')
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from ._numbers import group
from ._words import choose, listing

MAX_RADIO = 4  # up to this many choices stand side by side; more become a drop-down list


@dataclass(frozen=True)
class Control:
    """One parameter that the reader can change."""

    name: str
    label: str
    kind: str  # "range" (slider), "check" (checkbox) or "choice"
    values: tuple[Any, ...]
    texts: tuple[str, ...]  # each value as it is shown, unit included
    start: int  # index into values


def controls(
    given: Mapping[str, Any],
    defaults: Mapping[str, Any],
    *,
    start: Mapping[str, Any],
    labels: Mapping[str, str],
    units: Mapping[str, str],
) -> list[Control]:
    """Read every parameter of a figure.

    Parameters
    ----------
    given
        Name → (low, high, step), list of numbers, list of strings, or bool.
    defaults
        Name → default value in the function's own signature.
    start, labels, units
        As in :func:`rl_lab.explore.explore`.

    Raises
    ------
    ValueError, TypeError
        If a grid cannot be read or a start value is not on it.
    """
    choose(start, given, "start", "a slider")
    return [_control(name, spec, defaults, start, labels, units) for name, spec in given.items()]


def _control(name, spec, defaults, start, labels, units) -> Control:
    kind, values = grid(name, spec)
    texts = tuple(value_text(v, units.get(name, "")) for v in values)
    if name in start:
        index = _index(name, values, start[name], f"start[{name!r}]")
    elif kind == "check":
        index = int(spec)
    elif defaults.get(name) is not None:
        index = _index(name, values, defaults[name], f"the default of {name!r} in the function")
    else:
        index = 0 if kind == "choice" else (len(values) - 1) // 2
    return Control(name, labels.get(name, name), kind, values, texts, index)


def grid(name: str, spec: Any) -> tuple[str, tuple[Any, ...]]:
    """Return (kind of control, its values) for one parameter.

    Examples
    --------
    >>> grid("gamma", (0.0, 0.2, 0.1)), grid("gate", True), grid("rank", [1, 2, 4])
    (('range', (0.0, 0.1, 0.2)), ('check', (False, True)), ('range', (1, 2, 4)))
    """
    if isinstance(spec, bool):
        return "check", (False, True)
    if isinstance(spec, tuple) and len(spec) == 3 and all(_number(v) for v in spec):
        return "range", _steps(name, *spec)
    if isinstance(spec, tuple) and any(_number(v) for v in spec):
        raise TypeError(
            f"{name} must be (low, high, step) with three numbers, got {spec!r}; "
            f"for a slider over given values pass a list, {name}={list(spec)!r}"
        )
    if not isinstance(spec, (list, tuple, range)):
        raise TypeError(
            f"{name} must be (low, high, step), a list of numbers or strings, or True/False, got {spec!r}"
        )
    return _listed(name, list(spec))


def _listed(name: str, values: list[Any]) -> tuple[str, tuple[Any, ...]]:
    if len(values) < 2:
        raise ValueError(
            f"{name} needs at least two values, got {values!r}; pass a fixed value inside the function"
        )
    if all(isinstance(v, str) for v in values):
        kind = "choice"
    elif all(_number(v) and math.isfinite(v) for v in values):
        kind = "range"
    else:
        raise TypeError(f"{name} must be all finite numbers or all strings, got {values!r}")
    if len(set(values)) < len(values):
        raise ValueError(f"{name} holds a value twice: {values!r}; each position of a slider needs its own")
    return kind, tuple(values)


def _steps(name: str, low: float, high: float, step: float) -> tuple[float, ...]:
    if not all(math.isfinite(v) for v in (low, high, step)):
        raise ValueError(f"{name} must have finite low, high and step, got {(low, high, step)!r}")
    if step <= 0 or high <= low:
        raise ValueError(f"{name} must have low < high and step > 0, got {(low, high, step)!r}")
    count = round((high - low) / step)
    if count > 100_000:
        raise ValueError(f"{name} has {count + 1:,} values; choose a coarser step than {step!r}")
    if not math.isclose(low + count * step, high, rel_tol=1e-9, abs_tol=step * 1e-6):
        raise ValueError(
            f"{name}: steps of {step!r} from {low!r} do not land on {high!r}; "
            f"end at {_tidy(low + math.floor((high - low) / step) * step)!r} or choose a step that divides the range"
        )
    if all(isinstance(v, int) for v in (low, high, step)):
        return tuple(low + i * step for i in range(count + 1))
    return tuple(_tidy(low + i * step) for i in range(count + 1))


def _tidy(value: float) -> float:
    """Drop the noise of repeated addition (0.30000000000000004) and the sign of a zero."""
    return float(f"{value:.10g}") + 0.0


def _index(name: str, values: tuple[Any, ...], value: Any, what: str) -> int:
    for i, v in enumerate(values):
        if isinstance(v, (bool, str)) or isinstance(value, (bool, str)):
            if type(v) is type(value) and v == value:
                return i
        elif _number(value) and math.isclose(v, value, rel_tol=1e-9, abs_tol=1e-12):
            return i
    if _number(value) and _number(values[0]):
        near = min(values, key=lambda v: abs(v - value))
        advice = f"the closest is {near!r}; use it, or choose steps that meet {value!r}"
    else:
        advice = f"choose from {listing(values)}"
    raise ValueError(
        f"{what} is {value!r}, which is not a value of {name}; {advice}, or pass start={{{name!r}: …}}"
    )


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def value_text(value: Any, unit: str = "") -> str:
    """Write a control's value as it is shown beside it, in full: 4096 → 4,096; 0.05 → 0.05; 1e-05 → 1e-5.

    Examples
    --------
    >>> value_text(4096, "columns"), value_text(0.85, ""), value_text(1e-5), value_text(True)
    ('4,096 columns', '0.85', '1e-5', 'on')
    """
    if isinstance(value, bool):
        text = "on" if value else "off"
    elif isinstance(value, str):
        text = value
    else:
        text = f"{value:.10g}" if not isinstance(value, int) else str(value)
        mantissa, e, power = text.partition("e")
        text = f"{mantissa}e{int(power)}" if e else group(text)
    return with_unit(text, unit)


def with_unit(text: str, unit: str) -> str:
    """Put a unit behind a text, if there is one."""
    return f"{text} {unit}" if unit else text


def signature_defaults(f: Callable[..., Any], names: list[str]) -> dict[str, Any]:
    """Return the defaults in `f`'s signature, after checking that `f` takes exactly what it will be given.

    Raises
    ------
    TypeError
        If `f` is not callable, does not accept a name, or needs one that has no control.
    """
    if not callable(f):
        raise TypeError(f"f must be a function of the parameters, got {f!r}")
    try:
        parameters = inspect.signature(f).parameters
    except (TypeError, ValueError):
        return {}  # some built-ins do not tell; a wrong name then shows on the first call
    takes = [n for n, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        choose(names, takes, "explore", f"a parameter of {getattr(f, '__name__', 'f')}", TypeError)
    empty = inspect.Parameter.empty
    missing = [n for n in takes if parameters[n].default is empty and n not in names]
    missing += [n for n, p in parameters.items() if p.kind is p.POSITIONAL_ONLY and p.default is empty]
    if missing:
        raise TypeError(
            f"{getattr(f, '__name__', 'f')} needs {listing(missing)} too; "
            "add a slider for it or give it a default in the function"
        )
    return {n: parameters[n].default for n in takes if parameters[n].default is not empty}
