"""What does a figure of 2,079 combinations cost a page, and how fast is it? Beside it, the same figure by ``interact``.

Ours is the static figure of :func:`rl_lab.explore.explore`. The other is plain ``ipywidgets.interact``, executed in a
notebook and embedded with the html-manager served from beside the page, which is what a book gets without us.
"""

from __future__ import annotations

import inspect
import json
import shutil
import statistics
import subprocess
import tarfile
import tempfile
from pathlib import Path

from rl_lab.explore import figure_html
from rl_lab.explore._html import asset

HTML_MANAGER = "@jupyter-widgets/html-manager@1.0.15"
GRID = {"gamma": (0.0, 1.0, 0.05), "bonus": (0.0, 2.0, 0.2), "cost": (0.0, 0.4, 0.05)}
SETTINGS = {"kinds": {"r": "bar"}, "title": "An episode", "x_label": "step", "y_label": "reward and return"}
NOTEBOOK = """
from IPython.display import HTML, display
from ipywidgets import FloatSlider, interact
from rl_lab.explore._explore import build
from rl_lab.explore._html import figure_parts
figure = build(episode, {**GRID, **SETTINGS})

def show(**values):
    display(HTML(figure_parts(figure.spec, figure.frame(figure.call(values)), "bench")))

interact(show, **{n: FloatSlider(min=a, max=b, step=s, value=(a + b) / 2) for n, (a, b, s) in GRID.items()});
"""
MOVE = """async (count) => {
  const inputs = [...document.querySelectorAll('.xp input')], svg = document.querySelector('.xp-picture > svg');
  const draw = [], paint = [];
  let seed = 7;
  for (let i = 0; i < count; i++) {
    seed = (seed * 48271) % 2147483647;
    const input = inputs[i % inputs.length];
    const value = seed % (Number(input.max) + 1);
    input.value = value;
    const start = performance.now();
    input.dispatchEvent(new Event('input', {bubbles: true}));
    draw.push(performance.now() - start);
    svg.lastElementChild.getBoundingClientRect();   // makes the browser lay the new picture out
    paint.push(performance.now() - start);
    if (i % 20 === 0) await new Promise(requestAnimationFrame);
  }
  return {draw, paint};
}"""


def episode(gamma=0.9, bonus=1.0, cost=0.05):
    """Twenty steps that cost, a bonus at the end; returns from each step."""
    r = [-cost] * 20
    r[-1] += bonus
    G, g = [0.0] * 20, 0.0
    for t in reversed(range(20)):
        g = r[t] + gamma * g
        G[t] = g
    return {"x": list(range(20)), "G": G, "r": r, "G0": G[0]}


def main() -> None:
    """Print both figures' bytes and what happens when their sliders move."""
    ours = figure_html(episode, site=True, **GRID, **SETTINGS)
    script, style = (len(asset(name).encode()) for name in ("explore.js", "explore.css"))
    print(f"explore, 2,079 combinations: {len(ours.encode()):>9,} bytes a figure")
    print(f"explore, once for all pages: {script + style:>9,} bytes ({script:,} script, {style:,} style)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("playwright is not installed: no latency measured")
        return
    with sync_playwright() as p, tempfile.TemporaryDirectory() as folder:
        from tests.explore.browser import launch

        browser = launch(p)
        _ours(browser, ours, Path(folder))
        _interact(browser, Path(folder))
        browser.close()


def _ours(browser, html: str, folder: Path) -> None:
    page_file = folder / "ours.html"
    head = f"<style>{asset('explore.css')}</style><script>{asset('explore.js')}</script>"
    page_file.write_text(
        f'<!doctype html><meta charset="utf-8">{head}<body style="width:720px">{html}', "utf-8"
    )
    page = browser.new_page()
    page.goto(page_file.as_uri())
    page.evaluate(MOVE, 60)  # warm up
    times = page.evaluate(MOVE, 600)
    for name, key in (("slider to new picture", "draw"), ("… and laid out", "paint")):
        values = times[key]
        print(
            f"explore, {name}: median {statistics.median(values):.2f} ms, worst {max(values):.2f} ms of {len(values)}"
        )
    page.close()


def _interact(browser, folder: Path) -> None:
    try:
        state, output = _execute()
    except ImportError as error:
        print(f"interact: not measured, {error}")
        return
    text = json.dumps(state)
    print(f"interact, state of one figure: {len(text.encode()):>7,} bytes, with one picture of 2,079")
    manager = _html_manager(folder)
    if manager is None:
        print(
            "interact: the npm package of its html-manager cannot be had here; its size and life are not measured"
        )
        return
    print(f"interact, once for all pages: {manager.stat().st_size:>8,} bytes ({manager.name}, self-hosted)")
    print(f"interact, after a move of its first slider: {_life(browser, folder, manager, text, output)}")


def _execute() -> tuple[dict, str]:
    """Run the notebook as a book does; return its widget state and the id of the view."""
    import nbformat
    from nbclient import NotebookClient

    source = f"GRID = {GRID!r}\nSETTINGS = {SETTINGS!r}\n{inspect.getsource(episode)}\n{NOTEBOOK}"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    NotebookClient(notebook, timeout=120).execute()
    kind = "application/vnd.jupyter.widget-view+json"
    view = next(o["data"][kind] for o in notebook.cells[0].outputs if kind in o.get("data", {}))
    return notebook.metadata["widgets"]["application/vnd.jupyter.widget-state+json"], view["model_id"]


def _html_manager(folder: Path) -> Path | None:
    """Unpack the html-manager from npm; None where npm or the registry is missing."""
    if not shutil.which("npm"):
        return None
    try:
        subprocess.run(
            ["npm", "pack", HTML_MANAGER], cwd=folder, check=True, capture_output=True, timeout=180
        )
    except (subprocess.SubprocessError, OSError):
        return None
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        archive.extractall(folder, filter="data")
    return folder / "package" / "dist" / "embed.js"


def _life(browser, folder: Path, manager: Path, state: str, model: str) -> str:
    """Open the embedded figure from disk, move a slider by keyboard, and say what changed."""
    view = json.dumps({"version_major": 2, "version_minor": 0, "model_id": model})
    safe = state.replace("</", "<\\/")
    page_file = folder / "interact.html"
    page_file.write_text(
        f'<!doctype html><meta charset="utf-8"><script src="{manager.relative_to(folder)}"></script><body>'
        f'<script type="application/vnd.jupyter.widget-state+json">{safe}</script>'
        f'<script type="application/vnd.jupyter.widget-view+json">{view}</script>',
        "utf-8",
    )
    page = browser.new_page()
    page.goto(page_file.as_uri())
    try:
        page.wait_for_selector(".noUi-handle", timeout=20_000)
    except Exception:  # playwright's own kinds of error; whichever it is, no slider came up
        return "no slider appeared"
    read = "() => ['.widget-readout', '.xp-picture'].map(q => document.querySelector(q).innerHTML)"
    try:
        page.wait_for_selector(".xp-picture", timeout=10_000, state="attached")
    except Exception:
        return "sliders, but no picture appeared"
    before = page.evaluate(read)
    page.locator(".noUi-handle").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    after = page.evaluate(read)
    page.close()
    moved = "its number moved" if after[0] != before[0] else "its number did not move"
    return f"{moved}, the picture {'changed' if after[1] != before[1] else 'did not change (no kernel behind it)'}"


if __name__ == "__main__":
    main()
