"""Every number that chapter 17 states in its prose comes out of its own cells or of the recorded runs."""

from __future__ import annotations

import ast
import re

import pytest

from rl_lab.check import check
from rl_lab.evaluation import wilson_interval
from rl_lab.grpo import check_batch
from rl_lab.train.pair import only_one, sign_test
from rl_lab.train.presets import PRESETS
from rl_lab.train.seeds import read_record
from tests.notebooks import ROOT, executed, light, namespace, read, tags
from tests.tables import markdown_of, tables

pytestmark = pytest.mark.notebook
PATH = ROOT / "notebooks" / "17_grpo_gpu.ipynb"
RECORDS = {
    "base": "16_base_1",
    "SFT": "16_sft_1",
    "GRPO": "17_grpo_1",
    "SFT + GRPO": "17_sft_grpo_1",
}


@pytest.fixture(scope="module")
def text():
    return markdown_of(read(PATH))


@pytest.fixture(scope="module")
def ns():
    return namespace(PATH)


@pytest.fixture(scope="module")
def runs():
    return {name: read_record(stem) for name, stem in RECORDS.items()}


def test_the_settings_table_s_columns_are_the_presets(text):
    trl = pytest.importorskip("trl")
    from rl_lab.train import build_grpo_args

    header, *rows = next(t for t in tables(text) if "`GRPOConfig` field" in t[0])
    assert len(rows) >= 13
    for name in ("t4", "large"):
        preset, column = PRESETS[name], header.index(f"`{name}`")
        args = build_grpo_args(
            device="cpu", lora=True, **{k: v for k, v in preset.grpo.items() if k != "use_vllm"}
        )
        for row in rows:
            field, stated = row[0].strip("`"), ast.literal_eval(row[column].strip("`"))
            own = "activation_checkpointing" if field == "gradient_checkpointing" else field
            assert getattr(args, own) == stated, (name, field)
    assert trl.GRPOConfig.__dataclass_fields__["vllm_importance_sampling_correction"].default is True


def test_memory_of_a_step(ns, text):
    t4, large = (round(ns["peak_gb"](*case), 1) for case in (("t4", "bf16=True"), ("large", "bf16 weights")))
    assert f"{t4} GB on a T4" in text
    assert f"{large} GB for `large`" in text
    assert t4 < 15 * 1.074
    assert large < 80


def test_prompts_in_a_step_on_several_cards(text):
    prompts = {cards: check_batch(64, world=cards, num_generations=16).prompts_per_step for cards in (1, 4)}
    assert prompts == {1: 4, 4: 16}
    assert "16 instead of 4" in text
    assert check_batch(16, world=4, num_generations=16).prompts_per_step == 4, (
        "16 completions a card divide it"
    )


def test_the_coin(text):
    assert round(100 * sign_test(8, 2)) == 11
    assert sign_test(9, 1) < 0.05 < sign_test(8, 2)
    assert "one of nine cases (11 %" in text


def test_commands_name_files_that_exist(text):
    for path in set(re.findall(r"configs/[\w/]+\.yaml", text)):
        assert (ROOT / path).is_file(), path
    _, *rows = next(t for t in tables(text) if "what is split" in t[0])
    named = {row[0].strip("`") for row in rows}
    assert named == {path.name for path in (ROOT / "configs" / "accelerate").glob("*.yaml")}


def test_the_commands_settings_are_taken_from_the_configuration(text):
    from rl_lab.train.config import parse, split

    pytest.importorskip("yaml")
    line = next(line for line in text.splitlines() if line.endswith("use_vllm=true"))
    words = line.split()[line.split().index("grpo") + 1 :]
    words[words.index("--config") + 1] = str(ROOT / words[words.index("--config") + 1])
    assert split(parse(words))[1]["use_vllm"] is True


def test_three_columns_and_the_page_in_the_middle(text):
    header = next(t for t in tables(text) if "Agentic RL" in t[0])[0]
    assert "PBRFT" in header[1]
    assert "RLVR" in header[2]
    assert "this page" in header[2]
    assert header[3] == "Agentic RL"


