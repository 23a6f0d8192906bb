"""Chapter 5 says nothing that its own cells do not show."""

from __future__ import annotations

import re
import runpy

import pytest

from rl_lab.capabilities import NAMES, make, mean_return, play, policies
from rl_lab.check import check
from tests.notebooks import ROOT, exercises_of, read, tags
from tests.tables import markdown_of, tables

PATH = ROOT / "notebooks" / "05_six_capabilities.ipynb"


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
    script = tmp_path_factory.mktemp("chapter") / "chapter_05.py"
    script.write_text("\n\n".join(cells), encoding="utf-8")
    return runpy.run_path(str(script))


def code_with(notebook, text: str) -> str:
    return next(c.source for c in notebook.cells if c.cell_type == "code" and text in c.source)


# --- six worlds ---------------------------------------------------------------------------------------------------


def test_the_first_world_is_as_told(ns, prose):
    assert (ns["door"].gap, ns["door"].window) == (2, 1)
    assert "Two errands later" in prose
    assert "there are 90 codes" in prose
    assert round(100 / 90) == 1, "in about one of a hundred"


def test_the_bars_stand_as_their_description_says(ns, notebook):
    shown = ns["gap"](300)
    assert [round(m, 2) for m in shown["without it"]] == [0.34, 0.77, 0.01, 0.35, 0.13, 0.30]
    assert [round(m, 2) for m in shown["with it"]] == [0.90, 0.95, 1, 1, 1, 1]
    alt = code_with(notebook, "def gap(")
    assert "reasoning 0.34, tool use 0.77, memory 0.01" in alt
    assert "With it: 0.90, 0.95, and 1.00 for the other four" in alt


def test_ten_episodes_leave_open_what_three_hundred_settle(prose):
    def overlapping(n):
        found = []
        for name in NAMES:
            bad, good = (mean_return(make(name), policies(name)[k], episodes=n) for k in ("bad", "good"))
            found += [name] if bad.high > good.low else []
        return found

    assert overlapping(10) == ["reasoning", "tool_use", "planning"]
    assert overlapping(300) == []
    assert "In reasoning, tool use and planning the two now overlap" in prose


@pytest.mark.parametrize(
    ("name", "seed", "settings"),
    [
        ("memory", 4, {"gap": 2}),
        ("reasoning", 4, {}),
        ("perception", 2, {}),
        ("tool_use", 4, {}),
        ("planning", 3, {}),
        ("self_improvement", 4, {}),
    ],
)
def test_each_viewer_shows_one_that_succeeds_and_one_that_does_not(notebook, name, seed, settings):
    with_it, without = (play(make(name, **settings), policies(name)[k], seed=seed) for k in ("good", "bad"))
    assert with_it.success
    assert not without.success
    assert f'side_by_side("{name}"' in code_with(notebook, f'side_by_side("{name}"')


def test_the_viewers_show_what_is_described(notebook, prose):
    assert play(make("memory", gap=2), policies("memory")["good"], seed=4).actions[0] == ("note", "40")
    assert "writes 40 on the pad" in code_with(notebook, 'side_by_side("memory"')
    planned = play(make("planning"), policies("planning")["good"], seed=3)
    assert any("is closed" in o for o in planned.observations)
    assert "Stranded" in play(make("planning"), policies("planning")["bad"], seed=3).observations[-1]
    task = play(make("self_improvement"), policies("self_improvement")["good"], seed=4)
    assert "200 yuan" in task.observations[0]
    assert "pay 118 yuan" in task.observations[0]
    assert len(task.actions) == 2
    assert "An item of 200 yuan: which percentage makes the customer pay 118?" in prose


# --- one section each ---------------------------------------------------------------------------------------------


def test_told_and_good_at_it(ns, prose):
    assert round(ns["chain"](0.05)["ten"], 2) == 0.60
    assert "60 %. The prompt took it" in prose
    assert ns["chain"](0.0)["told to write"] == [1.0] * 12
    rows = ns["chain"](0.05)
    assert (round(rows["at once"][9], 2), round(rows["a tenth of the slips"][9], 2)) == (0.11, 0.95)
    assert "slips in one line of twenty" in prose


def test_the_ladder_of_reading(ns):
    means = [sum(rows) / 300 for rows in ns["SCORES"]["perception"].values()]
    assert (means[0], round(means[1], 1), means[2]) == (0, 0.3, 1)
    result = mean_return(make("perception"), policies("perception")["bad"])
    assert result.low < 1 / 3 < result.high


def test_the_price_of_a_call(ns, notebook):
    for cost in (0.0, 0.05, 0.1, 0.2, 0.4):
        for hard in (0.0, 0.25, 0.5, 0.75, 1.0):
            out = ns["calls"](cost, hard)
            better = [n - a for n, a in zip(out["when needed"], out["always"], strict=True)]
            assert min(better) >= 0
            assert (max(better) < 1e-12) == (cost == 0 or hard == 1), "equal only there"
    assert ns["calls"]()["pays"] == 0.016
    assert "at a slip of 0.016" in code_with(notebook, "What is a calculator worth?")
    out = ns["calls"]()
    assert (out["always"][0], out["when needed"][0], out["in its head"][0]) == (0.9, 0.95, 1.0)


