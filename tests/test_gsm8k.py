"""Rows, marks, converters, loader and audit: lab 2's numbers, real cases (class B), all of GSM8K, TRL's templates."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import re
import sys
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_lab import audit as audit_module
from rl_lab import gsm8k, rows
from rl_lab.answers import extract_answer, find_answer, same_number
from rl_lab.audit import audit
from rl_lab.calculator import evaluate, format_number
from rl_lab.gsm8k import RowError, chatml, convert, load, to_rl, to_sft, to_tool_trace
from rl_lab.labs import formats as lab
from rl_lab.rewards import format_ok
from rl_lab.rows import check_calc_marks, label_of, number_label, strip_calc_marks
from tests.test_answers import cases

few = settings(max_examples=60, derandomize=True, deadline=None, database=None)


@pytest.fixture(scope="session")
def splits(gsm8k_dir):
    """Both splits of GSM8K, read once."""
    with contextlib.redirect_stdout(io.StringIO()):
        return {split: load(gsm8k_dir, split) for split in ("train", "test")}


@pytest.fixture(scope="session")
def everything(splits):
    """All 8,792 rows."""
    return [*splits["train"], *splits["test"]]


# -- real cases --------------------------------------------------------------------------------------------------


def answer_of(case):
    call, given = case["call"], case["input"]
    if call == "prompts":
        sft, rl = (to(given["sample"], style=given.get("style", "chatml")) for to in (to_sft, to_rl))
        return sft["prompt"], rl["prompt"]
    return getattr(gsm8k, call)(*given.values())


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in cases("B")])
def test_real_case(case):
    expected = case["expected"]
    if "raises" in expected:
        with pytest.raises(ValueError, match=f"(?s){expected['raises']}"):
            answer_of(case)
        return
    got = answer_of(case)
    if case["call"] == "prompts":
        check_prompts(*got, expected)
    elif case["call"] == "to_sft":
        check_completion(got["completion"], expected)
    elif case["call"] == "to_rl":
        assert got["ground_truth"] == expected["ground_truth"], case["why"]
        assert expected.get("prompt_contains", "") in got["prompt"]
        assert set(got) == {"prompt", "ground_truth"}
    elif "ok" in expected:
        assert [check.ok for check in got] == expected["ok"], case["why"]
    else:
        assert got == expected["value"], case["why"]


def check_prompts(sft, rl, expected):
    assert (sft == rl) is expected["same_prompt"]
    if "messages" in expected:
        assert sft == expected["messages"]
    for text, count in expected.get("count", {}).items():
        assert sft.count(text) == count


def check_completion(completion, expected):
    for text in expected.get("contains", []):
        assert text in completion
    for text in expected.get("holds_none_of", []):
        assert text not in completion
    reasoning, _, final = completion.rpartition("\nFinal Answer: ")
    assert final == expected.get("ends_with_value", expected.get("final"))
    assert reasoning == expected.get("reasoning", reasoning)
    assert extract_answer(completion) == final


# -- lab 2 -------------------------------------------------------------------------------------------------------


def test_lab_2_has_the_lengths_the_course_states():
    assert len(lab.textbook_completion(lab.CLIPS)) == 156
    assert len(lab.textbook_completion(lab.CLIPS_SHORT)) == 139
    assert lab.CLIPS_SHORT.answer.startswith("Natalia sold 48/2 = <<48/2=24>>24 clips in May.\n")
    assert len(to_rl(lab.CLIPS)["ground_truth"]) == 2
    assert (to_rl(lab.CLIPS)["ground_truth"], to_rl(lab.LESSON)["ground_truth"]) == ("72", "10")


def test_the_textbook_form_is_ours_plus_opening_blank_line_and_end_mark():
    for sample in (lab.CLIPS, lab.CLIPS_SHORT, lab.LESSON):
        opening, end = "Let me solve this step by step.\n\n", "<|im_end|>"
        assert len(lab.textbook_completion(sample)) - len(to_sft(sample)["completion"]) == len(
            opening
        ) + 1 + len(end)
    assert len(to_sft(lab.CLIPS)["completion"]) == 112


def test_the_first_problem_is_the_first_row_of_gsm8k(splits):
    assert splits["train"][0] == lab.CLIPS


def test_lab_2_prints_both_problems_within_80_columns(capsys):
    lab.main()
    printed = capsys.readouterr().out
    assert max(len(line) for line in printed.splitlines()) <= 80
    for text in (
        "ground_truth 72",
        "ground_truth 10",
        "-> calc('48/2')",
        "the same, byte for byte",
        "156 characters, or 139",
    ):
        assert text in printed


def test_the_loss_sees_calls_but_never_a_tools_result():
    trace = to_tool_trace(lab.CLIPS)
    changed = copy.deepcopy(trace)
    for message in changed["completion"]:
        if message["role"] == "tool":
            message["content"] = "99999"
    assert lab.loss_text(changed) == lab.loss_text(trace)
    assert '"expression": "48/2"' in lab.loss_text(trace)
    assert lab.loss_text(to_rl(lab.CLIPS)) == ""


# -- the data set itself -----------------------------------------------------------------------------------------


def test_gsm8k_has_the_size_and_solution_lines_the_course_states(splits):
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 7473, "test": 1319}
    steps = {split: {row.steps for row in rows} for split, rows in splits.items()}
    assert (min(steps["train"]), max(steps["train"])) == (2, 9)
    assert (min(steps["test"]), max(steps["test"])) == (2, 11)


@pytest.fixture(scope="session")
def fresh(gsm8k_dir):
    """The audit of GSM8K as the recorded command makes it."""
    with contextlib.redirect_stdout(io.StringIO()):
        return audit_module.record(gsm8k_dir)


def test_the_audit_finds_what_the_course_states(fresh):
    train, test = (fresh["splits"][split]["counts"] for split in ("train", "test"))
    total = {name: train[name] + test[name] for name in train}
    assert total["separators"] == 79 + 14 == 93
    assert total["negative"] == 5
    assert total["decimal"] == 0
    assert total["no_marks"] == 113
    assert total["last_number_differs"] == 245
    assert total["blank_lines"] == 6
    assert total["no_label"] == total["wrong_marks"] == total["html_entities"] == total["leaks"] == 0
    assert total["duplicates"] == total["held_out"] == 0


def test_the_recorded_audit_is_what_the_audit_finds(fresh):
    kept = audit_module.recorded()
    again = json.loads(json.dumps(fresh))
    del again["versions"], kept["versions"]
    assert again == kept


def test_531_questions_happen_to_hold_the_answer_as_a_number(everything):
    def numbers(text):
        return {number.replace(",", "") for number in re.findall(r"[0-9][0-9,]*", text)}

    assert sum(row.gold in numbers(row.question) for row in everything) == 531


def test_every_gold_completion_of_gsm8k_is_read_back_as_its_label(everything):
    for number, row in enumerate(everything):
        sft, rl = to_sft(row, row=number), to_rl(row, row=number)
        assert sft["prompt"] == rl["prompt"]
        found = find_answer(sft["completion"])
        assert (found.marker, same_number(found.value, rl["ground_truth"])) == ("final_answer", True)
        assert format_ok(sft["completion"])
        assert not any(mark in sft["completion"] for mark in ("<<", ">>", "####", "\n\n"))


def test_every_solution_with_marks_becomes_a_tool_trace_that_says_the_same(splits):
    traces = convert(splits["test"], "tool_trace", on_error="skip")
    assert (len(traces), len(traces.skipped)) == (1301, 18)
    assert all("no calculator marks" in row.reason for row in traces.skipped)
    marked = [row for row in splits["test"] if "<<" in row.answer]
    for row, trace in zip(marked, traces, strict=True):
        spoken = "".join(m["content"] for m in trace["completion"] if m["role"] == "assistant")
        assert spoken == to_sft(row)["completion"]


# -- converters --------------------------------------------------------------------------------------------------


def test_all_formats_share_one_prompt_in_every_style():
    for system in (None, gsm8k.SYSTEM_PROMPT):
        prompts = [
            to(lab.CLIPS, style="messages", system=system)["prompt"] for to in (to_sft, to_rl, to_tool_trace)
        ]
        assert prompts[0] == prompts[1] == prompts[2]
        assert to_sft(lab.CLIPS, system=system)["prompt"] == chatml(prompts[0])


def test_the_system_prompt_asks_for_the_one_answer_convention():
    assert "Final Answer: <number>" in gsm8k.SYSTEM_PROMPT
    assert to_rl(lab.CLIPS, style="messages", system=gsm8k.SYSTEM_PROMPT)["prompt"][0]["role"] == "system"


def test_an_rl_row_holds_nothing_of_the_solution():
    text = json.dumps(to_rl({**lab.CLIPS, "answer": "SECRET REASONING\n#### 72"}))
    assert "SECRET" not in text
    assert "72" not in to_rl(lab.CLIPS)["prompt"]


def test_a_tool_trace_has_the_form_that_chat_templates_read():
    trace = to_tool_trace(lab.LESSON)
    first, result, *_, last = trace["completion"]
    assert first["tool_calls"] == [
        {"type": "function", "function": {"name": "calc", "arguments": {"expression": "12/60"}}}
    ]
    assert result == {"role": "tool", "name": "calc", "content": "0.2"}
    assert last["content"].endswith("Final Answer: 10")
    assert trace["tools"][0]["function"]["name"] == "calc"


def test_a_result_that_only_the_mark_holds_is_still_said():
    row = {"question": "Q", "answer": "She has <<6*9=54>> nuts.\n#### 54"}
    assert [m["content"] for m in to_tool_trace(row)["completion"]] == [
        "She has ",
        "54",
        "54 nuts.\nFinal Answer: 54",
    ]


def test_a_whole_number_division_is_called_as_a_division():
    row = {"question": "Q", "answer": "560//10 = <<560//10=56>>56 nights.\n#### 56"}
    assert to_tool_trace(row)["completion"][0]["tool_calls"][0]["function"]["arguments"] == {
        "expression": "560/10"
    }


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("54 nuts.\n#### 54", "row 7: answer has no calculator marks"),
        ("<<6*9=55>>55 nuts.\n#### 55", "row 7: <<6\\*9=55>> is wrong"),
        ("<<20%*50=10>>10 nuts.\n#### 10", "row 7: the tool cannot work out '20%\\*50'"),
        ("<<7//2=3>>3 nuts.\n#### 3", "row 7: the tool cannot work out '7//2'"),
    ],
    ids=["no marks", "wrong mark", "unreadable for the tool", "rounded down"],
)
def test_a_row_that_cannot_be_a_tool_trace_says_why(answer, message):
    with pytest.raises(RowError, match=message):
        to_tool_trace({"question": "Q", "answer": answer}, row=7)


def test_convert_skips_and_counts_or_raises_and_names_the_row():
    batch = [lab.CLIPS, {"question": "Why?", "answer": "Because."}, None, lab.LESSON]
    done = convert(batch, "rl", on_error="skip")
    assert [row["ground_truth"] for row in done] == ["72", "10"]
    assert [row.row for row in done.skipped] == [1, 2]
    assert done.report().startswith("2 of 4 rows to rl; 2 rows skipped, the first: row 1: answer must end in")
    with pytest.raises(RowError, match=r"row 1: answer must end in"):
        convert(batch, "rl")


def test_a_mistake_in_the_call_is_never_booked_as_a_bad_row():
    with pytest.raises(ValueError, match="style must be one of chatml, messages, got 'chat'"):
        convert([lab.CLIPS], "rl", on_error="skip", style="chat")
    with pytest.raises(TypeError, match="stile"):
        convert([lab.CLIPS], "rl", on_error="skip", stile="messages")
    with pytest.raises(
        ValueError, match="to must be one of sft, rl, tool_trace, got 'stf'; did you mean 'sft'"
    ):
        convert([lab.CLIPS], "stf")
    with pytest.raises(TypeError, match="mapping"):
        to_sft("a text")


@pytest.mark.parametrize(
    "change", [lambda row: row, dict, lambda row: {**row, "answer": row["answer"] + " "}]
)
def test_converting_changes_no_row(change):
    row = change(lab.CLIPS)
    before = copy.deepcopy(row)
    for to in (to_sft, to_rl, to_tool_trace):
        to(row)
    assert row == before


texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=60)


@few
@given(question=texts, solution=texts, gold=st.integers(-(10**9), 10**9))
def test_any_text_converts_or_is_refused_with_the_row_named(question, solution, gold):
    row = {"question": question, "answer": f"{solution}\n#### {gold:,}"}
    done, refused = convert([row], "sft", on_error="skip"), convert([row], "rl", on_error="skip").skipped
    assert all(entry.reason.startswith("row 0") for entry in [*done.skipped, *refused])
    if not done or refused:
        return
    sft, rl = done[0], to_rl(row)
    assert sft["prompt"] == rl["prompt"]
    assert rl["ground_truth"] == str(gold)
    assert sft["completion"].split("\n")[-1] == f"Final Answer: {gold}"


@few
@given(a=st.integers(0, 9999), b=st.integers(1, 999), text=st.text("abc xyz.,=()", max_size=20))
def test_stripping_gives_the_text_that_was_marked(a, b, text):
    marked = f"{text} {a}+{b} = <<{a}+{b}={a + b}>>{a + b} {text}"
    assert rows.strip_calc_marks(marked) == f"{text} {a}+{b} = {a + b} {text}"
    assert all(check.ok for check in rows.check_calc_marks(marked))
    wrong = f"<<{a}+{b}={a + b + 1}>>"
    assert not any(check.ok for check in rows.check_calc_marks(wrong))


@few
@given(text=st.text(max_size=80))
def test_cleaning_leaves_no_blank_line_no_double_space_and_no_hidden_character(text):
    clean = rows.clean_text(text)
    assert "\n\n" not in clean
    assert "  " not in clean
    assert clean == clean.strip()
    assert not any(ord(character) < 32 and character != "\n" for character in clean)


# -- templates of real models ------------------------------------------------------------------------------------


def tokenizer_with(template):
    """A tokenizer made on the spot, with a chat template that TRL ships."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    trl = pytest.importorskip("trl")
    from pathlib import Path

    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="</s>")
    folder = Path(trl.__file__).parent / "chat_templates"
    made.chat_template = (folder / f"{template}.jinja").read_text(encoding="utf-8")
    return made