@pytest.mark.parametrize("wrong", [128, 8, 4, 2, 1024, None])
def test_wrong_numbers_of_prompts_are_told_why(wrong):
    assert not check("17.1", wrong).passed


def test_go_is_about_groups_that_disagree():
    assert not check("17.2", lambda groups, size=8, share=0.25: any(groups)).passed
    assert not check(
        "17.2", lambda groups, size=8, share=0.25: sum(0 < g < 8 for g in groups) >= share * len(groups)
    ).passed
    assert not check(
        "17.2", lambda groups, size=8, share=0.25: sum(0 < g < size for g in groups) > share * len(groups)
    ).passed


def test_the_numbers_of_exercise_3():
    shop, maths = (4, 60, 4, 64), (90, 70, 124, 105)
    # The records hold whole exams; of these teams only sums are known, so the intervals must do.
    low, high = wilson_interval(shop[1], 200)
    assert low < shop[3] / 200 < high
    assert wilson_interval(maths[2], 200)[0] > maths[0] / 200
    assert maths[0] - maths[1] == 20
    assert maths[2] - maths[0] == 34
    right = {"shop": "more SFT", "maths": "longer GRPO", "law": "ship the base", "tutor": "measure more"}
    assert check("17.3", right).passed
    for team in right:
        assert not check("17.3", right | {team: next(r for r in right.values() if r != right[team])}).passed


def test_light_cells_need_no_model_and_model_cells_are_marked():
    for cell in light(read(PATH)).cells:
        if cell.cell_type == "code":
            assert not re.search(r"pick_preset\(|run_(sft|grpo)\(|measure\(|load_model", cell.source)


# --- the records ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_belongs_to_the_preset_and_is_consistent(runs, name):
    run, preset = runs[name], PRESETS["recorded"]
    assert (ROOT / "runs" / f"{RECORDS[name]}.json").stat().st_size < 150_000
    assert run["settings"]["preset"] == "recorded"
    done = run["results"]["after"]
    assert done["n"] == preset.n_test == len(run["results"]["right"])
    assert done["correct"] == sum(run["results"]["right"])
    assert done["interval"] == pytest.approx(list(wilson_interval(done["correct"], done["n"])), abs=1e-4)
    if "GRPO" in name:
        for key, value in preset.grpo.items():
            assert run["settings"][key] == value
        assert run["steps"] == list(range(1, preset.grpo["max_steps"] + 1))
        assert run["settings"]["reward"] == ["accuracy"]


def test_the_page_compares_the_records(ns, runs):
    for pair, (before, after) in ns["PAIRS"].items():
        shown = ns["compared"](pair)
        gained, lost = only_one(runs[before]["results"]["right"], runs[after]["results"]["right"])
        assert shown["problems"][1:3] == [gained, lost]
        assert sum(shown["problems"]) == 100
        assert shown["p"] == sign_test(gained, lost)


def signed(number):
    return f"{number:+d}".replace("-", "−")


def correct(runs):
    return {name: run["results"]["after"]["correct"] for name, run in runs.items()}


def paired(runs, before, after):
    return only_one(runs[before]["results"]["right"], runs[after]["results"]["right"])


def test_the_four_as_the_prose_tells_them(runs, text):
    n = correct(runs)
    order = f"Base {n['base']}, GRPO {n['GRPO']}, SFT {n['SFT']}, SFT + GRPO {n['SFT + GRPO']}."
    assert order in text
    assert order[0].lower() + order[1:] in text, "and again at the end"
    luck = [sign_test(*paired(runs, *ends)) > 0.05 for ends in (("base", "GRPO"), ("SFT", "SFT + GRPO"))]
    assert ("GRPO moved neither start beyond luck" in text) is all(luck)
    assert f"{signed(n['GRPO'] - n['base'])} from the base" in text or not all(luck)
    assert f"{signed(n['SFT + GRPO'] - n['SFT'])} after SFT" in text or not all(luck)
    assert n["SFT"] - n["base"] > max(n["GRPO"] - n["base"], n["SFT + GRPO"] - n["SFT"]), (
        "SFT made the difference"
    )


