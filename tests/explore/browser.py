"""Find and start a Chromium: the one named by $CHROMIUM, the system's, or Playwright's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
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


PATIENCE = 60_000  # milliseconds; a busy machine is no failure

# What a test measures must stand still: fonts are there, no transition runs, three frames in a row look alike.
STILL = """async (patience) => {
  const since = performance.now(), frame = () => new Promise(requestAnimationFrame);
  await document.fonts.ready;
  for (let alike = 0, last = ""; alike < 3;) {
    await frame();
    const page = document.documentElement;
    const moving = document.getAnimations().filter(
      (a) => a.playState === "running" && Number.isFinite(a.effect.getComputedTiming().endTime));
    const now = [page.scrollWidth, page.scrollHeight, document.querySelectorAll("*").length].join();
    alike = moving.length === 0 && now === last ? alike + 1 : 0;
    last = now;
    if (performance.now() - since > patience) throw new Error(`the page is still moving after ${patience} ms`);
  }
}"""


def settle(page) -> None:
    """Wait until nothing on the page moves or grows any more, whatever time that takes."""
    page.evaluate(STILL, PATIENCE)


def obtain(playwright) -> str | None:
    """Return None where there is a Chromium (Playwright may download one), else a sentence on how to get it."""
    if executable() or Path(playwright.chromium.executable_path).is_file():
        return None
    install = [sys.executable, "-m", "playwright", "install", "chromium"]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    return (
        f"no Chromium for the browser tests: $CHROMIUM is not set, none of {', '.join(NAMES)} is on the PATH, and "
        "Playwright could not download its own (is there a network?). Install one (Debian and Ubuntu: apt install "
        "chromium), or set CHROMIUM to the path of one."
    )


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
