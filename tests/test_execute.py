"""Which pages run again, what is kept when a build ends early, and what never reaches a page."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from tools import execute, pages
from tools.execute import Page, StoppedPage

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.notebook


def write_notebook(path: Path, *cells: str) -> None:
    """A notebook of code cells with a fixed id each."""
    made = [nbformat.v4.new_code_cell(source, id=f"cell-{i}") for i, source in enumerate(cells)]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=made), path)


@pytest.fixture
def course(tmp_path) -> Path:
    """A small course: two notebooks, a package, a record, a table of contents, pins."""
    write_notebook(tmp_path / "notebooks" / "01_one.ipynb", "from lab.one import value", "print(value())")
    write_notebook(
        tmp_path / "notebooks" / "02_two.ipynb",
        "import json, subprocess, sys",
        "from lab.two import recorded",
        "print(recorded())",
    )
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "index.md").write_text("# Home\n", "utf-8")
    (tmp_path / "_toc.yml").write_text(
        "root: book/index\nparts:\n- chapters: [{file: notebooks/01_one}, {file: notebooks/02_two}]\n",
        "utf-8",
    )
    lab = tmp_path / "lab"
    lab.mkdir()
    (lab / "__init__.py").write_text("", "utf-8")
    (lab / "shared.py").write_text("UNIT = 1\n", "utf-8")
    (lab / "one.py").write_text(
        "def value():\n    from lab import shared\n\n    return shared.UNIT\n", "utf-8"
    )
    (lab / "two.py").write_text(
        "import json\nimport subprocess\nimport sys\nfrom pathlib import Path\n\n"
        "RUNS = Path(__file__).resolve().parents[1] / 'runs'\n\n\n"
        "def recorded():\n"
        "    names = sorted(path.name for path in RUNS.glob('*.json'))\n"
        "    child = subprocess.run([sys.executable, '-c', f'print(open({str(RUNS / \"child.txt\")!r}).read())'],\n"
        "                           capture_output=True, text=True, check=True)\n"
        "    return [json.loads((RUNS / name).read_text()) for name in names], child.stdout\n",
        "utf-8",
    )
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "a.json").write_text("1", "utf-8")
    (runs / "child.txt").write_text("from a child", "utf-8")
    (tmp_path / "requirements.txt").write_text("numpy==1\n", "utf-8")
    return tmp_path


def output(page: Page) -> str:
    """Everything that a page printed."""
    cells = nbformat.read(page.stored, as_version=4).cells
    return "".join(o.get("text", "") for cell in cells for o in cell.get("outputs", []))


class TestWhatRunsAgain:
    @pytest.fixture
    def executed(self, course) -> Path:
        assert execute.execute_stale(root=course) == ["notebooks/01_one", "notebooks/02_two"]
        assert execute.execute_stale(root=course) == []
        return course

    @pytest.mark.parametrize(
        ("changed", "content", "again"),
        [
            ("lab/one.py", "def value():\n    return 7\n", ["notebooks/01_one"]),  # one chapter's code
            ("lab/shared.py", "UNIT = 2\n", ["notebooks/01_one"]),  # imported inside a function
            ("runs/a.json", "2", ["notebooks/02_two"]),  # a record
            ("runs/b.json", "3", ["notebooks/02_two"]),  # a new one, found by listing the folder
            ("runs/child.txt", "other", ["notebooks/02_two"]),  # read by a process that the page started
            ("requirements.txt", "numpy==2\n", ["notebooks/01_one", "notebooks/02_two"]),
            ("lab/unused.py", "X = 1\n", []),
            ("notes.md", "a user's note", []),
            ("runs/out/weights.json", "{}", []),  # what a page writes while it runs
            (".pytest_cache/README.md", "a tool's file", []),
        ],
    )
    def test_a_change_executes_the_pages_that_read_it_and_no_other(self, executed, changed, content, again):
        path = executed / changed
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
        assert execute.execute_stale(root=executed) == again
        assert execute.execute_stale(root=executed) == []

    def test_a_changed_cell_executes_its_page_and_changed_prose_none(self, executed):
        path = executed / "notebooks" / "01_one.ipynb"
        notebook = nbformat.read(path, as_version=4)
        notebook.cells.append(nbformat.v4.new_markdown_cell("A new sentence.", id="prose"))
        nbformat.write(notebook, path)
        assert execute.execute_stale(root=executed) == []
        notebook.cells[1].source = "print(value() + 1)"
        nbformat.write(notebook, path)
        assert execute.execute_stale(root=executed) == ["notebooks/01_one"]
        assert output(Page("notebooks/01_one", executed)) == "2\n"

    def test_it_says_why(self, executed):
        (executed / "runs" / "a.json").write_text("5", "utf-8")
        assert Page("notebooks/02_two", executed).why_stale() == "runs/a.json has changed"
        assert Page("notebooks/01_one", executed).why_stale() is None

    def test_a_damaged_store_is_executed_again(self, executed):
        page = Page("notebooks/01_one", executed)
        page.stored.write_text(page.stored.read_text("utf-8")[:100], "utf-8")
        page.stored.with_suffix(".json").with_name("02_two.json").write_text("{", "utf-8")
        assert execute.execute_stale(root=executed) == ["notebooks/01_one", "notebooks/02_two"]

    def test_mystnb_finds_every_page_that_is_up_to_date(self, executed):
        from jupyter_cache import get_cache

        cache = get_cache(str(execute.offer(executed)))
        for page in execute.with_code(executed):
            _, found = cache.merge_match_into_notebook(page.notebook())
            assert found.cells[-1].outputs
        (executed / "runs" / "a.json").write_text("9", "utf-8")
        cache = get_cache(str(execute.offer(executed)))
        with pytest.raises(KeyError):
            cache.match_cache_notebook(Page("notebooks/02_two", executed).notebook())


class TestTheCourseItself:
    """The readings that the build wrote down."""

    @pytest.fixture(scope="class")
    def readers(self, site) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for page in execute.with_code():
            record = page.record()
            assert record, f"{page.name} was not executed: run `make book`"
            for entry in record["read"]:
                found.setdefault(entry.split(" ", 1)[1], set()).add(page.short)
        return found

    @pytest.mark.site
    def test_a_chapters_exercises_belong_to_its_page_alone(self, readers):
        chapters = {path for path in readers if path.startswith("rl_lab/exercises/ch")}
        assert len(chapters) == len(pages.notebooks())
        for path in chapters:
            assert {page[:2] for page in readers[path]} == {path[-5:-3]}

    @pytest.mark.site
    def test_records_and_data_are_known(self, readers):
        assert readers["rl_lab/data/gsm8k_audit.json"]
        assert readers["runs/12_outcome_1.json"] == {"12_tool_use_emerges"}


class TestABuildThatEndsEarly:
    def test_a_failing_cell_names_the_page_and_keeps_what_was_done(self, course):
        write_notebook(course / "notebooks" / "02_two.ipynb", "x = 1", "raise ValueError('the reason')")
        with pytest.raises(StoppedPage, match=r"(?s)02_two: a cell failed.*the reason"):
            execute.execute_stale(root=course)
        assert Page("notebooks/01_one", course).why_stale() is None
        assert not Page("notebooks/02_two", course).stored.exists()

    def test_a_kernel_that_dies_is_named(self, course):
        write_notebook(course / "notebooks" / "01_one.ipynb", "import os", "os._exit(1)")
        with pytest.raises(StoppedPage, match="01_one: the kernel died"):
            execute.execute_stale(root=course)

    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
    def test_interrupted_or_killed_it_goes_on_from_there(self, course, how):
        marker = course / "started"
        write_notebook(
            course / "notebooks" / "02_two.ipynb",
            f"import os, pathlib, time\npathlib.Path({str(marker)!r}).write_text(str(os.getpid()))\ntime.sleep(120)",
        )
        code = f"""