@pytest.mark.parametrize(
    ("template", "opens", "ends"),
    [
        ("qwen2_5", "<|im_start|>system\nYou are Qwen", "<|im_end|>"),
        ("qwen3", "<|im_start|>user\nNatalia", "<|im_end|>"),
        ("llama3", "<s><|start_header_id|>user<|end_header_id|>\n\nNatalia", "<|eot_id|>"),
        ("gemma", "<s><start_of_turn>user\nNatalia", "<end_of_turn>"),
    ],
)
def test_a_tokenizers_own_template_renders_prompt_and_completion(template, opens, ends):
    tokenizer = tokenizer_with(template)
    sft, rl = to_sft(lab.CLIPS, tokenizer=tokenizer), to_rl(lab.CLIPS, tokenizer=tokenizer)
    assert sft["prompt"] == rl["prompt"]
    assert sft["prompt"].startswith(opens)
    assert sft["completion"].endswith(f"Final Answer: 72{ends}")
    whole = tokenizer.apply_chat_template(
        [*to_sft(lab.CLIPS, style="messages")["prompt"], *to_sft(lab.CLIPS, style="messages")["completion"]],
        tokenize=False,
    )
    assert sft["prompt"] + sft["completion"] == whole.rstrip("\n")


def test_trl_renders_the_messages_to_the_same_prompt():
    trl = pytest.importorskip("trl")
    tokenizer = tokenizer_with("qwen3")
    row = to_sft(lab.CLIPS, style="messages")
    rendered = trl.apply_chat_template(row, tokenizer)
    assert rendered["prompt"] == to_rl(lab.CLIPS, tokenizer=tokenizer)["prompt"]
    trace = to_tool_trace(lab.CLIPS)
    text = trl.apply_chat_template(
        {key: trace[key] for key in ("prompt", "completion")}, tokenizer, tools=trace["tools"]
    )
    assert '{"name": "calc", "arguments": {"expression": "48/2"}}' in text["completion"]
    assert "<tool_response>\n24\n</tool_response>" in text["completion"]


