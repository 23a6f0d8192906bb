"""What do three reward functions pay for the same four completions, and what happens without the gate?

Lab 3 of the course, on the running example: an item of 80 yuan is sold at 75 % of its price, a coupon takes off 5
yuan more; what is paid? (55.) The functions stand here in their textbook form, so that the lab can take a part away
and show what it was for; :mod:`rl_lab.rewards` holds the safe forms that training uses.

>>> [round(textbook_length(s.text, s.correct), 4) for s in SAMPLES]
[1.0, 0.57, 0.0, 0.0]
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rl_lab.rewards import accuracy_reward, length_reward, step_reward

GOLD = "55"


class Sample(NamedTuple):
    """One completion of lab 3 and what it is an example of."""

    name: str
    text: str

    @property
    def correct(self) -> bool:
        """Whether its answer is the gold one."""
        return accuracy_reward(self.text, GOLD) == 1.0


_THINK = (
    "Let me think about this problem slowly and carefully, so that nothing at all is overlooked. The item has a list "
    "price of 80 yuan, and the shop sells it at 75 percent of that price. "
)
SAMPLES = (
    Sample("short, correct", "Step 1: 80*0.75=60.\nStep 2: 60-5=55.\nFinal Answer: 55"),
    Sample(
        "long, correct",
        _THINK + "There is a coupon as well, and it must come off after the discount, not before it.\n"
        "Step 1: the price after the discount is 80*0.75=60 yuan. That looks right, because three quarters of eighty "
        "is sixty.\n"
        "Step 2: the coupon takes off yet another 5 yuan, so 60-5=55 yuan remain. I go through both steps once more "
        "and find the same values again.\n"
        "Everything agrees: first comes the discount, then the coupon, and nothing else is taken off.\n"
        "Final Answer: 55",
    ),
    Sample(
        "long, wrong",
        _THINK + "A coupon is mentioned as well, and I keep it in mind for later.\n"
        "Step 1: the discount is a quarter of the price, that is 80*0.25=20 yuan. That looks right, because a quarter "
        "of eighty is twenty.\n"
        "Step 2: the discount is taken off the price, so 80-20=60 yuan remain. I go through both steps once more and "
        "find the same values again.\n"
        "Everything agrees: the discount has been taken off, and nothing else is left to do.\n"
        "Final Answer: 60",
    ),
    Sample("no answer", "I am not sure how this one works"),
)


class WallCase(NamedTuple):
    """A completion that cost somebody a reward, its gold answer, and the public report that told of it."""

    text: str
    gold: str
    seen_in: str


# One case of each kind; tests/cases/A.jsonl holds more.
WALL = (
    WallCase("Her total profit comes to $64,000.", "64000", "open-compass/opencompass#2343"),
    WallCase("48/2=24, 48+24=72\n#### 72\nThat took 2 steps.", "72", "verl-project/verl#2150"),
    WallCase("Final Answer: $18 per day over 7 days", "18", "open-compass/opencompass#2426"),
    WallCase("Final Answer: 48-24 = 24", "24", "jjyaoao/HelloAgents V0.2.9"),
    WallCase(
        "Final Answer: 51\nWait, the coupon.\nFinal Answer: 46", "46", "PrimeIntellect-ai/verifiers#1336"
    ),
    WallCase("**Final Answer:** **91**\nChecked with 2 methods.", "91", "huggingface/Math-Verify#76"),
    WallCase("That makes \\boxed{72}. I used 2 steps.", "72", "EleutherAI/lm-evaluation-harness#1204"),
    WallCase(
        "<think>Maybe Final Answer: 24? No.</think>\nThe total is 72.", "72", "sgl-project/sglang-jax#1409"
    ),
    WallCase("Final Answer: −7", "-7", "python/cpython#144095"),
    WallCase("最终答案：７２\n一共用了 2 步。", "72", "Ailln/cn2an#23"),
    WallCase("Final Answer: 3/4 cup", "0.75", "greynewell/matchspec#306"),
    WallCase("Final Answer: 1.5e3", "1500", "modelscope/ms-swift#10163"),
)

# How long GSM8K's 8,792 gold solutions are: entry i counts those of 50*i+1 to 50*i+50 characters. Made by
# gold_lengths() from the data set's own files; tests/test_rewards.py counts again where the data is at hand.
GOLD_LENGTHS: dict[str, tuple[int, ...]] = {
    "as trained on": (
        0,
        464,
        1403,
        1610,
        1495,
        1204,
        859,
        594,
        422,
        262,
        166,
        122,
        64,
        50,
        37,
        10,
        13,
        5,
        6,
        3,
        1,
        1,
        0,
        1,
    ),
    "marks left in": (
        0,
        151,
        873,
        1439,
        1476,
        1255,
        1057,
        787,
        565,
        382,
        267,
        204,
        117,
        63,
        63,
        36,
        21,
        12,
        7,
        9,
        4,
        1,
        1,
        0,
        2,
    ),
}


def gold_lengths(solutions: list[str], width: int = 50) -> tuple[int, ...]:
    """Count solutions by length, `width` characters a bin.

    Examples
    --------
    >>> gold_lengths(["x" * 50, "x" * 51, "x" * 120])
    (1, 1, 1)
    """
    bins = [(max(len(text), 1) - 1) // width for text in solutions]
    return tuple(bins.count(i) for i in range(max(bins) + 1))


def share_fined(kind: str, target_len: int) -> float:
    """Return which share of GSM8K's gold solutions a length reward fines at a target, a multiple of 50 characters.

    Parameters
    ----------
    kind : str
        A key of :data:`GOLD_LENGTHS`: ``"as trained on"`` (calculation marks stripped, ``Final Answer: n`` at the
        end) or ``"marks left in"`` (the ``<<48/2=24>>`` still there).
    target_len : int
        Characters that cost nothing.

    Examples
    --------
    >>> round(share_fined("as trained on", 200), 3), round(share_fined("marks left in", 200), 3)
    (0.605, 0.72)
    """
    if target_len % 50 or target_len < 0:
        raise ValueError(
            f"target_len must be a multiple of 50, got {target_len}; the lengths are counted in fifties"
        )
    counts = GOLD_LENGTHS[kind]
    return sum(counts[target_len // 50 :]) / sum(counts)


def textbook_length(
    text: str, correct: bool, *, target_len: int = 200, alpha: float = 0.001, gate: bool = True
) -> float:
    """Pay ``r_acc - alpha * max(0, L - target_len)``: the formula that most tutorials print, with an optional gate.

    Examples
    --------
    >>> round(textbook_length("x" * 611, False, gate=False), 4)
    -0.411
    >>> textbook_length("x" * 1201, True) < 0  # right, and worth less than a wrong answer
    True
    """
    penalty = alpha * max(0, len(text) - target_len)
    return float(correct) - penalty if correct or not gate else 0.0


def textbook_steps(
    text: str, correct: bool, *, beta: float = 0.05, max_steps: int | None = 5, gate: bool = True
) -> float:
    """Pay ``r_acc + beta * min(s, max_steps)``, s counting every "Step n" and every "="; None takes the cap away.

    Examples
    --------
    >>> textbook_steps("= " * 1000 + "Final Answer: 55", True, max_steps=None)
    51.0
    """
    s = len(re.findall(r"Step \d+", text)) + text.count("=")
    bonus = beta * (s if max_steps is None else min(s, max_steps))
    return float(correct) + bonus if correct or not gate else 0.0


def main() -> None:
    """Print lab 3."""
    print("Lab 3: what does a reward function pay?\n")
    print("80 yuan at 75 %, a coupon of 5 yuan more. What is paid?  Gold: 55\n")
    print(f"{'completion':<16}{'characters':>11}{'accuracy':>10}{'length':>9}{'steps':>9}")
    for sample in SAMPLES:
        text, ok = sample.text, sample.correct
        length, steps = textbook_length(text, ok), textbook_steps(text, ok)
        print(f"{sample.name:<16}{len(text):>11}{ok:>10.0f}{length:>9.4f}{steps:>9.4f}")
    print("\nBoth correct ones hold four step marks: 1 + 4 * 0.05. The cap is not reached.\n")
    _print_missing_parts()
    share = share_fined("as trained on", 200)
    print(f"\nA target of 200 characters fines {share:.0%} of GSM8K's own gold solutions.")


def _print_missing_parts() -> None:
    """Show what each part of the formula is for, by leaving it out; then the safe forms on the same texts."""
    spam = "= " * 1000 + "Final Answer: 55"
    long = "x" * (1201 - len("Final Answer: 55")) + "Final Answer: 55"
    ungated = textbook_length(SAMPLES[2].text, False, gate=False)
    uncapped, negative = textbook_steps(spam, True, max_steps=None), textbook_length(long, True)
    print("Take a part away")
    print(f"  no gate:  the long wrong completion earns {ungated:.4f}, silence earns 0")
    print(f"  no cap:   a thousand '=' and the answer earn {uncapped:.1f}")
    print(f"  no floor: a correct answer of 1,201 characters earns {negative:.3f}, a wrong one 0\n")
    print("rl_lab.rewards, on the same texts")
    print(f"  spam:     {step_reward(spam, GOLD):.1f}   (an '=' counts between numbers only)")
    print(f"  1,201:    {length_reward(long, GOLD):.1f}   (never below the floor: right beats wrong)")
