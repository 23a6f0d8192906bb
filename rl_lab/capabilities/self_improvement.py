"""Is the second attempt better than the first, because of what came back?

>>> env = SelfImprovement()
>>> env.reset(seed=1)[0]
'An item costs 200 yuan. Which percentage makes the customer pay 88 yuan? A coupon of 1 to 20 % of the price comes \
off last; you are not told which. Attempts: 3.'
>>> env.step(("try", "55"))[0]
'At 55 % the customer pays 92 yuan: 4 too much.'
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from rl_lab.calculator import format_number
from rl_lab.capabilities._base import BadAction, CapabilityEnv, stated_number, whole
from rl_lab.capabilities._play import Policy

COUPONS = range(1, 21)  # in percent of the price


class SelfImprovement(CapabilityEnv):
    """Find the percentage at which a customer pays a given sum, with a coupon that is not told.

    All 20 coupons are equally likely, whatever the task says, so `k` attempts that ignore what came back succeed with
    chance ``k / 20`` at most. One result gives the coupon away.

    Actions
    -------
    ``try(percentage)``.

    Observations
    ------------
    The task; after an attempt, what the customer pays and by how much that misses the goal.

    Rewards
    -------
    1 for hitting the goal, at whichever attempt, else 0.

    Episode end
    -----------
    Terminated by success or by the last attempt; truncated three actions later, if slips used up the others.

    Parameters
    ----------
    attempts : int
        1 to 20.
    """

    name = "self_improvement"
    actions = ("try",)

    def __init__(self, *, attempts: int = 3) -> None:
        self.attempts = whole("attempts", attempts, 1, 20)
        super().__init__(max_steps=attempts + 3)

    def _begin(self, rng: random.Random) -> str:
        self._one = rng.choice([1, 2, 4, 5])  # yuan in one percent of the price
        base, self._coupon = rng.randint(40, 75), rng.choice(COUPONS)  # drawn apart: the goal tells nothing
        self._goal, self._left = base * self._one, self.attempts
        return (
            f"An item costs {100 * self._one} yuan. Which percentage makes the customer pay {self._goal} yuan? "
            f"A coupon of 1 to 20 % of the price comes off last; you are not told which. Attempts: {self.attempts}."
        )

    def _do_try(self, argument: Any) -> tuple[str, float, bool]:
        number = stated_number(argument, "try(70)")
        if number is None or not 0 < float(number) <= 100:
            raise BadAction(f"the percentage must be one number from 1 to 100, got {str(argument)[:20]!r}")
        percent = float(number)
        pays = (percent - self._coupon) * self._one
        miss = round(pays - self._goal, 6)
        self._left -= 1
        if miss == 0:
            return self._finish(True)
        said = f"At {format_number(percent)} % the customer pays {format_number(round(pays, 6))} yuan: "
        said += f"{format_number(abs(miss))} too {'much' if miss > 0 else 'little'}."
        self._success = False
        return said, 0.0, self._left == 0


def given(task: str) -> tuple[int, int]:
    """Yuan in one percent of the price, and the percentage that would do without a coupon."""
    price, goal = (int(n) for n in re.findall(r"(\d+) yuan", task)[:2])
    return price // 100, goal * 100 // price


def repeats_itself(seen: Sequence[str], rng: random.Random) -> tuple[str, str]:
    """Stay with the first guess."""
    return "try", str(given(seen[0])[1] + 10)


def another_each_time(seen: Sequence[str], rng: random.Random) -> tuple[str, str]:
    """Never try the same twice, and never read what came back: as good as can be without feedback."""
    order = [10, 11, 9, 12, 8, 13, 7, 14, 6, 15, 5, 16, 4, 17, 3, 18, 2, 19, 1, 20]
    return "try", str(given(seen[0])[1] + order[len(seen) - 1])


def uses_the_direction(seen: Sequence[str], rng: random.Random) -> tuple[str, str]:
    """Read "too much" or "too little", and halve what is left."""
    base = given(seen[0])[1]
    low, high = COUPONS[0], COUPONS[-1]
    for result in seen[1:]:
        tried = int(re.search(r"At (\d+)", result)[1]) - base
        low, high = (low, tried - 1) if "too much" in result else (tried + 1, high)
    return "try", str(base + (low + high) // 2)


def uses_the_number(seen: Sequence[str], rng: random.Random) -> tuple[str, str]:
    """Read by how much the first attempt missed, and take exactly that off or add it."""
    one, base = given(seen[0])
    if len(seen) == 1:
        return "try", str(base + 10)
    tried, miss = re.search(r"At (\d+)", seen[-1])[1], re.search(r"(\d+) too", seen[-1])[1]
    off = int(miss) // one
    return "try", str(int(tried) + (-off if "too much" in seen[-1] else off))


def one_text(seen: Sequence[str], rng: random.Random) -> list[tuple[str, str]]:
    """Write down all attempts before the first result is there."""
    attempts = int(re.search(r"Attempts: (\d+)", seen[0])[1])
    return [another_each_time([seen[0]] * k, rng) for k in range(1, attempts + 1)]


HABITS: dict[str, Policy] = {
    "repeats itself": repeats_itself,
    "another each time": another_each_time,
    "uses the direction": uses_the_direction,
    "uses the number": uses_the_number,
}
BAD, GOOD = "another each time", "uses the number"
