"""Run every benchmark, or those named: ``python -m bench [name …]``. Each prints its own table."""

from __future__ import annotations

import argparse
import importlib
import pkgutil

import bench


def main() -> None:
    """Import each module of this package and call its ``main()``."""
    names = sorted(m.name for m in pkgutil.iter_modules(bench.__path__) if not m.name.startswith("_"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "name", nargs="*", choices=[*names, []], help=f"one of {', '.join(names)}; default: all"
    )
    for name in parser.parse_args().name or names:
        print(f"\n== {name} ==")
        importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main()
