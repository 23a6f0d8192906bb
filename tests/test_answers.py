"""The extractor: real cases (class A), the written conventions, and what an attacker may send."""

from __future__ import annotations

import json
import re
import time
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rl_lab._numerals import canonical, plain
from rl_lab.answers import ANSWER_PREFIX, MARKERS, extract_answer, find_answer, parse_number, same_number
from rl_lab.rewards import accuracy_reward

few = settings(max_examples=150, derandomize=True, deadline=None, database=None)


def cases(name: str) -> list[dict]:
    """Real cases of one class, one a line."""
    path = Path(__file__).parent / "cases" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def text_of(value: str | dict) -> str:
    """Text of a case; long ones are kept as what is repeated how often."""
    if isinstance(value, str):
        return value
    return value.get("before", "") + value["repeat"] * value["times"] + value.get("after", "")


@pytest.mark.parametrize("case", cases("A"), ids=lambda case: case["id"])
def test_real_cases_of_class_a(case):
    text, gold = text_of(case["input"]["text"]), case["input"]["ground_truth"]
    started = time.process_time()
    assert extract_answer(text) == case["expected"]["value"], case["why"]
    assert accuracy_reward(text, gold) == case["expected"]["reward"], case["why"]
    assert time.process_time() - started < 0.1


# Every convention of the module's docstring, one line a reading. The label of a group says what it holds together.
CONVENTIONS = {
    "signs": {
        "Final Answer: - 7": "-7",
        "Final Answer: -$5": "-5",
        "Final Answer: $-5": "-5",
        "Final Answer: −$1,234.50": "-1234.5",
        "Final Answer: –7": "-7",
        "Final Answer -72": "-72",
        "Final Answer: +7": "7",
        "Final Answer: (-8)": "-8",
        "Final Answer: **-8**": "-8",
        "Final Answer: x = - 8": "-8",
        "温度是-8": "-8",
        "Final Answer: negative 7": "-7",
        "Final Answer: minus 7": "-7",
        "答案是负 7 度": "-7",
        "the rest is 5 minus 3": "3",
        "the change was -3": "-3",
    },
    "a dash that is no sign": {
        "Final Answer – 72": "72",
        "Final Answer — 72": "72",
        "Final Answer-72": "72",
        "Final Answer:\n- 72": "72",
        "She has 48-24": "24",
        "It leaves 74 - (-4": "-4",
        "The rest is $48-$24": "24",
        "It is 5 - 3": "3",
        "It is the F-16": "16",
    },
    "fractions": {
        "Final Answer: 1 1/2 cups": "1.5",
        "Final Answer: 1 and 1/2": "1.5",
        "Final Answer: 1½ cups": "1.5",
        "Final Answer: ½": "0.5",
        "Final Answer: -1/2": "-0.5",
        "Final Answer: 3\u20444": "0.75",
        "Final Answer: 1,000/8": "125",
        r"Final Answer: \frac{3}{4}": "0.75",
        r"Final Answer: $\frac34$": "0.75",
        r"Final Answer: -\dfrac{3}{4}": "-0.75",
        r"Final Answer: 1\frac{1}{2}": "1.5",
        r"\boxed{\tfrac{1,000}{4}}": "250",
    },
    "separators": {
        "Final Answer: 1,234,567.89": "1234567.89",
        "Final Answer: １，２３４": "1234",
        "Final Answer: 1\u202f234": "1234",
        "Final Answer: 1\u00a0234": "1234",
        "Final Answer: 1'234": "1234",
        "Final Answer: 1_234": "1234",
        r"\boxed{1{,}234}": "1234",
        r"\boxed{1\,234}": "1234",
        r"\boxed{1,\!234}": "1234",
        "Final Answer: 1 234": "1234",  # GSM8K itself writes $80 000, in 56 places
        "Final Answer: 12,34": None,
        "Final Answer: 1,00,000": None,
        "Final Answer: 1.234,56": "1234.56",
    },
    "units and currencies": {
        "Final Answer: 72km": "72",
        "Final Answer: 72 km²": "72",
        "Final Answer: the 18th": "18",
        "Final Answer: US$18": "18",
        "Final Answer: HK$18": "18",
        "Final Answer: USD18": "18",
        "Final Answer: Rs. 18": "18",
        "Final Answer: €18": "18",
        "Final Answer: 18 €": "18",
        "Final Answer: ￥１８": "18",
        "Final Answer: 18元": "18",
        r"\boxed{\$18}": "18",
        r"\boxed{18\text{ dollars}}": "18",
        r"\boxed{\text{18 dollars}}": "18",
        r"Final Answer: 30\%": "30",
        "Final Answer: 25 percent": "25",
        r"\boxed{72^\circ}": "72",
        "Final Answer: 4 million": "4",
        "Final Answer: $2k": "2",
        "Final Answer: 5:00 PM": "5",
    },
    "spellings of a number": {
        "Final Answer: .5": "0.5",
        "Final Answer: 007": "7",
        "Final Answer: -0": "0",
        "Final Answer: 1e-1": "0.1",
        "Final Answer: 1.5 × 10^3": "1500",
        r"Final Answer: $1.5 \times 10^{3}$": "1500",
        "Final Answer: ٧٢": "72",
        "Final Answer: 𝟕𝟐": "72",
        "Final Answer: seventy-two": None,
        "Final Answer: 七十二": None,
    },
    "no single number": {
        "Final Answer: 70 and 72": None,
        "Final Answer: 70, 72": None,
        "Final Answer: 70，72": None,
        "Final Answer: 70; 72": None,
        "Final Answer: 70 72": None,
        "Final Answer: 70 / 72": None,
        "Final Answer: 70-72": None,
        "Final Answer: 70–72": None,
        "Final Answer: 70 to 72": None,
        "Final Answer: between 70 and 72": None,
        "Final Answer: 70 (or 72)": None,
        "Final Answer: 70 apples or 72 apples": None,
        "Final Answer: 70 or maybe even 72": None,
        "Final Answer: x = 70 or x = 72": None,
        "Final Answer: 70 or Final Answer: 72": None,
        "最终答案：70或72": None,
        "最终答案：70 和 72": None,
        r"\boxed{70, 72}": None,
        r"\boxed{70 \text{ or } 72}": None,
        r"\boxed{70} or \boxed{72}": None,
        r"$\boxed{70}$ and $\boxed{72}$": None,
        "The answer is 70 or 72": None,
        "#### 70 or 72": None,
        "Final Answer: 5 hours and 30 minutes": None,
    },
    "one value told twice": {
        "Final Answer: 72 or 72.0": "72",
        r"\boxed{72} and again \boxed{72}": "72",
        "Final Answer: 72 = 72": "72",
        "Final Answer: 72 or so": "72",
    },
    "not worked out": {
        "Final Answer: 48-24": None,
        "Final Answer: 3 * 24": None,
        "Final Answer: 2^10": None,
        "Final Answer: 10²": None,
        "Final Answer: 7**2": None,
        "Final Answer: 3.5/2": None,
        "Final Answer: 5/0": None,
        "Final Answer: 48-24 = 24": "24",
        "Final Answer: 3 × 24 = 72": "72",
        "Final Answer: 10/3 ≈ 3.33": "3.33",
        "Final Answer: 54 = total": "54",
        "Final Answer: 72 = 48 + 24": "72",
        "Final Answer: 48 + 24 → 72": "72",
        "Final Answer: 48 plus 24 equals 72": "72",
        "Final Answer: 1024 = 2^10": "1024",
        "Final Answer: 36 + 18 = 50-54": None,
        "Final Answer: x = 70, 72": None,
        "Final Answer: √16 = 4": "4",
        r"\boxed{\sqrt{16}}": None,
        r"\boxed{2\sqrt{3}}": None,
        r"\boxed{\frac{x}{2}}": None,
    },
    "times, dates, versions": {
        "Final Answer: 12:30": None,
        "Final Answer: 3:4": None,
        "Final Answer: 3/4/2024": None,
        "Final Answer: 2024-05-01": None,
        "Final Answer: 3.14.15": None,
    },
    "commentary on the line": {
        "Final Answer: 72. I checked it with x = 3": "72",
        "Final Answer: 72, because x = 3": "72",
        "Final Answer: not 70 but 72": "72",
        "Final Answer: 72 (48 + 24 = 72, 2 ways)": "72",
        "Final Answer: 72 clips, which is 3 more": "72",
        "Final Answer: She sold 72 clips to 48 friends": "72",
        "Final Answer: total = 36 + 18 = 54 dollars": "54",
        r"Final Answer: 3 steps give \boxed{72}": "72",
    },
    "shapes of the marker": {
        "final answer 72": "72",
        "Final answer (in dollars): 72": "72",
        "*Final Answer*: 72": "72",
        "Final Answer:\n72": "72",
        "Final Answer:\n1. She has 72": "72",
        "Final Answer: The total is:\n72": "72",
        "**Final Answer:**\n\n$$\\boxed{72}$$": "72",
        "## Final Answer\n\nThe store sold 72 clips in 2 days.": "72",
        "**Final Answer**\n\\[\n72\n\\]": "72",
        "Final Answer\n------------\n72": "72",
        '{"final_answer": 72, "steps": 3}': "72",
        "Final Answer: <b>72</b>": "72",
        "Final Answer: 72<|im_end|>": "72",
        "Final Answer: 72<br>3 steps": "72",
        "Final Answer: 72\r\n3 steps": "72",
        "Final Answer: 72\\n3 steps": "72",
        "答案是 72，共 3 步": "72",
        "答：一共72个": "72",
        "最后答案为72": "72",
        "<answer>\n72\n</answer>\n3 steps": "72",
        "The correct answer in dollars is $72, in 3 steps": "72",
        "Answer: 72\nin 3 steps": "72",
        r"The final answer is $\boxed{72}$.": "72",
        r"\fbox{72} in 3 steps": "72",
        r"\boxed{x = 72} in 3 steps": "72",
        r"\boxed{72": "72",
    },
    "a marker without a number": {
        "48+24=72\nFinal Answer:": None,
        "48+24=72\nFinal Answer: I do not know": None,
        "48+24=72\nFinal Answer: <number>": None,
        "#### 51\nNo.\nFinal Answer:": None,
        "48+24=72\n####": None,
        r"It may be 72. \boxed{\text{none}}": None,
    },
    "what only looks like a marker": {
        "Here is my final answer.\nShe sold 72.": "72",
        "I give the final answer below. She sold 72.": "72",
        r"72 apples; the answer belongs into \boxed{}": "72",
        "#### Step 1\n48/2=24\n#### Step 2\n48+24=72\nThe total is 72.": "72",
        "#### 1. Halve\n24\n#### 2. Add\n48+24=72": "72",
        "#### 72\n#### Explanation\nin 3 steps": "72",
        "Final Answer: 72\nI hope the answer is clear to all 3 of you": "72",
        "Answer: Natalia sold 48/2=24.\nIn all 72.": "72",
        "The answer is not 24 but 72": "72",
        "The answer is that she sold 72 clips in 2 months.": "72",
    },
    "reasoning blocks": {
        "<think>Final Answer: 24": None,
        "a</think>24</think> 72": "72",
        "<THINK>24</THINK>72": "72",
        "Final Answer: 72\n<think>or 24?": "72",
    },
    "what the model goes on to say": {
        "#### 18\nQuestion: Tom has 3.\n#### 3": "18",
        "The answer is 18.\nQ: and in all?\nThe answer is 72.": "72",
        "Answer: 24 in May\nQuestion: total?\nAnswer: 72": "72",
        "Final Answer: 18\n\nHuman: and 2+3?\nAssistant: Final Answer: 5": "18",
        "Final Answer: 18\n\n## Question 2\nTom has 3\nFinal Answer: 3": "18",
        "最终答案：18\n\n问题：小明有3个\n最终答案：3": "18",
        "Final Answer: 51\nQuestion to myself: the coupon?\nFinal Answer: 46": "46",
        "Question: how many?\nFinal Answer: 72": "72",
        "[INST] hi [/INST] Final Answer: 72": "72",
    },
    "blocks of other names": {
        "<scratchpad>Final Answer: 24</scratchpad>72": "72",
        "<analysis>Final Answer: 24</analysis>72": "72",
        "<seed:think>Final Answer: 24</seed:think>72": "72",
        "24</reasoning>72": "72",
        "<reasoning>Final Answer: 24": None,
        "Final Answer: 72 <reasoning>as 24 + 48</reasoning>": "72",
    },
    "tags": {
        "<answer>\nShe has\n18 eggs\n</answer>\n2": "18",
        "<answer>18</answer><answer>20</answer>": "20",
        "<answer>70 or 72</answer>": None,
        "<answer>48 + 24</answer>": None,
        "[ANSWER]18[/ANSWER] 2": "18",
        "It is 72 <answer></answer>": "72",
        "Put it between <answer> and </answer>: 72": "72",
        "I use <answer> tags. It is 72": "72",
        '{"answer": {"value": 18}, "n": 2}': "18",
    },
    "struck out, framed, or on the next line": {
        "Final Answer: <del>90</del> 91": "91",
        r"Final Answer: \cancel{90} 91": "91",
        "~~Final Answer: 90~~\nThe total is 91": "91",
        "Final Answer:\n~~~\n72\n~~~": "72",
        "Final Answer:\n| Item | Value |\n|:---|---:|\n| Total | 18 |": "18",
        "| Item | Final Answer |\n|---|---|\n| total | 72 |": "72",
        "Final Answer:\n\\begin{aligned}\n91\n\\end{aligned}": "91",
        "Final Answer:\nThe total is\n72": "72",
        "The answer must be 18. 2 checks": "18",
        "The answer comes out to 18. 2 checks": "18",
        "Final Answer (72)": "72",
        "Final Answer (in 2 decimals): 72.00": "72",
    },
    "groups that are none, names that are no numbers": {
        "Final Answer: $1 234.50": "1234.5",
        "Final Answer: 12 500 €": "12500",
        "Final Answer: 1.234.567": "1234567",
        "Final Answer: 31,50 EUR": "31.5",
        "Final Answer: 0,123": None,
        "12 200-kilobyte videos": "200",
        "Final Answer: 1a2b": None,
        "Final Answer: 5h30": None,
        "Final Answer: 5m2": "5",
        "Final Answer: 18^{th}": "18",
        "Final Answer: 3 pies": "3",
        "Final Answer: 2 pi": None,
        "Final Answer: 72 ± 2": None,
        "Final Answer: +/- 8": None,
        "Final Answer: 18 (±0.5)": "18",
        "Final Answer: 1.5×10⁻³": "0.0015",
        "Final Answer: approx.18": "18",
    },
    "one quantity in two numbers": {
        "Final Answer: 5h 30m": None,
        "Final Answer: 3 dollars 50 cents": None,
        "Final Answer: 5小时30分钟": None,
        "Final Answer: 5 feet 6 inches": None,
        "Final Answer: 3 lbs 4 oz": None,
        "Final Answer: 18 hours in 7 days": "18",
        "Final Answer: 2 hours per 3 days": "2",
        "Over the next 2 days, 2 inches melted. Final Answer: 2 days, 2 inches": "2",
    },
    "hedges, and what is none": {
        "Final Answer: 70, otherwise 72": None,
        "Final Answer: 70; or 72": None,
        "Final Answer: 70 through 72": None,
        "Final Answer: 70与72": None,
        "Final Answer: 70 eggs + 72 eggs": None,
        "Final Answer: 72 or older": "72",
        "Final Answer: 72 < 80": "72",
        "Final Answer: (a) 72": "72",
    },
    "no number at all": {"": None, " ": None, "x2 and Q3": None, "...,,,": None, "Final Answer: n/a": None},
    "labels are not answers": {
        "Step 1: 48/2 = 24. Step 2: then we add the two mon": "24",
        "It is 72, see step 3": "72",
    },
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(t, v, id=f"{group}: {t[:40]!r}")
        for group, rows in CONVENTIONS.items()
        for t, v in rows.items()
    ],
)
def test_conventions(text, value):
    assert extract_answer(text) == value


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("Final Answer: 72", "final_answer"),
        ("最终答案：72", "final_answer"),
        (r"Final Answer: \boxed{72}", "final_answer"),
        ("**Final Answer**\n\nThe answer is 72", "final_answer"),
        ("#### 72", "hashes"),
        (r"\boxed{72}", "boxed"),
        ("The answer is 72", "phrase"),
        ("<answer>72</answer>", "phrase"),
        ("48+24=72", "last_number"),
    ],
)
def test_the_marker_that_was_used_is_reported(text, marker):
    assert find_answer(text).marker == marker
    assert marker in MARKERS


