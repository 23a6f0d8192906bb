"""Stories of the kind "weather": sums that go below zero."""

from __future__ import annotations

from rl_lab.stories._story import Family, Story

_CLOCK = ("8 am", "10 am", "noon", "2 pm", "4 pm", "6 pm", "8 pm", "10 pm")


def _morning(s: Story) -> None:
    s.words |= {"any_size": "yes", "clock": "0"}
    s.suffix = " degrees"
    s.value = s.draw(2, 14)
    place = s.choose("garden", "yard", "village", "valley")
    s.say(f"At 6 am a thermometer in the {place} shows {s.value} degrees.")


def _by(s: Story) -> str:
    hour = int(s.words["clock"])
    s.words["clock"] = str(hour + 1)
    return _CLOCK[hour]


def _turn(s: Story, sign: str, low: int, high: int) -> None:
    m, when = s.draw(low, high), _by(s)
    word = s.choose("rises", "goes up") if sign == "+" else s.choose("falls", "drops")
    s.say(f"By {when} the temperature {word} by {m} degrees.")
    s.step(sign, m, f"At {when} it is")


def _rise(s: Story) -> None:
    _turn(s, "+", 2, 9)


def _fall(s: Story) -> None:
    _turn(s, "-", 2, 12)


def _hourly(s: Story) -> None:
    m, when = s.draw(2, 4), _by(s)
    s.say(f"In the 2 hours until {when} the temperature falls by {m} degrees an hour.")
    drop = s.work_out(2, "*", m, "The fall is")
    s.step("-", drop, f"At {when} it is")


def _how_warm(s: Story) -> None:
    s.say("How many degrees does the thermometer show then?")


FAMILY = Family(
    "weather",
    _morning,
    core=(),
    events=((1, _rise), (1, _fall), (1, _rise), (1, _fall), (2, _hourly), (1, _fall), (1, _rise)),
    endings=(),
    question=_how_warm,
)
