"""Is this exercise solved, and if not, what is the one thing to look at next?

A notebook's exercise cell ends in ``check("04.2", my_function)``. The exercise itself lives in
``rl_lab/exercises/ch04.py`` as a function that puts questions to the reader's answer through a :class:`Probe`; the
first one that fails ends the check, and its message says what was called, what came back, what was expected and why.

>>> from rl_lab.check import exercise, check
>>> @exercise("99.1", "Half of it")
... def _(answer, t):
...     t.call(answer, 80, expect=40, why="Half of 80 is 40.")
>>> check("99.1", lambda x: x / 2).passed
True
>>> print(check("99.1", lambda x: x).text())
Exercise 99.1 (Half of it): not solved yet
  called:    your function(80)
  came back: 80
  expected:  40
  why:       Half of 80 is 40.
"""

from __future__ import annotations

import difflib
import html
import importlib
import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

Test = Callable[[Any, "Probe"], None]
Hints = dict[Any, str] | Iterable[tuple[Callable[[Any], bool], str]]

_EXERCISES: dict[str, tuple[str, Test]] = {}
_SHOWN = 200  # characters of a value that a message shows


class _Stop(Exception):
    """Ends a check at its first finding. Not an error: the finding is what the reader is shown."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.called)
        self.finding = finding


@dataclass(frozen=True)
class Finding:
    """What one question to the reader's answer brought to light.

    Attributes
    ----------
    called, came_back, expected, why : str
        Plain text, each possibly empty; `why` holds the hint that fits the wrong value where there is one.
    """

    called: str
    came_back: str = ""
    expected: str = ""
    why: str = ""

    def rows(self) -> list[tuple[str, str]]:
        """Label and text of each part that is not empty, in reading order."""
        parts = (
            ("called", self.called),
            ("came back", self.came_back),
            ("expected", self.expected),
            ("why", self.why),
        )
        return [(label, text) for label, text in parts if text]


@dataclass(frozen=True)
class Result:
    """Outcome of one check; shows itself as HTML in a notebook and as text elsewhere.

    Attributes
    ----------
    number, title : str
        The exercise, for instance ``"04.2"``.
    passed : bool
        Whether every question was answered as expected.
    asked : int
        How many questions were put, the failing one included.
    finding : Finding or None
        What to look at next; None when passed.
    """

    number: str
    title: str
    passed: bool
    asked: int
    finding: Finding | None = None

    def text(self) -> str:
        """The result as plain text, one line a part."""
        number = _readable(self.number)
        if self.finding is None:
            questions = "1 question" if self.asked == 1 else f"{self.asked} questions"
            return f"Exercise {number} ({self.title}): solved, {questions} answered as expected"
        lines = [f"Exercise {number} ({self.title}): not solved yet"]
        return "\n".join(lines + [f"  {label + ':':<10} {text}" for label, text in self.finding.rows()])

    __repr__ = text

    def _repr_html_(self) -> str:
        state = "solved" if self.passed else "not solved yet"
        head = (
            f'<p class="rl-check-head"><strong>{state.capitalize()}</strong> '
            f"<span>Exercise {_readable(self.number)} · {html.escape(self.title)}</span></p>"
        )
        if self.finding is None:
            return f'{_STYLE}<div class="rl-check rl-check-solved" role="status">{head}</div>'
        rows = "".join(
            f"<div><dt>{label}</dt><dd>{_marked(text, code=label != 'why')}</dd></div>"
            for label, text in self.finding.rows()
        )
        return f'{_STYLE}<div class="rl-check rl-check-open" role="status">{head}<dl>{rows}</dl></div>'


# Small enough to travel with each result: a notebook opened in Colab has no stylesheet of ours.
_STYLE = (
    "<style>.rl-check{border-left:4px solid #b45309;padding:.5em .9em;margin:.5em 0;font-size:.95em;color:inherit}"
    ".rl-check-solved{border-color:#0f766e}.rl-check p{margin:0 0 .3em}.rl-check-head span{opacity:.85}"
    ".rl-check dl{margin:0}.rl-check dl div{display:grid;grid-template-columns:6.5em 1fr;gap:.2em .8em}"
    ".rl-check dt{font-weight:400;opacity:.85}.rl-check dd{margin:0;overflow-wrap:anywhere;white-space:pre-wrap}"
    ".rl-check dd code{background:none;border:0;padding:0;color:inherit;white-space:pre-wrap}"
    "@media(max-width:480px){.rl-check dl div{grid-template-columns:1fr}}</style>"
)


class Probe:
    """Puts questions to a reader's answer and stops at the first that fails (the ``t`` of an exercise)."""

    def __init__(self) -> None:
        self.asked = 0

    def value(
        self, answer: Any, expect: Any, *, ask: str, why: str, tol: float = 1e-9, hints: Hints | None = None
    ) -> None:
        """Expect the answer itself to equal `expect`.

        Parameters
        ----------
        answer, expect : object
            Numbers are compared within `tol`, sequences item by item, all else by ``==``.
        ask : str
            What was asked for, as a noun phrase: "the return at gamma = 0.9".
        why : str
            The reasoning that leads to `expect`.
        tol : float
            Absolute tolerance for numbers.
        hints : dict or iterable of (predicate, str), optional
            Messages for wrong answers that are worth a word of their own; they take the place of `why`.
        """
        self._compare(f"{ask}", answer, expect, why, tol, hints)

    def call(
        self,
        function: Any,
        *args: Any,
        expect: Any,
        why: str,
        tol: float = 1e-9,
        hints: Hints | None = None,
        **kwargs: Any,
    ) -> Any:
        """Call the reader's function and expect `expect` back; return what came back."""
        shown = _call_text(function, args, kwargs)
        came_back = self.run(function, *args, why=why, **kwargs)
        self.asked -= 1  # one question, though it was both run and compared
        self._compare(shown, came_back, expect, why, tol, hints)
        return came_back

    def run(self, function: Any, *args: Any, why: str = "", **kwargs: Any) -> Any:
        """Call the reader's function; an exception of theirs is a finding, not a crash. Return what came back."""
        self.asked += 1
        shown = _call_text(function, args, kwargs)
        if function is None:
            raise _Stop(Finding(shown, "nothing yet", "", "Fill in the starter cell, then run it again."))
        if not callable(function):
            raise _Stop(
                Finding(shown, _show(function), "a function", "Pass the function itself, not its result.")
            )
        try:
            return function(*args, **kwargs)
        except NotImplementedError:
            raise _Stop(
                Finding(shown, "nothing yet", "", "Fill in the starter cell, then run it again.")
            ) from None
        except RecursionError:
            raise _Stop(Finding(shown, "it called itself without end (RecursionError)", "", why)) from None
        except Exception as error:  # whatever a learner's code does must come back as a lesson
            message = f"{type(error).__name__}: {error}"
            raise _Stop(Finding(shown, f"an exception: {message}"[:_SHOWN], "", why)) from None

    def that(
        self, condition: bool, called: str, *, why: str, came_back: str = "", expected: str = ""
    ) -> None:
        """Expect any property to hold; the texts say what was called, what came back and why it matters."""
        self.asked += 1
        if not condition:
            raise _Stop(Finding(called, came_back, expected, why))

    def _compare(self, called: str, got: Any, expect: Any, why: str, tol: float, hints: Hints | None) -> None:
        self.asked += 1
        if _same(got, expect, tol):
            return
        hint = _hint_for(got, hints, tol)
        if isinstance(expect, (list, tuple)) and isinstance(got, (Set, Mapping)):
            hint = "The order counts here, and a set or a dictionary is no sequence: use a list."
        if (got is None or got is Ellipsis) and not hint:
            open_why = (
                "Nothing was returned yet: " + why if called.endswith(")") else "Your turn: put a value in."
            )
            raise _Stop(Finding(called, "nothing yet", "", open_why))
        # A hint says what went wrong; showing the solution beside it would end the thinking it asks for.
        raise _Stop(Finding(called, _show(got), "" if hint else _show(expect), hint or why))


