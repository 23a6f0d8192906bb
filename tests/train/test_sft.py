"""SFT lowers the loss, learns the end token, and keeps what the tool wrote out of the loss."""

from __future__ import annotations

import pytest
import torch

from rl_lab.train import shopping, tiny
from rl_lab.train.args import build_lora, build_sft_args
from rl_lab.train.preflight import PreflightError
from rl_lab.train.sft import check_end_token, make_sft_trainer, run_sft, to_examples


@pytest.fixture
def sft_settings(tmp_path):
    return {
        "output_dir": str(tmp_path / "sft"),
        "per_device_train_batch_size": 8,
        "learning_rate": 5e-3,
        "max_steps": 6,
        "live": False,
        "print_every": 100,
        "seed": 1,
    }


def test_sft_lowers_the_loss_through_trl(policy, sft_settings):
    run = run_sft(policy, shopping.demonstrations(64, 3), **sft_settings)
    loss = run["curves"]["loss"]
    assert len(loss) == 6
    assert loss[-1] < loss[0]


def test_the_bucketed_loop_lowers_the_loss(warm):
    assert warm.warm_up_loss[-1] < 0.3 * warm.warm_up_loss[0]


def test_the_bucketed_loop_and_trl_compute_the_same_first_loss(policy, sft_settings):
    traces = shopping.demonstrations(8, 4, tool_share=0.5)
    expected = tiny.warm_up(policy.copy(), traces[:1] * 8, steps=1, batch_size=8)["loss"][0]
    run = run_sft(policy, traces[:1] * 8, **sft_settings | {"max_steps": 1})
    assert run["curves"]["loss"][0] == pytest.approx(expected, rel=1e-3)


def test_loss_is_on_the_assistant_with_its_end_token_and_not_on_the_tool(policy):
    trace = shopping.tool_trace(shopping.EXAMPLE)
    args = build_sft_args(assistant_only_loss=True, report_to="none")
    trainer = make_sft_trainer(policy, to_examples([trace]), args)
    example = trainer.train_dataset[0]
    learned = [t for t, label in zip(example["input_ids"], example["labels"], strict=True) if label != -100]
    text = policy.tokenizer.decode(learned)
    assert "Final Answer: 55<|im_end|>" in text
    assert "tool_response" not in text
    assert "costs 80 yuan" not in text
    assert text.count("<|im_end|>") == 3


def test_prompt_and_completion_as_text_get_an_end_token(policy):
    """Case I05: the label at the last end token is not -100."""
    trainer = make_sft_trainer(
        policy, to_examples([{"prompt": "6*9?", "completion": "Final Answer: 54"}]), build_sft_args()
    )
    example = trainer.train_dataset[0]
    end = policy.tokenizer.eos_token_id
    at = max(i for i, token in enumerate(example["input_ids"]) if token == end)
    assert example["labels"][at] == end
    assert policy.tokenizer.pad_token_id != end


def test_the_default_collator_keeps_the_end_token_when_it_pads(policy):
    rows = [{"prompt": "6*9?", "completion": "54"}, {"prompt": "6*9?", "completion": "It is 54, I think."}]
    trainer = make_sft_trainer(policy, to_examples(rows), build_sft_args(per_device_train_batch_size=2))
    batch = next(iter(trainer.get_train_dataloader()))
    ended = (batch["input_ids"] == policy.tokenizer.eos_token_id) & (batch["labels"] != -100)
    assert ended.any(dim=1).all()
    assert (batch["labels"][batch["input_ids"] == policy.tokenizer.pad_token_id] == -100).all()


def test_lora_trains_the_adapter_only(policy, sft_settings):
    base = policy.copy()
    run = run_sft(
        policy, shopping.demonstrations(32, 5), lora=build_lora(4), **sft_settings | {"max_steps": 2}
    )
    assert policy.has_adapter
    assert run["settings"]["lora_r"] == 4
    ids = torch.tensor([policy.tokenizer("Final Answer: 55")["input_ids"]])
    with torch.no_grad(), policy.model.disable_adapter():
        assert torch.allclose(policy.model(input_ids=ids).logits, base.model(input_ids=ids).logits, atol=1e-5)


