"""Every number that chapter 11 states in its prose comes out of its own cells."""

from __future__ import annotations

import ast
import inspect
import math
import runpy

import pytest
import torch

from rl_lab import grpo
from rl_lab.check import check
from rl_lab.exercises.ch11 import ILLNESSES
from rl_lab.exercises.ch11 import RUNS as QUIZ
from rl_lab.grpo import aggregate, clipped_objective, grpo_advantages, grpo_loss, kl_k1, kl_k2, kl_k3, ratio
from rl_lab.train import mini_grpo
from rl_lab.train.seeds import read_record
from tests.notebooks import PATHS, read, tags
from tests.tables import markdown_of, tables
from tools import record_11
from tools.record_11 import RUNS as RECORDS


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
    assert aggregate([[0.2, 0.2, 9.9, 9.9, 0.2]], ns["by_the_model"], "dapo") == pytest.approx(0.2)


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


def test_one_step_on_real_tensors(ns):
    paid, push, batch, mine, slopes = (ns[k] for k in ("paid", "push", "batch", "mine", "slopes"))
    assert len(paid) == 8
    assert set(paid) == {0.0, 1.0}, "a group with a spread"
    assert push.tolist() == pytest.approx(grpo_advantages(paid), abs=1e-3)
    right = ns["episodes"][ns["right"]]
    assert len(right.own) > 40
    assert sum(right.own) < len(right.own) / 2
    assert int(batch.mask[ns["right"]].sum()) == sum(right.own)
    assert torch.exp(ns["new"].detach() - ns["old"])[mine].unique().tolist() == [1.0]
    assert ns["value"].item() < 0
    assert ns["value"].item() == pytest.approx(ns["by_lengths"].item(), abs=1e-5)
    assert ns["kl_now"].item() == 0
    assert slopes.unique().numel() == 3
    assert slopes[~mine].abs().max() == 0, "no push on the tool's tokens"
    assert torch.allclose(slopes, ns["by_hand_now"], atol=1e-6)


def test_the_step_makes_rewarded_completions_likelier(ns):
    for factor, reward in zip(ns["times"].tolist(), ns["paid"], strict=True):
        assert factor > 1 if reward else factor < 1
    assert ns["kl_then"].item() > 0
    assert ns["asleep"].any(), "on the second pass the clip acts"
    rewards = [step["reward"] for step in ns["log_of_steps"]]
    assert sum(rewards[-4:]) > sum(rewards[:4])


def test_the_hand_written_loop_is_about_a_hundred_lines():
    source = inspect.getsource(mini_grpo)
    lines = {i for i, line in enumerate(source.splitlines(), 1) if line.strip() and line.strip()[0] != "#"}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    assert 85 <= len(lines) <= 115


@pytest.fixture(scope="module")
def runs():
    return {name: read_record(f"11_{name}") for name in record_11.PLANS}


def test_each_record_says_how_it_was_made(runs):
    for name, run in runs.items():
        plan, settings = record_11.PLANS[name], run["settings"]
        assert run["command"] == f"python -m tools.record_11 {name}"
        assert (settings["learning_rate"], settings["beta"]) == (plan.learning_rate, plan.beta)
        assert settings["reward"] == [plan.reward]
        assert len(run["steps"]) == record_11.STEPS == 40
        assert set(run["versions"]) >= {"torch", "trl", "transformers"}
        assert (RECORDS / f"11_{name}.json").stat().st_size < 120_000
    rates = [runs[name]["settings"]["learning_rate"] for name in ("kl", "healthy")]
    assert rates[0] / rates[1] == pytest.approx(30), "thirty times"


def mean(values):
    return sum(values) / len(values)


def signs(run):
    """The illness that the curves show, by the rules of the chapter's table."""
    c = run["curves"]
    if mean(c["frac_reward_zero_std"]) > 0.95:
        return "no spread"
    if max(c["kl"]) > 1:
        return "KL blown up"
    rise = mean(c["reward"][-5:]) - mean(c["reward"][:5])
    return "healthy" if rise > 0 and c["held-out accuracy"][-1] > 0.9 else "reward hacked"


