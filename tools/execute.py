"""Execute the pages' cells, and only of those pages that would come out differently.

While a page runs, every file of the course that its kernel opens is written down (``tools/trace``). A page is stale
if its own cells, one of those files, the pins or Python's version have changed, and for no other reason. Its outputs
lie in ``_build/executed``, one notebook a page, put there whole when the page has ended: a build that is killed loses
the page that it was at, and no other.

MyST-NB takes the outputs from a jupyter-cache that `offer` fills with the pages that are up to date.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import pages

ROOT = Path(__file__).resolve().parents[1]
STORE = Path("_build") / "executed"
TRACE = Path(__file__).with_name("trace")
TIMEOUT = 600  # seconds a cell may take

# Folders that running makes, and names that are never part of the course.
MADE = {".git", ".venv", ".venv-ground", "_build", "__pycache__", ".ipynb_checkpoints", "out", "scratch"}

# A page is drawn without a kernel, and its figures share the site's one script.
FOR_A_PAGE = {"RL_LAB_EXPLORE": "static", "RL_LAB_EXPLORE_ASSETS": "site"}


class StoppedPage(Exception):
    """A page's cell failed, took too long, or its kernel died; the message names page and cell."""


def belongs(path: str) -> bool:
    """Whether a path below the root can change what a page puts out."""
    parts = Path(path).parts
    return bool(parts) and not MADE & set(parts) and not any(part.endswith(".egg-info") for part in parts)


def sha256(text: str | bytes) -> str:
    """Hexadecimal SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8") if isinstance(text, str) else text).hexdigest()


def state_of(kind: str, path: str, root: Path) -> str | None:
    """What a page could read there: a file's hash, the hash of a folder's names, None where nothing is."""
    full = root / path
    if kind == "file":
        return sha256(full.read_bytes()) if full.is_file() else None
    if not full.is_dir():
        return None
    return sha256("\n".join(sorted(name for name in os.listdir(full) if belongs(name) and name[0] != ".")))


@dataclass
class Page:
    """A page with code cells.

    Attributes
    ----------
    name : str
        As ``_toc.yml`` has it, such as ``notebooks/07_reward_functions``.
    root : Path
        Root folder of the course.
    """

    name: str
    root: Path = ROOT

    @property
    def short(self) -> str:
        """The last part of the name."""
        return self.name.rsplit("/", 1)[-1]

    @property
    def path(self) -> Path:
        """The page's source."""
        return pages.source(self.name, self.root)

    @property
    def stored(self) -> Path:
        """Where the executed notebook is kept."""
        return self.root / STORE / f"{self.short}.ipynb"

    def notebook(self) -> Any:
        """The source as a notebook without outputs, read as MyST-NB reads it."""
        import nbformat
        from myst_nb.core.read import read_myst_markdown_notebook

        if self.path.suffix == ".ipynb":
            return nbformat.read(self.path, as_version=4)
        return read_myst_markdown_notebook(self.path.read_text("utf-8"), add_source_map=True)

    def code(self) -> str:
        """Hash of everything in the source that is executed; prose does not count."""
        notebook = self.notebook()
        cells = [(cell.source, cell.metadata) for cell in notebook.cells if cell.cell_type == "code"]
        return sha256(json.dumps([cells, notebook.metadata.get("kernelspec")], sort_keys=True))

    def record(self) -> dict[str, Any]:
        """What is known of the last execution (``code``, ``pins``, ``output``, ``read``, ``seconds``), or {}."""
        with contextlib.suppress(OSError, ValueError):
            return json.loads(self.stored.with_suffix(".json").read_text("utf-8"))
        return {}

    def why_stale(self) -> str | None:
        """Return what has changed since the page was last executed, or None if nothing has."""
        record = self.record()
        if not record or not self.stored.is_file() or sha256(self.stored.read_bytes()) != record["output"]:
            return "it has not been executed here"
        if record["pins"] != pins(self.root):
            return "the pinned packages or Python have changed"
        if record["code"] != self.code():
            return "its own cells have changed"
        for entry, state in record["read"].items():
            kind, path = entry.split(" ", 1)
            if state_of(kind, path, self.root) != state:
                return f"{path} has changed"
        return None


