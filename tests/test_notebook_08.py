"""Chapter 8 says nothing that its own cells do not show."""

from __future__ import annotations

import re
import runpy
from statistics import median

import pytest

from rl_lab.check import check
from rl_lab.grpo import grpo_advantages
from rl_lab.shaping import break_even, milestone_rewards, shape
from tests.notebooks import ROOT, read, tags
from tests.tables import markdown_of, tables

PATH = ROOT / "notebooks" / "08_sparse_dense_hybrid.ipynb"


@pytest.fixture(scope="module")
def notebook():
    return read(PATH)


@pytest.fixture(scope="module")
def prose(notebook) -> str:
    """All Markdown of the notebook on one line."""
    return re.sub(r"[\s>]+", " ", markdown_of(notebook))


@pytest.fixture(scope="module")
def ns(notebook, tmp_path_factory) -> dict:
    """Names that the notebook's cells define, exercises left out."""
    cells = [c.source for c in notebook.cells if c.cell_type == "code" and "exercise" not in tags(c)]
    script = tmp_path_factory.mktemp("chapter") / "chapter_08.py"
    script.write_text("\n\n".join(cells), encoding="utf-8")
    return runpy.run_path(str(script))


# --- one job, three ways to pay -----------------------------------------------------------------------------------


def test_the_shop_charges_too_much(ns, prose):
    assert (ns["charged"], ns["right"]) == (56.25, 55.0)
    assert "the shop still charges 56.25" in prose
    assert 80 * 0.75 == 60, "the patch of the episode forgets the coupon"


def test_the_failed_repair_is_paid_as_stated(ns, prose):
    totals = [sum(turn.get("reward", 0) for turn in ns["paid"](w)) for w in ns["PAY"].values()]
    assert totals == pytest.approx([0, 0.75, 0.4])
    assert "0, 0.75 and 0.4, for the same episode" in prose
    assert all(sum(weights) == pytest.approx(1) for weights in ns["PAY"].values())
    assert ns["PAY"]["hybrid"] == [0.1, 0.1, 0.2, 0.6]


def test_the_table_states_the_weights_that_the_cells_use(notebook):
    (table,) = [t for t in tables(markdown_of(notebook)) if t[0][1:] == ["sparse", "dense", "hybrid"]]
    row = next(row for row in table if row[0] == "**here**")
    assert row[1:] == [
        "1 when the tests pass",
        "0.25 for each stage",
        "0.1, 0.1, 0.2, and 0.6 when the tests pass",
    ]


# --- the agent that stops -----------------------------------------------------------------------------------------


def test_who_goes_on_at_0_3(ns, prose):
    worth = {name: ns["worth"](weights) for name, weights in ns["PAY"].items()}
    assert [w["finish"] > w["stop"] for w in worth.values()] == [True, False, True]
    assert (worth["dense"]["finish"], worth["dense"]["stop"]) == pytest.approx((0.725, 0.75))
    assert "0.725 against 0.75" in prose


def test_the_flips_of_the_three_and_the_hardened_form(ns, prose):
    flips = {name: break_even(weights, 0.1) for name, weights in ns["PAY"].items()}
    assert flips == pytest.approx({"sparse": 0.1, "dense": 0.4, "hybrid": 1 / 6})
    for name, weights in ns["PAY"].items():
        worth = ns["worth"](weights, p=flips[name])
        assert worth["stop"] == pytest.approx(worth["finish"])
    assert "more than one time in ten, dense pay only those above 0.4" in prose


def test_only_the_last_weight_and_the_effort_move_the_crossing(ns):
    choice = ns["choice"]
    start = choice()["flip"][0]
    for moved in ({"w1": 0.3}, {"w2": 0.0}, {"w3": 0.0}):
        assert choice(**moved)["flip"][0] == start
    assert choice(w4=1.0)["flip"][0] < start < choice(w4=0.25)["flip"][0]
    assert choice(effort=0.0)["flip"][0] == 0
    assert choice(w4=0.25, w1=0.3, forfeits=True)["at"] == "0.824"  # (0.6 + 0.1) / (0.6 + 0.25)
    assert choice(w4=0.1, effort=0.1)["at"] == "1.000"


def test_forfeited_milestones_are_the_bait(ns, prose):
    assert ns["choice"](forfeits=True)["flip"][0] == pytest.approx(0.5)
    assert ns["choice"](forfeits=True, w3=0.0)["flip"][0] < 0.5
    assert "0.5 under hybrid pay in place of 0.167" in prose


