"""Chapter 9 says nothing that its own cells do not show."""

from __future__ import annotations

import pytest

from rl_lab import lora
from tests.notebooks import ROOT, namespace, one_line

np = pytest.importorskip("numpy", reason="the chapter computes with numpy")
pytestmark = pytest.mark.notebook  # its cells train small models: about ten seconds

PATH = ROOT / "notebooks" / "09_lora.ipynb"
QKVO = ["q", "k", "v", "o"]


@pytest.fixture(scope="module")
def page() -> dict:
    """Names that the notebook's cells define: they run here in one process, figures as plain text."""
    return namespace(PATH)


@pytest.fixture(scope="module")
def prose() -> str:
    """All Markdown of the notebook on one line."""
    return one_line(PATH)


@pytest.fixture(scope="module")
def losses(page) -> dict:
    """Loss on unseen pages of each model that the chapter trains."""
    found = {name: page["loss"](page[name], page["unseen"]) for name in ("base", "full")}
    found |= {r: page["loss"](W, page["unseen"]) for r, W in page["tuned"].items()}
    return found | {("cut", r): value for r, value in zip(page["CUTS"], page["CUT_LOSS"], strict=True)}


# Counting


def test_the_product_by_hand_is_the_adapter_of_the_package(page):
    B, A = [[1, 0], [0, 1], [2, 0], [1, 1]], [[1, 0, 2, 1], [0, 3, 0, 1]]
    zeros = [[0] * 4 for _ in range(4)]
    assert page["product"](B, A) == lora.merge(zeros, A, B, alpha=2)


def test_the_table_of_ranks_is_computed(prose):
    assert f"| full tuning | {lora.full_finetune_params(4096, 4096):,} | |" in prose
    for r in (4, 8, 16, 64):
        count = lora.lora_params(4096, 4096, r)
        assert f"| $r$ = {r} | {count:,} | {4096 * 4096 // count} |" in prose


def test_the_figure_of_one_matrix_counts_as_the_package_does(page):
    shown = page["one_matrix"](d=4096, k=1024, r=64)
    assert shown["trained"] == lora.lora_params(4096, 1024, 64)
    assert shown["full"] == lora.full_finetune_params(4096, 1024)
    assert shown["LoRA"][shown["x"].index(64)] == shown["you"][1] == shown["trained"]


def test_the_first_figure_opens_on_what_the_text_below_it_says(page, prose):
    shown = page["one_matrix"]()
    assert f"{shown['trained']:,} numbers in place of {shown['full']:,}" in prose
    assert f", {shown['times fewer']:.0f} times fewer. How can so few" in prose


def test_the_lines_cross_at_half_the_side_of_a_square(page, prose):
    assert "at half the side for a square" in prose
    shown = page["one_matrix"](d=1024, k=1024)
    assert shown["LoRA"][shown["x"].index(512)] == shown["full"]
    assert shown["break-even"] == 512


def test_whole_models_have_the_counts_and_shares_of_the_page(page, prose):
    assert page["naive"] == 8_388_608
    assert "8,388,608, which many texts call 0.120 %" in prose
    assert "Same adapter, 0.1243 %" in prose
    llama = lora.model_lora_params("Llama-3-8B", QKVO, 8)["trainable"]
    assert f"{llama:,}. Its 32 query heads share 8 key and value heads" in prose
    assert f"says {100 * (page['naive'] / llama - 1):.0f} % too much" in prose
    assert round(lora.find_model("Llama-2-7B").params / 1e9, 2) == 6.74
    assert 'The "7B" has 6.74 billion' in prose


def test_both_qwen_models_of_the_list_have_grouped_heads(prose):
    assert "The two Qwen models are built the same way" in prose
    for name in ("Qwen2.5-7B", "Qwen2.5-0.5B"):
        assert lora.find_model(name).kv_heads < lora.find_model(name).heads


def test_the_three_surprises_are_as_told(page, prose):
    assert (
        lora.model_lora_params("GPT-2 small", ["c_attn"], 8)["trainable"] == 8 * (768 + 2304) * 12 == 294_912
    )
    assert "= 294,912" in prose
    assert f"From {page['small']['percent']:.2f} % to {page['large']['percent']:.2f} %" in prose
    copied = lora.memory("Qwen3-0.6B", "lora", r=16, targets=["q", "v"], modules_to_save=["lm_head"])
    assert 200 < copied["saved_mb"] < 1000  # "hundreds"
    assert "the few megabytes of adapter become hundreds" in prose
    assert lora.memory("Qwen3-0.6B", "lora", r=16, targets=["q", "v"])["saved_mb"] < 10


