"""Chapter 7 says nothing that its own cells do not show."""

from __future__ import annotations

import contextlib
import io
import itertools
import re

import pytest

from rl_lab.check import check
from rl_lab.gsm8k import load
from rl_lab.labs import rewards as lab
from rl_lab.rewards import accuracy_reward, completion_text, hybrid_reward, make_reward
from tests.notebooks import ROOT, exercises_of, read, tags

PATH = ROOT / "notebooks" / "07_reward_functions.ipynb"


@pytest.fixture(scope="module")
def page() -> dict:
    """Names that the notebook's cells define: they run here in one process, figures as plain text."""
    names: dict = {"__name__": "notebook"}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in read(PATH).cells:
            if cell.cell_type == "code" and "exercise" not in tags(cell):
                exec(compile(cell.source, str(PATH), "exec"), names)  # our own cells, nothing a model wrote
    return names


@pytest.fixture(scope="module")
def prose() -> str:
    """All Markdown of the notebook on one line."""
    text = " ".join(cell.source for cell in read(PATH).cells if cell.cell_type == "markdown")
    return re.sub(r"[\s>]+", " ", text)


def test_the_naive_extractor_reads_the_four_samples_and_none_of_the_wall(page, prose):
    naive = page["naive_answer"]
    assert [naive(s.text) for s in lab.SAMPLES] == ["55", "55", "60", None]
    assert not any(page["same_number"](naive(c.text), c.gold) for c in lab.WALL)
    assert all(page["extract_answer"](c.text) == c.gold for c in lab.WALL)
    assert len(lab.WALL) == 12
    assert "Twelve of twelve" in prose
    assert prose.count("](https://github.com/") == len(lab.WALL) + 1  # and Math-Verify, at the end


def test_the_naive_extractor_fails_as_the_course_says(page):
    naive = page["naive_answer"]
    assert naive("It costs $1,234.") == "234"
    assert naive("Final Answer: 48-24 = 24") == "48"
    assert naive("Final Answer: 51\nFinal Answer: 46") == "51"


def test_the_pages_formulas_are_the_labs(page):
    for s in lab.SAMPLES:
        for gate in (True, False):
            assert page["length_pay"](s.text, gate=gate) == lab.textbook_length(s.text, s.correct, gate=gate)
            assert page["step_pay"](s.text, gate=gate) == lab.textbook_steps(s.text, s.correct, gate=gate)


def test_numbers_in_the_text_about_the_first_offer(page, prose):
    first = page["offer"]()
    assert first["reward"] == pytest.approx([1.2, 0.77, -0.211, 0])
    assert first["right before wrong"] == "yes"
    dear = page["offer"](alpha=0.0025, beta=0.0)
    assert dear["reward"][1] == pytest.approx(-0.075)
    assert (dear["right before wrong"], dear["not right, paid most"]) == ("no", 0)
    assert "the long right completion falls to −0.075" in prose
    assert page["offer"](beta=0.3)["reward"][2] == pytest.approx(0.789)
    assert "the long *wrong* one earns 0.789" in prose


def test_numbers_in_the_text_about_length(page, prose):
    assert 'saying "I am not sure" earns 0' in prose
    assert "earns −0.4110" in prose
    assert page["length_pay"](lab.SAMPLES[2].text, gate=False) == pytest.approx(-0.4110)
    assert page["silence"]()["silence wins below"] == 0.43
    assert page["sample_lengths"] == pytest.approx(0.419, abs=5e-4)
    assert "right 57 % as often" in prose  # brief beats long, both gated
    assert page["length_pay"](lab.SAMPLES[1].text) == pytest.approx(0.57)
    assert page["length_pay"](page["buried"]) == pytest.approx(-0.001)


def test_numbers_in_the_text_about_the_gold_solutions(page, prose):
    assert "fines 60.5 % of GSM8K's own gold solutions" in prose
    assert "72 to 75 % if the calculation marks" in prose
    assert page["fined"]()["share"] == 60.5
    assert page["fined"](kind="marks left in")["share"] == 72.0
    for kind, target in itertools.product(lab.GOLD_LENGTHS, (50, 200, 800)):
        shown = page["fined"](target, kind)
        assert sum(shown["free"]) + sum(shown["fined"]) == 8792
        assert sum(shown["fined"]) / 8792 == pytest.approx(lab.share_fined(kind, target))


def test_numbers_in_the_text_about_steps(page, prose):
    assert "Fifty-one, of which being right is worth one" in prose
    assert page["step_pay"](page["spam"], cap=10**9) == 51.0
    assert "a *wrong* completion earns 3.0" in prose
    assert page["step_pay"](page["no_idea"], cap=10**9, gate=False) == pytest.approx(3.0)


@pytest.fixture(scope="module")
def grid(page) -> dict:
    """What the arena's figure shows, for each of its combinations: (result, settings) by settings."""
    return {
        chosen: page["arena"](page["priced"](*chosen[1:]), ability=chosen[0], group_size=None)
        for chosen in itertools.product(
            [0.05, 0.2, 0.4, 0.6, 0.8, 0.95], [0.0, 0.0005, 0.001, 0.002], [0, 200, 400, 1000], [0.0, 0.05],
            [True, False], page["COUNT"],
        )
    }  # fmt: skip


