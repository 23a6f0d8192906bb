"""Chapter 13 says nothing that its record and its cells do not show."""

from __future__ import annotations

import re
from itertools import combinations
from statistics import NormalDist

import pytest

from rl_lab.answers import extract_answer, find_answer, same_number
from rl_lab.check import check
from rl_lab.error_analysis import diagnose, possible_counts, tally
from rl_lab.evaluation import (
    classify_error,
    evaluate,
    paired_difference,
    pass_at_k,
    pass_hat_k,
    recompute_steps,
    wilson_interval,
)
from rl_lab.problems import generate, split_of
from rl_lab.regression import REGRESSION_SET, summarize
from rl_lab.rewards import hybrid_reward
from rl_lab.rows import extract_ground_truth
from rl_lab.train.seeds import read_record
from tests.notebooks import ROOT, namespace, one_line, read
from tests.tables import markdown_of, tables

PATH = ROOT / "notebooks" / "13_evaluation.ipynb"
CHECKPOINTS = (0, 20, 40)
FILES = sorted((ROOT / "runs").glob("13_*.json"))


@pytest.fixture(scope="module")
def notebook():
    return read(PATH)


@pytest.fixture(scope="module")
def prose() -> str:
    """All Markdown of the notebook on one line."""
    return one_line(PATH)


@pytest.fixture(scope="module")
def ns() -> dict:
    """Names that the notebook's cells define, exercises left out."""
    return namespace(PATH)


# --- the record ---------------------------------------------------------------------------------------------------


def test_the_records_are_small_and_say_how_they_were_made():
    assert len(FILES) >= 5
    assert all(path.stat().st_size < 150_000 for path in FILES)
    assert sum(path.stat().st_size for path in FILES) < 400_000
    for path in FILES:
        record = read_record(path.stem)
        assert {"name", "command", "seed", "versions", "settings"} <= set(record)
        assert record["command"].startswith("python -m tools.record_13 ")


def test_the_held_out_problems_are_the_generators_own_and_none_was_trained_on():
    problems = read_record("13_problems")["problems"]
    fresh = [
        problem
        for level in (1, 2, 3, 4)
        for problem in generate(15, 99_130 + level, steps=level, max_value=60, split="test")
    ]
    assert problems == [dict(problem) for problem in fresh], "the generator changed: record chapter 13 anew"
    assert all(split_of(problem["question"]) == "test" for problem in problems)
    assert [problem["steps"] for problem in problems] == [level for level in (1, 2, 3, 4) for _ in range(15)]
    assert len({problem["question"] for problem in problems}) == 60


@pytest.mark.parametrize("checkpoint", CHECKPOINTS)
def test_what_was_recorded_of_a_text_is_what_the_package_reads_today(checkpoint):
    run = read_record(f"13_step_{checkpoint}_1")
    golds = [extract_ground_truth(problem["answer"]) for problem in read_record("13_problems")["problems"]]
    part = run["greedy"]
    assert [extract_answer(text) for text in part["texts"]] == part["answers"]
    strict = [
        found is not None and found.marker == "final_answer" for found in map(find_answer, part["texts"])
    ]
    assert "".join("01"[flag] for flag in strict) == part["marked"]
    rewards = [round(hybrid_reward(text, gold), 4) for text, gold in zip(part["texts"], golds, strict=True)]
    assert rewards == part["reward"]
    for row in run["sampled"].get("texts", []):
        assert len(row) == 8
    for texts, answers in zip(run["sampled"].get("texts", []), run["sampled"]["answers"], strict=False):
        assert [extract_answer(text) for text in texts] == answers[:8]
    for name in ("answers", "naive", "marked", "tokens", "cut", "reward"):
        assert len(part[name]) == 60
        assert [len(row) for row in run["sampled"][name]] == [16 if checkpoint == 40 else 8] * 60
    assert all(1 <= tokens <= 96 for row in run["sampled"]["tokens"] for tokens in row)
    again = summarize(run["regression"]["texts"])
    assert {key: run["regression"][key] for key in again} == again


