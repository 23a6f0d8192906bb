r"""Where do fresh word problems come from when there is no data set at hand?

:func:`generate` writes problems in GSM8K's form: a question in plain English and a solution with one step a line, each
with a calculator mark, closed by ``#### n``. The number of steps is exact, every mark is right, every answer is a
whole number, and a seed gives the same problems on every machine.

>>> problem = generate(1, seed=8, steps=2, families=["shopping"])[0]
>>> print(problem["question"].replace("one. ", "one.\n"), problem["answer"], sep="\n")
A helmet costs 260 yuan. Priya buys one.
A coupon takes 34 yuan off the bill. Priya hands over 500 yuan. How much change does Priya get?
With the coupon it is 260 - 34 = <<260-34=226>>226 yuan.
The change is 500 - 226 = <<500-226=274>>274 yuan.
#### 274
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable

from rl_lab._record import closest
from rl_lab.rows import Problem
from rl_lab.stories import FAMILIES, Family, NoFit, Story
from rl_lab.stories._story import Part

MAX_STEPS = 8
SPLITS = ("train", "test")
_TRIES = 400  # attempts per problem before the settings are called impossible


def generate(
    n: int,
    seed: int,
    steps: int | tuple[int, int] = (1, MAX_STEPS),
    *,
    families: Iterable[str] | None = None,
    max_value: int = 50_000,
    split: str | None = None,
) -> list[Problem]:
    """Write `n` different word problems.

    Parameters
    ----------
    n : int
        How many, 0 or more.
    seed : int
        Same seed and settings, same problems, in the same order.
    steps : int or (int, int)
        Number of solution steps, from 1 to 8: one number, or the lowest and the highest (both included, each
        equally likely).
    families : iterable of str, optional
        Kinds of story, from :func:`family_names`; by default all.
    max_value : int
        No number in a problem is larger; 20 or more. Small models learn faster from small numbers.
    split : str, optional
        ``"train"`` or ``"test"``: a problem belongs to one of the two by its text, so that sets made with any
        seeds and settings never share a question. About one in six is ``"test"``.

    Returns
    -------
    list of Problem
        Each with ``question``, ``answer``, ``steps`` and ``family``. No question occurs twice.

    Raises
    ------
    ValueError
        For settings out of range, an unknown family (the closest is named), or settings under which no `n` different
        problems were found.
    TypeError
        If a number is no whole number.

    Examples
    --------
    >>> [p.steps for p in generate(4, seed=0, steps=(3, 3))]
    [3, 3, 3, 3]
    >>> generate(1, seed=0, families=["shoping"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: families must be among collection, shopping, ..., got 'shoping'; did you mean 'shopping'?
    """
    low, high = _step_range(steps)
    chosen = _chosen(families)
    _check(n, seed, max_value, split)
    rng = random.Random(seed)
    problems: list[Problem] = []
    seen: set[str] = set()
    while len(problems) < n:
        wanted = rng.randint(low, high)
        for attempt in range(_TRIES):
            if attempt % 20 == 0:  # stay with a family for a while: those that rarely fit would die out
                family = rng.choice(chosen)
            problem = _attempt(rng, family, wanted, max_value)
            if problem and problem.question not in seen and split in (None, split_of(problem.question)):
                break
        else:
            raise ValueError(
                f"no further problem with {wanted} steps after {len(problems)} of {n}; ask for fewer, raise max_value "
                f"(now {max_value}) or allow more families (now {', '.join(f.name for f in chosen)})"
            )
        seen.add(problem.question)
        problems.append(problem)
    return problems


def family_names() -> list[str]:
    """Names of the kinds of story.

    Examples
    --------
    >>> family_names()[:3]
    ['collection', 'shopping', 'wages']
    """
    return [family.name for family in FAMILIES]


def split_of(question: str) -> str:
    """The split that a question belongs to, decided by its text alone.

    Examples
    --------
    >>> split_of("How many clips are left?"), split_of("How many clips are there?")
    ('test', 'train')
    """
    return "test" if zlib.crc32(question.encode()) % 6 == 0 else "train"


def _attempt(rng: random.Random, family: Family, steps: int, max_value: int) -> Problem | None:
    story = Story(rng, max_value)
    try:
        for part in _plan(rng, family, steps):
            part(story)
    except NoFit:
        return None
    if len(story.lines) != steps:
        raise AssertionError(f"family {family.name} wrote {len(story.lines)} steps, planned {steps}")
    gold = story.number(story.value)
    return Problem(
        question=" ".join(story.sentences),
        answer="\n".join([*story.lines, f"#### {gold}"]),
        steps=steps,
        family=family.name,
    )


def _plan(rng: random.Random, family: Family, steps: int) -> list[Part]:
    """Choose the parts of a story so that their steps add up."""
    ending = rng.choice(family.endings) if family.endings and steps > 1 and rng.random() < 0.45 else None
    left = steps - (ending[0] if ending else 0)
    core = family.core[: rng.randint(family.core_min, len(family.core))]
    left -= sum(cost for cost, _ in core)
    events: list[tuple[int, int, Part]] = []
    for position, (cost, part) in rng.sample(list(enumerate(family.events)), len(family.events)):
        if cost <= left:
            events.append((position, cost, part))
            left -= cost
    if left != 0:
        raise NoFit
    if family.ordered:
        events.sort(key=lambda event: event[0])
    parts = [family.opening, *(part for _, part in core), *(part for *_, part in events)]
    return [*parts, ending[1] if ending else family.question]


def _step_range(steps: int | tuple[int, int]) -> tuple[int, int]:
    ends = (steps, steps) if not isinstance(steps, (tuple, list)) else steps
    if len(ends) != 2 or any(isinstance(end, bool) or not isinstance(end, int) for end in ends):
        raise TypeError(f"steps must be a whole number or two of them, such as (1, 8), got {steps!r:.40}")
    low, high = ends
    if not 1 <= low <= high <= MAX_STEPS:
        raise ValueError(f"steps must lie between 1 and {MAX_STEPS}, the lower first, got {steps!r}")
    return low, high


def _chosen(names: Iterable[str] | None) -> list[Family]:
    known = {family.name: family for family in FAMILIES}
    names = list(known) if names is None else [names] if isinstance(names, str) else list(names)
    for name in names:
        if name not in known:
            raise ValueError(f"families must be among {', '.join(known)}, got {name!r}{closest(name, known)}")
    if not names:
        raise ValueError(
            f"families must hold at least one of {', '.join(known)}, got none; leave it out for all"
        )
    return [known[name] for name in names]


def _check(n: int, seed: int, max_value: int, split: str | None) -> None:
    for name, value in (("n", n), ("seed", seed), ("max_value", max_value)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be a whole number, got {value!r}")
    if n < 0:
        raise ValueError(f"n must be 0 or more, got {n}")
    if max_value < 20:
        raise ValueError(f"max_value must be 20 or more, got {max_value}; smaller leaves no room for a story")
    if split not in (None, *SPLITS):
        raise ValueError(f"split must be 'train', 'test' or left out, got {split!r}{closest(split, SPLITS)}")
