"""Chapter 15 says nothing that its cells, its records or the installed TRL do not show."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from rl_lab.check import check
from rl_lab.exercises.ch15 import ROWS, SYMPTOMS, _need
from rl_lab.footprint import footprint
from rl_lab.train.seeds import read_record
from tests.notebooks import ROOT, namespace, one_line, read
from tests.tables import markdown_of, tables

PATH = ROOT / "notebooks" / "15_pitfalls.ipynb"
pytestmark = pytest.mark.notebook


@pytest.fixture(scope="module")
def notebook():
    return read(PATH)


@pytest.fixture(scope="module")
def prose() -> str:
    """All Markdown of the notebook on one line."""
    return one_line(PATH)


@pytest.fixture(scope="module")
def ns() -> dict:
    pytest.importorskip("trl")
    return namespace(PATH)


# --- what do you see? ---------------------------------------------------------------------------------------------


def test_each_symptom_leads_to_its_pitfall(ns):
    rows = ns["PITFALLS"]
    assert [row["pitfall"].split(" · ")[0] for row in rows] == list("12345678")
    for row in rows:
        table = ns["symptom"](row["see"])["table"]
        assert [cell["so"] for cell in table][:3] == [row["pitfall"], row["check"], row["remedy"]]
        assert len(table) == 3 + (int(row["pitfall"][0]) in ns["SIGN"]), (
            "where the sign is another curve, it is told"
        )


def test_curves_are_drawn_where_the_fault_draws_curves(ns):
    drawn = {
        i: any(value is not None for value in ns["symptom"](row["see"])["paid"])
        for i, row in enumerate(ns["PITFALLS"], 1)
    }
    assert drawn == {1: True, 2: False, 3: False, 4: True, 5: True, 6: False, 7: True, 8: True}
    assert all(len(ns["symptom"](row["see"])["healthy"]) == 41 for row in ns["PITFALLS"])


def test_the_sheet_is_the_same_list(ns):
    assert len(ns["sheet"]) == 10
    for row, line in zip(ns["PITFALLS"], ns["sheet"][2:], strict=True):
        assert row["pitfall"] in line
        assert row["remedy"] in line


# --- 1 ------------------------------------------------------------------------------------------------------------


def test_which_habit_wins(ns):
    win = ns["winner"]
    assert win(0.2, False, True) == "guess"
    assert win(0.2, True, True) == "reason"
    for ability in (0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.9):
        for gate in (False, True):
            assert win(ability, gate, False) == "reason, then 100 ="


@pytest.mark.parametrize(("gate", "flip"), [(False, 0.26), (True, 0.075)])
def test_the_flips(ns, gate, flip, prose):
    assert ns["winner"](flip - 0.001, gate, True) == "guess"
    assert ns["winner"](flip + 0.001, gate, True) == "reason"
    assert "so at 0.26. With the gate as well, reasoning wins from 0.075 on" in prose


# --- 2 ------------------------------------------------------------------------------------------------------------


def test_trl_on_batches_that_cut_a_group(ns):
    ask = ns["ask_trl"]
    settings = {"per_device_train_batch_size": 6, "num_generations": 8}
    assert ask(**settings, gradient_accumulation_steps=1) == (
        "ValueError: generation_batch_size (6) must be divisible by num_generations (8)."
    )
    assert ask(**settings, gradient_accumulation_steps=4) == "accepted: 24 completions"
    assert "at least 2 generations per prompt" in ask(num_generations=1)
    assert "The global eval batch size (6 * 1)" in ask(
        eval_strategy="steps", eval_steps=10, per_device_eval_batch_size=6
    )
    assert "auto_find_batch_size is not supported by GRPO" in ask(auto_find_batch_size=True)


# --- 3 ------------------------------------------------------------------------------------------------------------


def test_the_account_of_one_pass(ns, prose):
    held = ns["held"]
    assert round((held.weights + held.gradients + held.optimizer) / 1e9) == 25
    assert round(held.activations / 1e9) == 20
    assert "is 25 GB, and one pass adds another 20" in prose
    assert 8 * 200 < 8 * 640 / 3


def test_what_the_sliders_show(ns):
    step = ns["step_memory"]
    assert {step(group=g)["peak"] for g in (4, 8, 16)} == {step()["peak"]}
    assert [step(group=g)["prompts"] for g in (4, 8, 16)] == [8, 4, 2]
    saved = [step(per_device=b)["activations"][2] for b in (2, 4, 8, 16)]
    assert all(0.5 < a / b < 0.75 for a, b in pairwise(saved))
    assert step(checkpointing=True)["activations"][2] < 0.3 * step()["activations"][2]
    lora = step(lora=True)
    assert lora["activations"] == step()["activations"]
    assert lora["optimizer"][2] < 0.02 * step()["optimizer"][2]
    full, fp32 = step(precision="bf16=True"), step(precision="fp32")
    assert full["activations"][2] < fp32["activations"][2]
    assert full["optimizer"] == fp32["optimizer"]
    assert step(precision="bf16 weights")["optimizer"][2] == fp32["optimizer"][2] / 2
    caches = {round(step(per_device=b)["other"][1], 6) for b in (1, 2, 4, 8, 16)}
    assert len(caches) == 1, "a process writes all completions of a step at once"
    assert [round(bar) for bar in (sum(step()[part][i] for part in PARTS) for i in (0, 2))] == [33, 45]


PARTS = ("weights", "gradients", "optimizer", "activations", "other")


def test_for_a_big_model_lora_counts_most_and_for_long_completions_of_a_small_one_the_pass(ns):
    step = ns["step_memory"]

    def saved_by(model, limit, **remedy):
        return step(model=model, limit=limit)["peak"] - step(model=model, limit=limit, **remedy)["peak"]

    assert saved_by("Llama-3-8B", 512, lora=True) > saved_by("Llama-3-8B", 512, per_device=1)
    assert saved_by("Qwen2.5-0.5B", 1024, lora=True) < saved_by("Qwen2.5-0.5B", 1024, per_device=1)


def test_what_was_measured_with_trl():
    rows = {row["label"]: row for row in read_record("15_memory")["rows"]}
    before = rows["as it was"]
    share = {label: round(100 * row["bytes"] / before["bytes"]) for label, row in rows.items()}
    assert rows["num_generations 4"]["bytes"] == before["bytes"]
    assert rows["num_generations 4"]["shape"] == before["shape"]
    quarter = rows["8 per device, 4 accumulated"]
    assert (quarter["passes"], quarter["shape"][0]) == (4, before["shape"][0] // 4)
    assert list(share.values()) == [100, 100, 25, 67, 66, 55, 92, 10]


def test_logits_in_tiles_and_whole(ns):
    assert round(ns["tiles"] / 1e9, 2) == 0.27
    assert round(ns["whole"] / 1e9, 2) == 2.49


@pytest.mark.train
def test_what_trl_turns_on_and_loads_by_default(ns):
    import inspect

    from trl.trainer import utils

    with ns["quiet"]():
        config = ns["GRPOConfig"](use_cpu=True)
    assert config.bf16, "so is bf16"
    assert config.gradient_checkpointing, "gradient checkpointing is on by default"
    assert "`dtype` defaults to `'float32'`" in inspect.getdoc(utils.create_model_from_path)


# --- 4 ------------------------------------------------------------------------------------------------------------


def ends(label: str, curve: str = "held-out accuracy") -> list[float]:
    return [run[curve][-1] for run in read_record("15_kl")["runs"][label].values()]


def test_neither_a_higher_beta_nor_one_third_mends_the_torn_run_and_two_thirds_do(prose):
    for label in ("as it was", "β to 0.05", "β to 0.1", "a third of the rate", "a third, and β to 0.1"):
        assert max(ends(label)) < 0.2, label
    assert ends("a third of a third") == [0.65, 0.74]
    assert ends("a third of a third, and β to 0.1") == [0.79, 0.8]
    assert "79 and 80 % right at the end in place of 65 and 74 %" in prose
    runs = read_record("15_kl")["runs"]
    assert max(max(run["kl"]) for run in runs["a third of a third"].values()) < 0.4
    back = runs["β to 0.1"]["seed 1"]
    assert (round(max(back["kl"]), 1), round(back["kl"][-1], 1), back["held-out accuracy"][-1]) == (
        5.8,
        0.7,
        0.04,
    )
    assert "the KL of seed 1 comes back, from 5.8 to 0.7, and 4 % are right" in prose


def test_a_ruin_trained_on_stays_one(prose):
    again = ends("from the start, at a healthy rate")
    assert ends("the ruin, at a healthy rate") == [0.02, 0.04]
    assert min(again) > 0.95
    ruins = read_record("15_kl")["runs"]["the ruin, at a healthy rate"]
    assert max(max(run["kl"]) for run in ruins.values()) < 0.4
    assert "2 and 4 % right after forty more steps" in prose
    first, second = (round(100 * value) for value in again)
    assert f"the same forty steps bring {first} and {second} %" in prose or (
        first == second and f"the same forty steps bring {first} % on both" in prose
    )


def test_the_torn_run_is_chapter_11_s(ns):
    mine, theirs = read_record("15_kl")["runs"]["as it was"]["seed 1"], read_record("11_kl")["curves"]
    assert all(mine[curve] == theirs[curve] for curve in mine)
    assert (
        read_record("11_kl")["settings"]["learning_rate"]
        == 30 * read_record("11_healthy")["settings"]["learning_rate"]
    )
    assert set(ns["torn"]("β to 0.1")) >= {"kl", "last", "end"}


def test_sft_s_learning_rate_is_warned_about(ns):
    assert "is above 1e-05" in ns["check_learning_rate"](2e-4, "grpo", lora=False)
    assert ns["check_learning_rate"](1e-6, "grpo", lora=False) is None


def test_trl_logs_no_kl_by_default(ns):
    fields = ns["GRPOConfig"].__dataclass_fields__
    assert (fields["beta"].default, fields["learning_rate"].default, fields["max_grad_norm"].default) == (
        0.0,
        1e-6,
        1.0,
    )


# --- 5 ------------------------------------------------------------------------------------------------------------


def test_the_reading_is_of_chapter_11_s_hacked_run(prose):
    mine, theirs = read_record("15_read"), read_record("11_hacked")
    assert mine["curves"] == theirs["curves"]
    reward, held_out = (theirs["curves"][name] for name in ("reward", "held-out accuracy"))
    assert [round(sum(part) / 3, 1) for part in (reward[:3], reward[-3:])] == [-1.0, -0.2]
    assert (theirs["results"]["accuracy_before"], held_out[-1]) == (0.96, 0.1)
    assert "held-out accuracy falls from 96 % to 10 %" in prose
    assert "rises from −1.0 to −0.2" in prose


def test_the_five_best_are_the_only_five_lucky_ones(ns):
    after = sorted(ns["READ"]["after"], key=lambda c: -c["reward"])
    assert [ns["is_right"](c) and "=" not in c["completion"] for c in after[:5]] == [True] * 5
    assert not any(ns["is_right"](c) and "=" not in c["completion"] for c in after[5:])


def test_the_habits_before_and_after(ns, prose):
    rows = ns["by_habit"]()["table"]
    stated = [(row["of64"], row["right"], round(row["reward"], 2)) for row in rows]
    assert stated == [(55, 47, -1.15), (9, 0, -0.3), (2, 1, -1.5), (62, 5, -0.22)]
    assert "right 47 times in 55 and earns −1.15 on average" in prose
    assert "right 5 times in 62, and earns −0.22" in prose


def test_the_mended_reward_ranks_the_policies_as_their_accuracy_does(ns):
    mean, mended = ns["mean"], ns["mended"]
    paid = [mean(lambda c: c["reward"], when) for when in ("before", "after")]
    assert paid[0] < paid[1]
    assert [mean(mended, when) for when in ("before", "after")] == [0.44, 0.08]
    assert [mean(ns["is_right"], when) for when in ("before", "after")] == [0.73, 0.09]
    assert 1 - 0.02 * 40 > 0, "right at the longest earns more than wrong"


# --- 8 ------------------------------------------------------------------------------------------------------------


def test_what_is_forgotten_and_what_old_rows_keep(prose):
    run = read_record("15_forget")
    alone, mixed = (run["runs"][label] for label in ("one data set only", "one in ten is old"))
    at = dict(zip(run["steps"], alone["old task"], strict=True))
    assert (at[0], at[10], at[20], at[200]) == (1.0, 0.58, 0.07, 0.08)
    assert "From 100 % to 58 % after ten updates, and to 7 % after twenty" in prose
    assert max(alone["old task"][2:]) <= 0.1
    assert (min(mixed["old task"]), mixed["old task"][-1]) == (0.25, 0.98)
    assert (alone["new task"][-1], mixed["new task"][-1]) == (0.86, 0.97)
    assert "dips to 25 %, comes back, and ends at 98 %" in prose
    assert "97 % in place of 86 %" in prose
    assert run["settings"]["n_test"] == 100


def test_each_record_says_how_it_was_made():
    for name in ("kl", "read", "forget", "memory"):
        run = read_record(f"15_{name}")
        assert run["command"] == f"python -m tools.record_15 {name}"
        assert set(run["versions"]) >= {"torch", "trl", "transformers"}
        assert (ROOT / "runs" / f"15_{name}.json").stat().st_size < 120_000


# --- 6 ------------------------------------------------------------------------------------------------------------


def test_reading_five_rows(ns, prose):
    assert 0.14 < 1 - 0.97**5 < 0.143
    assert "One in seven." in prose
    picture = ns["seen"](0.03)
    assert picture["ninety"] == 76
    assert picture["chance"][picture["x"].index("100")] > 0.95


def test_the_audit_finds_what_was_put_in(ns, prose):
    counts = ns["audit"](ns["rows"]).counts()
    planted = {"leaks": 30, "blank_lines": 20, "html_entities": 15, "wrong_marks": 10, "duplicates": 5}
    assert {name: counts[name] for name in planted} == planted
    assert "30 leaks, 20 blank lines, 15 entities, 10 wrong marks, 5 duplicates" in prose
    clean = ns["audit"](ns["generate"](1000, 15, split="train")).counts()
    assert not any(clean[name] for name in planted)


def test_the_simple_audit_counts_too_many_leaks_and_the_rest_right(ns):
    found = {
        name: sum(f(row["question"], row["answer"]) for row in ns["rows"]) for name, f in ns["faults"].items()
    }
    assert found["answer in the question"] > 60
    assert (found["blank lines"], found["HTML entities"], found["calculator marks"]) == (20, 15, 1000)


def test_the_copier_is_paid_on_leaky_rows_only(ns):
    leaky = ns["leaky"]
    assert all(ns["copier"](i) == 1 for i in leaky)
    assert sum(ns["copier"](i) for i in set(range(1000)) - leaky) / 970 < 0.02


def test_marks_are_a_quarter_of_a_solution_and_the_rest_converts(ns):
    text = ns["text"]
    assert round(1 - len(ns["strip_calc_marks"](text)) / len(text), 2) == 0.24
    done = ns["convert"](ns["kept"], "rl")
    assert len(done) == 955
    assert not any("&nbsp;" in row["prompt"] for row in done)


# --- 7 ------------------------------------------------------------------------------------------------------------


def test_who_pays_which_format(ns, prose):
    paid = {name: [ns["paid_share"](name, spoken) for spoken in ns["FORMATS"]] for name in ns["EXTRACTORS"]}
    assert paid["looks for ####"] == [0, 1, 0, 0]
    assert paid["looks for Final Answer:"] == [1, 0, 0, 0]
    assert paid["rl_lab.answers"] == [1, 1, 1, 1]
    assert paid["first number after the marker"][0] == paid["last number of the text"][0] == 0.785
    assert "Here that loses 21.5 % of the right answers" in prose
    from rl_lab.audit import recorded

    commas = sum(split["counts"]["separators"] for split in recorded()["splits"].values())
    assert (commas, round(100 * commas / 8792)) == (93, 1)


@pytest.mark.parametrize(
    ("name", "message"), [("hashes", "does not pay a right"), ("contains", "pays a wrong answer")]
)
def test_preflight_refuses_both_graders(ns, name, message):
    with pytest.raises(ns["PreflightError"], match=message):
        ns["preflight"](ns["prompts"], ns[name])


# --- what TRL says ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def said(notebook) -> dict[str, str]:
    """The messages of the table, by the name of what provokes them."""
    (table,) = [t for t in tables(markdown_of(notebook)) if t[0] == ["message", "write"]]
    return [row[0].strip("`").removesuffix("` …") for row in table[1:] if row[0].startswith("`")]


@pytest.mark.train
def test_the_messages_are_those_of_the_installed_trl(ns, said, notebook):
    code = [
        c.source
        for c in notebook.cells
        if "model" in c.metadata.get("tags", []) and "nothing" not in c.source
    ]
    names: dict = {**ns, "__name__": "notebook"}
    for source in code:
        if "def first_step" in source or "make_tiny" in source:
            exec(source.split("\nprint(")[0], names)  # our own cells
    cells = next(c.source for c in notebook.cells if "def nothing" in c.source)
    exec(cells.split("\nfor reward in")[0], names)
    raised = [names["first_step"](names[f]) for f in ("no_columns", "one_number", "first_only", "words")]
    for stated, real in zip(said[:4], raised, strict=True):
        assert real.startswith(stated)
    assert names["first_step"](names["nothing"]) == "no error; reward None, loss 0.0"


def test_the_messages_of_the_settings_are_those_of_the_installed_trl(ns, said):
    assert ns["ask_trl"](per_device_train_batch_size=6, num_generations=8) == said[4]
    import torch

    if not torch.cuda.is_available():
        assert ns["ask_trl"](use_cpu=False, bf16=True) == said[5]


# --- keys ---------------------------------------------------------------------------------------------------------


def test_where_a_token_is_masked_and_where_it_is_not(ns):
    config = ns["config"]
    assert config.to_dict()["hub_token"] == "<HUB_TOKEN>"
    assert "hf_not" not in str(config)
    assert "hf_not" in repr(config)
    assert b"hf_not" in ns["pickle"].dumps(config)


def test_the_trainer_saves_and_uploads_its_arguments():
    import inspect

    transformers = pytest.importorskip("transformers")
    source = inspect.getsource(transformers.Trainer)
    assert "torch.save(self.args" in source
    assert 'ignore_patterns=["_*", f"{PREFIX_CHECKPOINT_DIR}-*"]' in source
    assert transformers.trainer.TRAINING_ARGS_NAME == "training_args.bin"


def test_uploads_are_off_and_public_by_default(ns):
    fields = ns["GRPOConfig"].__dataclass_fields__
    assert (fields["push_to_hub"].default, fields["hub_private_repo"].default) == (False, None)
    assert "public unless" in fields["hub_private_repo"].metadata["help"]


def test_git_ignores_the_file_of_keys():
    assert ".env" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


# --- exercises ----------------------------------------------------------------------------------------------------


def test_every_note_answers_a_wrong_number_with_a_clue():
    right = {letter: numbers[0] for letter, (numbers, _) in SYMPTOMS.items()}
    assert check("15.1", right).passed
    assert check("15.1", right | {"G": 5}).passed
    for letter, (numbers, clues) in SYMPTOMS.items():
        for wrong in set(range(1, 9)) - set(numbers):
            result = check("15.1", right | {letter: wrong})
            assert result.finding.called == f"note {letter}"
            assert result.finding.why == clues.get(wrong, result.finding.why)
            assert result.finding.why
    for odd in (None, [], {"A": 2}, right | {"A": "2"}, right | {"A": True}, right | {"A": 9}):
        assert not check("15.1", odd).passed


GOOD = {
    "per_device": 4,
    "accumulation": 12,
    "num_generations": 8,
    "completion_tokens": 512,
    "lora": True,
    "checkpointing": False,
    "beta": 0.02,
}


def test_numbers_in_the_solution_of_15_2(prose):
    assert "holds 30.9 GB with its reference" in prose
    full = _need(GOOD | {"lora": False})
    assert round((full.weights + full.gradients + full.optimizer) / 1e9, 1) == 30.9
    assert round(_need(GOOD).peak / 1e9, 1) == 17.9
    assert round(_need(GOOD | {"per_device": 6, "accumulation": 8}).peak / 1e9, 1) == 22.3
    for other in (
        {"per_device": 6, "accumulation": 8},
        {"per_device": 24, "accumulation": 2, "checkpointing": True},
    ):
        assert check("15.2", GOOD | other).passed


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        (
            {"per_device": 12, "accumulation": 1},
            "generation_batch_size (12) must be divisible by num_generations (8).",
        ),
        ({"per_device": 4, "accumulation": 4}, "Fewer per device and more accumulation"),
        ({"num_generations": 4}, "A smaller group saves nothing"),
        ({"completion_tokens": 256}, "as they were"),
        ({"beta": 0}, "TRL logs no KL"),
        ({"lora": False}, "train fewer parameters"),
        ({"per_device": 12, "accumulation": 4}, "Take fewer, or save less of each"),
        ({"lora": 1}, "True or False"),
        ({"accumulation": "12"}, "a number above 0"),
        ({"accumulation": 0}, "a number above 0"),
    ],
)
def test_wrong_settings_are_told_why(changes, finding):
    result = check("15.2", GOOD | changes)
    assert not result.passed
    assert finding in result.text()


def test_settings_with_other_names_are_refused():
    assert "keep the names" in check("15.2", {"batch": 4}).text()
    assert not check("15.2", None).passed


def counts(rows, **changed):
    import html

    def announced(row):
        gold = row["answer"].rsplit("####", 1)[-1].strip().replace(",", "")
        told = re.findall(r"answer(?:\s+is|\s*:)?\s*(-?\d[\d,]*)", row["question"], re.I)
        return gold in [number.replace(",", "") for number in told]

    forms = {
        "marks": lambda row: "<<" in row["answer"],
        "blank": lambda row: any(not line.strip() for line in row["answer"].split("\n")),
        "entities": lambda row: (
            html.unescape(row["question"] + row["answer"]) != row["question"] + row["answer"]
        ),
        "leak": announced,
    } | changed
    return {name: sum(map(form, rows)) for name, form in forms.items()}


@pytest.mark.parametrize(
    ("changed", "finding"),
    [
        ({"marks": lambda row: "<" in row["question"] + row["answer"]}, "no fault of the four"),
        ({"blank": lambda row: "\n\n" in row["answer"]}, "nothing but white space"),
        ({"entities": lambda row: "&" in row["question"]}, "no fault of the four"),
        ({"entities": lambda row: "&amp;" in row["question"]}, "html.unescape changes the text"),
        (
            {"leak": lambda row: row["answer"].rsplit(" ", 1)[-1] in row["question"]},
            "nobody says that it is the answer",
        ),
        ({"leak": lambda row: "answer" in row["question"].lower()}, "nobody says that it is the answer"),
    ],
)
def test_wrong_audits_are_told_why(changed, finding):
    result = check("15.3", lambda rows: counts(rows, **changed))
    assert not result.passed
    assert finding in result.text()


def test_an_audit_must_not_touch_the_rows():
    def touching(rows):
        found = counts(rows)
        for row in rows:
            row["answer"] = row["answer"].replace("<<", "")
        return found

    assert "looks and does not touch" in check("15.3", touching).text()


def test_a_good_audit_passes_and_agrees_with_the_cells(ns):
    assert check("15.3", counts).passed
    assert counts(ns["rows"]) == {"marks": 1000, "blank": 20, "entities": 15, "leak": 30}
    assert len({fault for _, _, fault in ROWS}) == 5


# --- three columns ------------------------------------------------------------------------------------------------


def test_the_three_columns_are_there(notebook):
    (table,) = [t for t in tables(markdown_of(notebook)) if "8 forgetting" in [row[0] for row in t]]
    assert [cell.split("]")[0].strip("[") for cell in table[0][1:3]] == ["PBRFT", "RLVR"]
    assert table[0][3] == "Agentic RL"
    assert [row[0].split()[0] for row in table[1:]] == list("12345678")
    assert footprint("Qwen2.5-0.5B", completion_tokens=1024).peak > footprint("Qwen2.5-0.5B").peak
