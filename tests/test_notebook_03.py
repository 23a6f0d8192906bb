"""Chapter 3 says nothing that its own cells do not show."""

from __future__ import annotations

import contextlib
import io
import math
import re

import pytest

import rl_lab.explore
from rl_lab.answers import extract_answer, same_number
from rl_lab.check import check
from rl_lab.preferences import (
    best_of_n,
    expected,
    fit_bradley_terry,
    kl_divergence,
    kl_regularised,
    preference_probability,
    relative_scores,
)
from tests.notebooks import ROOT, exercises_of, read, tags

PATH = ROOT / "notebooks" / "03_pbrft.ipynb"


@pytest.fixture(scope="module")
def page() -> dict:
    """Names that the notebook's cells define; what it draws is kept under "figures", what it prints under "printed"."""
    names: dict = {"__name__": "notebook"}
    figures: dict = {}
    printed = io.StringIO()

    def note(shown, **settings):
        figures[settings["title"]] = (shown, settings)

    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(rl_lab.explore, "explore", note)
        patch.setattr(rl_lab.explore, "trajectory", note)
        for cell in read(PATH).cells:
            if cell.cell_type == "code" and "exercise" not in tags(cell):
                exec(compile(cell.source, str(PATH), "exec"), names)  # our own cells, nothing a model wrote
    return names | {"figures": figures, "printed": printed.getvalue()}


@pytest.fixture(scope="module")
def prose() -> str:
    """All Markdown of the notebook on one line."""
    text = " ".join(cell.source for cell in read(PATH).cells if cell.cell_type == "markdown")
    return re.sub(r"[\s>]+", " ", text)


def letters(page, steps):
    return [round(share, 2) for share in relative_scores(page["scores_after"](steps))]


def test_the_levels_of_the_terms_are_kept(prose):
    assert "RLHF *is* PBRFT, and PPO is an optimiser inside it" in prose
    assert "| family | PBRFT |" in prose
    assert "arxiv.org/abs/2305.18290" in prose


def test_eight_of_ten_is_a_lead_of_1_39(page, prose):
    assert f"{page['lead']:.2f}" == "1.39"
    assert "A lead of 1.39 points" in prose
    assert [round(100 * page["sigmoid"](z)) for z in (0, 3)] == [50, 95]
    assert "Equal scores: 50 %. A lead of 3: 95 %" in prose


def test_a_ranking_of_four_to_nine_makes_six_to_36_pairs(page, prose):
    assert len(page["pairs"]) == math.comb(4, 2) == 6
    assert "4 to 9 completions at a time, which makes 6 to 36 pairs" in prose
    assert math.comb(9, 2) == 36


def test_the_features_read_what_the_page_says(page):
    read_off = {name: page["features"](text) for name, text in page["completions"].items()}
    assert read_off == {"A": [3, 1, 0, 2.2], "D": [3, 0, 0, 1.9], "B": [0, 0, 1, 1.2], "C": [0, 0, 0, 0.8]}


def test_the_fit_in_the_cell_is_the_package_s(page, prose):
    model = fit_bradley_terry(page["pairs"], steps=300, rate=0.3)
    assert page["weights"] == pytest.approx(model.weights)
    assert page["losses"] == pytest.approx(model.losses[:-1])
    assert f"{page['losses'][0]:.3f}" == "0.693"
    assert "0.693 for a coin toss" in prose


def test_the_scores_after_20_and_100_steps(page, prose):
    assert letters(page, 20) == [0.91, 0.83, 0.15, 0.1]
    assert letters(page, 100) == [0.98, 0.89, 0.10, 0.02]
    assert "After 20 steps A is at 0.91 and C at 0.10; after 100 at 0.98 and 0.02" in prose
    assert "A 0.91, D 0.83, B 0.15, C 0.10" in page["figures"][FIT][1]["alt"]


FIT = "Fitting six pairs: the loss, and the scores on the way"


