"""How heavy is a page, and how soon does its first control answer on a slow phone?

The built site is served as a static host does, compressed. *Phone* is Chromium at 1.6 Mbit/s with 150 ms of latency and
a processor slowed down four times; *usable* is the moment at which the first control of a figure answers (it is enabled
after its listeners are there) and the page has been painted. The longest task is that of the unthrottled page: 0 where
the browser saw none above its own threshold of 50 ms.
"""

from __future__ import annotations

import statistics
from pathlib import Path

from tests.explore.browser import launch
from tests.site.server import serve

SITE = Path(__file__).resolve().parents[1] / "_build" / "html"
PAGES = ("book/index", "notebooks/07_reward_functions", "notebooks/11_grpo")
PHONE = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 200_000,
    "uploadThroughput": 90_000,
}  # bytes a second
SLOWER = 4
WATCH = """
  window.usable = null;
  const look = () => {
    const awake = document.querySelector(".xp.xp-on input:not([disabled])");
    if (awake) window.usable ??= performance.now();
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true });
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) window.longest = Math.max(window.longest, task.duration);
  }).observe({ type: "longtask", buffered: true });
"""
READ = """() => {
  const navigation = performance.getEntriesByType("navigation")[0];
  const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0;
  const ready = navigation.domContentLoadedEventStart;
  return { usable: Math.max(window.usable, paint), paint, ready, longest: window.longest };
}"""


def visit(browser, name: str, phone: bool) -> dict[str, float]:
    """Open a page in a fresh profile and return its milliseconds, bytes and requests."""
    with serve(SITE) as served:
        context = browser.new_context(
            viewport={"width": 390, "height": 800} if phone else {"width": 1280, "height": 900}
        )
        page = context.new_page()
        page.set_default_timeout(120_000)
        if phone:
            protocol = context.new_cdp_session(page)
            protocol.send("Network.enable")
            protocol.send("Network.emulateNetworkConditions", PHONE)
            protocol.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        page.add_init_script(WATCH)
        page.goto(f"{served.url}{name}.html", wait_until="networkidle")
        page.wait_for_function("window.usable !== null")
        found = page.evaluate(READ)
        context.close()
        return {**found, "bytes": sum(size for *_, size in served.sent), "requests": len(served.sent)}


def main(rounds: int = 5) -> None:
    """Print medians, and the worst of the rounds in brackets."""
    from playwright.sync_api import sync_playwright

    if not (SITE / "index.html").is_file():
        raise SystemExit("the site is not built: run `make book` first")
    with sync_playwright() as playwright:
        browser = launch(playwright)
        print(
            f"{'page':<34}{'kB':>6}{'requests':>10}{'usable, phone':>18}{'painted':>9}{'ready':>9}{'longest task':>17}"
        )
        for name in PAGES:
            slow = [visit(browser, name, phone=True) for _ in range(rounds)]
            fast = [visit(browser, name, phone=False) for _ in range(rounds)]

            def typical(key: str, of: list[dict[str, float]]) -> float:
                return statistics.median(entry[key] for entry in of)

            usable, paint, ready = (typical(key, slow) / 1000 for key in ("usable", "paint", "ready"))
            worst, longest = max(e["usable"] for e in slow) / 1000, max(e["longest"] for e in fast)
            print(
                f"{name:<34}{typical('bytes', fast) / 1000:6.0f}{typical('requests', fast):10.0f}"
                f"{usable:9.2f} s ({worst:.2f}){paint:7.2f} s{ready:7.2f} s"
                f"{typical('longest', fast):8.0f} ms ({longest:.0f})"
            )
        browser.close()
