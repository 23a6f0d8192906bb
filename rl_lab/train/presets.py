"""Which model, data and settings fit this machine? The presets of the GPU pair (chapters 16 and 17), as data.

============  ==================================================  ===========================  ===========
preset        for                                                 model and problems           measured
============  ==================================================  ===========================  ===========
``t4``        a CUDA card of 14 GiB or more, as in a free Colab   Qwen2.5-0.5B, GSM8K          no
``large``     a CUDA card of 80 GB, with bf16                     Qwen2.5-0.5B, GSM8K          no
``short``     as `large`, cut to minutes (``tools/gpu_pair.py``)  Qwen2.5-0.5B, GSM8K          no
``bundled``   a CUDA card without the hub                         SmolLM2-135M, ours           no
``cpu``       any machine, in a minute or two a chapter           SmolLM2-135M, ours           yes
``recorded``  the records in ``runs/``, about half an hour        SmolLM2-135M, ours           yes
``tiny``      tests, in seconds                                   the tiny model, totals       yes
============  ==================================================  ===========================  ===========

>>> choose("cuda", (7, 5), 15.0).name, choose("cuda", (9, 0), 139.0).name, choose("cpu").name
('t4', 'large', 'cpu')
>>> print(choose("cuda", (7, 5), 14.74).why)
t4: a CUDA card with 14.7 GiB; compute capability 7.5 has no bf16 units, so it trains in fp16

``sft`` and ``grpo`` hold fields of ``trl.SFTConfig`` and ``trl.GRPOConfig`` by their own names, ``lora`` what
:func:`rl_lab.train.args.build_lora` takes; what is not in them keeps :mod:`rl_lab.train.args`' default.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from rl_lab._record import closest
from rl_lab.train.precision import pick_device, pick_precision

__all__ = ["ASKED", "PRESETS", "Choice", "Preset", "choose", "hub_answers", "pick_preset"]

QWEN = "Qwen/Qwen2.5-0.5B-Instruct"
ASKED = "Solve the problem step by step. End with one line: Final Answer: <number>"
VARIABLE = "RL_LAB_PRESET"  # environment variable that names a preset, for scripts
MIN_GB, LARGE_GB = 14.0, 75.0  # GiB; a T4 shows 14.74, an A100 about 79 of its 80


@dataclass(frozen=True)
class Preset:
    """Everything that chapters 16 and 17 need to know before they start."""

    name: str
    model: str  # as load_model takes it
    task: str  # as load_task takes it
    n_sft: int  # problems with solutions for SFT
    n_grpo: int  # problems for GRPO, others than those where they can be generated
    n_test: int  # held-out problems of the comparison
    sft: Mapping[str, Any]  # fields of trl.SFTConfig
    grpo: Mapping[str, Any]  # fields of trl.GRPOConfig
    lora: Mapping[str, Any] | None  # for build_lora; None trains all weights
    evaluate_tokens: int  # longest completion in evaluations
    options: Mapping[str, Any] = field(default_factory=dict)  # of load_task
    measured: bool = False  # whether a run of it is recorded
    scratch_steps: int | None = None  # GRPO steps without SFT before; None: as many as with it

    def adapter(self) -> Any:
        """The LoRA configuration of a new adapter, or None where all weights are trained."""
        from rl_lab.train.args import build_lora

        return None if self.lora is None else build_lora(**self.lora)

    def data(self, method: str = "sft", seed: int = 1) -> Any:
        """Load the data: ``demonstrations`` for SFT or ``rows`` for GRPO, and the same ``test_rows`` for both."""
        from rl_lab.train.tasks import load_task

        if method not in ("sft", "grpo"):
            raise ValueError(
                f"method must be 'sft' or 'grpo', got {method!r}{closest(method, ('sft', 'grpo'))}"
            )
        n, own = (self.n_sft, seed) if method == "sft" else (self.n_grpo, 1000 + seed)
        return load_task(self.task, n_train=n, n_test=self.n_test, seed=own, **self.options)

    def load(self, demonstrations: Any = None, *, say: Any = print) -> Any:
        """Load the untrained model; the tiny one takes its words from `demonstrations`."""
        from rl_lab.train.models import load_model
        from rl_lab.train.tiny import make_tiny

        if self.model == "tiny":
            return make_tiny(0, demonstrations)
        return load_model(self.model, full_tuning=self.lora is None, say=say)

    @property
    def completions(self) -> int:
        """Completions in one GRPO step, on one card."""
        return self.grpo["per_device_train_batch_size"] * self.grpo.get("gradient_accumulation_steps", 1)


class Choice(NamedTuple):
    """A preset's name, and the sentence that says why it fits."""

    name: str
    why: str


_ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
_SMALL = {
    "model": "smollm2",
    "task": "problems",
    "lora": {"rank": 8, "target_modules": _ATTENTION},
    "evaluate_tokens": 64,
}
_T4 = Preset(
    "t4",
    QWEN,
    "gsm8k",
    n_sft=2000,
    n_grpo=1000,
    n_test=200,
    sft={
        "num_train_epochs": 1,
        "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 4,
        "learning_rate": 2e-4,
        "max_length": 512,
        "gradient_checkpointing": True,
        "save_steps": 50,
    },
    grpo={
        "max_steps": 150,
        "per_device_train_batch_size": 8,
        "gradient_accumulation_steps": 4,  # 32 completions a step: 4 prompts x 8
        "num_generations": 8,
        "max_completion_length": 256,
        "learning_rate": 1e-5,
        "beta": 0.0,
        "max_grad_norm": 0.2,
        "gradient_checkpointing": True,
        "save_steps": 25,
    },
    lora={"rank": 16},
    evaluate_tokens=256,
    options={"system": ASKED},
)
_LARGE = replace(
    _T4,
    name="large",
    n_sft=7473,
    n_grpo=7473,
    n_test=1319,
    sft={
        "num_train_epochs": 1,
        "per_device_train_batch_size": 32,
        "learning_rate": 2e-4,
        "max_length": 512,
        "gradient_checkpointing": False,
        "save_steps": 100,
    },
    grpo={
        "max_steps": 300,
        "per_device_train_batch_size": 64,  # completions: 4 prompts x 16
        "num_generations": 16,
        "max_completion_length": 512,
        "learning_rate": 2e-5,
        "beta": 0.0,
        "gradient_checkpointing": False,
        "use_vllm": False,  # True: vLLM generates, beside the training on the same card
        "vllm_mode": "colocate",
        "vllm_gpu_memory_utilization": 0.3,
        "save_steps": 50,
    },
    lora={"rank": 32},
    evaluate_tokens=512,
)
_RECORDED = Preset(
    "recorded",
    n_sft=480,
    n_grpo=40,
    n_test=100,
    sft={
        "max_steps": 30,
        "per_device_train_batch_size": 16,
        "learning_rate": 1e-3,
        "max_length": 256,
    },
    grpo={
        "max_steps": 10,
        "per_device_train_batch_size": 32,  # completions: 4 prompts x 8
        "num_generations": 8,
        "max_completion_length": 48,
        "learning_rate": 3e-4,
        "beta": 0.02,
        "max_grad_norm": 0.5,
    },
    options={"problem_steps": (1, 2), "max_value": 60},
    measured=True,
    **_SMALL,
)
_CPU = replace(
    _RECORDED,
    name="cpu",
    n_sft=128,
    n_grpo=8,
    n_test=20,
    sft=dict(_RECORDED.sft) | {"max_steps": 8},
    grpo=dict(_RECORDED.grpo) | {"max_steps": 3, "per_device_train_batch_size": 16, "beta": 0.0},
    options={"problem_steps": (1, 1), "max_value": 60},
    scratch_steps=2,
)
PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        _T4,
        _LARGE,
        replace(
            _LARGE,
            name="short",
            n_sft=960,
            n_grpo=64,
            n_test=200,
            sft=dict(_LARGE.sft) | {"num_train_epochs": 1},
            grpo=dict(_LARGE.grpo) | {"max_steps": 12, "max_completion_length": 320},
            evaluate_tokens=320,
        ),
        replace(
            _RECORDED,
            name="bundled",
            n_grpo=192,
            n_test=200,
            sft=dict(_RECORDED.sft) | {"gradient_checkpointing": False},
            grpo=dict(_RECORDED.grpo)
            | {"max_steps": 24, "per_device_train_batch_size": 64, "gradient_checkpointing": False},
            measured=False,
        ),
        _CPU,
        _RECORDED,
        replace(
            _RECORDED,
            name="tiny",
            model="tiny",
            task="totals",
            options={},
            n_sft=64,
            n_grpo=4,
            n_test=8,
            sft={"max_steps": 2, "per_device_train_batch_size": 8, "learning_rate": 1e-3, "max_length": 256},
            grpo={
                "max_steps": 2,
                "per_device_train_batch_size": 8,
                "num_generations": 4,
                "max_completion_length": 64,
                "learning_rate": 1e-3,
                "beta": 0.0,
            },
            lora=None,
            evaluate_tokens=16,
        ),
    )
}
"""All presets by name."""