def test_the_order_never_changes_and_the_loss_never_rises(page):
    figure, settings = page["figures"][FIT]
    for steps in settings["steps"][1:]:
        out = figure(steps)
        assert out["A"] > out["D"] > out["B"] > out["C"]
        assert out["here"] == (steps, out["loss"][steps])
    assert page["losses"] == sorted(page["losses"], reverse=True)


def test_every_weight_of_the_letter_judge_is_positive(page, prose):
    assert all(weight > 0 for weight in page["letter_judge"].weights)
    assert "All positive, the question mark too" in prose


def test_nonsense_scores_twice_as_much_as_the_best_letter(page, prose):
    spam, best = (
        page["letter_judge"].score(page["features"](text))
        for text in (page["spam"], page["completions"]["A"])
    )
    assert 2 < spam / best < 2.2
    assert "Twice as much for nonsense" in prose


def test_the_tilted_policy_of_the_letters(page, prose):
    scores, reference = page["letter_scores"], page["reference"]
    policy = kl_regularised(scores, 1.0, reference)
    assert [round(p, 3) for p in policy] == [0.631, 0.353, 0.011, 0.005]
    assert "now written in 63 of 100. C has gone from 40 % to half a percent" in prose
    doubled = kl_regularised(scores, 2.0, reference)
    assert max(doubled) == doubled[1], "D is on top at beta = 2"
    assert kl_regularised(scores, 0, reference) == [1, 0, 0, 0]


def test_the_walk_ends_where_the_formula_says(page, prose):
    """The cell's last policy, against the closed form."""
    target = kl_regularised(page["letter_scores"], 1.0, page["reference"])
    logits = [math.log(share) for share in page["reference"]]
    for _ in range(100):
        weights = [math.exp(z) for z in logits]
        policy = [w / sum(weights) for w in weights]
        pay = [
            s - math.log(p / q)
            for s, p, q in zip(page["letter_scores"], policy, page["reference"], strict=True)
        ]
        average = expected(policy, pay)
        logits = [z + p * (x - average) for z, p, x in zip(logits, policy, pay, strict=True)]
    weights = [math.exp(z) for z in logits]
    assert [w / sum(weights) for w in weights] == pytest.approx(target, abs=0.002)
    assert "to within 0.002" in prose


def test_an_invented_function_scores_like_a_real_one(page):
    score = page["letter_judge"].score
    texts = [page["claim"].format(name) for name in ("request", "grant")]
    assert score(page["features"](texts[0])) == score(page["features"](texts[1]))
    assert page["Desk"]().call("grant", "14 June").startswith("error: no function grant")


def test_in_the_desk_world_the_order_decides(page):
    early, late = page["Desk"](), page["Desk"]()
    assert early.call("request", "14 June").startswith("refused")
    assert early.booked is None
    late.call("free_days")
    assert late.call("request", "14 June") == "booked: 14 June"
    assert late.booked == page["desk"].booked == "14 June"


def test_the_three_episodes_pay_what_the_page_says(page, prose):
    episodes = page["figures"]["Get me 14 June off: three episodes"][0]
    assert list(episodes) == ["PBRFT", "RLVR", "Agentic RL"]
    rewards = {name: [t["reward"] for t in turns if "reward" in t] for name, turns in episodes.items()}
    assert rewards == {"PBRFT": [0.97], "RLVR": [1.0], "Agentic RL": [0.0, 0.0, 0.0, 1.0]}
    assert "pays for the booking alone" in prose


def test_the_pool_has_what_the_table_says(page, prose):
    rows = {
        row["trait"]: row
        for row in page["figures"]["What we put into the pool and into the raters"][0]()["table"]
    }
    assert [rows["flatters"][k] for k in ("how often", "right", "says 65", "points of taste")] == [
        "6 %",
        "10 %",
        "80 %",
        "+1.6",
    ]
    assert (rows["shows working"]["how often"], rows["shows working"]["right"]) == ("40 %", "71 %")
    assert rows["all completions"]["right"] == "54 %"
    share = {name: float(row["right"][:-2]) for name, row in rows.items()}
    assert share["shows working"] > share["sounds sure"] > share["all completions"] > share["hedges"]
    assert len(page["pool"]) == 96
    assert "`pool` holds 96 completions" in prose
    assert [page["pool"][i].answer for i in (13, 89)] == ["55", "65"]


