"""What is a setting called today? Old names are translated, retired ones reported, unknown ones refused.

Texts about PPO, and about GRPO before TRL 1.0, use names that the installed configuration does not have. Passed on as
they are, they raise a TypeError; dropped, they train with a default that nobody chose.

>>> RENAMED["kl_coef"], RENAMED["max_new_tokens"]
('beta', 'max_completion_length')
"""

from __future__ import annotations

import dataclasses
from typing import Any

from rl_lab._record import closest

__all__ = ["RENAMED", "RETIRED", "SettingWarning", "translate"]


class SettingWarning(UserWarning):
    """A setting was renamed, dropped, or looks dangerous; the message names it."""


RENAMED = {
    "max_new_tokens": "max_completion_length",
    "kl_coef": "beta",
    "init_kl_coef": "beta",
    "kl_coeff": "beta",
    "clip_range": "epsilon",
    "cliprange": "epsilon",
    "clip_range_high": "epsilon_high",
    "group_size": "num_generations",
    "num_return_sequences": "num_generations",
    "ppo_epochs": "num_iterations",
    "num_ppo_epochs": "num_iterations",
    "batch_size": "per_device_train_batch_size",
    "grad_accum": "gradient_accumulation_steps",
    "lr": "learning_rate",
    "steps": "max_steps",
    "epochs": "num_train_epochs",
    "warmup_ratio": "warmup_steps",
    "max_seq_length": "max_length",
    "evaluation_strategy": "eval_strategy",
    "wandb_log_unique_prompts": "log_unique_prompts",
    "vllm_importance_sampling_cap": "vllm_importance_sampling_clip_max",
    "vllm_max_model_len": "vllm_max_model_length",
    "use_transformers_paged": "use_transformers_continuous_batching",
    "no_cuda": "use_cpu",
}
RETIRED = {
    "max_prompt_length": "TRL no longer cuts prompts; leave rows with long prompts out of the data set",
    "use_liger_loss": "TRL computes the loss without materializing all logits by itself",
    "vllm_device": "set vllm_mode and vllm_gpu_memory_utilization",
    "vllm_dtype": "vLLM takes the model's own",
    "vllm_guided_decoding_regex": "use vllm_structured_outputs_regex",
    "vllm_enable_prefix_caching": "vLLM decides it",
    "adap_kl_ctrl": "GRPO's KL weight is the constant beta",
    "target_kl": "GRPO's KL weight is the constant beta; watch the kl curve and stop",
    "group_by_length": "long and short examples would no longer share a batch; leave it out",
    "dataset_num_proc": "data sets of this size are prepared in one process",
    "top_p": "set it in generation_kwargs",
    "top_k": "set it in generation_kwargs",
    "overwrite_output_dir": "checkpoints of another run are never overwritten; choose another output_dir",
    "pad_token": "load_model gives the tokenizer a pad token of its own",
}


def translate(settings: dict[str, Any], config_class: type) -> tuple[dict[str, Any], list[str]]:
    """Sort settings into those the installed configuration class takes, and notes about the others.

    Parameters
    ----------
    settings : dict
        By any name in use.
    config_class : type
        A dataclass such as ``trl.GRPOConfig``.

    Returns
    -------
    taken : dict
        Ready for ``config_class(**taken)``.
    notes : list of str
        One sentence for each setting that was renamed or dropped.

    Raises
    ------
    ValueError
        If a name is unknown altogether (a typo would silently train with the default), or if an old and a new name
        of the same setting disagree.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Config:
    ...     beta: float = 0.0
    >>> translate({"kl_coef": 0.02, "max_prompt_length": 99}, Config)[0]
    {'beta': 0.02}
    >>> translate({"betta": 0.02}, Config)
    Traceback (most recent call last):
    ...
    ValueError: Config has no setting 'betta'; did you mean 'beta'?
    """
    fields = {field.name for field in dataclasses.fields(config_class) if field.init}
    taken: dict[str, Any] = {}
    notes, unknown = [], []
    for name, value in settings.items():
        new = name if name in fields else RENAMED.get(name)
        if new in fields:
            if new in taken and taken[new] != value:
                raise ValueError(f"{name}={value!r} and {new}={taken[new]!r} are the same setting; give one")
            taken[new] = value
            if new != name:
                notes.append(f"{name} is called {new} in {config_class.__name__}: {new}={value!r}")
        elif name in RETIRED or name in RENAMED:
            why = RETIRED.get(name, f"its new name {new} is not known to the installed version either")
            notes.append(f"{name}={value!r} is not a setting of the installed {config_class.__name__}: {why}")
        else:
            unknown.append(f"{name!r}{closest(name, [*fields, *RENAMED])}")
    if unknown:
        raise ValueError(f"{config_class.__name__} has no setting {'; nor '.join(unknown)}")
    return taken, notes
