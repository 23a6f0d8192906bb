"""Stories of the kind "factory": what is made, what is left, what it brings."""

from __future__ import annotations

from rl_lab.stories._story import Family, Story


def _machine(s: Story) -> None:
    s.words["things"] = s.choose("bolts", "bricks", "candles", "cups", "plates", "rolls", "tiles", "toys")
    s.suffix = f" {s.words['things']}"
    s.value = s.draw(12, 120)
    s.say(f"A machine makes {s.value}{s.suffix} an hour.", f"Every hour a machine makes {s.value}{s.suffix}.")


def _machine_hours(s: Story) -> None:
    h = s.draw(2, 12)
    s.say(f"It runs for {h} hours.", f"It is switched on for {h} hours.")
    s.step("*", h, "It makes")


def _machines(s: Story) -> None:
    k = s.draw(2, 9)
    s.say(f"There are {k} such machines, and all of them run that long.")
    s.step("*", k, "All machines together make")


def _faulty(s: Story) -> None:
    m = s.draw(2, min(60, s.value - 2))
    s.say(f"{m}{s.suffix} turn out faulty and are thrown away.", f"{m}{s.suffix} break and are thrown away.")
    s.step("-", m, "That leaves")


def _in_store(s: Story) -> None:
    m = s.draw(10, 300)
    s.say(f"The store already held {s.number(m)} of the same{s.suffix}.")
    s.step("+", m, "With those in store there are")


def _order(s: Story) -> None:
    m = s.draw(5, min(400, s.value - 2))
    s.say(f"A customer takes {s.number(m)}{s.suffix}.", f"{s.number(m)}{s.suffix} go to a customer abroad.")
    s.step("-", m, "After this order there are")


def _crates_bought(s: Story) -> None:
    k, each = s.draw(2, 9), s.draw(10, 60)
    s.say(f"{k} crates with {each}{s.suffix} each are bought from another factory.")
    extra = s.work_out(k, "*", each, "The crates hold")
    s.step("+", extra, "Together there are")


def _half_shipped(s: Story) -> None:
    s.say(f"Half of all the{s.suffix} are shipped away.")
    s.step("/", 2, "What stays is")


def _quarter_kept(s: Story) -> None:
    part = s.work_out(s.value, "/", 4, "A quarter is")
    s.say(f"Then a quarter of the{s.suffix} is sent to a trade fair.")
    s.step("-", part, "That leaves")


def _packed(s: Story) -> None:
    k = s.divisor(4, 24)
    s.say(f"The{s.suffix} that are left are packed in boxes of {k}.")
    s.say("How many boxes are filled?")
    s.suffix = " boxes"
    s.step("/", k, "They fill")


def _sold_each(s: Story) -> None:
    s.use_money()
    p = s.draw(2, 9)
    s.say(f"All{' ' + s.words['things']} that are left are sold at {s.amount(p)} each.")
    s.say("How much money do they bring?")
    s.step("*", p, "They bring")


def _packed_and_sold(s: Story) -> None:
    k = s.divisor(4, 24)
    things = s.words["things"]
    s.suffix = " boxes"
    s.step("/", k, "They fill")
    s.use_money()
    p = s.draw(5, 60)
    s.say(f"The {things} that are left are packed in boxes of {k}, and each box is sold for {s.amount(p)}.")
    s.say("How much money do the boxes bring?")
    s.step("*", p, "The boxes bring")


def _how_many_left(s: Story) -> None:
    s.say(f"How many{s.suffix} are there then?", f"How many{s.suffix} are there in the end?")


FAMILY = Family(
    "factory",
    _machine,
    core=((1, _machine_hours), (1, _machines)),
    events=(
        (1, _faulty),
        (1, _in_store),
        (1, _order),
        (2, _crates_bought),
        (1, _half_shipped),
        (2, _quarter_kept),
    ),
    endings=((1, _packed), (1, _sold_each), (2, _packed_and_sold)),
    question=_how_many_left,
    core_min=1,
)