def exercise(number: str, title: str) -> Callable[[Test], Test]:
    """Register an exercise.

    Parameters
    ----------
    number : str
        Chapter and position, two digits and one: ``"04.2"``.
    title : str
        A few words, shown with every result.

    Returns
    -------
    callable
        Decorator for the test ``(answer, t) -> None``, returned unchanged.

    Raises
    ------
    ValueError
        If `number` is not of that form or taken by another test.
    """
    if not re.fullmatch(r"\d\d\.\d+", number):
        raise ValueError(f'number must look like "04.2" (chapter, point, position), got {number!r}')

    def register(test: Test) -> Test:
        known = _EXERCISES.get(number)
        if known is not None and known[1].__module__ != test.__module__:
            raise ValueError(
                f"exercise {number} exists already in {known[1].__module__}; choose another number"
            )
        _EXERCISES[number] = (title, test)
        return test

    return register


def check(number: str, answer: Any = None) -> Result:
    """Check one exercise of the course.

    Parameters
    ----------
    number : str
        As printed in the notebook: ``"04.2"`` (``"4.2"`` and ``4.2`` are understood too).
    answer : object
        The reader's function or value.

    Returns
    -------
    Result
        Shows itself as the last value of a cell. A wrong answer never raises.

    Raises
    ------
    ValueError
        If there is no such exercise; the message lists those of the chapter.
    """
    number = _canonical(number)
    title, test = _find(number)
    probe = Probe()
    try:
        test(answer, probe)
    except _Stop as stop:
        return Result(number, title, False, probe.asked, stop.finding)
    return Result(number, title, True, probe.asked)


