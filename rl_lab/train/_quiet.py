"""Keep the libraries' own notices of known, harmless things out of the reader's output."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from rl_lab.train._need import need


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence progress bars, FutureWarnings and log lines below ERROR of the training libraries.

    A library's own switch reaches its own bars only: transformers draws the one of a GGUF file with ``tqdm.auto``,
    which is a widget in a notebook. So bars are off where all kinds of tqdm begin.
    """
    loggers = [logging.getLogger(name) for name in ("transformers", "trl", "peft", "accelerate")]
    levels = [logger.level for logger in loggers]
    bars = need("transformers.utils.logging")
    shown = bars.is_progress_bar_enabled()
    tables = need("datasets").utils.logging
    rows_shown = tables.is_progress_bar_enabled()
    bar = sys.modules["tqdm"].tqdm  # transformers has brought it
    begin = bar.__init__

    def without_a_bar(self: Any, *args: Any, **settings: Any) -> None:
        begin(self, *args, **{**settings, "disable": True})

    with mock.patch.object(bar, "__init__", without_a_bar), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning)
        warnings.filterwarnings("ignore", message=".*pin_memory.*")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        bars.disable_progress_bar()
        tables.disable_progress_bar()
        try:
            yield
        finally:
            if shown:
                bars.enable_progress_bar()
            if rows_shown:
                tables.enable_progress_bar()
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def stages(say: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return `say`, or silence: what happens only the first time (a conversion) must not stand in a page.

    Parameters
    ----------
    say : callable or None
        Takes what `print` takes.

    Returns
    -------
    callable
        `say` for a person at a terminal or in a notebook; a function that does nothing for None and while a page of the
        site is executed (``RL_LAB_EXPLORE=static``).
    """
    if say is None or os.environ.get("RL_LAB_EXPLORE") == "static":
        return lambda *args, **kwargs: None
    return say
