"""Lab 4 in a terminal: what a rank-r adapter trains, how strongly it acts, and what it saves.

>>> main()  # doctest: +ELLIPSIS
Lab 4 · LoRA arithmetic
...
"""

from __future__ import annotations

from rl_lab.lora import full_finetune_params, lora_params, memory, model_lora_params, scaling

D = K = 4096
_RANKS = (4, 8, 16, 64)
_SCALES = ((8, 8), (16, 8), (32, 8), (32, 16))
_MODELS = ("Llama-2-7B", "Llama-3-8B", "Qwen2.5-7B", "Qwen2.5-0.5B")
_QKVO = ("q", "k", "v", "o")


def main() -> None:
    """Print the lab: one matrix, the scaling factor, whole models, memory."""
    print("Lab 4 · LoRA arithmetic\n")
    for part in (_one_matrix, _scaling, _models, _memory):
        print("\n".join(part()), end="\n\n")
    print("Not counted: activations. They depend on batch, length and checkpointing.")


def _one_matrix() -> list[str]:
    full = full_finetune_params(D, K)
    rows = [f"One matrix of {D} x {K}", f"{'':4}{'full tuning':<14}{full:>12,} trained"]
    for r in _RANKS:
        count = lora_params(D, K, r)
        rows.append(f"{'':4}{f'LoRA r = {r}':<14}{count:>12,} trained{full // count:>7}x fewer")
    return rows


def _scaling() -> list[str]:
    rows = ["Factor in front of B A: alpha / r"]
    return rows + [f"{'':4}alpha {alpha:>2}, r {r:>2}: {scaling(alpha, r):g}" for alpha, r in _SCALES]


def _models() -> list[str]:
    naive = 32 * 4 * lora_params(D, K, 8)
    rows = [
        "r = 8 on q, k, v, o of whole models",
        f"{'':4}32 layers of four square matrices: {naive:,}, {100 * naive / 7e9:.3f} % of a round 7e9",
        f"{'':4}{'model':<14}{'trained':>12}{'base + adapter':>17}{'share':>11}",
    ]
    for name in _MODELS:
        count = model_lora_params(name, _QKVO, r=8)
        rows.append(f"{'':4}{name:<14}{count['trainable']:>12,}{count['all']:>17,}{count['percent']:>9.4f} %")
    return [*rows, f"{'':4}Grouped-query attention: k and v are narrower than q, so they train less."]


def _memory() -> list[str]:
    rows = [
        "Training Llama-3-8B with AdamW, GB (LoRA: r = 16, all linear layers)",
        f"{'':4}{'':<14}{'weights':>9}{'gradients':>11}{'optimizer':>11}{'total':>8}{'stored':>13}",
    ]
    for mode, label in (("full", "full tuning"), ("lora", "LoRA"), ("qlora", "LoRA, 4-bit")):
        m = memory("Llama-3-8B", mode, r=16)
        sizes = [m[part] / 1e9 for part in ("weights", "gradients", "optimizer", "total")]
        numbers = "{:>9.1f}{:>11.2f}{:>11.2f}{:>8.1f}".format(*sizes)
        rows.append(f"{'':4}{label:<14}{numbers}{m['saved_mb']:>10,.0f} MB")
    return rows


if __name__ == "__main__":
    main()
