"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

import os
from pathlib import Path

# Small matrices on two test processes: more threads than cores only wait for each other (20 times slower, measured).
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import pytest  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make unit` leaves out, by place: the figures that notebooks state, and real training."""
    for item in items:
        if item.path.name.startswith("test_notebook_"):
            item.add_marker(pytest.mark.notebook)
        if item.path.parent.name == "train" or item.path.name in ("test_grpo_trl.py", "test_lora_peft.py"):
            item.add_marker(pytest.mark.train)


@pytest.fixture(scope="session")
def root() -> Path:
    """Root folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def gsm8k_dir() -> Path:
    """Folder with GSM8K's train.jsonl and test.jsonl: $RL_LAB_GSM8K, or shared/data/gsm8k beside the repository."""
    candidates = [Path(os.environ["RL_LAB_GSM8K"])] if "RL_LAB_GSM8K" in os.environ else []
    candidates += [ROOT.parent / "shared" / "data" / "gsm8k"]
    for folder in candidates:
        if (folder / "train.jsonl").is_file():
            return folder
    pytest.skip("GSM8K is not here: set RL_LAB_GSM8K to a folder with its train.jsonl and test.jsonl")


@pytest.fixture(scope="session")
def site() -> Path:
    """Folder of the built site; fails if it was not built, because `make test` builds it first."""
    folder = ROOT / "_build" / "html"
    if not (folder / "index.html").is_file():
        pytest.fail("the site is not built: run `make book` (or `make test`, which does)")
    return folder


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """Start one headless Chromium for a test process: the machine's, or Playwright's, downloaded if missing.

    Where neither can be had, browser tests are skipped with a sentence, and the summary counts them; in CI they fail.
    """
    playwright = pytest.importorskip("playwright.sync_api")
    filelock = pytest.importorskip("filelock")
    from tests.explore.browser import launch, obtain

    shared = tmp_path_factory.getbasetemp()
    shared = (
        shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    )  # one folder for all test processes
    with playwright.sync_playwright() as p:
        with filelock.FileLock(shared / "chromium.lock"):  # one process tries, the others hear how it went
            answer = shared / "chromium.answer"
            if not answer.is_file():
                answer.write_text(obtain(p) or "", "utf-8")
            missing = answer.read_text("utf-8")
        if missing:
            pytest.fail(missing, pytrace=False) if os.environ.get("CI") else pytest.skip(missing)
        browser = launch(p)
        yield browser
        browser.close()
