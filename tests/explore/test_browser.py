"""The figures' page in a real browser, opened from disk with the network off."""

from __future__ import annotations

import random

import pytest

from rl_lab.explore import figure_html
from tests.explore import figures
from tests.explore.browser import settle

pytestmark = pytest.mark.browser
READ = """root => ({
  reads: [...root.querySelectorAll('.xp-reads dd')].map(e => e.textContent),
  table: [...root.querySelectorAll('.xp-table tbody tr')].map(r => [...r.cells].map(c => c.textContent)),
  svg: root.querySelector('.xp-picture svg')?.innerHTML ?? '',
})"""
FUNCTIONS = list(figures.SETTINGS)


def figure_root(page, f):
    return page.locator('.xp[data-xp="explore"]').nth(FUNCTIONS.index(f))


def put(root, k: int, position: int) -> None:
    """Move control `k` the way a reader does."""
    row = root.locator(".xp-control").nth(k)
    kind = row.locator("input, select").first.evaluate("e => e.type")
    if kind == "range":
        row.locator("input").fill(str(position))
    elif kind == "checkbox":
        row.locator("input").set_checked(bool(position))
    elif kind == "radio":
        row.locator("input").nth(position).check()
    else:
        row.locator("select").select_option(index=position)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_control_in_many_places_shows_what_the_function_returns(open_page, whole_page, f):
    opened, figure = open_page(whole_page), figures.figure(f)
    root, rng = figure_root(opened.page, f), random.Random(3)
    place = [c.start for c in figure.controls]
    for k, control in enumerate(figure.controls):
        seen = set()
        for position in {0, len(control.values) - 1, *(rng.randrange(len(control.values)) for _ in range(3))}:
            place[k] = position
            put(root, k, position)
            shown = root.evaluate(READ)
            values = {c.name: c.values[i] for c, i in zip(figure.controls, place, strict=True)}
            frame = figure.frame(figure.call(values))
            assert shown["reads"] == frame["read"]
            assert shown["table"] == frame["table"]
            seen.add(str(shown))
        assert len(seen) > 1, f"{control.name} moves and nothing changes"
    assert opened.refused == []
    assert opened.complaints == []


def test_the_keyboard_moves_a_slider_by_steps_and_to_its_ends(open_page, whole_page):
    page = open_page(whole_page).page
    slider = figure_root(page, figures.returns).locator("input[type=range]").first
    slider.focus()
    for key, value in (
        ("Home", "0"),
        ("ArrowRight", "1"),
        ("ArrowUp", "2"),
        ("ArrowLeft", "1"),
        ("End", "10"),
    ):
        page.keyboard.press(key)
        assert slider.input_value() == value
    page.keyboard.press("PageDown")
    assert int(slider.input_value()) < 10
    page.keyboard.press("Home")
    assert slider.get_attribute("aria-valuetext") == "0"
    assert slider.evaluate("e => e.labels[0].textContent") == "discount γ"


def test_reset_brings_back_every_start_value(open_page, whole_page):
    page, figure = open_page(whole_page).page, figures.figure(figures.groups)
    root = figure_root(page, figures.groups)
    before = root.evaluate(READ)
    for k in range(3):
        put(root, k, 0)
    assert root.evaluate(READ) != before
    root.locator(".xp-reset").click()
    assert root.evaluate(READ) == before
    assert before["reads"] == figure.frame(figure.outputs[figure.start])["read"]


def test_a_drag_is_spoken_once_when_the_hand_rests(open_page, whole_page):
    page = open_page(whole_page, clock=True).page
    root = figure_root(page, figures.returns)
    page.evaluate("""() => { window.said = []; document.querySelectorAll('.xp-say').forEach(n =>
        new MutationObserver(() => said.push(n.textContent)).observe(n, {childList: true})); }""")
    for position in range(11):
        put(root, 0, position)
    assert page.evaluate("said") == []
    page.clock.run_for(10_000)
    said = page.evaluate("said")
    assert len(said) == 1
    assert "return G₀" in said[0]


def test_numbers_follow_the_picture(open_page, whole_page):
    page, figure = open_page(whole_page).page, figures.figure(figures.groups)
    root = figure_root(page, figures.groups)
    root.locator("summary").click()
    put(root, 0, 3)
    cells = root.locator(".xp-numbers tbody td").all_text_contents()
    frame = figure.frame(figure.call({"a": 1.0, "b": 0.5, "std": True}))
    assert [float(c) for c in cells[1::2]] == pytest.approx(frame["y"][1], abs=5e-3)


@pytest.mark.parametrize("width", [320, 360, 768, 1280])
def test_nothing_hangs_over_the_edge(open_page, whole_page, width):
    page = open_page(whole_page, width=width).page
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    over = page.evaluate("""() => [...document.querySelectorAll('.xp-picture > svg text')].filter(t => {
        const b = t.getBoundingClientRect(), p = t.closest('.xp').getBoundingClientRect();
        return b.left < p.left - 1 || b.right > p.right + 1; }).map(t => t.textContent)""")
    assert over == []


