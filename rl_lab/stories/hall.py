"""Stories of the kind "hall": seats, and what they bring."""

from __future__ import annotations

from rl_lab.stories._story import Family, Story


def _rows(s: Story) -> None:
    s.suffix = " seats"
    s.words["each"] = str(s.draw(8, 40))
    s.value = s.draw(6, 40)
    place = s.choose("theatre", "concert hall", "cinema")
    s.say(f"A {place} has {s.value} rows with {s.words['each']} seats in each row.")


def _seats(s: Story) -> None:
    s.step("*", int(s.words["each"]), "The rows have")


def _balcony(s: Story) -> None:
    rows, each = s.draw(2, 8), s.draw(5, 20)
    s.say(f"On the balcony there are {rows} more rows with {each} seats each.")
    extra = s.work_out(rows, "*", each, "The balcony has")
    s.step("+", extra, "With the balcony there are")


def _folding_seats(s: Story) -> None:
    m = s.draw(5, 80)
    s.say(f"Tonight {m} folding seats are added at the back.")
    s.step("+", m, "With the folding seats there are")


def _broken(s: Story) -> None:
    m = s.draw(2, min(30, s.value - 2))
    s.say(f"{m} of the seats are broken and stay closed.")
    s.step("-", m, "Without the broken ones there are")


def _for_guests(s: Story) -> None:
    m = s.draw(2, min(40, s.value - 2))
    s.say(f"{m} seats are kept free for guests of the house.")
    s.step("-", m, "Without those kept free there are")


def _half_closed(s: Story) -> None:
    s.say("To save heating, half of the seats that are left are closed off.")
    s.step("/", 2, "Still open are")


def _tickets(s: Story) -> None:
    s.use_money()
    p = s.draw(5, 45)
    s.say(f"Every seat that is left is sold for {s.amount(p)}.")
    s.say("How much money do the tickets bring?")
    s.step("*", p, "The tickets bring")


def _tickets_less_rent(s: Story) -> None:
    s.use_money()
    p = s.draw(5, 45)
    rent = s.draw(50, 400, 10)
    s.say(f"Every seat that is left is sold for {s.amount(p)}, and renting the hall costs {s.amount(rent)}.")
    s.say("How much money is left after the rent?")
    s.step("*", p, "The tickets bring")
    s.step("-", rent, "After the rent there are left")


def _classes(s: Story) -> None:
    k = s.divisor(12, 32)
    s.say(f"All seats that are left are taken by school classes of {k} pupils.")
    s.say("How many classes are there?")
    s.suffix = " classes"
    s.step("/", k, "There are")


def _how_many_seats(s: Story) -> None:
    s.say("How many seats can be sold?", "For how many seats can tickets be sold?")


FAMILY = Family(
    "hall",
    _rows,
    core=((1, _seats),),
    events=((2, _balcony), (1, _folding_seats), (1, _broken), (1, _for_guests), (1, _half_closed)),
    endings=((1, _tickets), (2, _tickets_less_rent), (1, _classes)),
    question=_how_many_seats,
    core_min=1,
    ordered=True,
)
