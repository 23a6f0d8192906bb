"""How many completions a second does the accuracy reward score, beside Math-Verify on the same completions?

Gold solutions rewritten as completions, in the course's own format and in ``\\boxed{}``, which Math-Verify prefers.
Both sides read the label and the completion and compare; they take turns, chunk by chunk, so that a busy machine slows
both. Math-Verify parses whole LaTeX expressions (sets, intervals, matrices); ours reads one number and nothing else.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from rl_lab.gsm8k import extract_ground_truth, load, strip_calc_marks
from rl_lab.rewards import accuracy_reward

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "gsm8k"
FORMATS = {"Final Answer: n": "Final Answer: {}", "\\boxed{n}": "The result is $\\boxed{{{}}}$."}
CHUNK = 50


def completions(form: str, count: int) -> list[tuple[str, str]]:
    """Gold solutions as (completion, label), from GSM8K's test split where it is at hand, else generated ones."""
    rows = load(DATA if DATA.is_dir() else None, "test", limit=count)
    labels = [extract_ground_truth(row["answer"]) for row in rows]
    bodies = [strip_calc_marks(row["answer"].rsplit("####", 1)[0]).strip() for row in rows]
    return [(f"{body}\n{form.format(label)}", label) for body, label in zip(bodies, labels, strict=True)]


def ours(completion: str, label: str) -> bool:
    """Score by rl_lab."""
    return accuracy_reward(completion, label) == 1.0


def theirs() -> Callable[[str, str], bool]:
    """Score by Math-Verify with its defaults; the pure-Python timeouts are off, they only cost time here."""
    from math_verify import parse, verify

    def score(completion: str, label: str) -> bool:
        gold, answer = parse(label, parsing_timeout=None), parse(completion, parsing_timeout=None)
        return verify(gold, answer, timeout_seconds=None)

    return score


def main(count: int = 400) -> None:
    """Print microseconds a completion, the ratio, and how many gold solutions each side pays."""
    import logging

    logging.getLogger("math_verify").setLevel(logging.ERROR)  # it warns once that the timeouts are off
    scorers = {"rl_lab": ours, "Math-Verify": theirs()}
    for name, form in FORMATS.items():
        rows = completions(form, count)
        times: dict[str, list[float]] = {who: [] for who in scorers}
        paid = dict.fromkeys(scorers, 0)
        for start in range(0, len(rows), CHUNK):
            chunk = rows[start : start + CHUNK]
            for who, score in scorers.items():
                started = time.perf_counter()
                paid[who] += sum(score(completion, label) for completion, label in chunk)
                times[who].append(1e6 * (time.perf_counter() - started) / len(chunk))
        median = {who: statistics.median(values) for who, values in times.items()}
        print(f"{len(rows)} gold solutions ending in {name}")
        for who, value in median.items():
            print(f"  {who:<12} median {value:9.1f} us a completion   pays {paid[who]} of {len(rows)}")
        print(f"  ratio        {median['Math-Verify'] / median['rl_lab']:9.1f}")
