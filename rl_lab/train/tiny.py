"""How small can a language model be and still learn to use a tool? 0.18 million parameters, made here from a config.

Nothing is downloaded. Three choices make a Llama of 2 layers x 64 learn the task in half a minute on one core:

- **phrase tokens**: the text between two numbers is one token, so a tool call is 8 tokens and the two-call solution
  57 where letters and digits would make 160. Anything unknown falls back to single characters, so text survives
  the round trip, and tool calls stay real JSON;
- **whole numbers as tokens**: copying a result into the next call is one step;
- **batches of equal length and no padding to compute** (`warm_up`): a third of the time of a general trainer.

>>> policy = make_tiny(seed=0)                                                         # doctest: +SKIP
>>> warm_up(policy, shopping.demonstrations(8000, seed=0))                  # doctest: +SKIP
"""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rl_lab.train import shopping
from rl_lab.train._chat import CHAT_TEMPLATE, END, PAD, START, TOOL_TAGS, use_chat_template
from rl_lab.train._need import need
from rl_lab.train.policy import Policy

__all__ = ["build_model", "build_tokenizer", "encode_traces", "make_tiny", "warm_up"]

Example = tuple[list[int], list[int]]  # token ids, and 1 where the assistant wrote the token
_NUMBER = r"\d+(?:\.\d+)?"


def render(traces: Iterable[list[dict[str, Any]]]) -> list[str]:
    """Write conversations out as text with our chat template, without a tokenizer."""
    utils = need("transformers.utils.chat_template_utils")
    return utils.render_jinja_template(conversations=list(traces), chat_template=CHAT_TEMPLATE)[0]


def build_tokenizer(texts: Iterable[str], *, largest: int = 999) -> Any:
    """Make a tokenizer whose tokens are the phrases of `texts`, numbers, and single characters for the rest.

    Parameters
    ----------
    texts : iterable of str
        Rendered conversations; each stretch between two numbers becomes a token.
    largest : int, default 999
        Whole numbers from 0 to this are one token each, and so are the multipliers 0.05 to 0.95.

    Returns
    -------
    transformers.PreTrainedTokenizerFast
        With our chat template and response template. Its pad token is not its end token. Decoding the ids of a
        text gives the text back, as long as its characters are ASCII or occur in `texts`.
    """
    tk, transformers = need("tokenizers"), need("transformers")
    special = [PAD, START, END, *TOOL_TAGS, "<unk>"]
    split = tk.pre_tokenizers.Split
    phrases = split(tk.Regex(rf"(?:system|user|assistant)\n|{_NUMBER}"), behavior="isolated")
    tags = split(tk.Regex("|".join(map(re.escape, special))), behavior="isolated")
    texts = list(texts)
    cut = tk.pre_tokenizers.Sequence([tags, phrases])
    known = sorted({piece for text in texts for piece, _ in cut.pre_tokenize_str(text)})
    numbers = [str(n) for n in range(largest + 1)] + [f"{n / 20:.2f}".rstrip("0") for n in range(1, 20)]
    characters = sorted({chr(code) for code in range(32, 127)} | {"\n"} | set("".join(texts)))
    vocabulary = {
        token: i for i, token in enumerate(dict.fromkeys([*special, *characters, *numbers, *known]))
    }
    # A BPE without merges: the whole piece where it is known, its characters where it is not.
    core = tk.Tokenizer(tk.models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>", ignore_merges=True))  # noqa: S106
    core.pre_tokenizer, core.decoder = phrases, tk.decoders.Fuse()
    core.add_special_tokens([PAD, START, END, "<unk>"])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=PAD,
        eos_token=END,
        unk_token="<unk>",  # noqa: S106
        padding_side="left",
        clean_up_tokenization_spaces=False,
        model_max_length=512,
    )
    # The tags of a tool call must survive skip_special_tokens=True, so they are added but not special.
    tokenizer.add_tokens([tk.AddedToken(tag, special=False, normalized=False) for tag in TOOL_TAGS])
    return use_chat_template(tokenizer)


def build_model(tokenizer: Any, *, hidden: int = 64, layers: int = 2, heads: int = 2, seed: int = 0) -> Any:
    """Make an untrained Llama for `tokenizer`; the seed decides its weights."""
    torch, transformers = need("torch"), need("transformers")
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=3 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    model = transformers.LlamaForCausalLM(config)
    # The usual 0.02 starts a model this narrow with almost equal logits: it learns several times more slowly.
    torch.nn.init.normal_(model.model.embed_tokens.weight, std=0.08)
    return model


def make_tiny(seed: int = 0, traces: Iterable[list[dict[str, Any]]] | None = None, **shape: int) -> Policy:
    """Make the tiny model with its tokenizer, untrained.

    Parameters
    ----------
    seed : int, default 0
        Of the weights.
    traces : iterable of conversations, or of rows with ``prompt`` and ``completion``, optional
        Whose phrases become tokens; by default those of the shopping task, with every kind of conversation in it.
    **shape
        ``hidden``, ``layers`` and ``heads`` of `build_model`.

    Returns
    -------
    Policy
        On the CPU, in float32: a model this small gains nothing elsewhere.
    """
    if traces is None:
        traces = shopping.demonstrations(400, 0, tool_share=0.9, failure_share=0.5, retry_share=0.5)
    tokenizer = build_tokenizer(render(map(_conversation, traces)))
    model = build_model(tokenizer, seed=seed, **shape)
    size = sum(p.numel() for p in model.parameters())
    return Policy(model, tokenizer, "tiny", said=f"tiny model, {size:,} parameters, untrained, CPU, fp32")