def test_positions_point_into_the_text_as_it_was_written():
    text = "<think>24?</think>\n最终答案：**−１，２３４．５０ 元**"
    answer = find_answer(text)
    assert text[answer.start : answer.end] == "−１，２３４．５０"
    assert answer.value == "-1234.5"


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("-1234.5", "-1234.5"),
        ("1,234,567", "1234567"),
        ("1 234 567", "1234567"),
        (r"\frac{3}{4}", "0.75"),
        ("1 1/2", "1.5"),
        ("1.5 × 10^3", "1500"),
    ],
)
def test_the_last_number_is_found_wherever_the_reading_windows_fall(number, value):
    for size in range(1970, 2010):
        assert extract_answer(f"共付了{number}元" + "谢" * size) == value


def test_invisible_characters_are_counted_in_the_positions():
    text = "\u200bFinal\u200b Answer: 7\u200b2\u200b!"
    answer = find_answer(text)
    assert text[answer.start : answer.end] == "7\u200b2"


def test_gsm8k_groups_56_numbers_by_a_plain_space(gsm8k_dir):
    spaced = re.compile(r"(?<![\d.,/])\d{1,3}(?: \d{3})+(?![\d,/.]|-[a-z])")
    grouped = []
    for name in ("train.jsonl", "test.jsonl"):
        for line in (gsm8k_dir / name).read_text(encoding="utf-8").splitlines():
            grouped += [number for text in json.loads(line).values() for number in spaced.findall(text)]
    assert len(grouped) == 56
    assert all(canonical(parse_number(text)) == text.replace(" ", "") for text in grouped)


