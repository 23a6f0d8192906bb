"""What happened in an episode? Steps, and the trajectory they make.

Public through :mod:`rl_lab.mdp`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Step:
    """One transition: in `state` the agent did `action`, and the world answered.

    Attributes
    ----------
    state, next_state : tuple of str
        What the world holds before and after: the tool results so far.
    action, argument : str
        The action's name, and what it was given (``""`` if nothing).
    observation : str
        What the agent was shown in return; ``""`` if nothing.
    reward : float
        For this step alone.
    terminated, truncated : bool
        Whether the episode ended here by its own rules, or by the step limit.
    error : str or None
        Why the action failed, if it did.
    """

    state: tuple[str, ...]
    action: str
    argument: str
    observation: str
    reward: float
    next_state: tuple[str, ...]
    terminated: bool
    truncated: bool = False
    error: str | None = None


@dataclass(frozen=True)
class Trajectory:
    """All steps of one episode, in order, and the prompt it started from.

    Attributes
    ----------
    name : str
        Column heading, for instance ``"RLVR"``.
    prompt : str
        The question.
    steps : tuple of Step
        At least one.
    judge : str
        Where the reward came from, in a few words.
    """

    name: str
    prompt: str
    steps: tuple[Step, ...]
    judge: str

    @property
    def rewards(self) -> list[float]:
        """One reward a step."""
        return [step.reward for step in self.steps]

    @property
    def states(self) -> list[tuple[str, ...]]:
        """The distinct states in which the agent acted, in order of appearance."""
        return list(dict.fromkeys(step.state for step in self.steps))

    def turns(self) -> list[dict[str, Any]]:
        """List the episode turn by turn, in the form that ``rl_lab.explore.trajectory`` shows.

        Returns
        -------
        list of dict
            ``role`` ("env", "agent", "tool" or "judge"), ``text``, ``reward`` (float or None) and ``note`` (str or
            None). A reward stands with the action that earned it.
        """
        shown: list[dict[str, Any]] = [_turn("env", self.prompt)]
        for step in self.steps:
            text = step.argument if step.action == "write" else f"{step.action}({step.argument})"
            shown.append(_turn("agent", text, step.reward))
            if step.observation:
                shown.append(_turn("tool", step.observation))
        last = self.steps[-1]
        if last.terminated or last.truncated:
            shown.append(_turn("judge", self.judge, note="terminated" if last.terminated else "truncated"))
        return shown


def _turn(role: str, text: str, reward: float | None = None, note: str | None = None) -> dict[str, Any]:
    return {"role": role, "text": text, "reward": reward, "note": note}
