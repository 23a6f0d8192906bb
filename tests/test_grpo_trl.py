"""Contract with the installed TRL: our advantages, losses and batch rule are the trainer's own, and so are the names.

A GRPOTrainer is built on a random model of a few thousand parameters. TRL's ``rollout_func`` hands it fixed completions
and a reward function hands it our rewards; from there on its own code runs.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import warnings

import pytest

from rl_lab import grpo
from tests.notebooks import PATHS, read
from tests.tables import markdown_of, names_in_backticks, settings_of

peft = pytest.importorskip("peft", reason="peft is not installed: no contract test against it")
torch = pytest.importorskip("torch", reason="torch is not installed: no contract test against TRL")
transformers = pytest.importorskip("transformers", reason="transformers is not installed: no contract test")
trl = pytest.importorskip("trl", reason="trl is not installed: no contract test")
datasets = pytest.importorskip("datasets", reason="datasets is not installed: no contract test")

pytestmark = pytest.mark.filterwarnings("ignore")

GROUP, PROMPTS = 4, ["add 1", "add 2"]
LENGTHS = [2, 3, 5, 8, 1, 4, 9, 6]
LOSS_TYPES = list(grpo.LOSS_TYPES)


def tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["<pad>", "<eos>", "<unk>", "add", *map(str, range(10))]
    core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def tiny_model():
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 64}
    special = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 1}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=14, **sizes, **heads, **special))


def config(folder="unused", **settings):
    quiet = {"use_cpu": True, "bf16": False, "gradient_checkpointing": False, "report_to": "none"}
    batch = {"per_device_train_batch_size": 8, "num_generations": GROUP, "max_completion_length": 16}
    return trl.GRPOConfig(str(folder), **(quiet | batch | settings))


@pytest.fixture
def trainer(tmp_path):
    """A real trainer whose completions are fixed and whose rewards stand in ``trainer.given``.

    A new one for each test: every GRPOConfig that is made resets the accelerator the others share.
    """
    torch.set_num_threads(1)
    tok = tokenizer()

    def rollout(prompts, trainer):
        completions = [[4 + (i * 3 + t) % 10 for t in range(n)] + [1] for i, n in enumerate(LENGTHS)]
        return {
            "prompt_ids": [tok(prompt)["input_ids"] for prompt in prompts],
            "completion_ids": completions,
            "logprobs": [[0.0] * len(c) for c in completions],
        }

    def reward(prompts, completions, **columns):
        return made.given

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = trl.GRPOTrainer(
            tiny_model(),
            reward,
            args=config(tmp_path),
            train_dataset=datasets.Dataset.from_dict({"prompt": PROMPTS}),
            processing_class=tok,
            rollout_func=rollout,
        )
    made.model.train()
    made.current_gradient_accumulation_steps = 1
    made.given = [1.0, 1.0, 0.0, 0.8, 0.0, 1.0, 0.0, 0.0]
    return made


def scored(trainer):
    """What the trainer makes of the fixed completions: tensors of one batch, advantages among them."""
    rows = [{"prompt": prompt} for prompt in PROMPTS for _ in range(GROUP)]
    return trainer._generate_and_score_completions(rows)


# --- advantages -----------------------------------------------------------------------------------------

REWARDS = {
    "the chapter's group": [1, 1, 0, 0.8, 0, 1, 0, 0],
    "all equal": [1, 1, 1, 1, 0, 0, 0, 0],
    "close": [1.00, 0.99, 0.98, 0.97, 5, -5, 5, -5],
    "one unscored": [1, None, 0, 1, 0.5, 0.25, float("nan"), 0],
    "one scored in a group": [None, None, 1, None, 0, 1, 1, 0],
}


@pytest.mark.parametrize("scale_rewards", ["none", "group", "batch"])
@pytest.mark.parametrize("rewards", REWARDS.values(), ids=REWARDS)
def test_advantages_are_those_of_the_trainer(trainer, monkeypatch, rewards, scale_rewards):
    monkeypatch.setattr(trainer, "given", rewards)
    monkeypatch.setattr(trainer, "scale_rewards", scale_rewards)
    ours = grpo.batch_advantages(rewards, [0] * 4 + [1] * 4, GROUP, normalize=scale_rewards)
    assert scored(trainer)["advantages"].tolist() == pytest.approx(ours, abs=2e-4)  # TRL computes in float32


def test_true_and_false_name_the_same_conventions_as_in_trl():
    assert config(scale_rewards=True).scale_rewards == grpo._convention(True) == "group"
    assert config(scale_rewards=False).scale_rewards == grpo._convention(False) == "none"


def test_the_report_counts_silent_groups_as_the_log_does(trainer, monkeypatch):
    monkeypatch.setattr(trainer, "given", [1, 1, 1, 1, 0, 1, 0, 0])
    scored(trainer)
    log = {name: values[-1] for name, values in trainer._metrics["train"].items()}
    report = grpo.group_report(trainer.given, GROUP)
    for name in ("reward", "reward_std", "frac_reward_zero_std"):
        assert log[name] == pytest.approx(report[name], abs=1e-6)


# --- loss -----------------------------------------------------------------------------------------------


@pytest.fixture
def batch(trainer):
    """One batch with a policy that has moved since it sampled, a reference, and two tokens written by a tool."""
    inputs = scored(trainer)
    now = logps(trainer, inputs)
    noise = torch.Generator().manual_seed(3)
    inputs["old_per_token_logps"] = now + 0.5 * torch.randn(now.shape, generator=noise)
    inputs["ref_per_token_logps"] = now + 0.5 * torch.randn(now.shape, generator=noise)
    inputs["tool_mask"] = torch.ones_like(inputs["completion_mask"])
    inputs["tool_mask"][3, 2:4] = 0
    inputs["num_items_in_batch"] = (inputs["completion_mask"] * inputs["tool_mask"]).sum()
    return inputs


def logps(trainer, inputs):
    """The policy's log-probabilities, by the trainer's own forward pass."""
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
    attention = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
    width = inputs["completion_ids"].size(1)
    with torch.no_grad():
        return trainer._get_per_token_logps_and_entropies(trainer.model, ids, attention, width)[0]


def ours(trainer, inputs, **settings):
    return grpo.grpo_loss(
        logps(trainer, inputs).tolist(),
        inputs["old_per_token_logps"].tolist(),
        inputs["advantages"].tolist(),
        (inputs["completion_mask"] * inputs["tool_mask"]).tolist(),
        ref_logps=inputs["ref_per_token_logps"].tolist(),
        max_completion_length=16,
        **settings,
    )


@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize("beta", [0.0, 0.04])
@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_loss_is_that_of_the_trainer(trainer, batch, monkeypatch, loss_type, beta, level):
    for name, value in {"loss_type": loss_type, "beta": beta, "importance_sampling_level": level}.items():
        monkeypatch.setattr(trainer, name, value)
    theirs = trainer.compute_loss(trainer.model, batch).item()
    mine = ours(trainer, batch, loss_type=loss_type, beta=beta, importance_sampling_level=level)
    assert mine == pytest.approx(theirs, abs=1e-6)
    if level == "token":
        clipped = trainer._metrics["train"]["clip_ratio/region_mean"][-1]
        assert 0.1 < clipped < 0.9, "the clip is at work in this comparison"


def test_kl_without_bias_correction_and_a_wider_upper_clip(trainer, batch, monkeypatch):
    monkeypatch.setattr(trainer, "beta", 0.3)
    monkeypatch.setattr(trainer, "epsilon_high", 0.28)
    monkeypatch.setattr(trainer.args, "use_bias_correction_kl", False)
    theirs = trainer.compute_loss(trainer.model, batch).item()
    mine = ours(trainer, batch, beta=0.3, epsilon_high=0.28, use_bias_correction_kl=False)
    assert mine == pytest.approx(theirs, abs=1e-6)


def test_logged_kl_is_the_token_mean_of_k3(trainer, batch, monkeypatch):
    monkeypatch.setattr(trainer, "beta", 0.04)
    monkeypatch.setattr(trainer.args, "use_bias_correction_kl", False)
    trainer.compute_loss(trainer.model, batch)
    mask = (batch["completion_mask"] * batch["tool_mask"]).bool()
    pairs = zip(
        logps(trainer, batch)[mask].tolist(), batch["ref_per_token_logps"][mask].tolist(), strict=True
    )
    values = [grpo.kl_k3(now, ref) for now, ref in pairs]
    assert trainer._metrics["train"]["kl"][-1] == pytest.approx(sum(values) / len(values), rel=1e-4)


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_accumulation_gives_the_same_loss_for_dapo_and_another_for_bnpo(
    trainer, batch, monkeypatch, loss_type
):
    """Two halves of the batch, accumulated: what each loss type does with its local batch."""
    monkeypatch.setattr(trainer, "loss_type", loss_type)
    monkeypatch.setattr(trainer, "current_gradient_accumulation_steps", 2)
    monkeypatch.setattr(trainer.args, "steps_per_generation", 2)
    halves = [
        {name: value if value.dim() == 0 else value[part] for name, value in batch.items()}
        for part in (slice(0, 4), slice(4, 8))
    ]
    theirs = sum(trainer.compute_loss(trainer.model, half).item() for half in halves)
    items = int(batch["num_items_in_batch"])
    parts = [ours(trainer, half, loss_type=loss_type, num_items=items) for half in halves]
    assert theirs == pytest.approx(sum(parts) if loss_type == "dapo" else sum(parts) / 2, abs=1e-6)
    whole = ours(trainer, batch, loss_type=loss_type)
    assert (theirs == pytest.approx(whole, abs=1e-6)) == (loss_type != "bnpo")


def test_on_policy_the_loss_is_zero_but_its_gradient_is_not(trainer, monkeypatch):
    monkeypatch.setattr(trainer, "loss_type", "grpo")
    inputs = scored(trainer)
    loss = trainer.compute_loss(trainer.model, inputs)
    loss.backward()
    gradient = max(p.grad.abs().max().item() for p in trainer.model.parameters())
    trainer.model.zero_grad()
    assert loss.item() == pytest.approx(0, abs=1e-6)
    assert gradient > 1e-3


def test_with_the_defaults_the_clip_has_nothing_to_do(trainer, monkeypatch):
    assert "old_per_token_logps" not in scored(trainer), "the policy that is updated is the one that sampled"
    trainer.compute_loss(trainer.model, scored(trainer))
    assert trainer._metrics["train"]["clip_ratio/region_mean"][-1] == 0
    monkeypatch.setattr(trainer, "num_iterations", 2)
    assert "old_per_token_logps" in scored(trainer)
    monkeypatch.setattr(trainer, "num_iterations", 1)
    monkeypatch.setattr(trainer.args, "steps_per_generation", 2)
    assert "old_per_token_logps" in scored(trainer)


def test_with_beta_zero_no_kl_is_logged(trainer):
    trainer._metrics["train"].pop("kl", None)
    trainer.compute_loss(trainer.model, scored(trainer))
    assert trainer.beta == 0
    assert "kl" not in trainer._metrics["train"]


# --- batch ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", [1, 2])
def test_the_batch_rule_is_the_one_of_the_config(monkeypatch, world):
    monkeypatch.setattr(trl.GRPOConfig, "world_size", property(lambda self: world))
    for per_device, steps, group in itertools.product([2, 6], [1, 3, 4], [1, 4, 8]):
        verdict = grpo.check_batch(per_device, world, steps, group)
        settings = {"per_device_train_batch_size": per_device, "gradient_accumulation_steps": steps}
        settings["num_generations"] = group
        if verdict.ok:
            assert config(**settings).generation_batch_size == verdict.generation_batch
        else:
            with pytest.raises(ValueError, match=r"at least 2|must be divisible") as refused:
                config(**settings)
            assert ("at least 2" in str(refused.value)) == ("at least 2" in verdict.message)


def test_steps_per_generation_replaces_the_accumulation():
    settings = {"per_device_train_batch_size": 6, "num_generations": 8}
    assert config(steps_per_generation=4, **settings).generation_batch_size == 24
    assert grpo.check_batch(6, 1, 1, 8, steps_per_generation=4).ok
    with pytest.raises(ValueError, match="must be divisible"):
        config(steps_per_generation=1, gradient_accumulation_steps=4, **settings)
    assert not grpo.check_batch(6, 1, 4, 8, steps_per_generation=1).ok


def test_the_error_reads_as_the_chapter_quotes_it():
    with pytest.raises(ValueError, match="must be divisible") as caught:
        config(per_device_train_batch_size=6, num_generations=8)
    chapter = next(path for path in PATHS if path.stem == "11_grpo")
    assert str(caught.value).rstrip(".") in markdown_of(read(chapter))


def test_a_batch_that_shrinks_by_itself_is_refused():
    with pytest.raises(ValueError, match="lower per_device_train_batch_size instead"):
        config(auto_find_batch_size=True)


# --- names in the notebooks -----------------------------------------------------------------------------

STATED = [
    pytest.param(setting, id=f"{path.stem}-{setting.field}")
    for path in PATHS
    for setting in settings_of(markdown_of(read(path)))
]


@pytest.mark.parametrize("setting", STATED)
def test_a_setting_in_a_table_exists_with_that_default(setting):
    fields = {
        field.name: field
        for field in dataclasses.fields(getattr(trl, setting.config, None) or getattr(peft, setting.config))
    }
    assert setting.field in fields, f"{setting.config} has no field {setting.field}"
    field = fields[setting.field]
    default = field.default_factory() if field.default is dataclasses.MISSING else field.default
    assert default == setting.default
    assert type(default) is type(setting.default)


def test_chapter_11_states_the_settings_it_must():
    chapter = next(path for path in PATHS if path.stem == "11_grpo")
    stated = {s.field: s.default for s in settings_of(markdown_of(read(chapter))) if s.config == "GRPOConfig"}
    must = {
        "beta": 0.0,
        "epsilon": 0.2,
        "max_completion_length": 512,
        "num_generations": 8,
        "temperature": 1.0,
        "learning_rate": 1e-6,
        "scale_rewards": "group",
        "loss_type": "dapo",
    }
    assert must.items() <= stated.items()


def test_every_name_in_the_prose_of_chapter_11_is_known_to_somebody():
    """A name in backticks is a field of GRPOConfig, an entry of TRL's log, or a name of ours."""
    chapter = next(path for path in PATHS if path.stem == "11_grpo")
    notebook = read(chapter)
    fields = {field.name for field in dataclasses.fields(trl.GRPOConfig)}
    trainer_source = inspect.getsource(trl.GRPOTrainer)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    unknown = {
        name
        for name in names_in_backticks(markdown_of(notebook))
        if name not in fields
        and name not in dir(grpo)
        and not hasattr(trl, name)
        and f'"{name}"' not in trainer_source
        and name not in code
    }
    assert unknown <= {"None"}