def test_more_milestones_out_of_one_budget(prose):
    flips = {n: round(break_even([*[0.1] * n, round(1 - 0.1 * n, 9)], 0.1), 3) for n in (0, 3, 6, 8, 9)}
    assert flips == {0: 0.1, 3: 0.143, 6: 0.25, 8: 0.5, 9: 1.0}
    assert (
        "agents stop below 0.143; with eight, every agent stops that fails more than half of the time"
        in prose
    )


# --- let it learn -------------------------------------------------------------------------------------------------


def test_reward_goes_up_and_repaired_bugs_go_down(ns, prose):
    run, mean = ns["run"], ns["mean"]
    stated = {k: [round(mean(k, part), 2) for part in (run[:10], run[-10:])] for k in ("reward", "fixed")}
    assert stated == {"reward": [0.65, 0.74], "fixed": [0.22, 0.01]}
    assert "climbs from 0.65 to 0.74, while the bugs that get fixed go from 22 in a hundred to one" in prose
    curve = ns["curves"]("dense", 0.3)
    at = dict(zip(curve["x"], curve["reward"], strict=True))
    assert max(curve["reward"]) - at[35] < 0.04, "flat after forty steps"
    fixed = dict(zip(curve["x"], curve["fixed"], strict=True))
    assert fixed[65] > 0.2 > 0.16 > fixed[75]


@pytest.mark.parametrize("seed", range(1, 4))
def test_it_is_so_on_other_seeds(ns, seed):
    run, mean = ns["train"](ns["PAY"]["dense"], ns["WARM"], seed, steps=200), ns["mean"]
    assert mean("reward", run[-10:]) > mean("reward", run[:10]) + 0.05
    assert mean("fixed", run[:10]) > 0.15
    assert mean("fixed", run[-10:]) < 0.05


@pytest.mark.parametrize(("pay", "p"), [("hybrid", 0.3), ("sparse", 0.3), ("dense", 0.5)])
def test_above_the_flip_both_curves_rise(ns, pay, p):
    curve = ns["curves"](pay, p)
    for key in ("reward", "fixed"):
        assert sum(curve[key][-5:]) / 5 > sum(curve[key][:2]) / 2 + 0.01
    assert curve["patch"] > 95


def test_an_episode_pays_what_it_should(ns):
    class Script:  # a stand-in for the dice: right choices, then a patch that passes or fails
        def __init__(self, roll):
            self.roll = roll

        def choices(self, values, weights):
            return [values[0]]

        def random(self):
            return self.roll

    weights, policy = ns["PAY"]["hybrid"], ns["SCRATCH"]
    assert ns["episode"](policy, weights, Script(0.1))[1:] == (pytest.approx(0.9), True)
    assert ns["episode"](policy, weights, Script(0.9))[1:] == (pytest.approx(0.3), False)
    assert ns["episode"](policy, weights, Script(0.9), gate=True)[1:] == (pytest.approx(0.4), False)
    assert ns["episode"](policy, weights, Script(0.1), gate=True)[1:] == (pytest.approx(0.9), True)


# --- what sparse costs --------------------------------------------------------------------------------------------


def test_two_groups_in_a_hundred_hold_a_success(ns, prose):
    assert round(100 * (1 - (1 - ns["once"]) ** 8)) == 2
    assert "In two. The other 98 groups" in prose


def test_silent_groups(ns, prose):
    loud = ns["loud"]
    assert f"{loud()['four, sparse']:.1f} % of the groups against {loud()['four, dense']:.1f} %" in prose
    assert f"{loud()['four, sparse']:.1f}" == "3.1"
    assert round(loud(G=64)["four, sparse"]) == 22
    assert min(loud(q=0.9)["four, sparse"], loud(q=0.9)["four, dense"]) > 96
    assert all(s <= d + 1e-12 for s, d in zip(loud()["sparse"], loud()["dense"], strict=True))


def test_the_race_is_won_as_stated(ns, prose):
    rows = {row["pay"]: row for row in ns["results"]()["table"]}
    steps = {name: row["steps"] for name, row in rows.items()}
    assert steps == {"sparse": 119, "dense": 15, "hybrid": 23, "dense, then sparse": 15}
    assert "after 15 steps against 23 for hybrid and 119 for sparse" in prose
    assert rows["dense"]["fixed"] < 0.03
    assert all(rows[name]["fixed"] > 0.27 for name in ("sparse", "hybrid", "dense, then sparse"))


