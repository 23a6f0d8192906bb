"""Chapter 6 says nothing that its own cells, the audit or TRL do not show."""

from __future__ import annotations

import json
import re

import pytest

from rl_lab.gsm8k import chatml, convert, extract_ground_truth, strip_calc_marks, to_rl, to_sft, to_tool_trace
from rl_lab.labs.formats import CLIPS, CLIPS_SHORT, LESSON, loss_text, textbook_completion
from rl_lab.rows import last_number
from tests.notebooks import ROOT, namespace, one_line
from tests.test_gsm8k import tokenizer_with

PATH = ROOT / "notebooks" / "06_three_formats.ipynb"


@pytest.fixture(scope="module")
def page() -> dict:
    """Names that the notebook's cells define: they run here in one process, figures as plain text."""
    return namespace(PATH)


@pytest.fixture(scope="module")
def prose() -> str:
    """All Markdown of the notebook on one line."""
    return one_line(PATH)


def test_sizes_and_lengths_in_the_prose_are_those_of_the_audit(page, prose):
    assert (page["AUDIT"]["train"]["n"], page["AUDIT"]["test"]["n"]) == (7473, 1319)
    assert "7,473 of them for training and 1,319 for testing" in prose
    assert (page["lengths"]("train")["longest"], page["lengths"]("test")["longest"]) == (9, 11)
    for split in ("train", "test"):
        assert sum(page["lengths"](split)["problems"]) == page["AUDIT"][split]["n"]
        assert page["AUDIT"][split]["lines"]["2"] > 0


def test_the_audit_numbers_in_the_prose_are_those_of_the_cell(page, prose):
    assert page["AUDIT"]["train"]["n"] + page["AUDIT"]["test"]["n"] == 8792
    assert {issue: count for issue, count in page["counts"].items() if count} == {
        "last_number_differs": 245,
        "no_marks": 113,
        "separators": 93,
        "blank_lines": 6,
        "negative": 5,
        "odd_characters": 11,
    }
    assert page["counts"]["decimal"] == 0
    for claim in (
        "8,792 gold solutions",
        "113 solutions cannot",
        "93 labels carry a comma, 5 are negative",
        "93 labels like",
    ):
        assert claim in prose


def test_the_three_endings_stand_in_gsm8k_and_defeat_the_last_number(gsm8k_dir, prose):
    rows = [
        json.loads(line)
        for line in (gsm8k_dir / "train.jsonl").read_text(encoding="utf-8").split("\n")
        if line
    ]
    table = {
        "180/30=6 bottles of vitamin D3.": ("6", "3"),
        "the head baker can show up is 6-4 = 2:00 am": ("2", "0"),
        "3000 - 50 = 2950 songs on her mp3 player.": ("2950", "3"),
    }
    for ending, (gold, last) in table.items():
        [row] = [row for row in rows if strip_calc_marks(row["answer"]).split("\n####")[0].endswith(ending)]
        assert (extract_ground_truth(row["answer"]), str(int(last_number(ending)))) == (gold, last)
        assert f"{ending}` | {gold} | {last} |" in prose


def test_lengths_in_the_prose_are_those_of_the_cells(page, prose):
    assert len(page["textbook_sft"](CLIPS)["completion"]) == len(textbook_completion(CLIPS)) == 156
    assert (
        len(page["textbook_sft"](CLIPS_SHORT)["completion"]) == len(textbook_completion(CLIPS_SHORT)) == 139
    )
    assert len(" in April and May") == 17
    assert len(to_sft(CLIPS)["completion"]) == 112
    assert (len("Let me solve this step by step.\n\n"), len("<|im_end|>")) == (33, 10)
    assert 156 - 112 == 44 == 33 + 1 + 10
    assert page["seen"](1) | {"question": ""} == {
        "x": ["SFT row", "tool trace", "RL row"],
        "imitated": [112, 219, 0],
        "told to the checker": [0, 0, 2],
        "steps": 2,
        "ground_truth": "72",
        "question": "",
    }
    assert "112, then 219" in prose


def test_the_simple_forms_of_the_page_agree_with_the_package_where_they_are_right(page):
    for row in (CLIPS, CLIPS_SHORT, LESSON):
        simple, ours = page["textbook_sft"](row), to_sft(row)
        assert simple["prompt"] == ours["prompt"]
        body = (
            simple["completion"]
            .removeprefix("Let me solve this step by step.\n\n")
            .removesuffix("<|im_end|>")
        )
        assert body.replace("\n\n", "\n") == ours["completion"]
    assert page["calculator_listens"]("48/2 = <<48/2=") == "48/2 = <<48/2=24>>"


