"""Evaluation and the hand-written GRPO judge the episodes that TRL trains on, whatever the model writes.

Each completion of the table below is played twice: by ``rollout.play``, and by the tool loop of a real
``trl.GRPOTrainer``. Only the sampler is scripted, in both.
"""

from __future__ import annotations

import json

import pytest

from rl_lab.train import rollout
from rl_lab.train._chat import find_calls
from rl_lab.train.args import build_grpo_args
from rl_lab.train.environment import environment_reward, make_environment
from rl_lab.train.grpo import make_trainer

END = "<|im_end|>"
DONE = f"Final Answer: 55{END}"


def call(body, end=END):
    return f"<tool_call>\n{body}\n</tool_call>{end}"


def calc(arguments):
    return call(f'{{"name": "calc", "arguments": {arguments}}}')


GOOD = '{"name": "calc", "arguments": {"expression": "80*0.75"}}'
# What the model writes, turn by turn; when these are used up it writes DONE.
EPISODES = {
    "a good call": [call(GOOD)],
    "two turns": [call(GOOD), calc('{"expression": "60-5"}')],
    "two good calls in a turn": [call(GOOD, "") + "\n" + calc('{"expression": "60-5"}')],
    "an answer at once": [DONE],
    "nothing but the end": [END],
    "text before the call": ["I need a product. " + call(GOOD)],
    "text after the call": [call(GOOD, "") + " Final Answer: 55" + END],
    "text on both sides": ["First. " + call(GOOD, "") + " Final Answer: 55" + END],
    "answer before the call": ["Final Answer: 55 " + call(GOOD)],
    "T2-04 arguments encoded twice": [calc(json.dumps('{"expression": "80*0.75"}'))],
    "arguments are a list": [calc('["80*0.75"]')],
    "arguments are an empty list": [calc("[]")],
    "arguments are null": [calc("null")],
    "arguments are a number": [calc("60")],
    "arguments are true": [calc("true")],
    "arguments are empty": [calc("{}")],
    "no arguments": [call('{"name": "calc"}')],
    "parameters instead of arguments": [call('{"name": "calc", "parameters": {"expression": "80*0.75"}}')],
    "a wrong argument": [calc('{"expr": "80*0.75"}')],
    "one argument too many": [calc('{"expression": "80*0.75", "precision": 2}')],
    "an argument that is a number": [calc('{"expression": 60}')],
    "an argument that is null": [calc('{"expression": null}')],
    "an argument that is an object": [calc('{"expression": {"a": 1}}')],
    "an argument that is no arithmetic": [calc('{"expression": "eighty"}')],
    "the same argument twice": [calc('{"expression": "1+1", "expression": "80*0.75"}')],
    "an unknown tool": [call('{"name": "search", "arguments": {"expression": "80*0.75"}}')],
    "a private method": [call('{"name": "_clear", "arguments": {}}')],
    "the method reset": [call('{"name": "reset", "arguments": {}}')],
    "no name": [call('{"arguments": {"expression": "80*0.75"}}')],
    "a name that is null": [call('{"name": null, "arguments": {"expression": "80*0.75"}}')],
    "a name that is a number": [call('{"name": 7, "arguments": {}}')],
    "a function around it": [call(f'{{"type": "function", "function": {GOOD}}}')],
    "a list of calls": [call(f"[{GOOD}]")],
    "a call that is a text": [call('"calc"')],
    "a call that is null": [call("null")],
    "an empty call": [call("")],
    "a bracket is missing": [call(GOOD[:-1])],
    "single quotes": [call(GOOD.replace('"', "'"))],
    "a trailing comma": [call(GOOD[:-1] + ",}")],
    "a comment after it": [call(GOOD + " // 25 % off")],
    "two objects in a call": [call(GOOD + "\n" + GOOD)],
    "NaN": [calc('{"expression": NaN}')],
    "T2-06 a broken call before a good one": [call(GOOD[:-1], "") + "\n" + call(GOOD)],
    "a broken call after a good one": [call(GOOD, "") + "\n" + call(GOOD[:-1])],
    "an unknown tool beside a good call": [call('{"name": "search", "arguments": {}}', "") + call(GOOD)],
    "bad arguments beside a good call": [call('{"name": "calc", "arguments": []}', "") + call(GOOD)],
    "a call without its end": [f"<tool_call>\n{GOOD}{END}"],
    "a call without its beginning": [f"{GOOD}\n</tool_call>{END}"],
    "a call within a call": ["<tool_call>\n" + call(GOOD, "") + "\n</tool_call>" + END],
    "on one line": [f"<tool_call>{GOOD}</tool_call>{END}"],
    "a fence around the JSON": [call(f"```json\n{GOOD}\n```")],
    "a result that the model made up": [call(GOOD, "") + "<tool_response>\n60\n</tool_response>" + DONE],
    "cut off in the call": ["<tool_call>\n" + GOOD[:20]],
    "calls without end": [call(GOOD)] * 9,
    "a result that no longer fits": ["Well, " * 40 + call(GOOD)],
    "no room for another word": ["Well, " * 200],
}