def test_a_tokenizer_and_messages_exclude_each_other():
    with pytest.raises(ValueError, match="leaves rendering to the trainer"):
        to_rl(lab.CLIPS, style="messages", tokenizer=object())


def test_a_template_that_rewrites_its_prompt_is_refused():
    class Rewrites:
        def apply_chat_template(self, messages, tokenize, add_generation_prompt=False):
            return f"{len(messages)}: " + messages[-1]["content"]

    with pytest.raises(ValueError, match="style='messages'"):
        to_sft(lab.CLIPS, tokenizer=Rewrites())


# -- loading -----------------------------------------------------------------------------------------------------


def test_the_loader_says_which_source_it_used(gsm8k_dir, capsys, monkeypatch):
    monkeypatch.delenv("RL_LAB_GSM8K", raising=False)
    assert "generator (seed 0)" in load(limit=2).source
    assert capsys.readouterr().out == "2 train rows from the bundled generator (seed 0); 0 rows skipped\n"
    from_folder = load(gsm8k_dir, "test", limit=3)
    assert str(gsm8k_dir) in capsys.readouterr().out
    assert [row.gold for row in from_folder] == ["18", "3", "70000"]
    monkeypatch.setenv("RL_LAB_GSM8K", str(gsm8k_dir))
    assert load(split="test", limit=1)[0] == from_folder[0]


