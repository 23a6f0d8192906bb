"""Every number that chapter 11 states in its prose comes out of its own cells."""

from __future__ import annotations

import math
import runpy

import pytest

from rl_lab import grpo
from rl_lab.grpo import aggregate, clipped_objective, grpo_advantages, grpo_loss, kl_k1, kl_k2, kl_k3, ratio
from tests.notebooks import PATHS, read, tags
from tests.tables import markdown_of, tables


@pytest.fixture(scope="module")
def notebook():
    return read(next(path for path in PATHS if path.stem == "11_grpo"))


@pytest.fixture(scope="module")
def text(notebook):
    return markdown_of(notebook)


@pytest.fixture(scope="module")
def ns(notebook, tmp_path_factory):
    """Names that the notebook's cells define, exercises left out."""
    cells = [c.source for c in notebook.cells if c.cell_type == "code" and "exercise" not in tags(c)]
    script = tmp_path_factory.mktemp("chapter") / "chapter_11.py"
    script.write_text("\n\n".join(cells), encoding="utf-8")
    return runpy.run_path(str(script))


def rounded(values, digits=2):
    return [round(v, digits) + 0.0 for v in values]


def test_advantages_in_the_table_of_conventions(text):
    header, *rows = next(t for t in tables(text) if "convention" in t[0])
    column = header.index("advantages")
    stated = [[float(x.replace("−", "-")) for x in row[column].split(",")] for row in rows]
    assert stated == [rounded(grpo_advantages([1, 1, 0, 0.8], n)) for n in (False, True, "population")]
    assert [row[header.index("`normalize=`")] for row in rows] == ["`False`", "`True`", '`"population"`']


def test_the_simple_form_and_the_package_agree_where_both_are_right(ns):
    for rewards in ([1, 1, 0, 0.8], [0, 1], [3, 1, 4, 1, 5]):
        assert ns["naive"](rewards) == pytest.approx(grpo_advantages(rewards, "population"))


def test_the_simple_form_breaks_as_shown(ns):
    assert ns["naive"]([0.2, 0.2, 0.2]) == [-1.0, -1.0, -1.0]
    with pytest.raises(ZeroDivisionError):
        ns["naive"]([1, 1, 1])


def test_what_to_try_with_the_four_sliders(ns):
    group = ns["group"]
    assert group(0.4, 0.4, 0.4, 0.4)["signal"] == "none"
    before, after = group()["mean only"], group(1.0, 1.0, 0.2, 0.8)["mean only"]
    assert all(a != b for a, b in zip(before, after, strict=True)), "all bars move"
    one_step = group(0.4, 0.4, 0.4, 0.6)
    assert max(one_step["mean only"]) == pytest.approx(0.15)
    assert max(one_step["TRL"]) == pytest.approx(1.5, abs=2e-3)


def test_memory_of_the_models(ns, text):
    m = ns["memory"](7)
    numbers = [m[k] for k in ("PPO", "GRPO", "checked reward", "β = 0", "LoRA")]
    assert numbers == pytest.approx([252, 140, 126, 112, 14.56])
    assert "252 GB, 140, 126, 112, and 14.6 with LoRA" in text
    parts = ("policy", "critic", "reward model", "reference model")
    assert [sum(m[p][i] > 0 for p in parts) for i in range(5)] == [4, 3, 2, 1, 1]
    assert "four models, three, two, one" in text
    assert numbers == pytest.approx([sum(m[p][i] for p in parts) for i in range(5)])


def test_close_rewards(ns):
    assert rounded(grpo_advantages(ns["close"])) == [1.15, 0.38, -0.38, -1.15]


def test_silent_groups(ns, text):
    silent = {G: 1 - ns["teaching"](G, 0.05)[0] for G in (8, 64)}
    assert silent[8] == pytest.approx(0.95**8 + 0.05**8)
    assert round(100 * silent[8]) == 66
    assert 0.03 < silent[64] < 0.04
    assert "falls from 66 % with *G* = 8 to under 4 % with *G* = 64" in text


def test_the_push_is_largest_in_the_middle_and_has_the_stated_form(ns):
    for G in (2, 4, 8, 16, 64):
        curves = list(zip(*(ns["teaching"](G, i / 20) for i in range(21)), strict=True))
        for curve in curves:
            assert max(curve) == pytest.approx(curve[10])
            assert curve[0] == pytest.approx(0)
        assert curves[1][5] == pytest.approx((G - 1) / G * 0.25 * 0.75)


