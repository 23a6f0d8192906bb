r"""What else did training change? Forty small questions that have nothing to do with it, and a check for each.

A training set of word problems says nothing about capitals, opposites or plurals, so whatever gets worse there
was forgotten. The questions are easy on purpose: a regression set asks for what works today. Run it before the
training and at every checkpoint, with the same limit and greedily, and compare item by item.

>>> item = REGRESSION_SET[0]
>>> item.prompt, item.accepted
('What is the capital of France?', ('Paris',))
>>> is_right(item, "The capital of France is Paris."), is_right(item, "The capital is 5.\nFinal Answer: 5")
(True, False)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from rl_lab._completion import completion_text
from rl_lab.answers import ANSWER_PREFIX

__all__ = ["KINDS", "REGRESSION_SET", "Item", "drifted", "is_right", "summarize"]


class Item(NamedTuple):
    """One question of the set.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`.
    prompt : str
        What the user says.
    accepted : tuple of str
        Words or phrases, each of which answers it. For "yes or no" the first of the two words decides.
    """

    kind: str
    prompt: str
    accepted: tuple[str, ...]


KINDS = ("capitals", "opposites", "plurals", "sentences", "yes or no", "naming")

_CAPITALS = {
    "France": "Paris", "Japan": "Tokyo", "Italy": "Rome", "Egypt": "Cairo", "Spain": "Madrid", "Germany": "Berlin",
    "Russia": "Moscow", "China": "Beijing",
}  # fmt: skip
_OPPOSITES = {
    "hot": ("cold",), "big": ("small", "little", "tiny"), "up": ("down",), "open": ("closed", "close", "shut"),
    "day": ("night",), "happy": ("sad", "unhappy"), "early": ("late",), "wet": ("dry",),
}  # fmt: skip
_PLURALS = {
    "child": "children", "mouse": "mice", "leaf": "leaves", "city": "cities", "tooth": "teeth", "box": "boxes",
}  # fmt: skip
_WORDS = ("lantern", "violet", "pepper", "mountain", "cello", "yellow")
_YES_NO = (
    ("Is fire cold?", "no"), ("Is the sky above us?", "yes"), ("Can a fish fly a plane?", "no"),
    ("Is ice cold?", "yes"), ("Do cats have wings?", "no"), ("Is milk a drink?", "yes"),
)  # fmt: skip
_NAMES = (
    ("Which language do people speak in France?", ("French",)),
    ("Who wrote Romeo and Juliet?", ("Shakespeare",)),
    ("What is the largest ocean on Earth?", ("Pacific",)),
    ("In which country is the Eiffel Tower?", ("France",)),
    ("What is the largest planet in the solar system?", ("Jupiter",)),
    ("What colour is the sky on a clear day?", ("blue",)),
)

REGRESSION_SET: tuple[Item, ...] = (
    *(Item("capitals", f"What is the capital of {land}?", (city,)) for land, city in _CAPITALS.items()),
    *(Item("opposites", f"What is the opposite of '{word}'?", words) for word, words in _OPPOSITES.items()),
    *(Item("plurals", f"What is the plural of '{word}'?", (many,)) for word, many in _PLURALS.items()),
    *(Item("sentences", f"Use the word '{word}' in a sentence.", (word,)) for word in _WORDS),
    *(Item("yes or no", f"{question} Answer yes or no.", (word,)) for question, word in _YES_NO),
    *(Item("naming", question, words) for question, words in _NAMES),
)
"""Forty items: eight capitals, eight opposites, and six of each other kind. "Yes" and "no" are right equally often."""


def is_right(item: Item, completion: Any) -> bool:
    """Whether a completion answers an item.

    Parameters
    ----------
    item : Item
    completion : str or list of messages
        What the model wrote. An accepted word must stand as a whole word, in any case.

    Returns
    -------
    bool

    Examples
    --------
    >>> ice = Item("yes or no", "Is ice cold?", ("yes",))
    >>> is_right(ice, "Yes, it is."), is_right(ice, "No. Some say yes."), is_right(ice, "Eyes are cold.")
    (True, False, False)
    """
    words = _words(completion_text(completion))
    if words == _words(item.prompt):
        return False  # the question, repeated, is no answer, though it holds "yes" and "no"
    if item.kind == "yes or no":
        said = next((word for word in words if word in ("yes", "no")), None)
        return said in item.accepted
    said = " " + " ".join(words) + " "
    return any(" " + " ".join(_words(answer)) + " " in said for answer in item.accepted)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.casefold())


def drifted(completion: Any) -> bool:
    r"""Whether a completion speaks as the training set does: with its answer line, of its own accord.

    Examples
    --------
    >>> drifted("No.\n\nFinal Answer: no"), drifted("The capital of France is Paris.")
    (True, False)
    """
    return ANSWER_PREFIX.casefold() in completion_text(completion).casefold()


def summarize(completions: Iterable[Any]) -> dict[str, Any]:
    """Count a whole run of the set.

    Parameters
    ----------
    completions : iterable of str or message lists
        One per item, in the order of :data:`REGRESSION_SET`.

    Returns
    -------
    dict
        ``n``, ``right``, ``drifted``, ``flags`` (right or wrong per item) and ``by_kind`` (right per kind).

    Raises
    ------
    ValueError
        If there is not one completion per item: a set that was run in part is not comparable.

    Examples
    --------
    >>> result = summarize(["Paris"] * 40)
    >>> result["right"], result["by_kind"]["capitals"]
    (1, 1)
    """
    listed = list(completions)
    if len(listed) != len(REGRESSION_SET):
        raise ValueError(
            f"completions must hold one entry per item, got {len(listed)} for {len(REGRESSION_SET)} items; run the "
            "whole set"
        )
    flags = [is_right(item, completion) for item, completion in zip(REGRESSION_SET, listed, strict=True)]
    by_kind = {
        kind: sum(flag for item, flag in zip(REGRESSION_SET, flags, strict=True) if item.kind == kind)
        for kind in KINDS
    }
    return {
        "n": len(flags),
        "right": sum(flags),
        "drifted": sum(drifted(completion) for completion in listed),
        "flags": flags,
        "by_kind": by_kind,
    }