def test_bundled_splits_share_no_question_whatever_the_seed(capsys):
    train, test = load("bundled", "train", seed=1), load("bundled", "test", seed=2)
    assert (len(train), len(test)) == (1000, 200)
    assert audit(train, held_out=test).counts()["held_out"] == 0
    assert "train" in capsys.readouterr().out


def test_a_broken_line_raises_or_is_counted(tmp_path, capsys):
    lines = [
        json.dumps(lab.CLIPS),
        "{broken",
        "",
        '["a", "list"]',
        '{"question": "Q"}',
        '{"question": " ", "answer": "#### 1"}',
        json.dumps({"question": "one\u2028two", "answer": "#### 2"}, ensure_ascii=False),
        '{"question": "Q", "target": 3.0}',
    ]
    (tmp_path / "train.jsonl").write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    with pytest.raises(ValueError, match=r"train\.jsonl:2: no JSON"):
        load(tmp_path)
    found = load(tmp_path, on_error="skip")
    assert [row.gold for row in found] == ["72", "2", "3"]
    assert [row.row for row in found.skipped] == [1, 2, 3, 4]
    assert "4 rows skipped, the first: train.jsonl:2: no JSON" in capsys.readouterr().out
    assert load(tmp_path / "train.jsonl", limit=1)[0] == lab.CLIPS


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: load("openai/gsm8"), "got 'openai/gsm8'; did you mean 'openai/gsm8k'"),
        (lambda: load("bundled", "validation"), "split must be one of train, test"),
        (lambda: load("bundled", "tset"), "did you mean 'test'"),
        (lambda: load("bundled", limit=0), "limit must be a whole number of rows"),
        (lambda: load("bundled", on_error="ignore"), "on_error must be one of raise, skip"),
    ],
)
def test_a_wrong_setting_is_named_with_its_choices(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_hub_needs_datasets_and_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match="pip install datasets"):
        load("openai/gsm8k")