def test_forgetting_to_strip_does_what_the_page_says(page):
    assert page["quick_answer"]("Final Answer: <<48+24=72>>72") == "48"
    assert re.sub(r"<<.*>>", "", page["line"]) == "Monday 2*3 = 54 clips."


def test_the_templates_of_the_page_are_those_of_the_models(page):
    for name, template, bos in (
        ("qwen", "qwen3", ""),
        ("llama", "llama3", "<|begin_of_text|>"),
        ("gemma", "gemma", "<bos>"),
    ):
        tokenizer = tokenizer_with(template)
        row = {"question": "2+2?", "answer": "#### 4"}
        assert to_rl(row, tokenizer=tokenizer)["prompt"].replace("<s>", bos) == page[name]("2+2?")
    assert page["qwen"]("2+2?") == chatml([{"role": "user", "content": "2+2?"}])


def test_the_trainers_and_settings_that_the_page_names_exist():
    trl = pytest.importorskip("trl")
    import inspect

    for name in ("SFTTrainer", "GRPOTrainer", "RewardTrainer", "DPOTrainer"):
        assert hasattr(trl, name)
    assert {"reward_funcs", "tools", "environment_factory"} <= set(
        inspect.signature(trl.GRPOTrainer).parameters
    )
    fields = trl.SFTConfig.__dataclass_fields__
    assert fields["completion_only_loss"].default is None  # prompt-completion rows: loss on the completion
    assert fields["assistant_only_loss"].default is False  # so the page's =True is needed


def test_six_rows_give_three_and_each_reason(page):
    assert len(page["done"]) == 3
    assert [row.row for row in page["done"].skipped] == [1, 2, 4]
    labels = [row["ground_truth"] for row in page["done"]]
    naive = [row["answer"].split("####")[-1].strip() for row in page["mixed"]]
    assert labels == ["54", "1234", "-9"]
    assert [label for label in naive if label in ("54", "1234", "-9")] == ["54", "54"]


def test_what_the_page_says_of_the_bundled_problems(page):
    bundled, gsm8k = page["dirt"]("bundled train"), page["dirt"]("GSM8K train")
    share = {name: (b, g) for name, b, g in zip(bundled["x"], bundled["share"], gsm8k["share"], strict=True)}
    assert share["comma in answer"][0] > share["comma in answer"][1]
    assert share["negative"][0] > share["negative"][1]
    assert all(b == 0 for name, (b, _) in share.items() if name not in ("comma in answer", "negative"))
    assert [
        round(g)
        for name, (_, g) in share.items()
        if name in ("last number differs", "no marks", "comma in answer")
    ] == [13, 28, 11]


def test_solutions_report_true_numbers(page, gsm8k_dir):
    endings = ["#### 1,200", "#### seven", "#### $15.50", "#### 3 or 4", "#### 72"]
    questions = ["Q"] * 4 + ["What is 48+24? The answer is 72. Show how."]
    five = [{"question": q, "answer": a} for q, a in zip(questions, endings, strict=True)]
    assert len(convert(five, "rl", on_error="skip")) == 2
    readable = convert([{**row, "question": "Q"} for row in page["mixed"]], "rl", on_error="skip")
    assert [row.row for row in readable.skipped] == [1, 4]
    marks = [
        line.count("<<")
        for split in ("train", "test")
        for line in (gsm8k_dir / f"{split}.jsonl").open(encoding="utf-8")
    ]
    assert max(marks) == 9


def test_every_problem_of_the_slider_has_a_bar(page):
    for number in range(1, 43):
        shown = page["seen"](number)
        assert shown["imitated"][2] == 0 < shown["imitated"][0] < shown["imitated"][1]
    assert [p.steps for p in page["problems"][2:]] == [n for n in range(1, 9) for _ in range(5)]


def test_the_tool_trace_of_the_page_masks_what_the_tool_wrote(page):
    masked = [turn for turn in page["steps"] if turn["note"] == "masked from the loss"]
    assert [turn["text"] for turn in masked] == ["24", "72"]
    assert len(loss_text(to_tool_trace(CLIPS))) == 219
