"""In which number format does this machine train? Chosen by what it can do, and said.

================  ====================================================  =========
device            why                                                   precision
================  ====================================================  =========
CPU, MPS          nothing to gain from autocast, and less to go wrong   fp32
CUDA, cc < 8.0    no bf16 units: V100 (7.0), T4 (7.5, free Colab)       fp16
CUDA, cc >= 8.0   A100 (8.0), RTX 30 (8.6), L4 (8.9), H100 (9.0), ...   bf16
================  ====================================================  =========

>>> pick_precision("cuda", (7, 5)), pick_precision("cuda", (8, 0)), pick_precision("cpu"), pick_precision("mps")
('fp16', 'bf16', 'fp32', 'fp32')

``torch.cuda.is_bf16_supported()`` is no help here: it says True on a T4, where bf16 is emulated and slow.
"""

from __future__ import annotations

import os
import re
from typing import Any

from rl_lab._record import closest
from rl_lab.train._need import need

__all__ = ["PRECISIONS", "pick_device", "pick_precision", "weights_dtype"]

PRECISIONS = ("fp32", "bf16", "fp16")
_ALIASES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "half": "fp16"}
DEVICES = ("cpu", "cuda", "mps")


def pick_precision(
    device: str, capability: tuple[int, int] | float | str | None = None, flag: str = "auto"
) -> str:
    """Choose what to train in, or check what was asked for; needs no GPU and no package.

    Parameters
    ----------
    device : str
        "cpu", "cuda" or "mps"; also "cuda:0", or "cuda cc 7.5", which holds the capability.
    capability : (int, int), float or str, optional
        CUDA compute capability: (7, 5), 7.5 or "7.5". Required for "cuda".
    flag : {"auto", "fp32", "bf16", "fp16"}
        "auto" chooses.

    Returns
    -------
    str
        "fp32", "bf16" or "fp16".

    Raises
    ------
    ValueError
        If bf16 is asked for on a GPU without it, fp16 on a CPU, or a name is unknown. Call this before loading a
        model, so that the error comes before the download.

    Examples
    --------
    >>> pick_precision("cuda cc 7.5", flag="bf16")
    Traceback (most recent call last):
    ...
    ValueError: precision='bf16' needs a GPU of compute capability 8.0 or more, got 7.5 (a T4 or V100 is older); \
use precision='fp16' or 'auto'
    """
    kind, found = _split(device)
    number = _capability(found if capability is None else capability)
    asked = _ALIASES.get(str(flag).lower(), str(flag).lower())
    if asked not in (*PRECISIONS, "auto"):
        raise ValueError(
            f"precision must be one of auto, {', '.join(PRECISIONS)}, got {flag!r}{closest(flag, PRECISIONS)}"
        )
    if kind == "cuda" and number is None and asked != "fp32":
        raise ValueError(
            "capability is needed to choose a precision on CUDA, got None; pass torch.cuda.get_device_capability()"
        )
    if asked == "auto":
        return "fp32" if kind != "cuda" else "bf16" if number >= (8, 0) else "fp16"
    if asked == "bf16" and kind == "cuda" and number < (8, 0):
        raise ValueError(
            "precision='bf16' needs a GPU of compute capability 8.0 or more, "
            f"got {number[0]}.{number[1]} (a T4 or V100 is older); use precision='fp16' or 'auto'"
        )
    if asked == "fp16" and kind == "cpu":
        raise ValueError(
            "precision='fp16' needs a GPU, got device 'cpu': its kernels are missing or slow there; "
            "use precision='fp32', 'bf16' or 'auto'"
        )
    return asked


def pick_device(device: str = "auto") -> tuple[str, tuple[int, int] | None, str]:
    """Choose where to run: CUDA if there is one, else Apple's GPU, else the CPU.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda", "mps"}

    Returns
    -------
    device : str
    capability : (int, int) or None
        Compute capability of a CUDA device.
    said : str
        For people, such as "CUDA (Tesla T4, 7.5)".

    Raises
    ------
    ValueError
        If the device asked for is not here.
    """
    torch = need("torch")
    if device not in ("auto", *DEVICES):
        raise ValueError(f"device must be one of auto, {', '.join(DEVICES)}, got {device!r}")
    here = {
        "cuda": torch.cuda.is_available(),
        "mps": hasattr(torch.backends, "mps") and torch.backends.mps.is_available(),
        "cpu": True,
    }
    chosen = next(name for name in here if here[name]) if device == "auto" else device
    if not here[chosen]:
        raise ValueError(
            f"device={device!r} is not available in this installation of torch; use device='auto'"
        )
    if chosen != "cuda":
        return chosen, None, {"cpu": "CPU", "mps": "MPS (Apple GPU)"}[chosen]
    if "LOCAL_RANK" in os.environ:  # several processes: each on a GPU of its own, not all on the first
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    capability = torch.cuda.get_device_capability()
    return chosen, capability, f"CUDA ({torch.cuda.get_device_name()}, {capability[0]}.{capability[1]})"


def weights_dtype(precision: str, device: str) -> Any:
    """Dtype to load a pretrained model's weights in.

    With fp16 the weights stay in float32: the trainer's gradient scaler refuses to unscale float16 gradients. On a CPU
    with bf16 units a frozen base in bf16 doubles the speed (its adapter stays in float32), elsewhere it costs.
    """
    torch = need("torch")
    if precision == "bf16":
        return torch.bfloat16
    fast = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    return torch.bfloat16 if device == "cpu" and fast() else torch.float32


def _split(device: str) -> tuple[str, str | None]:
    text = str(device).lower().strip()
    kind = re.split(r"[\s:(]", text, maxsplit=1)[0]
    if kind not in DEVICES:
        raise ValueError(
            f"device must be one of {', '.join(DEVICES)}, got {device!r}{closest(kind, DEVICES)}"
        )
    found = re.search(r"(\d+\.\d+)", text)
    return kind, found[1] if found else None


def _capability(value: tuple[int, int] | float | str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    if isinstance(value, (tuple, list)):
        major, minor = value
        return int(major), int(minor)
    major, _, minor = str(value).partition(".")
    return int(major), int(minor or 0)
