"""How good is a policy in a world? Play episodes, and average their returns with an interval."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rl_lab.capabilities._base import CapabilityEnv, whole

Policy = Callable[[Sequence[str], random.Random], Any]
"""From the observations that the agent still sees, oldest first, and a source of chance, to the next action."""

_Z = 1.959964  # 95 % of a normal distribution lie within


@dataclass(frozen=True)
class Episode:
    """What happened in one episode.

    Attributes
    ----------
    observations : tuple of str
        One more than there are actions: the first is the task.
    actions : tuple of (str, str)
        Name and argument of each action, as the world understood it.
    rewards : tuple of float
        One for each action.
    success : bool
        Whether the job got done.
    end : str
        ``"terminated"``, ``"truncated"`` or, where a text ran out of actions, ``"left open"``.
    """

    observations: tuple[str, ...]
    actions: tuple[tuple[str, str], ...]
    rewards: tuple[float, ...]
    success: bool
    end: str

    @property
    def total(self) -> float:
        """The undiscounted return."""
        return math.fsum(self.rewards)

    def turns(self) -> list[dict[str, Any]]:
        """List the episode in the form that ``rl_lab.explore.trajectory`` shows; a reward stands with its action."""
        shown = [_turn("env", self.observations[0])]
        after = zip(self.actions, self.rewards, self.observations[1:], strict=True)
        for (name, argument), reward, observation in after:
            shown.append(_turn("agent", f"{name}({argument})", reward))
            if observation and observation != argument:  # a thought that is only repeated is shown once
                shown.append(_turn("tool" if name == "calc" else "env", observation))
        return [
            *shown,
            _turn("judge", "the job is done" if self.success else "the job is not done", note=self.end),
        ]


class MeanReturn(NamedTuple):
    """A mean return in 0–1, the 95 % interval around it, and the number of episodes."""

    mean: float
    low: float
    high: float
    episodes: int


def play(env: CapabilityEnv, policy: Policy, *, seed: int = 0, one_text: bool = False) -> Episode:
    """Play one episode.

    Parameters
    ----------
    env : CapabilityEnv
        The world; see :func:`rl_lab.capabilities.make`. Its `window` says how many of the latest observations the
        policy is shown.
    policy : callable
        ``policy(seen, rng)`` returns the next action. With `one_text` it is called once, with the first observation,
        and returns the list of all actions: one completion, written before anything comes back.
    seed : int
        Draws the task, and seeds the policy's own chance.
    one_text : bool
        Whether `policy` writes all its actions at once.

    Returns
    -------
    Episode

    Raises
    ------
    TypeError
        If `policy` is no function, or what it returns is no action.

    Examples
    --------
    >>> from rl_lab.capabilities import make, policies
    >>> episode = play(make("memory", gap=2), policies("memory")["good"], seed=1)
    >>> [name for name, _ in episode.actions], episode.total
    (['note', 'go', 'go', 'go', 'enter'], 1.0)
    """
    if not callable(policy):
        raise TypeError(f"policy must be a function of (seen, rng), got {policy!r}")
    rng = random.Random(f"policy {seed}")  # not the seed itself, or the dice of world and agent would agree
    observation, info = env.reset(seed=seed)
    seen, actions, rewards, end = [observation], [], [], ""
    plan = list(policy(tuple(seen), rng)) if one_text else None
    while not end and (plan is None or len(actions) < len(plan)):
        action = (
            policy(tuple(seen[-env.window :] if env.window else seen), rng)
            if plan is None
            else plan[len(actions)]
        )
        observation, reward, terminated, truncated, info = env.step(action)
        seen.append(observation)
        actions.append(info["action"])
        rewards.append(reward)
        end = "terminated" if terminated else "truncated" if truncated else ""
    return Episode(tuple(seen), tuple(actions), tuple(rewards), bool(info["success"]), end or "left open")


def mean_return(
    env: CapabilityEnv, policy: Policy, *, episodes: int = 300, seed: int = 0, one_text: bool = False
) -> MeanReturn:
    """Average the return over episodes with the seeds `seed`, `seed` + 1, …

    Parameters
    ----------
    env, policy, one_text
        As for :func:`play`.
    episodes : int
        At least 1.
    seed : int
        The first seed.

    Returns
    -------
    MeanReturn
        The interval is Wilson's. It is exact in form where every return is 0 or 1, and on the safe side elsewhere: of
        all returns in 0–1 with a given mean, those of a coin vary most.

    Examples
    --------
    >>> from rl_lab.capabilities import make, policies
    >>> result = mean_return(make("perception"), policies("perception")["good"], episodes=100)
    >>> result.mean, round(result.low, 3)
    (1.0, 0.963)
    """
    n = whole("episodes", episodes, 1)
    mean = math.fsum(play(env, policy, seed=seed + i, one_text=one_text).total for i in range(n)) / n
    z2 = _Z * _Z
    middle = (mean + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z / (1 + z2 / n) * math.sqrt(max(0.0, mean * (1 - mean)) / n + z2 / (4 * n * n))
    # At the ends the formula gives the end itself up to rounding.
    return MeanReturn(
        mean, 0.0 if mean == 0 else max(0.0, middle - half), 1.0 if mean == 1 else min(1.0, middle + half), n
    )


def _turn(role: str, text: str, reward: float | None = None, note: str | None = None) -> dict[str, Any]:
    return {"role": role, "text": text, "reward": reward, "note": note}
