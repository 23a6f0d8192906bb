"""The questions of :func:`rl_lab.decide.should_you_train`, one function each, and what to mind once it says train."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rl_lab._estimates import share_interval
from rl_lab.shaping import signal_share

FIRST = ("tools", "prompt", "retrieval")
"""What comes before training, in the order in which it is asked for."""

REWARDS = ("checker", "preferences", "none")
"""Who can tell a good completion: a program, people (or a judge model) who compare, or nobody."""

GAP = 0.15
"""From which difference between pass@k and pass@1 on RL is called promising: this course's threshold, not a law."""


@dataclass(frozen=True)
class Case:
    """The reader's numbers, checked."""

    pass_1: float
    pass_k: float
    target: float
    k: int
    n: int
    tried: tuple[str, ...]
    tool_share: float
    reward: str
    steps: str
    demonstrations: bool
    format_rate: float
    owner: bool
    accelerator: bool


Step = tuple[str, str, str | None, str]
"""A question, its answer, the verdict if the list ends here, and what follows if it does."""


def questions(case: Case) -> Iterator[Step]:
    """Ask every question, in order; whoever reads along decides where to stop."""
    for ask in (_measured, _missed, *map(_first, FIRST), _tool, _owned, _equipped, _readable, _which):
        yield ask(case)


def _measured(case: Case) -> Step:
    answer = f"{case.n} problems" if case.n else "none"
    follows = "without one, no other answer here can be trusted"
    return "Is there an evaluation set?", answer, None if case.n else "measure", follows


def _missed(case: Case) -> Step:
    question = "Is the target missed?"
    if not case.n:
        return question, "unknown", "measure", "measure first"
    low, high = share_interval(case.pass_1, case.n)
    interval = f"95 % interval {_percent(low)} to {_percent(high)}"
    answer = f"pass@1 {_percent(case.pass_1)} ({interval}), target {_percent(case.target)}"
    if high < case.target:
        return question, answer, None, ""
    if case.pass_1 >= case.target and low >= case.target:
        return question, answer, "done", "ship it, and keep the evaluation running"
    follows = "the target lies inside the interval"
    if case.pass_1 >= case.target:
        follows += "; as measured you are there: more problems, or a lower target, would settle it"
    return question, answer, "more problems", follows


def _first(name: str) -> Callable[[Case], Step]:
    says = {
        "tools": "seconds to add, exact, and you can take it out again",
        "prompt": "minutes to change, free, and you can change it back",
        "retrieval": "facts that change do not belong into weights",
    }[name]

    def ask(case: Case) -> Step:
        done = name in case.tried
        answer = "exhausted, or of no use here" if done else "not tried"
        return f"{name.capitalize()}?", answer, None if done else name, says

    return ask


def _tool(case: Case) -> Step:
    reach = case.pass_1 + (1 - case.pass_1) * case.tool_share
    answer = f"{_percent(case.tool_share)} of them: {_percent(reach)} would be right"
    enough = reach >= case.target or case.tool_share > 0.5
    follows = "a tool that is not called yet: make the call obligatory, then measure again"
    question = "Would a tool remove most errors, or enough?"
    return question, answer, "tools" if enough else None, follows


def _owned(case: Case) -> Step:
    follows = "somebody must rerun the evaluation, and retrain or retire the model when the task moves"
    return "Does somebody own it?", _yes(case.owner), None if case.owner else "owner", follows


def _equipped(case: Case) -> Step:
    follows = "renting one counts"
    answer = _yes(case.accelerator)
    return "Is there an accelerator?", answer, None if case.accelerator else "accelerator", follows


def _readable(case: Case) -> Step:
    answer = f"{_percent(case.format_rate)} of them"
    question = "Can the completions be read?"
    if case.format_rate >= 0.9:
        return question, answer, None, ""
    if case.demonstrations:
        return question, answer, "sft", "SFT teaches a format quickly; then measure again"
    return question, answer, "data", "write examples in the right format first"


def _which(case: Case) -> Step:
    gap = case.pass_k - case.pass_1
    answer = f"{100 * gap:.0f} points between pass@{case.k} and pass@1; {case.reward}"
    question = "Sometimes right, and who can tell?"
    if case.reward == "checker" and gap >= GAP - 1e-9:
        kind = "agentic" if case.steps == "many" else "rlvr"
        return (
            question,
            answer,
            kind,
            "it can, but not reliably, and a program can tell: RL makes it reliable",
        )
    if case.demonstrations:
        return question, answer, "sft", "show what is right; the cheapest training comes first"
    if case.reward == "preferences" and case.pass_k > 0:
        return question, answer, "pbrft", "a matter of taste: let comparisons be the signal"
    if case.reward != "none":
        return question, answer, "data", "it cannot do it: there is hardly anything for RL to reinforce"
    return question, answer, "data", "nobody can tell good from bad, and nothing shows it"


def cautions_of(case: Case, verdict: str) -> Iterator[str]:
    """What can still go wrong with a verdict to train."""
    if verdict in ("rlvr", "agentic", "pbrft") and case.pass_k < case.target:
        yield f"the target lies above pass@{case.k}: do not expect RL alone to reach it"
    if verdict in ("rlvr", "agentic"):
        loud = signal_share([case.pass_1, 1 - case.pass_1], 8)
        if loud < 0.5:
            yield f"at most {_percent(loud)} of the groups of eight hold a right and a wrong completion"
        if case.demonstrations:
            yield "with examples at hand, try SFT first: it is far cheaper; keep it if pass@1 rises"
        yield f"first try {case.k} samples a request: keep one that passes, or let them vote"
    if verdict == "pbrft":
        yield "a judge that is optimised against learns to be flattered: keep the KL leash, read samples"
    if verdict == "sft":
        yield "SFT imitates what is in the examples, their mistakes included"
    yield "run a regression set of unrelated tasks at each checkpoint"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
