"""The search finds text from a file on disk and over http, and puts what explains a term first."""

from __future__ import annotations

import pytest

from tests.site.server import serve

pytestmark = [pytest.mark.site, pytest.mark.browser]

RESULTS = "#search-results ul.search > li > a"
DONE = "document.querySelector('.search-summary')?.innerText.startsWith('Search finished')"


def results(page) -> list[str]:
    """Targets of the results, once the search has ended."""
    page.wait_for_function(DONE)
    return [link.get_attribute("href") for link in page.locator(RESULTS).all()]


def test_a_file_on_disk_is_searched_without_a_request_or_a_complaint(visit, site):
    visit.page.goto((site / "search.html").as_uri() + "?q=advantage")
    found = results(visit.page)
    assert found[:2] == ["book/glossary.html#advantage", "notebooks/11_grpo.html"]
    visit.page.locator(RESULTS).first.click()
    visit.page.wait_for_url("**/book/glossary.html#advantage")
    assert visit.left == []
    assert visit.complaints == []


def test_the_search_field_of_a_chapter_leads_there(visit, site):
    visit.open(site / "notebooks" / "04_mdp_five_tuple.html")
    visit.page.keyboard.press("Control+k")
    field = visit.page.locator("#pst-search-dialog input")
    field.wait_for(state="visible")
    field.fill("importance ratio clipping")
    field.press("Enter")
    visit.page.wait_for_url("**/search.html?q=*")
    assert any(link.startswith("notebooks/11_grpo.html") for link in results(visit.page))
    assert visit.complaints == []


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("advantage", ["book/glossary.html#advantage", "notebooks/11_grpo.html"]),
        ("GRPO", ["book/glossary.html#grpo", "notebooks/11_grpo.html"]),
        ("baseline", ["book/glossary.html#baseline", "notebooks/11_grpo.html"]),
        ("reward hacking", ["book/glossary.html#reward-hacking"]),
        ("LoRA", ["book/glossary.html#lora"]),
        ("temperature", ["notebooks/02_why_post_training.html"]),
    ],
)
def test_over_http_what_explains_the_term_comes_first(browser, site, query, first):
    with serve(site) as served:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{served.url}search.html?q={query}")
        assert results(page)[: len(first)] == first
        page.wait_for_selector("#search-results p.context")  # an extract of the page
        page.wait_for_load_state("networkidle")
        context.close()


def test_nonsense_is_answered_with_a_sentence(visit, site):
    visit.page.goto((site / "search.html").as_uri() + "?q=xyzzyplugh")
    visit.page.wait_for_function(
        "document.querySelector('.search-summary')?.innerText.includes('did not match')"
    )
    assert visit.page.locator(RESULTS).count() == 0
