"""What can an agent be trained to do? Six small worlds, one for each capability, behind one interface.

Each world is built so that the capability is *needed*: without it there is a ceiling, and the ceiling is known.

>>> env = make("memory", gap=4)
>>> observation, info = env.reset(seed=1)
>>> print(observation)
The code of the door is 27. Errands before you get there: 4.
Pad: empty
>>> for name in NAMES:
...     bad, good = (mean_return(make(name), policies(name)[kind]).mean for kind in ("bad", "good"))
...     print(f"{name:<16} {bad:.2f} {good:.2f}")
reasoning        0.34 0.90
tool_use         0.77 0.95
memory           0.01 1.00
planning         0.35 1.00
self_improvement 0.13 1.00
perception       0.30 1.00

The list of six is that of Zhang et al. (2025), *The Landscape of Agentic Reinforcement Learning for LLMs*,
arXiv:2509.02547; the worlds are ours.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from rl_lab._record import closest
from rl_lab.capabilities import memory, perception, planning, reasoning, self_improvement, tool_use
from rl_lab.capabilities._base import BadAction, CapabilityEnv
from rl_lab.capabilities._play import Episode, MeanReturn, Policy, mean_return, play

__all__ = [
    "NAMES",
    "BadAction",
    "CapabilityEnv",
    "Episode",
    "MeanReturn",
    "Policy",
    "habits",
    "make",
    "mean_return",
    "one_text",
    "play",
    "policies",
]

_WORLDS: dict[str, tuple[ModuleType, type[CapabilityEnv]]] = {
    "reasoning": (reasoning, reasoning.Reasoning),
    "tool_use": (tool_use, tool_use.ToolUse),
    "memory": (memory, memory.Memory),
    "planning": (planning, planning.Planning),
    "self_improvement": (self_improvement, self_improvement.SelfImprovement),
    "perception": (perception, perception.Perception),
}

NAMES = tuple(_WORLDS)
"""The six capabilities."""


def make(name: str, **settings: Any) -> CapabilityEnv:
    """Make the world that needs a capability.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`.
    **settings
        Of that world: ``steps`` for reasoning, ``cost`` and ``hard`` for tool use, ``gap`` and ``window`` for memory,
        ``closed`` for planning, ``attempts`` for self-improvement.

    Returns
    -------
    CapabilityEnv
        Call ``reset(seed=…)`` first.

    Raises
    ------
    ValueError
        If there is no such world or a setting is out of range.
    TypeError
        If the world has no such setting or it is of the wrong kind.

    Examples
    --------
    >>> make("planing")
    Traceback (most recent call last):
    ...
    ValueError: name must be reasoning, tool_use, memory, planning, self_improvement or perception, got 'planing'; \
did you mean 'planning'?
    """
    world = _world(name)[1]
    known = sorted(world.__init__.__kwdefaults__ or ())
    for setting in settings:
        if setting not in known:
            has = f"the settings {', '.join(known)}" if known else "no settings"
            raise TypeError(f"{name} has {has}, got {setting!r}{closest(setting, known)}")
    return world(**settings)


def habits(name: str) -> dict[str, Policy]:
    """Scripted policies for a world, by name, the least able first.

    Examples
    --------
    >>> list(habits("memory"))
    ['no notes', 'notes the latest', 'notes the code']
    """
    return dict(_world(name)[0].HABITS)


def policies(name: str) -> dict[str, Policy]:
    """Two of the habits of a world: ``"bad"`` lacks the capability, ``"good"`` has it.

    Examples
    --------
    >>> list(policies("planning"))
    ['bad', 'good']
    """
    module = _world(name)[0]
    return {"bad": module.HABITS[module.BAD], "good": module.HABITS[module.GOOD]}


def one_text(name: str) -> Policy:
    """The best that can be written in one completion, before anything comes back; for ``play(…, one_text=True)``.

    Examples
    --------
    >>> mean_return(make("planning", closed=0), one_text("planning"), one_text=True, episodes=50).mean
    1.0
    """
    return _world(name)[0].one_text


def _world(name: str) -> tuple[ModuleType, type[CapabilityEnv]]:
    if name not in _WORLDS:
        choices = ", ".join(NAMES[:-1]) + f" or {NAMES[-1]}"
        raise ValueError(f"name must be {choices}, got {name!r}{closest(name, NAMES)}")
    return _WORLDS[name]
