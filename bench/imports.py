"""How long does ``import rl_lab`` with its whole ground floor take, beside an empty Python and beside numpy?"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

GROUND = "import rl_lab, rl_lab.calculator, rl_lab.mdp, rl_lab.gsm8k, rl_lab.answers, rl_lab.rewards"
GROUND += ", rl_lab.grpo, rl_lab.lora, rl_lab.evaluation, rl_lab.check"
CASES = {"import rl_lab": "import rl_lab", "whole ground floor": GROUND, "numpy": "import numpy"}


def milliseconds(code: str) -> float:
    """Wall time of a fresh interpreter that runs `code`."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return 1000 * (time.perf_counter() - started)


def main(rounds: int = 15) -> None:
    """Print the median over interleaved rounds, the empty interpreter's taken off."""
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(rounds):
        empty = milliseconds("pass")
        for name, code in CASES.items():
            times[name].append(milliseconds(code) - empty)
    for name, values in times.items():
        print(f"{name:<20} median {statistics.median(values):6.1f} ms   worst {max(values):6.1f} ms")
