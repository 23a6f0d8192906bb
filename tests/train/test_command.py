"""The command line, its configurations, and the ones that cannot run here: checked against the libraries' classes."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import shutil
import warnings

import pytest
import trl
import yaml

from rl_lab.train import __main__ as command_line
from rl_lab.train.__main__ import main
from rl_lab.train.args import build_grpo_args, build_sft_args
from rl_lab.train.config import RunSettings, parse, read_config, split
from rl_lab.train.names import SettingWarning


def config_files(root):
    return sorted((root / "configs").glob("*.yaml"))


def test_the_command_line_overrides_the_file(tmp_path):
    (tmp_path / "a.yaml").write_text("task: shopping\nlearning_rate: 8e-3\nmax_steps: 40\n")
    given = parse(
        ["--config", str(tmp_path / "a.yaml"), "max_steps=3", "--beta", "1e-2", "--use_peft", "--seed=4"]
    )
    assert given == {
        "task": "shopping",
        "learning_rate": 0.008,
        "max_steps": 3,
        "beta": 0.01,
        "use_peft": True,
        "seed": 4,
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense"], "'nonsense' is no setting; write key=value"),
        (["--config", "configs/nowhere.yaml"], "no configuration at configs/nowhere.yaml"),
    ],
)
def test_words_that_are_no_settings_are_named(words, message, root, monkeypatch):
    monkeypatch.chdir(root)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        parse(words)


def test_a_configuration_sets_no_environment_variables(tmp_path):
    (tmp_path / "a.yaml").write_text("env:\n  HF_TOKEN: x\n")
    with pytest.raises(ValueError, match="must not set environment variables"):
        read_config(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").write_text("- a\n")
    with pytest.raises(ValueError, match="must hold a mapping"):
        read_config(tmp_path / "b.yaml")


def test_our_settings_and_the_trainers_do_not_overlap():
    ours = {field.name for field in dataclasses.fields(RunSettings)}
    theirs = {field.name for field in dataclasses.fields(trl.GRPOConfig)} | {
        field.name for field in dataclasses.fields(trl.SFTConfig)
    }
    assert ours & theirs == {"run_name"}


def test_there_are_configurations_for_every_machine(root):
    names = {path.stem for path in config_files(root)}
    assert {"tiny_shopping_sft", "tiny_shopping_grpo", "tiny_totals_sft", "tiny_totals_grpo"} <= names
    assert {"smollm2_sft", "smollm2_grpo", "smollm2_tools_sft", "smollm2_tools_grpo"} <= names
    assert {"qwen_t4_sft", "qwen_t4_grpo", "qwen_large_sft", "qwen_large_grpo"} <= names


def test_every_configuration_is_taken_whole_and_without_a_warning(root):
    for path in config_files(root):
        settings, trainer = split(read_config(path))
        if settings.plain_loop:
            continue
        build = build_sft_args if path.stem.endswith("sft") else build_grpo_args
        lora = settings.use_peft or "smollm2" in path.stem
        size = 180_000 if "tiny" in path.stem else None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            config = build(device="cpu", lora=lora, parameters=size, **trainer)
        assert [str(w.message) for w in caught if issubclass(w.category, SettingWarning)] == [], path.name
        for name, value in trainer.items():
            if name != "gradient_checkpointing":
                assert getattr(config, name) == value, (path.name, name)


def test_trls_own_parser_takes_every_configuration(root):
    """The idiom is TRL's: a key is a field of its configuration or of our settings, under the same name."""
    for path in config_files(root):
        settings = read_config(path)
        method = trl.SFTConfig if path.stem.endswith("sft") else trl.GRPOConfig
        parser = trl.TrlParser((method,), conflict_handler="resolve")
        fields = {field.name for field in dataclasses.fields(RunSettings)}
        theirs = {k: v for k, v in settings.items() if k not in fields}
        assert parser.set_defaults_with_config(**theirs) == [], path.name


def test_what_did_not_run_here_says_so(root):
    for path in [*config_files(root), *(root / "configs" / "accelerate").glob("*.yaml")]:
        first = path.read_text().splitlines()[0]
        ran = path.stem.startswith(("tiny", "smollm2"))
        assert ("Not run on our machines" in first) is not ran, path.name


def test_accelerate_takes_its_configurations(root):
    config_args = pytest.importorskip("accelerate.commands.config.config_args")
    expected = {"ddp": "MULTI_GPU", "fsdp": "FSDP", "deepspeed_zero2": "DEEPSPEED"}
    for path in (root / "configs" / "accelerate").glob("*.yaml"):
        loaded = config_args.load_config_from_file(str(path))
        assert str(loaded.distributed_type).endswith(expected.pop(path.stem))
        assert not set(yaml.safe_load(path.read_text())) - set(vars(loaded))
    assert expected == {}


def test_deepspeed_and_fsdp_settings_are_known_to_accelerate(root):
    from accelerate.commands.launch import launch_command_parser

    known = {action.dest for action in launch_command_parser()._actions}
    for name, section in (("fsdp", "fsdp_config"), ("deepspeed_zero2", "deepspeed_config")):
        settings = yaml.safe_load((root / "configs" / "accelerate" / f"{name}.yaml").read_text())[section]
        assert set(settings) <= known