def test_the_forgetting_run_counts_as_today_and_fits_the_checkpoints():
    page = read_record("13_forget_page_1")
    assert (page["steps"], page["settings"]["learning_rate"]) == (list(CHECKPOINTS), 1e-3)
    for checkpoint, state in zip(CHECKPOINTS, page["regression"], strict=True):
        again = summarize(state["texts"])
        assert {key: state[key] for key in again} == again
        run = read_record(f"13_step_{checkpoint}_1")
        assert state["flags"] == run["regression"]["flags"]
        assert state["solved"] == run["results"]["greedy_right"]


# --- intervals and estimators ---------------------------------------------------------------------------------------


def test_an_accuracy_of_68_percent_and_how_wide_it_is(prose):
    assert [round(100 * end) for end in wilson_interval(68, 100)] == [58, 76]
    assert wilson_interval(61, 100)[1] > wilson_interval(68, 100)[0], "Monday and Friday overlap"
    low, high = wilson_interval(round(0.68 * 1319), 1319)
    assert 100 * (high - low) == pytest.approx(5, abs=0.1)
    wide, narrow = (end[1] - end[0] for end in (wilson_interval(68, 100), wilson_interval(272, 400)))
    assert wide / narrow == pytest.approx(2, abs=0.05)
    assert "From 58 to 76 % with a hundred problems" in prose


def test_one_right_of_sixteen(ns, prose):
    assert ns["plug_in"] == pytest.approx(0.403, abs=5e-4)
    assert len(ns["draws"]) == 12_870
    assert sum(any(draw) for draw in ns["draws"]) / 12_870 == 0.5 == pass_at_k(16, 1, 8)
    assert "12,870 ways" in prose


def test_the_two_made_up_models(ns, prose):
    shown = {name: {k: round(100 * v) for k, v in model.items()} for name, model in ns["MODELS"].items()}
    assert shown["40 / 85"] == {"pass@1": 40, "pass@8": 85, "all 8 right": 0, "groups with a signal": 85}
    assert shown["40 / 45"] == {"pass@1": 40, "pass@8": 45, "all 8 right": 18, "groups with a signal": 27}
    assert "85 groups in a hundred do" in prose
    assert "only 27 groups in a hundred" in prose


@pytest.mark.parametrize("c", range(9))
def test_a_group_has_a_signal_as_often_as_pass_at_k_minus_pass_hat_k(c):
    groups = list(combinations([1] * c + [0] * (8 - c), 4))
    mixed = sum(0 < sum(group) < 4 for group in groups) / len(groups)
    assert mixed == pytest.approx(pass_at_k(8, c, 4) - pass_hat_k(8, c, 4))


def test_each_figure_keeps_its_promises(ns):
    for checkpoint in ("0", "20", "40"):
        for judge in ns["JUDGES"]:
            frame = ns["kinds"](judge, checkpoint)
            assert sum(frame["errors"]) == frame["n"] == 60 - sum(ns["greedy"][int(checkpoint)])
            assert all(m <= e for m, e in zip(frame["mended"], frame["errors"], strict=True))
        frame = ns["decay"](checkpoint, "greedy")
        assert all(a <= b <= c for a, b, c in zip(frame["low"], frame["rate"], frame["high"], strict=True))
    for n in (4, 8, 12, 16):
        frame = ns["estimators"](n)
        for counted, plugged in zip(frame["counted"][:n], frame["plugged"], strict=False):
            assert plugged <= counted + 1e-9
    for k in (1, 2, 4, 8):
        frame = ns["report"](k, "hardened")
        for one, some, every in zip(frame["pass@1"], frame["pass@k"], frame["pass^k"], strict=True):
            assert every <= one + 1e-9 <= some + 2e-9
    for row in ns["report"](8, "strict")["table"]:
        assert float(row["pass@1"]) <= float(row["format"]) + 0.5, "who is not in format is never right"


# --- folklore -------------------------------------------------------------------------------------------------------


def test_no_count_can_have_been_printed_like_the_three_tiers(prose):
    assert [possible_counts(p, n) for p, n in (("78.50", 85), ("58.30", 96), ("31.60", 19))] == [[], [], []]
    assert [possible_counts(p, n) for p, n in (("78.5", 85), ("58.3", 96), ("31.6", 19))] == [[], [56], [6]]
    right = 0.785 * 85 + 0.583 * 96 + 0.316 * 19
    assert round(200 - right) == 71
    assert 85 + 96 + 19 == 200
    assert 32 + 18 + 22 + 4 == 76
    assert "leave 71 errors, where the list beside them has 76" in prose


