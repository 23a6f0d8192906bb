"""What does training cost in tokens, hours and money, and when has it paid for itself?

Every number that goes in is yours: how many examples, how long, on which card, at which price. The formulas are the
usual rough ones, and each names its source. What comes out is an order of magnitude and, for hours, a lower bound:
loading, waiting, evaluating and starting again come on top. Time ten steps of your own before you promise a date.

>>> tokens = sft_tokens(examples=1_000, tokens_per_example=300, epochs=3)
>>> flops = training_flops(params=500_000_000, tokens=tokens)
>>> round(3600 * gpu_hours(flops, peak_tflops=100, utilisation=0.3))
90
>>> payback_months(one_off=6_000, before_per_month=1_500, after_per_month=500)
6.0

References
----------
Kaplan et al. (2020), Scaling Laws for Neural Language Models, arXiv:2001.08361, section 2.1. Pope et al. (2022),
Efficiently Scaling Transformer Inference, arXiv:2211.05102, section 2.1. Schulman et al. (2025), LoRA Without Regret,
https://thinkingmachines.ai/blog/lora/.
"""

from __future__ import annotations

import math

from rl_lab._amounts import above_zero, amount, flag, fraction, whole
from rl_lab._record import Record

__all__ = [
    "generation_flops",
    "generation_hours",
    "gpu_hours",
    "grpo_tokens",
    "payback_months",
    "prompt_cost",
    "requests_to_pay_back",
    "sft_tokens",
    "training_flops",
]


def sft_tokens(examples: int, tokens_per_example: float, epochs: float = 1) -> float:
    """Count the tokens that supervised fine-tuning (SFT) reads: prompt and completion of each example, each epoch.

    Parameters
    ----------
    examples : int
        Number of examples, at least 0.
    tokens_per_example : float
        Mean length of prompt and completion together, at least 0.
    epochs : float, default 1
        Passes over the data, at least 0.

    Returns
    -------
    float
        Tokens. Padding is not counted.

    Examples
    --------
    >>> sft_tokens(7_473, 250, 2)
    3736500.0
    """
    return (amount("examples", examples) * amount("tokens_per_example", tokens_per_example)) * amount(
        "epochs", epochs
    )


def grpo_tokens(
    steps: int, prompts_per_step: int, group_size: int, prompt_tokens: float, completion_tokens: float
) -> Record:
    """Count the tokens that a run of GRPO writes and reads.

    Parameters
    ----------
    steps : int
        Updates, each on freshly generated completions, at least 0.
    prompts_per_step, group_size : int
        Groups of a step, and completions of a group, at least 0.
    prompt_tokens, completion_tokens : float
        Mean lengths, at least 0. In an agent's episode the completion is everything after the first prompt, the
        results of tools included.

    Returns
    -------
    Record
        ``completions``; ``generated``, tokens that were sampled; ``trained``, tokens that go through the update
        (prompt and completion of each completion).

    Examples
    --------
    >>> grpo_tokens(steps=100, prompts_per_step=8, group_size=8, prompt_tokens=100, completion_tokens=200)
    {'completions': 6400.0, 'generated': 1280000.0, 'trained': 1920000.0}
    """
    completions = math.prod(
        amount(name, value)
        for name, value in (
            ("steps", steps),
            ("prompts_per_step", prompts_per_step),
            ("group_size", group_size),
        )
    )
    written = amount("completion_tokens", completion_tokens)
    read = amount("prompt_tokens", prompt_tokens)
    return Record(
        completions=completions, generated=completions * written, trained=completions * (read + written)
    )


