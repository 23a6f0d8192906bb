"""The kinds of story that :func:`rl_lab.problems.generate` tells, one module each."""

from __future__ import annotations

from rl_lab.stories import collection, factory, hall, reading, shopping, trip, wages, weather
from rl_lab.stories._story import Family, NoFit, Story

__all__ = ["FAMILIES", "Family", "NoFit", "Story"]

FAMILIES = tuple(
    module.FAMILY for module in (collection, shopping, wages, factory, trip, hall, weather, reading)
)
"""In the order in which errors list them."""
