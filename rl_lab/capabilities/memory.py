"""Does it keep what it will need, when what it was told is no longer in sight?

>>> env = Memory(gap=1)
>>> print(env.reset(seed=1)[0])
The code of the door is 27. Errands before you get there: 1.
Pad: empty
>>> print(env.step("go")[0])
Errand 1: take 82 letters to room 18.
Pad: empty
>>> print(env.step("go")[0])
The door asks for its code.
Pad: empty
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from rl_lab.capabilities._base import BadAction, CapabilityEnv, is_right, whole
from rl_lab.capabilities._play import Policy

CODES = range(10, 100)  # 90 codes: a blind guess is right once in 90
_PAD = 20  # characters that fit on the pad


class Memory(CapabilityEnv):
    """Be told a code, run errands, and enter the code at the door.

    The code is shown at the first place and nowhere after it; a POMDP in the strict sense. An agent whose window is
    shorter than the way and whose pad does not hold the code cannot do better than 1 in 90: all that it sees is the
    same for every code.

    Actions
    -------
    ``go`` moves on; ``note(text)`` replaces what is on the pad (20 characters); ``enter(number)`` at the door ends the
    episode.

    Observations
    ------------
    What is said at this place, and below it the pad; after a slip, the error above both. The errands are full of
    numbers that nobody will ask for.

    Rewards
    -------
    1 for the right code, else 0.

    Parameters
    ----------
    gap : int
        Errands between the code and the door, 1 to 40. The limit is twice that plus four actions.
    window : int or None
        How many of the latest observations the agent is shown; None for all.
    """

    name = "memory"
    actions = ("go", "note", "enter")

    def __init__(self, *, gap: int = 6, window: int | None = 1) -> None:
        self.gap = whole("gap", gap, 1, 40)
        super().__init__(max_steps=2 * gap + 4, window=window)

    def _begin(self, rng: random.Random) -> str:
        self._code = rng.choice(CODES)
        errands = [(rng.choice(CODES), rng.choice(CODES)) for _ in range(self.gap)]
        self._said = [f"The code of the door is {self._code}. Errands before you get there: {self.gap}."]
        self._said += [f"Errand {i}: take {a} letters to room {b}." for i, (a, b) in enumerate(errands, 1)]
        self._said += ["The door asks for its code."]
        self._place, self._pad = 0, ""
        return self._view()

    def _answer_to(self, name: str, argument: Any) -> tuple[str, float, bool]:
        try:
            return super()._answer_to(name, argument)
        except BadAction as slip:  # else one slip would hide the pad from an agent that sees one observation
            raise BadAction(f"{slip}\n{self._view()}") from None

    def _view(self) -> str:
        return f"{self._said[self._place]}\nPad: {self._pad or 'empty'}"

    def _do_go(self, argument: Any) -> tuple[str, float, bool]:
        if self._place > self.gap:
            raise BadAction("you are at the door; write enter(47)")
        self._place += 1
        return self._view(), 0.0, False

    def _do_note(self, argument: Any) -> tuple[str, float, bool]:
        self._pad = " ".join(str(argument).split())[:_PAD]
        return self._view(), 0.0, False

    def _do_enter(self, argument: Any) -> tuple[str, float, bool]:
        if self._place <= self.gap:
            raise BadAction("the door is not here yet; write go")
        return self._finish(is_right(argument, self._code, "enter(47)"))


def split(observation: str) -> tuple[str, str]:
    """What is said at this place, and what is on the pad."""
    said, _, pad = observation.partition("\nPad: ")
    return said, "" if pad == "empty" else pad


def code_in(text: str) -> str | None:
    """The code of the door, if this text tells it."""
    found = re.search(r"code of the door is (\d+)", text)
    return found and found[1]


def _notes(worth_noting: Any) -> Policy:
    def act(seen: Sequence[str], rng: random.Random) -> tuple[str, str]:
        said, pad = split(seen[-1])
        if said.startswith("The door"):
            in_sight = [code for code in map(code_in, seen) if code]
            return "enter", in_sight[0] if in_sight else pad or str(rng.choice(CODES))
        wanted = worth_noting(said)
        return ("note", wanted) if wanted and wanted != pad else ("go", "")

    return act


no_notes = _notes(lambda said: None)
"""Never writes; at the door it looks for the code in what it still sees, else it guesses."""

notes_the_latest = _notes(lambda said: re.findall(r"\d+", said)[-1 if said.startswith("Err") else 0])
"""Writes down a number wherever it hears one, and so wipes out the one before."""

notes_the_code = _notes(code_in)
"""Writes down the code, and nothing else."""


def one_text(seen: Sequence[str], rng: random.Random) -> list[tuple[str, str]]:
    """Copy the code into the same completion: nothing has happened since it was told."""
    errands = int(re.search(r"there: (\d+)", seen[0])[1])
    return [("go", "")] * (errands + 1) + [("enter", str(code_in(seen[0])))]


HABITS = {"no notes": no_notes, "notes the latest": notes_the_latest, "notes the code": notes_the_code}
BAD, GOOD = "no notes", "notes the code"