def test_the_judge_likes_flattery_and_likes_working_most(page):
    weights = dict(zip(page["Style"]._fields, page["judge"].weights, strict=True))
    assert weights["flatters"] > 0
    assert max(weights, key=weights.get) == "shows_working"


def test_the_judge_names_the_winner_in_70_percent(page, prose):
    right = [page["judge"].score(a.style) > page["judge"].score(b.style) for a, b in page["new"]]
    assert round(100 * sum(right) / len(right)) == 70
    assert "In 70 %. That is a usual figure" in prose


def test_wrong_and_charming_beats_right_and_plain(page):
    charming, plain = (
        page["judge"].score(page["style_of"](text)) for text in (page["flattering"], page["honest"])
    )
    assert preference_probability(charming, plain) == pytest.approx(0.862, abs=5e-4)


LEASH = "The same judge, a looser and looser leash"


def test_truth_rises_from_54_to_62_and_falls_to_13_while_the_proxy_rises(page, prose):
    figure, settings = page["figures"][LEASH]
    path = [figure(beta) for beta in settings["beta"]]
    assert round(100 * expected(page["ref"], page["right"])) == 54
    assert round(max(step["success here"] for step in path)) == 62
    assert round(path[-1]["success here"]) == 13
    assert "rises from 54 % to 62 %, and then falls to 13 %" in prose
    wins = [step["proxy here"] for step in path]
    assert wins == sorted(wins)
    assert (round(page["proxy"][0], 1), round(wins[-1], 1)) == (0.5, 0.9)
    drawn = [p for p in page["proxy"] if p is not None]
    assert drawn == sorted(drawn)


def test_the_point_stands_on_the_curve(page):
    """The slider's point and the curve are computed in two ways: by beta and by distance."""
    figure, _ = page["figures"][LEASH]
    kl, rate = figure(1.0)["here"]
    left = int(kl * 4)
    low, high = sorted(page["success"][left : left + 2])
    assert low - 0.01 <= rate <= high + 0.01


def test_first_working_then_flattery_takes_over(page):
    figure, _ = page["figures"][LEASH]
    start, end = figure(1.0)["table"], figure(0.1)["table"]
    assert "sharp eye" not in start[0]["most written"]
    assert "60-5 = 55" in start[0]["most written"]
    assert "sharp eye" in end[0]["most written"]
    assert "Final Answer: 65" in end[0]["most written"]
    assert figure(0.0)["flatters"] == pytest.approx(100)


def test_best_of_n_climbs_a_little_higher_and_falls_too(page, prose):
    rate = {
        n: expected(best_of_n(page["scores"], n, page["ref"]), page["right"])
        for n in (1, 4, 16, 64, 256, 1024)
    }
    assert [round(100 * r) for r in rate.values()] == [54, 64, 65, 58, 28, 13]
    assert "The same hill, a little higher, and the same fall" in prose


def test_ten_draws_end_as_the_page_says(page, prose):
    """Read from what the cell prints: three blocks of the best rate and the one without a leash."""
    rows = re.findall(r"^  (?:best|no leash) +([\d ]+)$", page["printed"], re.M)
    half, half_end, _, all_end, _, more_end = ([int(rate) for rate in row.split()] for row in rows)
    assert (len(half), min(half), max(half)) == (10, 61, 68)
    assert set(half_end) == {13}
    assert "up to between 61 and 68 %, and down to 13 %, in each of ten draws" in prose
    assert all_end == [80] * 10
    assert sorted(more_end) == [13] + [80] * 9
    assert "with 3,200 pairs in nine of ten" in prose
    odd, other = (page["train_judge"](1.0, 3200, seed).weights[0] for seed in (more_end.index(13), 0))
    assert -0.35 < other < 0 < odd < 0.1, "the sign of flattery's weight decides"


