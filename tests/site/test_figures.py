"""Every slider of every page, moved in the built site with no kernel and no network, says what Python says."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.site.pages import PAGES, figures

pytestmark = [pytest.mark.site, pytest.mark.browser]

# Figures of what a live model did differ from run to run: they are on the page, and no second run to compare with is.
COMPARED = '.xp[data-xp="explore"]:not(.tag_model .xp)'

READ = """(root) => ({
  reads: [...root.querySelectorAll(".xp-reads dd")].map(e => e.textContent),
  table: [...root.querySelectorAll(".xp-table tbody tr")].map(r => [...r.cells].map(c => c.textContent)),
  picture: root.querySelector(".xp-picture svg")?.innerHTML ?? "",
})"""


def positions(count: int, rng: random.Random) -> list[int]:
    """Both ends, and a few places between."""
    return list(dict.fromkeys([count - 1, 0, *(rng.randrange(count) for _ in range(2))]))


def move(root, control: int, position: int) -> None:
    """Put one control to a position, as a hand would: by the elements that the page shows."""
    row = root.locator(".xp-control").nth(control)
    kind = row.locator("input, select").first.evaluate("e => e.type")
    if kind == "range":
        field = row.locator("input")
        field.evaluate(
            "(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})) }", position
        )
    elif kind == "checkbox":
        row.locator("input").set_checked(bool(position))
    elif kind == "radio":
        row.locator("input").nth(position).check()
    else:
        row.locator("select").select_option(index=position)


def moved(figure, place: list[int]) -> dict:
    """What Python's own function returns there, as the page should show it."""
    values = {c.name: c.values[i] for c, i in zip(figure.controls, place, strict=True)}
    return figure.frame(figure.call(values))


def acts_somewhere(figure, k: int) -> bool:
    """Whether control k changes anything once the others are moved: a decision list may stop before it asks."""
    others = [range(len(c.values)) if i != k else [0] for i, c in enumerate(figure.controls)]
    last = len(figure.controls[k].values) - 1
    for place in itertools.product(*others):
        low, high = (moved(figure, [*place[:k], end, *place[k + 1 :]]) for end in (0, last))
        if low != high:
            return True
    return False


def test_every_control_of_every_page_shows_what_python_computes(visit, site, page_name, record_property):
    expected = figures(page_name)
    visit.open(site / f"{page_name}.html")
    roots = visit.page.locator(COMPARED)
    assert roots.count() == len(expected)
    rng, controls, moves = random.Random(7), 0, 0
    for number, figure in enumerate(expected):
        root, start = roots.nth(number), [c.start for c in figure.controls]
        assert root.locator(".xp-control").count() == len(start)

        def compare(place, root=root, figure=figure, number=number):
            frame, shown = moved(figure, place), root.evaluate(READ)
            assert shown["reads"] == frame["read"], (number, place)
            assert shown["table"] == frame["table"], (number, place)
            return str(shown)

        for k, control in enumerate(figure.controls):
            seen = {str(root.evaluate(READ))}
            for position in positions(len(control.values), rng):
                move(root, k, position)
                seen.add(compare([*start[:k], position, *start[k + 1 :]]))
                moves += 1
            inert = f"figure {number + 1}: {control.name} moves and nothing changes"
            assert len(seen) > 1 or acts_somewhere(figure, k), inert
            move(root, k, control.start)
        for _ in range(3 if figure.controls else 0):
            place = [rng.randrange(len(c.values)) for c in figure.controls]
            for k, position in enumerate(place):
                move(root, k, position)
            compare(place)
        if figure.controls:
            root.locator(".xp-reset").click()
        compare(start)
        controls += len(figure.controls)
    assert visit.left == []
    assert visit.complaints == []
    record_property(
        "figures", f"{page_name}: {len(expected)} figures, {controls} controls, {moves} positions compared"
    )
    print(
        f"{page_name}: {len(expected)} figures, {controls} controls, {moves} positions compared, 0 requests left"
    )


@pytest.mark.parametrize(
    "name", [name for name in PAGES if name.startswith("notebooks/")], ids=lambda n: n[10:]
)
def test_a_slider_obeys_the_keyboard(visit, site, name):
    visit.open(site / f"{name}.html")
    slider = visit.page.locator('.xp input[type="range"]').first
    slider.focus()
    first, last = (int(slider.get_attribute(end) or 0) for end in ("min", "max"))
    for key, value in (("End", last), ("ArrowLeft", last - 1), ("Home", first), ("ArrowRight", first + 1)):
        visit.page.keyboard.press(key)
        assert int(slider.input_value()) == value, key
    assert slider.get_attribute("aria-valuetext")
    assert slider.evaluate("e => e.labels.length") == 1


@pytest.mark.parametrize(
    "name", [name for name in PAGES if name.startswith("notebooks/")], ids=lambda n: n[10:]
)
def test_without_a_script_the_first_picture_and_its_numbers_are_there(browser, site, name):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / f"{name}.html").as_uri())
    figures_there = page.locator(".xp")
    assert figures_there.count() >= 1
    for i in range(figures_there.count()):
        figure = figures_there.nth(i)
        assert figure.locator("svg[role=img], .xp-reads, table, .xp-turn").count() >= 1
    assert page.locator(".xp input:visible:not([disabled])").count() == 0, "no control that does nothing"
    context.close()
