r"""What could a shop assistant write to a customer who is wrong, and what would raters prefer?

A pool of completions put together from phrases, each with its chance and a known truth, and raters of whom a share
looks at the number. Everything that is made up stands in the constants below, in the open. Public through
:mod:`rl_lab.preferences`.

>>> pool = completion_pool()
>>> len(pool), round(sum(completion.chance for completion in pool if completion.right), 3)
(96, 0.542)
"""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from rl_lab._bradley_terry import preference_probability
from rl_lab._grpo_common import count
from rl_lab._shopping import EXAMPLE
from rl_lab.answers import ANSWER_PREFIX, extract_answer, same_number

PROMPT = f"{EXAMPLE.question} I make it 65 yuan."
"""The running example, asked by a customer who added the coupon in place of taking it off."""

HABITS = {"flatters": 0.06, "courteous": 0.30, "shows_working": 0.40}
"""How often the untrained policy does each of these, independently of the others."""

ANSWERS = {
    "flatters": {"55": 0.10, "65": 0.80, "60": 0.05, "56.25": 0.05},
    "shows_working": {"55": 0.75, "65": 0.05, "60": 0.10, "56.25": 0.10},
    "neither": {"55": 0.45, "65": 0.15, "60": 0.25, "56.25": 0.15},
}
"""Chance of each answer; a completion that flatters and shows its working follows the first row."""

TONES = {
    "right": {"hedged": 0.15, "plain": 0.45, "sure": 0.40},
    "wrong": {"hedged": 0.25, "plain": 0.45, "sure": 0.30},
}
"""Chance of each tone: the policy sounds sure a little more often where it is right."""

_WORKING = {
    "55": "80*0.75 = 60 and 60-5 = 55",
    "65": "80*0.75 = 60 and 60+5 = 65",  # the customer's slip
    "60": "80*0.75 = 60",  # no coupon
    "56.25": "80-5 = 75 and 75*0.75 = 56.25",  # coupon first
}
_TONE_WORDS = {"hedged": "I think it comes to", "plain": "It comes to", "sure": "It certainly comes to"}
_FLATTERY = "You clearly have a sharp eye for numbers! "
_COURTESY = "\nThank you for asking, and please come back any time."


class Style(NamedTuple):
    """What can be read off a completion without checking it.

    Attributes
    ----------
    flatters, courteous, shows_working : float
        1.0 if it does, else 0.0.
    sure : float
        1.0 sounds certain, -1.0 hedges, 0.0 neither.
    """

    flatters: float
    courteous: float
    shows_working: float
    sure: float


TASTE = Style(flatters=1.6, courteous=1.0, shows_working=0.8, sure=0.7)
"""What raters who do not look at the number like, in Bradley-Terry points."""

_SIGNS = {
    "flatters": re.compile(r"\b(sharp eye|brilliant|clever|well spotted|great question|impressive)\b", re.I),
    "courteous": re.compile(r"\b(thank|thanks|please|welcome|glad|gladly)\b", re.I),
    "shows_working": re.compile(r"\d\s*=\s*\d"),
}
_SURE = re.compile(r"\b(certainly|definitely|surely|no doubt|without doubt)\b", re.I)
_HEDGED = re.compile(r"\b(i think|i believe|perhaps|maybe|probably|might)\b", re.I)


