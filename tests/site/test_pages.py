"""Each built page: complete, self-contained, readable on a phone and in the dark, open to a screen reader."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from tests.explore.browser import settle
from tests.site.pages import PAGES

pytestmark = pytest.mark.site

LOADS = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "object": "data",
}
HEAVIEST = 1_500_000  # bytes of one page's own HTML; figures are the bulk of it


class Page(HTMLParser):
    """What a page loads, links to and can be linked at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads, self.links, self.ids, self.images = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        at = dict(attrs)
        if (
            tag in LOADS
            and at.get(LOADS[tag])
            and at.get("rel") not in ("canonical", "next", "prev", "author", "index", "search")
        ):
            self.loads.append(at[LOADS[tag]])
        if tag == "a" and at.get("href"):
            self.links.append(at["href"])
        if tag == "img":
            self.images.append(at)
        self.ids += [at[key] for key in ("id", "name") if at.get(key) and (key == "id" or tag == "a")]


@pytest.fixture
def parsed(site, page_name) -> Page:
    return Page((site / f"{page_name}.html").read_text("utf-8"))


def test_the_index_leads_to_the_home_page(site):
    assert f"{PAGES[0]}.html" in (site / "index.html").read_text("utf-8")


def test_loads_nothing_from_another_host(parsed):
    assert [url for url in parsed.loads if re.match(r"(https?:)?//", url)] == []


def test_ids_are_unique(parsed):
    assert sorted({i for i in parsed.ids if parsed.ids.count(i) > 1}) == []


def test_every_image_says_what_it_shows(parsed):
    assert [image.get("src") for image in parsed.images if "alt" not in image] == []


def test_links_within_the_site_lead_to_a_page_and_a_place(site, page_name, parsed):
    here = site / f"{page_name}.html"
    dead = []
    for link in parsed.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            assert parts.scheme in ("https", "http", "mailto"), link
            continue
        target = (here.parent / unquote(parts.path)).resolve() if parts.path else here
        if not target.is_file():
            dead.append(link)
        elif parts.fragment and target.suffix == ".html":
            dead += [] if parts.fragment in Page(target.read_text("utf-8")).ids else [link]
    assert dead == []


def test_weighs_little(site, page_name, record_property):
    size = (site / f"{page_name}.html").stat().st_size
    record_property("bytes", size)
    assert size < HEAVIEST, f"{size:,} bytes; coarser slider steps make it lighter"


def test_no_button_without_an_address(site, page_name):
    text = (site / f"{page_name}.html").read_text("utf-8")
    assert "colab.research.google.com" not in text
    assert "your-fork" not in text or page_name.startswith("book/")


def test_nothing_unfinished_is_printed(site, page_name):
    text = (site / f"{page_name}.html").read_text("utf-8")
    assert not re.search(r"TODO|FIXME|Traceback|Glyph \d+|np\.float64", text)


@pytest.mark.browser
def test_shows_formulas_and_complains_about_nothing_with_the_network_off(visit, site, page_name):
    visit.open(site / f"{page_name}.html")
    if visit.page.locator(".math").count():
        visit.page.wait_for_selector("html[data-math=set]", state="attached")
        assert visit.page.locator(".math:not(:has(.katex))").count() == 0
        assert visit.page.locator(".katex-error").all_inner_texts() == []
    assert visit.left == []
    assert visit.complaints == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 390])
def test_fits_a_phone(visit, site, page_name, width):
    visit.page.set_viewport_size({"width": width, "height": 800})
    visit.open(site / f"{page_name}.html")
    settle(visit.page)
    wide = visit.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width, f"the page is {wide} pixels wide on a screen of {width}"


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit, site, page_name, theme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    visit.open(site / f"{page_name}.html")
    if theme == "dark":
        visit.dark()
    for details in visit.page.locator("article details").all():
        details.evaluate("e => { e.open = true }")  # folded parts are read too
    settle(visit.page)
    found = axe.run(visit.page, context="article").response["violations"]
    serious = [
        f"{v['id']} ({len(v['nodes'])} times): {v['nodes'][0]['target']} {v['nodes'][0]['failureSummary'][:200]}"
        for v in found
        if v["impact"] in ("serious", "critical")
    ]
    assert serious == []
