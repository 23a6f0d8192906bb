"""A notebook alone in an empty folder, as Colab opens it: IPython 7.34, ipywidgets 7.7.1, and no clone beside it.

The package comes as pip makes it of a git repository: the notebook's own first cell asks for it. Chapters that need
torch and TRL see this environment's, behind everything that stands for Colab; so they are not installed again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.notebooks import PATHS, ROOT, light, read, tags
from tools import address

pytestmark = pytest.mark.notebook
COLAB = ["ipython==7.34.0", "ipykernel==6.17.1"]  # with what they ask for
WIDGETS = [
    "ipywidgets==7.7.1",
    "ipython_genutils",
]  # without: the rest of ipywidgets 7 is a whole Notebook server
BEHIND = "import sys; sys.path.append({!r}); from ipykernel import kernelapp; kernelapp.launch_new_instance()"
SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "rl_lab", "runs")


def sh(*command: object, cwd: Path | None = None) -> subprocess.CompletedProcess:
    """Run a command outside of the course."""
    return subprocess.run(
        [*map(str, command)], cwd=cwd, env=outside(), capture_output=True, text=True, check=False
    )


def outside(**more: str) -> dict[str, str]:
    """Return the environment without what leads back to the course."""
    return {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "RL_LAB", "XDG", "JUPYTER"))
    } | more


@dataclass
class Machine:
    """Another machine: its kernels, its empty home, and what the two first cells said there."""

    home: Path
    nowhere: nbformat.NotebookNode | None = (
        None  # the first cell without an address, where nothing is installed
    )
    installing: nbformat.NotebookNode | None = None  # the first cell that knows the repository

    def run(
        self, notebook: nbformat.NotebookNode, kernel: str = "lone", stop: bool = True
    ) -> nbformat.NotebookNode:
        """Execute a notebook in a folder that is empty but for it."""
        folder = self.home / f"folder-{len(list(self.home.iterdir()))}"
        folder.mkdir()
        nbformat.write(notebook, folder / "notebook.ipynb")
        client = NotebookClient(
            notebook,
            kernel_name=kernel,
            timeout=300,
            allow_errors=not stop,
            resources={"metadata": {"path": str(folder)}},
        )
        return client.execute(env=outside(HOME=str(self.home), USERPROFILE=str(self.home)))

    def first_cell(self, number: str, where: str) -> nbformat.NotebookNode:
        """Run the first cell of a chapter, and say what it put out."""
        cell = nbformat.v4.new_code_cell(address.setup_source(number, where, "main"))
        return self.run(nbformat.v4.new_notebook(cells=[cell]), stop=False).cells[0]


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    """Make the environment once; skips where PyPI cannot be reached."""
    folder = tmp_path_factory.mktemp("colab")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    for arguments in (COLAB, ["--no-deps", *WIDGETS]):
        done = sh(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)
        if done.returncode and any(
            word in done.stderr for word in ("Could not find a version", "Connection", "Max retr")
        ):
            pytest.skip(f"IPython 7.34 and ipywidgets 7.7.1 could not be had: {done.stderr.splitlines()[-1]}")
        assert done.returncode == 0, done.stderr
    launch = {
        "lone": ["-m", "ipykernel_launcher"],
        "behind": ["-c", BEHIND.format(sysconfig.get_path("purelib"))],
    }
    for name, how in launch.items():
        kernel = folder / "jupyter" / "kernels" / name
        kernel.mkdir(parents=True)
        argv = [str(python), *how, "-f", "{connection_file}"]
        (kernel / "kernel.json").write_text(
            json.dumps({"argv": argv, "display_name": name, "language": "python"})
        )

    repository = folder / "repository"
    repository.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, repository / name, ignore=shutil.ignore_patterns("__pycache__", "out")
            )
        else:
            shutil.copy(ROOT / name, repository)
    for command in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "--all"],
        ["commit", "--quiet", "-m", "all"],
    ):
        done = sh("git", "-c", "user.name=a", "-c", "user.email=a@b.org", *command, cwd=repository)
        assert done.returncode == 0, done.stderr

    (folder / "home").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
        made = Machine(folder / "home")
        made.nowhere = made.first_cell("10", "")
        made.installing = made.first_cell("10", repository.as_uri())
        yield made


def text_of(cell: nbformat.NotebookNode) -> str:
    return "".join(output.get("text", "") for output in cell.outputs)


def test_without_a_course_the_first_cell_says_in_one_sentence_what_to_do(machine):
    (output,) = machine.nowhere.outputs
    assert output.output_type == "error", "it stops the cells below"
    assert output.traceback == [address.NOWHERE]


def test_the_first_cell_installs_the_package_from_its_repository_and_says_so(machine):
    assert not [o for o in machine.installing.outputs if o.output_type == "error"], machine.installing.outputs
    lines = [
        line for line in text_of(machine.installing).splitlines() if "restart the kernel" not in line and line
    ]
    assert lines[0].startswith("Installing rl_lab from file:")
    assert lines[1].startswith("torch is missing: run `%pip install torch`"), (
        "torch is never installed unasked"
    )
    assert len(lines) == 2


def test_a_package_is_installed_once_in_one_line(machine):
    code = 'from rl_lab.install import install_missing\ninstall_missing("annotated-doc==0.0.4")'
    cells = [nbformat.v4.new_code_cell(code) for _ in range(2)]
    cells.append(nbformat.v4.new_code_cell("import annotated_doc"))
    first, second, _ = machine.run(nbformat.v4.new_notebook(cells=cells)).cells
    assert text_of(first).startswith("Installing what this notebook needs: annotated-doc==0.0.4\n")
    assert text_of(second) == ""


def test_what_pip_cannot_install_is_a_sentence(machine):
    code = 'from rl_lab.install import install_missing\ninstall_missing("annotated-doc==99.0")'
    (cell,) = machine.run(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), stop=False).cells
    assert cell.outputs[-1].traceback == [
        "pip did not install annotated-doc==99.0; what it says above is why"
    ]


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_each_chapter_runs_alone(machine, path):
    needs = address.NEEDS.get(path.name[:2], ())
    absent = [name for name in needs if find_spec(name.replace("-", "_")) is None]
    if absent:
        pytest.skip(f"this environment has no {', '.join(absent)}")
    done = machine.run(light(read(path)), "behind" if needs else "lone")
    code = [cell for cell in done.cells if cell.cell_type == "code"]
    assert "setup" in tags(code[0])
    assert code[0].outputs == [], "nothing was missing, so nothing is said"
    views = [
        o for c in code for o in c.outputs if "application/vnd.jupyter.widget-view+json" in o.get("data", {})
    ]
    assert views, "the figures are ipywidgets of version 7.7"
