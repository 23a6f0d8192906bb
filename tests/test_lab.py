"""JupyterLab as ``make lab`` opens it: every link leads somewhere, and a saved notebook still shows its figures."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, unquote

import nbformat
import pytest

from tests.notebooks import PATHS, ROOT, read

pytestmark = pytest.mark.browser  # `make unit` starts no server
TOKEN = "course"  # of a server on the loopback that lives as long as the tests
FIGURE = """\
from rl_lab.explore import explore

def payment(discount=0.75):
    return {"x": [0, 100], "paid": [0, 100 * discount], "of 80": 80 * discount}

explore(payment, discount=(0.5, 1.0, 0.25), title="What is paid", alt="A straight line through the origin.")"""


class Lab:
    """A running JupyterLab on a copy of the course."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.address = folder, f"http://127.0.0.1:{port}"

    def ask(self, path: str, method: str = "GET") -> Any:
        """Call the server's own interface; None where it answers with nothing."""
        request = urllib.request.Request(f"{self.address}{path}", method=method)
        request.add_header("Authorization", f"token {TOKEN}")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab with `make lab`'s own arguments, on a copy of the course and in an empty home."""
    folder, home = tmp_path_factory.mktemp("course"), tmp_path_factory.mktemp("home")
    kept_out = shutil.ignore_patterns(".*", "_build", "__pycache__", "out", "*.egg-info", "node_modules")
    shutil.copytree(ROOT, folder, ignore=kept_out, dirs_exist_ok=True)
    line = re.search(r"^lab:.*\n\t(.*)$", (ROOT / "Makefile").read_text("utf-8"), re.M)[1]
    assert line == "$(RUN) tools/lab.py"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "tools/lab.py",
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--ip=127.0.0.1",
    ]
    command += [f"--IdentityProvider.token={TOKEN}", "--ServerApp.port_retries=0"]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "RL_LAB", "XDG"))}
    environment = kept | {"HOME": str(home), "USERPROFILE": str(home), "PYTHONPATH": str(ROOT)}
    with (home / "log").open("w+") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
        running = Lab(folder, port)
        try:
            for _ in range(300):
                try:
                    running.ask("/api/status")
                    break
                except (urllib.error.URLError, ConnectionError):
                    assert server.poll() is None, (home / "log").read_text()
                    time.sleep(0.2)
            yield running
        finally:
            server.terminate()
            server.wait(30)


def links(path: Path) -> set[str]:
    """Targets inside the course of a notebook's or a page's Markdown links."""
    texts = [path.read_text("utf-8")] if path.suffix == ".md" else []
    texts = texts or [c.source for c in read(path).cells if c.cell_type == "markdown"]
    prose = re.sub(r"```.*?```|`[^`\n]+`", "", "\n".join(texts), flags=re.S)
    found = re.findall(r"\]\(([^)\s]+)\)", prose)
    return {target for target in found if not target.startswith(("http:", "https:", "mailto:"))}


@pytest.mark.parametrize("path", [ROOT / "README.md", *PATHS], ids=lambda p: p.stem)
def test_every_link_opens_a_file_that_the_server_has(lab, path):
    home = PurePosixPath(path.relative_to(ROOT).as_posix()).parent
    targets = links(path)
    assert targets
    for target in sorted(targets):
        name, _, anchor = target.partition("#")
        place = os.path.normpath(str(home / unquote(name))) if name else str(path.relative_to(ROOT))
        assert not place.startswith(".."), f"{target} leads out of the root"
        assert lab.ask(f"/api/contents/{quote(place)}?content=0")["type"] in ("file", "notebook", "directory")
        if anchor and place.endswith("glossary.md"):
            assert f'<a id="{anchor}"></a>' in (ROOT / place).read_text("utf-8"), target


@pytest.fixture
def page(lab, chromium):
    """A window of JupyterLab that knows the token, opened as `make lab` opens it."""
    context = chromium.new_context(viewport={"width": 1200, "height": 1000})
    context.set_default_timeout(60_000)
    window = context.new_page()
    window.goto(f"{lab.address}/?token={TOKEN}")
    yield window
    context.close()


def visit(lab: Lab, page: Any, notebook: str) -> None:
    """Open a notebook in a workspace of its own, so that nothing of an earlier visit is open beside it."""
    page.goto(f"{lab.address}/lab/workspaces/w{time.monotonic_ns()}/tree/notebooks/{notebook}")


def test_it_opens_on_the_chapters_and_asks_nothing(page):
    page.locator(".jp-DirListing-item", has_text="17_grpo_gpu.ipynb").wait_for()
    assert page.get_by_text("official Jupyter news").count() == 0


def test_a_glossary_link_opens_the_page_at_its_term(lab, page):
    visit(lab, page, "11_grpo.ipynb")
    page.locator('.jp-Notebook a[href*="glossary.md"]', has_text="advantage").first.click()
    heading = page.locator(".jp-MarkdownViewer h3", has_text=re.compile("^Advantage"))
    heading.wait_for()
    top = "e => e.getBoundingClientRect().top - e.closest('.jp-MarkdownViewer').getBoundingClientRect().top"
    page.wait_for_function(
        f"() => {{ const e = [...document.querySelectorAll('.jp-MarkdownViewer h3')]"
        f".find(h => h.textContent.startsWith('Advantage')); return Math.abs(({top})(e)) < 200; }}"
    )


def test_a_saved_notebook_shows_its_figure_once_with_and_without_its_kernel(lab, page):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(FIGURE)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    file = lab.folder / "notebooks" / "figure.ipynb"
    nbformat.write(notebook, file)
    visit(lab, page, "figure.ipynb")
    page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').wait_for()
    run = page.locator(".jp-Notebook .cm-content").first
    for _ in range(20):  # while it opens, JupyterLab moves the focus, and a key pressed then is lost
        run.press("Shift+Enter")
        page.wait_for_timeout(500)
        if page.locator(".jp-InputPrompt", has_text=re.compile(r"\[[*\d]+\]")).count():
            break

    live, twin = page.locator(".widget-vbox .xp"), page.locator("[data-xp-twin]")
    live.wait_for()
    assert not twin.is_visible()
    page.locator(".widget-slider .noUi-handle").focus()
    page.keyboard.press("ArrowRight")
    page.locator(".widget-vbox dd", has_text="80").wait_for()
    page.keyboard.press("Control+s")
    for _ in range(300):
        if saved := nbformat.read(file, as_version=4).cells[0].get("outputs"):
            break
        page.wait_for_timeout(100)
    assert "text/html" in saved[0].data

    for session in lab.ask("/api/sessions"):
        lab.ask(f"/api/sessions/{session['id']}", "DELETE")
    visit(lab, page, "figure.ipynb")
    twin.wait_for()
    page.wait_for_function("() => document.querySelectorAll('.jp-OutputArea-child').length === 2")
    # JupyterLab looks for the widget for two seconds before it gives up and writes its sentence.
    page.wait_for_function(
        "() => [...document.querySelectorAll('.jp-OutputArea-child')].some(e => /model not found/.test(e.textContent))"
    )
    assert page.locator("[data-xp-twin] .xp svg").first.is_visible()
    assert not page.get_by_text("model not found").is_visible()
    assert page.locator(".xp:visible").count() == 1
    page.locator('[data-xp-twin] input[type="range"]').fill("2")
    page.locator("[data-xp-twin] dd", has_text="80").wait_for()
