"""The exercises of the notebooks, one module a chapter, checked by :func:`rl_lab.check.check`."""