def test_the_order_is_the_same_on_eight_seeds(ns):
    runs = {
        name: [ns["from_scratch"](name, seed) for seed in range(8)] for name in ("sparse", "dense", "hybrid")
    }
    steps = {name: [ns["half_way"](run) for run in rs] for name, rs in runs.items()}
    for dense, hybrid, sparse in zip(steps["dense"], steps["hybrid"], steps["sparse"], strict=True):
        assert dense < hybrid < sparse
    assert median(ns["chance"](run[-1]["policy"], 4) for run in runs["dense"]) < 0.02
    assert min(ns["chance"](run[-1]["policy"], 4) for run in runs["hybrid"] + runs["sparse"]) > 0.25


# --- the standard deviation ---------------------------------------------------------------------------------------


def test_the_lone_patch(prose):
    for std, stated in ((False, (0.44, -0.09)), (True, (2.47, -2.47))):
        lone = [round(grpo_advantages([0.4] * 7 + [r], std)[-1], 2) for r in (0.9, 0.3)]
        assert lone == list(stated)
    assert "+0.44 against −0.09" in prose
    assert "+2.47 against −2.47" in prose


def test_the_enumerated_push_agrees_with_sampling(ns):
    import random

    rng, q, p, total = random.Random(0), 0.3, 0.4, 0.0
    for _ in range(4000):
        patch = [rng.random() < q for _ in range(8)]
        rewards = [(0.6 * (rng.random() < p) - 0.1) if x else 0.0 for x in patch]
        total += sum(A * (x - q) for A, x in zip(grpo_advantages(rewards), patch, strict=True)) / 8
    assert total / 4000 == pytest.approx(ns["push"](q, p, 0.6, 0.1, False, True), abs=0.01)


def test_mean_only_breaks_even_where_it_was_derived(ns):
    for name, weights in ns["PAY"].items():
        assert ns["sides"](name)["plain"] == pytest.approx([0.1 / weights[3]] * 12, abs=1e-4)


def test_with_the_std_rare_patches_need_a_chance_of_nearly_one_half(ns, prose):
    sides = ns["sides"]
    assert sides()["scaled"][0] > 0.48
    assert 0.28 < sides()["scaled"][-1] < 0.29
    assert f"{sides(effort=0.001)['few, scaled']:.3f}" == "0.378"
    assert "break-even is still at 0.378" in prose
    assert sides("sparse", 0.001)["scaled"] == pytest.approx(sides("hybrid", 0.001)["scaled"], abs=2e-3)
    assert sides("sparse")["scaled"] == pytest.approx(sides("hybrid")["scaled"], abs=0.03)
    assert min(s["few, scaled"] for s in map(sides, ns["PAY"])) > 0.3


def test_with_a_gate_a_success_stands_out_at_any_chance(ns):
    for name in ns["PAY"]:
        out = ns["sides"](name, gate=True)
        assert set(out["plain"]) == set(out["scaled"]) == {0.0}


def test_above_one_half_all_three_ways_encourage_the_patch(ns):
    for weights in ns["PAY"].values():
        assert all(ns["push"](q, 0.51, weights[3], 0.1, False, True) > 0 for q in ns["PATCHERS"])


def test_the_bars_of_who_still_fixes_bugs(ns, prose):
    bars = ns["who_patches"]()
    assert bars["x"] == ["sparse", "dense", "hybrid"]
    assert bars["mean only"] == [5, 0, 5]
    assert bars["std on"] == [0, 0, 1]
    assert bars["std on, effort gated"] == [5, 5, 5]
    assert "Hybrid pay is a matter of luck, one seed in five" in prose


# --- loops and potentials -----------------------------------------------------------------------------------------


def test_the_bonus_is_farmed(ns, prose):
    plan, bonus = ns["plan"], ns["bonus"]
    assert plan == {"start": "open the file", "file": "diagnose", "diagnosis": "patch"}
    assert ns["solve"](ns["SHOP"], extra=bonus)[0]["file"] == "close the file"
    assert ns["V"]["start"] == pytest.approx(0.635, abs=5e-4)
    assert round(0.2 / 0.19, 2) == 1.05
    assert ns["solve"](ns["SHOP"], extra=bonus)[1]["start"] == pytest.approx(0.2 / 0.19, abs=1e-5)
    assert "0.2 / 0.19 = 1.05" in prose
    assert "0.2 + 0.635 = 0.835" in prose


