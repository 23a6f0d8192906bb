"""Figures with sliders that are alive wherever the page is: one call, two lives.

``explore`` turns a plain function into a figure, ``replay`` moves through the steps of a recorded run, and
``trajectory`` through the turns of an episode. In a notebook with a kernel they are ipywidgets; in a built page
they are a few kilobytes of script without any dependency, which work from ``file://`` with the network off.

Standard library only; ipywidgets and IPython are used where they are.

The environment variable ``RL_LAB_EXPLORE`` chooses: ``live``, ``static`` or ``both`` (the default: the page's figure,
which a living widget hides, so that a notebook that was saved and is opened again shows a figure too). Set it to
``static`` before exporting a notebook to HTML. With ``RL_LAB_EXPLORE_ASSETS=site`` a figure holds its data only, and
the page loads ``assets/explore.js`` and ``assets/explore.css`` once for all figures.
"""

from ._explore import explore, figure_html
from ._replay import replay, replay_html
from ._style import use_style
from ._trajectory import trajectory, trajectory_html

__all__ = ["explore", "figure_html", "replay", "replay_html", "trajectory", "trajectory_html", "use_style"]