def _conversation(trace: Any) -> list[dict[str, Any]]:
    return [*trace["prompt"], *trace["completion"]] if isinstance(trace, Mapping) else trace


def encode_traces(tokenizer: Any, traces: Iterable[list[dict[str, Any]]]) -> list[Example]:
    """Tokenize conversations and mark what the assistant wrote, end token included.

    Returns the same as ``apply_chat_template(..., return_assistant_tokens_mask=True)``, several times faster: the
    template is rendered in one go and the marks are read off the ids.

    Raises
    ------
    ValueError
        If a text holds a character that the tokenizer has no token for.
    """
    head = tokenizer(f"{START}assistant\n", add_special_tokens=False)["input_ids"]
    unknown = tokenizer.unk_token_id
    examples = []
    for ids in tokenizer(render(traces), add_special_tokens=False)["input_ids"]:
        if unknown is not None and unknown in ids:
            raise ValueError(
                f"a conversation holds characters without a token: {tokenizer.decode(ids)[:200]!r}; "
                "build the tokenizer on texts that contain them"
            )
        examples.append((ids, _assistant_marks(ids, head, tokenizer.eos_token_id)))
    return examples


def _assistant_marks(ids: list[int], head: list[int], end: int) -> list[int]:
    marks, inside, n = [0] * len(ids), False, len(head)
    for i, token in enumerate(ids):
        if not inside and ids[max(0, i - n) : i] == head:
            inside = True
        if inside:
            marks[i] = 1
            inside = token != end
    return marks


def _buckets(examples: list[Example], ratio: float = 1.3) -> Iterator[list[Example]]:
    """Split a batch into parts of similar length, so that almost no padding is computed."""
    part: list[Example] = []
    for example in sorted(examples, key=lambda e: len(e[0])):
        if part and len(example[0]) > ratio * len(part[0][0]):
            yield part
            part = []
        part.append(example)
    yield part


def warm_up(
    policy: Policy,
    traces: Sequence[list[dict[str, Any]]],
    *,
    steps: int = 900,
    batch_size: int = 40,
    learning_rate: float = 8e-3,
    seed: int = 0,
    on_step: Callable[[int, float, float], None] | None = None,
) -> dict[str, Any]:
    """SFT in plain PyTorch: next-token loss on the assistant's tokens, AdamW, a cosine schedule.

    Parameters
    ----------
    policy : Policy
        Trained in place.
    traces : sequence of conversations
        What to imitate.
    steps, batch_size, learning_rate, seed
        One step sees `batch_size` conversations, drawn with `seed`.
    on_step : callable, optional
        Called with (step, loss, seconds so far) after each step.

    Returns
    -------
    dict
        ``loss`` (list of float, nats per token, one per step), ``seconds``, ``tokens``.
    """
    torch = need("torch")
    model, tokenizer, rng = policy.model, policy.tokenizer, random.Random(seed)
    examples = encode_traces(tokenizer, traces)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=learning_rate, weight_decay=0.01, betas=(0.9, 0.98), fused=True
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min(1.0, (s + 1) / 20) * (0.1 + 0.45 * (1 + math.cos(math.pi * s / steps)))
    )
    losses, tokens, start = [], 0, time.perf_counter()
    model.train()
    for step in range(1, steps + 1):
        batch = [examples[rng.randrange(len(examples))] for _ in range(batch_size)]
        total, loss = sum(sum(marks[1:]) for _, marks in batch), 0.0
        for part in _buckets(batch):
            part_loss = _loss_sum(model, part) / total
            part_loss.backward()
            loss += part_loss.item()
            tokens += sum(len(ids) for ids, _ in part)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        losses.append(loss)
        if on_step:
            on_step(step, loss, time.perf_counter() - start)
    model.eval()
    model.config._name_or_path = ""  # these are no longer the weights that the name stands for
    return {"loss": losses, "seconds": time.perf_counter() - start, "tokens": tokens}


def _loss_sum(model: Any, part: list[Example]) -> Any:
    """Sum of the next-token losses over the assistant's tokens of equally long conversations."""
    torch = need("torch")
    length = max(len(ids) for ids, _ in part)
    # Padded on the right, where causal attention never looks back at it: no attention mask is needed.
    ids = torch.tensor([row + [0] * (length - len(row)) for row, _ in part])
    marks = torch.tensor([row + [0] * (length - len(row)) for _, row in part])[:, 1:] == 1
    hidden = model.model(input_ids=ids).last_hidden_state[:, :-1]
    # Logits only where there is a loss: the vocabulary is the widest part of so narrow a model.
    logits = model.lm_head(hidden[marks])
    return torch.nn.functional.cross_entropy(logits, ids[:, 1:][marks], reduction="sum")