def test_a_narrow_picture_is_drawn_anew_not_shrunk(open_page, whole_page):
    page = open_page(whole_page, width=360).page
    sizes = page.evaluate("""() => [...document.querySelectorAll('.xp-picture > svg')].map(s =>
        s.clientWidth / s.viewBox.baseVal.width)""")
    assert all(abs(s - 1) < 0.02 for s in sizes)
    page.set_viewport_size({"width": 900, "height": 800})
    page.wait_for_function("document.querySelector('.xp-picture > svg').viewBox.baseVal.width > 600")


def test_without_a_script_everything_is_readable_and_no_control_is_dead(open_page, whole_page):
    page = open_page(whole_page, script=False).page
    assert page.locator(".xp input:visible, .xp select:visible, .xp button:visible").count() == 0
    assert page.locator(".xp-given:visible").count() >= 6
    assert page.locator(".xp-turn:visible").count() == 6
    figure = figures.figure(figures.returns)
    root = figure_root(page, figures.returns)
    assert (
        root.locator(".xp-reads dd").all_text_contents() == figure.frame(figure.outputs[figure.start])["read"]
    )
    assert root.locator("svg[role=img] .xp-line").count() == 1


def test_figures_that_carry_their_own_script_wake_up_too_and_only_once(open_page):
    opened = open_page(figures.page(site=False))
    assert opened.page.locator(".xp-on").count() == opened.page.locator(".xp").count() == len(FUNCTIONS) + 3
    root = figure_root(opened.page, figures.returns)
    put(root, 0, 10)
    assert root.evaluate(READ)["reads"][0] != ""
    opened.page.evaluate("() => { rlLabExplore.mountAll(); rlLabExplore.mountAll(); }")
    calls = opened.page.evaluate("""() => { const svg = document.querySelector('.xp-picture > svg'); let n = 0;
        new MutationObserver(() => n++).observe(svg, {attributes: true, attributeFilter: ['viewBox']});
        const input = document.querySelector('.xp input'); input.value = 1;
        input.dispatchEvent(new Event('input', {bubbles: true}));
        return new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(n)))); }""")
    assert calls == 1
    assert opened.complaints == []


def test_one_broken_figure_does_not_stop_the_others(open_page):
    broken = '<div class="xp" id="bad" data-xp="explore"></div>'
    broken += '<script type="application/json" class="xp-data" data-for="bad">{}</script>'
    good = figure_html(figures.still, site=False, **figures.SETTINGS[figures.still])
    opened = open_page(figures.page(site=False, body=broken + good))
    assert opened.page.locator(".xp-on").count() == 2
    assert any("figure bad" in c for c in opened.complaints)


def test_a_replay_moves_plays_and_stops(open_page, whole_page):
    page = open_page(whole_page, clock=True).page
    root = page.locator('.xp[data-xp="replay"]').first
    root.locator("input").fill("0")
    assert root.locator(".xp-value").text_content() == "0"
    assert root.locator(".xp-at b").first.text_content() == "0"
    assert "step 0" in root.locator(".xp-sample").first.text_content()
    play = root.locator(".xp-play")
    play.click()
    assert play.text_content() == "Pause"
    page.clock.run_for(2000)
    assert int(root.locator("input").input_value()) > 1
    play.click()
    stopped = root.locator("input").input_value()
    page.clock.run_for(10_000)
    assert root.locator("input").input_value() == stopped
    assert play.text_content() == "Play"


def test_a_trajectory_steps_and_adds_up(open_page, whole_page):
    page = open_page(whole_page).page
    root = page.locator('.xp[data-xp="trajectory"]')
    assert root.locator(".xp-hidden").count() == 4
    root.locator(".xp-next").click()
    assert root.locator(".xp-total").all_text_contents() == ["0.83", "0.1"]
    root.locator("input").fill("4")
    assert root.locator(".xp-hidden").count() == 0
    assert root.locator(".xp-total").all_text_contents() == ["0.83", "-0.15"]
    assert root.locator(".xp-next").is_disabled()
    assert figures.HOSTILE in root.locator(".xp-turn").last.text_content()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1000])
def test_axe_finds_nothing(open_page, dark, width):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
    )
    page = open_page(figures.page(dark=dark), width=width).page
    page.locator("summary").first.click()
    settle(page)
    violations = axe.Axe().run(page).response["violations"]
    assert [(v["id"], v["nodes"][0]["html"][:120]) for v in violations] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_contrast_where_the_page_names_no_theme(open_page, whole_page, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
    )
    page = open_page(whole_page.replace(' data-theme="light"', ""), color_scheme=scheme).page
    paper = page.locator(".xp").first.evaluate("e => getComputedStyle(e).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    violations = axe.Axe().run(page, ".xp", {"runOnly": ["color-contrast"]}).response["violations"]
    assert violations == []


def test_print_shows_the_values_and_no_controls(open_page, whole_page):
    page = open_page(whole_page).page
    put(figure_root(page, figures.returns), 0, 10)
    page.emulate_media(media="print")
    assert page.locator(".xp input:visible").count() == 0
    assert "discount γ: 1" in figure_root(page, figures.returns).locator(".xp-given").text_content()
    assert figure_root(page, figures.returns).locator(".xp-given").is_visible()
