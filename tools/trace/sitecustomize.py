"""Write down which files of the course a Python process reads; `tools.execute` puts this folder on a kernel's path.

Python imports ``sitecustomize`` at its start, so the processes that a kernel starts are followed, too. One line a
reading goes into the file named by ``RL_LAB_TRACE``: ``file PATH`` or ``folder PATH`` (its names were listed), PATH
relative to ``RL_LAB_TRACE_ROOT``. A path that does not exist counts as well: the page would differ if it did.
"""

import importlib.util
import os
import sys

_WRITES = os.O_WRONLY | os.O_RDWR
_EVENTS = {"open": "file", "os.listdir": "folder", "os.scandir": "folder"}


def _follow(target: str, root: str) -> None:
    seen: set[str] = set()
    out = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def hook(event: str, args: tuple) -> None:
        kind = _EVENTS.get(event)
        if kind is None or not isinstance(args[0] or ".", str | bytes | os.PathLike):
            return
        if kind == "file" and (args[2] or 0) & _WRITES:
            return
        path = os.path.abspath(os.fsdecode(args[0] or "."))
        if not path.startswith(root + os.sep):
            return
        # The import system and package metadata list whole folders to find one name; what they load is opened.
        if kind == "folder" and "importlib" in sys._getframe(1).f_code.co_filename:
            return
        if path.endswith(".pyc"):
            try:
                path = importlib.util.source_from_cache(path)
            except ValueError:
                return
        line = f"{kind} {os.path.relpath(path, root)}\n"
        if line not in seen:
            seen.add(line)
            os.write(out, line.encode("utf-8", "surrogateescape"))

    sys.addaudithook(hook)


if "RL_LAB_TRACE" in os.environ:
    _follow(os.environ["RL_LAB_TRACE"], os.environ["RL_LAB_TRACE_ROOT"])

# Another sitecustomize that this one hides (a distribution's, an editor's) runs as it would have run without us.
_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != _here]
_ours = sys.modules.pop("sitecustomize")
try:
    import sitecustomize  # noqa: F401
except ImportError:
    sys.modules["sitecustomize"] = _ours