# --- exercises ------------------------------------------------------------------------------------------------------


def test_pairs_with_the_same_accuracies_and_different_verdicts(prose):
    def p(gained, lost, both, neither):
        a = [1] * lost + [1] * both + [0] * gained + [0] * neither
        b = [0] * lost + [1] * both + [1] * gained + [0] * neither
        assert (len(a), sum(a), sum(b)) == (80, 60, 66)
        return paired_difference(a, b).p_value

    assert p(6, 0, 60, 14) == pytest.approx(0.031, abs=5e-4)
    assert p(20, 14, 46, 0) == pytest.approx(0.39, abs=5e-3)
    assert "the p-value is 0.031" in prose
    assert "it is 0.39" in prose


def test_the_starter_of_the_last_exercise_cannot_tell_the_two_apart():
    spread = (0.75 * 0.25 / 80 + 0.825 * 0.175 / 80) ** 0.5
    assert 2 * (1 - NormalDist().cdf(0.075 / spread)) == pytest.approx(0.24, abs=0.01)


def test_a_hint_meets_the_usual_slips():
    assert "plug-in" in check("13.1", 0.64).text()
    assert "replacement" in check("13.2", lambda n, c, k: 1 - (1 - c / n) ** k).text()
    assert "Eight samples" in check("13.2", lambda n, c, k: pass_at_k(n, c, min(k, n))).text()
    assert (
        "cap it"
        in check(
            "13.4",
            lambda a, b: (
                2 * paired_difference(a, b).p_value if sum(a) == 45 else paired_difference(a, b).p_value
            ),
        ).text()
    )


def test_the_comparison_has_three_columns(notebook):
    heads = [table[0] for table in tables(markdown_of(notebook))]
    wanted = ["PBRFT", "RLVR", "Agentic RL"]
    assert any(
        all(name in cell for name, cell in zip(wanted, head[1:], strict=False))
        for head in heads
        if len(head) == 4
    )


# --- what the page says about the record ------------------------------------------------------------------------------


def test_twelve_teams(ns, prose):
    few, all_of_them = ns["teams"](20)["accuracy"], ns["teams"](60)
    assert (min(few), max(few)) == (10, 35)
    assert "the luckiest team reports 35 % and the unluckiest 10 %" in prose
    assert round(all_of_them["apart"]) == 8
    assert "they are still 8 points apart" in prose


def test_the_plug_in_lags_behind(ns, prose):
    frame = ns["estimators"](8)
    assert [round(frame[name][7], 1) for name in ("counted", "plugged", "best")] == [33.3, 28.9, 37.3]
    assert max(ns["estimators"](4)["plugged"]) < 30
    assert round(frame["best"][15], 1) == 46.7
    assert "counting gives 33.3 % at *k* = 8 and the plug-in 28.9 %" in prose


def test_the_three_errors_that_are_read(ns):
    kinds = []
    for at in (28, 30, 24):
        problem, text = ns["wrong"][at]
        kinds.append(diagnose(text, problem["answer"], question=problem["question"]).kind)
    assert kinds == ["arithmetic", "set-up", "reading"]
    assert "20 + 19 = €29" in ns["wrong"][28][1]
    assert "27 - 9 = 24" in ns["wrong"][30][1]
    assert "8 - 5 = 3" in ns["wrong"][24][1]


def test_by_keyword_by_plain_recomputing_and_beside_the_solution(ns, prose):
    wrong, found = ns["wrong"], ns["found"]
    assert (len(ns["LAST"]), len(wrong)) == (480, 410)
    words = [ns["by_keyword"](text) for _, text in wrong]
    assert (words.count("arithmetic"), words.count("reading")) == (0, 390)
    assert [ns["by_recomputing"](text) for _, text in wrong].count("arithmetic") == 350
    assert round(100 * 350 / 410) == 85
    rows = {row.kind: row for row in tally(found)}
    assert sum(row.n for row in rows.values()) == 410
    assert round(10 * rows["set-up"].share) == 7
    mended = sum(row.fixed for row in rows.values())
    assert (mended, rows["arithmetic"].fixed) == (45, 45)
    assert [round(100 * n / 480, 1) for n in (70, 70 + mended)] == [14.6, 24.0]
    for sentence in ("390 misread questions", "350 of 410: 85 % arithmetic", "from 14.6 % to 24.0 %"):
        assert sentence in prose


