"""Open the notebooks in JupyterLab (``make lab``); what is added on the command line goes to JupyterLab.

The whole course is the root, because chapters link to pages outside ``notebooks``, and those pages open as text to be
read, not as Markdown to be edited. That stands in a folder of the course, so nobody's own settings are changed.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = [
    f"--ServerApp.root_dir={ROOT}",
    "--LabApp.default_url=/lab/tree/notebooks",
    f"--LabApp.app_settings_dir={ROOT / 'configs' / 'jupyterlab'}",
]


def main() -> None:
    """Start JupyterLab; Ctrl-C ends it."""
    try:
        from jupyterlab.labapp import main as jupyter_lab
    except ImportError:
        sys.exit("JupyterLab is not installed here: pip install -r requirements.txt, or run `make lab`")
    jupyter_lab([*SETTINGS, *sys.argv[1:]])


if __name__ == "__main__":
    main()