# Scaling and merging


def test_factors_by_habit(page, prose):
    assert "The factor falls from 4 to 2" in prose
    assert (lora.scaling(32, 8), lora.scaling(32, 16)) == (4, 2)
    shown = page["habits"](alpha=32)
    assert shown["fixed"] == [lora.scaling(32, r) for r in shown["x"]]
    assert shown["twice"] == [lora.scaling(2 * r, r) for r in shown["x"]]


def test_random_strips_fade_by_the_root_of_the_rank(page):
    for r, size in page["measured"].items():
        assert 16 / r**0.5 * size == pytest.approx(16, rel=0.05)


def test_the_worked_merge_changes_nothing(page):
    W, A, x = [[2, 0, 1, 0], [0, 1, 0, 3], [1, 0, 0, 1], [0, 2, 1, 0]], [[1, 0, 2, 1]], [1, 2, 3, 4]
    assert lora.lora_forward(x, W, A, page["zeros"], alpha=2) == [5, 14, 5, 7]
    merged = lora.merge(W, A, page["trained"], alpha=2)
    assert [sum(w * v for w, v in zip(row, x, strict=True)) for row in merged] == [27, 14, 49, 29]


# Memory


def test_memory_of_the_page(prose):
    def total(mode, r=16):
        return lora.memory("Llama-3-8B", mode, r=r)["total"] / 1e9

    assert f"{total('full'):.1f} GB become {total('lora'):.1f}" in prose
    assert f"Not half a percent, but {100 * total('lora') / total('full'):.0f} %" in prose
    assert f"leaves {total('qlora'):.1f}" in prose
    assert f"LoRA goes from {total('lora', 8):.1f} GB to {total('lora', 64):.1f}" in prose
    assert f"{lora.memory('Llama-3-8B', 'lora', r=8)['saved_mb']:.0f} MB at $r$ = 8" in prose
    assert f"fully tuned model is {lora.memory('Llama-3-8B')['saved_mb'] / 1000:.0f} GB" in prose
    assert (
        round(lora.model_lora_params("Llama-3-8B", "all-linear", 16)["percent"], 1) == 0.5
    )  # "half a percent"
    assert f"{total('full'):.1f} GB to {total('lora'):.1f} for Llama-3-8B" in prose


def test_the_memory_figure_shows_the_package_s_account(page):
    shown = page["whole_model"]("Qwen2.5-7B", "attention", 8)
    count, account = (
        lora.model_lora_params("Qwen2.5-7B", QKVO, 8),
        lora.memory("Qwen2.5-7B", "lora", r=8, targets=QKVO),
    )
    assert (shown["trained"], shown["share"]) == (count["trainable"], count["percent"])
    assert shown["adapter"] == account["saved_mb"]
    assert shown["LoRA"] == account["total"] / 1e9
    bars = [shown[part][1] for part in ("weights", "gradients", "optimizer")]
    assert sum(bars) * count["base"] == pytest.approx(account["total"])
    assert [shown[part][0] for part in ("weights", "gradients", "optimizer")] == [2, 2, 12]


def test_all_linear_layers_cost_three_times_attention_and_little_memory(prose):
    assert "all linear layers cost three times the parameters of attention alone" in prose
    every, attention = (
        lora.model_lora_params("Llama-3-8B", t, 16)["trainable"] for t in ("all-linear", "attention")
    )
    assert round(every / attention) == 3
    more, less = (lora.memory("Llama-3-8B", "lora", targets=t)["total"] for t in ("all-linear", "attention"))
    assert more / less < 1.03


# The model in numpy


def test_the_model_has_the_size_that_the_page_gives(page, prose):
    assert f"{sum(w.size for w in page['base']):,} weights" in prose
    assert f"{sum(4 * sum(w.shape) for w in page['base']):,} numbers in place of 82,944" in prose


