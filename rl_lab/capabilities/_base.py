"""What do all six worlds have in common? Gymnasium's two functions, seeds, errors that the agent sees, a step limit."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, ClassVar

from rl_lab._record import closest
from rl_lab._shopping_env import _read_action, _stated
from rl_lab.answers import same_number


class BadAction(ValueError):
    """An action that this world does not know or allow; its message is what the agent observes."""


class CapabilityEnv:
    """A small world of text with Gymnasium's interface; the six capabilities are its subclasses.

    A subclass names its actions in `actions`, draws a task in ``_begin(rng)``, which returns the first observation,
    and answers each action in a method ``_do_<action>(argument)``, which returns observation, reward and whether the
    episode is over, or raises :class:`BadAction`.

    Actions
    -------
    A pair such as ``("answer", "55")``, a text such as ``'answer("55")'``, or a call as chat models emit it. Anything
    else is a slip of the agent: an observation that starts with ``"error: "``, reward 0, one step gone.

    Rewards
    -------
    The return of an episode always lies in 0–1.

    Episode end
    -----------
    Terminated by the world's own rules; truncated by `max_steps` actions.

    Parameters
    ----------
    max_steps : int
        Step limit, at least 1.
    window : int or None
        How many of the latest observations the agent is shown by :func:`rl_lab.capabilities.play`; None means all.

    Notes
    -----
    The interface is that of https://gymnasium.farama.org/api/env/; Gymnasium itself is not needed.
    """

    name: ClassVar[str] = ""
    actions: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *, max_steps: int, window: int | None = None) -> None:
        self.max_steps = whole("max_steps", max_steps, 1)
        self.window = None if window is None else whole("window", window, 1)
        self._rng = random.Random()
        self._ended = "has not started"
        self._steps = 0
        self._success: bool | None = None

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Draw a task and start an episode.

        Parameters
        ----------
        seed : int, optional
            The same int draws the same task; without it the sequence goes on.
        options : mapping, optional
            Accepted for Gymnasium's sake; these worlds have none.

        Returns
        -------
        observation : str
            What the agent is told at the start.
        info : dict
            As in :meth:`step`.

        Raises
        ------
        TypeError
            If `seed` is no int.
        ValueError
            If `options` is not empty.
        """
        if options:
            raise ValueError(f"options must be empty, got {dict(options)!r}; pass settings to make()")
        if seed is not None:
            if isinstance(seed, bool) or not isinstance(seed, int):
                raise TypeError(
                    f"seed must be an int or None, got {seed!r}; the same int draws the same task"
                )
            self._rng = random.Random(seed)
        self._ended, self._steps, self._success = "", 0, None
        return self._begin(self._rng), self._info(None, None)

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one action.

        Parameters
        ----------
        action : tuple, str or dict
            See the class.

        Returns
        -------
        observation : str
            What the world says; ``""`` if nothing.
        reward : float
            For this one action.
        terminated, truncated : bool
            Whether the episode ended by its own rules, or at the step limit.
        info : dict
            ``steps`` (int), ``action`` (name and argument as understood), ``error`` (str or None) and ``success``
            (bool or None: whether the job got done). For people and tests, not for the agent.

        Raises
        ------
        RuntimeError
            If no episode is running: call :meth:`reset` first.
        TypeError
            If `action` is none of the three kinds.
        """
        if self._ended:
            raise RuntimeError(f"the episode {self._ended}; call reset() before step()")
        name, argument = _read_action(action)
        argument = "" if argument is None else argument
        self._steps += 1
        error = None
        try:
            observation, reward, terminated = self._answer_to(name, argument)
        except BadAction as slip:
            error = str(slip)
            observation, reward, terminated = f"error: {error}", 0.0, False
        truncated = not terminated and self._steps >= self.max_steps
        if terminated or truncated:
            self._ended = "has ended" if terminated else "was cut at the step limit"
            self._success = bool(self._success)
        return observation, float(reward), terminated, truncated, self._info((name, str(argument)), error)

    def _answer_to(self, name: str, argument: Any) -> tuple[str, float, bool]:
        if name not in self.actions:
            choices = " or ".join(self.actions)
            raise BadAction(f"the action must be {choices}, got {name[:40]!r}{closest(name, self.actions)}")
        do: Callable[[Any], tuple[str, float, bool]] = getattr(self, f"_do_{name}")
        return do(argument)

    def _begin(self, rng: random.Random) -> str:
        raise NotImplementedError("a world must draw its task in _begin(rng)")

    def _finish(self, success: bool, reward: float = 1.0) -> tuple[str, float, bool]:
        """End the episode: `reward` if the job got done, else nothing."""
        self._success = success
        return "", reward if success else 0.0, True

    def _info(self, action: tuple[str, str] | None, error: str | None) -> dict[str, Any]:
        return {"steps": self._steps, "action": action, "error": error, "success": self._success}


def stated_number(argument: Any, example: str) -> str | int | float | Decimal | None:
    """The one number that an argument states; None if it states none or several.

    Raises
    ------
    BadAction
        If the argument is empty.
    """
    if isinstance(argument, (int, float, Decimal)) and not isinstance(argument, bool):
        return argument
    if not str(argument).strip():
        raise BadAction(f"a number is missing; write {example}")
    return _stated(str(argument))


def is_right(argument: Any, gold: int, example: str) -> bool:
    """Whether an argument states the gold answer, compared as a number: 55 and 55.00, but not 155 or "54 or 55"."""
    return same_number(stated_number(argument, example), gold)


def whole(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Check a whole-number setting."""
    span = f"from {low} to {high}" if high is not None else f"of at least {low}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number {span}, got {value!r}")
    if value < low or (high is not None and value > high):
        raise ValueError(f"{name} must be a whole number {span}, got {value}; choose one in that range")
    return value


def share(name: str, value: Any) -> float:
    """Check a setting that is a chance or a price in 0–1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number from 0 to 1, got {value!r}")
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be from 0 to 1, got {value}; write 20 % as 0.2")
    return float(value)