def test_the_exact_head_is_the_one_that_plays(ns):
    exact = 0.5 + 0.5 * ns["known"](0.1)
    result = mean_return(make("tool_use"), policies("tool_use")["bad"])
    assert result.low < exact < result.high


def test_the_window(ns, prose):
    assert ns["at_the_door"](8)["safe"] == 6
    assert "Six: the code, the errands and the door must all fit" in prose
    assert [round(sum(r) / 300, 2) for r in ns["SCORES"]["memory"].values()] == [0.01, 0.01, 1.0]


def test_looking_ahead(ns, prose, notebook):
    bars = [round(m, 2) for m in ns["foresight"](0.5)["arrives"]]
    assert bars == [0.35, 0.81, 0.94, 1.0]
    assert "Two: 0.81. Three: 0.94" in code_with(notebook, "def foresight")
    assert "Three roads of four" in prose
    assert "it arrives in 35 of 100; and without closed roads in none" in prose
    assert ns["foresight"](0.0)["arrives"][0] == 0
    assert ns["foresight"](1.0)["arrives"][0] > 0.6


def test_feedback(ns, prose):
    assert ns["attempts"](20)["three"] == "0.05, 0.15, 0.35, 1.00"
    assert "0.05, 0.15, 0.35, 1." in prose
    assert ns["attempts"](20)["uses the direction"].index(1) + 1 == 5


# --- learning -----------------------------------------------------------------------------------------------------


def test_the_return_rises_in_all_six_worlds_on_five_seeds(ns):
    for world in NAMES:
        for seed in range(5):
            first, *_, last = [ns["worth"](world, shares) for shares in ns["learn"](world, seed)]
            assert last > first + 0.12
            assert last > 0.85


def test_tool_use_is_learned_slowest_because_its_habits_differ_least(ns, prose):
    half = {w: next(i for i, b in enumerate(ns["training"](w)["best habit"]) if b > 0.5) for w in ns["SHOWN"]}
    assert half.pop("tool use") == 23
    assert max(half.values()) == 9
    assert "after 9 rounds or fewer. Tool use takes 23, and is still at 94 %" in prose
    assert round(100 * ns["training"]("tool use")["best habit"][-1]) == 94
    lead = {}
    for world in NAMES:
        *_, second, best = sorted(sum(rows) / 300 for rows in ns["SCORES"][world].values())
        lead[world] = best - second
    assert lead.pop("tool_use") == pytest.approx(0.05, abs=0.005)
    assert min(lead.values()) == pytest.approx(0.19, abs=0.005)
    assert "always calling earns 0.90 and calling when needed 0.95" in prose


def test_with_free_calls_nothing_tells_the_two_habits_apart():
    env = make("tool_use", cost=0.0)
    from rl_lab.capabilities import habits

    means = [
        mean_return(env, habits("tool_use")[h], episodes=60).mean
        for h in ("always the tool", "tool when needed")
    ]
    assert means == [1.0, 1.0]


# --- one text -----------------------------------------------------------------------------------------------------


def test_what_one_text_loses(ns, prose, notebook):
    texts = {name: round(mean, 2) for name, mean in ns["TEXTS"].items()}
    assert texts == {
        "reasoning": 0.90,
        "tool_use": 0.77,
        "memory": 1.0,
        "planning": 0.5,
        "self_improvement": 0.13,
        "perception": 1.0,
    }
    best = dict(zip(NAMES, ns["BEST"], strict=True))
    assert [n for n in NAMES if best[n] == ns["TEXTS"][n]] == ["reasoning", "memory", "perception"]
    assert "one text has 0.77 against 0.95, in planning 0.50" in re.sub(
        r'"\s+"', "", code_with(notebook, "BEST =")
    )
    assert "And memory: 1.00!" in prose


def test_three_columns_where_paradigms_are_compared(notebook):
    (table,) = [t for t in tables(markdown_of(notebook)) if t[0][1:] == ["PBRFT", "RLVR", "Agentic RL"]]
    assert [row[0].strip("*") for row in table[1:]] == ns_names(table)
    yes = {row[0].strip("*"): "**yes**" in row[2] for row in table[1:]}
    assert [name for name, can in yes.items() if can] == ["reasoning", "perception"]


def ns_names(table) -> list[str]:
    order = ["reasoning", "perception", "tool use", "memory", "planning", "self-improvement"]
    assert len(table) == 7
    return order