def test_the_first_offer_breeds_spam(page, prose):
    result = page["arena"](page["first_offer"])
    assert result.leaders == ["spam"]
    assert "The reward rose from 0.61 to 5.67" in prose
    assert (result.reward[0], result.reward[-1]) == pytest.approx((0.61, 5.67), abs=5e-3)
    assert "right 42 times in 100 where it could be 60" in prose
    assert result.accuracy[-1] == pytest.approx(0.42, abs=5e-3)
    assert {page["arena"](page["first_offer"], seed=seed).winner for seed in range(5)} == {"spam"}


def test_which_habit_wins_flips_where_the_text_says(page, prose):
    ring, count = page["ring"], page["COUNT"]
    start = ring()
    assert (start["wins"], start["right"]) == ("brief", "31% → 42%")
    assert "goes from 31 to 42 % right, where it could reach 60" in prose
    assert ring(steps=count[0])["wins"] == "spam"
    assert ring(alpha=0.0)["wins"] == "long and buried"
    far = ring(target=1000)
    assert (far["wins"], far["right"]) == ("long", "31% → 60%")
    assert ring(target=400)["wins"] == "spam"
    assert ring(target=400, steps=count[2])["wins"] == "brief and spam"
    assert ring(gate=False, beta=0.0, ability=0.05)["wins"] == "guess"


def test_without_gate_and_cap_the_reward_climbs_past_5_at_every_ability(page, grid):
    for ability in (0.05, 0.2, 0.4, 0.6, 0.8, 0.95):
        result = grid[ability, 0.001, 200, 0.05, False, page["COUNT"][0]]
        assert result.winner == "spam"
        assert result.reward[-1] > 5
        assert result.accuracy[-1] < ability


def test_silence_wins_nowhere_in_the_figure(grid):
    assert len(grid) == 1152
    assert not any("silent" in result.leaders for result in grid.values())


def test_in_the_figure_the_division_changes_no_winner(page, grid, prose):
    assert "which has no group size, the division changes the speed and no winner" in prose
    for chosen, result in grid.items():
        free = page["arena"](page["priced"](*chosen[1:]), ability=chosen[0], group_size=None, normalize=False)
        assert free.winner == result.winner or {free.winner, result.winner} <= set(
            result.leaders + free.leaders
        ), chosen


def test_the_flips_of_training_are_those_on_paper(page, prose):
    assert page["trained"] == pytest.approx([0.43, 0.00053, 0.00093], abs=1e-5)
    assert page["trained"] == pytest.approx(page["on_paper"], abs=1e-5)
    brief, spam = (page["HABITS"][i].outcomes(page["EXAMPLE_PROBLEM"], 0.6)[0].text for i in (1, 4))
    assert len(spam) - 200 == 54
    assert page["step_pay"](spam) - page["step_pay"](brief) == pytest.approx(0.05)
    assert "so α = 0.00053" in prose
    assert "so α = 0.00093" in prose


def test_the_division_moves_the_flip_as_the_text_says(page, prose):
    flips = {size: page["duel"](size)["silence wins below"] for size in (2, 4, 8, 16)}
    assert (flips[2], flips[8]) == pytest.approx((0.5, 0.457), abs=1e-3)
    assert "it lies at 0.457 for groups of eight and at 0.5 for pairs" in prose
    assert flips[4] > flips[8] > flips[16] > 0.43
    for size in flips:
        plain = page["flip_point"](lambda p, g=size: page["push_on_long"](p, g, False) > 0, 0.3, 0.7)
        assert plain == pytest.approx(0.43, abs=1e-4)


def test_numbers_in_the_text_about_the_attack_and_the_audit(page, prose):
    report = page["attack"](page["naive_reward"])
    assert (report.score, report.total) == (29, 48)
    assert "Nineteen got through. Seven are doors" in prose
    doors = [v for v in report.verdicts if not v.passed and v.attack.kind == "wrong"]
    assert (len(report.faults), len(doors)) == (19, 7)
    assert page["attack"](hybrid_reward).score == 48
    assert "handled 29 of 48 attacks, the hardened one all" in prose
    assert set(page["attack"](page["first_offer"]).faults) - set(report.faults)
    assert page["audit"](hybrid_reward, page["load"]("bundled", "test", limit=200)).passed


def test_the_naive_reward_leaves_93_gold_solutions_of_gsm8k_unpaid(page, prose, gsm8k_dir):
    assert "leaves 93 of them unpaid, and all 93 for the same reason: `#### 2,125` is read as 125" in prose
    assert page["naive_answer"]("#### 2,125") == "125"
    unpaid = [
        text
        for split in ("train", "test")
        for _, text, _ in page["audit"](page["naive_reward"], load(gsm8k_dir, split), as_written=True).unpaid
    ]
    assert len(unpaid) == 93
    assert all("," in text.rpartition("####")[2] for text in unpaid)


