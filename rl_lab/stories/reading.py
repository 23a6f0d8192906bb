"""Stories of the kind "reading": how much is left."""

from __future__ import annotations

from rl_lab.stories._story import Family, Story


def _book(s: Story) -> None:
    s.suffix = " pages"
    s.value = s.draw(120, 900, 10)
    s.say(f"{s.name} has to read a {s.choose('novel', 'report', 'travel book')} with {s.value} pages.")


def _read_on(s: Story, day: str) -> None:
    m = s.draw(5, min(60, s.value - 2))
    s.say(f"On {day} {s.name} reads {m} pages.")
    s.step("-", m, f"Left after {day}:")


def _monday(s: Story) -> None:
    _read_on(s, "Monday")


def _tuesday(s: Story) -> None:
    _read_on(s, "Tuesday")


def _wednesday_half(s: Story) -> None:
    s.say(f"On Wednesday {s.name} reads half of the pages that are left.")
    s.step("/", 2, "Left after Wednesday:")


def _thursday_third(s: Story) -> None:
    part = s.work_out(s.value, "/", 3, "A third of the pages is")
    s.say(f"On Thursday {s.name} reads a third of the pages that are left.")
    s.step("-", part, "Left after Thursday:")


def _friday_hours(s: Story) -> None:
    h, each = s.draw(2, 4), s.draw(8, 20)
    s.say(f"On Friday {s.name} reads for {h} hours, {each} pages an hour.")
    read = s.work_out(h, "*", each, "On Friday that is")
    s.step("-", read, "Left after Friday:")


def _appendix(s: Story) -> None:
    m = s.draw(5, 40)
    s.say(f"On Saturday {s.name} gets an appendix of {m} pages that has to be read too.")
    s.step("+", m, "With the appendix there are")


def _pages_a_day(s: Story) -> None:
    k = s.divisor(5, 40)
    s.say(f"After that {s.name} reads {k} pages a day.")
    s.say("How many days does the rest take?")
    s.suffix = " days"
    s.step("/", k, "The rest takes")


def _how_many_pages(s: Story) -> None:
    s.say("How many pages are left to read?", f"How many pages does {s.name} still have to read?")


FAMILY = Family(
    "reading",
    _book,
    core=(),
    events=(
        (1, _monday),
        (1, _tuesday),
        (1, _wednesday_half),
        (2, _thursday_third),
        (2, _friday_hours),
        (1, _appendix),
    ),
    endings=((1, _pages_a_day),),
    question=_how_many_pages,
    ordered=True,
)
