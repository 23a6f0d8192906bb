"""LoRA arithmetic: hand-worked numbers, the cases of class F, invariants."""

from __future__ import annotations

import json
import math
import re
import warnings
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_lab import lora
from rl_lab._models import Part
from rl_lab.lora import (
    PRESETS,
    ModelShape,
    break_even_rank,
    find_model,
    full_finetune_params,
    lora_forward,
    lora_params,
    memory,
    merge,
    model_lora_params,
    read_config,
    scaling,
)

CASES = [json.loads(line) for line in (Path(__file__).parent / "cases" / "F.jsonl").read_text().splitlines()]
quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)


def _call(case):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = getattr(lora, case["call"])(**case["input"])
    return value, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case):
    expected = dict(case["expected"])
    if "raises" in expected:
        with pytest.raises({"ValueError": ValueError, "TypeError": TypeError}[expected["raises"]]) as error:
            _call(case)
        assert re.search(expected["match"], str(error.value))
        return
    value, messages = _call(case)
    if "warns" in expected:
        pattern = expected.pop("warns")
        assert len(messages) == (pattern is not None), messages
        assert pattern is None or re.search(pattern, messages[0]), messages
    if case["call"] == "lora_params":
        d, k = case["input"]["d"], case["input"]["k"]
        full = full_finetune_params(d, k)
        value = {
            "params": value,
            "full": full,
            "ratio": full / value,
            "break_even_rank": break_even_rank(d, k),
        }
    if set(expected) == {"value"}:
        assert value == expected["value"]
    else:
        assert {key: value[key] for key in expected} == expected


# One matrix


def test_full_tuning_of_the_lab_matrix_trains_every_number():
    assert full_finetune_params(4096, 4096) == 16_777_216


@pytest.mark.parametrize(
    ("r", "count", "times"), [(4, 32_768, 512), (8, 65_536, 256), (16, 131_072, 128), (64, 524_288, 32)]
)
def test_lab_4_table(r, count, times):
    assert lora_params(4096, 4096, r) == count
    assert full_finetune_params(4096, 4096) / count == times


@pytest.mark.parametrize(("alpha", "r", "factor"), [(8, 8, 1), (16, 8, 2), (32, 8, 4), (32, 16, 2)])
def test_lab_4_scaling(alpha, r, factor):
    assert scaling(alpha, r) == factor
    assert type(scaling(alpha, r)) is float


def test_four_square_projections_in_32_layers_and_the_two_percentages():
    naive = 32 * 4 * lora_params(4096, 4096, 8)
    assert naive == 8_388_608
    assert round(100 * naive / 7e9, 3) == 0.120
    assert model_lora_params("Llama-2-7B", "attention", 8)["percent"] == 0.1243


def test_a_rank_from_the_literature_warns_of_nothing(recwarn):
    lora_params(4096, 4096, 256)
    assert not recwarn


def test_warning_points_at_the_callers_line():
    with pytest.warns(UserWarning, match="rank 3 saves nothing on a 4x4 matrix: A and B hold 24") as caught:
        lora_params(4, 4, 3)
    assert caught[0].filename == __file__


sizes = st.integers(1, 5000)


@quick
@given(d=sizes, k=sizes, r=st.integers(1, 500))
def test_lora_params_is_symmetric_linear_in_r_and_warns_just_above_break_even(d, k, r):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        count = lora_params(d, k, r)
    assert count == r * lora_params_quiet(k, d, 1)
    assert bool(caught) == (count > full_finetune_params(d, k)) == (r > break_even_rank(d, k))


def lora_params_quiet(d, k, r):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lora_params(d, k, r)


def test_rank_one_beside_a_vector_already_costs_more():
    assert break_even_rank(4096, 1) == 0


# Scaling, forward, merge


@pytest.mark.parametrize("alpha", [float("nan"), float("inf"), -1.0])
def test_alpha_must_be_finite_and_positive(alpha):
    with pytest.raises(ValueError, match="alpha must be a finite number above 0"):
        scaling(alpha, 8)


def test_alpha_may_be_a_fraction():
    assert scaling(Fraction(1, 2), 2) == 0.25


@quick
@given(alpha=st.floats(0.1, 100), r=st.integers(1, 512))
def test_rslora_is_stronger_by_the_square_root_of_the_rank(alpha, r):
    assert math.isclose(scaling(alpha, r, rslora=True), scaling(alpha, r) * math.sqrt(r))


def test_doubling_rank_and_alpha_keeps_the_factor_and_doubling_rank_alone_halves_it():
    assert scaling(32, 16) == scaling(16, 8) == 2 * scaling(16, 16)