class Script:
    """Writes the episodes' turns in the place of the sampler; each context is found again by its row."""

    def __init__(self, tokenizer):
        self.turns = [
            [tokenizer(turn, add_special_tokens=False)["input_ids"] for turn in turns]
            for turns in EPISODES.values()
        ]
        self.last = tokenizer(DONE, add_special_tokens=False)["input_ids"]
        self.contexts = None

    def __call__(self, contexts):
        if self.contexts is None:
            self.contexts = dict(enumerate(contexts))
        written = []
        for context in contexts:
            # The contexts grow by appending and each script differs, so the longest known beginning is the row's own.
            row = max(
                (i for i, known in self.contexts.items() if context[: len(known)] == known),
                key=lambda i: len(self.contexts[i]),
            )
            turns = self.turns[row]
            new = turns.pop(0) if turns else self.last
            self.contexts[row] = context + new
            written.append(new)
        return written


@pytest.fixture(scope="module")
def both(warm):
    """Every episode as both loops played it: (name, ours, theirs)."""
    from rl_lab.train import shopping

    # One problem that each row states a little differently, so that a context tells its row.
    [row] = shopping.to_rows(shopping.sample_problems(1, 5))
    rows = [
        row | {"prompt": [{"role": "user", "content": f"{'.' * i} {row['prompt'][0]['content']}"}]}
        for i in range(len(EPISODES))
    ]
    limits = {"max_completion_length": 180, "max_tool_calling_iterations": 4}
    args = build_grpo_args(num_generations=len(rows), per_device_train_batch_size=len(rows), **limits)
    seen = {}

    def reward(completions, environments, completion_ids, **columns):
        seen.update(messages=completions, worlds=environments, ids=completion_ids)
        return environment_reward(completions, environments)

    policy = warm.copy()
    trainer = make_trainer(policy, rows, reward, args, environment=make_environment())
    trainer.model.train()
    script = Script(policy.tokenizer)

    def scripted(prompt_ids, images, fields, num_generations, has_tool_images=False):
        return [ids[:180] for ids in script(prompt_ids)], None

    trainer._generate_single_turn = scripted
    batch = trainer._generate_and_score_completions([dict(row) for row in rows])
    theirs = [
        {
            "messages": seen["messages"][i],
            "ids": list(seen["ids"][i]),
            "own": batch["tool_mask"][i, : len(seen["ids"][i])].tolist(),
            "world": seen["worlds"][i],
        }
        for i in range(len(rows))
    ]

    script = Script(policy.tokenizer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollout, "sample", lambda p, contexts, new, t: [ids[:new] for ids in script(contexts)])
        played = rollout.play(warm, rows, make_environment(), max_tokens=180, max_turns=5)
    environment_reward([e.messages for e in played], [e.world for e in played])
    ours = [{"messages": e.messages, "ids": e.completion, "own": e.own, "world": e.world} for e in played]
    return dict(zip(EPISODES, zip(ours, theirs, strict=True), strict=True))


@pytest.mark.parametrize("name", EPISODES)
def test_both_loops_play_the_same_episode(both, name):
    ours, theirs = both[name]
    assert ours["messages"] == theirs["messages"]
    assert ours["ids"] == theirs["ids"]
    assert ours["own"] == theirs["own"]
    for what in ("calls", "errors", "retries", "earned", "correct"):
        assert getattr(ours["world"], what) == getattr(theirs["world"], what), what


def test_the_table_holds_every_ending(both):
    """A table in which all episodes end alike would prove little."""
    calls = {name: ours["world"].calls for name, (ours, _) in both.items()}
    assert calls["a good call"] == 1
    assert calls["two good calls in a turn"] == 2
    assert calls["calls without end"] == 4
    assert calls["T2-04 arguments encoded twice"] == 0
    answered = {
        name for name, (ours, _) in both.items() if any(m["role"] == "tool" for m in ours["messages"])
    }
    assert {"T2-04 arguments encoded twice", "arguments are a list", "an unknown tool"} <= answered
    assert not {"T2-06 a broken call before a good one", "no name", "a list of calls"} & answered
    assert "a result that no longer fits" not in answered
    assert 20 < len(answered) < len(EPISODES) - 15


def test_t2_04_arguments_encoded_twice_are_a_call():
    assert len(find_calls(EPISODES["T2-04 arguments encoded twice"][0])) == 1


def test_t2_06_one_broken_call_makes_the_turn_text():
    assert find_calls(EPISODES["T2-06 a broken call before a good one"][0]) == []


def test_json_nested_a_thousand_levels_deep_is_text():
    assert find_calls(call("[" * 100_000)) == []