def test_the_curves_show_the_illness_that_was_made(runs):
    shown = {name: signs(run) for name, run in runs.items()}
    assert [shown[n] for n in ("healthy", "kl", "no_spread", "hacked")] == list(ILLNESSES)
    assert {f"quiz_{k.lower()}": right for k, (right, _) in QUIZ.items()} == {
        name: shown[name] for name in shown if name.startswith("quiz")
    }


def test_the_healthy_run_as_read(runs, text):
    c = runs["healthy"]["curves"]
    assert (runs["healthy"]["results"]["accuracy_before"], c["held-out accuracy"][-1]) == (0.09, 1)
    assert "from 9 % to 100 %" in text
    assert [round(c["completions/mean_length"][i]) for i in (0, -1)] == [5, 20]
    assert max(c["kl"]) < 0.1
    assert max(c["completions/clipped_ratio"]) < 0.02
    leap = {e["step"]: e["accuracy"] for e in runs["healthy"]["held_out"]}
    assert (leap[4] < 0.15, leap[12] > 0.9) == (True, True), "it leaps between steps 4 and 12"
    assert c["entropy"][-1] < 0.2 * c["entropy"][0]
    silent = c["frac_reward_zero_std"]
    assert 0 in silent
    assert silent[-1] > silent[0]
    assert c["reward"][-1] > 0.9


def test_the_three_ill_runs_as_read(runs, text):
    blown, flat, hacked = (runs[name]["curves"] for name in ("kl", "no_spread", "hacked"))
    healthy = runs["healthy"]["curves"]
    assert mean(blown["reward"][6:]) < 0.1
    assert blown["kl"][1] > 10 * max(healthy["kl"]), (
        "at step 2 it is more than ten times what the healthy run ever reaches"
    )
    assert 0.1 < max(blown["completions/clipped_ratio"]) < 0.3
    assert any("2+2===" in sample["completion"] for sample in runs["kl"]["samples"])
    assert mean(blown["frac_reward_zero_std"][6:]) > 0.7
    assert max(blown["held-out accuracy"]) < 0.2
    for name in ("reward", "reward_std", "grad_norm", "kl"):
        assert set(flat[name]) == {0}
    assert set(flat["frac_reward_zero_std"]) == {1}
    assert hacked["reward"][-1] > hacked["reward"][0] + 0.3
    assert hacked["completions/mean_length"][-1] < 0.5 * hacked["completions/mean_length"][0]
    assert hacked["held-out accuracy"][0] > 0.9
    assert hacked["held-out accuracy"][-1] < 0.3
    assert hacked["entropy"][-1] > hacked["entropy"][0]
    assert mean(hacked["frac_reward_zero_std"]) < 0.3
    assert max(hacked["completions/clipped_ratio"]) < 0.05
    assert max(healthy["kl"]) < max(hacked["kl"]) < 1
    assert "right one of twenty" in text
    assert 0 - 0.1 * 3 > 1 - 0.1 * 20, "a wrong answer of three tokens earns more than a right one of twenty"


def test_what_the_monitor_said(runs):
    assert runs["healthy"]["warnings"] == []
    assert runs["kl"]["warnings"][0].startswith("kl is ")
    assert runs["no_spread"]["warnings"][0].startswith("no learning signal")
    assert runs["hacked"]["warnings"][0].startswith("the reward rises while accuracy")


def test_the_quiz_answers_every_wrong_name_with_a_clue():
    names = {letter: right for letter, (right, _) in QUIZ.items()}
    assert check("11.4", names).passed
    for letter, (right, clues) in QUIZ.items():
        assert set(clues) == set(ILLNESSES) - {right}
        for wrong in clues:
            finding = check("11.4", names | {letter: wrong}).finding
            assert finding.called == f"run {letter}"
            assert finding.why == clues[wrong]
            assert right not in (finding.expected, finding.came_back)
    assert "one of healthy" in check("11.4", names | {"B": "ill"}).finding.expected
    assert not check("11.4", None).passed


def test_numbers_in_the_solution_of_the_quiz(runs, text):
    a, b, d = (runs[f"quiz_{letter}"]["curves"] for letter in ("a", "b", "d"))
    assert [round(100 * a["held-out accuracy"][i]) for i in (0, -1)] == [99, 11]
    assert "falls from 99 % to 11 %" in text
    assert min(b["reward"]) > 0.98
    assert max(abs(x - 0.12) for x in b["held-out accuracy"]) < 0.05
    assert d["kl"][1] > 1
