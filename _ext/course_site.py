"""What the site needs beyond Jupyter Book's own settings.

* The pages of ``_toc.yml`` are the book; no other file is looked at.
* Pages that `tools.execute` holds to be up to date are offered to MyST-NB as its cache.
* Figures are drawn for a page without a kernel (``RL_LAB_EXPLORE=static``) and share the site's one script.
* Buttons that lead to the repository or to Colab appear only if the course has an address (``course.toml``).
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools import execute, pages  # noqa: E402


def choose_pages(app, config) -> None:
    """Let Sphinx see the pages of ``_toc.yml`` and no file that a tool, an editor or a user puts beside them."""
    sources = [pages.source(name, ROOT) for name in pages.names(ROOT)]
    config.include_patterns = [path.relative_to(ROOT).as_posix() for path in sources]
    # Sphinx walks every folder that is not excluded, through links, too.
    folders = {path.parent for path in sources}
    others = [path for path in ROOT.iterdir() if path not in folders]
    inside = [path for folder in folders for path in folder.iterdir() if path.is_dir()]
    twins = [path.with_suffix(end) for path in sources for end in pages.SUFFIXES if path.suffix != end]
    config.exclude_patterns = [
        *config.exclude_patterns,
        *(glob_of(path.relative_to(ROOT).as_posix()) for path in [*others, *inside, *twins]),
    ]


def glob_of(path: str) -> str:
    """A pattern of Sphinx's for this path; a character with a meaning of its own stands for any one character."""
    return re.sub(r"[*?\[\]]", "?", path)


def set_cache(app, config) -> None:
    config.nb_execution_cache_path = str(execute.offer(ROOT))


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


def mend_lists(app, pagename, templatename, context, doctree) -> None:
    """Docutils calls the bibliography a list and its entries no list items; a screen reader trips over that."""
    if "body" in context:
        context["body"] = context["body"].replace(
            'role="list" class="citation-list"', 'class="citation-list"'
        )


def setup(app):
    for name, value in execute.FOR_A_PAGE.items():
        os.environ.setdefault(name, value)
    app.connect("config-inited", choose_pages)
    app.connect("config-inited", set_cache)
    app.connect("config-inited", set_address)
    app.connect("source-read", drop_anchors)
    app.connect("html-page-context", mend_lists)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