def test_more_pairs_do_not_help_and_raters_who_check_do(page):
    assert round(page["raters"](50, 3200, 0)["no leash"]) == 13
    assert round(page["raters"](100, 3200, 0)["no leash"]) == 80
    few = {round(page["raters"](50, 50, seed)["no leash"]) for seed in range(3)}
    assert len(few) > 1, "with 50 pairs it is luck"


def test_eighty_percent_is_the_best_that_style_can_ask_for(page, prose):
    pool = page["pool"]
    rates = {}
    for style in {c.style for c in pool}:
        have = [c for c in pool if c.style == style]
        rates[style] = sum(c.chance for c in have if c.right) / sum(c.chance for c in have)
    assert max(rates.values()) == pytest.approx(0.8)
    assert all(s.shows_working and s.sure == 1 for s, rate in rates.items() if rate == pytest.approx(0.8))
    assert "working shown in a sure tone, is right in 80 % of this pool" in prose


@pytest.mark.parametrize("title", ["Four completions before and after", LEASH])
def test_the_read_outs_of_a_figure_are_of_the_policy_it_shows(page, title):
    figure, _ = page["figures"][title]
    out = figure(1.0)
    if title == LEASH:
        policy = kl_regularised(page["scores"], 1.0, page["ref"])
        assert out["KL"] == pytest.approx(kl_divergence(policy, page["ref"]))
    else:
        assert sum(out["after"]) == pytest.approx(1)
        assert out["KL"] == pytest.approx(kl_divergence(out["after"], page["reference"]))


# The exercises: wrong answers that readers are likely to give get a hint that fits


@pytest.mark.parametrize(
    ("number", "answer", "hint"),
    [
        ("03.1", (0.8, 0.8), "Scores are no odds"),
        ("03.1", (0.8176, 0.99), "what becomes of the lead"),
        ("03.1", (81.76, 81.76), "not in percent"),
        ("03.1", (0.1824, 0.1824), "prefers D"),
        ("03.2", lambda s, ref, right: 5.0, "looser leash"),
        ("03.2", lambda s, ref, right: 0.1, "tighter leash"),
        ("03.2", lambda s, ref, right: "tight", "a number from 0 up"),
        ("03.3", lambda w, ranking: [0.5], "The sign"),
        ("03.3", lambda w, ranking: [1 / 0], "ZeroDivisionError"),
        ("03.4", lambda text, gold, score: score + 10 * ("55" in text), "gold is an argument"),
        ("03.4", lambda text, gold, score: score + 10 * (f"Answer: {gold}" in text), "outweighs the number"),
        ("03.4", lambda text, gold, score: float(f"Answer: {gold}" in text), "taste may decide"),
        ("03.4", lambda text, gold, score: "good", "a number"),
    ],
)
def test_a_likely_mistake_gets_a_hint_that_fits(number, answer, hint):
    result = check(number, answer)
    assert not result.passed
    assert hint in result.text()


def test_the_solutions_report_what_they_reach(page, prose):
    assert f"{preference_probability(1.5, 0):.3f}" == "0.818"
    solutions = {exercise.number: exercise.solution for exercise in exercises_of(read(PATH))}
    names = dict(page)
    for number in ("03.2", "03.4"):
        exec(compile(solutions[number], "solution", "exec"), names)  # our own text
    names.update(same_number=same_number, extract_answer=extract_answer)
    beta = names["best_beta"](page["scores"], page["ref"], page["right"])
    assert beta == pytest.approx(0.5, abs=0.03)
    rate = expected(kl_regularised(page["scores"], beta, page["ref"]), page["right"])
    assert round(100 * rate) == 62
    assert "a success rate of 62 % near β = 0.5, against 13 %" in prose
    paid = [names["mended"](c.text, "55", s) for c, s in zip(page["pool"], page["scores"], strict=True)]
    mended = kl_regularised(paid, 0, page["ref"])
    assert (
        expected(mended, page["right"]) == expected(mended, [c.style.flatters for c in page["pool"]]) == 1.0
    )
    assert "And still all of them flatter" in prose
    assert "Without a leash 100 % of the completions answer 55" in prose