def test_four_by_four_worked_example_of_the_chapter():
    W = [[2, 0, 1, 0], [0, 1, 0, 3], [1, 0, 0, 1], [0, 2, 1, 0]]
    A, B = [[1, 0, 2, 1]], [[1], [0], [2], [1]]
    assert merge(W, A, B, alpha=1) == [[3, 0, 3, 1], [0, 1, 0, 3], [3, 0, 4, 3], [1, 2, 3, 1]]


def test_merge_leaves_the_frozen_matrix_alone():
    W = [[1, 2], [3, 4]]
    merged = merge(W, [[1, 1]], [[1], [1]], alpha=1)
    assert W == [[1, 2], [3, 4]]
    assert all(type(value) is float for row in merged for value in row)


numbers = st.floats(-8, 8, width=16)


@quick
@given(data=st.data(), d=st.integers(1, 5), k=st.integers(1, 5), r=st.integers(1, 4), rslora=st.booleans())
def test_merging_changes_nothing_in_the_output(data, d, k, r, rslora):
    def draw(rows, columns):
        return [[data.draw(numbers) for _ in range(columns)] for _ in range(rows)]

    W, A, B, x = draw(d, k), draw(r, k), draw(d, r), draw(1, k)[0]
    beside = lora_forward(x, W, A, B, 16, r, rslora)
    merged = [sum(w * v for w, v in zip(row, x, strict=True)) for row in merge(W, A, B, 16, r, rslora)]
    assert beside == pytest.approx(merged, rel=1e-9, abs=1e-6)


@quick
@given(data=st.data(), d=st.integers(1, 4), k=st.integers(1, 4), r=st.integers(1, 3))
def test_a_zero_b_changes_nothing_at_step_0(data, d, k, r):
    W = [[data.draw(numbers) for _ in range(k)] for _ in range(d)]
    A = [[data.draw(numbers) for _ in range(k)] for _ in range(r)]
    assert merge(W, A, [[0] * r for _ in range(d)], alpha=16) == W


def test_numpy_arrays_merge_too():
    numpy = pytest.importorskip("numpy", reason="numpy is an extra")
    rng = numpy.random.default_rng(0)
    W, A, B = rng.normal(size=(3, 4)), rng.normal(size=(2, 4)), rng.normal(size=(3, 2))
    assert numpy.allclose(merge(W, A, B, 16, numpy.int64(2)), W + 8 * B @ A)


@pytest.mark.parametrize(
    ("W", "message"),
    [([], "W must have rows"), ([[1, 2], [3]], r"lengths \[1, 2\]"), ([[]], "at least one")],
    ids=["empty", "ragged", "no columns"],
)
def test_a_matrix_that_is_none_is_refused(W, message):
    with pytest.raises(ValueError, match=message):
        merge(W, [[1, 1]], [[1], [1]], alpha=1)


def test_forward_checks_its_input():
    with pytest.raises(ValueError, match="x must hold 2 numbers, one per column of W, got 3"):
        lora_forward([1, 2, 3], [[1, 2]], [[1, 1]], [[1]], alpha=1)


# Whole models


PUBLISHED = {
    "GPT-2 small": 124_439_808,
    "SmolLM2-135M": 134_515_008,
    "Qwen2.5-0.5B": 494_032_768,
    "Qwen3-0.6B": 596_049_920,
    "Qwen2.5-1.5B": 1_543_714_304,
    "Phi-3-mini": 3_821_079_552,
    "Llama-2-7B": 6_738_415_616,
    "CodeLlama-7B": 6_738_546_688,
    "Mistral-7B": 7_241_732_096,
    "Qwen2.5-7B": 7_615_616_512,
    "Llama-3-8B": 8_030_261_248,
}


def test_every_preset_has_the_size_its_makers_publish():
    assert {name: shape.params for name, shape in PRESETS.items()} == PUBLISHED


@pytest.mark.parametrize("name", PRESETS)
def test_the_layers_of_a_count_sum_to_the_whole(name):
    count = model_lora_params(name, "all-linear", r=8)
    assert sum(count["per_target"].values()) == count["trainable"]
    assert count["all"] == count["base"] + count["trainable"]
    halves = [model_lora_params(name, part, r=8)["trainable"] for part in ("attention", "mlp")]
    assert sum(halves) == count["trainable"]


@pytest.mark.parametrize(
    ("model", "count", "percent"),
    [
        ("Llama-3-8B", 6_815_744, 0.0848),
        ("Qwen2.5-7B", 5_046_272, 0.0662),
        ("Qwen2.5-0.5B", 1_081_344, 0.2184),
    ],
)
def test_grouped_query_attention_counts_of_the_chapter(model, count, percent):
    found = model_lora_params(model, ["q", "k", "v", "o"], r=8)
    assert (found["trainable"], found["percent"]) == (count, percent)