def test_the_push_is_the_expected_gradient_of_a_policy_with_one_knob(ns):
    """By enumeration: the gradient of log pi with respect to the logit of success is r - p."""
    G, p = 4, 0.3
    for position, normalize in ((1, False), (2, True)):
        expected = 0.0
        for k, chance in enumerate(ns["binomial"](G, p)):
            rewards = [1.0] * k + [0.0] * (G - k)
            advantages = grpo_advantages(rewards, normalize)
            expected += chance * sum(A * (r - p) for A, r in zip(advantages, rewards, strict=True)) / G
        order = {1: 1, 2: 2}[position]  # teaching returns (heard, mean only, std)
        assert ns["teaching"](G, p)[order] == pytest.approx(expected, abs=1e-3)


def test_std_flattens_the_curve(ns):
    plain = ns["teaching"](8, 0.05)[1] / ns["teaching"](8, 0.5)[1]
    scaled = ns["teaching"](8, 0.05)[2] / ns["teaching"](8, 0.5)[2]
    assert scaled > plain


def test_ratio_and_clip(ns):
    rho = ratio(math.log(0.13), math.log(0.10))
    assert ns["rho"] == rho
    assert rounded([rho * 0.63, clipped_objective(rho, 0.63)], 3) == [0.819, 0.756]
    assert clipped_objective(rho, -1.47) == pytest.approx(-1.911)
    picture = ns["clip_picture"]
    assert picture(0.5, 0.2, "worse than its group (A = −1)")["gradient here"] == "0: clipped"
    assert picture(1.5, 0.2, "worse than its group (A = −1)")["gradient here"] == "not clipped"


def test_a_loss_of_zero_has_a_slope(ns):
    A, logps, nudged = ns["A"], ns["logps"], ns["nudged"]
    assert grpo_loss(logps, logps, A) == pytest.approx(0, abs=1e-12)
    assert grpo_loss(nudged, logps, A) < -1e-4


def test_kl_estimators(ns):
    moments, policy, exact = ns["moments"], ns["policy"], ns["exact"]
    assert [moments(policy, k)[0] - exact for k in (kl_k1, kl_k3)] == pytest.approx([0, 0])
    k1, k2, k3 = (ns["running"]()[name] for name in ("k1", "k2", "k3"))
    assert abs(k3[-1] - exact) < abs(k1[-1] - exact) < abs(k2[-1] - exact)

    def wander(curve):
        return max(curve[5:]) - min(curve[5:])

    assert wander(k1) > 1.5 * wander(k3)
    assert wander(k1) > 1.5 * wander(k2)


def test_k3_scatters_more_than_k1_from_a_drift_of_about_1_1(ns, text):
    quotient = {d: ns["estimators"](d)["spread of k3 / spread of k1"] for d in (0.2, 0.5, 1.0, 1.1, 1.6)}
    assert quotient[0.2] < 0.1
    assert quotient[0.5] < 0.25
    assert quotient[1.0] < 1 < quotient[1.1] < quotient[1.6]
    assert "a drift of about 1.1, k3" in text
    for d in (0.1, 1.0, 4.0):
        bias = ns["estimators"](d)["bias"]
        assert (bias[0], bias[2]) == (0, 0)
        assert bias[1] < 0


def test_plain_k3_has_the_wrong_gradient_and_the_ratio_repairs_it(ns):
    reference, policy, h = ns["reference"], ns["policy"], 1e-5

    def moved(step):
        weights = [p * math.exp(step * (i == 0)) for i, p in enumerate(policy)]
        return [w / sum(weights) for w in weights]

    def slope(f):
        return (f(moved(h)) - f(moved(-h))) / (2 * h)

    def sampled(new, corrected):
        pairs = zip(policy, new, reference, strict=True)
        return sum(
            old * (now / old if corrected else 1) * kl_k3(math.log(now), math.log(ref))
            for old, now, ref in pairs
        )

    true = slope(lambda new: sum(p * math.log(p / q) for p, q in zip(new, reference, strict=True)))
    assert slope(lambda new: sampled(new, corrected=True)) == pytest.approx(true, abs=1e-6)
    assert abs(slope(lambda new: sampled(new, corrected=False)) - true) > 0.01