def training_flops(
    params: float, tokens: float, *, lora: bool = False, checkpointing: bool = False, reference: bool = False
) -> float:
    """Estimate the operations of training on `tokens` tokens: 6 a parameter and token.

    Parameters
    ----------
    params : float
        Parameters of the whole model, at least 0.
    tokens : float
        Tokens that go through the update, at least 0.
    lora : bool, default False
        The base is frozen: no gradients of its weights are computed, 4 in place of 6.
    checkpointing : bool, default False
        Gradient checkpointing repeats the forward pass: 2 more.
    reference : bool, default False
        A reference model reads the tokens, too (GRPO with a KL term): 2 more.

    Returns
    -------
    float
        Floating-point operations (additions and multiplications).

    Notes
    -----
    Forward 2, backward 4: half of it for the gradients of activations, half for those of weights (Kaplan et al. 2020,
    section 2.1, C = 6ND). Their N leaves embeddings out; where the output layer shares the embedding's weights, all
    parameters is the better count, because the output layer does compute. Attention over long contexts is left out.

    Examples
    --------
    >>> training_flops(1e9, 1e6), training_flops(1e9, 1e6, lora=True)
    (6000000000000000.0, 4000000000000000.0)
    """
    each = 4 if flag("lora", lora) else 6
    each += 2 * flag("checkpointing", checkpointing) + 2 * flag("reference", reference)
    return each * amount("params", params) * amount("tokens", tokens)


def generation_flops(params: float, tokens: float) -> float:
    """Estimate the operations of generating `tokens` tokens: 2 a parameter and token (Kaplan et al. 2020, 2.1).

    Parameters
    ----------
    params, tokens : float
        At least 0.

    Returns
    -------
    float
        Floating-point operations. Reading the prompt costs the same a token.

    Examples
    --------
    >>> generation_flops(1e9, 1e6)
    2000000000000000.0
    """
    return 2 * amount("params", params) * amount("tokens", tokens)


def gpu_hours(flops: float, peak_tflops: float, utilisation: float = 0.3) -> float:
    """Turn operations into hours on one card.

    Parameters
    ----------
    flops : float
        Operations, at least 0.
    peak_tflops : float
        What the card's data sheet promises for dense 16-bit matrices, in 10**12 operations a second, above 0.
        Data sheets often print twice that, "with sparsity".
    utilisation : float, default 0.3
        Share of the peak that is reached, above 0 and up to 1. Llama 3 reports 0.38 to 0.43 for its pre-training
        (arXiv:2407.21783, section 3.3.2); a small model in a notebook stays far below.

    Returns
    -------
    float
        Hours.

    Examples
    --------
    >>> gpu_hours(3.6e17, peak_tflops=100, utilisation=0.5)
    2.0
    """
    speed = (
        above_zero(
            "peak_tflops", peak_tflops, usual="in 10**12 operations a second: an A100 has 312", most=1e5
        )
        * 1e12
        * above_zero("utilisation", fraction("utilisation", utilisation), usual="0.3 is a usual share")
    )
    return amount("flops", flops) / speed / 3600


def generation_hours(
    params: float,
    tokens: float,
    *,
    parallel: int,
    peak_tflops: float,
    bandwidth_tb: float,
    utilisation: float = 0.3,
    bytes_per_param: float = 2,
) -> float:
    """Estimate the hours of generating: whichever takes longer, computing or reading the weights from memory.

    Each step writes one token for each of `parallel` completions, and reads every weight once for it. With few
    completions side by side the card waits for its memory.

    Parameters
    ----------
    params, tokens : float
        Parameters of the model, and tokens to write in all, at least 0.
    parallel : int
        Completions that are generated side by side, at least 1.
    peak_tflops, utilisation : float
        As in :func:`gpu_hours`.
    bandwidth_tb : float
        Memory bandwidth of the card in 10**12 bytes a second, above 0. The share that is reached counts here, too.
    bytes_per_param : float, default 2
        Width of a weight: 2 for bf16 and fp16.

    Returns
    -------
    float
        Hours on one card, a lower bound at that share: the cache of keys and values is read as well.

    Notes
    -----
    Pope et al. (2022), section 2.1: compute time against memory time.

    Examples
    --------
    >>> slow = generation_hours(1e9, 1e6, parallel=1, peak_tflops=100, bandwidth_tb=1, utilisation=1)
    >>> fast = generation_hours(1e9, 1e6, parallel=64, peak_tflops=100, bandwidth_tb=1, utilisation=1)
    >>> round(3600 * slow), round(3600 * fast, 1)
    (2000, 31.2)
    """
    whole("parallel", parallel, least=1)
    compute = gpu_hours(generation_flops(params, tokens), peak_tflops, utilisation)
    speed = (
        above_zero(
            "bandwidth_tb", bandwidth_tb, usual="in 10**12 bytes a second: an A100 has 2.039", most=1e3
        )
        * 1e12
        * above_zero("utilisation", fraction("utilisation", utilisation), usual="0.3 is a usual share")
    )
    read = (
        params
        * above_zero("bytes_per_param", bytes_per_param, usual="2 for bf16", most=16)
        * (tokens / parallel)
    )
    return max(compute, read / speed / 3600)