def test_a_completion_that_is_no_text_is_a_programming_error():
    assert find_answer(None) is None
    with pytest.raises(
        TypeError, match=r"text must be a string, got int; rl_lab\.rewards\.completion_text reads"
    ):
        extract_answer(72)


# -- numbers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("72", "72"), (" $1,234 ", "1234"), ("(72)", "72"), ("72 clips", "72"), ("US$ 5", "5"), ("25%", "25"),
        ("1 234", "1234"), ("1.234,56", "1234.56"), ("7\u200b2", "72"),
        (72, "72"), (72.5, "72.5"), (Decimal("72.50"), "72.5"), (-0.0, "0"), ("−7", "-7"), ("３／４", "0.75"),
    ],
)  # fmt: skip
def test_labels_are_read_as_numbers(label, value):
    assert canonical(parse_number(label)) == value


@pytest.mark.parametrize(
    "label",
    ["", " ", "nan", "inf", "-Infinity", "1e999", "70 or 72", "x = 72", "#### 72", "Step 3", "9" * 5000, None, True,
     b"72", float("nan"), float("inf"), Decimal("sNaN"), Decimal("1e400"), [72], object()],
)  # fmt: skip
def test_what_is_not_one_finite_number_is_no_label(label):
    assert parse_number(label) is None
    assert not same_number(label, label)


