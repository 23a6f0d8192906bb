"""What does it take for a problem to become a world that answers back? The shopping environment.

Public through :mod:`rl_lab.mdp`.

>>> env = ShoppingEnv()
>>> observation, info = env.reset()
>>> observation
'An item costs 80 yuan, is sold at 75 % of its price, and a coupon takes off 5 yuan more. What is paid?'
"""

from __future__ import annotations

import difflib
import json
import random
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, ClassVar

from rl_lab._shopping import EXAMPLE, ShoppingProblem
from rl_lab.answers import ANSWER_PREFIX, extract_answer, find_answer, same_number
from rl_lab.calculator import CalculatorError, evaluate, format_number, numbers_in

MILESTONE_REWARD = 0.1
OUTCOME_REWARD = 0.8
REWARDS = {"milestones": (MILESTONE_REWARD, OUTCOME_REWARD), "outcome": (0.0, 1.0)}

_CALL = re.compile(r"\s*([A-Za-z_]+)\s*(?:\((.*)\)|[:\s](.*))?\s*", re.DOTALL)


class ShoppingEnv:
    """A shopping problem as an environment with Gymnasium's interface: find what is paid, with a calculator.

    Actions
    -------
    One turn of the agent is one action: a name and, for two of the three, an argument.

    - ``think``, any text: the world does nothing.
    - ``calc``, an arithmetic expression: the world works it out and shows the result.
    - ``answer``, a number or text that states one: the world compares it with the gold answer; the episode ends.

    Pass ``("calc", "80*0.75")``, or the text ``'calc("80*0.75")'``, or the call as chat models emit it,
    ``{"name": "calc", "arguments": {"expression": "80*0.75"}}``. Text that is no such action is a slip of the
    agent: it comes back as an error observation and costs a step.

    Observations
    ------------
    Text. ``reset`` returns the question. ``calc`` returns the exact result, ``"1234567"`` and not ``"1.23457e+06"``,
    or ``"error: ..."`` where the tool failed. ``think`` and ``answer`` return ``""``. The *state*, in
    ``info["state"]``, is the tuple of tool results so far, such as ``("80*0.75=60",)``. The gold answer belongs to
    the world too, but the agent never observes it.

    Rewards
    -------
    With ``reward="milestones"``, the default, a calculation whose result is a milestone of the problem (60 and 55
    in the running example) earns 0.1 the first time, and the right answer 0.8. Repeating a calculation earns
    nothing, and neither does one that holds its own result, such as ``60+0``. With ``reward="outcome"`` the right
    answer earns 1 and nothing else does. Errors earn 0. An answer is right if it is the same *number* as the gold
    answer; text that merely contains the gold answer's digits is wrong.

    Episode end
    -----------
    Terminated by ``answer``, right or wrong. Truncated by `max_steps` actions without an answer.

    Parameters
    ----------
    problem : ShoppingProblem or callable
        The problem of every episode; or a function of a ``random.Random`` that draws one at each reset, such as
        :func:`rl_lab.mdp.sample_problem`.
    calculator : callable
        The tool behind ``calc``: takes the expression, returns a number or raises. Whatever it raises becomes an
        error observation and the episode goes on, so a tool that lies or fails can be put in its place.
    reward : str
        ``"milestones"`` or ``"outcome"``.
    max_steps : int
        Step limit, at least 1.

    Notes
    -----
    The interface is that of https://gymnasium.farama.org/api/env/; Gymnasium itself is not needed. TRL's
    ``environment_factory`` offers *every* public method of an environment to the model as a tool, so for training
    wrap this class in one whose only public methods are ``reset``, ``calc`` and ``get_reward``.

    Examples
    --------
    >>> env = ShoppingEnv()
    >>> observation, info = env.reset()
    >>> env.step(("calc", "80*0.75"))[:4]
    ('60', 0.1, False, False)
    >>> env.step(("calc", "5/0"))[:4]
    ("error: division by zero in expr '5/0'; change the divisor", 0.0, False, False)
    >>> env.step(("answer", "55"))[:4]
    ('', 0.8, True, False)
    """

    actions: ClassVar[tuple[str, ...]] = ("think", "calc", "answer")

    def __init__(
        self,
        problem: ShoppingProblem | Callable[[random.Random], ShoppingProblem] = EXAMPLE,
        *,
        calculator: Callable[[str], Any] = evaluate,
        reward: str = "milestones",
        max_steps: int = 8,
    ) -> None:
        _check_source(problem)
        if not callable(calculator):
            raise TypeError(
                f"calculator must be callable, got {calculator!r}; pass a function of the expression"
            )
        if reward not in REWARDS:
            raise ValueError(f"reward must be {_choices(reward, REWARDS)}")
        if isinstance(max_steps, bool) or not isinstance(max_steps, int):
            raise TypeError(f"max_steps must be an int, got {max_steps!r}; give a number of actions")
        if max_steps < 1:
            raise ValueError(f"max_steps must be at least 1, got {max_steps}; an episode needs one action")
        self.max_steps = max_steps
        self.problem = problem if isinstance(problem, ShoppingProblem) else EXAMPLE
        self._source = problem
        self._calculator = calculator
        self._milestone_reward, self._outcome_reward = REWARDS[reward]
        self._rng = random.Random()
        self._ended: str | None = "has not started"
        self._clear()

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Parameters
        ----------
        seed : int, optional
            Seeds the drawing of problems; without it the sequence goes on.
        options : mapping, optional
            ``{"problem": ShoppingProblem(...)}`` sets the problem of this one episode.

        Returns
        -------
        observation : str
            The question.
        info : dict
            As in :meth:`step`.

        Raises
        ------
        ValueError
            If `options` has another key.
        TypeError
            If `seed` is no int, or the problem neither a ShoppingProblem nor a function.
        """
        if seed is not None:
            if isinstance(seed, bool) or not isinstance(seed, int):
                raise TypeError(
                    f"seed must be an int or None, got {seed!r}; the same int draws the same problems"
                )
            self._rng = random.Random(seed)
        for key in options or {}:
            if key != "problem":
                raise ValueError(f"options must be {_choices(key, ['problem'])}")
        problem = (options or {}).get("problem", self._source)
        _check_source(problem)
        self.problem = problem if isinstance(problem, ShoppingProblem) else problem(self._rng)
        self._ended = None
        self._clear()
        return self.problem.question, self._info()

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
        terminated : bool
            Whether an answer has ended the episode.
        truncated : bool
            Whether the step limit has.
        info : dict
            ``state`` (tuple of str), ``steps`` (int), ``action`` (the name and argument that were understood),
            ``error`` (str or None: why this action failed) and ``correct`` (bool or None: whether the answer was
            right). For people and tests, not for the agent.

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
        self._action = name, "" if argument is None else str(argument)
        self._steps, self._error = self._steps + 1, None
        observation, reward = {"think": self._think, "calc": self._calc, "answer": self._answer}.get(
            name, self._unknown
        )(argument, name)
        terminated = self._correct is not None
        truncated = not terminated and self._steps >= self.max_steps
        if terminated or truncated:
            self._ended = "has ended with an answer" if terminated else "was cut at the step limit"
        return observation, reward, terminated, truncated, self._info()

    def _think(self, argument: Any, name: str) -> tuple[str, float]:
        return "", 0.0

    def _calc(self, argument: Any, name: str) -> tuple[str, float]:
        expr = "" if argument is None else str(argument).strip()
        try:
            result = format_number(self._calculator(expr))
        except (
            Exception
        ) as error:  # whatever a tool does wrong is news for the agent, not the end of a rollout
            return self._failed(str(error) or type(error).__name__)
        self._state += (f"{expr}={result}",)
        if result in self._open and not _states(expr, result, self.problem):
            self._open.remove(result)
            return result, self._milestone_reward
        return result, 0.0

    def _answer(self, argument: Any, name: str) -> tuple[str, float]:
        if argument is None or argument == "":
            return self._failed("answer needs a number; write answer(55)")
        number = isinstance(argument, (int, float, Decimal)) and not isinstance(argument, bool)
        value = argument if number else _stated(str(argument))
        self._correct = same_number(value, self.problem.gold)
        return "", self._outcome_reward if self._correct else 0.0

    def _unknown(self, argument: Any, name: str) -> tuple[str, float]:
        return self._failed(f"the action must be {_choices(name, self.actions)}")

    def _failed(self, message: str) -> tuple[str, float]:
        self._error = message.splitlines()[0][:200]
        return f"error: {self._error}", 0.0

    def _clear(self) -> None:
        self._state: tuple[str, ...] = ()
        self._steps = 0
        self._action: tuple[str, str] | None = None
        self._error: str | None = None
        self._correct: bool | None = None
        self._open = set(self.problem.milestones)

    def _info(self) -> dict[str, Any]:
        return {
            "state": self._state,
            "steps": self._steps,
            "action": self._action,
            "error": self._error,
            "correct": self._correct,
        }


def _stated(text: str) -> str | None:
    """Read the one value that the text of an answer states.

    Without a marker the last number would count; but this text is nothing *but* an answer, so that number must also
    be what stands behind the marker. "54 or 55" is then no answer, and "not 55 but 60" is not 55.
    """
    found = find_answer(text)
    if found is None or found.marker != "last_number":
        return found and found.value
    return found.value if same_number(extract_answer(f"{ANSWER_PREFIX} {text}"), found.value) else None


def _check_source(problem: Any) -> None:
    if not isinstance(problem, ShoppingProblem) and not callable(problem):
        raise TypeError(
            f"problem must be a ShoppingProblem or a function that draws one, got {type(problem).__name__}"
        )


def _states(expr: str, result: str, problem: ShoppingProblem) -> bool:
    """Say whether `expr` holds its own result, as 60+0 does, so that nothing was worked out."""
    given = {format_number(n) for n in (problem.price, problem.multiplier, problem.coupon)}
    try:
        return result not in given and result in {format_number(n) for n in numbers_in(expr)}
    except CalculatorError:  # another calculator may know another language
        return False


def _read_action(action: Any) -> tuple[str, Any]:
    """Split any of the three spellings into a lower-case name and an argument (None if there is none)."""
    if isinstance(action, str):
        match = _CALL.fullmatch(action)
        if not match:
            return action.strip()[:40], None
        inner = match[2] if match[2] is not None else match[3]
        return match[1].lower(), None if inner is None else inner.strip().strip("\"'")
    if isinstance(action, Mapping):
        name, argument = action.get("name"), action.get("arguments")
    elif isinstance(action, (tuple, list)) and len(action) in (1, 2):
        name, argument = (*action, None)[:2]
    else:
        raise TypeError(
            f"action must be a (name, argument) pair, a text or a call, got {type(action).__name__} {action!r}; "
            'write ("calc", "80*0.75")'
        )
    return str(name).strip().lower(), _only_value(argument)


def _only_value(argument: Any) -> Any:
    """Unpack ``{"expression": "80*0.75"}``, as a mapping or as JSON text: the value counts, whatever its key."""
    if isinstance(argument, str) and argument.lstrip().startswith("{"):
        try:
            argument = json.loads(argument)
        except ValueError:
            return argument  # the calculator will say what is wrong with it
    return next(iter(argument.values()), None) if isinstance(argument, Mapping) else argument


def _choices(got: object, names: Iterable[str]) -> str:
    listed = list(names)
    shown = ", ".join(listed[:-1]) + " or " + listed[-1] if len(listed) > 1 else listed[0]
    closest = difflib.get_close_matches(str(got), listed, n=1)
    return f"{shown}, got {str(got)[:40]!r}" + (f"; did you mean {closest[0]}?" if closest else "")