@pytest.mark.parametrize(("gamma", "flip"), [(0.9, 0.149), (0.99, 0.019)])
def test_the_flip_of_the_bonus_is_where_the_page_puts_it(ns, prose, gamma, flip):
    assert ns["farm"](0.2, gamma)["flip"] == f"{flip:.3f}"
    exact = float(ns["farm"](0.2, gamma)["flip"])
    for b, best in ((exact - 0.002, "diagnose"), (exact + 0.002, "close the file")):
        assert ns["farm_or_fix"](b, gamma, False)[0]["file"] == best
    assert "a bonus of up to 0.149 leaves the plan alone; at 0.99 already 0.02 is too much" in prose


def test_a_bonus_that_is_taken_back_is_never_farmed(ns):
    for b in (0.1, 0.3, 3.0):
        for gamma in (0.8, 0.9, 0.99):
            out = ns["farm"](b, gamma, True)
            assert out["fixed"] == out["honest"]
            assert out["flip"] == "never"
    assert ns["farm"](0.2)["fixed"] == [0.0] * 31
    assert ns["farm"](0.1)["fixed"][-1] > 0.99


def test_a_round_is_worth_nothing(ns, prose):
    assert (ns["up"], ns["down"]) == pytest.approx((0.18, -0.2))
    assert ns["up"] + 0.9 * ns["down"] == pytest.approx(0)
    assert "Opening earns 0.18, closing costs 0.2" in prose


def test_two_hundred_potentials(ns, prose):
    forms = [
        lambda phi, s, t: 0.9 * phi[t] - phi[s],
        lambda phi, s, t: phi[t] - phi[s],
        lambda phi, s, t: 0.0 if t == "end" else 0.9 * phi[t] - phi[s],
        lambda phi, s, t: phi[t],
    ]
    assert [ns["moved"](form) for form in forms] == [0, 106, 75, 193]
    assert "0, 106, 75 and 193 of 200" in prose
    assert ns["moved"](forms[0], seed=1) == 0


# --- in GRPO ------------------------------------------------------------------------------------------------------


def test_shaping_cancels_in_the_group_and_hybrid_pay_does_not(ns):
    totals = {name: [sum(rewards) for rewards in ns[name]] for name in ("outcome", "hybrid", "shaped")}
    for convention in (False, True):
        outcome, hybrid, shaped = (grpo_advantages(totals[n], convention) for n in totals)
        assert shaped == pytest.approx(outcome)
        assert hybrid != pytest.approx(outcome)
    outcome, hybrid = grpo_advantages(totals["outcome"], False), grpo_advantages(totals["hybrid"], False)
    assert outcome[1] == outcome[2] == outcome[3]
    assert hybrid[1] == hybrid[2] > hybrid[3]


def test_hybrid_pay_is_the_outcome_plus_a_potential_that_is_not_taken_back(ns):
    for hybrid, shaped in zip(ns["hybrid"], ns["shaped"], strict=True):
        assert hybrid[:-1] == pytest.approx(shaped[:-1])
        assert hybrid[-1] == pytest.approx(shaped[-1] + ns["PHI"][len(hybrid) - 1])
    assert milestone_rewards(
        ns["STAGES"], dict(zip(ns["STAGES"], ns["PAY"]["hybrid"], strict=True))
    ) == pytest.approx(ns["hybrid"][0])


def test_shaping_is_a_baseline(ns):
    difference = [a - b for a, b in zip(ns["to_go"], ns["shaped_to_go"], strict=True)]
    assert difference == pytest.approx(ns["PHI"])


def test_the_head_start_of_q_learning(ns, prose):
    out = ns["head_start"]()
    assert max(out["shaped"]) <= 78
    assert min(out["plain"]) >= 230
    assert min(out["shaped"]) >= 50
    assert "Never more than 78 steps with shaping, never fewer than 230 without; 50 is the least" in prose


# --- exercises ----------------------------------------------------------------------------------------------------


def test_numbers_in_the_solutions(prose):
    assert break_even([0.3, 0.3, 0.3, 0.1], 0.04) == pytest.approx(0.4)
    assert f"{break_even([0.1, 0.15, 0.2, 0.55], 0.15):.3f}" == "0.273"
    assert break_even([0.1, 0.2, 0.2, 0.5], 0.15) == pytest.approx(0.3), "not below 0.3: one step too far"
    assert shape([0, 0, 1], [0, 0.5, 0.75]) == [0.5, 0.25, 0.25]
    assert (round(1 - 4 * 0.02, 2), round(0.4 - 3 * 0.02, 2)) == (0.92, 0.34)
    assert "0.92 after its four events; the best episode without one nets 0.34" in prose


