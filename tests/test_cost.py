"""Tokens, operations, hours and money: worked by hand, and in proportion."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_lab.cost import (
    generation_flops,
    generation_hours,
    gpu_hours,
    grpo_tokens,
    payback_months,
    prompt_cost,
    requests_to_pay_back,
    sft_tokens,
    training_flops,
)

FEW = settings(max_examples=50, deadline=None, derandomize=True)
AMOUNT = st.floats(0, 1e6, allow_nan=False)


def test_tokens_by_hand():
    assert sft_tokens(100, 300, 3) == 90_000
    run = grpo_tokens(10, 4, 8, 50, 150)
    assert (run.completions, run.generated, run.trained) == (320, 48_000, 64_000)
    assert sft_tokens(0, 300, 3) == grpo_tokens(0, 4, 8, 50, 150).trained == 0


@pytest.mark.parametrize(
    ("how", "each"),
    [
        ({}, 6),
        ({"lora": True}, 4),
        ({"checkpointing": True}, 8),
        ({"lora": True, "checkpointing": True, "reference": True}, 8),
    ],
)
def test_operations_a_parameter_and_token(how, each):
    assert training_flops(1e9, 1e3, **how) == each * 1e12
    assert generation_flops(1e9, 1e3) == 2e12


def test_hours_by_hand():
    # 3.6e17 operations at half of 1e14 a second: 7,200 seconds.
    assert gpu_hours(3.6e17, 100, 0.5) == pytest.approx(2)
    assert gpu_hours(0, 100) == 0


def test_few_completions_side_by_side_wait_for_the_memory():
    card = {"peak_tflops": 100, "bandwidth_tb": 1, "utilisation": 1}
    hours = [3600 * generation_hours(1e9, 1e6, parallel=b, **card) for b in (1, 2, 64, 100, 200, 1000)]
    # One token needs 2e9 bytes at 1e12 a second, shared by all: 2000 s, 1000 s, 31.25 s; and never under 20 s.
    assert hours == pytest.approx([2000, 1000, 31.25, 20, 20, 20])


def test_the_same_prompt_in_front_of_every_request():
    assert prompt_cost(1e6, 1000, 2.0) == 2000
    assert prompt_cost(1e6, 1000, 2.0, cached_share=0.5, cached_price=0.1) == pytest.approx(1100)


@pytest.mark.parametrize(
    ("one_off", "before", "after", "months"),
    [
        (12_000, 1000, 0, 12),
        (12_000, 1000, 500, 24),
        (1, 5, 5, None),
        (1, 5, 6, None),
        (0, 5, 5, 0),
        (0, 1, 2, None),
    ],
)
def test_months_until_it_has_paid(one_off, before, after, months):
    assert payback_months(one_off, before, after) == months


@FEW
@given(AMOUNT, AMOUNT, AMOUNT)
def test_at_payback_both_have_cost_the_same(one_off, before, after):
    months = payback_months(one_off, before, after)
    if months is None:
        assert after >= before
    elif months < 1e9:
        assert one_off + months * after == pytest.approx(months * before, rel=1e-6, abs=1e-6)


@FEW
@given(st.integers(1, 10**6), st.integers(2, 64), st.floats(1e6, 1e11), st.floats(1, 4000), st.booleans())
def test_the_size_of_the_model_and_the_length_cancel(completions, k, params, length, lora):
    requests = requests_to_pay_back(completions, k, lora=lora)
    run = generation_flops(params, completions * length)
    run += training_flops(params, completions * length, lora=lora)
    assert run == pytest.approx(requests * (k - 1) * generation_flops(params, length))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sft_tokens(-1, 300), ValueError, "examples must be at least 0, got -1"),
        (lambda: sft_tokens("7473", 300), TypeError, "examples must be a number, got '7473'"),
        (lambda: grpo_tokens(1, 1, 1, 1, float("inf")), ValueError, "completion_tokens must be finite"),
        (lambda: gpu_hours(1e15, 0), ValueError, "peak_tflops must be above 0.*an A100 has 312"),
        (lambda: gpu_hours(1e18, 312e12), ValueError, "peak_tflops must be at most 100000.*mind the unit"),
        (lambda: gpu_hours(1e18, 312, 0), ValueError, "utilisation must be above 0.*0.3 is a usual share"),
        (lambda: training_flops(7e9, 1e6, lora="no"), TypeError, "lora must be True or False"),
        (lambda: training_flops(10**400, 1e6), ValueError, "params must be a number a float can hold"),
        (lambda: gpu_hours(1e15, 100, 30), ValueError, "utilisation must be between 0 and 1, got 30"),
        (lambda: gpu_hours(1e15, 100, 0), ValueError, "utilisation must be above 0"),
        (
            lambda: generation_hours(1e9, 1, parallel=0, peak_tflops=1, bandwidth_tb=1),
            ValueError,
            "parallel must be at least 1, got 0",
        ),
        (lambda: prompt_cost(1, 1, 1, cached_share=2), ValueError, "cached_share must be between 0 and 1"),
        (lambda: payback_months(True, 1), TypeError, "one_off must be a number, got True"),
        (lambda: requests_to_pay_back(100, 1), ValueError, "k must be at least 2, got 1"),
        (lambda: requests_to_pay_back(100, 2.5), TypeError, "k must be a whole number"),
    ],
)
def test_errors_name_argument_rule_and_value(call, error, message):
    with pytest.raises(error, match=message):
        call()