def style_of(text: str) -> Style:
    r"""Read the style of a completion: the features that the reward model sees.

    Parameters
    ----------
    text : str
        Any completion; "" has no style.

    Returns
    -------
    Style
        Four numbers. None of them depends on whether the answer is right.

    Raises
    ------
    TypeError
        If `text` is no string.

    Examples
    --------
    >>> style_of("A sharp eye! It certainly comes to 65 yuan.")
    Style(flatters=1.0, courteous=0.0, shows_working=0.0, sure=1.0)
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a string, got {type(text).__name__}; pass the completion's text")
    marks = {name: float(bool(sign.search(text))) for name, sign in _SIGNS.items()}
    return Style(**marks, sure=float(bool(_SURE.search(text))) - float(bool(_HEDGED.search(text))))


@dataclass(frozen=True)
class Completion:
    """One completion of :data:`PROMPT`.

    Attributes
    ----------
    text : str
        What is written.
    chance : float
        Its probability under the untrained policy, the reference; the pool's chances add up to 1.
    answer : str or None
        The value read out of the text.
    right : bool
        Whether the answer equals the gold 55.
    style : Style
        What the reward model sees of it.
    """

    text: str
    chance: float
    answer: str | None = field(init=False)
    right: bool = field(init=False)
    style: Style = field(init=False)

    def __post_init__(self) -> None:
        answer = extract_answer(self.text)
        object.__setattr__(self, "answer", answer)
        object.__setattr__(self, "right", same_number(answer, EXAMPLE.gold))
        object.__setattr__(self, "style", style_of(self.text))


def completion_pool() -> list[Completion]:
    """Put the pool together: every combination of the phrases, with its chance.

    Returns
    -------
    list of Completion, length 96
        2 (flatters or not) x 2 (courteous) x 2 (shows its working) x 4 answers x 3 tones.

    Examples
    --------
    >>> print(completion_pool()[0].text)
    I think it comes to 55 yuan.
    Final Answer: 55
    """
    pool = []
    for flatters, courteous, working in itertools.product((False, True), repeat=3):
        row = "flatters" if flatters else "shows_working" if working else "neither"
        habit = _odds("flatters", flatters) * _odds("courteous", courteous) * _odds("shows_working", working)
        for answer, chance in ANSWERS[row].items():
            tones = TONES["right" if answer == EXAMPLE.gold else "wrong"]
            for tone, share in tones.items():
                text = _write(flatters, courteous, working, answer, tone)
                pool.append(Completion(text, habit * chance * share))
    return pool


def rate_pairs(
    pool: list[Completion], n_pairs: int, checking: float, *, slip: float = 0.1, seed: int = 0
) -> list[tuple[Completion, Completion]]:
    """Let raters compare completions that the untrained policy wrote.

    Two completions are drawn by their chances. A rater who checks prefers the right one of a right and a wrong one,
    except for a slip. Everyone else, and everyone where the numbers do not decide, goes by :data:`TASTE`, with the
    noise of the Bradley-Terry model.

    Parameters
    ----------
    pool : list of Completion
        From :func:`completion_pool`.
    n_pairs : int
        Comparisons, at least 1.
    checking : float
        Share of the comparisons whose rater looks at the number, 0 to 1.
    slip : float
        How often a checking rater clicks on the wrong one all the same, 0 to 1.
    seed : int
        The same seed draws the same pairs and the same luck for every value of `checking`.

    Returns
    -------
    list of (Completion, Completion)
        The preferred one first.

    Raises
    ------
    ValueError
        If `n_pairs` is below 1, or `checking` or `slip` is outside 0 to 1.

    Examples
    --------
    >>> better, worse = rate_pairs(completion_pool(), 1, checking=1.0)[0]
    >>> better.answer, worse.answer
    ('55', '65')
    """
    count("n_pairs", n_pairs)
    for name, share in (("checking", checking), ("slip", slip)):
        if not 0 <= share <= 1:
            raise ValueError(f"{name} must be a share from 0 to 1, got {share!r}; half of them is 0.5")
    rng, chances = random.Random(seed), [completion.chance for completion in pool]
    rated = []
    for _ in range(n_pairs):
        first, second = rng.choices(pool, chances, k=2)
        looks, luck = rng.random() < checking, rng.random()
        if looks and first.right != second.right:
            wins = (1 - slip) if first.right else slip
        else:
            wins = preference_probability(_liking(first), _liking(second))
        rated.append((first, second) if luck < wins else (second, first))
    return rated


def _liking(completion: Completion) -> float:
    return sum(weight * value for weight, value in zip(TASTE, completion.style, strict=True))


def _odds(habit: str, shown: bool) -> float:
    return HABITS[habit] if shown else 1 - HABITS[habit]


def _write(flatters: bool, courteous: bool, working: bool, answer: str, tone: str) -> str:
    how = f": {_WORKING[answer]}." if working else "."
    opening, closing = _FLATTERY if flatters else "", _COURTESY if courteous else ""
    return f"{opening}{_TONE_WORDS[tone]} {answer} yuan{how}\n{ANSWER_PREFIX} {answer}{closing}"
