"""The four labs, one module each, printed by ``python -m rl_lab``."""
