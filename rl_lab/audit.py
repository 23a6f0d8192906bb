r"""What is in this data set, before a model learns from it?

:func:`audit` counts, row by row, what a reader of five samples does not see: labels with commas, solutions
without marks, reasoning that ends on another number than the answer, duplicates, leaks, scraping dirt.
Counting is not judging: a negative answer is no fault, but an extractor that drops signs has to be tested on
one.

``python -m rl_lab.audit FOLDER --out rl_lab/data/gsm8k_audit.json`` records the audit of GSM8K that chapter 6 shows.

>>> rows = [{"question": "2+3?", "answer": "2+3=<<2+3=6>>6\n#### 5"}, {"question": "2+3?", "answer": "#### 1,000"}]
>>> print(audit(rows))
2 rows
  1  no calculator marks
  1  a calculator mark is wrong
  2  last number of the reasoning is not the answer
  1  answer with a thousands separator
  1  question occurs before (case and spacing aside)
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import re
import statistics
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from rl_lab._record import Record
from rl_lab._sources import SPLITS, ProblemSet, load
from rl_lab.gsm8k import to_sft
from rl_lab.rows import (
    calc_marks,
    check_calc_marks,
    clean_text,
    extract_ground_truth,
    find_leak,
    has_html_entities,
    label_of,
    last_number,
    reasoning_lines,
    strip_calc_marks,
)

ISSUES = {
    "no_label": "no readable label",
    "no_marks": "no calculator marks",
    "wrong_marks": "a calculator mark is wrong",
    "last_number_differs": "last number of the reasoning is not the answer",
    "separators": "answer with a thousands separator",
    "negative": "negative answer",
    "decimal": "answer with decimals",
    "blank_lines": "blank line inside the solution",
    "html_entities": "HTML entity",
    "odd_characters": "no-break space, zero-width or control character",
    "leaks": "question gives its answer away",
    "duplicates": "question occurs before (case and spacing aside)",
    "held_out": "question is also in the held-out set",
}
"""Everything that is counted, with its wording."""


_NOT_PLAIN = re.compile(r"[^\n\x20-\x7e]")


class Audit(Record):
    """What :func:`audit` returns: ``n``, ``lines`` (solution lines → rows) and ``issues`` (name → row numbers)."""

    def counts(self) -> dict[str, int]:
        """Number of rows per issue, 0 included, in the order of :data:`ISSUES`."""
        return {name: len(self["issues"].get(name, ())) for name in ISSUES}

    def __str__(self) -> str:
        found = [f"  {count:,}  {ISSUES[name]}" for name, count in self.counts().items() if count]
        return "\n".join([f"{self['n']:,} rows", *(found or ["  nothing found"])])


def audit(rows: Iterable[Mapping[str, Any]], *, held_out: Iterable[Mapping[str, Any]] = ()) -> Audit:
    """Count what is unusual in every row.

    Parameters
    ----------
    rows : iterable of mapping
        Raw rows with ``question`` and ``answer``.
    held_out : iterable of mapping
        Rows that must not occur in `rows`, such as the test split.

    Returns
    -------
    Audit
        Row numbers count from 0. Never raises on a broken row: that is what it looks for.

    Examples
    --------
    >>> audit([{"question": "Q", "answer": "It is seven."}]).issues["no_label"]
    [0]
    """
    seen = {_same_words(row) for row in held_out}
    kept_apart = set(seen)
    issues: dict[str, list[int]] = {}
    lines: Counter[int] = Counter()
    n = 0
    for n, row in enumerate(rows, 1):
        found = _look_at(row)
        key = _same_words(row)
        if key and key in seen:
            found.append("held_out" if key in kept_apart else "duplicates")
        seen.add(key)
        for name in found:
            issues.setdefault(name, []).append(n - 1)
        lines[len(reasoning_lines(_text(row, "answer")))] += 1
    return Audit(n=n, lines=dict(sorted(lines.items())), issues=issues)


def _text(row: Any, field: str) -> str:
    """A field as text; what is no text, or no row at all, reads as empty."""
    value = row.get(field) if isinstance(row, Mapping) else None
    return value if isinstance(value, str) else ""


def _look_at(row: Any) -> list[str]:
    question, answer = _text(row, "question"), _text(row, "answer")
    found = []
    try:
        gold = label_of(row)
    except (AttributeError, TypeError, ValueError):
        return ["no_label", *_dirt(question, answer)]
    marks = check_calc_marks(answer) if calc_marks(answer) else []
    reasoning = strip_calc_marks("\n".join(reasoning_lines(answer)))
    last = last_number(reasoning)
    checks = {
        "no_marks": not marks,
        "wrong_marks": not all(mark.ok for mark in marks),
        "last_number_differs": last is None or last != Decimal(gold),
        "separators": "," in answer.rpartition("####")[2].strip().rstrip(",."),
        "negative": gold.startswith("-"),
        "decimal": "." in gold,
    }
    found += [name for name, is_so in checks.items() if is_so]
    if find_leak(clean_text(question), gold, clean_text(reasoning).split("\n")):
        found.append("leaks")
    return found + _dirt(question, answer)


def _dirt(question: str, answer: str) -> list[str]:
    text = question + "\n" + answer
    found = []
    if "\n" in answer.strip() and any(not line.strip() for line in answer.strip().split("\n")):
        found.append("blank_lines")
    if has_html_entities(text):
        found.append("html_entities")
    if any(_odd(character) for character in _NOT_PLAIN.findall(text)):
        found.append("odd_characters")
    return found


def _odd(character: str) -> bool:
    return unicodedata.category(character) in ("Zs", "Zl", "Zp", "Cc", "Cf", "Cs")


def _same_words(row: Any) -> str:
    return " ".join(_text(row, "question").casefold().split())


def recorded() -> dict[str, Any]:
    """The audit of GSM8K that comes with the package, made by :func:`record`: the data itself does not.

    Examples
    --------
    >>> {split: found["n"] for split, found in recorded()["splits"].items()}
    {'train': 7473, 'test': 1319}
    """
    return json.loads((Path(__file__).parent / "data" / "gsm8k_audit.json").read_text(encoding="utf-8"))


def record(folder: str | Path) -> dict[str, Any]:
    """Audit both splits of a folder, in the form that :func:`recorded` reads.

    Parameters
    ----------
    folder : str or path
        Holds ``train.jsonl`` and ``test.jsonl``.

    Returns
    -------
    dict
        Plain JSON values; the files are named by their SHA-256.
    """
    folder = Path(folder)
    splits = {split: load(folder, split) for split in SPLITS}
    return {
        "name": "audit of GSM8K",
        "command": "python -m rl_lab.audit FOLDER --out rl_lab/data/gsm8k_audit.json",
        "seed": None,
        "versions": {"python": platform.python_version()},
        "source": "GSM8K (Cobbe et al. 2021, MIT licence), openai/gsm8k, configuration main",
        "sha256": {s: hashlib.sha256((folder / f"{s}.jsonl").read_bytes()).hexdigest() for s in SPLITS},
        "issues": ISSUES,
        "splits": {s: _summary(rows, splits["test"] if s == "train" else ()) for s, rows in splits.items()},
    }


def _summary(rows: ProblemSet, held_out: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    found = audit(rows, held_out=held_out)
    completions = [len(to_sft(row)["completion"]) for row in rows]
    labels = [len(extract_ground_truth(row.answer)) for row in rows]
    return {
        "n": found.n,
        "lines": {str(lines): count for lines, count in found.lines.items()},
        "counts": found.counts(),
        "first_rows": {name: numbers[:3] for name, numbers in found.issues.items()},
        "completion_characters": {
            "mean": round(statistics.fmean(completions), 1),
            "median": statistics.median(completions),
            "max": max(completions),
        },
        "label_characters_mean": round(statistics.fmean(labels), 2),
    }


def main(argv: list[str] | None = None) -> int:
    """Print the audit of a folder, and write its record if asked."""
    parser = argparse.ArgumentParser(
        prog="python -m rl_lab.audit", description="Audit a GSM8K-style data set."
    )
    parser.add_argument("folder", help="folder with train.jsonl and test.jsonl")
    parser.add_argument("--out", help="write the record to this JSON file")
    given = parser.parse_args(argv)
    found = record(given.folder)
    for split, summary in found["splits"].items():
        print(f"{split}: {summary['n']:,} rows")
        for name, count in summary["counts"].items():
            print(f"  {count:6,}  {ISSUES[name]}")
    if given.out:
        Path(given.out).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