def test_rows_from_the_hub_are_read_like_any_other(monkeypatch, capsys):
    class Hub:
        @staticmethod
        def load_dataset(name, configuration, split):
            assert (name, configuration, split) == ("openai/gsm8k", "main", "test[:1]")
            return [{"question": "Q", "answer": "#### 5"}]

    monkeypatch.setitem(sys.modules, "datasets", Hub)
    assert load("openai/gsm8k", "test", limit=1)[0].gold == "5"
    assert "from the hub (openai/gsm8k)" in capsys.readouterr().out


# -- audit -------------------------------------------------------------------------------------------------------


def test_the_audit_finds_every_kind_of_dirt():
    dirty = [
        {"question": "Q1", "answer": "It is seven."},
        {"question": "Q2", "answer": "6*9=54\n#### 54"},
        {"question": "Q3", "answer": "6*9=<<6*9=55>>55\n#### 54"},
        {"question": "Q4", "answer": "2-1002=<<2-1002=-1000>>-1000\n\n#### -1,000"},
        {"question": "Tom &amp; Ann?", "answer": "<<1/2=0.5>>0.5\n#### 0.5"},
        {"question": "Is it\u00a05? The answer is 5.", "answer": "<<2+3=5>>5\n#### 5"},
        {"question": "q2 ", "answer": "<<2+3=5>>5\n#### 5"},
        {"question": "Held", "answer": "<<2+3=5>>5\n#### 5"},
    ]
    found = audit(dirty, held_out=[{"question": "held", "answer": "#### 1"}])
    assert found.issues == {
        "no_label": [0],
        "no_marks": [1],
        "wrong_marks": [2],
        "last_number_differs": [2],
        "separators": [3],
        "negative": [3],
        "blank_lines": [3],
        "decimal": [4],
        "html_entities": [4],
        "odd_characters": [5],
        "leaks": [5],
        "duplicates": [6],
        "held_out": [7],
    }
    assert set(found.issues) == set(audit_module.ISSUES)