def test_sft_resumes_at_the_step(policy, sft_settings, capsys):
    settings = sft_settings | {"save_steps": 1, "max_steps": 1}
    rows = shopping.demonstrations(32, 6)
    run_sft(policy, rows, **settings)
    run = run_sft(policy, rows, resume=True, **settings | {"max_steps": 2})
    assert "resuming from checkpoint-1" in capsys.readouterr().out
    assert run["steps"] == [1, 2]


def test_marks_of_the_fast_encoder_are_the_chat_templates(warm):
    tokenizer = warm.tokenizer
    traces = shopping.demonstrations(20, 8, tool_share=0.7, failure_share=0.5)
    for trace, (ids, marks) in zip(traces, tiny.encode_traces(tokenizer, traces), strict=True):
        slow = tokenizer.apply_chat_template(
            trace, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
        )
        assert (ids, marks) == (slow["input_ids"], slow["assistant_masks"])


def test_texts_survive_the_tokenizer(warm):
    tokenizer = warm.tokenizer
    for text in (
        '<tool_call>\n{"name": "calc", "arguments": {"expression": "80*0.75"}}\n</tool_call>',
        "An item costs 80 yuan, is sold at 75 % of its price, and a coupon takes off 5 yuan more. What is paid?",
        "error: division by zero in expr '5/0'; change the divisor",
        "62.5 is no whole number, 1234567 is long",
    ):
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    assert tokenizer.tokenize("80*0.75") == ["80", "*", "0.75"]
    assert (
        len(
            tokenizer.tokenize(
                '<tool_call>\n{"name": "calc", "arguments": {"expression": "80*0.75"}}\n</tool_call>'
            )
        )
        == 7
    )


def test_a_character_without_a_token_is_an_error(warm):
    with pytest.raises(ValueError, match="characters without a token"):
        tiny.encode_traces(warm.tokenizer, [[{"role": "user", "content": "多少钱"}]])


def test_a_tokenizer_built_on_other_texts_knows_their_characters():
    tokenizer = tiny.build_tokenizer(["打八折多少钱 80 元"])
    assert tokenizer.decode(tokenizer("多少钱 80 元")["input_ids"]) == "多少钱 80 元"


def test_seeds_decide(warm):
    assert torch.equal(tiny.make_tiny(3).model.lm_head.weight, tiny.make_tiny(3).model.lm_head.weight)
    assert not torch.equal(tiny.make_tiny(3).model.lm_head.weight, tiny.make_tiny(4).model.lm_head.weight)


def test_pad_as_end_token_is_refused(policy, sft_settings):
    policy.tokenizer = type(policy.tokenizer)(tokenizer_object=policy.tokenizer.backend_tokenizer)
    policy.tokenizer.pad_token = policy.tokenizer.eos_token = "<|im_end|>"
    with pytest.raises(PreflightError, match="pad token and end token must differ"):
        run_sft(policy, [{"prompt": "6*9?", "completion": "54"}], **sft_settings)


def test_a_template_without_generation_marks_cannot_hide_the_tool(policy, sft_settings):
    import copy

    policy.tokenizer = copy.deepcopy(policy.tokenizer)
    policy.tokenizer.chat_template = policy.tokenizer.chat_template.replace("{% generation %}", "").replace(
        "{% endgeneration %}", ""
    )
    with pytest.raises(PreflightError, match="does not mark the assistant's turns"):
        run_sft(policy, [shopping.tool_trace(shopping.EXAMPLE)], **sft_settings)


def test_group_by_length_is_refused(policy, sft_settings):
    with pytest.raises(ValueError, match="forgets the tool"):
        run_sft(
            policy, shopping.demonstrations(8, 1), train_sampling_strategy="group_by_length", **sft_settings
        )


def test_a_completion_cut_before_its_end_is_refused(policy, sft_settings):
    with pytest.raises(PreflightError, match="raise max_length"):
        run_sft(policy, [{"prompt": "6*9?", "completion": "54 " * 90}], **sft_settings | {"max_length": 20})


def test_rows_without_a_completion_are_named():
    with pytest.raises(PreflightError, match=r"row 1 has no completion, it has prompt, answer"):
        to_examples([{"prompt": "a", "completion": "b"}, {"prompt": "a", "answer": "b"}])


def test_check_end_token_finds_text_without_end():
    with pytest.raises(PreflightError, match="no end token"):
        check_end_token({"input_ids": [1, 2], "labels": [1, 2]}, [9])
