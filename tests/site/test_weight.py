"""What each page loads over http: little, in the right order, and nothing that it does not use."""

from __future__ import annotations

import gzip
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.site.pages import ROOT
from tests.site.server import serve

pytestmark = pytest.mark.site

MOST = 500_000  # bytes that a page and all it loads may take on the way, compressed
MOST_OF = {"book/index": 350_000}  # the page that everybody starts at
MOST_BEFORE_THE_FIGURE = (
    220_000  # bytes, compressed, that a browser needs before a figure can move: 1.1 s at 1.6 Mbit/s
)
MOST_REQUESTS = 32


class Loads(HTMLParser):
    """Scripts and styles of a page, in order, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[dict] = []
        self.styles: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        at = dict(attrs)
        if tag == "script" and at.get("src"):
            self.scripts.append(at)
        if tag == "link" and at.get("rel") == "stylesheet":
            self.styles.append(at["href"])


def file_of(page, address: str):
    """File that an address in a page stands for."""
    return (page.parent / address.partition("?")[0]).resolve()


def travels(path) -> int:
    """Bytes of a text file on the way."""
    return len(gzip.compress(path.read_bytes(), 6))


@pytest.fixture
def page(site, page_name):
    return site / f"{page_name}.html"


@pytest.fixture
def loads(page) -> Loads:
    return Loads(page.read_text("utf-8"))


@pytest.mark.browser
def test_a_page_and_all_it_loads_is_light(browser, site, page_name, record_property):
    with serve(site) as served:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        tab = context.new_page()
        tab.goto(f"{served.url}{page_name}.html", wait_until="networkidle")
        context.close()
    total = sum(size for _, _, size in served.sent)
    record_property("bytes", total)
    print(f"{page_name}: {total / 1000:.0f} kB in {len(served.sent)} requests")
    assert [path for path, status, _ in served.sent if status != 200] == []
    heaviest = sorted(served.sent, key=lambda entry: -entry[2])[:5]
    assert total <= MOST_OF.get(page_name, MOST), heaviest
    assert len(served.sent) <= MOST_REQUESTS, [path for path, *_ in served.sent]


def test_no_script_holds_up_the_page_and_the_figures_one_comes_first(page, loads):
    assert [script["src"] for script in loads.scripts if "defer" not in script or "async" in script] == []
    names = [script["src"].partition("?")[0].rpartition("/")[2] for script in loads.scripts]
    assert len(names) == len(set(names))
    if 'class="xp"' in page.read_text("utf-8"):
        assert names[0] == "explore.js"
    else:
        assert "explore.js" not in names


def test_a_figure_waits_for_little(page, loads):
    if "explore.js" not in loads.scripts[0]["src"]:
        pytest.skip("no figure on this page")
    before = [page, file_of(page, loads.scripts[0]["src"]), *(file_of(page, style) for style in loads.styles)]
    sizes = {path.name: travels(path) for path in before}
    assert sum(sizes.values()) <= MOST_BEFORE_THE_FIGURE, sizes


def test_no_font_holds_up_the_text(page, loads):
    for style in loads.styles:
        assert "@font-face" not in file_of(page, style).read_text("utf-8"), style


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("clipboard", 'class="highlight"'),
        ("copybutton", 'class="highlight"'),
        ("course-math", 'class="math '),
        ("quiz", "quiz-score"),
        ("explore.js", 'class="xp"'),
        ("searchtools", 'id="search-results"'),
        ("searchindex", 'id="search-results"'),
    ],
)
def test_a_page_loads_what_it_uses(page, loads, name, mark):
    text = page.read_text("utf-8")
    body = text[text.index("</head>") :]
    assert (name in " ".join(script["src"] for script in loads.scripts)) == (mark in body)


def test_font_awesome_is_drawn_into_the_page(page):
    text = page.read_text("utf-8")
    assert re.findall(r'<(?:i|span) class="[^"]*\bfa[bsr]?\b[^"]*"', text) == []
    icons = re.findall(r'<svg class="svg-inline--fa[^>]*>(.*?)</svg>', text)
    assert len(icons) >= 10
    assert all(re.fullmatch(r'<path fill="currentColor" d="[^"]{40,}"/>', icon) for icon in icons)


def test_font_awesome_stays_behind(site):
    static = site / "_static"
    assert [
        str(path) for path in static.rglob("*") if "fontawesome" in str(path.relative_to(static)).lower()
    ] == []
    style = (static / "styles" / "pydata-sphinx-theme.css").read_text("utf-8")
    assert "Bootstrap" in style  # the neighbour before
    assert "html{--pst-header-height" in style  # the neighbour after
    assert "Font Awesome" not in style
    assert not re.search(r"\.fa-(bars|github):before", style)


# What a style puts before or after an element must not need a font that stayed behind.
NEEDS_A_FONT = """() => [...document.querySelectorAll("body *")].flatMap(e => ["::before", "::after"].map(p => {
  const style = getComputedStyle(e, p);
  return style.content !== "none" && /[\\ue000-\\uf8ff]/.test(style.content) && e.outerHTML.slice(0, 100);
})).filter(Boolean)"""


@pytest.mark.browser
def test_nothing_is_drawn_with_a_font_of_icons(visit, site, page_name):
    visit.open(site / f"{page_name}.html")
    assert visit.page.evaluate(NEEDS_A_FONT) == []


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_button_of_the_page_frame_shows_its_icon(visit, site, theme, width):
    visit.page.set_viewport_size({"width": width, "height": 800})
    visit.open(site / "notebooks" / "11_grpo.html")
    if theme == "dark":
        visit.dark()
    sizes = visit.page.evaluate(
        """() => [...document.querySelectorAll(".bd-header-article button")].filter(b => b.checkVisibility())
          .filter(b => !b.closest(".dropdown-menu")).map(b => {
            const shown = [...b.querySelectorAll("svg")].filter(s => s.checkVisibility());
            const box = shown[0]?.getBoundingClientRect();
            return [b.ariaLabel || b.title || b.dataset.bsOriginalTitle, shown.length, box?.width, box?.height];
          })"""
    )
    assert len(sizes) >= (3 if width == 1280 else 5)
    for name, count, wide, high in sizes:
        assert count == 1, name
        assert 10 <= wide <= 30, (name, wide)
        assert 10 <= high <= 30, (name, high)


def test_every_icon_that_the_theme_may_put_on_a_page_can_be_drawn(monkeypatch):
    """With an address a page gets more buttons: to the repository, to Colab."""
    import sphinx_book_theme

    monkeypatch.syspath_prepend(str(ROOT / "_ext"))
    import site_weight

    named = set()
    for path in Path(sphinx_book_theme.__file__).parent.rglob("*"):
        if path.suffix in (".py", ".html"):
            named |= set(re.findall(r"\b(fa[bs]|fa-solid) (fa-[a-z-]+)", path.read_text("utf-8")))
    named |= {("fab", f"fa-{host}") for host in ("github", "gitlab", "bitbucket")}
    assert len(named) > 12
    for style, icon in sorted(named):
        drawn = site_weight.ICON.sub(site_weight.draw, f'<i class="{style} {icon} fa-lg" title="x"></i>')
        assert re.fullmatch(
            r'<svg class="svg-inline--fa fa-lg" aria-hidden.*<path [^>]*d="M[^"]+"/></svg>', drawn
        ), icon
