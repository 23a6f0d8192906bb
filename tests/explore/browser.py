"""Find and start a Chromium: the one named by $CHROMIUM, the system's, or Playwright's own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def executable() -> str | None:
    """Path of a Chromium outside Playwright's own folder, or None."""
    named = os.environ.get("CHROMIUM")
    if named:
        if not Path(named).is_file():
            raise FileNotFoundError(f"CHROMIUM={named} is no file; point it at a Chromium, or unset it")
        return named
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def launch(playwright):
    """Start a headless Chromium; `playwright` is what ``sync_playwright()`` gives."""
    return playwright.chromium.launch(executable_path=executable(), args=ARGUMENTS)


def offline(page) -> list[str]:
    """Let a page load local files only; returns the list that each refused address is put on."""
    refused: list[str] = []

    def route(request_route):
        if request_route.request.url.startswith(("file:", "data:", "blob:", "about:")):
            request_route.continue_()
        else:
            refused.append(request_route.request.url)
            request_route.abort()

    page.route("**/*", route)
    return refused