def test_the_audit_command_writes_its_record(tmp_path, capsys):
    for split in ("train", "test"):
        (tmp_path / f"{split}.jsonl").write_text(json.dumps(lab.CLIPS) + "\n", encoding="utf-8")
    assert audit_module.main([str(tmp_path), "--out", str(tmp_path / "audit.json")]) == 0
    kept = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    assert kept["splits"]["train"]["counts"]["held_out"] == 1
    assert kept["splits"]["test"]["completion_characters"] == {"mean": 112.0, "median": 112, "max": 112}
    assert "question is also in the held-out set" in capsys.readouterr().out


# -- what else may stand in a file or in a call --------------------------------------------------------------------


def test_a_byte_that_is_no_utf8_spoils_its_own_line_only(tmp_path, capsys):
    good = json.dumps(dict(lab.CLIPS)).encode()
    (tmp_path / "train.jsonl").write_bytes(
        b"\xef\xbb\xbf" + good + b"\r\n" + good.replace(b"clips", b"cl\xefps") + b"\n"
    )
    with pytest.raises(ValueError, match=r"train.jsonl:2: no UTF-8 text .* save the file as UTF-8"):
        load(tmp_path)
    rows_left = load(tmp_path, on_error="skip")
    assert rows_left == [lab.CLIPS]
    assert [row.row for row in rows_left.skipped] == [1]


