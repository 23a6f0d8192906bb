"""A browser that cannot reach the network, and the figures of each page as Python knows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.explore.browser import PATIENCE, settle
from tests.site.pages import PAGES

LOCAL = ("file:", "data:", "blob:", "about:")


@dataclass
class Visit:
    """A page in the browser, and everything that it asked for or complained about."""

    page: object
    left: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: Path) -> None:
        """Load a file of the site and wait until its scripts have run."""
        self.page.goto(path.as_uri(), wait_until="load")

    def dark(self) -> None:
        """Switch to the dark theme, as the theme's own button does, and wait until every colour has arrived."""
        self.page.evaluate("document.documentElement.dataset.theme = 'dark'")
        settle(self.page)


@pytest.fixture
def browser(chromium):
    """Return the one browser of this test process."""
    return chromium


@pytest.fixture
def visit(browser):
    """Open pages on a desktop-wide screen; every request that would leave the machine is stopped and noted."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    seen = Visit(context.new_page())

    def route(route):
        if route.request.url.startswith(LOCAL):
            route.continue_()
        else:
            seen.left.append(route.request.url)
            route.abort()

    context.route("**/*", route)
    seen.page.on(
        "console", lambda m: seen.complaints.append(m.text) if m.type in ("error", "warning") else None
    )
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    yield seen
    context.close()


@pytest.fixture(params=PAGES, ids=lambda name: name.split("/")[-1])
def page_name(request) -> str:
    """Name of a page as _toc.yml has it."""
    return request.param
