r"""What becomes of a policy that is paid by *your* reward function?

Three questions put to a reward function, in rising order of spite. :func:`arena` trains a small policy over answering
habits on it by GRPO and shows which habit wins; :func:`attack` sends a fixed suite of completions against it and counts
what it gets wrong; :func:`audit` asks whether it pays the gold solutions of a data set. All three take the reader's
function as it is, as ``reward(completions, ground_truth, **columns)`` or ``reward(completion, gold)``.

>>> from rl_lab.rewards import accuracy_reward, hybrid_reward
>>> arena(hybrid_reward).winner
'brief'
>>> arena(accuracy_reward, group_size=None).leaders  # nothing here tells long text from buried answers
['long', 'buried']
>>> attack(hybrid_reward).faults
[]

What is real: the texts, the rewards, GRPO's advantages and its clipped update. What is made up: that a policy is a
choice among eight habits, and how often each is right (see :data:`HABITS`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rl_lab._grpo_common import count, real
from rl_lab.arena._attack import AttackReport, Verdict, attack, attacks
from rl_lab.arena._bouts import price_list, scored_bouts
from rl_lab.arena._flips import expected_push, flip_point
from rl_lab.arena._gold_audit import GoldAudit, audit, problem_rows
from rl_lab.arena._habits import (
    AMONG,
    EXAMPLE_PROBLEM,
    HABITS,
    LUCK,
    SLIP_PER_STEP,
    Habit,
    Outcome,
    choose_habits,
)
from rl_lab.arena._scoring import score_texts
from rl_lab.arena._training import average_run, sampled_run
from rl_lab.arena._view import arena_html, arena_text
from rl_lab.rows import Problem

__all__ = [
    "AMONG",
    "EXAMPLE_PROBLEM",
    "HABITS",
    "LUCK",
    "SLIP_PER_STEP",
    "ArenaResult",
    "AttackReport",
    "GoldAudit",
    "Habit",
    "Outcome",
    "Verdict",
    "arena",
    "arena_problems",
    "attack",
    "attacks",
    "audit",
    "expected_push",
    "flip_point",
    "score_texts",
]

LEADS = 0.2
"""Share from which a habit counts as one of the leaders."""


@dataclass(frozen=True)
class ArenaResult:
    """What a policy became; shows itself as HTML in a notebook and as text elsewhere.

    Attributes
    ----------
    habits : tuple of str
        Names, in the order in which ties are broken.
    shares : dict of str to list of float, shape (steps + 1,)
        How often each habit is shown, before the first step and after each.
    accuracy : list of float, shape (steps + 1,)
        Chance that the policy's completion is right: the truth, whatever the reward says.
    reward : list of float, shape (steps + 1,)
        Mean reward of the policy's completions.
    table : list of dict
        For each habit: ``habit``, ``what`` it does, ``characters`` (mean), ``right`` (chance), ``earns`` (mean reward;
        None if no completion of it was scored) and ``share`` (at the end).
    settings : dict
        Everything the run depended on, besides the reward.
    """

    habits: tuple[str, ...]
    shares: dict[str, list[float]]
    accuracy: list[float]
    reward: list[float]
    table: list[dict[str, Any]]
    settings: dict[str, Any]

    @property
    def winner(self) -> str:
        """The habit shown most often at the end."""
        return max(self.habits, key=lambda habit: round(self.shares[habit][-1], 9))

    @property
    def leaders(self) -> list[str]:
        """Habits shown at least one time in five at the end, most frequent first."""
        last = {habit: round(self.shares[habit][-1], 9) for habit in self.habits}
        return sorted((h for h in self.habits if last[h] >= LEADS), key=lambda habit: -last[habit])

    def figure(self, points: int = 11) -> dict[str, Any]:
        """Shares at `points` moments of the training, as :func:`rl_lab.explore.explore` takes them."""
        steps = len(self.accuracy) - 1
        at = sorted({round(i * steps / max(1, count("points", points) - 1)) for i in range(points)})
        return {
            "x": at,
            **{habit: [round(self.shares[habit][step], 3) for step in at] for habit in self.habits},
        }

    def text(self) -> str:
        """The result as plain text."""
        return arena_text(self)

    __repr__ = text

    def _repr_html_(self) -> str:
        return arena_html(self)


def arena(
    reward: Callable[..., Any],
    *,
    ability: float = 0.6,
    habits: Iterable[Habit | str] | None = None,
    problems: Sequence[Mapping[str, Any]] | None = None,
    group_size: int | None = 8,
    normalize: bool = True,
    steps: int = 100,
    learning_rate: float = 2.0,
    epochs: int = 1,
    epsilon: float = 0.2,
    seed: int = 0,
) -> ArenaResult:
    """Train a policy over answering habits on a reward function, by GRPO.

    Each step samples a group of `group_size` completions for every problem, takes the group's advantages and moves the
    policy. Every possible completion is scored once, beforehand: a reward that depends on the batch or on luck is
    asked only once as well.

    Parameters
    ----------
    reward : callable
        ``reward(completions, ground_truth, **columns)``, or ``reward(completion, gold)``.
    ability : float
        Chance that reasoning at length is right, 0 to 1; the other habits' chances follow from it.
    habits : iterable of Habit or str, optional
        At least two; by default all of :data:`HABITS`. The policy starts with equal shares.
    problems : sequence of Problem, optional
        Rows with ``question`` and ``answer``; by default :func:`arena_problems`.
    group_size : int or None
        Completions per problem and step, at least 2. None takes the average push of an infinitely large group: no
        luck, no seed.
    normalize : bool
        Whether advantages are divided by the standard deviation of the rewards (GRPO) or not (Dr. GRPO).
    steps : int
        Training steps.
    learning_rate : float
        Factor on the gradient of the logits, above 0.
    epochs : int
        Updates on each batch. From the second on, the clip of the objective matters.
    epsilon : float
        Width of the clip, 0 to 1.
    seed : int
        Same seed, same run.

    Returns
    -------
    ArenaResult

    Raises
    ------
    TypeError, ValueError
        If a setting is out of range, or the reward cannot be called, returns no list as long as the batch, or
        anything but finite numbers and None; or None for every completion.

    References
    ----------
    Shao et al. (2024), arXiv:2402.03300 (GRPO). Liu et al. (2025), arXiv:2503.20783 (without the division).

    Examples
    --------
    >>> result = arena(lambda completion, gold: completion.count("="), group_size=None)
    >>> result.winner, round(result.accuracy[-1], 2)
    ('spam', 0.42)
    """
    chosen = choose_habits(habits)
    ability = _between("ability", ability, 0.6)
    rows = _problems(problems)
    settings = {
        "steps": count("steps", steps),
        "normalize": _flag(normalize),
        "learning_rate": _positive("learning_rate", learning_rate),
    }
    bouts = scored_bouts(reward, chosen, rows, ability)
    if group_size is None:
        history = average_run(bouts, **settings)
    else:
        settings |= {
            "group_size": count("group_size", group_size, least=2),
            "epochs": count("epochs", epochs),
            "epsilon": _between("epsilon", epsilon, 0.2),
            "seed": count("seed", seed, least=None),
        }
        history = sampled_run(bouts, **settings)
    prices = price_list(chosen, bouts)
    return ArenaResult(
        habits=tuple(habit.name for habit in chosen),
        shares={habit.name: [shares[i] for shares in history] for i, habit in enumerate(chosen)},
        accuracy=[_under(shares, [price["right"] for price in prices]) for shares in history],
        reward=[_under(shares, [price["earns"] or 0.0 for price in prices]) for shares in history],
        table=[price | {"share": share} for price, share in zip(prices, history[-1], strict=True)],
        settings={"ability": ability, "group_size": None, **settings},
    )


@lru_cache(maxsize=1)
def _default_problems() -> tuple[Problem, ...]:
    from rl_lab.problems import generate  # here, because the stories take as long to import as all the rest

    return (EXAMPLE_PROBLEM, *(generate(1, seed=7, steps=steps)[0] for steps in (3, 4, 5)))


def arena_problems() -> list[Problem]:
    """The four problems that :func:`arena` uses by itself: the running example and three longer ones.

    Examples
    --------
    >>> [problem.steps for problem in arena_problems()]
    [2, 3, 4, 5]
    """
    return [Problem(row) for row in _default_problems()]


def _under(shares: Sequence[float], values: Sequence[float]) -> float:
    return sum(share * value for share, value in zip(shares, values, strict=True))


def _problems(problems: Sequence[Mapping[str, Any]] | None) -> list[Problem]:
    if problems is None:
        return list(_default_problems())
    return problem_rows(problems, "leave it out for the arena's own")


def _between(name: str, value: Any, usual: float) -> float:
    number = real(name, value)
    if not 0 <= number <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {number}; {usual} is usual")
    return number


def _positive(name: str, value: Any) -> float:
    number = real(name, value)
    if not 0 < number <= 1e6:
        raise ValueError(f"{name} must be above 0 and at most 1e6, got {number}; 0.5 is usual")
    return number


def _flag(normalize: Any) -> bool:
    if not isinstance(normalize, bool):
        raise TypeError(
            f"normalize must be True (divide by the standard deviation) or False, got {normalize!r:.40}"
        )
    return normalize
