"""What a search engine, a shared link and a wrong address get to see.

* Each page says in one sentence what it is about, for result lists and for the card of a shared link.
* Where the course has an address, each page also names its own, and there is a site map.
* ``404.html`` leads back into the course from any depth.
* ``index.html`` leads to the home page, and makes the same card.
"""

from __future__ import annotations

import re
import sys
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

from docutils import nodes

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools import address  # noqa: E402

LONGEST = 200  # characters of a description; result lists cut there or earlier
CARD = "_static/card.png"  # 1200 by 630
FORWARD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
{metatags}<meta http-equiv="refresh" content="0; url={home}">
</head>
<body><a href="{home}">{title}</a></body>
</html>
"""


def published_at(repository: str) -> str:
    """Address at which the workflow publishes a repository's site, or "" if that is not known.

    >>> published_at("https://github.com/You/your-fork")
    'https://you.github.io/your-fork/'
    >>> published_at("https://github.com/you/you.github.io")
    'https://you.github.io/'
    >>> published_at("https://git.example.org/you/your-fork")
    ''
    """
    parts = urlsplit(repository)
    owner, _, name = parts.path.strip("/").partition("/")
    if parts.hostname != "github.com" or not name:
        return ""
    host = f"{owner.lower()}.github.io"
    return f"https://{host}/" if name.lower() == host else f"https://{host}/{name}/"


def first_sentences(text: str) -> str:
    """The sentences from the start that fit into a description; a long first one is cut at a word."""
    text = re.sub(r"\s+", " ", text).strip()
    if len(text) <= LONGEST:
        return text
    ends = [m.end() for m in re.finditer(r"[.?!](?= [A-Z])", text[: LONGEST + 1])]
    if ends:
        return text[: ends[-1]]
    return text[: text.rindex(" ", 0, LONGEST)].rstrip(",;:–— ") + "…"


def description(meta: dict | None, doctree) -> str:
    """What a page is about: its front matter's ``description``, or its first paragraph that is prose."""
    if meta and meta.get("description"):
        return first_sentences(meta["description"])
    for paragraph in doctree.findall(nodes.paragraph) if doctree else ():
        prose = isinstance(paragraph.parent, nodes.section | nodes.container) and not list(
            paragraph.findall(nodes.math)
        )
        if prose and len(paragraph.astext()) >= 60:
            return first_sentences(paragraph.astext())
    return ""


def metatags(config, title: str, about: str, target: str, root: str) -> str:
    """Write a page's description and the card of a link to it; `root` leads from the page to the site's root."""
    image = (config.html_baseurl or root) + CARD
    found = {
        "name": {"description": about, "twitter:card": "summary_large_image", "twitter:image": image},
        "property": {
            "og:title": title,
            "og:description": about,
            "og:type": "website" if target == "index.html" else "article",
            "og:site_name": config.html_title,
            "og:image": image,
            "og:image:alt": "Agentic RL, by doing it: a course whose figures are alive in the page",
            "og:url": config.html_baseurl and config.html_baseurl + target,
        },
    }
    return "".join(
        f'<meta {kind}="{key}" content="{escape(value)}">\n'
        for kind, entries in found.items()
        for key, value in entries.items()
        if value
    )


def describe(app, pagename, templatename, context, doctree) -> None:
    """Put a page's description and card into its head."""
    config = app.config
    title = re.sub(r"<[^>]*>", "", context.get("title", "")) or config.html_title
    about = description(context.get("meta"), doctree) or f"Search the whole text of {config.html_title}."
    if pagename == config.root_doc:
        app.env.home_about = about
    target = app.builder.get_target_uri(pagename)
    context["metatags"] = (
        context.get("metatags", "") + "\n" + metatags(config, title, about, target, context["content_root"])
    )


def finish(app, error) -> None:
    """Write the site map, where the site has an address, and the page that leads to the home page."""
    if error or app.builder.format != "html":
        return
    config, out, home = app.config, Path(app.outdir), app.builder.get_target_uri(app.config.root_doc)
    card = metatags(config, config.html_title, app.env.home_about, "index.html", "")
    if config.html_baseurl:
        card += f'<link rel="canonical" href="{escape(config.html_baseurl + home)}">\n'
        places = "".join(
            f"<url><loc>{escape(config.html_baseurl + app.builder.get_target_uri(name))}</loc></url>\n"
            for name in sorted(app.env.found_docs)
        )
        head = '<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        (out / "sitemap.xml").write_text(f"{head}{places}</urlset>\n", "utf-8")
    (out / "index.html").write_text(
        FORWARD.format(title=escape(config.html_title), metatags=card, home=home), "utf-8"
    )


def set_up(app, config) -> None:
    """Read the address; an ``html_baseurl`` of the configuration goes before the place where the workflow publishes."""
    config.html_baseurl = config.html_baseurl or published_at(address.course()[0])
    config.html_additional_pages = {**config.html_additional_pages, "404": "404.html"}


def setup(app):
    app.connect("config-inited", set_up)
    app.connect("html-page-context", describe)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
