"""The training monitor: it speaks when nothing is learned, says where to look, and is silent otherwise."""

from __future__ import annotations

import math

import pytest

from rl_lab.monitor import diagnose


def step(accuracy=0.0, std=0.0, **more):
    return {"rewards/accuracy/mean": accuracy, "rewards/accuracy/std": 0.0, "reward_std": std, **more}


def test_nineteen_silent_steps_are_not_yet_worth_a_word():
    assert diagnose([step()] * 19) == []
    assert len(diagnose([step()] * 20)) == 1


def test_silence_is_counted_from_the_end_and_a_signal_ends_it():
    assert diagnose([step()] * 30 + [step(0.3, 0.4)]) == []
    (text,) = diagnose([step(0.3, 0.4)] * 5 + [step()] * 25)
    assert text.startswith("no learning signal for 25 steps")


def test_the_log_itself_weighs_the_causes():
    (text,) = diagnose([step(1.0, **{"completions/clipped_ratio": 0.5})] * 20)
    assert "truncation: completions end before the answer (50% were cut)" in text
    assert "all-easy or all-hard prompts (accuracy is 1)" in text
    assert "labels" in text
    assert "marker mismatch" in text


def test_trls_share_of_silent_groups_outranks_the_mean_spread():
    assert diagnose([step(0.5, std=0.3, frac_reward_zero_std=1.0)] * 20)
    assert not diagnose([step(0.5, std=0.0, frac_reward_zero_std=0.9)] * 20)


def test_a_side_reward_that_climbs_alone_is_named():
    log = [step(0.0, std=0.2, **{"rewards/format/mean": 0.6})] * 20
    (text,) = diagnose(log)
    assert text.startswith("accuracy has been 0 for 20 steps while format is paid")
    assert diagnose(log[:19]) == []


def test_names_of_our_batch_rewards_are_understood():
    log = [{"rewards/batch_accuracy/mean": 0.0, "rewards/batch_format/mean": 1.0, "reward_std": 0.1}] * 20
    assert "while format is paid" in diagnose(log)[0]


def test_other_log_entries_and_missing_numbers_are_passed_over():
    log = [step() for _ in range(20)]
    log[10:10] = [{"eval_loss": 1.0}, {"train_runtime": 12.0}]
    assert "20 steps" in diagnose(log)[0]
    assert diagnose([]) == []
    assert diagnose([{"reward_std": math.nan, "completions/clipped_ratio": math.nan}] * 30) == []


def test_without_a_logged_spread_a_mean_at_the_end_of_the_range_tells_the_same():
    assert "20 steps" in diagnose([{"rewards/accuracy": 0.0, "rewards/format": 1.0}] * 20)[0]
    assert diagnose([{"rewards/accuracy": 0.5, "rewards/format": 1.0}] * 20) == []
    assert diagnose([{"frac_reward_zero_std": 1.0, "reward": 0.3}] * 20)


def test_a_nan_mean_points_at_the_labels():
    (text,) = diagnose([{"rewards/accuracy/mean": math.nan, "reward_std": 0.0}] * 20)
    assert "unreadable (a mean reward is NaN: every label of a batch was unusable)" in text


def test_a_run_in_which_nothing_could_be_scored_is_not_silent():
    """As TRL logs it when every reward is None; its share of silent groups is 0 then."""
    entry = {
        "rewards/accuracy/mean": math.nan,
        "rewards/accuracy/std": math.nan,
        "reward": math.nan,
        "reward_std": math.nan,
        "frac_reward_zero_std": 0.0,
    }
    (text,) = diagnose([entry] * 20)
    assert text.startswith("no learning signal for 20 steps: no completion could be scored;")
    assert "every label of a batch was unusable" in text
    assert diagnose([entry | {"rewards/format/mean": 0.5, "reward": 0.5, "reward_std": 0.2}] * 20) == []


def test_a_fine_that_acts_alone_is_named_too():
    log = [{"rewards/correctness_reward_func/mean": 0.0, "rewards/length/mean": -0.3, "reward_std": 0.2}] * 20
    assert "accuracy has been 0 for 20 steps while length is fined" in diagnose(log)[0]


@pytest.mark.parametrize("log", [None, 5, {"reward_std": 0.0}, ["loss"], "log"])
def test_what_is_no_log_is_named(log):
    with pytest.raises(TypeError, match="log must be a list of dicts, one per step, got"):
        diagnose(log)


def test_patience_is_checked():
    with pytest.raises(ValueError, match=r"patience must be at least 1 step, got 2\.5"):
        diagnose([], patience=2.5)
    assert diagnose([step()] * 3, patience=3)
    with pytest.raises(ValueError, match="patience must be at least 1 step, got 0"):
        diagnose([], patience=0)