def pins(root: Path) -> str:
    """Hash of the packages that pages run with, and of Python's version."""
    found = [
        file.read_text("utf-8")
        for name in ("requirements.txt", "requirements-model.txt")
        if (file := root / name).is_file()
    ]
    return sha256("\n".join([*found, f"{sys.version_info.major}.{sys.version_info.minor}"]))


def with_code(root: Path = ROOT) -> list[Page]:
    """The pages that have code cells, in reading order."""
    return [
        Page(name, root)
        for name in pages.names(root)
        if (path := pages.source(name, root)).suffix == ".ipynb" or "{code-cell}" in path.read_text("utf-8")
    ]


def environment(page: Page, trace: Path, scratch: Path) -> dict[str, str]:
    """Environment variables of a page's kernel: nothing of the user's own settings reaches a page."""
    below = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    return {
        **os.environ,
        **FOR_A_PAGE,
        "PYTHONPATH": os.pathsep.join([str(TRACE), str(page.root), *below]),
        "RL_LAB_TRACE": str(trace),
        "RL_LAB_TRACE_ROOT": str(page.root),
        "IPYTHONDIR": str(scratch / "ipython"),  # a user's start-up scripts print
        "JUPYTER_CONFIG_DIR": str(scratch / "jupyter"),
        "MPLCONFIGDIR": str(scratch / "matplotlib"),  # a user's matplotlibrc changes pictures
    }


def _run(client: Any, tick: Callable[[int], None], **kernel: Any) -> None:
    """Execute in a thread, so that this one can draw and be interrupted; the kernel never outlives the call."""
    done = 0

    def count(**_: Any) -> None:
        nonlocal done
        done += 1

    client.on_cell_executed = count
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(client.execute, **kernel)
        try:
            while not wait_for([running], timeout=0.5).done:
                tick(done)
        except BaseException:
            if client.km is not None and client.km.has_kernel:
                os.kill(client.km.provisioner.pid, 9)
            wait_for([running])
            raise
        running.result()


