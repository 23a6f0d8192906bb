"""Stories of the kind "collection": how many things does somebody have."""

from __future__ import annotations

from rl_lab.stories._story import Family, Story


def _collection(s: Story) -> None:
    s.words["things"] = s.choose(
        "stickers", "marbles", "coins", "stamps", "cards", "shells", "badges", "postcards"
    )
    s.suffix = f" {s.words['things']}"
    s.value = s.draw(8, 60)
    s.say(f"{s.name} has {s.value}{s.suffix}.", f"{s.name} owns {s.value}{s.suffix}.")


def _gift(s: Story) -> None:
    m = s.draw(3, 40)
    s.say(f"{s.friend} gives {s.name} {m} more.", f"For a birthday {s.name} is given {m} more{s.suffix}.")
    s.step("+", m, f"With the gift {s.name} has")


def _bargain(s: Story) -> None:
    m = s.draw(3, 30)
    s.say(f"{s.name} buys {m} more{s.suffix} at a market.", f"{s.name} finds {m} more{s.suffix} in a drawer.")
    s.step("+", m, f"Then {s.name} has")


def _lost(s: Story) -> None:
    m = s.draw(2, min(20, s.value - 2))
    s.say(f"On a trip {s.name} loses {m}{s.suffix}.", f"{s.name} throws away {m} damaged{s.suffix}.")
    s.step("-", m, f"After that {s.name} has")


def _given_away(s: Story) -> None:
    m = s.draw(2, min(30, s.value - 2))
    s.say(f"{s.name} gives {m}{s.suffix} to a cousin.", f"{s.name} lets a neighbour keep {m}{s.suffix}.")
    s.step("-", m, f"That leaves {s.name} with")


def _half_sold(s: Story) -> None:
    s.say(
        f"Then {s.name} sells half of the{s.suffix}.",
        f"{s.name} then gives half of the{s.suffix} to a school.",
    )
    s.step("/", 2, f"{s.name} keeps")


def _third_lent(s: Story) -> None:
    part = s.work_out(s.value, "/", 3, f"A third of the{s.suffix} is")
    s.say(f"Then {s.name} lends a third of the{s.suffix} to a museum.")
    s.step("-", part, f"{s.name} still has")


def _boxes_opened(s: Story) -> None:
    boxes, each = s.draw(2, 8), s.draw(3, 12)
    kind = s.choose("boxes", "bags", "packs")
    s.say(f"{s.name} gets {boxes} {kind} with {each}{s.suffix} in each of them.")
    extra = s.work_out(boxes, "*", each, f"The {kind} hold")
    s.step("+", extra, f"Now {s.name} has")


def _doubled(s: Story) -> None:
    s.say(f"Then an aunt doubles the number of{s.suffix} that {s.name} has.")
    s.step("*", 2, f"Doubled, {s.name} has")


def _into_albums(s: Story) -> None:
    k = s.divisor(2, 12)
    place = s.choose("albums", "jars", "trays")
    s.say(f"Finally {s.name} spreads all of the{s.suffix} evenly over {k} {place}.")
    s.say(f"How many{s.suffix} does each of the {place} hold?")
    s.step("/", k, "Each holds")


def _more_than_friend(s: Story) -> None:
    m = s.draw(3, s.value - 2)
    s.say(f"At the end {s.other} has {m}{s.suffix}.")
    s.say(f"How many more{s.suffix} than {s.other} does {s.name} have then?")
    s.step("-", m, "The difference is")


def _together(s: Story) -> None:
    k = s.draw(2, 4)
    times = {2: "twice", 3: "three times", 4: "four times"}[k]
    s.say(f"At the end {s.other} has {times} as many{s.suffix} as {s.name}.")
    s.say(f"How many{s.suffix} do {s.name} and {s.other} have together?")
    theirs = s.work_out(s.value, "*", k, f"{s.other} has")
    s.step("+", theirs, "Together they have")


def _how_many_now(s: Story) -> None:
    s.say(f"How many{s.suffix} does {s.name} have now?", f"How many{s.suffix} does {s.name} have in the end?")


FAMILY = Family(
    "collection",
    _collection,
    core=(),
    events=(
        (1, _gift),
        (1, _bargain),
        (1, _lost),
        (1, _given_away),
        (1, _half_sold),
        (1, _doubled),
        (2, _third_lent),
        (2, _boxes_opened),
    ),
    endings=((1, _into_albums), (1, _more_than_friend), (2, _together)),
    question=_how_many_now,
)