def test_square_formula_is_23_percent_too_high_for_llama_3():
    naive = 32 * 4 * lora_params(4096, 4096, 8)
    assert round(100 * (naive / model_lora_params("Llama-3-8B", "attention", 8)["trainable"] - 1)) == 23


def test_names_short_and_long_and_twice_count_once():
    once = model_lora_params("Llama-3-8B", ["q"], r=8)
    assert model_lora_params("Llama-3-8B", ["q", "q_proj", "self_attn.q_proj"], r=8) == once
    assert model_lora_params("Llama-3-8B", "q_proj", r=8) == once


def test_embedding_and_output_layer_can_be_targets():
    assert model_lora_params("Llama-2-7B", ["embed_tokens"], r=8)["trainable"] == 8 * (32_000 + 4096)
    assert model_lora_params("Llama-2-7B", ["lm_head"], r=8)["per_target"] == {"lm_head": 8 * (32_000 + 4096)}


@pytest.mark.parametrize(
    ("model", "targets", "named"),
    [
        ("Qwen2.5-0.5B", ["q", "lm_head"], "lm_head"),
        ("SmolLM2-135M", ["embed_tokens"], "embed_tokens"),
        ("SmolLM2-135M", ["lm_head", "embed_tokens", "v"], "embed_tokens and lm_head"),
        ("GPT-2 small", ["wte"], "wte"),
    ],
)
def test_a_tied_matrix_as_a_target_is_warned_about(model, targets, named):
    with pytest.warns(
        UserWarning, match=f"targets holds {named}, but embedding and output layer of {model} are one"
    ):
        model_lora_params(model, targets, r=8)


@pytest.mark.parametrize(
    ("model", "targets"),
    [
        ("Llama-2-7B", ["lm_head", "embed_tokens"]),
        ("Qwen2.5-0.5B", "all-linear"),
        ("GPT-2 small", ["wpe", "attn.c_attn"]),
    ],
)
def test_a_target_that_is_not_tied_is_counted_without_a_word(model, targets, recwarn):
    model_lora_params(model, targets, r=8)
    assert not recwarn.list


def test_gpt2_keeps_its_two_c_proj_apart():
    count = model_lora_params("GPT-2 small", ["c_proj"], r=8)["per_target"]
    assert count == {"attn.c_proj": 147_456, "mlp.c_proj": 368_640}


def test_every_norm_can_be_saved_by_the_end_of_its_name():
    with pytest.warns(UserWarning, match="copies 65,536 parameters in full"):
        count = model_lora_params("Qwen3-0.6B", ["q"], r=1, modules_to_save="norm")
    assert count["trainable"] == 86_016 + 65_536


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("Lama-3-8B", "unknown model 'Lama-3-8B'; did you mean 'Llama-3-8B'"),
        ("", "unknown model ''; Choices: GPT-2 small, SmolLM2-135M"),
        ({"layers": 2, "hiden": 8}, "no 'hiden'; did you mean 'hidden'"),
        ({"layers": 2, "hidden": 8}, "lacks heads, intermediate, vocab"),
        ({"model_type": "mixtral"}, "model_type 'mixtral' cannot be counted"),
    ],
    ids=["typo", "empty", "field", "missing", "mixture of experts"],
)
def test_an_unknown_model_lists_what_there_is(model, message):
    with pytest.raises(ValueError, match=message):
        find_model(model)


def test_a_model_of_another_kind_is_refused():
    with pytest.raises(TypeError, match="name, a ModelShape or a config dict, got int"):
        model_lora_params(7, "attention", 8)


@pytest.mark.parametrize(
    "name",
    ["Qwen/Qwen2.5-0.5B-Instruct", "qwen2.5-0.5b", "QWEN2.5-0.5B-INSTRUCT"],
    ids=["hub", "lower", "upper"],
)
def test_owner_case_and_instruct_do_not_matter(name):
    assert find_model(name) is PRESETS["Qwen2.5-0.5B"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("q_porj", "targets names 'q_porj', which Llama-3-8B does not have; did you mean 'q_proj'"),
        ("qkv", r"not fused here; target \['q_proj', 'k_proj', 'v_proj'\]"),
        ("attn", "did you mean 'attention'"),
        (
            "zzz",
            "Choices: q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, embed_tokens, lm_head, att",
        ),
        ("input_layernorm", "does not have"),
    ],
)
def test_an_unknown_target_suggests_the_closest(target, message):
    with pytest.raises(ValueError, match=message):
        model_lora_params("Llama-3-8B", [target], r=8)


