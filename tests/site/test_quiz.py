"""The self-test of the nine questions: ticks count, stay, can be taken away, and hinder nobody who has no script."""

from __future__ import annotations

import json
import re

import pytest

from tests.site.pages import ROOT

pytestmark = [pytest.mark.site, pytest.mark.browser]

PAGE = "book/interview.html"
KEY = "rl_lab.interview"
POINTS = [
    len(re.findall(r"^- ", block, re.M))
    for block in re.findall(
        r"^\{\.points\}\n(.*?)\n\n", (ROOT / "book" / "interview.md").read_text("utf-8"), re.M | re.S
    )
]


@pytest.fixture
def quiz(visit, site):
    """The page with every answer open, no tick made, watched for complaints and requests."""
    visit.open(site / PAGE)
    visit.page.evaluate("localStorage.clear()")
    visit.page.reload()
    unfold(visit.page)
    yield visit
    assert visit.left == []
    assert visit.complaints == []


def unfold(page) -> None:
    page.evaluate("for (const d of document.querySelectorAll('details.answer')) d.open = true")


def total(page) -> str:
    return page.locator(".quiz-total").first.inner_text()


def parts(page) -> list[str]:
    return page.locator("summary .quiz-part").all_inner_texts()


def test_every_point_is_a_box_with_its_text_as_the_label(quiz):
    boxes = quiz.page.locator("ul.points input[type=checkbox]")
    assert boxes.count() == sum(POINTS)
    assert boxes.evaluate_all(
        "bs => bs.every(b => b.labels.length === 1 && b.labels[0].textContent.length > 20)"
    )
    assert total(quiz.page) == f"0 of {sum(POINTS)} points"
    assert parts(quiz.page) == [f"0 of {n}" for n in POINTS]


def test_a_tick_counts_at_its_question_and_in_all(quiz):
    quiz.page.get_by_label("Several steps, in an environment").check()
    quiz.page.locator("#point-9-2").check()
    assert total(quiz.page) == f"2 of {sum(POINTS)} points"
    assert parts(quiz.page) == [f"1 of {n}" if i in (0, 8) else f"0 of {n}" for i, n in enumerate(POINTS)]
    assert quiz.page.locator(".quiz-total").nth(1).inner_text() == total(quiz.page), (
        "the panel at the end agrees"
    )
    assert quiz.page.locator("progress").first.evaluate("p => [p.value, p.max]") == [2, sum(POINTS)]
    quiz.page.locator("#point-9-2").uncheck()
    assert total(quiz.page) == f"1 of {sum(POINTS)} points"


def test_a_screen_reader_hears_the_question_and_the_total(quiz):
    live = quiz.page.locator("[role=status]")
    assert live.count() == 1
    quiz.page.locator("#point-2-1").check()
    assert live.inner_text() == f"Question 2: 1 of {POINTS[1]}. In all 1 of {sum(POINTS)} points."


def test_the_ticks_are_there_after_a_reload_and_in_a_new_tab(quiz, site):
    for point in ("#point-1-1", "#point-3-2", "#point-8-5"):
        quiz.page.locator(point).check()
    quiz.page.reload()
    assert total(quiz.page) == f"3 of {sum(POINTS)} points"
    other = quiz.page.context.new_page()
    other.goto((site / PAGE).as_uri())
    assert other.locator("#point-3-2").is_checked()
    other.close()


def test_reset_takes_all_away_and_the_same_button_brings_them_back(quiz):
    reset = quiz.page.locator(".quiz-reset").first
    assert reset.is_disabled()
    quiz.page.locator("#point-1-1").check()
    reset.click()
    assert total(quiz.page) == f"0 of {sum(POINTS)} points"
    assert quiz.page.locator("ul.points input:checked").count() == 0
    assert reset.inner_text() == "Undo"
    reset.click()
    assert total(quiz.page) == f"1 of {sum(POINTS)} points"
    reset.click()
    quiz.page.locator("#point-4-1").check()
    assert reset.inner_text() == "Reset", "after a new tick there is nothing to undo"
    assert total(quiz.page) == f"1 of {sum(POINTS)} points"


def test_the_keyboard_opens_an_answer_ticks_and_resets(quiz):
    page = quiz.page
    page.reload()
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "point-1-1"
    page.keyboard.press("Space")
    assert total(page) == f"1 of {sum(POINTS)} points"
    page.locator(".quiz-reset").first.focus()
    page.keyboard.press("Enter")
    assert total(page) == f"0 of {sum(POINTS)} points"


def test_the_list_at_the_end_leads_to_each_question(quiz):
    links = quiz.page.locator(".quiz-list a")
    assert links.count() == len(POINTS)
    for i in range(len(POINTS)):
        target = links.nth(i).get_attribute("href").removeprefix("#")
        heading = quiz.page.locator(f'[id="{target}"] h2').first.inner_text()
        assert links.nth(i).inner_text() in heading
        assert heading.startswith(f"{i + 1}. ")


def test_running_the_script_twice_changes_nothing(quiz):
    quiz.page.locator("#point-1-1").check()
    before = quiz.page.locator("article").inner_html()
    quiz.page.add_script_tag(path=str(ROOT / "_assets" / "quiz.js"))
    assert quiz.page.locator("article").inner_html() == before


@pytest.mark.parametrize("kept", ["{", "7", '{"a": 1}', '["a point that is no longer there"]', "null"])
def test_a_store_that_says_nonsense_is_an_empty_one(quiz, kept):
    quiz.page.evaluate("([key, kept]) => localStorage.setItem(key, kept)", [KEY, kept])
    quiz.page.reload()
    assert total(quiz.page) == f"0 of {sum(POINTS)} points"
    unfold(quiz.page)
    quiz.page.locator("#point-1-1").check()
    assert total(quiz.page) == f"1 of {sum(POINTS)} points"
    assert isinstance(json.loads(quiz.page.evaluate("key => localStorage.getItem(key)", KEY)), list)


def test_a_browser_that_stores_nothing_still_counts(browser, site):
    context = browser.new_context()
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied') } })"
    )
    page = context.new_page()
    page.goto((site / PAGE).as_uri())
    unfold(page)
    page.locator("#point-1-1").check()
    assert total(page) == f"1 of {sum(POINTS)} points"
    context.close()


def test_without_a_script_the_page_is_plain_text(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / PAGE).as_uri())
    assert page.locator("article input, article .quiz-reset").count() == 0
    assert (
        f"There are {sum(POINTS)} points in nine questions" in page.locator(".quiz-score").first.inner_text()
    )
    page.locator("summary").first.click()
    assert page.locator("ul.points li").first.is_visible()
    assert page.get_by_text("A model answer.").first.is_visible()
    context.close()


def test_on_any_other_page_it_does_nothing(visit, site):
    for name in ("book/glossary.html", "notebooks/07_reward_functions.html"):
        visit.open(site / name)
        assert visit.page.locator(".quiz-live, .quiz-total, [data-quiz]").count() == 0
        assert visit.page.evaluate("localStorage.getItem('rl_lab.interview')") is None
    assert visit.complaints == []