def test_more_than_half_of_the_wrong_set_ups_begin_with_a_subtraction(ns, prose):
    plans = [one.detail for one in ns["found"] if one.kind == "set-up"]
    taken_away = [d for d in plans if re.match(r"-?[\d,.]+ ?- ?[\d,.]+ is no step of the solution", d)]
    assert (len(taken_away), len(plans)) == (154, 277)
    assert "154 of these 277 first go wrong in a subtraction" in prose


def test_completions_alone_call_far_more_arithmetic_than_a_calculator_mends(ns):
    alone = [
        classify_error(text, extract_ground_truth(problem["answer"]), question=problem["question"])
        for problem, text in ns["wrong"]
    ]
    rows = {row.kind: row for row in tally(alone)}
    assert (rows["arithmetic"].n, rows["arithmetic"].fixed) == (347, 45)


def test_the_solution_of_the_third_exercise_reports_what_it_finds(ns, prose):
    def saved(text, gold):
        answer = extract_answer(text)
        if answer is None or same_number(answer, gold):
            return False
        source = [step for step in recompute_steps(text) if same_number(step.stated, answer)]
        return bool(source) and same_number(source[-1].carried, gold)

    hits = sum(saved(text, extract_ground_truth(problem["answer"])) for problem, text in ns["wrong"])
    assert hits == 45
    assert "350 have a wrong step, and a calculator saves 45" in prose


def test_the_cliff(ns, prose):
    frame = ns["decay"]("40", "greedy")
    assert [round(15 * rate / 100) for rate in frame["rate"]] == [11, 2, 2, 0]
    assert frame["low"][0] > frame["high"][1], "one step and two: the intervals do not touch"
    assert frame["high"][3] > frame["rate"][2]
    assert [round(x) for x in frame["power"]] == [73, 54, 39, 29]
    assert "Eleven of 15 with one step, two of 15 with two" in prose
    sampled = ns["decay"]("40", "pass@1")
    assert all(abs(a - b) < 6 for a, b in zip(sampled["rate"], sampled["power"], strict=True))


def test_the_kinds_of_the_greedy_errors(ns, prose):
    def counts(judge, checkpoint):
        frame = ns["kinds"](judge, checkpoint)
        return dict(zip(frame["x"], frame["errors"], strict=True)), sum(frame["mended"]), frame["n"]

    kinds, mended, n = counts("beside the solution", "40")
    assert (kinds["set-up"], kinds["arithmetic"], mended, n) == (30, 11, 7, 45)
    assert counts("completion alone", "40")[0]["arithmetic"] == 34
    assert counts("keywords", "40")[0]["reading"] == 44
    kinds, _, n = counts("beside the solution", "0")
    assert (kinds["truncated"], n) == (51, 56)
    assert "44 misread questions, or 34 slips of arithmetic, or 30 wrong set-ups" in prose


def test_what_the_untrained_model_got_right_was_cut_off(ns, prose):
    run, greedy = ns["runs"][0], ns["greedy"][0]
    lucky = [i for i, flag in enumerate(greedy) if flag]
    assert len(lucky) == 4
    assert all(run["greedy"]["cut"][i] == "1" for i in lucky)
    assert [run["patient"]["answers"][i] for i in lucky[:2]] == ["48", "72"]
    assert sum(ns["patient"]) == 2
    judged = evaluate(run["greedy"]["texts"], ns["gold"], [cut == "1" for cut in run["greedy"]["cut"]])
    assert judged.correct == 0
    assert "4, then 2" in prose
    assert "counts 0 of 60" in prose


