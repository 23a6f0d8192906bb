"""The four labs in a terminal: ``python -m rl_lab mdp | formats | rewards | lora``. Needs no package at all."""

from __future__ import annotations

import argparse
import importlib
import os
import sys

LABS = {
    "mdp": "one shopping problem as PBRFT, RLVR and Agentic RL, measured field by field (chapter 4)",
    "formats": "one GSM8K problem as raw text, SFT row, RL row and tool trace (chapter 6)",
    "rewards": "three reward functions on four answers, then attacked (chapter 7)",
    "lora": "what a rank-r adapter trains, and what it saves (chapter 9)",
}


def main(argv: list[str] | None = None) -> int:
    """Run one lab by name.

    Parameters
    ----------
    argv : list of str, optional
        Arguments after the program's name; by default those of the process.

    Returns
    -------
    int
        Exit status: 0 after a lab ran. An unknown name ends in argparse's own status 2, naming the choices.
    """
    parser = argparse.ArgumentParser(
        prog="python -m rl_lab",
        description="The labs of the course, in a terminal.",
        epilog="\n".join(f"  {name:<9}{what}" for name, what in LABS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("lab", choices=LABS, help="which lab to print")
    name = parser.parse_args(argv).lab
    # A model's text may hold any character; a terminal that cannot show one must not end the lab.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    try:
        importlib.import_module(f"rl_lab.labs.{name}").main()
        sys.stdout.flush()
    except BrokenPipeError:  # `… | head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is flushed at exit
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
