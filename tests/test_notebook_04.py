"""Chapter 4 says nothing that its own cells do not show."""

from __future__ import annotations

import re

import pytest

from rl_lab.mdp import ShoppingEnv, crossing, discounted_return, horizon, run_agentic, run_pbrft, run_rlvr
from rl_lab.mdp import compare as counted
from tests.notebooks import ROOT, namespace, one_line, read

PATH = ROOT / "notebooks" / "04_mdp_five_tuple.ipynb"


@pytest.fixture(scope="module")
def page() -> dict:
    """Names that the notebook's cells define: they run here in one process, figures as plain text."""
    return namespace(PATH)


@pytest.fixture(scope="module")
def prose() -> str:
    """All Markdown of the notebook on one line."""
    return one_line(PATH)


def test_the_page_counts_what_compare_counts(page):
    assert counted(page["pbrft"], page["rlvr"], page["agentic"]) == counted()
    assert page["agentic"].states == [(), ("80*0.75=60",), ("80*0.75=60", "60-5=55")]


def test_style_pays_five_of_six_checks_to_right_and_wrong_alike(page, prose):
    assert "Five of six checks pass, so the score is 5/6 = 0.83" in prose
    assert run_pbrft(page["wrong"]).rewards == page["pbrft"].rewards == [pytest.approx(5 / 6)]
    assert run_rlvr(page["wrong"]).rewards == [0.0]


def test_the_tiny_world_agrees_with_the_package_where_both_are_right(page):
    tiny, env = page["TinyShop"](), ShoppingEnv()
    assert tiny.reset()[0] == env.reset()[0]
    for action in page["plan"]:
        ours, theirs = env.step(action), tiny.step(action)
        assert ours[1:4] == theirs[1:4]
        assert theirs[0].split("=")[-1] == ours[0]


def test_the_tiny_world_can_be_milked_for_ten_and_the_package_cannot(page, prose):
    assert "Ten times the honest reward" in prose
    tiny, hundred = page["TinyShop"](), [("calc", "80*0.75")] * 100
    tiny.reset()
    assert sum(tiny.step(action)[1] for action in hundred) == pytest.approx(10.0)
    assert sum(run_agentic(hundred).rewards) == pytest.approx(0.1)


def test_the_tiny_world_has_the_faults_that_the_page_names(page):
    tiny = page["TinyShop"]()
    tiny.reset()
    assert tiny.step(("calc", "1234567*1"))[0] == "1234567*1=1.23457e+06"
    assert [tiny.step(("answer", text))[1] for text in ("155", "5.55", "55")] == [0.8, 0.8, 0.8]
    with pytest.raises(ValueError, match="division by zero"):
        tiny.step(("calc", "5/0"))


def test_one_call_for_everything_earns_less_than_the_slow_way(page, prose):
    assert sum(page["clever"].rewards) == pytest.approx(0.9)
    assert "0.9, less than the 1.0 of the slower way" in prose


def test_the_two_calculators_do_on_the_wall_what_the_page_says(page):
    tiny = {text: page["attempt"](page["tiny_eval"], text) for text in page["wall"]}
    ours = {text: page["attempt"](page["safe_eval"], text) for text in page["wall"]}
    assert tiny["0.1+0.2"] == "0.30000000000000004"
    assert tiny["-5+8"] == tiny["1,234*2"] == "refused"
    assert tiny["80×0.75"] == tiny["007+1"] == "crash: SyntaxError"
    assert tiny["5/0"] == "crash: ZeroDivisionError"
    refused = ["__import__('os').system('id')", "5/0", "9**9**9"]
    assert [text for text, out in ours.items() if out == "refused"] == refused
    assert [ours[t] for t in ("80*0.75", "80×0.75", "007+1", "1,234*2", "-5+8", "0.1+0.2")] == [
        "60.0",
        "60.0",
        "8.0",
        "2468.0",
        "3.0",
        "0.3",
    ]


