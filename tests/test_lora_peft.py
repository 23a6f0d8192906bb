"""Counts and bytes equal those of the installed PEFT, on the full shapes (meta device) and on a small real model."""

from __future__ import annotations

import dataclasses
import warnings

import pytest

from rl_lab.lora import PRESETS, find_model, memory, model_lora_params, read_config

torch = pytest.importorskip("torch", reason="torch is not installed: no contract test against PEFT")
transformers = pytest.importorskip("transformers", reason="transformers is not installed: no contract test")
peft = pytest.importorskip("peft", reason="peft is not installed: no contract test")

# The numbers of each config.json, written out: nothing is fetched.
SIZES = (
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "intermediate_size",
)
CONFIGS = {
    "GPT-2 small": ("GPT2", {"n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 50257}),
    "SmolLM2-135M": ("Llama", (30, 576, 9, 3, 1536), 49152, {"tie_word_embeddings": True}),
    "Qwen2.5-0.5B": ("Qwen2", (24, 896, 14, 2, 4864), 151936, {"tie_word_embeddings": True}),
    "Qwen3-0.6B": ("Qwen3", (28, 1024, 16, 8, 3072), 151936, {"tie_word_embeddings": True, "head_dim": 128}),
    "Qwen2.5-1.5B": ("Qwen2", (28, 1536, 12, 2, 8960), 151936, {"tie_word_embeddings": True}),
    "Phi-3-mini": ("Phi3", (32, 3072, 32, 32, 8192), 32064, {"pad_token_id": 0}),
    "Llama-2-7B": ("Llama", (32, 4096, 32, 32, 11008), 32000, {}),
    "CodeLlama-7B": ("Llama", (32, 4096, 32, 32, 11008), 32016, {}),
    "Mistral-7B": ("Mistral", (32, 4096, 32, 8, 14336), 32000, {}),
    "Qwen2.5-7B": ("Qwen2", (28, 3584, 28, 4, 18944), 152064, {}),
    "Llama-3-8B": ("Llama", (32, 4096, 32, 8, 14336), 128256, {}),
}
# Architectures and switches that no preset has.
OTHERS = {
    "Pythia-160m": ("GPTNeoX", (12, 768, 12, 12, 3072), 50304, {}),
    "Llama with every bias": ("Llama", (2, 64, 4, 2, 96), 100, {"attention_bias": True, "mlp_bias": True}),
    "Qwen3 with biases": ("Qwen3", (2, 64, 4, 2, 96), 100, {"attention_bias": True, "head_dim": 32}),
    "grouped Phi-3": ("Phi3", (2, 64, 8, 2, 96), 100, {"pad_token_id": 0}),
    "GPT-2 with a narrow MLP": (
        "GPT2",
        {"n_layer": 2, "n_embd": 64, "n_head": 4, "n_inner": 96, "vocab_size": 100},
    ),
}
# Target sets of ours, in PEFT's names, for the models with separate and with fused projections.
TARGETS = {
    "llama": {
        "attention": ["q_proj", "k_proj", "v_proj", "o_proj"],
        "mlp": ["gate_proj", "up_proj", "down_proj"],
        ("q", "v"): ["q_proj", "v_proj"],
    },
    "phi3": {
        "attention": ["qkv_proj", "o_proj"],
        "mlp": ["gate_up_proj", "down_proj"],
        ("qkv",): ["qkv_proj"],
    },
    "gpt2": {"attention": ["c_attn", "attn.c_proj"], "mlp": ["c_fc", "mlp.c_proj"], ("qkv",): ["c_attn"]},
    "gpt_neox": {"attention": ["query_key_value", "attention.dense"], ("qkv",): ["query_key_value"]},
}


def _config(spec):
    architecture, sizes, *rest = spec
    settings = sizes if isinstance(sizes, dict) else dict(zip(SIZES, sizes, strict=True))
    if rest:
        settings = settings | {"vocab_size": rest[0]} | rest[1]
    return architecture, getattr(transformers, architecture + "Config")(**settings)


def _build(spec, device="meta"):
    architecture, config = _config(spec)
    name = {"GPT2": "GPT2LMHeadModel"}.get(architecture, architecture + "ForCausalLM")
    with torch.device(device):
        return getattr(transformers, name)(config)


def _peft(model, targets, r, modules_to_save=None):
    config = peft.LoraConfig(
        task_type="CAUSAL_LM", r=r, target_modules=targets, modules_to_save=modules_to_save
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Conv1D and tied weights: PEFT talks, and we test the numbers
        with model.device:  # the adapter too stays without storage where the model has none
            return peft.get_peft_model(model, config)


def _counted(*arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model_lora_params(*arguments)


def _differences(spec, shape, ranks):
    """Target sets and ranks on which PEFT and we disagree: none."""
    wrong = {}
    for ours, theirs in (TARGETS[shape.family] | {"all-linear": "all-linear"}).items():
        for r in ranks:
            count, peft_count = _counted(shape, ours, r), _peft(_build(spec), theirs, r)
            if (count["trainable"], count["all"]) != peft_count.get_nb_trainable_parameters():
                wrong[ours, r] = (count, peft_count)
    return wrong


@pytest.mark.parametrize("name", CONFIGS)
def test_counts_of_every_preset_at_its_full_depth_equal_pefts(name):
    model = _build(CONFIGS[name])
    assert sum(weight.numel() for weight in model.parameters()) == PRESETS[name].params
    count = _counted(name, "all-linear", 8)
    assert (count["trainable"], count["all"]) == _peft(model, "all-linear", 8).get_nb_trainable_parameters()


@pytest.mark.parametrize("name", CONFIGS)
def test_counts_for_every_target_set_and_rank_equal_pefts(name):
    # Two blocks of the full width: each block costs PEFT time, and the one before proved the depth.
    architecture, *rest = CONFIGS[name]
    if architecture == "GPT2":
        spec = (architecture, rest[0] | {"n_layer": 2})
    else:
        spec = (architecture, (2, *rest[0][1:]), *rest[1:])
    assert not _differences(spec, dataclasses.replace(PRESETS[name], layers=2), ranks=(1, 8, 64, 1000))


@pytest.mark.parametrize("name", OTHERS)
def test_counts_from_a_config_dict_equal_pefts(name):
    shape = read_config(_config(OTHERS[name])[1].to_dict())
    assert shape.params == sum(weight.numel() for weight in _build(OTHERS[name]).parameters())
    assert not _differences(OTHERS[name], shape, ranks=(4,))


def test_no_preset_goes_untested():
    assert PRESETS.keys() == CONFIGS.keys()


@pytest.mark.parametrize("name", CONFIGS)
def test_a_preset_is_what_its_config_says(name):
    config = _config(CONFIGS[name])[1].to_dict()
    assert read_config(config).parts() == PRESETS[name].parts()


@pytest.mark.parametrize("name", ["Llama-2-7B", "Qwen3-0.6B", "GPT-2 small", "Qwen2.5-0.5B"])
@pytest.mark.parametrize(
    "saved", [["lm_head"], ["embed"], ["embed", "lm_head"], ["q"], ["norm"]], ids="+".join
)
def test_full_copies_equal_pefts(name, saved):
    gpt2 = name == "GPT-2 small"
    theirs = {"embed": "wte" if gpt2 else "embed_tokens", "q": "c_attn" if gpt2 else "q_proj"}
    names = [theirs.get(part, "ln_f" if (gpt2, part) == (True, "norm") else part) for part in saved]
    targets = ["c_attn", "c_fc"] if gpt2 else ["q_proj", "v_proj"]
    adapted = _peft(_build(CONFIGS[name]), targets, 16, names)
    count = _counted(name, targets, 16, names)
    assert (count["trainable"], count["all"]) == adapted.get_nb_trainable_parameters()


@pytest.mark.parametrize("target", ["embed_tokens", "lm_head", "q_proj"])
def test_embedding_and_output_layer_as_targets_equal_pefts(target):
    adapted = _peft(_build(CONFIGS["Llama-2-7B"]), [target], 8)
    count = _counted("Llama-2-7B", [target], 8)
    assert (count["trainable"], count["all"]) == adapted.get_nb_trainable_parameters()


def test_percent_is_the_number_that_peft_prints(capsys):
    adapted = _peft(_build(CONFIGS["CodeLlama-7B"]), TARGETS["llama"]["attention"], 8)
    adapted.print_trainable_parameters()
    count = model_lora_params("CodeLlama-7B", "attention", 8)
    line = "trainable params: {trainable:,} || all params: {all:,} || trainable%: {percent:.4f}\n".format(
        **count
    )
    assert capsys.readouterr().out == line


def test_peft_skips_a_wrong_name_in_silence_where_we_raise():
    adapted = _peft(_build(CONFIGS["Llama-2-7B"]), ["q_proj", "valu_proj"], 8)
    assert adapted.get_nb_trainable_parameters()[0] == _counted("Llama-2-7B", ["q_proj"], 8)["trainable"]
    with pytest.raises(ValueError, match="did you mean 'v_proj'"):
        _counted("Llama-2-7B", ["q_proj", "valu_proj"], 8)


# Bytes, on a model small enough to train


SMALL = ("Llama", (2, 64, 4, 2, 128), 256, {})


def _bytes(tensors):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


@pytest.fixture(autouse=True)
def _one_thread():
    # A model of 0.1 M parameters is slower on several threads than on one.
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def _one_step(model):
    """Bytes of weights, gradients and AdamW's states after one step of plain PyTorch."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-3)
    tokens = torch.arange(16).reshape(2, 8)
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    states = [value for state in optimizer.state.values() for key, value in state.items() if key != "step"]
    return {
        "weights": _bytes(model.parameters()),
        "gradients": _bytes(weight.grad for weight in trained),
        "optimizer": _bytes(states),
    }


@pytest.mark.parametrize("weights", ["fp32", "bf16"])
@pytest.mark.parametrize("saved", [[], ["lm_head"]], ids=["adapter", "adapter and copy"])
def test_bytes_of_lora_training_equal_torchs(weights, saved, tmp_path):
    kind = {"fp32": torch.float32, "bf16": torch.bfloat16}[weights]
    shape = read_config(_config(SMALL)[1].to_dict())
    model = _peft(_build(SMALL, "cpu").to(kind), "all-linear", 4, saved or None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measured = _one_step(model)
        model.save_pretrained(tmp_path)
    # Plain PyTorch keeps no fp32 master copy of what is trained in 16 bits.
    account = memory(shape, "lora", r=4, modules_to_save=saved, weights=weights, master_weights=False)
    assert {part: account[part] for part in measured} == measured
    size = (tmp_path / "adapter_model.safetensors").stat().st_size
    assert 0 < size - 1e6 * account["saved_mb"] < 8000  # the header: names and shapes


@pytest.mark.parametrize("weights", ["fp32", "bf16"])
def test_bytes_of_full_training_equal_torchs(weights):
    kind = {"fp32": torch.float32, "bf16": torch.bfloat16}[weights]
    shape = read_config(_config(SMALL)[1].to_dict())
    measured = _one_step(_build(SMALL, "cpu").to(kind))
    account = memory(shape, weights=weights, master_weights=False)
    assert {part: account[part] for part in measured} == measured


# Scaling and merge


@pytest.mark.parametrize("rslora", [False, True])
def test_scaling_and_merge_equal_pefts(rslora):
    from rl_lab.lora import merge, scaling

    torch.manual_seed(0)
    base = torch.nn.Sequential(torch.nn.Linear(6, 5, bias=False))
    frozen = base[0].weight.detach().clone().tolist()
    config = peft.LoraConfig(r=4, lora_alpha=16, target_modules=["0"], use_rslora=rslora)
    model = peft.get_peft_model(base, config)
    layer = model.base_model.model[0]
    assert not layer.lora_B["default"].weight.any(), "B starts at zero"
    assert layer.lora_A["default"].weight.any(), "A does not"
    torch.nn.init.normal_(layer.lora_B["default"].weight)
    A, B = layer.lora_A["default"].weight.tolist(), layer.lora_B["default"].weight.tolist()
    assert layer.scaling["default"] == scaling(16, 4, rslora)
    merged = model.merge_and_unload()[0].weight
    ours = torch.tensor(merge(frozen, A, B, 16, 4, rslora))
    assert torch.allclose(merged, ours, atol=1e-5)


def test_find_model_accepts_the_config_of_a_loaded_model():
    assert find_model(_config(CONFIGS["Qwen3-0.6B"])[1].to_dict()).params == 596_049_920
