r"""What is this completion worth?

A reward function is ordinary Python and the ceiling of all training after it: the model learns what is paid, not
what was meant. So each function here keeps three promises that its tests attack: **any correct answer earns more
than any wrong one**, everything of which "more is better" is capped, and shaping is paid only behind a correct
answer (the gate). The reward is always a finite ``float``, or None where the *label* is unusable.

>>> accuracy_reward("80*0.75=60, 60-5=55.\nFinal Answer: 55", "55")
1.0
>>> length_reward("x" * 613 + "\nFinal Answer: 55", "55")
0.57
>>> batch_accuracy(completions=["Final Answer: 55", "Final Answer: 60"], ground_truth=["55", "55"])
[1.0, 0.0]

:func:`make_reward` binds settings to a name; the ``batch_*`` functions have the form that TRL's ``GRPOTrainer``
calls. Which number a completion *gives* is :mod:`rl_lab.answers`' business.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from rl_lab._completion import completion_text, count_steps, format_ok
from rl_lab._reward_batch import MISSING, listed, score_batch
from rl_lab.answers import extract_answer, parse_number, same_number

__all__ = [
    "LENGTH_FLOOR",
    "Reward",
    "accuracy_reward",
    "batch_accuracy",
    "batch_format",
    "batch_hybrid",
    "batch_length",
    "batch_steps",
    "completion_text",
    "count_steps",
    "format_ok",
    "format_reward",
    "hybrid_reward",
    "length_reward",
    "make_reward",
    "step_reward",
]

LENGTH_FLOOR = 0.1
"""What a correct answer keeps however long it is: more than any wrong answer's 0."""


def accuracy_reward(completion: Any, ground_truth: Any) -> float | None:
    """Pay 1.0 for the right number, 0.0 for anything else.

    Parameters
    ----------
    completion : str or list of messages
        What the model wrote, prompt excluded.
    ground_truth : str, int, float or Decimal
        The gold number. ``72``, ``72.0``, ``"72"`` and ``"1,234"`` are all read as numbers.

    Returns
    -------
    float or None
        None ("skip this sample", as TRL understands it) if the label is missing, not one number, or not finite:
        a broken label must neither pay nor punish.

    Examples
    --------
    >>> accuracy_reward("Final Answer: $31.00", 31), accuracy_reward("Final Answer: 70 or 72", "72")
    (1.0, 0.0)
    >>> accuracy_reward("Final Answer: 72", None) is None
    True
    """
    if parse_number(ground_truth) is None:
        return None
    return float(same_number(extract_answer(completion_text(completion)), ground_truth))


def length_reward(
    completion: Any,
    ground_truth: Any,
    *,
    target_len: int = 200,
    alpha: float = 0.001,
    floor: float = LENGTH_FLOOR,
) -> float | None:
    """Pay a correct answer less for each character beyond `target_len`, but never less than `floor`.

    The textbook form is ``1 - alpha * max(0, L - target_len)`` without a floor: a correct answer of 1,201
    characters then earns less than a wrong one. Here ``max(floor, ...)`` keeps every correct answer above every
    wrong one; where the textbook's value is at least `floor`, the two agree.

    Parameters
    ----------
    completion, ground_truth
        As in :func:`accuracy_reward`. L counts the characters of the whole text, reasoning block included.
    target_len : int
        Characters that cost nothing, at least 0.
    alpha : float
        Price of one character more, at least 0.
    floor : float
        Least reward of a correct answer, in (0, 1].

    Returns
    -------
    float or None
        In {0} ∪ [floor, 1], non-increasing in L; None for an unusable label.

    Examples
    --------
    >>> [length_reward("x" * n + " Final Answer: 55", "55") for n in (0, 613, 20_000)]
    [1.0, 0.57, 0.1]
    """
    _check(target_len=target_len, alpha=alpha, floor=floor)
    accuracy = accuracy_reward(completion, ground_truth)
    if not accuracy:
        return accuracy
    return _penalised(completion, target_len, alpha, floor)


def _penalised(completion: Any, target_len: int, alpha: float, floor: float) -> float:
    excess = max(0, len(completion_text(completion)) - target_len)
    # 12 places turn 0.5700000000000001 into 0.57; rounding before the floor keeps the floor exact.
    return max(float(floor), round(1.0 - float(alpha) * excess, 12))


def step_reward(
    completion: Any, ground_truth: Any, *, beta: float = 0.05, max_steps: int = 5
) -> float | None:
    r"""Pay a correct answer `beta` more for each visible step, `max_steps` at most.

    Parameters
    ----------
    completion, ground_truth
        As in :func:`accuracy_reward`; :func:`count_steps` says what a step is.
    beta : float
        Bonus for one step, at least 0.
    max_steps : int
        Steps that are paid: without this cap, more text is always more reward.

    Returns
    -------
    float or None
        0.0 for a wrong answer, else in [1, 1 + beta * max_steps]; None for an unusable label.

    Examples
    --------
    >>> step_reward("Step 1: 80*0.75=60.\nStep 2: 60-5=55.\nFinal Answer: 55", "55")
    1.2
    """
    _check(beta=beta, max_steps=max_steps)
    accuracy = accuracy_reward(completion, ground_truth)
    if not accuracy:
        return accuracy
    return round(1.0 + _step_bonus(completion, beta, max_steps), 12)


