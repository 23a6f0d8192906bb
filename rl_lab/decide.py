"""Should you train, and if so, how? The decision list of chapter 14, with its reasons.

Ten questions are asked in order; the first that rules training out, or the last, decides. The questions before any
training come first, because they are cheaper to answer and cheaper to act on.

>>> verdict = should_you_train(pass_1=0.40, pass_k=0.85, target=0.75, n=200, tried=("prompt", "tools", "retrieval"),
...                            reward="checker", owner=True, accelerator=True, format_rate=0.98)
>>> verdict.verdict, verdict.train
('rlvr', True)
>>> print(should_you_train(pass_1=0.40, pass_k=0.85, target=0.75).headline)
Do not train yet: build an evaluation set.

References
----------
Yue et al. (2025), Does Reinforcement Learning Really Incentivize Reasoning Capacity in LLMs Beyond the Base Model?,
arXiv:2504.13837: what RL with a checker gains at pass@1 was mostly there at pass@k before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rl_lab._amounts import choice, flag, fraction, whole
from rl_lab._decision import FIRST, GAP, REWARDS, Case, cautions_of, questions

__all__ = ["FIRST", "GAP", "REWARDS", "VERDICTS", "Reason", "Verdict", "should_you_train"]

VERDICTS = {
    "measure": "Do not train yet: build an evaluation set.",
    "more problems": "Do not train yet: too few problems to tell whether you miss the target.",
    "done": "Do not train: the target is met.",
    "tools": "Do not train yet: give the model a tool.",
    "prompt": "Do not train yet: work on the prompt.",
    "retrieval": "Do not train yet: retrieve what the model cannot know.",
    "owner": "Do not train: nobody would own the model.",
    "accelerator": "Do not train yet: there is nothing to train on.",
    "data": "Do not train yet: collect examples, or take a bigger model.",
    "sft": "Train: SFT with LoRA.",
    "pbrft": "Train: preferences (PBRFT).",
    "rlvr": "Train: RL with a checker (RLVR).",
    "agentic": "Train: Agentic RL in an environment.",
}
"""Every verdict and the sentence that states it."""

_TRAIN = ("sft", "pbrft", "rlvr", "agentic")


@dataclass(frozen=True)
class Reason:
    """One question of the list: what was asked, what your numbers answer, and what follows.

    Attributes
    ----------
    question, answer, follows : str
        `follows` is "go on", "not asked" for questions behind the one that decided, or the consequence.
    """

    question: str
    answer: str
    follows: str


@dataclass(frozen=True)
class Verdict:
    """What :func:`should_you_train` returns; prints as the whole list.

    Attributes
    ----------
    verdict : str
        A key of :data:`VERDICTS`.
    train : bool
        Whether weights should be changed.
    headline : str
        The verdict as a sentence.
    reasons : tuple of Reason
        All questions in order, those that were not reached included.
    cautions : tuple of str
        What can still go wrong with a verdict to train.
    """

    verdict: str
    train: bool
    headline: str
    reasons: tuple[Reason, ...]
    cautions: tuple[str, ...] = ()

    @property
    def decided_by(self) -> Reason:
        """The question that decided."""
        return next(r for r in reversed(self.reasons) if r.follows != "not asked")

    def __str__(self) -> str:
        lines = [self.headline]
        asked = [r for r in self.reasons if r.follows != "not asked"]
        lines += [f"  {reason.question} {reason.answer}" for reason in asked]
        lines.append(f"    -> {self.decided_by.follows}")
        return "\n".join(lines + [f"  Mind: {caution}" for caution in self.cautions])


def should_you_train(
    *,
    pass_1: float,
    pass_k: float,
    target: float,
    k: int = 8,
    n: int = 0,
    tried: Iterable[str] = (),
    tool_share: float = 0.0,
    reward: str = "none",
    steps: str = "one",
    demonstrations: bool = False,
    format_rate: float = 1.0,
    owner: bool = False,
    accelerator: bool = False,
) -> Verdict:
    """Walk the decision list with your own numbers.

    Defaults are what an unprepared team has: no evaluation set, nothing tried, no reward, nobody, no accelerator.

    Parameters
    ----------
    pass_1, pass_k : float
        Measured with everything that you have tried already in place: share of problems solved by one completion,
        and by at least one of `k`, 0 to 1, ``pass_k >= pass_1``.
    target : float
        Share of problems to be solved by one completion, above 0, up to 1.
    k : int, default 8
        At least 2.
    n : int, default 0
        Problems in your evaluation set; 0 if you have none.
    tried : iterable of str
        Which of :data:`FIRST` are exhausted, or do not apply to the task.
    tool_share : float, default 0.0
        Share of the errors that are left which a tool would remove, mostly arithmetic, 0 to 1.
    reward : {"checker", "preferences", "none"}
        Who can tell a good completion.
    steps : {"one", "many"}
        Whether the model writes one text, or acts in an environment that answers back.
    demonstrations : bool, default False
        Whether there are worked examples that you would sign, enough to train on.
    format_rate : float, default 1.0
        Share of completions that can be read at all, 0 to 1.
    owner, accelerator : bool, default False
        Somebody who stays with the model; something to train on, own or rented.

    Returns
    -------
    Verdict
        The decision, and the answer to each question.

    Raises
    ------
    ValueError
        If a share is outside 0 to 1, ``pass_k < pass_1``, or a name is unknown.
    TypeError
        If a value is of the wrong kind.

    Notes
    -----
    Whether the target is missed is asked of the 95 % Wilson interval around the share `pass_1`: if the target lies
    inside, the verdict is "more problems". The interval treats each of the `n` problems as one trial.

    Examples
    --------
    >>> ready = dict(target=0.9, n=200, tried=("tools", "prompt", "retrieval"), owner=True, accelerator=True)
    >>> should_you_train(pass_1=0.40, pass_k=0.45, reward="checker", **ready).verdict
    'data'
    >>> should_you_train(pass_1=0.40, pass_k=0.85, reward="checker", steps="many", **ready).verdict
    'agentic'
    >>> should_you_train(pass_1=0.40, pass_k=0.85, tool_share=0.9, **ready).verdict
    'tools'
    """
    case = Case(
        pass_1=fraction("pass_1", pass_1),
        pass_k=fraction("pass_k", pass_k),
        target=fraction("target", target),
        k=whole("k", k, least=2),
        n=whole("n", n, least=0),
        tried=_names(tried),
        tool_share=fraction("tool_share", tool_share),
        reward=choice("reward", reward, REWARDS),
        steps=choice("steps", steps, ("one", "many")),
        demonstrations=flag("demonstrations", demonstrations),
        format_rate=fraction("format_rate", format_rate),
        owner=flag("owner", owner),
        accelerator=flag("accelerator", accelerator),
    )
    if case.pass_k < case.pass_1:
        raise ValueError(
            f"pass_k must be at least pass_1={case.pass_1}, got {case.pass_k}; "
            "one completion that is right is one of k, so measure both on the same problems"
        )
    if case.target == 0:
        raise ValueError("target must be above 0, got 0; say which share of problems must be solved")
    return _walk(case)


def _walk(case: Case) -> Verdict:
    verdict, reasons = None, []
    for question, answer, ends, follows in questions(case):
        if verdict is not None:
            reasons.append(Reason(question, answer, "not asked"))
            continue
        reasons.append(Reason(question, answer, follows if ends else "go on"))
        verdict = ends
    if verdict is None:  # cannot happen: the last question always decides
        raise AssertionError("the list ended without a verdict")
    train = verdict in _TRAIN
    cautions = tuple(cautions_of(case, verdict)) if train else ()
    return Verdict(verdict, train, VERDICTS[verdict], tuple(reasons), cautions)


def _names(tried: Any) -> tuple[str, ...]:
    if isinstance(tried, str) or not isinstance(tried, Iterable):
        raise TypeError(
            f"tried must be a list of names, got {tried!r}; pass for instance ('tools', 'prompt')"
        )
    return tuple(choice("tried", name, FIRST) for name in tried)
