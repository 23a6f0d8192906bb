"""Exercises of chapter 1: predict rewards, teach a policy to try again, tell three kinds of training apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rl_lab.calculator import safe_eval
from rl_lab.check import Probe, exercise
from rl_lab.mdp import ShoppingEnv, Trajectory, run_agentic


@exercise("01.1", "What does each step earn?")
def _(answer: Any, t: Probe) -> None:
    t.value(
        answer,
        [0, 0, 0.1, 0, 0.8],
        tol=1e-6,
        ask="the rewards of think, calc 80-5, calc 80*0.75, calc 80*0.75, answer 55",
        why="Thinking: 0. 75 leads nowhere: 0. 60 for the first time: 0.1. 60 again: 0. The right answer: 0.8.",
        hints=[
            (lambda a: not hasattr(a, "__len__"), "Not the sum: one number for each of the five steps."),
            (lambda a: len(a) != 5, "Five actions, so five rewards. A step that earns nothing gets a 0."),
            (lambda a: a[1] > 0, "80-5 is 75, and 75 is neither 60 nor 55: that calculation leads nowhere."),
            (lambda a: a[3] > 0, "60 appeared one step before. A result earns its 0.1 the first time only."),
            (
                lambda a: a[4] == 0,
                "The answer is right. How the agent came by it is not asked: the answer earns 0.8.",
            ),
            (
                lambda a: abs(a[4] - 0.9) < 1e-9 or a[4] == 1,
                "That is a sum over steps. The answer itself earns 0.8.",
            ),
            (lambda a: a[0] != 0, "Thinking does not change the world, and it earns nothing."),
        ],
    )


@exercise("01.2", "Teach it to try again")
def _(answer: Any, t: Probe) -> None:
    run = _play(answer, t)
    t.that(
        run.rewards[-1] == 1.0,
        "an episode in which every call works",
        came_back=_shown(run),
        expected="two calls, then answer(55)",
        why="What was right must stay right.",
    )
    for broken in ((1,), (2,), (1, 2), (1, 3), (2, 3, 4)):
        run = _play(answer, t, broken)
        *most, last = map(str, broken)
        which = f"calls {', '.join(most)} and {last} fail" if most else f"call {last} fails"
        t.that(
            run.rewards[-1] == 1.0,
            f"an episode in which {which}",
            came_back=_shown(run),
            expected="the same call again, and in the end answer(55)",
            why="An error is no result. What has no result yet has to be called for again.",
        )
    _stays_down(_play(answer, t, range(1, 9)), t)
    run = _play(answer, t, (2, 3, 4, 5, 6, 7, 8))
    t.that(
        run.steps[-1].terminated,
        "an episode in which every call but the first fails",
        came_back=_shown(run),
        expected="an answer as action 8",
        why="The limit counts actions, not errors: look at len(steps).",
    )


def _stays_down(run: Trajectory, t: Probe) -> None:
    early = len(run.steps) < 8
    t.that(
        run.steps[-1].terminated and not early,
        "an episode in which no call ever works",
        came_back=_shown(run),
        expected="seven calls, then an answer as action 8",
        why=(
            "The tool might still have come back: answer no earlier than action 8."
            if early
            else "Action 8 is the last. With seven steps behind you, answer: cut off, the episode was never finished."
        ),
    )


def _play(policy: Any, t: Probe, broken: Any = ()) -> Trajectory:
    """Play one episode in which the calls with these numbers, counted from 1, fail."""
    t.that(
        callable(policy),
        "your policy",
        came_back=repr(policy)[:80],
        expected="a function from the steps so far to the next action",
        why='Pass the function itself, as in check("01.2", persistent).',
    )
    calls = 0

    def calculator(text: str) -> float:
        nonlocal calls
        calls += 1
        if calls in broken:
            raise TimeoutError("no reply")
        return safe_eval(text)

    def your_policy() -> Trajectory:  # its name is what a finding shows
        return run_agentic(policy, env=ShoppingEnv(calculator=calculator, reward="outcome"))

    why = 'In each step return a pair, ("calc", "80*0.75") or ("answer", "55").'
    return t.run(your_policy, why=why)


def _shown(run: Trajectory) -> str:
    last = run.steps[-1]
    end = "then cut off" if last.truncated else f"the last one {last.action}({last.argument})"
    count = "1 action" if len(run.steps) == 1 else f"{len(run.steps)} actions"
    return f"{count}, {end}"


_ONE_TURN = "Nothing answers back before the end: one turn, however long."
_SCENES: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "a": (
        "replies scored by a network trained on comparisons",
        "PBRFT",
        "One text, and the judge is taste, learned from people's comparisons.",
        {"RLVR": "Nobody can recompute that score: it is the opinion of a network, no check."},
    ),
    "b": (
        "one SQL query, run once by the checker",
        "RLVR",
        "One text, and a program that anybody can run again decides.",
        {
            "Agentic RL": "The program runs when the episode is over. The model never sees what it returned, "
            "so it cannot act on it."
        },
    ),
    "c": (
        "an SQL query, rewritten after each error",
        "Agentic RL",
        "The database answers, and there is still something to do: many steps, a world, a job.",
        {"RLVR": "The reward can be checked, true. But here the error comes back and the model acts on it."},
    ),
    "d": (
        "GRPO on maths, 8,000 tokens of thinking",
        "RLVR",
        f"{_ONE_TURN} The answer is compared with the gold.",
        {
            "Agentic RL": f"{_ONE_TURN} Checking itself, the model reads only what it wrote itself.",
            "PBRFT": "GRPO is an optimizer and says nothing about the judge. The judge is a comparison with the gold.",
        },
    ),
    "e": (
        "summaries, with a second model's picks",
        "PBRFT",
        "RLAIF: preferences, one text each. That a model has them does not make them a check.",
        {
            "RLVR": "A pick is an opinion. Verifiable means that anybody can repeat the check and get the same.",
            "Agentic RL": "The second model picks when the summary is done. It is a judge, not a world.",
            "not RL": "The weights do change, by way of a reward model fitted to the picks.",
        },
    ),
    "f": (
        "a prompt that is improved every Friday",
        "not RL",
        "It acts in many steps, but no weight changes: the policy is on Friday what it was on Monday.",
        {"Agentic RL": "An agent, yes. But which weights have learned from what happened? None."},
    ),
    "g": (
        "trips booked in a shop that talks back",
        "Agentic RL",
        "Many turns, a world that answers, and pay for the booking, not for the wording.",
        {
            "RLVR": "The database check is verifiable, and agentic training likes such rewards. "
            "The difference lies in the turns before it.",
            "PBRFT": "No one scores how the conversation reads.",
        },
    ),
    "h": (
        "fine-tuning on recorded sessions",
        "not RL",
        "Supervised fine-tuning: the sessions are shown as right answers, nothing is tried, nothing is scored.",
        {"Agentic RL": "The *data* are agentic. The model itself acts in no world and earns no reward."},
    ),
}


@exercise("01.3", "Which of the three is it?")
def _(answer: Any, t: Probe) -> None:
    t.that(
        isinstance(answer, Mapping),
        "kinds",
        came_back=repr(answer)[:80],
        expected="a dict from the letters a to h to a name",
        why='Fill in the starter: {"a": "PBRFT", …}.',
    )
    for letter, (scene, kind, why, hints) in _SCENES.items():
        given = answer.get(letter)
        t.value(
            given.strip() if isinstance(given, str) else given,
            kind,
            ask=f"project {letter}, {scene}",
            why=why,
            hints={**hints, **_unknown(given)},
        )


def _unknown(given: Any) -> dict[Any, str]:
    """A hint for what is none of the four names."""
    kinds = ("PBRFT", "RLVR", "Agentic RL", "not RL")
    if not isinstance(given, str) or given.strip() in kinds:
        return {}
    return {given.strip(): "Choose one of " + ", ".join(f'"{k}"' for k in kinds) + ", spelled like this."}
