"""Does a reward function pay the gold solutions of a data set, and only those? Public through :mod:`rl_lab.arena`.

>>> from rl_lab.problems import generate
>>> from rl_lab.rewards import accuracy_reward
>>> audit(accuracy_reward, generate(50, seed=1))
50 of 50 gold solutions are paid, 0 of 50 neighbours
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from rl_lab.arena._panel import clipped, escaped, panel
from rl_lab.arena._scoring import score_texts
from rl_lab.calculator import format_number
from rl_lab.rows import Problem

_SHOWN = 3
_TINY = 1e-9


@dataclass(frozen=True)
class GoldAudit:
    """Outcome of an audit; shows itself as HTML in a notebook and as text elsewhere.

    Attributes
    ----------
    n : int
        Gold solutions scored.
    unpaid : tuple of (int, str, str)
        Row number, completion and gold of those that earn no more than an empty completion.
    neighbours : tuple of (int, str, str)
        The same of those that are paid although the label is the next number.
    """

    n: int
    unpaid: tuple[tuple[int, str, str], ...]
    neighbours: tuple[tuple[int, str, str], ...]

    @property
    def passed(self) -> bool:
        """Whether every gold solution is paid and no neighbour is."""
        return not self.unpaid and not self.neighbours

    def _head(self) -> str:
        return (
            f"{self.n - len(self.unpaid):,} of {self.n:,} gold solutions are paid, "
            f"{len(self.neighbours):,} of {self.n:,} neighbours"
        )

    def _examples(self) -> list[str]:
        return [
            f"row {number}, {what}: {clipped(completion[-60:]).strip()!r}, label {gold}"
            for what, found in (("unpaid", self.unpaid), ("neighbour paid", self.neighbours))
            for number, completion, gold in found[:_SHOWN]
        ]

    def text(self) -> str:
        """The outcome as plain text."""
        return "\n  ".join([self._head(), *self._examples()])

    __repr__ = text

    def _repr_html_(self) -> str:
        found = "".join(f"<li><code>{escaped(line)}</code></li>" for line in self._examples())
        body = f"<p><strong>{self._head()}</strong></p>" + (f"<ol>{found}</ol>" if found else "")
        return panel("good" if self.passed else "bad", body)


def audit(
    reward: Callable[..., Any], problems: Sequence[Mapping[str, Any]], *, as_written: bool = False
) -> GoldAudit:
    r"""Pay every gold solution of a data set, once with its label and once with the number after it.

    Parameters
    ----------
    reward : callable
        ``reward(completions, ground_truth, **columns)``, or ``reward(completion, gold)``.
    problems : sequence of Problem
        Rows with ``question`` and ``answer``, the answer closed by ``#### n``.
    as_written : bool
        Score the answers as they stand in the data, marks and ``####`` included; by default in the form that the
        course trains on, closed by ``Final Answer: n``.

    Returns
    -------
    GoldAudit
        Paid means: more than an empty completion earns with the same label.

    Raises
    ------
    ValueError
        If there are no problems, or a row has no readable answer.
    TypeError, ValueError
        As :func:`rl_lab.arena.arena` for a reward that cannot be used.

    Examples
    --------
    >>> from rl_lab.rewards import length_reward
    >>> row = {"question": "6 bags of 9 nuts?", "answer": "6*9=<<6*9=54>>54\n#### 54"}
    >>> audit(length_reward, [row]).passed
    True
    """
    rows = problem_rows(problems, "an audit of nothing finds nothing")
    golds = [row.gold for row in rows]
    after = [format_number(Decimal(gold) + 1) for gold in golds]
    from rl_lab.gsm8k import to_sft  # here, because only an audit needs the data sets

    texts = [row.answer if as_written else to_sft(row)["completion"] for row in rows]
    prompts = [row.question for row in rows]
    empty = [""] * len(rows)
    paid, beside = score_texts(reward, texts, golds, prompts), score_texts(reward, texts, after, prompts)
    floor, floor_beside = (score_texts(reward, empty, labels, prompts) for labels in (golds, after))
    listed = list(zip(range(len(rows)), texts, golds, strict=True))
    return GoldAudit(
        n=len(rows),
        unpaid=tuple(
            one for one, value, bar in zip(listed, paid, floor, strict=True) if not _more(value, bar)
        ),
        neighbours=tuple(
            (number, text, label)
            for (number, text, _), label, value, bar in zip(listed, after, beside, floor_beside, strict=True)
            if _more(value, bar)
        ),
    )


def problem_rows(problems: Any, if_none: str) -> list[Problem]:
    """Rows as problems; raises a TypeError or ValueError that names what is wrong with them."""
    listed = isinstance(problems, Iterable) and not isinstance(problems, (str, bytes, Mapping))
    rows = list(problems) if listed else []
    if not listed or not all(isinstance(row, Mapping) for row in rows):
        raise TypeError(
            f"problems must be a list of rows with question and answer, got {problems!r:.60}; "
            "wrap a single row in [...]"
        )
    if not rows:
        raise ValueError(f"problems must hold at least one row, got none; {if_none}")
    for row in rows:
        if not {"question", "answer"} <= set(row):
            raise ValueError(
                f"a problem must have question and answer, got {', '.join(map(str, row)) or 'no field'}"
            )
    return [Problem(row) for row in rows]


def _more(value: float | None, bar: float | None) -> bool:
    return value is not None and value > (0.0 if bar is None else bar) + _TINY