def choose(
    device: str,
    capability: tuple[int, int] | None = None,
    memory_gb: float | None = None,
    *,
    hub: bool = True,
) -> Choice:
    """Choose a preset by what the machine has; needs neither a GPU nor a package.

    Parameters
    ----------
    device : {"cpu", "cuda", "mps"}
    capability : (int, int), optional
        Of a CUDA device.
    memory_gb : float, optional
        Its memory in GiB.
    hub : bool, default True
        Whether model and data can be had from the hub.

    Returns
    -------
    Choice

    Examples
    --------
    >>> choose("cuda", (8, 9), 8.0).why
    'cpu: a CUDA card with 8.0 GiB, and t4 wants 14.0 or more; the bundled model runs on it in bf16'
    >>> choose("cuda", (9, 0), 139.0, hub=False).name
    'bundled'
    """
    kind = device.partition(":")[0].lower()
    if kind not in ("cpu", "cuda", "mps"):
        raise ValueError(
            f"device must be 'cpu', 'cuda' or 'mps', got {device!r}{closest(kind, ('cpu', 'cuda', 'mps'))}"
        )
    if kind != "cuda":
        where = "an Apple GPU, for which no preset is tuned" if kind == "mps" else "no CUDA card"
        return Choice("cpu", f"cpu: {where}; the bundled model and the course's own problems, in minutes")
    precision = pick_precision("cuda", capability)
    card = f"a CUDA card with {memory_gb:.1f} GiB" if memory_gb is not None else "a CUDA card"
    if not hub:
        return Choice(
            "bundled", f"bundled: {card}, but the hub cannot be reached; the bundled model, in {precision}"
        )
    if memory_gb is not None and memory_gb < MIN_GB:
        return Choice(
            "cpu",
            f"cpu: {card}, and t4 wants {MIN_GB:.1f} or more; the bundled model runs on it in {precision}",
        )
    if precision == "bf16" and (memory_gb or 0) >= LARGE_GB:
        return Choice("large", f"large: {card} and bf16")
    because = (
        "it trains in bf16"
        if precision == "bf16"
        else f"compute capability {capability[0]}.{capability[1]} has no bf16 units, so it trains in fp16"  # type: ignore[index]
    )
    return Choice("t4", f"t4: {card}; {because}")


def pick_preset(name: str = "auto", *, say: Any = print) -> Preset:
    """Look at this machine, choose a preset and say why.

    Parameters
    ----------
    name : str, default "auto"
        Of a preset; "auto" asks the environment variable RL_LAB_PRESET, and then the machine.
    say : callable or None
        Gets the sentence.

    Raises
    ------
    ValueError
        If there is no such preset.
    """
    asked = os.environ.get(VARIABLE, "auto") if name == "auto" else name
    if asked != "auto":
        if asked not in PRESETS:
            raise ValueError(
                f"no preset named {asked!r}; choose one of {', '.join(PRESETS)}{closest(asked, PRESETS)}"
            )
        choice = Choice(asked, f"{asked}: you asked for it")
    else:
        choice = _look()
    preset = PRESETS[choice.name]
    if say:
        say(choice.why)
        if not preset.measured:
            say(
                "This preset was not run on our machines: its values are starting points. Watch the first steps."
            )
    return preset


def _look() -> Choice:
    device, capability, _ = pick_device()
    if device != "cuda":
        return choose(device)
    import torch

    memory = torch.cuda.get_device_properties(0).total_memory / 2**30
    return choose(device, capability, memory, hub=hub_answers())


def hub_answers() -> bool:
    """Whether the hub's client finds the model, within seconds; a model in its cache counts."""
    import huggingface_hub

    if isinstance(huggingface_hub.try_to_load_from_cache(QWEN, "config.json"), str):
        return True
    try:
        huggingface_hub.HfApi().model_info(QWEN, timeout=5)
    except Exception:  # whatever the reason: without the hub there is the bundled model
        return False
    return True