def test_the_luck_of_the_untrained_model_does_not_fall_with_the_steps(ns, prose):
    rates = ns["decay"]("0", "pass@1")["rate"]
    assert max(rates) <= 5
    assert rates[3] >= rates[0]
    readings = dict(zip(ns["RULERS"], ns["readings"](0), strict=True))
    assert readings["greedy, strict"] == 0 == readings["pass^8"]
    assert round(readings["pass@8"]) == 23
    after = dict(zip(ns["RULERS"], ns["readings"](40), strict=True))
    assert (round(after["greedy, hardened"]), round(after["pass@8"]), round(after["pass^8"])) == (25, 37, 2)
    assert ns["report"](8, "naive")["table"][0]["pass@k"] == "25.0"
    assert "between 0 and 25 %" in prose
    before = dict(zip(ns["RULERS"], ns["readings"](0), strict=True))
    gains = {name: after[name] - before[name] for name in after}
    assert max(gains, key=gains.get) == "greedy, strict"
    assert min(gains, key=gains.get) == "pass^8"
    assert f"by {gains['greedy, strict']:.0f} points; pass^8 least, by {gains['pass^8']:.1f}" in prose


def test_the_training_helped_beyond_luck(ns, prose):
    change = ns["change"]
    assert (change.gained, change.lost) == (13, 2)
    assert change.p_value < 0.01
    assert "Thirteen problems gained, two lost" in prose


def test_nothing_is_forgotten_at_the_pages_rate_and_the_manner_changes(ns, prose):
    states = ns["PAGE"]
    assert [state["right"] for state in states] == [33, 33, 32]
    change = paired_difference(states[0]["flags"], states[2]["flags"])
    assert (change.gained, change.lost, change.p_value) == (3, 4, 1.0)
    before, after = (ns["mean_length"](states[i]) for i in (0, 2))
    assert 1.7 < before / after < 2.1
    assert [state["drifted"] for state in states] == [0, 0, 2]
    lost = " ".join(
        text
        for text, was, is_now in zip(states[2]["texts"], states[0]["flags"], states[2]["flags"], strict=True)
        if was and not is_now
    )
    assert "Castilla" in lost
    assert "Saint Petersburg" in lost
    drifts = [
        item.prompt for item, text in zip(REGRESSION_SET, states[2]["texts"], strict=True) if "Final" in text
    ]
    assert drifts == ["Is fire cold? Answer yes or no.", "Is milk a drink? Answer yes or no."]
    assert "33 of 40 before, 33 after 20 updates, 32 after 40" in prose


def test_how_many_questions_it_takes_to_see_five_points(prose):
    p = {n: paired_difference([1] * n, [0] * (n // 20) + [1] * (n - n // 20)).p_value for n in (40, 80, 120)}
    assert p == pytest.approx({40: 0.5, 80: 0.125, 120: 0.03125})
    assert "with 120 they are six" in prose


def test_the_table_of_the_checkpoints(ns, prose):
    table = {row["updates"]: row for row in ns["report"](8, "hardened")["table"]}
    assert [table[c]["format"] for c in ("0", "20", "40")] == ["0", "85", "96"]
    assert [round(float(table[c]["greedy"])) for c in ("0", "20", "40")] == [7, 12, 25]
    assert [table[c]["pass@1"] for c in ("20", "40")] == ["7.1", "15.5"]
    assert [table[c]["pass@k"] for c in ("20", "40")] == ["35.0", "37.3"]
    assert (table["40"]["maj@k"], table["40"]["pass^k"]) == ("23.3", "2.4")
    by_reader = [ns["report"](8, how)["table"][1]["pass@k"] for how in ("strict", "hardened", "naive")]
    assert by_reader == ["30.0", "35.0", "36.7"]
    untrained = [ns["report"](8, how)["table"][0]["greedy"] for how in ("strict", "hardened")]
    assert untrained == ["0.0", "6.7"]
    signals = [ns["signal"](ns["SAMPLED"][c]) for c in (0, 20, 40)]
    assert [round(s, 2) for s in signals] == [0.23, 0.35, 0.35]
    for sentence in (
        "from 0 to 85 to 96 %",
        "30.0, 35.0 or 36.7 %",
        "a third of all groups would say something",
    ):
        assert sentence in prose
