"""Stories of the kind "trip": how far."""

from __future__ import annotations

from rl_lab.stories._story import Family, NoFit, Story


def _vehicle(s: Story) -> None:
    s.words["vehicle"] = s.choose("bus", "train", "van", "truck")
    s.suffix = " km"
    s.value = s.draw(30, 110, 5)
    s.say(f"In the morning a {s.words['vehicle']} travels at {s.value} km an hour.")


def _morning_hours(s: Story) -> None:
    h = s.draw(2, 6)
    s.say(f"It keeps this speed for {h} hours.")
    s.step("*", h, "In the morning it covers")


def _leg(s: Story, when: str) -> None:
    speed, h = s.draw(30, 100, 10), s.draw(2, 5)
    s.say(f"{when} it travels for {h} hours at {speed} km an hour.")
    leg = s.work_out(h, "*", speed, f"{when} it covers")
    s.step("+", leg, "In all that is")


def _afternoon(s: Story) -> None:
    _leg(s, "In the afternoon")


def _evening(s: Story) -> None:
    _leg(s, "In the evening")


def _next_day(s: Story) -> None:
    _leg(s, "On the next day")


def _detour(s: Story) -> None:
    m = s.draw(5, 60)
    s.say(f"Because of a closed bridge it then drives another {m} km.")
    s.step("+", m, "With the detour that is")


def _depot(s: Story) -> None:
    m = s.draw(3, 40)
    s.say(f"From there the {s.words['vehicle']} drives {m} km to a depot.")
    s.step("+", m, "With the way to the depot that is")


def _and_back(s: Story) -> None:
    s.words["returned"] = "yes"
    s.say("Later it returns the whole way by the same roads.")
    s.step("*", 2, "There and back that is")


def _still_to_go(s: Story) -> None:
    if "returned" in s.words:
        raise NoFit
    total = s.draw(s.value + 20, s.value + 600, 10)
    s.say(f"The whole route is {s.number(total)} km long.")
    s.say("How many km are still to go?")
    s.value = s.work_out(total, "-", s.value, "Still to go are")


def _fuel(s: Story) -> None:
    k = s.divisor(3, 15)
    s.say(f"The {s.words['vehicle']} needs 1 litre of fuel for every {k} km.")
    s.say("How many litres does it need for all this?")
    s.suffix = " litres"
    s.step("/", k, "It needs")


def _fuel_cost(s: Story) -> None:
    k = s.divisor(3, 15)
    s.suffix = " litres"
    s.step("/", k, "It needs")
    s.use_money()
    p = s.draw(2, 9)
    s.say(
        f"The {s.words['vehicle']} needs 1 litre of fuel for every {k} km, and a litre costs {s.amount(p)}."
    )
    s.say("How much does the fuel cost?")
    s.step("*", p, "The fuel costs")


def _how_far(s: Story) -> None:
    s.say(f"How many km does the {s.words['vehicle']} travel in all?")


FAMILY = Family(
    "trip",
    _vehicle,
    core=((1, _morning_hours),),
    events=((1, _detour), (2, _afternoon), (2, _evening), (1, _depot), (2, _next_day), (1, _and_back)),
    endings=((1, _still_to_go), (1, _fuel), (2, _fuel_cost)),
    question=_how_far,
    core_min=1,
    ordered=True,
)
