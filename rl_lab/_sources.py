"""Where do the rows come from, and does the loader say so?

The public names are in :mod:`rl_lab.gsm8k`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rl_lab._record import Record, closest
from rl_lab.rows import LABEL_KEYS, Problem, is_number

HUB_NAME = "openai/gsm8k"
SPLITS = ("train", "test")
BUNDLED_SIZE = {"train": 1000, "test": 200}  # rows of the bundled set when no limit is given


class ProblemSet(list):
    """Rows with their origin: a list of :class:`~rl_lab.rows.Problem`.

    Attributes
    ----------
    source : str
        Where the rows came from, in words.
    split : str
        ``"train"`` or ``"test"``.
    skipped : list of Record
        Rows left out, each with ``row`` (its number, from 0) and ``reason``.
    """

    def __init__(self, rows: Iterable[Problem], source: str, split: str, skipped: list[Record]) -> None:
        super().__init__(rows)
        self.source, self.split, self.skipped = source, split, skipped

    def __repr__(self) -> str:
        rows = "row" if len(self) == 1 else "rows"
        return f"{len(self):,} {self.split} {rows} from {self.source}; {skipped_rows(self.skipped)}"


def load(
    source: str | os.PathLike[str] | None = None,
    split: str = "train",
    limit: int | None = None,
    seed: int = 0,
    *,
    on_error: str = "raise",
) -> ProblemSet:
    """Load rows and say where they came from.

    Parameters
    ----------
    source : str or path, optional
        A folder with ``train.jsonl`` and ``test.jsonl`` (or one ``.jsonl`` file); ``"openai/gsm8k"`` for the
        hub, through the package ``datasets``; ``"bundled"`` for generated problems of the same form, which
        need nothing. By default the folder named in the environment variable ``RL_LAB_GSM8K``, else the
        bundled ones.
    split : str
        ``"train"`` or ``"test"``. The bundled splits share no question.
    limit : int, optional
        Take the first `limit` rows. By default all; of the bundled set 1,000 and 200.
    seed : int
        Seed of the bundled problems; rows from elsewhere keep their order.
    on_error : str
        ``"raise"`` on a row that cannot be read, or ``"skip"`` it and count it.

    Returns
    -------
    ProblemSet
        Rows exactly as stored: nothing is cleaned here. Its one-line summary is also printed.

    Raises
    ------
    ValueError
        For an unknown source, split or mode, or a broken row (its file and line are named).
    ImportError
        For the hub without ``datasets``, with the install command.
    OSError
        If the hub cannot be reached and its cache holds no copy; names the ways out.

    Examples
    --------
    >>> rows = load("bundled", "test", limit=3, seed=1)
    3 test rows from the bundled generator (seed 1); 0 rows skipped
    >>> sorted(rows[0])
    ['answer', 'question']
    """
    one_of("split", split, SPLITS)
    one_of("on_error", on_error, ("raise", "skip"))
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise ValueError(
            f"limit must be a whole number of rows, 1 or more, got {limit!r}; leave it out for all rows"
        )
    if not isinstance(source, (str, os.PathLike)) and source is not None:
        raise TypeError(f"source must be a name or a path, got {type(source).__name__} {source!r:.60}")
    source = os.environ.get("RL_LAB_GSM8K", "bundled") if source is None else os.fspath(source)
    if source == "bundled":
        raw, origin = _bundled(split, limit, seed), f"the bundled generator (seed {seed})"
    elif source == HUB_NAME:
        raw, origin = _from_hub(split, limit), f"the hub ({HUB_NAME})"
    else:
        path = _data_file(source, split)
        raw, origin = _from_lines(path), str(path)
    problems = _read(raw, origin, split, limit, on_error)
    print(repr(problems))
    return problems


def one_of(name: str, value: Any, choices: Iterable[str]) -> Any:
    """Return `value` if it is one of the choices, else raise a ValueError that lists them and the closest."""
    choices = list(choices)
    if value not in choices:
        raise ValueError(
            f"{name} must be one of {', '.join(choices)}, got {value!r}{closest(value, choices)}"
        )
    return value


def skipped_rows(skipped: list[Record]) -> str:
    """Say in words how many rows were left out, and why the first one was."""
    count = f"{len(skipped):,} row{'' if len(skipped) == 1 else 's'} skipped"
    return f"{count}, the first: {skipped[0].reason}" if skipped else count


def _bundled(split: str, limit: int | None, seed: int) -> list[tuple[str, Any]]:
    from rl_lab.problems import generate

    rows = generate(limit or BUNDLED_SIZE[split], seed, split=split)
    return [(f"row {n}", {"question": r["question"], "answer": r["answer"]}) for n, r in enumerate(rows)]


def _from_hub(split: str, limit: int | None) -> list[tuple[str, Any]]:
    try:
        from datasets import load_dataset
    except ImportError:
        raise ImportError(
            f"loading {HUB_NAME} from the hub needs the package datasets: pip install datasets (or pass a folder)"
        ) from None
    # Not at the top: it needs threads and sockets, which a browser's Python has not.
    from rl_lab.train._hub import cache_if_unreachable

    part = f"{split}[:{limit}]" if limit else split
    try:
        with cache_if_unreachable():
            rows = load_dataset(HUB_NAME, "main", split=part)
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        # "from None": what the clients raise is a chain of their retries.
        raise OSError(
            f"{HUB_NAME} could not be loaded from the hub ({reason[:200]}); without it, pass a folder that holds "
            f"{split}.jsonl as source, or name it in the environment variable RL_LAB_GSM8K, or pass 'bundled' for "
            "generated problems of the same form"
        ) from None
    return [(f"row {n}", dict(row)) for n, row in enumerate(rows)]


def _data_file(source: str, split: str) -> Path:
    path = Path(source)
    path = path / f"{split}.jsonl" if path.is_dir() else path
    if path.suffix != ".jsonl" or not path.is_file():
        hint = closest(source, ("bundled", HUB_NAME))
        raise ValueError(
            f"source must be 'bundled', {HUB_NAME!r}, a .jsonl file or a folder with {split}.jsonl, "
            f"got {source!r}{hint}"
        )
    return path


def _from_lines(path: Path) -> list[tuple[str, Any]]:
    # Cut before decoding: one byte that is no UTF-8 then spoils its own line and not the file. Not splitlines():
    # it would also cut at U+2028, which may stand inside a text.
    lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [(f"{path.name}:{n}", line) for n, line in enumerate(lines, 1) if line.strip()]


def _read(
    raw: list[tuple[str, Any]], origin: str, split: str, limit: int | None, on_error: str
) -> ProblemSet:
    problems, skipped = [], []
    for number, (where, line) in enumerate(raw):
        if limit is not None and len(problems) == limit:
            break
        reason, row = _parse(line)
        if reason and on_error == "raise":
            raise ValueError(
                f"{where}: {reason}; repair the line, or pass on_error='skip' to leave it out and count it"
            )
        if reason:
            skipped.append(Record(row=number, reason=f"{where}: {reason}"))
        else:
            problems.append(Problem(row))
    return ProblemSet(problems, origin, split, skipped)


def _parse(line: Any) -> tuple[str, dict[str, Any]]:
    try:
        row = json.loads(line.decode("utf-8")) if isinstance(line, bytes) else line
    except UnicodeDecodeError as error:
        return f"no UTF-8 text ({error.reason} at byte {error.start}); save the file as UTF-8"[:100], {}
    except (ValueError, RecursionError) as error:
        return f"no JSON ({error})"[:100], {}
    if not isinstance(row, dict):
        return f"a row must be an object with question and answer, got {type(row).__name__}", {}
    has_label = any(row.get(key) is not None for key in LABEL_KEYS) or is_number(row.get("answer"))
    needed = ("question",) if has_label else ("question", "answer")
    for field in needed:
        if not isinstance(row.get(field), str) or not row[field].strip():
            return f"{field} must be a text that is not empty, got {row.get(field)!r:.40}", {}
    return "", row
