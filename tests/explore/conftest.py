"""A browser for the figures' own page, with the network off."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tests.explore import figures
from tests.explore.browser import PATIENCE, offline


@dataclass
class Opened:
    """A page, and everything that it asked for or complained about."""

    page: object
    refused: list[str]
    complaints: list[str] = field(default_factory=list)


@pytest.fixture
def open_page(chromium, tmp_path):
    """Return a function that opens HTML from disk: ``open_page(html, width=…, script=…, clock=…)``.

    With ``clock`` the page's timers stand still until the test moves them: ``page.clock.run_for(milliseconds)``.
    """
    contexts = []

    def open_it(html: str, width: int = 1000, script: bool = True, clock: bool = False, **settings) -> Opened:
        path = tmp_path / f"page{len(contexts)}.html"
        path.write_text(html, "utf-8")
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, java_script_enabled=script, **settings
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        if clock:
            page.clock.install()
        opened = Opened(page, offline(page))
        page.on(
            "console", lambda m: opened.complaints.append(m.text) if m.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        page.goto(path.as_uri())
        return opened

    yield open_it
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def whole_page() -> str:
    """HTML of the page with a figure of each kind, the script once in its head."""
    return figures.page()