def prompt_cost(
    requests: float,
    tokens: float,
    price_per_million: float,
    *,
    cached_share: float = 0.0,
    cached_price: float = 1.0,
) -> float:
    """Compute what the same tokens in front of every request cost.

    Parameters
    ----------
    requests : float
        Requests in the period, at least 0.
    tokens : float
        Tokens that the prompt adds to each, at least 0.
    price_per_million : float
        Your price of a million input tokens, at least 0, in any currency.
    cached_share : float, default 0.0
        Share of the requests whose prefix is served from a cache, 0 to 1.
    cached_price : float, default 1.0
        What a cached token costs, as a share of the normal price, 0 to 1.

    Returns
    -------
    float
        Cost in the currency of the price.

    Examples
    --------
    >>> prompt_cost(requests=100_000, tokens=2_000, price_per_million=0.5)
    100.0
    >>> round(prompt_cost(100_000, 2_000, 0.5, cached_share=1.0, cached_price=0.1), 6)
    10.0
    """
    full = amount("requests", requests) * amount("tokens", tokens)
    share = fraction("cached_share", cached_share)
    paid = 1 - share + share * fraction("cached_price", cached_price)
    return full * paid * amount("price_per_million", price_per_million) / 1e6


def payback_months(one_off: float, before_per_month: float, after_per_month: float = 0.0) -> float | None:
    """Find after how many months a one-off expense has paid for itself.

    Parameters
    ----------
    one_off : float
        What it costs once, at least 0: people, data, evaluation, accelerator hours, failed attempts.
    before_per_month, after_per_month : float
        Running cost without it and with it, at least 0.

    Returns
    -------
    float or None
        Months; None if the running cost does not fall, so that it never pays (0.0 if it costs nothing at all).

    Examples
    --------
    >>> payback_months(12_000, 1_000)
    12.0
    >>> payback_months(12_000, 100, 400) is None
    True
    """
    saved = amount("before_per_month", before_per_month) - amount("after_per_month", after_per_month)
    if amount("one_off", one_off) == 0 and saved >= 0:
        return 0.0
    return one_off / saved if saved > 0 else None


def requests_to_pay_back(completions: float, k: int, *, lora: bool = True) -> float:
    """Find after how many requests one RL run has cost less compute than sampling `k` completions each time.

    The run is GRPO: each of its completions is generated (2 operations a parameter and token) and trained on (4 with
    LoRA, else 6). Serving one completion in place of `k` saves ``k - 1`` times 2. The size of the model and the length
    of a completion appear on both sides and cancel.

    Parameters
    ----------
    completions : float
        Completions that the run generates, at least 0: steps times prompts times group size.
    k : int
        Samples that a request takes without training, at least 2.
    lora : bool, default True
        Whether the base is frozen in training.

    Returns
    -------
    float
        Requests. Prompts are left out on both sides, and so is all that people do.

    Examples
    --------
    >>> requests_to_pay_back(completions=19_200, k=8, lora=False)
    10971.42857142857
    """
    whole("k", k, least=2)
    run = amount("completions", completions) * (2 + (4 if flag("lora", lora) else 6))
    return run / (2 * (k - 1))
