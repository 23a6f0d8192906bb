"""What a page loads: what it uses, in the order in which a reader needs it.

* A script or style is named on the pages that use it. All scripts wait until the page is read; the figures' one has
  the first place (``priority`` in _config.yml).
* Icons are drawn into the page, from the paths in the theme's own copy of Font Awesome; its script, its fonts and its
  part of the theme's style, most of a page's weight, stay behind.
"""

from __future__ import annotations

import functools
import re
import shutil
from pathlib import Path
from urllib.parse import quote

import pydata_sphinx_theme
from sphinx.errors import ExtensionError

THEME_STYLE = "styles/pydata-sphinx-theme.css"
# The theme's own scripts, which its templates would name otherwise (see templates/static/webpack-macros.html).
THEME_SCRIPTS = ("scripts/bootstrap.js", "scripts/pydata-sphinx-theme.js")

# Scripts and styles that Jupyter Book brings, and no page here uses.
UNUSED = ("thebe", "togglebutton", "design-tabs")

# Name of a script or style: what the text of a page holds if it uses it.
USED_BY = {
    "explore": 'class="xp"',
    "quiz": '<details class="answer',
    "mystnb": 'class="cell ',
    "sphinx-design": 'class="sd-',
    "pygments": 'class="highlight"',
    "clipboard": 'class="highlight"',
    "copybutton": 'class="highlight"',
    "course-math": 'class="math ',
}

# Where the theme's style writes a character of the font of icons, and the icon: here it is a mask in the text's colour.
MARKS = {
    "a.github::before": "github",
    "a.gitlab::before": "gitlab",
    "a.reference.download::before": "download",
    "div#searchbox p.highlight-link a::before": "magnifying-glass-minus",
}

# What lies in _static and no page asks for: Font Awesome, and what only developers of the theme read.
LEFT_BEHIND = (
    "scripts/fontawesome.js*",
    "vendor/fontawesome",
    "styles/theme.css",
    "locales",
    "images",
    "**/*.map",
    "**/*webpack-macros.html",
    "sphinx-thebe.*",
    "togglebutton.*",
    "design-tabs.js",
)


def name_of(asset) -> str:
    """File name of a script or style, empty for a script that stands in the page itself."""
    return Path(str(getattr(asset, "filename", asset) or "")).name


def used(asset, body: str) -> bool:
    """Whether a page with this text uses the script or style."""
    name = name_of(asset)
    if not name or any(word in name for word in UNUSED):
        return False
    return all(mark in body for start, mark in USED_BY.items() if name.startswith(start))


def lighten_page(app, pagename, templatename, context, doctree) -> None:
    """Keep the scripts and styles that the page uses; scripts wait until the page is read."""
    body = context.get("body", "")
    context["css_files"] = [style for style in context["css_files"] if used(style, body)]
    scripts = [script for script in context["script_files"] if used(script, body)]
    for script in scripts:
        script.attributes.pop("async", None)
        script.attributes["defer"] = "defer"
    context["script_files"] = scripts


@functools.cache
def drawings() -> dict[str, list[tuple[str, str, str]]]:
    """Width, height and path of each icon, by each of its names: brands, then regular, then solid ones."""
    script = (
        Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static/scripts/fontawesome.js"
    )
    found: dict[str, list[tuple[str, str, str]]] = {}
    entry = r'(?<=[{,])"?([\w-]+)"?:\[(\d+),(\d+),\[([^\]]*)\],"[0-9a-f]+","([^"]+)"\]'
    for name, wide, high, others, path in re.findall(entry, script.read_text("utf-8")):
        for alias in (name, *re.findall(r'"([\w-]+)"', others)):
            found.setdefault(alias, []).append((wide, high, path))
    return found


ICON = re.compile(
    r'<(i|span) class="((?:[\w-]+\s+)*?)fa([bsr]|-solid|-brands|-regular)\s([^"]*)"([^>]*)></\1>'
)


def draw(match: re.Match) -> str:
    """Return one icon's placeholder as a drawing."""
    _, before, style, after, attributes = match.groups()
    words = (before + after).split()
    names = [word[3:] for word in words if word.startswith("fa-") and word != "fa-lg"]
    known = [name for name in names if name in drawings()]
    if not known:
        raise ExtensionError(
            f"the theme's copy of Font Awesome has no icon for {match.group()}; draw it in site_weight.py"
        )
    wide, high, path = drawings()[known[0]][-1 if style in ("s", "-solid") else 0]
    kept = " ".join(["svg-inline--fa", *(word for word in words if word == "fa-lg" or word[3:] not in names)])
    data = "".join(f" {text}" for text in re.findall(r'data-[\w-]+="[^"]*"', attributes))
    return (
        f'<svg class="{kept}"{data} aria-hidden="true" viewBox="0 0 {wide} {high}">'
        f'<path fill="currentColor" d="{path}"/></svg>'
    )


def without_icons(style: str) -> str:
    """Return the theme's style without Font Awesome's part, which stands between Bootstrap's and the theme's own."""
    start, end = style.find("/*!\n * Font Awesome"), style.find("html{--pst-header-height")
    part = style[start:end]
    if not 0 < start < end or "--pst-" in part or ".bd-" in part:
        raise ExtensionError(
            "the theme's style is laid out otherwise than site_weight.py knows: find where Font Awesome ends"
        )
    return style[:start] + style[end:] + "".join(mark(place, name) for place, name in MARKS.items())


def mark(place: str, name: str) -> str:
    """Return the rule that draws an icon before a link."""
    wide, high, path = drawings()[name][-1]
    icon = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {wide} {high}'><path d='{path}'/></svg>"
    mask = f'url("data:image/svg+xml,{quote(icon)}") center / contain no-repeat'
    # Spaces that do not break hold the place, so that a line never ends between the icon and its link.
    look = f"margin-right:.2rem;background:currentColor;-webkit-mask:{mask};mask:{mask}"
    return f'html {place}{{content:"\\a0\\a0\\a0";{look}}}\n'


def leave_behind(app, error) -> None:
    """Draw the icons into the finished pages, and remove what no page asks for."""
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for page in out.rglob("*.html"):
        text = page.read_text("utf-8")
        if (drawn := ICON.sub(draw, text)) != text:
            page.write_text(drawn, "utf-8")
    static = out / "_static"
    for pattern in LEFT_BEHIND:
        for path in list(static.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    style = static / THEME_STYLE
    if "Font Awesome" in (text := style.read_text("utf-8")):
        style.write_text(without_icons(text), "utf-8")


def setup(app):
    for script in THEME_SCRIPTS:
        app.add_js_file(script, priority=600)
    app.connect(
        "config-inited",
        lambda app, config: config.templates_path.insert(0, str(Path(__file__).parent / "templates")),
    )
    app.connect("html-page-context", lighten_page, priority=950)  # after the extensions that add files
    app.connect("build-finished", leave_behind)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