def test_numbers_are_compared_without_rounding():
    assert same_number("0.1", 0.1)
    assert same_number("1", "1.000001")
    assert not same_number("1", "1.0000011")
    assert not same_number("8.5", 9)
    assert same_number(1e300, "1e300")
    assert not same_number("1e300", "1.0000001e300")
    assert same_number("5", "5.4", tol=Decimal("0.5"))


# -- properties ------------------------------------------------------------------------------------------------

finite = st.decimals(min_value=-(10**9), max_value=10**9, places=4, allow_nan=False)
noise = st.text(
    alphabet=st.sampled_from(
        list("0123456789.,-−=$%/\\{}()[]*_#:; \n答案或和or andxeE½²^'\"<>|&Final Answer:boxed")
    ),
    max_size=80,
)


@given(
    finite,
    st.sampled_from(
        ["{p} {n}", "#### {n}", r"\boxed{{{n}}}", "The answer is {n}.", "答案：{n}", "**{p}** {n}"]
    ),
)
@few
def test_whatever_number_is_marked_is_read_back(number, form):
    text = form.format(p=ANSWER_PREFIX, n=format(number, "f"))
    assert same_number(extract_answer(text), number)
    assert same_number(extract_answer("I first thought 17.\n" + text + "\nDone."), number)


