"""The laboratory behind the course: rewards, returns, GRPO and LoRA arithmetic you can read.

The ground floor (every module directly in ``rl_lab``) needs nothing but the standard library and imports in
milliseconds; ``rl_lab.explore`` draws the interactive figures and ``python -m rl_lab`` prints the four labs.

>>> from rl_lab.rewards import accuracy_reward
>>> accuracy_reward("80*0.75=60, 60-5=55. Final Answer: 55", "55")
1.0
"""

__version__ = "0.1.0"
