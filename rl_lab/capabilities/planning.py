"""Does it look beyond the next step, and think again when the world is not as planned?

>>> env = Planning()
>>> print(env.reset(seed=1)[0].splitlines()[0])
Drive from Depot to Harbour with fuel for 20 km. One road on the map may turn out closed.
>>> env.step(("go", "Harbour"))[0]
'error: no road leads from Depot to Harbour; there are Ash, Birch, Cedar'
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from rl_lab.capabilities._base import BadAction, CapabilityEnv, share, whole
from rl_lab.capabilities._play import Policy

LAYERS = (
    ("Depot",),
    ("Ash", "Birch", "Cedar"),
    ("Dale", "Elm", "Fern"),
    ("Glen", "Hill", "Inn"),
    ("Harbour",),
)
Roads = Mapping[str, Mapping[str, int]]


class Planning(CapabilityEnv):
    """Reach the harbour on one-way roads before the fuel runs out.

    Every route has four roads. The fuel is just what the best plan needs, a closed road met on the way included. Maps
    are drawn so that always taking the shortest road is not the shortest way: where no road is closed, it fails.

    Actions
    -------
    ``go(place)`` takes the road to a neighbouring place.

    Observations
    ------------
    At first the whole map with lengths in km; then where you are, the fuel, and any closed road *that starts here*.

    Rewards
    -------
    1 at the harbour, else 0.

    Episode end
    -----------
    Terminated at the harbour, or where the fuel is too little for every open road. Truncated after 8 actions.

    Parameters
    ----------
    closed : float
        Chance that a road of the best route is closed.
    """

    name = "planning"
    actions = ("go",)

    def __init__(self, *, closed: float = 0.5) -> None:
        self.closed = share("closed", closed)
        super().__init__(max_steps=8)

    def _begin(self, rng: random.Random) -> str:
        self._roads = _draw(rng)
        while not _is_a_trap(self._roads):
            self._roads = _draw(rng)
        route = best_route(self._roads, "Depot")[1]
        block = rng.randint(1, 2)  # not seen from the depot; and the last road has no way round
        self._blocked = (route[block], route[block + 1]) if rng.random() < self.closed else None
        self._place, self._fuel = "Depot", self._needed(route)
        lines = [
            f"Drive from Depot to Harbour with fuel for {self._fuel} km. One road on the map may turn out closed."
        ]
        lines += [f"{a}: " + ", ".join(f"{b} {km}" for b, km in to.items()) for a, to in self._roads.items()]
        return "\n".join([*lines, self._view()])

    def _needed(self, route: Sequence[str]) -> int:
        """Fuel of a driver who follows the best route and plans again where the road is closed."""
        used = 0
        for a, b in pairwise(route):
            if (a, b) == self._blocked:
                return used + best_route(self._roads, a, shut=b)[0]
            used += self._roads[a][b]
        return used

    def _open(self) -> dict[str, int]:
        return {b: km for b, km in self._roads[self._place].items() if (self._place, b) != self._blocked}

    def _view(self) -> str:
        here = self._blocked and self._blocked[0] == self._place
        shut = f" The road to {self._blocked[1]} is closed." if here else ""
        return f"At {self._place}. Fuel for {self._fuel} km.{shut}"

    def _do_go(self, argument: Any) -> tuple[str, float, bool]:
        place, roads = str(argument).strip().capitalize(), self._open()
        if place not in self._roads[self._place]:
            there = ", ".join(self._roads[self._place])
            raise BadAction(f"no road leads from {self._place} to {place[:20]}; there are {there}")
        if place not in roads:
            raise BadAction(f"the road to {place} is closed")
        if roads[place] > self._fuel:
            raise BadAction(f"{place} is {roads[place]} km away, the fuel is for {self._fuel} km")
        self._place, self._fuel = place, self._fuel - roads[place]
        if place == "Harbour":
            return self._finish(True)
        stuck = all(km > self._fuel for km in self._open().values())
        return self._view() + (" Stranded." if stuck else ""), 0.0, stuck


def _draw(rng: random.Random) -> dict[str, dict[str, int]]:
    roads = {}
    for here, beyond in pairwise(LAYERS):
        for place in here:
            to = beyond if place == "Depot" else rng.sample(beyond, min(2, len(beyond)))
            roads[place] = {b: rng.randint(1, 9) for b in sorted(to)}
    return roads


def _is_a_trap(roads: Roads) -> bool:
    """Say whether going to the nearest place each time is longer than the best route."""
    place, km = "Depot", 0
    while place != "Harbour":
        step, place = min((km, b) for b, km in roads[place].items())
        km += step
    return km > best_route(roads, "Depot")[0]


def best_route(roads: Roads, start: str, *, depth: int = 4, shut: str = "") -> tuple[int, tuple[str, ...]]:
    """The shortest way of up to `depth` roads from `start`, not by the road to `shut`: its km and its places.

    Equal lengths are told apart by the alphabet, so that a plan made again on the way is the same plan.
    """
    whole("depth", depth, 1)
    if start == "Harbour":
        return 0, (start,)
    options = []
    for place, km in roads[start].items():
        if place != shut:
            beyond = best_route(roads, place, depth=depth - 1) if depth > 1 else (0, (place,))
            options.append((km + beyond[0], (start, *beyond[1])))
    return min(options)


def map_of(task: str) -> dict[str, dict[str, int]]:
    """Read the map out of the first observation."""
    rows = re.findall(r"^(\w+): (.+)$", task, re.M)
    return {a: {b: int(km) for b, km in re.findall(r"(\w+) (\d+)", to)} for a, to in rows}


def look_ahead(depth: int) -> Policy:
    """Take the first road of the shortest way of `depth` roads, at each place anew; 4 roads are all the way."""
    whole("depth", depth, 1, 4)

    def act(seen: Sequence[str], rng: random.Random) -> tuple[str, str]:
        here = re.findall(r"At (\w+)\.", " ".join(seen))[-1]
        shut = re.search(r"road to (\w+) is closed", seen[-1])
        return "go", best_route(map_of(seen[0]), here, depth=depth, shut=shut[1] if shut else "")[1][1]

    return act


def one_text(seen: Sequence[str], rng: random.Random) -> list[tuple[str, str]]:
    """Write down the best route of the map and follow it, whatever happens."""
    shut = re.search(r"road to (\w+) is closed", seen[0])
    route = best_route(map_of(seen[0]), "Depot", shut=shut[1] if shut else "")[1]
    return [("go", place) for place in route[1:]]


HABITS = {"nearest place": look_ahead(1), "two roads ahead": look_ahead(2), "all the way": look_ahead(4)}
BAD, GOOD = "nearest place", "all the way"