VALUE = {"repository": 0.1, "file": 0.1, "diagnosis": 0.2, "patch passes": 0.6}


def ledger(value):
    return lambda events: sum(value.get(event, 0.0) for event in set(events))


@pytest.mark.parametrize(
    ("pay", "finding"),
    [
        (lambda events: sum(VALUE.get(e, 0.0) for e in events), "what is repeated must not be paid"),
        (ledger(VALUE | {"claim": 0.05}), "saying is cheaper than doing"),
        (ledger(VALUE | {"close": 0.05}), "what it adds must not be paid"),
        (ledger(VALUE | {"patch fails": 0.3}), "what it adds must not be paid"),
        (ledger(VALUE | {"file": 0.0}), "Each milestone must be worth something"),
        (ledger(VALUE | {"diagnosis": 0.5, "patch passes": 0.3}), "Leave more on the outcome"),
        (ledger(VALUE | {"patch passes": 2.0}), "the whole job no more than 1"),
        (lambda events: 1.0, "the whole job no more than 1"),
        (lambda events: None, "Return the reward"),
        (lambda events: float("nan"), "Return the reward"),
        (lambda events: events[0], "IndexError"),
    ],
    ids=[
        "farmed",
        "claimed",
        "closed",
        "failed",
        "gap",
        "stops",
        "too much",
        "constant",
        "none",
        "nan",
        "crash",
    ],
)
def test_the_attack_finds_what_is_wrong_with_a_pay(pay, finding):
    result = check("08.4", pay)
    assert not result.passed
    assert finding in result.text()


@pytest.mark.parametrize(
    ("mine", "finding"),
    [
        (lambda r, p, g: [x + b - a for x, a, b in zip(r, p, [*p[1:], 0], strict=False)], "gamma inside"),
        (
            lambda r, p, g: [x + g * b - a for x, a, b in zip(r, p, [*p[1:], *p[-1:]], strict=False)],
            "the end has potential 0",
        ),
        (
            lambda r, p, g: [x + g * b - a for x, a, b in zip(r, p, [*p[1:], 0], strict=False)][::-1],
            "gamma times the next",
        ),
        (lambda r, p, g: r, "as they were"),
        (lambda r, p, g: "no list", "gamma times the next"),
        (lambda r, p, g: [r[0], *r[1:]], "as they were"),
    ],
)
def test_wrong_shapings_are_told_why(mine, finding):
    result = check("08.3", mine)
    assert not result.passed
    assert re.search(finding, result.text())


@pytest.mark.parametrize(
    ("weights", "finding"),
    [
        ([0.2, 0.2, 0.1, 0.5], "must be better, not just as good"),
        ([0.1, 0.1, 0.2, 0.6], "take it down to the next step"),
        ([0.0, 0.2, 0.25, 0.55], "gives no signal"),
        ([0.1, 0.1, 0.28, 0.52], "steps of 0.05"),
        ([0.1, 0.1, 0.1, 0.55], "share a budget of 1"),
        (0.55, "four numbers"),
    ],
)
def test_wrong_weights_are_told_why(weights, finding):
    text = check("08.2", weights).text()
    assert "not solved yet" in text
    assert finding in text


def test_other_good_answers_pass():
    assert check("08.2", (0.05, 0.05, 0.35, 0.55)).passed
    assert check("08.4", ledger(VALUE | {"repository": 0.05, "file": 0.15})).passed
    assert check("08.4", lambda events: sum(milestone_rewards(events, VALUE))).passed


def test_the_three_columns_are_there(notebook):
    header = next(t for t in tables(markdown_of(notebook)) if "where pay can come" in [row[0] for row in t])[
        0
    ]
    assert [cell.split("]")[0].strip("[") for cell in header[1:3]] == ["PBRFT", "RLVR"]
    assert header[3] == "Agentic RL"


def test_trl_divides_by_the_std_and_logs_each_reward_function():
    """Read as text: importing TRL takes long, and the lines stand there."""
    from importlib.util import find_spec

    trl = find_spec("trl")
    if trl is None:
        pytest.skip("TRL is not installed")
    folder = ROOT / next(iter(trl.submodule_search_locations)) / "trainer"
    config = (folder / "grpo_config.py").read_text(encoding="utf-8")
    assert re.search(r'scale_rewards: str = field\(\s*default="group"', config)
    assert '"none"' in config
    assert 'f"rewards/{reward_func_name}/mean"' in (folder / "grpo_trainer.py").read_text(encoding="utf-8")