@given(finite)
@few
def test_thousands_separators_change_nothing(number):
    assert same_number(extract_answer(f"{ANSWER_PREFIX} {number:,}"), number)


@given(finite)
@few
def test_the_normal_form_is_stable(number):
    text = canonical(number)
    assert canonical(parse_number(text)) == text
    assert extract_answer(f"{ANSWER_PREFIX} {text}") == text


@given(st.one_of(st.text(max_size=60), noise))
@example("\ud800")
@example("Final Answer: 1 or")
@few
def test_any_text_is_safe(text):
    answer = find_answer(text)
    if answer is not None:
        assert answer.value.isascii()
        assert parse_number(answer.value) is not None
        assert 0 <= answer.start < answer.end <= len(text)


@given(noise, st.lists(st.integers(0, 80), max_size=8))
@few
def test_characters_that_nobody_sees_change_no_answer(text, places):
    marked = text
    for place in places:
        marked = marked[:place] + "\u200b" + marked[place:]
    assert extract_answer(marked) == extract_answer(text)


@given(noise)
@few
def test_positions_survive_the_mapping_to_ascii(text):
    assert len(plain(text)) == len(text)


@given(noise, finite)
@few
def test_a_clean_last_line_outranks_whatever_came_before(before, number):
    text = f"{before}\n\n{ANSWER_PREFIX} {number:f}"
    if "<think" not in text:
        assert same_number(extract_answer(text), number)


