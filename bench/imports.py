"""How long does ``import rl_lab`` with its whole ground floor take, beside numpy?

The child looks at its own clock around the import, so the start of Python, which takes longer, is not in it.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

GROUND = "import rl_lab, rl_lab.calculator, rl_lab.mdp, rl_lab.gsm8k, rl_lab.answers, rl_lab.rewards"
GROUND += ", rl_lab.grpo, rl_lab.lora, rl_lab.evaluation, rl_lab.check"
CASES = {"import rl_lab": "import rl_lab", "whole ground floor": GROUND, "numpy": "import numpy"}


CLOCK = "import time; started = time.perf_counter(); {code}; print(time.perf_counter() - started)"


def milliseconds(code: str) -> float:
    """Wall time that a fresh interpreter takes for `code`."""
    command = [sys.executable, "-c", CLOCK.format(code=code)]
    return 1000 * float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main(rounds: int = 15) -> None:
    """Print the median over interleaved rounds, and the ratio to numpy's."""
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(rounds):
        for name, code in CASES.items():
            times[name].append(milliseconds(code))
    median = {name: statistics.median(values) for name, values in times.items()}
    for name, values in times.items():
        ratio = median[name] / median["numpy"]
        print(
            f"{name:<20} median {median[name]:6.1f} ms   worst {max(values):6.1f} ms   {ratio:5.2f} of numpy"
        )
