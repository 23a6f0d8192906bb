"""Put the recorded runs into the package that is built: a notebook on Colab has no clone beside it.

Everything else stands in pyproject.toml, which has no words for files from outside the package.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

RUNS = Path(__file__).resolve().parent / "runs"


class BuildWithRuns(build_py):
    """Copy ``runs/*.json`` to ``rl_lab/runs`` of a wheel; an editable install reads them where they lie."""

    def run(self) -> None:
        """Build as usual, then add the records."""
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / "rl_lab" / "runs"
        target.mkdir(parents=True, exist_ok=True)
        for record in sorted(RUNS.glob("*.json")):
            shutil.copyfile(record, target / record.name)


setup(cmdclass={"build_py": BuildWithRuns})
