"""Run the cells of chapters 16 and 17 on this machine's card: ``python -m tools.gpu_pair``. At most 8 minutes.

First with the bundled SmolLM2 (preset ``bundled``), then, if the hub answers and time is left, with Qwen2.5-0.5B and
GSM8K (preset ``short``). What comes out is written to ``runs/16_gpu_<preset>.json`` and ``runs/17_gpu_<preset>.json``.
The cells are the notebooks' own, read from the files; ``--preset tiny`` tries the script on a CPU in seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAIR = ("16_lora_sft_gpu", "17_grpo_gpu")
NEEDS_S = {"bundled": 60, "short": 150}  # a part that would begin with less time left is not begun


def main(argv: list[str] | None = None) -> int:
    """Parse the command line and run; returns the number of parts that failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", action="append", help="instead of bundled and short; may be repeated")
    parser.add_argument("--minutes", type=float, default=8.0, help="begin nothing that would end later")
    parser.add_argument("--into", type=Path, default=ROOT / "runs")
    arguments = parser.parse_args(argv)
    os.environ["RL_LAB_EXPLORE"] = "static"
    end = time.monotonic() + 60 * arguments.minutes
    failed = 0
    print(f"machine: {machine()}", flush=True)
    for name in arguments.preset or presets_here():
        left = end - time.monotonic()
        if left < NEEDS_S.get(name, 0):
            print(f"{name}: not begun, {left:.0f} s are left and it wants {NEEDS_S[name]}", flush=True)
            continue
        try:
            run_pair(name, arguments.into)
        except Exception:  # the next preset may still work, and its minutes are paid for
            failed += 1
            traceback.print_exc()
    return failed


def presets_here() -> list[str]:
    """The presets to run on this machine."""
    from rl_lab.train.precision import pick_device
    from rl_lab.train.presets import hub_answers

    if pick_device()[0] != "cuda":
        print("no CUDA card: nothing to do without --preset", file=sys.stderr)
        return []
    return ["bundled", "short"] if hub_answers() else ["bundled"]


def machine() -> dict[str, Any]:
    """What the records say about the machine: its kind, and no name."""
    import torch

    if not torch.cuda.is_available():
        return {"device": "cpu", "threads": torch.get_num_threads()}
    card = torch.cuda.get_device_properties(0)
    capability = ".".join(map(str, torch.cuda.get_device_capability()))
    return {"device": card.name, "memory_gib": round(card.total_memory / 2**30, 1), "capability": capability}


def run_pair(preset: str, into: Path) -> None:
    """Run both notebooks with a preset and write their records."""
    from rl_lab.train.record import write_run

    os.environ["RL_LAB_PRESET"] = preset
    for stem in PAIR:
        began = time.monotonic()
        print(f"--- {stem}, preset {preset}", flush=True)
        names = run_cells(stem)
        record = sft_record(names) if stem.startswith("16") else four_record(names)
        record["results"] |= {"clock_s": round(time.monotonic() - began, 1), "machine": machine()}
        record["command"] = f"python -m tools.gpu_pair --preset {preset}"
        path = write_run(record, into / f"{stem[:2]}_gpu_{preset}.json")
        print(f"{path.name}: {json.dumps(summary(record))}, {record['results']['clock_s']} s", flush=True)


def run_cells(stem: str) -> dict[str, Any]:
    """Run a notebook's code cells in one namespace, setup and exercises left out; returns the names they define."""
    notebook = json.loads((ROOT / "notebooks" / f"{stem}.ipynb").read_text(encoding="utf-8"))
    left_out = {"setup", "exercise"}
    cells = [
        "".join(cell["source"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and not left_out & set(cell["metadata"].get("tags", []))
    ]
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / f"{stem}.py"
        script.write_text("\n\n".join(cells), encoding="utf-8")
        return runpy.run_path(str(script))


def sft_record(names: dict[str, Any]) -> dict[str, Any]:
    """The record of chapter 16: the run, and the evaluations around it."""
    run = dict(names["run"])
    run["settings"] = run["settings"] | {"preset": names["preset"].name}
    run["results"] = run["results"] | {"cells": [names["before"], names["after"]]}
    return run


def four_record(names: dict[str, Any]) -> dict[str, Any]:
    """The record of chapter 17: the run after SFT, the four evaluations, and the groups before GRPO."""
    run = dict(names["from_sft"])
    run["settings"] = run["settings"] | {"preset": names["preset"].name}
    run["results"] = run["results"] | {
        "cells": names["four"],
        "groups": {"base": names["asked_base"], "SFT": names["asked_sft"]},
        "from_base": {key: names["from_base"][key] for key in ("steps", "curves")}
        | {"seconds": names["from_base"]["results"]["seconds"]},
    }
    return run


def summary(record: dict[str, Any]) -> dict[str, str]:
    """Right answers of each evaluation in a record."""
    return {cell["name"]: f"{cell['correct']} of {cell['n']}" for cell in record["results"]["cells"]}


if __name__ == "__main__":
    raise SystemExit(main())
