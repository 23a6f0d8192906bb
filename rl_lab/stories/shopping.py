"""Stories of the kind "shopping": what is paid."""

from __future__ import annotations

from rl_lab.stories._story import Family, NoFit, Story


def _price(s: Story) -> None:
    s.use_money()
    s.words["item"] = s.choose(
        "backpack", "clock", "desk lamp", "helmet", "jacket", "kettle", "keyboard", "radio"
    )
    s.value = s.draw(20, 400, 20)
    s.say(
        f"A {s.words['item']} costs {s.amount(s.value)}.",
        f"In a shop a {s.words['item']} has a price of {s.amount(s.value)}.",
    )


def _quantity(s: Story) -> None:
    q = s.draw(2, 12)
    s.words["quantity"] = str(q)
    s.say(f"{s.name} buys {q} of them.", f"{s.name} takes {q} of them.")
    s.step("*", q, f"{q} of them cost")


def _bought(s: Story) -> None:
    """Say who buys what, if no part did: every question that follows needs a buyer."""
    if "quantity" not in s.words:
        s.sentences.insert(1, f"{s.name} buys one.")


def _sale_price(s: Story) -> None:
    percent = int(s.choose("50", "60", "70", "75", "80", "90"))
    s.words["reduced"] = "yes"
    s.say(
        f"Today the shop sells everything at {percent}% of its price.",
        f"Today the shop takes only {percent}% of every price.",
    )
    s.step("*", percent / 100, "At the sale price that is")


def _percent_off(s: Story) -> None:
    if "reduced" in s.words:
        raise NoFit
    percent = int(s.choose("10", "15", "20", "25", "30", "40"))
    s.say(f"Today the shop takes {percent}% off every price.", f"Today there is a discount of {percent}%.")
    discount = s.work_out(s.value, "*", percent / 100, "The discount is")
    s.step("-", discount, "That leaves")


def _small_things(s: Story) -> None:
    q, each = s.draw(2, 9), s.draw(2, 15)
    thing = s.choose("batteries", "notebooks", "pens", "mugs", "lamp bulbs")
    s.say(f"{s.name} also buys {q} {thing} at {s.amount(each)} each, which are never on sale.")
    cost = s.work_out(q, "*", each, f"The {thing} cost")
    s.step("+", cost, "Together that is")


def _wrapping(s: Story) -> None:
    m = s.draw(2, 9)
    s.say(f"Gift wrapping costs {s.amount(m)} in all.", f"{s.name} adds a birthday card for {s.amount(m)}.")
    s.step("+", m, "With that it is")


def _delivery(s: Story) -> None:
    m = s.draw(3, 25)
    s.say(f"Delivery costs {s.amount(m)}.", f"For delivery the shop adds {s.amount(m)}.")
    s.step("+", m, "With delivery it is")


def _coupon(s: Story) -> None:
    m = s.draw(3, min(40, s.value // 2))
    s.say(f"A coupon takes {s.amount(m)} off the bill.", f"With a coupon the bill is {s.amount(m)} lower.")
    s.step("-", m, "With the coupon it is")


def _gift_card(s: Story) -> None:
    m = s.draw(5, min(50, s.value // 2))
    s.say(f"A gift card covers {s.amount(m)} of the bill.")
    s.step("-", m, "With the gift card it is")


def _change(s: Story) -> None:
    _bought(s)
    note = next((n for n in (50, 100, 200, 500, 1000, 2000, 5000) if n > s.value + 1), 0)
    if not note or note > s.max_value:
        raise NoFit
    s.say(f"{s.name} hands over {s.amount(note)}.")
    s.say(f"How much change does {s.name} get?")
    s.value = s.work_out(note, "-", s.value, "The change is")


def _bill_shared(s: Story) -> None:
    _bought(s)
    k = s.divisor(2, 6)
    s.say(f"{k} friends share the bill equally.")
    s.say("How much does each of the friends pay?")
    s.step("/", k, "Each pays")


def _weeks_of_saving(s: Story) -> None:
    _bought(s)
    k = s.divisor(4, 40)
    s.say(f"To pay for it all, {s.name} saves {s.amount(k)} a week.")
    s.say(f"How many weeks does {s.name} need?")
    s.prefix, s.suffix = "", " weeks"
    s.step("/", k, f"{s.name} needs")


def _how_much_paid(s: Story) -> None:
    _bought(s)
    s.say(f"How much does {s.name} pay?", f"How much does {s.name} have to pay in the end?")


FAMILY = Family(
    "shopping",
    _price,
    core=(),
    events=(
        (1, _quantity),
        (1, _sale_price),
        (2, _percent_off),
        (2, _small_things),
        (1, _wrapping),
        (1, _delivery),
        (1, _coupon),
        (1, _gift_card),
    ),
    endings=((1, _change), (1, _bill_shared), (1, _weeks_of_saving)),
    question=_how_much_paid,
    ordered=True,  # a discount comes before the coupon, and never on what is not reduced
)
