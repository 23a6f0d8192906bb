"""What a good site does unasked: descriptions, a way back from a wrong address, rings, print, a table to take away."""

from __future__ import annotations

import csv
import io
import re
import struct
import subprocess
import sys
import urllib.error
import urllib.request
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
import yaml

import rl_lab
from tests.site.pages import PAGES, ROOT
from tests.site.server import serve

pytestmark = pytest.mark.site

TITLE = "Agentic RL, by doing it"


class Page(HTMLParser):
    """Meta entries, addresses and places of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.meta, self.addresses, self.ids, self.canonical = {}, [], set(), None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        at = dict(attrs)
        if tag == "meta" and (name := at.get("name") or at.get("property")):
            self.meta[name] = at.get("content", "")
        if tag == "link" and at.get("rel") == "canonical":
            self.canonical = at["href"]
        elif tag != "form":
            self.addresses += [at[key] for key in ("href", "src") if at.get(key)]
        self.ids |= {at[key] for key in ("id", "name") if at.get(key)}


def read(path) -> Page:
    return Page(path.read_text("utf-8"))


def png_size(path) -> tuple[int, int]:
    return struct.unpack(">II", path.read_bytes()[16:24])


# ---------------------------------------------------------------- what a result list and a shared link show


def test_each_page_says_what_it_is_about(site):
    about = {
        name: read(site / f"{name}.html").meta.get("description", "") for name in [*PAGES, "search", "404"]
    }
    assert {name: text for name, text in about.items() if not 40 <= len(text) <= 201} == {}
    assert len(set(about.values())) == len(about)


def test_a_shared_link_makes_a_card(site, page_name):
    page = read(site / f"{page_name}.html")
    assert page.meta["twitter:card"] == "summary_large_image"
    assert page.meta["og:description"] == page.meta["description"]
    assert page.meta["og:site_name"] == TITLE
    assert page.meta["og:title"]
    image = (site / f"{page_name}.html").parent / page.meta["og:image"]
    assert png_size(image) == (1200, 630)
    assert page.meta["twitter:image"] == page.meta["og:image"]
    assert page.meta["og:image:alt"]


def test_the_root_of_the_site_makes_the_card_too(site):
    page = read(site / "index.html")
    assert page.meta["og:title"] == TITLE
    assert (site / page.meta["og:image"]).is_file()


def test_without_an_address_nothing_claims_one(site, page_name):
    page = read(site / f"{page_name}.html")
    assert page.canonical is None
    assert "og:url" not in page.meta
    assert not (site / "sitemap.xml").exists()


def test_with_an_address_each_page_names_its_own(tmp_path):
    source = tmp_path / "source"
    (source / "part").mkdir(parents=True)
    (source / "index.rst").write_text("Home\n====\n\n.. toctree::\n\n   part/one\n", "utf-8")
    (source / "part" / "one.rst").write_text(
        "One\n===\n\nA first paragraph, long enough to say in one sentence what the page is about.\n", "utf-8"
    )
    (source / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / '_ext')!r})\nextensions = ['site_manners']\n"
        f"templates_path = [{str(ROOT / '_ext' / 'templates')!r}]\nhtml_baseurl = 'https://you.github.io/course/'\n"
        f"html_title = {TITLE!r}\n",
        "utf-8",
    )
    built = tmp_path / "built"
    subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", source, built], check=True)
    page = read(built / "part" / "one.html")
    assert page.canonical == page.meta["og:url"] == "https://you.github.io/course/part/one.html"
    assert page.meta["og:image"] == "https://you.github.io/course/_static/card.png"
    assert page.meta["description"].startswith("A first paragraph, long enough")
    assert read(built / "index.html").canonical == "https://you.github.io/course/index.html"
    listed = re.findall("<loc>(.*)</loc>", (built / "sitemap.xml").read_text("utf-8"))
    assert listed == [f"https://you.github.io/course/{name}.html" for name in ("index", "part/one")]


@pytest.mark.parametrize(
    ("repository", "site_address"),
    [
        ("https://github.com/You/your-fork", "https://you.github.io/your-fork/"),
        ("https://github.com/you/you.github.io", "https://you.github.io/"),
        ("https://git.example.org/you/your-fork", ""),
        ("", ""),
    ],
)
def test_the_address_follows_from_the_repository(monkeypatch, repository, site_address):
    monkeypatch.syspath_prepend(str(ROOT / "_ext"))
    import site_manners

    assert site_manners.published_at(repository) == site_address


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Short and whole.", "Short and whole."),
        ("One sentence. " + "Another one that goes on " * 10, "One sentence."),
        ("word " * 60, "word " * 39 + "word…"),
        ("In 0.75 of cases it holds. " + "X" * 200, "In 0.75 of cases it holds."),
    ],
)
def test_a_description_ends_with_a_sentence_or_a_word(monkeypatch, text, shown):
    monkeypatch.syspath_prepend(str(ROOT / "_ext"))
    import site_manners

    assert site_manners.first_sentences(text) == shown


# ---------------------------------------------------------------- addresses


@pytest.fixture(scope="module")
def every_page(site) -> dict:
    """Each HTML file of the site, parsed, by its place in it; whatever page it belongs to."""
    return {
        str(path.relative_to(site)): read(path)
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }


def within(every_page):
    """Each address of each page that stays within the site: (page, address)."""
    for name, page in every_page.items():
        for address in page.addresses:
            if not urlsplit(address).scheme and not urlsplit(address).netloc:
                yield name, address


def test_from_a_file_on_disk_every_address_leads_to_a_file_and_a_place(site, every_page):
    dead = []
    for name, address in within(every_page):
        parts = urlsplit(address)
        target = (site / name).parent / unquote(parts.path) if parts.path else site / name
        target = target.resolve()
        if not target.is_file():
            dead.append((name, address))
        elif parts.fragment and target.suffix == ".html":
            place = every_page[str(target.relative_to(site.resolve()))]
            dead += [] if unquote(parts.fragment) in place.ids else [(name, address)]
    assert dead == []
    assert len(every_page) >= len(PAGES) + 3  # the index, the search, the page for a wrong address


def test_over_http_every_address_is_answered(site, every_page):
    with serve(site) as served:
        wanted = {
            urldefrag(urljoin(f"{served.url}{name}", address))[0] for name, address in within(every_page)
        }
        assert all(address.startswith(served.url) for address in wanted)
        dead = []
        for address in sorted(wanted):
            try:
                urllib.request.urlopen(urllib.request.Request(address, method="HEAD")).close()
            except urllib.error.HTTPError as error:
                dead.append((address, error.code))
    assert dead == []
    assert len(wanted) > 2 * len(PAGES)


@pytest.mark.browser
@pytest.mark.parametrize("wrong", ["nothing.html", "notebooks/11_gpro.html", "a/b/c/d", "notebooks/"])
def test_a_wrong_address_leads_back_into_the_course(browser, site, wrong):
    with serve(site) as served:
        context = browser.new_context()
        page = context.new_page()
        assert page.goto(served.url + wrong).status == 404
        page.wait_for_selector("html[data-root=found]", state="attached")
        with page.expect_navigation() as home:
            page.locator("a").click()
        assert home.value.status == 200
        assert page.url == f"{served.url}book/index.html"
        page.goto(served.url + wrong)
        page.wait_for_selector("html[data-root=found]", state="attached")
        page.locator("input").fill("advantage")
        with page.expect_navigation() as search:
            page.locator("button").click()
        assert search.value.status == 200
        assert page.url == f"{served.url}search.html?q=advantage"
        context.close()


# ---------------------------------------------------------------- keyboard and print

# Each element that the keyboard reaches, and whether it differs once it has the focus. An outline or a shadow of two
# pixels or more is a ring; the search field's stands round its form. Sliders draw theirs at the thumb.
WITHOUT_RING = """() => {
  const reached = [...document.querySelectorAll("a[href], button, summary, input, select, textarea, [tabindex='0']")]
    .filter(e => !e.disabled && e.type !== "range" && e.checkVisibility({ visibilityProperty: true }));
  const shadow = (e) => getComputedStyle(e).boxShadow, bad = [];
  for (const element of reached) {
    const holder = element.closest("form.bd-search") || element;
    document.activeElement.blur();
    const before = shadow(holder);
    element.focus();
    if (document.activeElement !== element) continue;   // in a part that is folded away
    const style = getComputedStyle(element);
    const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && style.outlineColor;
    if (!element.matches(":focus-visible")) bad.push("not :focus-visible: " + element.outerHTML.slice(0, 120));
    else if (!ring && shadow(holder) === before) bad.push(element.outerHTML.slice(0, 120));
  }
  return [reached.length, bad];
}"""


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["book/index", "notebooks/11_grpo", "book/interview", "search"])
@pytest.mark.parametrize("width", [1280, 390])
def test_everything_the_keyboard_reaches_has_a_ring(visit, site, name, theme, width):
    visit.page.set_viewport_size({"width": width, "height": 900})
    visit.open(site / f"{name}.html")
    visit.page.add_style_tag(content="* { transition: none !important; }")
    if theme == "dark":
        visit.dark()
    for details in visit.page.locator("article details").all():
        details.evaluate("e => { e.open = true }")
    visit.page.keyboard.press("Tab")  # from now on the browser shows the focus
    reached, bad = visit.page.evaluate(WITHOUT_RING)
    assert reached >= (5 if name == "search" else 20)
    assert bad == []


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_slider_shows_the_focus(visit, site, theme):
    visit.open(site / "book" / "index.html")
    if theme == "dark":
        visit.dark()
    slider = visit.page.locator('.xp input[type="range"]').first
    slider.scroll_into_view_if_needed()
    visit.page.keyboard.press("Tab")
    visit.page.evaluate("document.activeElement.blur()")
    box = {key: value - (8 if key in "xy" else -16) for key, value in slider.bounding_box().items()}
    still = visit.page.screenshot(clip=box, animations="disabled")
    assert visit.page.screenshot(clip=box, animations="disabled") == still
    slider.focus()
    assert visit.page.screenshot(clip=box, animations="disabled") != still


@pytest.mark.browser
@pytest.mark.parametrize("name", ["notebooks/02_why_post_training", "notebooks/11_grpo", "book/interview"])
def test_print_opens_what_is_closed_and_closes_it_again(visit, site, name):
    visit.open(site / f"{name}.html")
    closed = "document.querySelectorAll('article details:not([open])').length"
    before = visit.page.evaluate(closed)
    assert before > 0
    visit.page.evaluate(f"addEventListener('beforeprint', () => {{ window.closedInPrint = {closed}; }})")
    visit.page.pdf()
    assert visit.page.evaluate("window.closedInPrint") == 0
    assert visit.page.evaluate(closed) == before


@pytest.mark.browser
def test_print_hides_nothing_that_scrolls_on_the_screen(visit, site):
    visit.open(site / "notebooks" / "11_grpo.html")
    visit.page.emulate_media(media="print")
    visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    cut = visit.page.evaluate(
        """() => [...document.querySelectorAll("article *")].filter(e => e.checkVisibility())
          .filter(e => !e.closest(".math"))   // KaTeX hides its MathML that way
          .filter(e => e.scrollHeight > e.clientHeight + 2 && /auto|scroll|hidden/.test(getComputedStyle(e).overflowY)
                       && e.clientHeight > 20).map(e => e.outerHTML.slice(0, 100))"""
    )
    assert cut == []


# ---------------------------------------------------------------- the numbers to take away


@pytest.mark.browser
@pytest.mark.parametrize("clipboard", ["none", "refused", "there"])
def test_the_numbers_can_be_copied_as_csv(browser, site, clipboard):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    change = {
        "none": "Object.defineProperty(navigator, 'clipboard', { value: undefined })",
        "refused": "navigator.clipboard.writeText = () => Promise.reject(new DOMException('no', 'NotAllowedError'))",
        "there": "",
    }[clipboard]
    page.add_init_script(change)
    page.goto((site / "book" / "index.html").as_uri())
    numbers = page.locator(".xp-numbers").first
    numbers.locator("summary").click()
    button, said = numbers.locator("button"), numbers.locator("[role=status]")
    assert button.inner_text() == "Copy as CSV"
    button.click()
    page.wait_for_function("e => e.textContent !== ''", arg=said.element_handle())
    rows = [
        [cell.inner_text() for cell in row.locator("th, td").all()] for row in numbers.locator("tr").all()
    ]
    assert said.inner_text() == f"Copied {len(rows)} lines."
    assert page.evaluate("document.activeElement.textContent") == "Copy as CSV"
    page.evaluate("document.body.prepend(Object.assign(document.createElement('textarea'), { id: 'paste' }))")
    page.locator("#paste").focus()
    page.keyboard.press("Control+v")
    pasted = list(csv.reader(io.StringIO(page.locator("#paste").input_value())))
    assert pasted == [["" if text == "–" else text.replace(",", "") for text in row] for row in rows]
    assert len(pasted) > 3
    context.close()


@pytest.mark.browser
def test_csv_keeps_commas_of_words_and_drops_those_of_numbers(visit, site):
    visit.open(site / "book" / "index.html")
    rows = [["a, b", "1,234,567.5", "–"], ['say "x"', "-1,000", "1,2"], ["two\nlines", "5e-7", ""]]
    text = visit.page.evaluate("rows => rlLabExplore.csvText(rows)", rows)
    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        ["a, b", "1234567.5", ""],
        ['say "x"', "-1000", "1,2"],
        ["two\nlines", "5e-7", ""],
    ]


# ---------------------------------------------------------------- how to cite


def test_the_course_says_how_to_cite_it(site):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["title"] == TITLE
    assert citation["version"] == rl_lab.__version__
    assert citation["license"] == "MIT"
    assert citation["message"]
    assert citation["authors"]
    page = (site / "book" / "references.html").read_text("utf-8")
    assert "how-to-cite" in page
    assert f"version {rl_lab.__version__}" in re.sub("<[^>]*>", "", page)
    assert "CITATION.cff" in (ROOT / "README.md").read_text("utf-8")
