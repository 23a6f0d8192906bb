"""Keep the libraries' own notices of known, harmless things out of the reader's output."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator

from rl_lab.train._need import need


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence progress bars, FutureWarnings and log lines below ERROR of the training libraries."""
    loggers = [logging.getLogger(name) for name in ("transformers", "trl", "peft", "accelerate")]
    levels = [logger.level for logger in loggers]
    bars = need("transformers.utils.logging")
    shown = bars.is_progress_bar_enabled()
    tables = need("datasets").utils.logging
    rows_shown = tables.is_progress_bar_enabled()
    with warnings.catch_warnings():
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
