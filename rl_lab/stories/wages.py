"""Stories of the kind "wages": what is earned and kept."""

from __future__ import annotations

from rl_lab.stories._story import Family, Story


def _wage(s: Story) -> None:
    s.use_money()
    s.value = s.draw(8, 40)
    s.say(
        f"{s.name} earns {s.amount(s.value)} an hour in a {s.choose('bakery', 'garage', 'library', 'workshop')}."
    )


def _hours(s: Story) -> None:
    h = s.draw(2, 9)
    s.words["hours"] = str(h)
    s.say(f"{s.name} works {h} hours on Saturday.")
    s.step("*", h, f"For {h} hours that is")


def _days(s: Story) -> None:
    d = s.draw(2, 20)
    s.sentences[-1] = f"{s.name} works {s.words['hours']} hours a day for {d} days."
    s.step("*", d, f"For {d} days that is")


def _bonus(s: Story) -> None:
    m = s.draw(10, 90)
    s.say(f"The boss adds a bonus of {s.amount(m)}.", f"Thankful customers leave {s.amount(m)} in tips.")
    s.step("+", m, "With that it is")


def _bus_pass(s: Story) -> None:
    m = s.draw(5, min(60, s.value - 2))
    s.say(f"A bus pass costs {s.name} {s.amount(m)}.", f"{s.name} spends {s.amount(m)} on working clothes.")
    s.step("-", m, "That leaves")


def _lunches(s: Story) -> None:
    k, each = s.draw(2, 12), s.draw(3, 12)
    s.say(f"{s.name} pays for {k} lunches at {s.amount(each)} each.")
    cost = s.work_out(k, "*", each, "The lunches cost")
    s.step("-", cost, "After the lunches that leaves")


def _second_job(s: Story) -> None:
    k, each = s.draw(3, 12), s.draw(4, 20)
    s.say(f"On Sunday {s.name} washes {k} cars for {s.amount(each)} each.")
    extra = s.work_out(k, "*", each, "The cars bring")
    s.step("+", extra, "Together that is")


def _half_to_savings(s: Story) -> None:
    s.say(f"Then {s.name} puts half of the money at hand into a savings account and keeps the rest.")
    s.step("/", 2, f"{s.name} keeps")


def _pocket_money(s: Story) -> None:
    m = s.draw(5, 50)
    s.say(f"From an uncle {s.name} gets {s.amount(m)} as a present.")
    s.step("+", m, "With the present it is")


def _still_missing(s: Story) -> None:
    price = s.draw(s.value + 10, s.value + 400, 5)
    s.say(f"{s.name} wants to buy a bicycle for {s.amount(price)} with this money.")
    s.say(f"How much money is {s.name} still missing?")
    s.value = s.work_out(price, "-", s.value, "Still missing are")


def _days_it_lasts(s: Story) -> None:
    k = s.divisor(5, 40)
    s.say(f"From then on {s.name} spends {s.amount(k)} of this money a day.")
    s.say("How many days does the money last?")
    s.prefix, s.suffix = "", " days"
    s.step("/", k, "It lasts")


def _how_much_money(s: Story) -> None:
    s.say(
        f"How much money does {s.name} have from all this?", f"How much money does that leave {s.name} with?"
    )


FAMILY = Family(
    "wages",
    _wage,
    core=((1, _hours), (1, _days)),
    events=(
        (1, _bonus),
        (1, _bus_pass),
        (2, _lunches),
        (2, _second_job),
        (1, _half_to_savings),
        (1, _pocket_money),
    ),
    endings=((1, _still_missing), (1, _days_it_lasts)),
    question=_how_much_money,
    core_min=1,
)