def execute(page: Page, tick: Callable[[int], None] = lambda done: None) -> float:
    """Execute one page, keep what it put out, and return the seconds that it took.

    Raises
    ------
    StoppedPage
        If a cell raises or takes more than `TIMEOUT` seconds, or the kernel dies.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook, code, started, clock = page.notebook(), page.code(), time.monotonic(), time.time()
    kernelspec = notebook.metadata.get("kernelspec")
    folder = page.root / STORE
    scratch = folder / "scratch"
    trace, log = scratch / f"{page.short}.read", scratch / f"{page.short}.log"
    scratch.mkdir(parents=True, exist_ok=True)
    trace.unlink(missing_ok=True)
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        record_timing=False,  # it would change the cells that MyST-NB looks up
        resources={"metadata": {"path": str(page.path.parent)}},
    )
    try:
        with log.open("w") as said:
            _run(client, tick, env=environment(page, trace, scratch), stderr=said)
    except CellExecutionError as error:
        raise StoppedPage(f"{page.name}: a cell failed.\n{error}") from None
    except CellTimeoutError:
        raise StoppedPage(
            f"{page.name}: a cell took more than {TIMEOUT} s; try again when the machine is less busy, or cut its work"
        ) from None
    except (DeadKernelError, RuntimeError) as error:
        raise StoppedPage(
            f"{page.name}: the kernel died ({error}); the usual reason is memory, of which chapters 10, 12, 16 and 17 "
            f"take up to 8 GB: close other programs and run the command again. What it said last is in {log}"
        ) from None
    seconds = time.monotonic() - started
    # The client notes the kernel that it used; MyST-NB looks the page up by what its source says of the kernel.
    notebook.metadata.pop("kernelspec", None)
    notebook.metadata.update({"kernelspec": kernelspec} if kernelspec else {})
    text = nbformat.writes(notebook)
    record = {
        "code": code,
        "pins": pins(page.root),
        "output": sha256(text),
        "read": read(trace, page.root, clock),
        "seconds": round(seconds, 1),
    }
    _put(page.stored, text)
    _put(page.stored.with_suffix(".json"), json.dumps(record, indent=1))
    return seconds


def read(trace: Path, root: Path, since: float) -> dict[str, str | None]:
    """What a kernel has read, with its state; what was written `since` the page began counts as changed already."""
    found = {}
    for line in sorted(set(trace.read_text("utf-8", "surrogateescape").splitlines())):
        kind, path = line.split(" ", 1)
        if belongs(path) and not (root / path).is_relative_to(TRACE):
            late = kind == "file" and (root / path).is_file() and (root / path).stat().st_mtime > since
            found[line] = "written while the page ran" if late else state_of(kind, path, root)
    return found


def _put(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, "utf-8")
    os.replace(part, path)


class Progress:
    """One line per page; on a terminal it counts while the page runs.

    Parameters
    ----------
    total : int
        How many pages will run.
    """

    def __init__(self, total: int):
        self.total, self.number = total, 0
        self.live = sys.stdout.isatty()
        self.page, self.cells, self.started = None, 0, 0.0

    def start(self, page: Page) -> None:
        """Name the page that begins."""
        self.page, self.number, self.started = page, self.number + 1, time.monotonic()
        self.cells = sum(cell.cell_type == "code" for cell in page.notebook().cells)
        self.expected = page.record().get("seconds")
        if not self.live:
            about = f", {self.expected:.0f} s last time" if self.expected else ""
            print(f"[{self.number}/{self.total}] {page.short}: {self.cells} cells{about} …", flush=True)

    def tick(self, done: int) -> None:
        """Draw where the page is."""
        if self.live:
            about = f" of about {self.expected:.0f} s" if self.expected else " s"
            line = f"[{self.number}/{self.total}] {self.page.short}: cell {min(done + 1, self.cells)} of {self.cells}, "
            print(f"\r\033[K{line}{time.monotonic() - self.started:.0f}{about}", end="", flush=True)

    def end(self, seconds: float) -> None:
        """Say how long the page took."""
        start = f"\r\033[K[{self.number}/{self.total}] {self.page.short}: " if self.live else "      "
        print(f"{start}executed in {seconds:.0f} s", flush=True)


def execute_stale(force: bool = False, root: Path = ROOT) -> list[str]:
    """Execute the pages that need it and return their names, in reading order."""
    found = with_code(root)
    stale = [(page, "asked for" if force else why) for page in found if (why := page.why_stale()) or force]
    if not stale:
        return []
    forget_other_stores(root)
    expected = [page.record().get("seconds") for page, _ in stale]
    total = f"; they took {sum(expected):.0f} s last time" if all(expected) else ""
    print(f"Executing {len(stale)} of {len(found)} pages{total}. Each is kept once it has ended.")
    for page, why in stale if len(stale) < len(found) else []:
        print(f"  {page.short}: {why}")
    warm_up(root)
    progress = Progress(len(stale))
    for page, _ in stale:
        progress.start(page)
        progress.end(execute(page, progress.tick))
    return [page.name for page, _ in stale]


def warm_up(root: Path) -> None:
    """Do once what a library does at its first start, so that no page shows it: matplotlib reads the fonts."""
    scratch = root / STORE / "scratch" / "matplotlib"
    scratch.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [sys.executable, "-c", "import matplotlib.font_manager"],
        env={**os.environ, "MPLCONFIGDIR": str(scratch)},
        stderr=subprocess.DEVNULL,
        check=False,
    )


def forget_other_stores(root: Path) -> None:
    """Remove what is in the store and no page's: a page that was renamed, an earlier form of the store."""
    folder = root / STORE
    mine = {path for page in with_code(root) for path in (page.stored, page.stored.with_suffix(".json"))}
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name == "scratch" or path in mine:
            continue
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def offer(root: Path = ROOT) -> Path:
    """Fill a new jupyter-cache with the pages that are up to date, and return its folder.

    A page that is not in it is executed by MyST-NB itself, so that `jupyter-book build` alone is right, too.
    """
    import nbformat
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn

    folder = root / STORE / "cache"
    shutil.rmtree(folder, ignore_errors=True)
    cache = get_cache(str(folder))
    for page in with_code(root):
        if page.why_stale() is None:
            bundle = CacheBundleIn(
                nbformat.read(page.stored, as_version=4),
                str(page.path),
                data={"execution_seconds": page.record()["seconds"]},
            )
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    return folder
