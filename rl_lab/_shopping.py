"""What is asked in the running example, and what would be asked in a thousand others like it?

Public through :mod:`rl_lab.mdp`.

>>> EXAMPLE.gold
'55'
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from rl_lab.calculator import format_number


def _decimal(name: str, value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        raise TypeError(f"{name} must be a number, got {type(value).__name__} {value!r}; write 80 or '0.75'")
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{name} must be a number, got {value!r}; write 80 or '0.75'") from None
    if not number.is_finite():
        raise ValueError(f"{name} must be finite, got {value!r}; write 80 or '0.75'")
    return number


@dataclass(frozen=True)
class ShoppingProblem:
    """One problem of the running example's kind; the default is the running example itself.

    Attributes
    ----------
    price : Decimal
        Yuan, above 0. Given as int, float, str or Decimal.
    multiplier : Decimal
        Share of the price that is charged, above 0 and at most 1; 0.75 is "75 % of its price".
    coupon : Decimal
        Yuan taken off at the end, from 0 to what is charged.
    item : str
        What is sold, with its article, as it starts the question.

    Raises
    ------
    ValueError
        If a number is outside its range, not finite or unreadable.

    Examples
    --------
    >>> problem = ShoppingProblem()
    >>> problem.question
    'An item costs 80 yuan, is sold at 75 % of its price, and a coupon takes off 5 yuan more. What is paid?'
    >>> problem.charged, problem.gold, problem.milestones
    ('60', '55', ('60', '55'))
    """

    price: Decimal = Decimal(80)
    multiplier: Decimal = Decimal("0.75")
    coupon: Decimal = Decimal(5)
    item: str = "An item"

    def __post_init__(self) -> None:
        for name in ("price", "multiplier", "coupon"):
            object.__setattr__(self, name, _decimal(name, getattr(self, name)))
        if self.price <= 0:
            raise ValueError(f"price must be above 0 yuan, got {self.price}; give what the item costs")
        if not 0 < self.multiplier <= 1:
            raise ValueError(f"multiplier must be above 0 and at most 1, got {self.multiplier}; 75 % is 0.75")
        if not 0 <= self.coupon <= self.price * self.multiplier:
            raise ValueError(
                f"coupon must be from 0 to the {self.charged} yuan charged, got {self.coupon}; lower it"
            )

    @property
    def question(self) -> str:
        """The prompt: the problem in one sentence."""
        price, percent, coupon = (format_number(n) for n in (self.price, self.multiplier * 100, self.coupon))
        return (
            f"{self.item} costs {price} yuan, is sold at {percent} % of its price, "
            f"and a coupon takes off {coupon} yuan more. What is paid?"
        )

    @property
    def charged(self) -> str:
        """Price times multiplier, in yuan: the result on the way."""
        return format_number(self.price * self.multiplier)

    @property
    def gold(self) -> str:
        """What is paid, in yuan: the gold answer."""
        return format_number(self.price * self.multiplier - self.coupon)

    @property
    def milestones(self) -> tuple[str, ...]:
        """Results that are worth a reward on the way, each once; what the question states already is none."""
        given = {format_number(self.price)}
        return tuple(dict.fromkeys(n for n in (self.charged, self.gold) if n not in given))


EXAMPLE = ShoppingProblem()
"""The running example: 80 yuan at 75 %, less 5, makes 55."""


def sample_problem(rng: random.Random) -> ShoppingProblem:
    """Draw a problem whose results are whole yuan.

    Parameters
    ----------
    rng : random.Random
        Source of chance; the same state draws the same problem.

    Returns
    -------
    ShoppingProblem
        Price 40 to 500 in steps of 20, multiplier 0.05 to 0.95 in steps of 0.05, coupon 1 to 9, and at least 1 yuan
        left to pay.

    Examples
    --------
    >>> sample_problem(random.Random(0)).gold
    '195'
    """
    while True:
        price, percent = rng.randrange(40, 520, 20), rng.randrange(5, 100, 5)
        coupon = rng.randint(1, 9)
        if price * percent // 100 > coupon:
            item = rng.choice(("A jacket", "A bag", "A lamp", "A book", "A watch", "A keyboard"))
            return ShoppingProblem(Decimal(price), Decimal(percent) / 100, Decimal(coupon), item)