def test_the_bad_tools_end_as_the_viewer_shows(page):
    assert page["fails"].rewards == [0.0, 0.0, 0.1, 0.1, 0.8]
    assert page["lies"].rewards == [0.0] * 4
    assert page["lies"].steps[-1].argument == "69"


def test_the_table_of_returns_is_what_the_slider_computes(page):
    table = "\n".join(cell.source for cell in read(PATH).cells if cell.cell_type == "markdown")
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) % \|$", table, re.MULTILINE)
    assert [float(row[0]) for row in rows] == [0, 0.5, 0.9, 0.99, 1]
    for gamma, total, share in rows:
        out = page["discounted"](float(gamma))
        assert f"{out['return']:.4f}" == total
        assert float(share) == pytest.approx(out["share"], abs=0.05)


def test_the_horizon_figure_marks_a_hundred_steps(page, prose):
    out = page["look_ahead"](0.99)
    assert out["horizon"] == (100, pytest.approx(0.366, abs=5e-4))
    assert round(100 * out["after a dozen"]) == 89
    assert "89 %" in prose
    assert horizon(0.9) == pytest.approx(10)


@pytest.mark.parametrize(
    ("right", "milestones", "shown"), [(1.0, True, "0.9202"), (0.5, False, "0.79"), (0.5, True, "0.70")]
)
def test_the_crossings_are_where_the_page_puts_them(page, prose, right, milestones, shown):
    out = page["tool_or_guess"](right=right, milestones=milestones)
    assert f"{out['crossing']:.{len(shown) - 2}f}" == shown
    assert shown in prose
    assert out["equal"][1] == pytest.approx(out["guess"][0])


def test_without_milestones_a_right_guess_is_never_beaten(page):
    out = page["tool_or_guess"](right=1.0, milestones=False)
    assert out["crossing"] is None
    assert all(tool <= guess for tool, guess in zip(out["tool"], out["guess"], strict=True))


def test_every_setting_of_the_crossing_figure_is_drawn_with_a_crossing_or_without(page):
    for right in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        for thoughts in range(4):
            assert page["tool_or_guess"](right, thoughts, True)["crossing"] is not None


def test_the_variants_at_0_9(page, prose):
    totals = {name: round(discounted_return(rewards, 0.9), 4) for name, rewards in page["runs"].items()}
    assert list(totals.values()) == [0.7542, 0.8, 0.0, 0.6109]
    assert len(page["runs"]["the tool, after three thoughts"]) == 6
    assert "0.8 against 0.7542" in prose
    assert "0.6109" in prose


def test_a_token_discount_would_leave_0_7_percent(prose):
    assert "500 tokens" in prose
    assert "0.7 %" in prose
    assert round(100 * 0.99**500, 1) == 0.7


def test_the_failed_call_costs_a_tenth(prose):
    late, early = discounted_return([0, 0, 0.1, 0.1, 0.8], 0.9), discounted_return([0, 0.1, 0.1, 0.8], 0.9)
    assert late == pytest.approx(0.9 * early)
    assert f"{late:.4f}" == "0.6788"
    assert "0.6788" in prose


def test_the_last_lines_of_the_page_hold(prose):
    assert "above 0.9202" in prose
    assert round(crossing([0, 0.1, 0.1, 0.8], [0.8]), 4) == 0.9202
    assert "one state, one action, one step" in prose
    assert "three states, three kinds of action and four steps" in prose


def test_trl_has_no_discount_for_grpo():
    """Read as text: importing TRL takes long, and the field would stand there."""
    trl = pytest.importorskip("importlib.util").find_spec("trl")
    if trl is None:
        pytest.skip("TRL is not installed")
    source = next(iter(trl.submodule_search_locations))
    config = (ROOT / source / "trainer" / "grpo_config.py").read_text(encoding="utf-8")
    assert "class GRPOConfig" in config
    assert not re.search(r"^\s+(gamma|discount)\w*\s*:", config, re.MULTILINE)