def test_one_drift_falls_into_three_bands(ns):
    near, reference = ns["near"], ns["reference"]
    first = kl_k1(math.log(near[2]), math.log(reference[2]))
    mean = ns["moments"](near, kl_k3)[0]
    assert first < 0
    assert 0.01 < mean < 0.1
    assert 40 * mean > 0.5
    assert ns["moments"](near, kl_k2)[0] != pytest.approx(mean, abs=1e-3)


def test_weight_of_a_token(ns, text):
    short, long = "token of the short completion", "token of the long completion"
    together, apart = ns["weights"](), ns["weights"](together=False)
    assert together[short] == pytest.approx([0.05, 0.02, 0.02, 1 / 128])
    assert together[long] == pytest.approx([0.0125, 0.02, 0.02, 1 / 128])
    assert "weighs 0.0125 against 0.05, a quarter" in text
    assert (apart[short][1], apart[long][1]) == (apart[short][0], apart[long][0]), "bnpo becomes grpo"
    assert apart[short][2:] == together[short][2:]
    halved = [aggregate([[1.0]], loss_type="dr_grpo", max_completion_length=n) for n in (64, 128)]
    assert halved[0] == 2 * halved[1]


def test_the_training_run_shows_what_is_read_from_it(ns):
    run = ns["run"]
    silent, reward = [s["silent"] for s in run], [s["reward"] for s in run]
    entropy = [-sum(p * math.log(p) for p in s["pi"]) for s in run]
    assert run[0]["pi"][0] == pytest.approx(0.1)
    assert silent[0] > 0.5
    assert 0 in silent[:10]
    assert sum(silent[-10:]) / 10 > 0.9
    assert sum(reward[:3]) / 3 < 0.2
    assert sum(reward[-10:]) / 10 > 0.95
    assert entropy[-1] < 0.15 * entropy[0]


@pytest.mark.parametrize(
    ("first", "normalize", "low", "high"),
    [(0.1, True, 0.95, 1), (0.01, True, 0.9, 1), (0.01, False, 0, 0.2), (0.001, True, 0, 0.1)],
)
def test_where_training_gets_from_each_start_on_ten_seeds(ns, first, normalize, low, high):
    for seed in range(10):
        run = ns["train"](first=first, normalize=normalize, seed=seed)
        assert low <= sum(step["reward"] for step in run[-5:]) / 5 <= high


def test_from_one_in_a_thousand_almost_every_group_is_silent(ns):
    assert ns["starts"]("0.1 %")["silent groups, first ten steps"] > 95


def test_batch_pictures(ns):
    divisible = ns["divisible"]
    assert divisible(6, 1, 4, 8)["TRL"] == "accepts"
    refused = divisible(6, 1, 1, 8)
    assert (refused["TRL"], refused["nearest accumulation"]) == ("refuses", "4")
    assert refused["completions"] == [6, 0, 6]
    assert divisible(16, 2, 1, 8)["prompts per step"] == "4"


def test_the_tool_s_tokens_do_not_count(ns):
    assert aggregate([[0.2, 0.2, 9.9, 9.9, 0.2]], ns["written_by_tool"], "dapo") == pytest.approx(0.2)


def test_numbers_in_the_solutions():
    faint = [0.5, 0.5, 0.5, 0.51]
    assert max(grpo_advantages(faint, False)) == pytest.approx(0.0075)
    assert round(max(grpo_advantages(faint)), 2) == 1.47
    assert rounded(grpo_advantages([1, 1, 0, 0])) == [0.87, 0.87, -0.87, -0.87]


def test_the_three_columns_are_there(text):
    header = next(t for t in tables(text) if "who answers back" in [row[0] for row in t])[0]
    assert [cell.split("]")[0].strip("[") for cell in header[1:3]] == ["PBRFT", "RLVR"]
    assert header[3].startswith("Agentic RL")
    assert len(grpo.LOSS_TYPES) == 4


def test_the_heading_counts_the_lines_of_the_training_loop(notebook, text):
    source = next(c.source for c in notebook.cells if c.source.startswith("ANSWERS"))
    body = source[source.index("def train") : source.index("return history")].splitlines()
    assert len(body) == 18  # the last, cut line is the one with the return
    assert "GRPO in eighteen lines" in text