def test_the_naive_batch_is_as_silent_as_the_text_says(page):
    naive = page["naive_batch"]
    assert naive(**page["trl_call"]) == [1.0, 0.0]
    assert naive(["Final Answer: 55"] * 4, ["55"]) == [1.0]
    assert naive(["Final Answer: 55"] * 4, answer=["55"] * 4) == []


def test_solutions_report_true_numbers(page, prose):
    solutions = {e.number: e.solution for e in exercises_of(read(PATH))}
    names = dict(page)
    for code in solutions.values():
        exec(compile(code, str(PATH), "exec"), names)  # our own solutions
    assert names["reward"] == pytest.approx(1.02)
    text = names["one_for_all"]()
    assert sum(accuracy_reward(text, n) for n in range(1, 101)) == 0
    assert "`accuracy_reward` pays 0 of 100" in prose
    mine = names["my_reward"]
    assert page["attack"](mine).score == 48
    won = page["arena"](mine, group_size=None)
    assert won.leaders == ["long"]
    assert won.accuracy[-1] == pytest.approx(0.60, abs=5e-3)
    assert "reasoning at length wins alone, right 60 times in 100" in prose
    at_200 = page["arena"](hybrid_reward, group_size=None)
    assert at_200.leaders == ["brief"]
    assert at_200.accuracy[-1] == pytest.approx(0.42, abs=5e-3)
    with pytest.raises(ValueError, match="4 completions but 3 labels"):
        names["my_batch"](["a"] * 4, ["1"] * 3)


# -- exercises -------------------------------------------------------------------------------------------------


def careless(completion, gold):
    """Right or wrong, nothing else."""
    return accuracy_reward(completion, gold)


def with_fine(target, alpha=0.001, floor=0.1):
    def reward(completion, gold):
        accuracy = accuracy_reward(completion, gold)
        fine = alpha * max(0, len(completion_text(completion)) - target)
        return accuracy and max(floor, accuracy - fine)

    return reward


WEAK = {
    "no return": (lambda c, g: None, "nothing"),
    "no function": (0.5, "your function"),
    "one argument": (lambda c: 1.0, "as the arena calls it"),
    "two answers": (lambda c, g: float("55" in str(c).rsplit("\n", 1)[-1]), "two answers"),
    "a crash": (lambda c, g: accuracy_reward(c.strip(), g), "a turn without text"),
    "equals signs": (lambda c, g: accuracy_reward(c, g) and 1 + 0.05 * str(c).count("="), "60 equals signs"),
    "no floor": (with_fine(200, floor=-99), "1,201 characters"),
    "no label": (lambda c, g: accuracy_reward(c, g) or 0.0, "no label"),
    "buried": (careless, "arena(my_reward"),
    "brevity": (with_fine(200), "arena(my_reward"),
}


@pytest.mark.parametrize("name", WEAK)
def test_exercise_3_names_the_attack_that_got_through(name):
    reward, finding = WEAK[name]
    result = check("07.3", reward)
    assert not result.passed
    assert finding in result.finding.called


def test_exercise_3_tells_brevity_from_burying():
    assert "priced out" in check("07.3", with_fine(200)).finding.why
    assert "filler" in check("07.3", careless).finding.why


def test_exercise_3_takes_other_good_rewards():
    assert check("07.3", with_fine(1000)).passed
    assert check("07.3", with_fine(200, alpha=0.0003)).passed
    assert not check("07.3", hybrid_reward).passed  # its target of 200 prices long reasoning out
    assert check("07.3", make_reward("hybrid", target_len=1000)).passed


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        (lambda completions, ground_truth, **c: [1.0], "a list of two floats"),
        (lambda completions, ground_truth, **c: [1.0, 1.0], "more for the right one"),
        (
            lambda completions, ground_truth, **c: [
                careless(t, g) for t, g in zip(completions, ground_truth, strict=False)
            ],
            "4 and 3",
        ),
    ],
    ids=["too few", "all alike", "zip"],
)
def test_exercise_4_says_what_is_missing(answer, finding):
    result = check("07.4", answer)
    assert not result.passed
    assert finding in result.finding.expected


def test_exercise_2_wants_one_text_for_all():
    assert not check("07.2", lambda: "Final Answer: 1 or 2").passed
    assert check("07.2", lambda: " ".join(map(str, range(1, 101)))).passed
    assert "98 of 100" not in check("07.2", lambda: 55).text()


def test_luck_decides_much_in_groups_of_eight(page, prose):
    from collections import Counter

    from rl_lab.arena import arena

    won = Counter(arena(page["priced"](), seed=seed).winner for seed in range(40))
    assert f"brief reasoning won {won['brief']} of 40 seeds and spam {won['spam']}" in prose


def test_the_first_offer_falls_to_ten_attacks_that_the_naive_one_withstands(page):
    from rl_lab.arena import attack

    first, naive = (set(attack(page[name]).faults) for name in ("first_offer", "naive_reward"))
    assert (len(first), len(first - naive)) == (17, 10)
