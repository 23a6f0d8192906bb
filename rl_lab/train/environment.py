"""How does chapter 4's shopping world become a tool that a language model can call while it is trained?

TRL's ``environment_factory`` makes one environment per completion, calls ``reset`` with the row's columns, and offers
*every* public method as a tool, described to the model by its type hints and its docstring. So this class shows one
method, ``calc``, and keeps the world itself, :class:`rl_lab.mdp.ShoppingEnv`, as an attribute.

>>> world = ShoppingTools()
>>> world.reset(price="80", multiplier="0.75", coupon="5")
>>> world.calc("80*0.75"), world.calc("60-5")
('60', '55')
>>> settle(world, [{"role": "assistant", "content": "Final Answer: 55"}])
1.0

The calculator behind it can be another one: honest, lying (always wrong) or failing (now and then), so that you can
watch what the model makes of it. Standard library only.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from rl_lab._record import closest
from rl_lab.answers import find_answer
from rl_lab.calculator import CalculatorError, evaluate
from rl_lab.mdp import ShoppingEnv
from rl_lab.train.shopping import BUSY, to_problem

__all__ = ["CALCULATORS", "REWARDS", "ShoppingTools", "environment_reward", "make_environment", "settle"]

Calculator = Callable[[str], Any]
REWARDS = ("outcome", "milestones")


class ShoppingTools:
    """One shopping episode as TRL takes it: ``reset`` and the tool ``calc``, nothing else public to call.

    Parameters
    ----------
    calculator : callable
        Takes the expression, returns a number or raises.
    reward : {"outcome", "milestones"}
        What the world pays: 1 for the right answer; or 0.1 for each milestone and 0.8 for the answer.

    Attributes
    ----------
    episode : ShoppingEnv
        The world. It decides what is right and what is paid.
    earned : float
        Rewards of the episode so far.
    calls, errors, retries : int
        Calls of the calculator, those of them that came back as an error, and those that followed on an error.
    """

    def __init__(self, calculator: Calculator = evaluate, reward: str = "outcome") -> None:
        self.episode = ShoppingEnv(calculator=calculator, reward=reward, max_steps=12)
        self._clear()

    def reset(self, **row: Any) -> None:
        """Start the episode of one row; the columns are those of :func:`rl_lab.train.shopping.to_rows`."""
        self.episode.reset(options={"problem": to_problem(row)})
        self._clear()

    def _clear(self) -> None:
        self.earned, self.calls, self.errors, self.retries = 0.0, 0, 0, 0
        self.correct = self.settled = self._failed = False

    # TRL shows this docstring to the model's chat template as the tool's schema, and its parser wants Google style.
    def calc(self, expression: str) -> str:
        """Work out an arithmetic expression.

        Args:
            expression: Numbers, + - * / and parentheses, for example "80*0.75".

        Returns
        -------
            The result as text, or a text that starts with "error:".
        """
        observation, reward, _, _, info = self.episode.step(("calc", expression))
        self.earned += reward
        self.calls += 1
        self.retries += self._failed
        self._failed = info["error"] is not None
        self.errors += self._failed
        return observation


def settle(world: ShoppingTools, completion: Sequence[dict[str, Any]]) -> float:
    """Hand the completion's answer to the world and return what the whole episode earned.

    Parameters
    ----------
    world : ShoppingTools
        After the tool calls of the completion.
    completion : sequence of messages
        As TRL passes it: assistant and tool messages in turn.

    Returns
    -------
    float
        The undiscounted return. The answer must be announced in the course's convention, ``Final Answer: n``, in the
        last message; an episode that was cut off before it has no answer. Settling twice changes nothing.
    """
    if not world.settled:
        world.settled = True
        last = completion[-1] if completion else {}
        text = last.get("content") or "" if last.get("role") == "assistant" else ""
        found = find_answer(text)
        if found is not None and found.marker == "final_answer":
            _, reward, _, _, info = world.episode.step(("answer", found.value))
            world.earned += reward
            world.correct = bool(info["correct"])
    return world.earned


def environment_reward(
    completions: Sequence[Sequence[dict[str, Any]]],
    environments: Sequence[ShoppingTools] | None = None,
    log_metric: Callable[[str, float], None] | None = None,
    **columns: Any,
) -> list[float]:
    """Pay each completion what its world paid: a reward function in TRL's form.

    Parameters
    ----------
    completions : sequence of message lists
    environments : sequence of ShoppingTools
        TRL passes them when the trainer has an ``environment_factory``.
    log_metric : callable, optional
        TRL's; gets ``tool_rate`` (share of completions that called the tool), ``success`` (share with the right
        answer), ``calls`` and ``tool_errors`` (per completion), and ``retry_rate`` (share of errors after which the
        tool was called again; only where there were errors).
    **columns
        Everything else TRL passes; not used.

    Returns
    -------
    list of float
        One return per completion.

    Raises
    ------
    ValueError
        Without environments.
    """
    if environments is None:
        raise ValueError(
            "environment_reward needs the trainer's environments, got none; "
            "pass environment_factory=make_environment() to GRPOTrainer"
        )
    earned = [settle(w, c) for w, c in zip(environments, completions, strict=True)]
    if log_metric:
        n = len(environments)
        log_metric("tool_rate", sum(w.calls > 0 for w in environments) / n)
        log_metric("success", sum(w.correct for w in environments) / n)
        log_metric("calls", sum(w.calls for w in environments) / n)
        errors = sum(w.errors for w in environments)
        log_metric("tool_errors", errors / n)
        if errors:
            log_metric("retry_rate", sum(w.retries for w in environments) / errors)
    return earned


def _honest(rng: random.Random, rate: float) -> Calculator:
    return evaluate


def _lying(rng: random.Random, rate: float) -> Calculator:
    # All in one direction, so that the lies of a two-call solution never cancel.
    return lambda expr: evaluate(expr) + Fraction(rng.choice((7, 11, 13)))


def _failing(rng: random.Random, rate: float) -> Calculator:
    def calculator(expr: str) -> Fraction:
        if rng.random() < rate:
            raise CalculatorError(BUSY)
        return evaluate(expr)

    return calculator


CALCULATORS: dict[str, Callable[[random.Random, float], Calculator]] = {
    "honest": _honest,
    "lying": _lying,
    "failing": _failing,
}


def make_environment(
    calculator: str = "honest", *, reward: str = "outcome", failure_rate: float = 0.3, seed: int = 0
) -> Callable[[], ShoppingTools]:
    """Make the factory that TRL's ``environment_factory`` takes.

    Parameters
    ----------
    calculator : {"honest", "lying", "failing"}
        Right; wrong by 7, 11 or 13 each time; or busy with probability `failure_rate`, else right.
    reward : {"outcome", "milestones"}
        As in `ShoppingTools`.
    failure_rate : float, default 0.3
        Probability (0 to 1) that a call of the failing calculator comes back as an error.
    seed : int, default 0
        Of lies and failures; all environments of the factory share the stream.

    Returns
    -------
    callable
        Makes a new `ShoppingTools` each time.

    Examples
    --------
    >>> world = make_environment("lying")()
    >>> world.reset(price="80", multiplier="0.75", coupon="5")
    >>> world.calc("80*0.75") == "60"
    False
    >>> make_environment("dishonest")
    Traceback (most recent call last):
    ...
    ValueError: calculator must be honest, lying or failing, got 'dishonest'; did you mean 'honest'?
    """
    if calculator not in CALCULATORS:
        names = ", ".join(list(CALCULATORS)[:-1]) + " or " + list(CALCULATORS)[-1]
        raise ValueError(f"calculator must be {names}, got {calculator!r}{closest(calculator, CALCULATORS)}")
    if reward not in REWARDS:
        raise ValueError(f"reward must be {' or '.join(REWARDS)}, got {reward!r}{closest(reward, REWARDS)}")
    if not 0 <= failure_rate <= 1:
        raise ValueError(f"failure_rate must be a probability from 0 to 1, got {failure_rate}")
    settings = {"environment": "ShoppingTools", "calculator": calculator, "environment_reward": reward}
    if calculator == "failing":
        settings["failure_rate"] = failure_rate
    return _Factory(CALCULATORS[calculator](random.Random(seed), failure_rate), reward, settings)


class _Factory:
    """Makes environments; `honest` makes the same with a calculator that is right, to check the reward with."""

    def __init__(self, calculator: Calculator, reward: str, settings: dict[str, Any]) -> None:
        self._calculator, self._reward, self.settings = calculator, reward, settings

    def __call__(self) -> ShoppingTools:
        return ShoppingTools(self._calculator, self._reward)

    def honest(self) -> ShoppingTools:
        return ShoppingTools(evaluate, self._reward)
