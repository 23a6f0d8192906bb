"""What one GRPO step needs: hand-worked numbers, invariants, and what torch and TRL really save."""

from __future__ import annotations

import re

import pytest

from rl_lab.footprint import PRECISIONS, footprint, saved_per_token
from rl_lab.lora import ModelShape, memory
from rl_lab.train.seeds import read_record

TINY = ModelShape(layers=2, hidden=64, heads=2, intermediate=192, vocab=1129, tied=True)
GROUPED = ModelShape(layers=2, hidden=64, heads=4, kv_heads=2, intermediate=192, vocab=500, tied=True)


def test_one_token_in_one_block_by_hand():
    h, q, kv, m, a = 64, 64, 32, 192, 4
    assert saved_per_token(GROUPED, "fp32") == 24 * h + 8 * q + 8 * kv + 16 * m + 4 * (a + 2) == 5400
    assert saved_per_token(GROUPED, "bf16=True") == 26 * h + 4 * (q + kv) + 8 * m + 4 * (a + 2) == 3608
    assert saved_per_token(GROUPED, "bf16 weights") == 16 * h + 4 * (q + kv) + 8 * m + 4 * (a + 2) == 2968


def test_a_whole_step_by_hand():
    f = footprint(TINY, per_device=4, steps=2, prompt_tokens=10, completion_tokens=20, precision="fp32")
    n = TINY.params
    assert (f.weights, f.gradients, f.optimizer) == (4 * n, 4 * n, 8 * n)
    block = 4 * 30 * saved_per_token(TINY, "fp32") + 4 * 30 * 30 * 4
    assert f.activations == 2 * block + 4 * 30 * 64 * 12
    assert f.logits == 4 * 30 * 1129 * 4
    assert f.cache == 8 * (30 * 2 * 2 * 64 * 4 + 4 * 1129)
    assert f.in_update == 16 * n + f.activations + f.logits
    assert f.in_generation == 12 * n + f.cache
    assert f.peak == max(f.in_update, f.in_generation)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("mode", ["full", "lora"])
def test_smaller_passes_and_shorter_completions_need_less(precision, mode):
    def peak(**changes):
        settings = {
            "per_device": 16,
            "steps": 1,
            "completion_tokens": 512,
            "precision": precision,
            "mode": mode,
        }
        return footprint("Qwen2.5-0.5B", **settings | changes).in_update

    assert peak(per_device=4, steps=4) < peak(per_device=8, steps=2) < peak()
    assert peak(completion_tokens=256) < peak()
    assert peak(checkpointing=True) < peak()


def test_what_a_process_writes_does_not_depend_on_how_it_is_cut_into_passes():
    caches = {footprint("Qwen2.5-0.5B", per_device=32 // steps, steps=steps).cache for steps in (1, 2, 4, 32)}
    assert len(caches) == 1


def test_parameters_are_counted_as_in_chapter_9():
    f = footprint("Llama-3-8B", mode="lora", r=8, precision="bf16 weights")
    held = memory("Llama-3-8B", "lora", r=8, master_weights=False)
    assert (f.weights, f.gradients, f.optimizer) == (held["weights"], held["gradients"], held["optimizer"])
    full = footprint("Llama-3-8B", reference=True)
    assert full.weights == 2 * footprint("Llama-3-8B").weights
    assert (
        footprint("Llama-3-8B", mode="lora", reference=True).weights
        == footprint("Llama-3-8B", mode="lora").weights
    )


def test_logits_in_tiles_stay_below_a_bound_and_whole_ones_do_not():
    tiles = [footprint("Qwen2.5-1.5B", per_device=b, completion_tokens=1024).logits for b in (8, 64)]
    assert tiles == [4096 * 32768 * 2] * 2
    whole = [
        footprint("Qwen2.5-1.5B", per_device=b, completion_tokens=1024, whole_logits=True).logits
        for b in (8, 64)
    ]
    assert whole[1] == 8 * whole[0] == 64 * 1024 * 151936 * 4


@pytest.mark.train
def test_the_tiles_are_those_of_the_installed_trl():
    utils = pytest.importorskip("trl.trainer.utils")
    from trl.kernels import chunked_logprob

    assert (chunked_logprob.TOKEN_CHUNK_SIZE, utils._CHUNKED_LOGPROB_CHUNK_SIZE) == (4096, 32768)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "Phi-3-mini"}, "must be of the Llama family .*, got Phi-3-mini"),
        ({"model": "Qwen3-0.6B"}, "must be of the Llama family"),
        ({"precision": "fp64"}, "precision is 'fp64'; .*Choices: fp32, bf16=True, bf16 weights"),
        ({"mode": "qlora"}, "mode is 'qlora'; did you mean 'lora'"),
        ({"per_device": 0}, "per_device must be at least 1, got 0"),
        ({"completion_tokens": -1}, "completion_tokens must be at least 1"),
    ],
)
def test_what_cannot_be_counted_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        footprint(**{"model": "Qwen2.5-0.5B"} | changes)


def test_half_a_completion_is_no_number_of_completions():
    with pytest.raises(TypeError, match="steps must be a whole number"):
        footprint("Qwen2.5-0.5B", steps=1.5)


@pytest.mark.parametrize(
    "label", ["as it was", "num_generations 4", "8 per device, 4 accumulated", "completions of 64", "bf16=True",
              "bf16 weights"],
)  # fmt: skip
def test_it_equals_what_trl_s_own_update_saved(label):
    row = next(row for row in read_record("15_memory")["rows"] if row["label"] == label)
    completions, prompt, completion = row["shape"]
    precision = label if label in PRECISIONS else "fp32"
    counted = footprint(
        TINY, per_device=completions, prompt_tokens=prompt, completion_tokens=completion, precision=precision
    )
    assert counted.activations == pytest.approx(row["bytes"], rel=0.01)


def test_lora_saves_about_as_much_for_the_backward_pass():
    rows = {row["label"]: row for row in read_record("15_memory")["rows"]}
    assert 0.9 < rows["LoRA"]["bytes"] / rows["as it was"]["bytes"] < 1


def saved_by_torch(layers: int, precision: str) -> int:
    """Bytes that autograd keeps for a forward pass of 4 x 64 tokens, parameters left out."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    sizes = {"hidden_size": 64, "intermediate_size": 192, "num_attention_heads": 4, "num_key_value_heads": 2}
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(vocab_size=500, num_hidden_layers=layers, **sizes)
    )
    model = model.to(torch.bfloat16 if precision == "bf16 weights" else torch.float32).train()
    ours, saved = {p.untyped_storage().data_ptr() for p in model.parameters()}, {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in ours:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    autocast = torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16=True")
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), autocast:
        out = model.model(input_ids=torch.zeros(4, 64, dtype=torch.long), use_cache=False)
        return sum(saved.values()) if out is not None else 0


@pytest.mark.train
@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_bytes_of_a_block_are_those_that_autograd_saves(precision):
    a_block = (saved_by_torch(4, precision) - saved_by_torch(2, precision)) / 2
    matrices = sum(part.d_in * part.d_out for part in GROUPED.linears())
    copies = 2 * matrices if precision == "bf16=True" else 0
    assert a_block == 4 * 64 * saved_per_token(GROUPED, precision) + copies


def test_the_docstring_names_every_key_it_returns():
    for key in footprint("Qwen2.5-0.5B"):
        assert re.search(rf"``{key}``", footprint.__doc__)
