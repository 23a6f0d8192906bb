"""What travels through a training run? A model with its tokenizer, and what was decided about device and precision."""

from __future__ import annotations

import contextlib
import copy
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rl_lab.train._hub import cache_if_unreachable
from rl_lab.train._need import need

__all__ = ["Policy"]

OWN_BASE = "rl_lab_base"  # folder of an adapter's base, where it can be loaded from nowhere else


@dataclass
class Policy:
    """A model that answers, together with the tokenizer it reads and writes through."""

    model: Any  # transformers.PreTrainedModel, or a PeftModel around one
    tokenizer: Any  # its tokenizer; pad token and end token differ
    name: str  # "tiny", "smollm2", a hub name or a folder
    device: str = "cpu"  # "cpu", "cuda" or "mps"
    precision: str = "fp32"  # "fp32", "bf16" or "fp16": what the trainer computes in
    said: str = ""  # one line for people: what was loaded, where, in which precision, and why

    def __str__(self) -> str:
        return self.said or f"{self.name} on {self.device} in {self.precision}"

    def copy(self) -> Policy:
        """An independent copy of the weights: train one and keep the other to compare with."""
        return Policy(
            copy.deepcopy(self.model), self.tokenizer, self.name, self.device, self.precision, self.said
        )

    def save(self, folder: str | Path) -> Path:
        """Write model (or adapter) and tokenizer to `folder`, so that ``load_model(folder)`` reads them back.

        An adapter goes without its base where that can be loaded again by its name; a base that was made or trained in
        memory is written beside it, into ``folder/rl_lab_base``.
        """
        from rl_lab.train._quiet import quiet

        folder, origin = Path(folder), self.model.config._name_or_path
        # PEFT asks the hub for an adapter's base, to compare the vocabularies.
        remote = self.has_adapter and origin and not Path(origin).is_dir()
        with quiet(), cache_if_unreachable() if remote else contextlib.nullcontext():
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
            shutil.rmtree(folder / OWN_BASE, ignore_errors=True)  # of an earlier adapter
            if self.has_adapter and not origin:
                copy.deepcopy(self.model).unload().save_pretrained(folder / OWN_BASE)
        (folder / "rl_lab.json").write_text(json.dumps({"name": self.name}), encoding="utf-8")
        return folder

    def autocast(self) -> Any:
        """Context that computes in the policy's precision where the weights are kept in float32 on a GPU."""
        torch = need("torch")

        kinds = {"fp16": torch.float16, "bf16": torch.bfloat16}
        if self.device != "cuda" or self.precision not in kinds or self.model.dtype != torch.float32:
            return contextlib.nullcontext()
        return torch.autocast("cuda", dtype=kinds[self.precision])

    @property
    def end_ids(self) -> list[int]:
        """Token ids that end a turn: the tokenizer's, and those that the model's generation settings add."""
        more = getattr(self.model.generation_config, "eos_token_id", None)
        more = [] if more is None else [more] if isinstance(more, int) else list(more)
        return list(dict.fromkeys([self.tokenizer.eos_token_id, *more]))

    @property
    def has_adapter(self) -> bool:
        """Whether the model is a LoRA adapter around a base model."""
        return hasattr(self.model, "peft_config") and hasattr(self.model, "disable_adapter")