def test_sft_then_grpo_then_evaluate_from_the_command_line(tmp_path, root, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    configs = root / "configs"
    small = ["n_train=40", "n_test=8"]
    assert (
        main(
            [
                "sft",
                "--config",
                str(configs / "tiny_shopping_sft.yaml"),
                "max_steps=20",
                "output_dir=out/sft",
                *small,
            ]
        )
        == 0
    )
    grpo = [
        "grpo",
        "--config",
        str(configs / "tiny_shopping_grpo.yaml"),
        "model=out/sft",
        "max_steps=1",
        "n_train=8",
    ]
    small_batch = [
        "per_device_train_batch_size=8",
        "output_dir=out/grpo",
        "run_name=headline",
        "save_steps=1",
        "n_test=8",
    ]
    assert main([*grpo, *small_batch]) == 0
    assert main([*grpo, *small_batch, "max_steps=2", "--resume"]) == 0
    assert (
        main(["evaluate", "--config", str(configs / "tiny_shopping_grpo.yaml"), "model=out/grpo", "n_test=8"])
        == 0
    )
    said = capsys.readouterr().out
    assert "resuming from checkpoint-1" in said
    assert "not used by evaluate: beta" in said
    run = json.loads((tmp_path / "runs" / "out" / "headline.json").read_text())
    assert run["steps"] == [1, 2]
    assert run["command"].startswith("python -m rl_lab.train grpo --config tiny_shopping_grpo.yaml")
    assert run["results"]["before"]["n"] == run["results"]["after"]["n"] == 8
    assert str(tmp_path) not in json.dumps(run)


def chained(root):
    """Every configuration that starts from the model of another run, and that run's configuration."""
    found = {path: read_config(path) for path in config_files(root)}
    return {path: read["start_config"] for path, read in found.items() if "start_config" in read}


def test_every_chained_configuration_names_the_one_that_makes_its_model(root):
    chains = chained(root)
    assert {path.name for path in config_files(root) if path.stem.endswith("_grpo")} == {
        p.name for p in chains
    }
    for path, first in chains.items():
        made, start = read_config(first)["output_dir"], read_config(path)["model_name_or_path"]
        assert made == start or f"model={made}" in path.read_text(), path.name
        assert read_config(first)["task"] == read_config(path)["task"], path.name


def test_readmes_command_trains_the_warm_up_itself_on_a_fresh_clone(root, tmp_path, monkeypatch, capsys):
    """The command as it stands there, in a folder with nothing but the configurations, made short by their values."""
    [command] = re.findall(r"python -m rl_lab\.train (.*?)`", (root / "README.md").read_text())
    monkeypatch.chdir(tmp_path)
    shutil.copytree(root / "configs", "configs")
    shorter = {"max_steps": 2, "n_train": 16, "n_test": 4}
    for name in ("tiny_shopping_sft.yaml", "tiny_shopping_grpo.yaml"):
        given = yaml.safe_load((tmp_path / "configs" / name).read_text()) | shorter
        (tmp_path / "configs" / name).write_text(yaml.safe_dump(given))
    assert main(shlex.split(command)) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == (
        "no model in runs/out/tiny_shopping_sft: training the warm-up first, configs/tiny_shopping_sft.yaml, "
        "about a minute on one core"
    )
    assert "model in runs/out/tiny_shopping_grpo" in said
    assert (tmp_path / "runs" / "out" / "tiny_shopping_grpo" / "config.json").is_file()
    # Everything lies where git does not look: no file of a user's run may stand among the book's records.
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["out"]

    assert main(shlex.split(command)) == 0  # and the second time it is there
    assert "training the warm-up" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["smollm2_grpo", "smollm2_tools_grpo", "qwen_t4_grpo", "qwen_large_grpo"])
def test_a_first_run_that_takes_long_is_named_before_anything_is_loaded(
    name, root, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(root / "configs", "configs")
    monkeypatch.setattr(command_line, "load_task", None)
    first = f"configs/{name.replace('grpo', 'sft')}.yaml"
    words = [f"model={read_config(first)['output_dir']}"] if "qwen" in name else []
    assert main(["grpo", "--config", f"configs/{name}.yaml", *words]) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith(f"error: no model in runs/out/{name.replace('grpo', 'sft')}: ")
    assert error.endswith(f"run this first: python -m rl_lab.train sft --config {first}")
    assert "\n" not in error


def test_several_processes_do_not_all_train_the_warm_up(root, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORLD_SIZE", "2")
    config = root / "configs" / "tiny_totals_grpo.yaml"
    assert main(["grpo", "--config", str(config)]) == 2
    assert "run this first: python -m rl_lab.train sft --config" in capsys.readouterr().err


def test_a_model_asked_for_by_name_is_not_trained(root, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    config = root / "configs" / "tiny_totals_grpo.yaml"
    assert main(["grpo", "--config", str(config), "model=./mine", "n_train=4", "n_test=2"]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_an_evaluation_of_what_was_not_trained_yet_says_so(root, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    config = root / "configs" / "tiny_totals_grpo.yaml"
    assert main(["evaluate", "--config", str(config), "model=runs/out/tiny_totals_grpo"]) == 2
    assert "this configuration's own training writes it; run that first" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["grpoo"], "did you mean 'grpo'"),
        (["grpo", "task=shoping"], "did you mean 'shopping'"),
        (["grpo", "task=totals", "tool_share=0.5"], "the task totals has no option tool_share"),
        (["sft", "plain_loop=true", "beta=1", "n_train=4", "n_test=1"], "plain_loop has no setting beta"),
        (
            ["grpo", "n_train=4", "n_test=1", "betta=1"],
            "GRPOConfig has no setting 'betta'; did you mean 'beta'",
        ),
        (["evaluate", "seed=one"], "seed must be a whole number"),
    ],
)
def test_what_is_wrong_ends_in_a_sentence_and_status_two(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_help_is_shown(capsys):
    assert main(["--help"]) == 0
    assert "python -m rl_lab.train grpo" in capsys.readouterr().out
    assert main([]) == 2