def exercises(chapter: int) -> list[str]:
    """Numbers of the exercises of one chapter, in order; empty if the chapter has none."""
    _load(f"{chapter:02d}")
    return sorted(
        (n for n in _EXERCISES if n.startswith(f"{chapter:02d}.")), key=lambda n: int(n.split(".")[1])
    )


def _canonical(number: object) -> str:
    match = re.fullmatch(r"(\d{1,2})\.(\d+)", str(number).strip())
    if not match:
        raise ValueError(
            f'number must be an exercise such as "04.2", got {number!r}; it stands above the cell'
        )
    return f"{int(match[1]):02d}.{int(match[2])}"


def _readable(number: str) -> str:
    return number.lstrip("0")


def _load(chapter: str) -> None:
    name = f"rl_lab.exercises.ch{chapter}"
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:  # a module that the exercises need is missing: say that, not "no exercise"
            raise


def _find(number: str) -> tuple[str, Test]:
    chapter = number.split(".")[0]
    _load(chapter)
    if number in _EXERCISES:
        return _EXERCISES[number]
    known = exercises(int(chapter))
    if known:
        raise ValueError(f"no exercise {number}; chapter {int(chapter)} has {', '.join(known)}")
    closest = difflib.get_close_matches(number, _EXERCISES, n=1)
    suggestion = f"; did you mean {closest[0]}?" if closest else ""
    raise ValueError(f"no exercise {number}: chapter {int(chapter)} has none{suggestion}")


def _same(got: Any, expect: Any, tol: float) -> bool:
    if _is_bool(expect) or _is_bool(got):
        return _is_bool(got) and _is_bool(expect) and bool(got) == bool(expect)
    if isinstance(expect, numbers.Real) and isinstance(got, numbers.Real):
        return math.isclose(got, expect, rel_tol=0.0, abs_tol=tol)
    if isinstance(expect, (list, tuple)):
        if not is_ordered(got):
            return False
        return len(got) == len(expect) and all(_same(g, e, tol) for g, e in zip(got, expect, strict=True))
    if isinstance(expect, dict) and isinstance(got, dict):
        return got.keys() == expect.keys() and all(_same(got[key], expect[key], tol) for key in expect)
    try:
        return type(got) is type(expect) and bool(got == expect)
    except Exception:  # a comparison that fails is not an equality
        return False


def is_ordered(value: Any) -> bool:
    """Tell whether a value holds items in an order: a list, a tuple, an array; no text, no set, no dictionary.

    A set of small whole numbers comes out sorted by luck. An exercise that turns an answer into a list asks this first.

    Examples
    --------
    >>> [is_ordered(value) for value in ([1, 3], (1, 3), {1, 3}, {1: 3}, {1: 3}.keys(), "13")]
    [True, True, False, False, False, False]
    """
    if isinstance(value, (str, bytes, bytearray, Mapping, Set)):
        return False
    return hasattr(value, "__len__") and hasattr(value, "__getitem__")


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")  # numpy's own, without numpy


def _hint_for(got: Any, hints: Hints | None, tol: float) -> str:
    pairs = hints.items() if isinstance(hints, dict) else hints or ()
    for wrong, message in pairs:
        try:
            fits = wrong(got) if callable(wrong) else _same(got, wrong, tol)
        except Exception:  # a predicate made for numbers, asked about something else
            fits = False
        if fits:
            return message
    return ""


def _show(value: Any) -> str:
    if isinstance(value, float) and math.isfinite(value):
        text = repr(round(value, 6))
    elif isinstance(value, (list, tuple)) and all(isinstance(v, float) and math.isfinite(v) for v in value):
        text = repr(type(value)(round(v, 6) for v in value))
    else:
        text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _call_text(function: Any, args: tuple, kwargs: dict) -> str:
    name = getattr(function, "__name__", "your function")
    name = "your function" if name == "<lambda>" else name
    inner = [_show(a) for a in args] + [f"{key}={_show(value)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(inner)})"


def _marked(text: str, *, code: bool) -> str:
    return f"<code>{html.escape(text)}</code>" if code else html.escape(text)