def test_a_row_whose_answer_is_a_number_loads_and_has_a_label(tmp_path, capsys):
    (tmp_path / "train.jsonl").write_text('{"question": "6*9?", "answer": 54}\n', encoding="utf-8")
    (row,) = load(tmp_path)
    assert (row.gold, row.steps) == ("54", 0)
    assert to_rl(row)["ground_truth"] == "54"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: load(5), "source must be a name or a path, got int"),
        (lambda: to_rl(lab.CLIPS, system=5), "system must be text or None, got int"),
        (
            lambda: to_sft(lab.CLIPS, tokenizer="gpt2"),
            "tokenizer must have apply_chat_template, got str 'gpt2'",
        ),
        (lambda: convert(lab.CLIPS, "rl"), r"wrap a single row in \[ \]"),
        (lambda: convert(None, "rl"), "rows must be a list of rows, got NoneType"),
        (
            lambda: chatml([{"role": "user", "content": None}]),
            "messages must have role and content, both text",
        ),
        (lambda: chatml("hi"), "messages must have role and content"),
        (lambda: rows.strip_calc_marks(None), "text must be a str, got NoneType"),
        (lambda: rows.check_calc_marks(None), "marks must be a text or a list of texts, got NoneType"),
        (lambda: rows.check_calc_marks([b"1+1=2"]), "marks must be texts"),
    ],
)
def test_a_wrong_kind_is_named_with_the_argument(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_the_audit_counts_rows_that_are_no_rows():
    odd = [None, 5, {}, {"question": None, "answer": None}, {"question": ["Q"], "answer": 7}]
    found = audit(odd, held_out=[None])
    assert found.issues == {"no_label": [0, 1, 2, 3], "no_marks": [4], "last_number_differs": [4]}
    assert found.n == 5


@pytest.mark.parametrize(
    "unit",
    ["1", "1+", "answer: ", "answer:" + "*" * 9, "=", "<<", "&", "1 ", "1+1=2 ", "<<1+1=", "####", "[INST"],
)
def test_long_texts_of_one_pattern_are_read_in_no_time(unit):
    text = unit * (12_000 // len(unit))
    started = time.process_time()
    rows.clean_text(text)
    rows.strip_calc_marks(text)
    rows.check_calc_marks([text])
    rows.find_leak(f"answer:{' ' * 12_000}{text}", "54", [text])
    convert([{"question": text, "answer": f"{text}\n#### 5"}], "sft", on_error="skip")
    assert time.process_time() - started < 3


@few
@given(
    a=st.integers(0, 999),
    b=st.integers(1, 999),
    sign=st.sampled_from(["", "-", "−"]),
    money=st.sampled_from("$€ "),
)
def test_a_result_is_never_said_twice(a, b, sign, money):
    result = f"{sign}{money.strip()}{a + b}"
    assert rows.strip_calc_marks(f"x <<{a}+{b}={result}>>{result} y") == f"x {result} y"


# -- whole numbers beyond a float, marks within marks ---------------------------------------------------------------

LONG = {
    "question": "Q",
    "answer": "<<123456789*987654321=121932631112635269>>\n#### 121932631112635269",
}


def test_a_long_result_keeps_every_digit():
    """T2-11b: the trace teaches what the environment answers."""
    tool = [m["content"] for m in to_tool_trace(LONG)["completion"] if m["role"] == "tool"]
    assert tool == [format_number(evaluate("123456789*987654321"))] == ["121932631112635269"]
    assert to_rl(LONG)["ground_truth"] == label_of(LONG) == "121932631112635269"
    assert check_calc_marks(LONG["answer"])[0].value == 121932631112635269
    assert number_label(2**63 + 1) == str(2**63 + 1)
    assert same_number(Fraction(2**63 + 1), 2**63 + 1)
    assert not same_number(Fraction(2**63 + 1), 2**63)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<<2*<<3+4=7>>7=14>>14 nuts", "14 nuts"),
        ("<<<<3+4=7>>7*2=14>>14", "14"),
        ("a <<1+<<2+<<3+3=6>>6=8>>8=9>>9", "a 9"),
        ("<<1+1>><<3=3>>", "3"),
        ("<<2*<<3+4=7>>=14>>", "14"),
        ("5 << 8 and 9 >> 6", "5 << 8 and 9 >> 6"),
    ],
)
def test_marks_within_marks_go_from_the_inside_out(text, left):
    assert strip_calc_marks(text) == left


@given(
    st.text(alphabet="<>=+1 2\n", max_size=60)
    | st.lists(st.sampled_from(["<<", ">>", "1+1", "=2", "2", " "])).map("".join)
)
@settings(max_examples=400, derandomize=True, deadline=None, database=None)
def test_stripping_twice_is_stripping_once(text):
    once = strip_calc_marks(text)
    assert strip_calc_marks(once) == once


def test_marks_around_marks_without_end_stay_and_cost_no_time():
    text = "<<1+" * 60_000 + "1=2" + ">>2=3" * 60_000
    started = time.process_time()
    assert strip_calc_marks(text) == text
    assert time.process_time() - started < 20


def test_a_mark_within_a_mark_cannot_become_training_data():
    row = {"question": "Q", "answer": "<<2*<<3+4=7>>7=14>>14\n#### 14"}
    for convert_one in (to_sft, to_tool_trace):
        with pytest.raises(RowError, match="broken calculator mark"):
            convert_one(row)