def test_one_wrong_name_among_right_ones_is_not_skipped():
    with pytest.raises(ValueError, match="'value'"):
        model_lora_params("Llama-3-8B", ["q", "value"], r=8)


def test_a_target_must_be_a_string():
    with pytest.raises(TypeError, match="targets must hold names, got 3"):
        model_lora_params("Llama-3-8B", ["q", 3], r=8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": 32, "kv_heads": 5}, "heads must be a multiple of kv_heads, got 32 and 5"),
        ({"layers": 0}, "layers must be at least 1, got 0"),
        ({"family": "lama"}, "unknown family 'lama'; did you mean 'llama'"),
        ({"biases": ("w",)}, "unknown bias 'w'"),
    ],
)
def test_a_shape_checks_its_numbers(change, message):
    good = {"layers": 2, "hidden": 64, "heads": 4, "intermediate": 128, "vocab": 100}
    with pytest.raises(ValueError, match=message):
        ModelShape(**good | change)


def test_a_config_without_a_size_says_which():
    with pytest.raises(KeyError, match="config has no 'vocab_size'"):
        read_config({"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1,
                     "intermediate_size": 8})  # fmt: skip


def test_a_bias_counts_in_the_size_of_a_part():
    assert Part("q_proj", "q", 3, 5, copies=2, bias=True).size == 2 * (15 + 5)


# Memory


def test_full_tuning_costs_16_bytes_a_parameter():
    account = memory("Llama-2-7B")
    assert account["weights"] == account["gradients"] == 2 * 6_738_415_616
    assert account["optimizer"] == 12 * 6_738_415_616
    assert account["total"] == 16 * 6_738_415_616
    assert account["saved_mb"] == 2 * 6738.415616


def test_lora_pays_16_bytes_only_for_the_adapter():
    account = memory("Llama-2-7B", "lora", r=8, targets="attention")
    assert account["trained"] == 8_388_608
    assert account["total"] == 2 * 6_738_415_616 + 16 * 8_388_608
    assert account["saved_mb"] == 4 * 8.388608


@pytest.mark.parametrize("mode", ["full", "lora", "qlora"])
@pytest.mark.parametrize("optimizer", ["adamw", "adamw_8bit", "sgd"])
@pytest.mark.parametrize("weights", ["bf16", "fp16", "fp32"])
def test_the_parts_of_an_account_sum_and_are_whole_bytes(mode, optimizer, weights):
    account = memory("Qwen2.5-0.5B", mode, optimizer=optimizer, weights=weights)
    assert account["total"] == account["weights"] + account["gradients"] + account["optimizer"]
    assert all(type(account[key]) is int for key in ("weights", "gradients", "optimizer", "total", "trained"))


def test_four_bits_shrink_the_blocks_and_not_the_embeddings():
    shape = find_model("Llama-2-7B")
    matrices = sum(part.size for part in shape.linears())
    account = memory("Llama-2-7B", "qlora", r=1, targets=["q"], adapter="bf16")
    base = account["weights"] - 2 * 32 * (4096 + 4096)
    assert base == 2 * (shape.params - matrices) + round(matrices * 4.126953125 / 8)


def test_pure_16_bit_training_costs_8_bytes():
    assert memory("Qwen3-0.6B", master_weights=False)["total"] == 8 * 596_049_920


def test_a_full_copy_is_trained_and_stored_with_the_adapter():
    account = memory("Qwen3-0.6B", "lora", r=16, targets=["q", "v"], modules_to_save=["lm_head"])
    assert account["trained"] == 157_876_224
    assert account["saved_mb"] == pytest.approx((4 * 2_293_760 + 2 * 155_582_464) / 1e6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": "loar"}, "mode is 'loar'; did you mean 'lora'"),
        ({"optimizer": "adam"}, "optimizer is 'adam'; did you mean 'adamw'"),
        ({"weights": "int4"}, "weights is 'int4'; "),
        ({"adapter": "bf61"}, "adapter is 'bf61'; did you mean 'bf16'"),
    ],
)
def test_an_unknown_setting_of_memory_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        memory("Llama-2-7B", **change)


def test_lab_prints_the_table_in_80_columns(capsys):
    from rl_lab.labs.lora import main

    main()
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    for figure in ("16,777,216", "32,768", "512x", "65,536", "131,072", "524,288", "8,388,608", "0.120", "0.1243",
                   "6,815,744", "5,046,272", "1,081,344"):  # fmt: skip
        assert figure in text