MEGABYTE = 1_000_000
ATTACKS = [
    "A", "9", "1 ", "x2 ", "Final Answer: 1 ", "final answer ", "the answer is ", "answer: ", "#", "#### ", "\\boxed{",
    "\n", " ", "1,", "\\frac{1", "<think>", "</think>", "*", "Final Answer:\n", "1/", "1:", "答案", "７", "\\", "<",
    "1.", "1e", "Final Answer: a:\n", "9x", "&", "١", "answer is is ", "step 1 ",
    "<answer>", "<answer>1", "[answer]a", "<reasoning>", "</reasoning>", "~~", "~~1", "\u200b", "1 000", "1.000",
    "not ", "sqrt(1) ", "half of 1 ", "x + 1 ", "1.(1", "1.1... ", "0.3333", "1) ", "\nExample 2", "\n1. ",
    "\n**", "\nthe ", "--1 ", "|-1| ", "1 km to ", "Final Answer: 1) ", "1,00", "\nQuestion:", "#### 1\nQ: ", "|", "｜",
    "1x", "±", "1 hour ",
]  # fmt: skip
ANSWER_ATTACKS = [
    "(",
    "= ",
    "1 = ",
    "1 or ",
    "1,",
    "-",
    " ",
    "\n",
    "9",
    "(a)",
    "1 a ",
    " and",
    "or ",
    "{",
    "1 = a (",
    " km to 1",
    ", Ann: 1",
    "\n- Ann: 1",
    ", y = 1",
    "; y: 1",
    " is",
    "? No",
    " and a half",
    " sqrt(",
    "(1+",
    "1.(",
    "1.\\overline{",
    "-- ",
    "|-1",
    "!",
]


@pytest.mark.parametrize(
    "text",
    [pytest.param(a * (MEGABYTE // len(a)), id=f"{a!r}") for a in ATTACKS]
    + [
        pytest.param("Final Answer: 1" + a * (MEGABYTE // len(a)), id=f"answer, then {a!r}")
        for a in ANSWER_ATTACKS
    ],
)
def test_a_megabyte_of_anything_is_read_in_linear_time(text):
    # The bound is on processor time, and wide: a quadratic pattern would need minutes.
    started = time.process_time()
    find_answer(text)
    assert time.process_time() - started < 1.5


# -- the real data ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gold_rows(gsm8k_dir) -> list[tuple[str, str]]:
    """Reasoning and label of all 8,792 problems."""
    rows = []
    for name in ("train.jsonl", "test.jsonl"):
        for line in (gsm8k_dir / name).read_text(encoding="utf-8").splitlines():
            reasoning, label = json.loads(line)["answer"].split("\n#### ")
            rows.append((reasoning, label))
    return rows


def test_every_gold_solution_of_gsm8k_is_read_in_both_formats(gold_rows):
    assert len(gold_rows) == 8792
    for reasoning, label in gold_rows:
        hashes, final = (
            find_answer(f"{reasoning}\n#### {label}"),
            find_answer(f"{reasoning}\n{ANSWER_PREFIX} {label}"),
        )
        assert (hashes.marker, final.marker) == ("hashes", "final_answer")
        assert hashes.value == final.value == canonical(parse_number(label))


def test_magnitude_words_are_units_in_gsm8k_itself(gold_rows):
    scaled = [
        (reasoning, label)
        for reasoning, label in gold_rows
        if reasoning.rsplit("\n", 1)[-1].rstrip(".").endswith(("million", "billion"))
    ]
    assert len(scaled) == 2
    assert all(len(label) <= 2 for _, label in scaled), "the gold of '60 million' is 60"