def test_its_gradients_are_those_of_finite_differences(page):
    rng = np.random.default_rng(1)
    ids, y = page["task"][0][:20], page["task"][1][:20]
    x, r, s = page["spell"](ids), 2, 8.0
    A = [rng.normal(size=(r, w.shape[1])) * 0.01 for w in page["base"]]
    B = [rng.normal(size=(len(w), r)) * 0.01 for w in page["base"]]

    def loss_at(strips):
        W = [w + s * b @ a for w, a, b in zip(page["base"], strips[:3], strips[3:], strict=True)]
        return page["loss"](W, (ids, y))

    found = page["lora_gradients"](A + B, x, y, s)
    for which in range(6):
        spot = tuple(rng.integers(0, size) for size in (A + B)[which].shape)
        high, low = ([p.copy() for p in A + B] for _ in range(2))
        high[which][spot] += 1e-5
        low[which][spot] -= 1e-5
        slope = (loss_at(high) - loss_at(low)) / 2e-5
        assert found[which][spot] == pytest.approx(slope, rel=1e-4, abs=1e-7)


def test_with_b_at_zero_only_b_moves_and_with_both_at_zero_nothing(page, prose):
    assert "With both at zero, each strip's gradient is a product with the other" in prose
    x, y = page["spell"](page["task"][0][:20]), page["task"][1][:20]
    rng = np.random.default_rng(1)
    A, B = (
        [rng.normal(size=(2, w.shape[1])) for w in page["base"]],
        [np.zeros((len(w), 2)) for w in page["base"]],
    )
    found = page["lora_gradients"](A + B, x, y, 8.0)
    assert not any(g.any() for g in found[:3])
    assert all(g.any() for g in found[3:])
    assert not any(g.any() for g in page["lora_gradients"]([0 * a for a in A] + B, x, y, 8.0))


def test_fine_tuning_teaches_the_form(page, losses, prose):
    assert "falls from about 2.7 to about 0.3" in prose
    assert losses["base"] == pytest.approx(2.7, abs=0.1)
    assert losses["full"] == pytest.approx(0.3, abs=0.05)
    assert page["write"](page["base"]).startswith("You pay")
    for tuned in (page["full"], page["tuned"][4]):
        text = page["write"](tuned)
        assert "Final Answer:" in text
        assert "60-5=55" not in text  # "the sums are wrong"
    assert "Final Answer:" not in page["write"](page["tuned"][1])


def test_the_update_is_not_low_rank_but_less_random_than_noise(page, prose):
    missed, update, noise = page["missed"], page["updates"][1], page["noise"]
    assert "at rank 8 about 70 % of its size is still missing" in prose
    assert missed(update, 8) == pytest.approx(0.70, abs=0.03)
    assert missed(noise, 8) == pytest.approx(0.89, abs=0.02)
    assert all(missed(update, r) < missed(noise, r) for r in page["CUTS"])
    assert "half of the update's size is gone" in prose
    assert missed(update, 16) == pytest.approx(0.5, abs=0.05)


def test_cut_and_trained_ranks_end_where_the_page_says(losses, prose):
    assert "already down to about 0.4, from 2.7" in prose
    assert losses["cut", 16] == pytest.approx(0.4, abs=0.06)
    assert "cut* to rank 4 is at about 1.1" in prose
    assert losses["cut", 4] == pytest.approx(1.1, abs=0.08)
    assert "LoRA covers about 98 % of the way" in prose
    way = (losses["base"] - losses[4]) / (losses["base"] - losses["full"])
    assert way == pytest.approx(0.98, abs=0.012)
    assert all(losses[r] < losses["cut", r] for r in (1, 2, 4, 8, 16))


def test_lora_needs_about_three_times_the_rate_here(page, prose):
    assert "It needs about three times the rate to come to where full tuning is at 0.001" in prose
    found = {lr: [page["loss"](W, page["unseen"]) for W in pair] for lr, pair in page["by_rate"].items()}
    assert found[3e-3][1] == pytest.approx(found[1e-3][0], abs=0.04)
    assert all(strips > whole + 0.03 for whole, strips in found.values())
    lost = [found[lr][1] - found[lr][0] for lr in (3e-4, 1e-3, 3e-3)]
    assert lost == sorted(lost, reverse=True)  # "which column suffers more from a low rate"


def test_the_real_network_keeps_both_promises(page):
    assert np.array_equal(page["at_start"], page["plain"])
    assert np.allclose(page["merged"], page["beside"], atol=1e-10)


# Exercises


def test_the_largest_rank_of_the_solution(prose):
    assert "Llama-3-8B with 100 MB: rank 9" in prose
    one = 4 * lora.model_lora_params("Llama-3-8B", "all-linear", 1)["trainable"]
    assert 9 * one <= 100e6 < 10 * one
