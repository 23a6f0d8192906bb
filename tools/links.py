"""Ask every external link of the course whether it is still there: ``make links``.

A link is dead if its host says so (404, 410) or does not exist while other hosts answer. A host that refuses to talk
to a program (403, 429) or is slow proves nothing and is listed as unknown. Without a network nothing is checked, and
that is said.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
URL = re.compile(r"https?://[^\s<>\"'`{}\\|]+")
LOCAL = re.compile(r"https?://(localhost|127\.|0\.0\.0\.0|example\.|github\.com/you/)")
GONE = (404, 410)
TIMEOUT = 20  # seconds


def urls_in(text: str) -> list[str]:
    """External addresses in Markdown; closing punctuation and an unmatched bracket do not belong to them.

    Examples
    --------
    >>> urls_in("see [a](https://a.org/x_(y)), or https://b.org/z.")
    ['https://a.org/x_(y)', 'https://b.org/z']
    """
    found = []
    for url in URL.findall(text.replace(")[", ") [")):
        url = url.rstrip(".,;:!?*")
        while url.endswith((")", "]")) and url.count(")") + url.count("]") > url.count("(") + url.count("["):
            url = url[:-1].rstrip(".,;:!?*")
        if not LOCAL.match(url):
            found.append(url.partition("#")[0])
    return found


def pages(root: Path = ROOT) -> dict[str, list[str]]:
    """Return {address: files that name it} over README, prose pages, references and the notebooks' prose."""
    where: dict[str, list[str]] = defaultdict(list)
    for path in [
        root / "README.md",
        *sorted((root / "book").glob("*.*")),
        *sorted((root / "notebooks").glob("*.ipynb")),
    ]:
        text = path.read_text("utf-8")
        if path.suffix == ".ipynb":
            cells = json.loads(text)["cells"]
            text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        for url in dict.fromkeys(urls_in(text)):
            where[url].append(path.name)
    return dict(where)


def ask(url: str) -> tuple[str, str]:
    """One of "fine", "dead", "unknown" or "unreachable", and why."""
    request = urllib.request.Request(url, headers={"User-Agent": "Mozilla/5.0 (link check)"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310 - addresses are http(s), see URL
            return "fine", str(answer.status)
    except urllib.error.HTTPError as error:
        return ("dead" if error.code in GONE else "unknown"), str(error.code)
    except (urllib.error.URLError, OSError, ValueError) as error:
        return "unreachable", str(getattr(error, "reason", error))


def judge(answers: Mapping[str, tuple[str, str]]) -> dict[str, list[str]]:
    """Sort addresses by verdict. Where nobody at all answers, the fault is ours: nothing is dead.

    Examples
    --------
    >>> judge({"https://a.org": ("fine", "200"), "https://b.org": ("unreachable", "no such host")})["dead"]
    ['https://b.org (no such host)']
    >>> judge({"https://b.org": ("unreachable", "no such host")})
    {'fine': [], 'dead': [], 'unknown': [], 'offline': ['https://b.org (no such host)']}
    """
    online = any(verdict != "unreachable" for verdict, _ in answers.values())
    out: dict[str, list[str]] = {"fine": [], "dead": [], "unknown": [], "offline": []}
    for url, (verdict, why) in answers.items():
        if verdict == "unreachable":
            timed_out = "timed out" in why
            verdict = "offline" if not online else "unknown" if timed_out else "dead"
        out[verdict].append(f"{url} ({why})")
    return out


def check(urls: Iterable[str]) -> dict[str, list[str]]:
    """Ask them all, eight at a time."""
    urls = list(urls)
    with ThreadPoolExecutor(8) as pool:
        return judge(dict(zip(urls, pool.map(ask, urls), strict=True)))


def main() -> int:
    """Print what is not fine; the exit status is 1 if a link is dead."""
    where = pages()
    found = check(where)
    for verdict in ("dead", "unknown"):
        for line in found[verdict]:
            print(f"{verdict:<8} {line}  in {', '.join(where[line.rsplit(' (', 1)[0]])}")
    if found["offline"]:
        print(f"No host answered: without a network none of the {len(where)} links was checked.")
    else:
        print(", ".join(f"{len(found[v])} {v}" for v in ("fine", "dead", "unknown")))
    return bool(found["dead"])


if __name__ == "__main__":
    sys.exit(main())
