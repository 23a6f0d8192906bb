"""What exactly changes between training on taste, on a checked answer and on a job done over several steps?

The same problem is run as three decision processes and each field of the tuple S, A, P, R, gamma (and the O of a
partially observed one) is *counted* in what happened. This module is chapter 4's laboratory.

>>> for row in compare():
...     print(f"{row['field']} {row['counted']:<21}", row["PBRFT"], row["RLVR"], row["Agentic RL"])
S kinds of state        1 1 3
A kinds of action       1 1 3
P changes of the world  0 0 2
R non-zero rewards      1 1 3
γ steps                 1 1 4
O tool observations     0 0 2
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rl_lab._returns import crossing, discounted_return, horizon, returns_to_go
from rl_lab._shopping import EXAMPLE, ShoppingProblem, sample_problem
from rl_lab._shopping_env import ShoppingEnv
from rl_lab._trajectory import Step, Trajectory
from rl_lab.answers import ANSWER_PREFIX, extract_answer, same_number
from rl_lab.calculator import format_number

__all__ = [
    "EXAMPLE",
    "STYLE_CHECKS",
    "ShoppingEnv",
    "ShoppingProblem",
    "Step",
    "Trajectory",
    "compare",
    "crossing",
    "discounted_return",
    "five_tuple",
    "horizon",
    "returns_to_go",
    "run_agentic",
    "run_pbrft",
    "run_rlvr",
    "sample_problem",
    "style_score",
    "tool_policy",
]


Policy = Callable[[Sequence[Step]], Any]
"""Chooses the next action from the steps so far."""


def tool_policy(problem: ShoppingProblem = EXAMPLE, *, thoughts: int = 1) -> Policy:
    """Make the scripted agent that thinks, calls the calculator twice and answers with what it was shown.

    Parameters
    ----------
    problem : ShoppingProblem
        What to work on.
    thoughts : int
        Thinking steps before the first call.

    Returns
    -------
    callable
        From the steps so far to the next action. After a tool error it makes the same call again; it copies what the
        tool shows without doubting it.
    """

    def act(steps: Sequence[Step]) -> tuple[str, str]:
        if len(steps) < thoughts:
            return "think", "First the share of the price, then the coupon."
        results = [step.observation for step in steps if step.action == "calc" and step.error is None]
        if not results:
            return "calc", f"{format_number(problem.price)}*{format_number(problem.multiplier)}"
        if len(results) == 1:
            return "calc", f"{results[0]}-{format_number(problem.coupon)}"
        return "answer", results[-1]

    return act


def run_agentic(
    policy: Policy | Iterable[Any] | None = None,
    *,
    env: ShoppingEnv | None = None,
    seed: int | None = None,
    name: str = "Agentic RL",
) -> Trajectory:
    """Run one episode: many steps, and a world that answers back.

    Parameters
    ----------
    policy : callable or iterable of actions, optional
        A function from the steps so far to the next action, or a fixed list of actions; by default
        :func:`tool_policy`. A list that is used up before the episode ends leaves the episode open.
    env : ShoppingEnv, optional
        The world; by default the running example.
    seed : int, optional
        For an environment that draws its problems.
    name : str
        Column heading.

    Returns
    -------
    Trajectory
        Rewards come from the environment.

    Raises
    ------
    ValueError
        If a list of actions is empty.
    TypeError
        If `policy` is a single text, or neither function nor list.

    Examples
    --------
    >>> run_agentic().rewards
    [0.0, 0.1, 0.1, 0.8]
    >>> run_agentic([("answer", "60")]).rewards
    [0.0]
    """
    if isinstance(policy, str):
        raise TypeError(f"policy must be a function or a list of actions, got {policy!r}; write [{policy!r}]")
    if policy is not None and not callable(policy) and not isinstance(policy, Iterable):
        raise TypeError(f"policy must be a function or a list of actions, got {policy!r}")
    env = ShoppingEnv() if env is None else env
    prompt, info = env.reset(seed=seed)
    policy = tool_policy(env.problem) if policy is None else policy
    plan = None if callable(policy) else iter(policy)
    steps: list[Step] = []
    while not (steps and (steps[-1].terminated or steps[-1].truncated)):
        action = policy(tuple(steps)) if plan is None else next(plan, None)
        if action is None and plan is not None:
            break
        state = info["state"]
        observation, reward, terminated, truncated, info = env.step(action)
        kind, argument = info["action"]
        steps.append(
            Step(
                state,
                kind,
                argument,
                observation,
                reward,
                info["state"],
                terminated,
                truncated,
                info["error"],
            )
        )
    if not steps:
        raise ValueError('policy must hold at least one action, got none; try [("answer", "55")]')
    return Trajectory(name, prompt, tuple(steps), "the environment: did the job get done?")


def run_rlvr(
    completion: str | None = None, *, problem: ShoppingProblem = EXAMPLE, name: str = "RLVR"
) -> Trajectory:
    """Run reinforcement learning with a verifiable reward: one completion, one check of its answer.

    Parameters
    ----------
    completion : str, optional
        What the model wrote; by default a right solution of the problem.
    problem : ShoppingProblem
        Its gold answer is what the answer is compared with, as a number.
    name : str
        Column heading.

    Returns
    -------
    Trajectory
        One step; reward 1.0 if :func:`rl_lab.answers.extract_answer` finds the gold answer, else 0.0.

    Raises
    ------
    TypeError
        If `completion` is no text.

    Examples
    --------
    >>> [run_rlvr(text).rewards for text in ("55 yuan", "155 yuan", "5.55 yuan")]
    [[1.0], [0.0], [0.0]]
    """
    completion = _solution(problem) if completion is None else _text("completion", completion)
    reward = float(same_number(extract_answer(completion), problem.gold))
    return _one_step(name, problem, completion, reward, "a checker: is the answer the gold answer?")


def run_pbrft(
    text: str | None = None,
    *,
    problem: ShoppingProblem = EXAMPLE,
    scorer: Callable[[str], float] | None = None,
    name: str = "PBRFT",
) -> Trajectory:
    """Run preference-based fine-tuning: one text, one score of how it reads.

    Parameters
    ----------
    text : str, optional
        What the model wrote; by default a friendly solution of the problem.
    problem : ShoppingProblem
        Gives the prompt. Its gold answer is *not* used: nobody checks here, and a wrong text that reads well is paid.
    scorer : callable, optional
        From text to score; by default :func:`style_score`, a stand-in for a trained reward model.
    name : str
        Column heading.

    Returns
    -------
    Trajectory
        One step, whose reward is the score.

    Raises
    ------
    TypeError
        If `text` is no text.
    ValueError
        If the score is no finite number.

    Examples
    --------
    >>> polite = "Sure, happy to help! First the discount, then the coupon: you pay {} yuan."
    >>> [round(run_pbrft(polite.format(n)).rewards[0], 2) for n in (55, 155)]
    [0.83, 0.83]
    """
    text = _friendly(problem) if text is None else _text("text", text)
    score = (style_score if scorer is None else scorer)(text)
    if isinstance(score, str) or not hasattr(score, "__float__") or not math.isfinite(score):
        raise ValueError(f"scorer must return a finite number, got {score!r:.40}; a reward cannot be less")
    return _one_step(name, problem, text, float(score), "a scorer of style: how does it read?")


STYLE_CHECKS: dict[str, Callable[[str], bool]] = {
    "opens politely": lambda text: text.lower().startswith(
        ("sure", "of course", "certainly", "hello", "thank")
    ),
    "offers help": lambda text: "happy to help" in text.lower() or "let me know" in text.lower(),
    "goes in order": lambda text: "first" in text.lower() and "then" in text.lower(),
    "ends as a sentence": lambda text: text.rstrip().endswith((".", "!", "。", "！")),
    "neither curt nor long": lambda text: 60 <= len(text) <= 400,
    "is laid out": lambda text: "\n- " in text or "\n1. " in text or "**" in text,
}
"""What :func:`style_score` looks at. Not one of them asks whether the number is right."""


def style_score(text: str) -> float:
    """Score how a text reads: the share of :data:`STYLE_CHECKS` that it passes.

    A transparent stand-in for a reward model, which in real PBRFT is a network fitted to people's preferences. What
    both have in common is what matters here: the truth is not among the things they look at.

    Parameters
    ----------
    text : str
        A completion.

    Returns
    -------
    float
        0 to 1, in sixths.

    Examples
    --------
    >>> style_score("55")
    0.0
    """
    text = _text("text", text)
    return sum(check(text) for check in STYLE_CHECKS.values()) / len(STYLE_CHECKS)


_FIELDS: tuple[tuple[str, str, Callable[[Trajectory], int]], ...] = (
    ("S", "kinds of state", lambda run: len(run.states)),
    ("A", "kinds of action", lambda run: len({step.action for step in run.steps})),
    ("P", "changes of the world", lambda run: sum(step.next_state != step.state for step in run.steps)),
    ("R", "non-zero rewards", lambda run: sum(reward != 0 for reward in run.rewards)),
    ("γ", "steps", lambda run: len(run.steps)),
    ("O", "tool observations", lambda run: sum(step.observation != "" for step in run.steps)),
)


def five_tuple(trajectory: Trajectory) -> dict[str, int]:
    """Count the fields of the decision process in one trajectory.

    Parameters
    ----------
    trajectory : Trajectory
        One episode.

    Returns
    -------
    dict of str to int
        ``S`` distinct states in which the agent acted; ``A`` distinct actions by name; ``P`` steps that changed the
        world; ``R`` rewards other than 0; ``γ`` steps, the distance over which a discount can matter; ``O``
        observations that the world gave after the prompt.

    Examples
    --------
    >>> five_tuple(run_agentic())
    {'S': 3, 'A': 3, 'P': 2, 'R': 3, 'γ': 4, 'O': 2}
    """
    return {field: count(trajectory) for field, _, count in _FIELDS}


def compare(*trajectories: Trajectory) -> list[dict[str, Any]]:
    """Lay trajectories side by side, one row a field.

    Parameters
    ----------
    *trajectories : Trajectory
        Columns, left to right; by default the running example as PBRFT, RLVR and Agentic RL.

    Returns
    -------
    list of dict
        Rows with the keys ``field``, ``counted`` (what the number counts) and one for each trajectory's name.

    Raises
    ------
    ValueError
        If two trajectories have the same name.
    TypeError
        If one is no trajectory.
    """
    runs = trajectories or (run_pbrft(), run_rlvr(), run_agentic())
    for run in runs:
        if not isinstance(run, Trajectory):
            raise TypeError(
                f"trajectories must be Trajectory objects, got {type(run).__name__}; pass run_agentic()"
            )
    names = [run.name for run in runs]
    if len(set(names)) < len(names):
        raise ValueError(f"trajectories must have different names, got {names}; pass name= when you run them")
    return [
        {"field": field, "counted": counted} | {run.name: count(run) for run in runs}
        for field, counted, count in _FIELDS
    ]


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise TypeError(
        f"{name} must be text, got {type(value).__name__} {value!r:.40}; rl_lab.rewards.completion_text reads messages"
    )


def _one_step(name: str, problem: ShoppingProblem, text: str, reward: float, judge: str) -> Trajectory:
    # One state, the prompt alone: the text changes nothing in the world and the episode is over.
    return Trajectory(name, problem.question, (Step((), "write", text, "", reward, (), True),), judge)


def _solution(problem: ShoppingProblem) -> str:
    price, multiplier, coupon = map(format_number, (problem.price, problem.multiplier, problem.coupon))
    charged, gold = problem.charged, problem.gold
    return f"{price}*{multiplier}={charged}, {charged}-{coupon}={gold}. {ANSWER_PREFIX} {gold}"


def _friendly(problem: ShoppingProblem) -> str:
    percent, coupon = format_number(problem.multiplier * 100), format_number(problem.coupon)
    return (
        f"Sure, happy to help! First take {percent} % of the price, which leaves {problem.charged} yuan, "
        f"then take off the coupon of {coupon} yuan. You pay {problem.gold} yuan."
    )
