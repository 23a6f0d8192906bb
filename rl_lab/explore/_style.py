"""One matplotlib style in the look of the interactive figures."""

from __future__ import annotations

import pathlib


def use_style() -> None:
    """Switch matplotlib to the course's look: its palette, no background, SVG pictures.

    Raises
    ------
    ImportError
        If matplotlib is not installed; says how to install it.
    """
    try:
        import matplotlib as mpl
        import matplotlib.style
    except ImportError as error:
        raise ImportError("use_style needs matplotlib; install it with: pip install matplotlib") from error
    mpl.style.use(pathlib.Path(__file__).with_name("rl_lab.mplstyle"))
    try:
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        return  # outside a notebook the caller chooses the file format
    set_matplotlib_formats("svg")