def _step_bonus(completion: Any, beta: float, max_steps: int) -> float:
    return float(beta) * min(count_steps(completion, max_steps), max_steps)


def format_reward(completion: Any, ground_truth: Any = None) -> float:
    """Pay 1.0 for :func:`format_ok`, else 0.0, right or wrong. Never train on this alone.

    Examples
    --------
    >>> format_reward("Final Answer: 9")
    1.0
    """
    return float(format_ok(completion))


def hybrid_reward(
    completion: Any,
    ground_truth: Any,
    *,
    target_len: int = 200,
    alpha: float = 0.001,
    floor: float = LENGTH_FLOOR,
    beta: float = 0.05,
    max_steps: int = 5,
    format_bonus: float = 0.1,
) -> float | None:
    r"""Pay correctness first, then brevity, visible steps and the format, all behind the gate.

    A correct answer earns ``max(floor, 1 - alpha * max(0, L - target_len)) + beta * min(s, max_steps)``, plus
    `format_bonus` if :func:`format_ok`. A wrong one earns 0. Parameters are those of :func:`length_reward` and
    :func:`step_reward`; `format_bonus` is at least 0.

    Returns
    -------
    float or None
        0.0, or in [floor, 1 + beta * max_steps + format_bonus]; None for an unusable label.

    Examples
    --------
    >>> hybrid_reward("Step 1: 80*0.75=60.\nStep 2: 60-5=55.\nFinal Answer: 55", "55")  # 1 + 4 * 0.05 + 0.1
    1.3
    >>> hybrid_reward("Step 1: 80*0.75=60.\nFinal Answer: 60", "55")
    0.0
    """
    _check(
        target_len=target_len,
        alpha=alpha,
        floor=floor,
        beta=beta,
        max_steps=max_steps,
        format_bonus=format_bonus,
    )
    accuracy = accuracy_reward(completion, ground_truth)
    if not accuracy:
        return accuracy
    bonus = _step_bonus(completion, beta, max_steps) + float(format_bonus) * format_ok(completion)
    return max(float(floor), round(_penalised(completion, target_len, alpha, floor) + bonus, 12))


def _check(**settings: Any) -> None:
    """Refuse settings that would break a promise: each a number in [0, 1e9], `floor` in (0, 1], `max_steps` whole."""
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(
                f"{name} must be a number, got {type(value).__name__} {value!r:.60}; it is a setting of the reward: "
                "if the data set has a column of that name, rename the column"
            )
        if not 0 <= value <= 1e9 or math.isnan(value):
            raise ValueError(
                f"{name} must be between 0 and 1e9, got {value}; the formula itself subtracts penalties"
            )
    if settings.get("floor", 1) == 0 or settings.get("floor", 1) > 1:
        raise ValueError(
            f"floor must be above 0 and at most 1, got {settings['floor']}; at 0 a long correct answer earns no "
            "more than a wrong one"
        )
    if settings.get("max_steps", 0) != int(settings.get("max_steps", 0)):
        raise ValueError(f"max_steps must be a whole number, got {settings['max_steps']}; steps are counted")


# -- the form that TRL calls ---------------------------------------------------------------------------------------


def batch_accuracy(completions: Any, ground_truth: Any = MISSING, **columns: Any) -> list[float | None]:
    """Score a batch by :func:`accuracy_reward`, in the form that ``GRPOTrainer(reward_funcs=...)`` calls.

    Parameters
    ----------
    completions : list of str, or list of lists of messages
        One entry per completion: groups lie one after the other.
    ground_truth : list
        The label column, one entry per completion.
    **columns
        Whatever else the trainer passes: ``prompts``, ``completion_ids``, ``trainer_state``, other columns. Only
        ``log_metric`` is used, to report how many labels were unusable (``labels_skipped``).

    Returns
    -------
    list of float or None
        As long as `completions`; None where the label is unusable, which TRL leaves out.

    Raises
    ------
    ValueError
        If the label column is missing (the message lists what came instead) or of another length.
    TypeError
        If a column is no list.

    Examples
    --------
    >>> batch_accuracy(prompts=["p", "p"], completions=["Final Answer: 72", "#### 70"], ground_truth=[72, 72])
    [1.0, 0.0]
    """
    return score_batch(accuracy_reward, completions, ground_truth, columns)


