"""What the site needs beyond Jupyter Book's own settings.

* The execution cache knows a notebook's cells, not the package they import: its folder is named by a hash of
  ``rl_lab`` and ``runs``, so that a change there executes the notebooks again.
* Figures are drawn for a page without a kernel (``RL_LAB_EXPLORE=static``) and share the site's one script.
* Buttons that lead to the repository or to Colab appear only if the course has an address (``course.toml``).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]


def source_hash() -> str:
    digest = hashlib.sha256()
    # The records alone: what notebooks write while they run (runs/out) must not make them run again.
    for file in [*sorted((ROOT / "rl_lab").rglob("*.py")), *sorted((ROOT / "runs").glob("*.json"))]:
        if "__pycache__" not in file.parts:
            digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes() + b"\0")
    digest.update((ROOT / "requirements.txt").read_bytes())
    return digest.hexdigest()[:16]


def set_cache(app, config) -> None:
    caches = ROOT / "_build" / "executed"
    mine = caches / source_hash()
    for other in caches.glob("*") if caches.is_dir() else ():
        if other != mine:
            shutil.rmtree(other, ignore_errors=True)
    mine.mkdir(parents=True, exist_ok=True)
    config.nb_execution_cache_path = str(mine)


def set_address(app, config) -> None:
    course = tomllib.loads((ROOT / "course.toml").read_text("utf-8"))
    if not course["repository"]:
        return
    options = config.html_theme_options
    options.update(
        repository_url=course["repository"],
        repository_branch=course["branch"],
        use_repository_button=True,
    )
    if urlsplit(course["repository"]).hostname != "github.com":  # Colab opens notebooks from nowhere else
        return
    options["launch_buttons"] = {
        "colab_url": "https://colab.research.google.com",
        "notebook_interface": "jupyterlab",
    }

    def notebooks_only(app, pagename, templatename, context, doctree):
        # The theme gives a Markdown page with figures of its own the button too, and Colab opens no Markdown.
        if not app.env.doc2path(pagename).endswith(".ipynb"):
            buttons = context.get("header_buttons", [])
            context["header_buttons"] = [b for b in buttons if b.get("label") != "launch-buttons"]

    app.connect("html-page-context", notebooks_only, priority=900)  # after the theme has added them


def drop_anchors(app, docname, source) -> None:
    """Leave out what JupyterLab needs to find a heading by its link; Sphinx gives each heading that id itself."""
    source[0] = re.sub(r'^<a id="[\w-]+"></a>\n', "", source[0], flags=re.M)


# Scripts that Jupyter Book adds to every page and no page here uses; two copies of Thebe's also clash in the console.
UNUSED = ("thebe", "togglebutton", "toggleHintShow", "design-tabs")


def lighten_pages(app, pagename, templatename, context, doctree) -> None:
    def used(script) -> bool:
        body = getattr(script, "attributes", {}).get("body") or ""
        return not any(
            word.lower() in f"{getattr(script, 'filename', script)} {body}".lower() for word in UNUSED
        )

    context["script_files"] = [script for script in context["script_files"] if used(script)]


def mend_lists(app, pagename, templatename, context, doctree) -> None:
    """Docutils calls the bibliography a list and its entries no list items; a screen reader trips over that."""
    if "body" in context:
        context["body"] = context["body"].replace(
            'role="list" class="citation-list"', 'class="citation-list"'
        )


def setup(app):
    os.environ.setdefault("RL_LAB_EXPLORE", "static")
    os.environ.setdefault("RL_LAB_EXPLORE_ASSETS", "site")
    app.connect("config-inited", set_cache)
    app.connect("config-inited", set_address)
    app.connect("source-read", drop_anchors)
    app.connect("html-page-context", lighten_pages, priority=900)  # after the extensions that add them
    app.connect("html-page-context", mend_lists)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