def test_the_groups_before_training(runs, text):
    words = dict(
        enumerate(
            ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
        )
    )
    groups = {name: runs[name]["results"]["groups"] for name in ("base", "SFT")}
    heard = {name: sum(0 < n < 8 for n in right) for name, right in groups.items()}
    assert f"Before SFT {words[heard['base']]} of twelve, after it {words[heard['SFT']]}." in text
    assert not any(n == 8 for right in groups.values() for n in right), (
        "in all others every completion is wrong"
    )
    rates = [100 * sum(right) / 96 for right in groups.values()]
    assert f"is {rates[0]:.0f} % and {rates[1]:.0f} %" in text
    assert round(0.95**8, 2) == 0.66


def test_the_curves_as_the_prose_tells_them(runs, text):
    silent, rewards, kl, cut = [], [], [], []
    for name in ("GRPO", "SFT + GRPO"):
        run = runs[name]
        curves, half = run["curves"], len(run["steps"]) // 2
        silent.append(f"{100 * sum(curves['frac_reward_zero_std']) / len(run['steps']):.0f} %")
        parts = curves["reward"][:half], curves["reward"][half:]
        rewards += [f"{sum(part) / len(part):.3f}" for part in parts]
        kl.append(f"{curves['kl'][-1]:.3f}")
        cut.append(f"{100 * sum(curves['completions/clipped_ratio']) / len(run['steps']):.0f} %")
    assert f"From the base, {silent[0]} of all groups were silent; after SFT, {silent[1]}." in text
    assert (
        f"was {rewards[0]} in the first half of the run from the base and {rewards[1]} in the second" in text
    )
    assert f"after SFT {rewards[2]} and {rewards[3]}" in text
    assert f"The KL ends at {kl[0]} and {kl[1]}" in text
    assert f"And {cut[0]} of the base's completions were cut at 48 tokens" in text
    assert f"After SFT, {cut[1]} were cut." in text
    first = next(s for s in runs["SFT + GRPO"]["samples"] if s["step"] == 1 and s["reward"] == 1)
    assert first["completion"].startswith("At Grace's hands are 27.")


def test_gains_and_losses_problem_by_problem(runs, text):
    def chance(pair):
        p = sign_test(*pair)
        return f"{p:.2f}" if p >= 0.01 else "under 0.01"

    after_sft, from_base, sft = (
        paired(runs, *ends) for ends in (("SFT", "SFT + GRPO"), ("base", "GRPO"), ("base", "SFT"))
    )
    assert f"GRPO after SFT: {after_sft[0]} problems gained, {after_sft[1]} lost" in text
    assert f"a matter of chance with probability {chance(after_sft)}." in text
    assert f"From the base: {from_base[0]} and {from_base[1]}, {chance(from_base)}." in text
    assert f"SFT against the base: {sft[0]} gained, {sft[1]} lost, {chance(sft)}." in text
    only_sft = sign_test(*sft) <= 0.05 < min(sign_test(*after_sft), sign_test(*from_base))
    assert ("Only SFT's gain is established" in text) is only_sft


def test_what_a_minute_bought(ns, runs, text):
    n = correct(runs)
    minutes = {name: runs[name]["results"]["cpu_seconds"] / 60 for name in ("SFT", "SFT + GRPO")}
    assert f"SFT: {n['SFT'] - n['base']:+d} answers in {minutes['SFT']:.0f} CPU minutes." in text
    moved = signed(n["SFT + GRPO"] - n["SFT"])
    assert f"GRPO after it: {moved} in {minutes['SFT + GRPO']:.0f}." in text
    rates = ns["per_minute"]()["answers per minute"]
    assert rates[0] > rates[2], "more SFT is the cheaper way here"


def test_the_executed_page_shows_a_live_result():
    cells = [c for c in executed(PATH).cells if "model" in tags(c)]
    said = "".join(o.get("text", "") for c in cells for o in c.outputs)
    assert "SFT: " in said
    assert "right in each group" in said
