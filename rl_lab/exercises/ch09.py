"""Exercises of chapter 9: factors, grouped heads, merging, the rank that fits.

>>> from rl_lab.check import check
>>> check("09.1", [4, 2]).passed
True
"""

from __future__ import annotations

from typing import Any

from rl_lab.check import Probe, exercise, is_ordered
from rl_lab.lora import find_model, lora_forward, model_lora_params


@exercise("09.1", "The colleague who raised the rank")
def _(answer: Any, t: Probe) -> None:
    how = "Work out the factor at r = 16 and at r = 64 and divide the first by the second, once for each convention."
    t.value(
        answer,
        [4, 2],
        ask="how many times weaker, with alpha / r and with alpha / sqrt(r)",
        why=how,
        hints=[
            (lambda a: list(a) == [2, 4], "The other way round: the root shrinks less."),
            (
                lambda a: list(a) == [0.25, 0.5],
                "These are the new factor over the old one; asked is how many times weaker.",
            ),
            (
                lambda a: list(a) == [0.25, 2],
                "These are the factors at r = 64. Compare each with its factor at r = 16.",
            ),
            (
                lambda a: list(a) == [4, 4],
                "rsLoRA divides by the square root of the rank: 16/4 before, 16/8 after.",
            ),
        ],
    )


@exercise("09.2", "Count grouped heads")
def _(answer: Any, t: Probe) -> None:
    llama_3 = {"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "r": 8}
    t.call(
        answer,
        **llama_3,
        expect=6_815_744,
        why="q and o are 4096 x 4096, k and v 4096 x 1024: 32 * 8 * (2 * 8192 + 2 * 5120).",
        hints={
            8_388_608: "Four squares: that is Llama-2. Here 8 key heads of 128 make k and v only 1024 wide.",
            5_242_880: "Only k and v are narrow; o takes all 32 query heads and is as wide as q.",
            212_992: "That is one layer; the model has 32.",
        },
    )
    t.call(
        answer,
        **llama_3 | {"kv_heads": 32},
        expect=8_388_608,
        why="As many key heads as query heads: four squares again, as in Llama-2.",
    )
    t.call(
        answer,
        layers=28,
        hidden=1024,
        heads=16,
        kv_heads=8,
        head_dim=128,
        r=16,
        expect=model_lora_params("Qwen3-0.6B", "attention", 16)["trainable"],
        why="Qwen3-0.6B: q leads from 1024 to 16 * 128 = 2048, and o back. Take heads * head_dim, not hidden.",
    )


@exercise("09.3", "Build the merge")
def _(answer: Any, t: Probe) -> None:
    one = [[1, 0], [0, 1]]
    t.call(
        answer,
        [[0, 0], [0, 0]],
        one,
        one,
        16,
        expect=[[8, 0], [0, 8]],
        why="alpha / r = 16 / 2 = 8, times B A, which is the identity here.",
        hints={
            ((16, 0), (0, 16)): "That is alpha. The factor is alpha / r, and A has two rows.",
            ((1, 0), (0, 1)): "That is B A alone: the factor alpha / r is missing.",
            ((0, 0), (0, 0)): "That is W: nothing was added yet.",
        },
    )
    t.call(
        answer,
        [[1, 2, 3], [4, 5, 6]],
        [[1, 0, 2]],
        [[1], [3]],
        2,
        expect=[[3, 2, 7], [10, 5, 18]],
        why="W is 2 x 3, A 1 x 3 and B 2 x 1. The factor is 2; row 2 of B A is 3, 0, 6.",
    )
    t.call(
        answer,
        [[1, 2], [3, 4]],
        one,
        [[0, 0], [0, 0]],
        16,
        expect=[[1, 2], [3, 4]],
        why="B = 0 changes nothing.",
    )
    W, A, B, x = [[1, 2], [3, 4]], [[1, -1]], [[0.5], [2]], [3, 5]
    merged = t.run(
        answer, W, A, B, 3, why="The merged layer must answer as base and adapter side by side do."
    )
    t.that(
        W == [[1, 2], [3, 4]],
        "W after the call",
        came_back=repr(W),
        expected="[[1, 2], [3, 4]]",
        why="Return new rows: a second merge into a changed W would add the adapter twice.",
    )
    rows = is_ordered(merged) and all(map(is_ordered, merged))
    outputs = [sum(w * v for w, v in zip(row, x, strict=True)) for row in merged] if rows else merged
    beside = lora_forward(x, W, A, B, 3)
    t.value(outputs, beside, ask="merged W times [3, 5]", why="Base plus adapter side by side give this.")


@exercise("09.4", "The largest rank that fits")
def _(answer: Any, t: Probe) -> None:
    t.call(
        answer,
        "Llama-3-8B",
        100,
        expect=9,
        why="Rank 1 holds 2,621,440 numbers, 10.49 MB in fp32; nine of them fit into 100 MB.",
        hints={
            8: "8 fits, but is it the largest?",
            10: "10 needs 104.9 MB: round down, not to the nearest.",
            19: "That is 2 bytes a number; fp32 takes 4.",
            38: "These are numbers, not bytes: each takes 4 bytes.",
        },
    )
    for model, megabytes in (("Qwen2.5-0.5B", 50), ("SmolLM2-135M", 10), ("Qwen2.5-7B", 1000)):
        one = 4 * model_lora_params(model, "all-linear", 1)["trainable"]
        why = f"Rank 1 on {find_model(model).name} takes {one / 1e6:.2f} MB, and the size is proportional to the rank."
        t.call(answer, model, megabytes, expect=megabytes * 1_000_000 // one, why=why)
    t.call(answer, "Llama-3-8B", 10, expect=0, why="Rank 1 takes 10.49 MB: nothing fits.")