def batch_length(completions: Any, ground_truth: Any = MISSING, **columns: Any) -> list[float | None]:
    """Score a batch by :func:`length_reward`; its settings may be passed by name. See :func:`batch_accuracy`."""
    return _batch("length", completions, ground_truth, columns)


def batch_steps(completions: Any, ground_truth: Any = MISSING, **columns: Any) -> list[float | None]:
    """Score a batch by :func:`step_reward`; its settings may be passed by name. See :func:`batch_accuracy`."""
    return _batch("step", completions, ground_truth, columns)


def batch_hybrid(completions: Any, ground_truth: Any = MISSING, **columns: Any) -> list[float | None]:
    """Score a batch by :func:`hybrid_reward`; its settings may be passed by name. See :func:`batch_accuracy`."""
    return _batch("hybrid", completions, ground_truth, columns)


def batch_format(completions: Any, **columns: Any) -> list[float | None]:
    """Score a batch by :func:`format_reward`. Needs no label.

    Examples
    --------
    >>> batch_format(["Final Answer: 72", "72"])
    [1.0, 0.0]
    """
    completions = listed("completions", completions)
    return score_batch(format_reward, completions, [None] * len(completions), columns)


_SCORES: dict[str, Callable[..., float | None]] = {
    "accuracy": accuracy_reward,
    "length": length_reward,
    "step": step_reward,
    "hybrid": hybrid_reward,
    "format": format_reward,
}


def _batch(name: str, completions: Any, ground_truth: Any, columns: Mapping[str, Any]) -> list[float | None]:
    """Split what came by keyword into the reward's settings and the data set's columns."""
    known = _SCORES[name].__kwdefaults__ or {}
    settings = {key: value for key, value in columns.items() if key in known}
    rest = {key: value for key, value in columns.items() if key not in known}
    return make_reward(name, **settings)(completions, ground_truth, **rest)


class Reward:
    """A reward with its settings: called in TRL's batch form, picklable, and named after what it does.

    TRL logs each reward under ``rewards/<__name__>/mean``, so two settings must not share a name; a lambda or a closure
    could not be sent to another process.
    """

    def __init__(self, name: str, settings: dict[str, float]) -> None:
        # Plain numbers: a NumPy scalar would make NumPy rewards, which json.dumps refuses.
        self.name, self.settings = name, {key: _builtin(value) for key, value in settings.items()}
        defaults = _SCORES[name].__kwdefaults__ or {}
        changed = [
            f"_{key}_{value!r}" for key, value in sorted(self.settings.items()) if value != defaults[key]
        ]
        self.__name__ = name + "".join(changed)

    def __call__(
        self, /, completions: Any, ground_truth: Any = MISSING, **columns: Any
    ) -> list[float | None]:
        """Score a batch; see :func:`batch_accuracy`."""
        if self.name == "format":
            return batch_format(completions, **columns)
        return score_batch(self.score, completions, ground_truth, columns)

    def score(self, completion: Any, ground_truth: Any = None) -> float | None:
        """Score one completion."""
        return _SCORES[self.name](completion, ground_truth, **self.settings)

    def __repr__(self) -> str:
        return f"<reward {self.__name__}>"


def make_reward(name: str, **settings: float) -> Reward:
    """Bind settings to a reward and give the pair a name of its own.

    Parameters
    ----------
    name : str
        "accuracy", "length", "step", "hybrid" or "format".
    **settings
        Keyword settings of the function ``<name>_reward``.

    Returns
    -------
    Reward
        ``reward(completions=[...], ground_truth=[...], **columns)`` scores a batch in TRL's form;
        ``reward.score(completion, ground_truth)`` scores one completion.

    Raises
    ------
    ValueError
        If there is no such reward, or a setting is out of range.
    TypeError
        If the reward has no such setting, or a setting is no number.

    Examples
    --------
    >>> make_reward("length", target_len=400).__name__
    'length_target_len_400'
    >>> make_reward("len")
    Traceback (most recent call last):
    ...
    ValueError: no reward named 'len'; choose one of accuracy, length, step, hybrid, format; did you mean 'length'?
    """
    if name not in _SCORES:
        raise ValueError(
            f"no reward named {name!r}; choose one of {', '.join(_SCORES)}"
            + _closest(str(name), list(_SCORES))
        )
    known = list(_SCORES[name].__kwdefaults__ or {})
    for key in settings:
        if key not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise TypeError(f"reward {name!r} has no setting {key!r}; {has}" + _closest(key, known))
    _check(**settings)
    return Reward(name, settings)


def _closest(word: str, choices: list[str]) -> str:
    found = get_close_matches(word, choices, n=1, cutoff=0.5)
    return f"; did you mean {found[0]!r}?" if found else ""


def _builtin(value: Any) -> float:
    """Turn 400, 400.0 and NumPy's 400 into 400, and any other number into a float that can be told from its like."""
    return int(value) if value == int(value) else float(value)
