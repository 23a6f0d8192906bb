"""The arithmetic of GRPO: hand-worked numbers, invariants, real cases (classes D and I11)."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_lab import grpo
from rl_lab.grpo import (
    CONVENTIONS,
    aggregate,
    batch_advantages,
    check_batch,
    clipped_objective,
    group_report,
    grpo_advantages,
    grpo_loss,
    kl_k1,
    kl_k2,
    kl_k3,
    oom_advice,
    ratio,
    sum_rewards,
)

few = settings(max_examples=60, derandomize=True, deadline=None, database=None)

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "D.jsonl").read_text(encoding="utf-8").splitlines()
]


def numbers(rewards):
    return [float(r) if isinstance(r, str) else r for r in rewards]


def flat(values):
    return [x for v in values for x in flat(v)] if isinstance(values, list) else [values]


def run_advantages(case):
    given = dict(case["input"])
    conventions = given.pop("normalize")
    given["rewards"] = numbers(given["rewards"])
    for normalize in conventions:
        if "raises" in case:
            with pytest.raises(ValueError, match=case["raises"]):
                getattr(grpo, case["call"])(**given, normalize=normalize)
            continue
        out = getattr(grpo, case["call"])(**given, normalize=normalize)
        assert flat(out) == pytest.approx(flat(case["expected"]), abs=1e-5)
        assert len(out) == len(case["expected"])
        assert all(type(A) is float and math.copysign(1, A) > 0 for A in flat(out) if A == 0)  # no -0.0


def run_check_batch(case):
    if "raises" in case:
        with pytest.raises(ValueError, match=case["raises"]):
            check_batch(**case["input"])
        return
    verdict = check_batch(**case["input"])
    for name, value in case["expected"].items():
        assert verdict[name] == value == getattr(verdict, name)
    for part in case.get("message", []):
        assert part in verdict.message


def run_sums(case):
    total = sum_rewards(*case["input"]["columns"])
    assert total == case["expected"]["total"]
    assert grpo_advantages(total, normalize=False) == case["expected"]["advantages"]
    assert case["expected"]["report"] in str(group_report(total, num_generations=len(total)))


def run_oom_advice(case):
    advice = oom_advice(**case["input"])
    assert advice.advice[0] == case["expected"]["first"]
    assert set(case["expected"]["mentions"]) <= set(advice["advice"][1:])
    assert advice.trl_version == "1.16"
    assert "num_generations alone" in advice.no_help


RUNNERS = {
    "grpo_advantages": run_advantages,
    "batch_advantages": run_advantages,
    "check_batch": run_check_batch,
    "oom_advice": run_oom_advice,
    "sum_rewards, then advantages and report": run_sums,
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case_from_real_reports(case):
    RUNNERS[case["call"]](case)


# --- advantages -----------------------------------------------------------------------------------------


def test_advantages_by_hand_for_all_conventions():
    rewards = [1, 1, 0, 0.8]
    mean = 2.8 / 4
    squares = 2 * 0.3**2 + 0.7**2 + 0.1**2
    for normalize, divisor in [
        (False, 1.0),
        (True, math.sqrt(squares / 3) + 1e-4),
        ("population", math.sqrt(squares / 4)),
    ]:
        assert grpo_advantages(rewards, normalize) == pytest.approx([(r - mean) / divisor for r in rewards])
    assert [round(A, 2) for A in grpo_advantages(rewards)] == [0.63, 0.63, -1.47, 0.21]
    assert [round(A, 2) for A in grpo_advantages(rewards, "population")] == [0.73, 0.73, -1.70, 0.24]


def test_std_blows_hundredths_up_to_full_size():
    advantages = grpo_advantages([1.00, 0.99, 0.98, 0.97])
    assert [round(A, 2) for A in advantages] == [1.15, 0.38, -0.38, -1.15]
    assert grpo_advantages([1.00, 0.99, 0.98, 0.97], False) == pytest.approx([0.015, 0.005, -0.005, -0.015])


finite = st.floats(-1e6, 1e6)
maybe = st.one_of(st.none(), st.just(math.nan), finite)


@few
@given(st.lists(maybe, max_size=9), st.sampled_from(sorted(CONVENTIONS)))
def test_advantages_sum_to_zero_and_are_never_nan(rewards, normalize):
    advantages = grpo_advantages(rewards, normalize)
    assert len(advantages) == len(rewards)
    assert all(math.isfinite(A) for A in advantages)
    assert math.fsum(advantages) == pytest.approx(0, abs=1e-6 * (1 + max(map(abs, advantages), default=0)))
    assert all(A == 0 for A, r in zip(advantages, rewards, strict=True) if r is None or math.isnan(r))


@few
@given(st.lists(st.integers(-20, 20), min_size=2, max_size=8), st.integers(-5, 5), st.integers(1, 9))
def test_shift_never_matters_and_scale_only_without_std(rewards, shift, scale):
    for normalize in CONVENTIONS:
        assert grpo_advantages([r + shift for r in rewards], normalize) == pytest.approx(
            grpo_advantages(rewards, normalize)
        )
    scaled = [scale * r for r in rewards]
    assert grpo_advantages(scaled, "population") == pytest.approx(grpo_advantages(rewards, "population"))
    assert grpo_advantages(scaled, False) == pytest.approx(
        [scale * A for A in grpo_advantages(rewards, False)]
    )


@few
@given(st.lists(finite, min_size=2, max_size=8), st.randoms(use_true_random=False))
def test_order_of_the_group_does_not_matter(rewards, rng):
    order = list(range(len(rewards)))
    rng.shuffle(order)
    base = grpo_advantages(rewards)
    assert grpo_advantages([rewards[i] for i in order]) == pytest.approx([base[i] for i in order])


@few
@given(st.lists(st.lists(finite, min_size=3, max_size=3), min_size=1, max_size=4), st.randoms())
def test_batch_equals_group_by_group_in_any_order(groups, rng):
    rows = [(p, r) for p, group in enumerate(groups) for r in group]
    rng.shuffle(rows)
    prompts, rewards = [p for p, _ in rows], [r for _, r in rows]
    got = batch_advantages(rewards, prompts, num_generations=3)
    for p in range(len(groups)):
        mine = [i for i, q in enumerate(prompts) if q == p]
        assert [got[i] for i in mine] == grpo_advantages([rewards[i] for i in mine])


def test_batch_scaling_keeps_the_difference_between_groups():
    rewards, prompts = [1, 0, 1, 0.9], ["A", "A", "B", "B"]
    per_batch = batch_advantages(rewards, prompts, 2, normalize="batch")
    assert per_batch[0] / per_batch[2] == pytest.approx(0.5 / 0.05)  # as in the raw deviations
    per_group = batch_advantages(rewards, prompts, 2, normalize="group")
    assert per_group[0] / per_group[2] == pytest.approx(1, abs=2e-3)  # the std has made them equal


@pytest.mark.parametrize(
    ("rewards", "message"),
    [(["1", 0], r"rewards\[0\] .* the text '1'"), ([{}, 0], r"rewards\[0\]"), ([1j, 0], r"rewards\[0\]")],
)
def test_rewards_that_are_no_numbers_are_named(rewards, message):
    with pytest.raises(TypeError, match=message):
        grpo_advantages(rewards)


def test_unknown_convention_lists_choices_and_the_closest():
    with pytest.raises(
        ValueError, match=r"'none', 'group', 'population', 'batch'.*did you mean 'population'"
    ):
        grpo_advantages([1, 0], normalize="popultion")
    with pytest.raises(ValueError, match="normalize must be one of"):
        grpo_advantages([1, 0], normalize=[])


def test_a_whole_number_beyond_floats_is_refused_as_too_large():
    with pytest.raises(ValueError, match="at most 1e100"):
        grpo_advantages([10**400, 0])


def test_truth_values_count_as_rewards():
    assert grpo_advantages([True, False], False) == [0.5, -0.5]


def test_report_shows_groups_and_what_is_unscored():
    report = group_report([1, 1, 1, 0, None, 1], 2, prompts=["A", "A", "B", "B", "C", "C"])
    assert report.frac_reward_zero_std == pytest.approx(2 / 3)  # A is equal, C has one scored completion
    assert (report.unscored, report.reward) == (1, pytest.approx(0.8))
    assert report["groups"][1] == {
        "prompt": "B",
        "rewards": [1, 0],
        "mean": 0.5,
        "std": pytest.approx(0.7071068),
    }
    assert "2 of 3 groups without signal, 1 unscored" in str(report)
    assert group_report([], 4).frac_reward_zero_std == 0.0


def test_sums_check_their_columns():
    with pytest.raises(ValueError, match=r"lengths \[2, 1\]"):
        sum_rewards([1, 2], [1])
    with pytest.raises(ValueError, match=r"weights must have one entry per reward column \(1\), got 2"):
        sum_rewards([1, 2], weights=[1, 2])
    with pytest.raises(ValueError, match="weights must be finite"):
        sum_rewards([1, 2], weights=[math.nan])
    assert sum_rewards([0.1, None], [0.2, math.nan], weights=[1, 2]) == [0.5, None]


# --- ratio, clip, KL ------------------------------------------------------------------------------------


def test_ratio_is_a_quotient_of_probabilities():
    assert ratio(math.log(0.13), math.log(0.10)) == pytest.approx(1.3)
    assert ratio(-1.0, -1.0) == 1.0
    assert ratio(0.0, -800.0) == math.inf
    with pytest.raises(ValueError, match="logp_new and logp_old"):
        ratio(math.nan, -1.0)


@pytest.mark.parametrize(
    ("r", "A", "expected"),
    [
        (1.3, 0.63, 1.2 * 0.63),  # good and already 30 % likelier: no more to gain
        (0.5, 0.63, 0.5 * 0.63),  # good but made rarer: full pull back
        (1.3, -1.47, 1.3 * -1.47),  # bad and likelier: full push down
        (0.5, -1.47, 0.8 * -1.47),  # bad and already rarer: no more to gain
        (5.0, 0.0, 0.0),
    ],
)
def test_clip_by_hand(r, A, expected):
    assert clipped_objective(r, A) == pytest.approx(expected)


def test_clip_higher_moves_only_the_upper_side():
    assert clipped_objective(1.5, 1.0, 0.2, epsilon_high=0.28) == pytest.approx(1.28)
    assert clipped_objective(0.5, -1.0, 0.2, epsilon_high=0.28) == pytest.approx(-0.8)


@few
@given(st.floats(0, 10), st.floats(-3, 3), st.floats(0, 1))
def test_clip_is_a_pessimistic_bound_and_flat_beyond_it(r, A, epsilon):
    value = clipped_objective(r, A, epsilon)
    assert value <= r * A + 1e-12
    if A > 0 and r > 1 + epsilon:
        assert value == clipped_objective(r + 1, A, epsilon)
    if A < 0 and r < 1 - epsilon:
        assert value == clipped_objective(r / 2, A, epsilon)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ratio": -1, "advantage": 1}, "ratio must be at least 0"),
        ({"ratio": math.nan, "advantage": 1}, "ratio must be at least 0"),
        ({"ratio": 1, "advantage": math.nan}, "advantage must be finite"),
        ({"ratio": 1, "advantage": 1, "epsilon": 20}, "epsilon must be between 0 and 1, got 20"),
        ({"ratio": 1, "advantage": 1, "epsilon_high": -1}, "epsilon_high must be at least 0"),
    ],
)
def test_clip_names_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        clipped_objective(**arguments)


POLICY, REFERENCE = [0.5, 0.3, 0.15, 0.05], [0.4, 0.2, 0.3, 0.1]
EXACT_KL = sum(p * math.log(p / q) for p, q in zip(POLICY, REFERENCE, strict=True))


def expectation(estimator):
    pairs = zip(POLICY, REFERENCE, strict=True)
    return sum(p * estimator(math.log(p), math.log(q)) for p, q in pairs)


def test_k1_and_k3_are_unbiased_and_k2_is_not():
    assert expectation(kl_k1) == pytest.approx(EXACT_KL)
    assert expectation(kl_k3) == pytest.approx(EXACT_KL)
    assert abs(expectation(kl_k2) - EXACT_KL) > 1e-3


def test_k3_scatters_less_than_k1_here():
    def spread(estimator):
        return math.sqrt(expectation(lambda a, b: estimator(a, b) ** 2) - expectation(estimator) ** 2)

    assert spread(kl_k3) < spread(kl_k1) / 3


def test_unbiasedness_shows_in_samples_too():
    rng = random.Random(11)
    draws = rng.choices(range(4), POLICY, k=20_000)
    mean = sum(kl_k3(math.log(POLICY[i]), math.log(REFERENCE[i])) for i in draws) / len(draws)
    assert mean == pytest.approx(EXACT_KL, abs=0.003)


def test_direction_is_reference_minus_policy():
    assert kl_k3(math.log(0.2), math.log(0.4)) == pytest.approx(2 - math.log(2) - 1)
    assert kl_k3(math.log(0.4), math.log(0.2)) == pytest.approx(0.5 + math.log(2) - 1)


@few
@given(st.floats(-30, 0), st.floats(-30, 0))
def test_k2_and_k3_are_never_negative(logp, logp_ref):
    assert kl_k2(logp, logp_ref) >= 0
    assert kl_k3(logp, logp_ref) >= 0
    assert kl_k1(logp, logp_ref) == pytest.approx(logp - logp_ref)


def test_k3_keeps_its_digits_for_tiny_drifts():
    assert kl_k3(-1.0, -1.0 + 1e-6) == pytest.approx(5e-13, rel=1e-3)
    assert kl_k3(-1.0, -math.inf) == math.inf
    assert kl_k3(-2000.0, -1.0) == math.inf
    assert str(kl_k1(-1.0, -1.0)) == "0.0"


# --- aggregation and loss -------------------------------------------------------------------------------

SHORT_AND_LONG = [[1.0] * 10, [0.0] * 40]


def test_who_counts_how_much():
    weights = {
        loss_type: aggregate(SHORT_AND_LONG, loss_type=loss_type, max_completion_length=64)
        for loss_type in grpo.LOSS_TYPES
    }
    assert weights == pytest.approx({"grpo": 0.5, "bnpo": 0.2, "dapo": 0.2, "dr_grpo": 10 / 128})


def test_bnpo_of_one_completion_at_a_time_is_grpo_and_dapo_is_not():
    rows = [[0.3, -0.1, 0.2], [1.0], [0.5, 0.5]]
    tokens = sum(map(len, rows))
    one_by_one = {
        kind: sum(aggregate([row], loss_type=kind, num_items=tokens) for row in rows)
        for kind in ("bnpo", "dapo")
    }
    assert one_by_one["bnpo"] / 3 == pytest.approx(aggregate(rows, loss_type="grpo"))
    assert one_by_one["dapo"] == pytest.approx(aggregate(rows, loss_type="dapo"))


def test_masked_tokens_do_not_exist():
    losses, mask = [[1.0, math.inf, 3.0], [5.0, math.nan, 7.0]], [[1, 0, 1], [1, 0, 0]]
    without = [[1.0, 3.0], [5.0]]
    for kind in grpo.LOSS_TYPES:
        assert aggregate(losses, mask, kind, max_completion_length=9) == pytest.approx(
            aggregate(without, loss_type=kind, max_completion_length=9)
        )


def test_fully_masked_completion_still_counts_as_a_row():
    assert aggregate([[1.0, 1.0], [9.0]], [[1, 1], [0]], "grpo") == 0.5
    assert aggregate([[9.0]], [[0]], "dapo") == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"per_token_losses": [[1.0]], "loss_type": "dappo"},
            "loss_type must be one of .*did you mean 'dapo'",
        ),
        ({"per_token_losses": [[1.0]], "loss_type": "dr_grpo"}, "needs max_completion_length"),
        ({"per_token_losses": [[1.0]], "mask": [[2]]}, "mask must hold 1 .* got 2"),
        ({"per_token_losses": [[1.0, 2.0]], "mask": [[1]]}, r"mask must have one entry per token.*got \[1\]"),
        ({"per_token_losses": []}, "at least one completion"),
    ],
)
def test_aggregate_names_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        aggregate(**arguments)


def test_loss_by_hand():
    new = [[math.log(0.13), math.log(0.5)], [math.log(0.2)]]
    old = [[math.log(0.10), math.log(0.5)], [math.log(0.2)]]
    loss = grpo_loss(new, old, [0.63, -1.47], loss_type="dapo")
    assert loss == pytest.approx(-(1.2 * 0.63 + 1.0 * 0.63 - 1.47) / 3)


def test_on_policy_the_value_is_minus_the_mean_advantage_but_the_slope_is_not_zero():
    logps, advantages = [[-1.0, -2.0], [-1.5, -0.5]], grpo_advantages([1, 0])
    assert grpo_loss(logps, logps, advantages) == pytest.approx(0)
    nudged = [[x + 1e-6 for x in logps[0]], logps[1]]
    slope = (grpo_loss(nudged, logps, advantages) - grpo_loss(logps, logps, advantages)) / 1e-6
    assert slope == pytest.approx(-advantages[0] / 2, rel=1e-3)


def test_sequence_level_gives_all_tokens_one_ratio():
    new, old = [[-1.0, -2.0]], [[-1.2, -2.4]]
    expected = -min(math.exp(0.3), 1.2) * 0.5
    assert grpo_loss(new, old, [0.5], importance_sampling_level="sequence") == pytest.approx(expected)


def test_kl_term_is_beta_times_k3():
    logps, ref = [[-1.0, -2.0]], [[-1.5, -1.5]]
    k3 = [kl_k3(a, b) for a, b in zip(logps[0], ref[0], strict=True)]
    loss = grpo_loss(logps, logps, [0.0], ref_logps=ref, beta=0.04)
    assert loss == pytest.approx(0.04 * sum(k3) / 2)


def test_loss_asks_for_what_it_needs():
    with pytest.raises(ValueError, match=r"beta=0.04 needs ref_logps"):
        grpo_loss([[-1.0]], [[-1.0]], [0.5], beta=0.04)
    with pytest.raises(ValueError, match="one entry per completion, got 2 for 1"):
        grpo_loss([[-1.0]], [[-1.0]], [0.5, 0.5])
    with pytest.raises(ValueError, match="old_logps must have one entry per token"):
        grpo_loss([[-1.0]], [[-1.0, -1.0]], [0.5])
    with pytest.raises(ValueError, match="did you mean 'sequence'"):
        grpo_loss([[-1.0]], [[-1.0]], [0.5], importance_sampling_level="sequences")


# --- batch ----------------------------------------------------------------------------------------------


def test_every_suggestion_passes_the_check():
    for per_device, world, steps, group in itertools.product(
        [1, 2, 3, 6, 10], [1, 2, 3], [1, 3, 4], [2, 4, 7, 8]
    ):
        verdict = check_batch(per_device, world, steps, group)
        assert verdict.ok == (per_device * world * steps % group == 0)
        assert verdict.ok or verdict.suggestions
        for suggestion in verdict.suggestions:
            name = next(iter(suggestion))
            setting = {
                "per_device": per_device,
                "world": world,
                "grad_accum": steps,
                "num_generations": group,
            }
            fixed = check_batch(**(setting | {name: suggestion[name]}))
            assert fixed.ok
            assert fixed.effective == suggestion["batch"]


def test_steps_per_generation_decides_if_given():
    verdict = check_batch(6, 1, 1, 8, steps_per_generation=4)
    assert (verdict.ok, verdict.generation_batch, verdict.effective) == (True, 24, 6)
    assert "steps_per_generation=4" in check_batch(6, 1, 1, 8, steps_per_generation=3).message


def test_verdict_reads_as_mapping_and_attribute():
    verdict = check_batch(2, 1, 4, 8)
    assert dict(verdict)["prompts_per_step"] == verdict.prompts_per_step == 1
    assert "message" in verdict
    with pytest.raises(AttributeError, match="did you mean 'message'"):
        verdict.massage
    assert pickle.loads(pickle.dumps(verdict)) == verdict


@pytest.mark.parametrize("bad", [2.0, "2", True, None])
def test_sizes_are_whole_numbers(bad):
    with pytest.raises(TypeError, match="per_device must be a whole number"):
        check_batch(bad, 1, 1, 8)
    with pytest.raises(TypeError, match="num_generations must be a whole number"):
        check_batch(8, 1, 1, bad)


def test_oom_proposals_stay_divisible_and_lose_no_completion():
    for per_device, steps, world, group in itertools.product(range(1, 18), [1, 2, 3], [1, 2, 3], [2, 5, 8]):
        for proposal in oom_advice(per_device, steps, world, group).advice:
            if isinstance(proposal, str):
                continue
            assert proposal["effective"] == proposal["per_device"] * world * proposal["grad_accum"]
            assert proposal["effective"] % group == 0
            assert proposal["effective"] >= per_device * steps * world
            assert proposal["per_device"] < per_device
            assert proposal["num_generations"] == group


def test_the_module_needs_the_standard_library_only(root):
    code = (
        "import sys, rl_lab.grpo; "
        "bad = {'torch', 'numpy', 'trl', 'threading', 'subprocess', 'socket'} & set(sys.modules); "
        "sys.exit(str(bad) if bad else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, '.'); {code}"],
        check=False,
        cwd=root,
    )
    assert done.returncode == 0


# --- what readers pass besides lists ----------------------------------------------------------------------


class Array:
    """Stands for a numpy array or a tensor: something that turns into lists of builtin numbers."""

    def __init__(self, values):
        self.values = values

    def tolist(self):
        return self.values


def test_arrays_are_taken_like_lists_in_one_and_two_dimensions():
    assert grpo_advantages(Array([1.0, 0.0]), False) == [0.5, -0.5]
    assert grpo_advantages(Array([[1, 0], [1, 1]]), False) == [[0.5, -0.5], [0.0, 0.0]]
    assert grpo_advantages([Array([1, 0]), Array([1, 1])], False) == [[0.5, -0.5], [0.0, 0.0]]
    assert batch_advantages(Array([1, 0, 1, 1]), Array([0, 0, 1, 1]), 2, False) == [0.5, -0.5, 0.0, 0.0]
    assert aggregate(Array([[1.0, 3.0]]), Array([[1, 0]])) == 1.0
    assert grpo_loss(Array([[-1.0]]), Array([[-1.0]]), Array([1.0])) == -1.0


def test_prompts_that_differ_only_deep_inside_are_different():
    long = list(range(2000))
    other = [*long[:1000], -1, *long[1001:]]  # repr() of an array would leave this place out
    prompts = [Array(long), Array(long), Array(other), Array(other)]
    assert batch_advantages([1, 0, 0, 1], prompts, 2, False) == [0.5, -0.5, -0.5, 0.5]


def test_whole_numbers_of_other_kinds_become_builtin_ones():
    class Count:
        def __index__(self):
            return 8

    verdict = check_batch(Count(), num_generations=Count())
    assert verdict.ok
    assert type(verdict.effective) is int
    json.dumps(verdict)


def test_kl_and_ratio_return_builtin_floats():
    for function in (ratio, kl_k1, kl_k2, kl_k3):
        assert type(function(Fraction(-1), Fraction(-2))) is float


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: grpo_advantages(None), "rewards must be a list, got NoneType"),
        (lambda: grpo_advantages("10"), "rewards must be a list, got str"),
        (lambda: grpo_advantages([[1, 0], [1, "a"]]), r"rewards\[1\]\[1\] must be a number or None"),
        (lambda: sum_rewards([1], ["a"]), r"columns\[1\]\[0\] must be a number or None"),
        (lambda: sum_rewards([1], weights=[None]), r"weights\[0\] must be a number, got None"),
        (lambda: sum_rewards([1], weights="1"), "weights must be a list, got str"),
        (lambda: batch_advantages([1, 0], None, 2), "prompts must be a list, got NoneType"),
        (lambda: kl_k3(None, -1.0), "logp must be a number, got None"),
        (lambda: ratio("-1", -1.0), "logp_new must be a number, got '-1'"),
        (lambda: clipped_objective(1.0, 1.0, epsilon=True), "epsilon must be a number, got True"),
        (lambda: aggregate([1.0, 2.0]), r"per_token_losses\[0\] must be a list"),
    ],
)
def test_what_is_no_number_or_list_is_named(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_a_nan_that_counts_is_refused_and_one_that_is_masked_is_not_looked_at():
    assert aggregate([[math.nan, 2.0]], [[0, 1]]) == 2.0
    with pytest.raises(ValueError, match=r"per_token_losses\[1\] must hold numbers where the mask counts"):
        aggregate([[1.0], [math.nan]])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None])
@pytest.mark.parametrize("where", [0, 1, 2], ids=["logps", "old_logps", "ref_logps"])
@pytest.mark.parametrize("level", ["token", "sequence"])
def test_what_stands_at_a_masked_token_has_no_part_in_the_loss(bad, where, level):
    def loss(filling):
        tables = [[[-1.0, 0.0], [-2.0, -0.5]], [[-1.5, 0.0], [-1.0, -0.7]], [[-1.2, 0.0], [-1.8, -0.1]]]
        tables[where][0][1] = filling
        logps, old, ref = tables
        kinds = {"ref_logps": ref, "beta": 0.1, "importance_sampling_level": level}
        return grpo_loss(logps, old, [1.0, -1.0], [[1, 0], [1, 1]], **kinds)

    assert loss(bad) == loss(-3.0)
    assert math.isfinite(loss(bad))


@pytest.mark.parametrize("beta", [-0.1, math.nan, math.inf])
def test_a_negative_or_endless_leash_is_refused(beta):
    with pytest.raises(ValueError, match="beta must be finite and at least 0"):
        grpo_loss([[-1.0]], [[-1.0]], [1.0], ref_logps=[[-1.0]], beta=beta)