def test_the_table_of_cheap_remedies_holds_measured_numbers(ns, notebook):
    (table,) = [t for t in tables(markdown_of(notebook)) if "the cheap remedy" in t[0]]
    measured = {row[0]: row[2] for row in table[1:]}
    mean = {world: {h: sum(r) / 300 for h, r in rows.items()} for world, rows in ns["SCORES"].items()}
    assert measured["reasoning"].startswith(
        f"{mean['reasoning']['all at once']:.2f} → {mean['reasoning']['step by step']:.2f}"
    )
    assert measured["tool use"] == (
        f"{mean['tool_use']['in its head']:.2f} → {mean['tool_use']['always the tool']:.2f}"
    )
    assert mean["perception"]["row and column"] == mean["planning"]["all the way"] == 1
    assert mean_return(make("self_improvement", attempts=2), policies("self_improvement")["good"]).mean == 1


def test_every_claim_from_outside_has_its_source(prose):
    for paper in (
        "2509.02547",
        "2205.11916",
        "2501.12948",
        "2503.01785",
        "2503.23383",
        "2507.02259",
        "2305.15771",
        "2310.01798",
        "2409.12917",
    ):
        assert f"https://arxiv.org/abs/{paper}" in prose


# --- exercises ----------------------------------------------------------------------------------------------------


def solution(number: str, name: str):
    """What the folded solution of an exercise defines."""
    found = next(e for e in exercises_of(read(PATH)) if e.number == number)
    imports = [line for line in found.starter.splitlines() if line.startswith(("import", "from"))]
    names: dict = {}
    exec(compile("\n".join([*imports, found.solution]), number, "exec"), names)
    return names[name]


@pytest.mark.parametrize(
    ("number", "name"), [("05.1", "enough"), ("05.2", "keeper"), ("05.3", "pay"), ("05.4", "remedies")]
)
def test_the_solutions_pass(number, name):
    result = check(number, solution(number, name))
    assert result.passed, result.text()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (None, "list of three"),
        ([10, 5, 2], "comes last, of 20"),
        ([20, 4, 2], "there are 20 coupons"),
        ([20, 10, 2], "half of those that are left"),
        ([20, 5, 1], "The first attempt is a guess"),
    ],
)
def test_a_wrong_prediction_is_answered(wrong, why):
    assert why in check("05.1", wrong).finding.why


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (None, "a function"),
        (lambda seen, rng: ("go", ""), "step limit"),
        (
            lambda seen, rng: ("enter", "47") if "door asks" in seen[-1] else ("go", ""),
            "What is not on the pad",
        ),
        (lambda seen, rng: 1 / 0, "takes (seen, rng)"),
    ],
)
def test_a_policy_that_forgets_is_told_why(policy, why):
    result = check("05.2", policy)
    assert not result.passed
    assert why in result.text()


def test_the_keeper_is_asked_in_as_many_episodes_as_stated(prose):
    assert check("05.2", solution("05.2", "keeper")).asked == 23
    assert "in 23 of 23 episodes, with up to 40 errands" in prose


def test_the_pay_for_reading_is_worth_what_the_solution_says(prose):
    pay = solution("05.3", "pay")
    table = {"a": {"x": 1, "y": 2, "z": 3}, "b": {"x": 4, "y": 5, "z": 6}}
    assert sum(pay(str(n), table, "a", "y") for n in (1, 2, 3)) / 3 == 0.5
    assert "now earns 0.5 on average" in prose


@pytest.mark.parametrize(
    ("pay", "why"),
    [
        (
            lambda answer, table, row, column: float(answer == str(table[row][column])),
            "It is the same number",
        ),
        (lambda answer, table, row, column: 1.0, "half of the reading was right"),
        (lambda answer, table, row, column: None, "as a number"),
        (None, "Fill in the starter cell"),
    ],
)
def test_a_pay_that_can_be_had_cheaply_is_refused(pay, why):
    result = check("05.3", pay)
    assert not result.passed
    assert why in result.text()


def test_whoever_lists_the_table_is_not_paid():
    good = solution("05.3", "pay")

    def generous(answer, table, row, column):
        return max((good(word, table, row, column) for word in answer.split()), default=0.0)

    assert "or 40" in check("05.3", generous).finding.called


def test_the_projects_are_two_of_each_and_a_misplaced_one_gets_its_reason():
    remedies = solution("05.4", "remedies")
    assert sorted(remedies.values()) == sorted(["no training", "RLVR", "Agentic RL"] * 2)
    for letter, wrong, why in (
        ("a", "RLVR", "could only cost"),
        ("b", "Agentic RL", "there is one step"),
        ("c", "RLVR", "nothing happens"),
        ("d", "Agentic RL", "what a setting does"),
        ("e", "no training", "says it already"),
        ("f", "prompt", "Choose one of"),
    ):
        finding = check("05.4", remedies | {letter: wrong}).finding
        assert f"project {letter}" in finding.called
        assert why in finding.why
    assert not check("05.4").passed