import pathlib, sys

sys.path.insert(0, {str(ROOT)!r})
from tools import build_book, execute

course, whole = pathlib.Path({str(course)!r}), execute.execute_stale
build_book.SITE, build_book.STAMP = course / "html", course / "stamp"
execute.execute_stale = lambda force=False: whole(root=course)
sys.argv = ["build_book"]
sys.exit(build_book.main())
"""
        build = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(600):
            if marker.exists() and marker.read_text():
                break
            time.sleep(0.1)
        kernel = int(marker.read_text())
        build.send_signal(how)
        said, complaints = build.communicate(timeout=60)
        if how == signal.SIGINT:
            assert build.returncode == 130
            assert said.splitlines()[-1].startswith("Stopped. The pages that were executed are kept")
            assert "Traceback" not in said + complaints
        for _ in range(300):  # the kernel looks after its parent about once a second
            if not alive(kernel):
                break
            time.sleep(0.1)
        assert not alive(kernel), "a kernel goes on without its build"
        write_notebook(course / "notebooks" / "02_two.ipynb", "print('now')")
        assert execute.execute_stale(root=course) == ["notebooks/02_two"]


def alive(process: int) -> bool:
    """Whether a process runs; one that has ended and was not collected does not."""
    try:
        os.kill(process, 0)
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False


class TestWhatNeverReachesAPage:
    def test_a_users_own_settings(self, course, tmp_path, monkeypatch):
        start = tmp_path / "home" / "ipython" / "profile_default" / "startup"
        start.mkdir(parents=True)
        (start / "00-hello.py").write_text("print('hello from my start-up file')", "utf-8")
        monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "home" / "ipython"))
        execute.execute_stale(root=course)
        assert output(Page("notebooks/01_one", course)) == "1\n"

    @pytest.mark.train
    def test_the_first_conversion_of_a_model(self, tmp_path, monkeypatch):
        """Chapter 2 comes out the same where the chat model was never converted and where it was."""
        pytest.importorskip("torch")
        for name in ("rl_lab", "runs", "notebooks", "book", "_toc.yml", "requirements.txt"):
            (tmp_path / name).symlink_to(ROOT / name)
        monkeypatch.setenv("RL_LAB_CACHE", str(tmp_path / "cache"))
        page = Page("notebooks/02_why_post_training", tmp_path)
        execute.execute(page)
        cold = nbformat.read(page.stored, as_version=4)
        assert (tmp_path / "cache" / "smollm2-135m-instruct" / "config.json").is_file(), (
            "nothing was converted"
        )
        execute.execute(page)
        warm = nbformat.read(page.stored, as_version=4)
        for before, after in zip(cold.cells, warm.cells, strict=True):
            assert before.get("outputs") == after.get("outputs"), before.source
        kinds = {kind for cell in warm.cells for o in cell.get("outputs", []) for kind in o.get("data", {})}
        assert "application/vnd.jupyter.widget-view+json" not in kinds


def test_every_entry_of_the_store_is_readable_json():
    for path in (ROOT / execute.STORE).glob("*.json"):
        assert json.loads(path.read_text("utf-8"))["read"]
