"""Every number that chapter 12 states in its prose is in runs/, or comes out of its own cells.

The live part (SFT and GRPO, a minute) is executed by the book build, and what it put out is read here; else the page's
words are held against the recorded runs, which need no training library.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import math
import re
from types import SimpleNamespace

import pytest

from rl_lab.check import check
from rl_lab.exercises import ch12
from rl_lab.train import shopping
from rl_lab.train.headline import EXPERIMENTS
from rl_lab.train.seeds import mean_interval, read_record, recorded, step_above
from tests.notebooks import ROOT, executed, exercises_of, light, namespace, read, tags
from tests.tables import markdown_of, tables
from tools import record_12_smollm2 as tool

FILES = sorted((ROOT / "runs").glob("12_*.json"))
PATH = ROOT / "notebooks" / "12_tool_use_emerges.ipynb"
ACCURACY = re.compile(r"accuracy ([\d.]+) %.*?tool rate ([\d.]+) %")


@pytest.fixture(scope="module")
def notebook():
    return read(PATH)


@pytest.fixture(scope="module")
def ns():
    pytest.importorskip("trl")
    return namespace(PATH)


@pytest.fixture(scope="module")
def said():
    """What the live cells put out when the book was built: from the first lines of their code to plain text."""
    cells = [c for c in executed(PATH).cells if "model" in tags(c)]
    return [(c.source, "\n".join(map(plain_text, c.outputs))) for c in cells]


@pytest.fixture(scope="module")
def chat():
    return recorded("smollm2")


def plain_text(output):
    return output.get("text", "") or output.get("data", {}).get("text/plain", "")


@pytest.fixture(scope="module")
def text(notebook):
    return markdown_of(notebook)


@pytest.fixture(scope="module")
def runs():
    return {name: recorded(name) for name in EXPERIMENTS}


def results(records, when, how, what="accuracy"):
    return [record["results"][when][how][what] for record in records.values()]


def at_the_end(records, curve):
    return [sum(record["curves"][curve][-5:]) / 5 for record in records.values()]


def pooled(records, when, key):
    pairs = [record["results"][when][key] for record in records.values()]
    return [sum(column) for column in zip(*pairs, strict=True)]


def spread(shares):
    """Lowest and highest share in percent, or the one number that they are."""
    ends = sorted({round(100 * share) for share in (min(shares), max(shares))})
    return "–".join(map(str, ends))


def rounded(values, digits=2):
    return [round(v, digits) for v in values]


class TestRecords:
    def test_each_experiment_has_five_seeds(self, runs):
        for name, records in runs.items():
            assert list(records) == [f"seed {n}" for n in range(1, 6)], name

    @pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
    def test_a_record_is_small_and_says_where_it_comes_from(self, path):
        assert path.stat().st_size < 150_000
        run = json.loads(path.read_text("utf-8"))
        assert {"name", "command", "seed", "versions", "settings", "steps", "curves", "samples"} <= set(run)
        assert run["command"].startswith("python -m ")
        assert {"torch", "transformers", "trl"} <= set(run["versions"])
        assert all(len(curve) == len(run["steps"]) for curve in run["curves"].values())
        assert not re.search(r"/(home|root|tmp|work)/", path.read_text("utf-8"))

    def test_a_record_was_made_by_the_experiment_as_it_is_now(self, runs):
        for name, records in runs.items():
            plan = EXPERIMENTS[name]
            for record in records.values():
                assert record["settings"]["about"] == plan.about
                assert record["steps"] == list(range(1, plan.steps + 1))
                assert record["settings"].items() >= {**plan.shares, **plan.grpo}.items()

    def test_the_example_was_in_no_training_data(self, runs):
        for name in runs:
            for record in runs[name].values():
                assert not any(shopping.EXAMPLE.question in s["prompt"] for s in record["samples"])


class TestHeadline:
    def test_accuracy_before_and_after(self, runs, text):
        before, after = (results(runs["outcome"], when, "greedy") for when in ("before", "after"))
        assert (min(before), max(before)) == (0.035, 0.085)
        assert (min(after), max(after)) == (0.88, 0.97)
        assert "From 4–9 % right to 88–97 %, in all five" in text
        assert "4–9 % right became 88–97 % on five seeds" in text
        assert rounded([100 * x for x in mean_interval(after)], 0) == [94, 89, 98]
        assert "94 %, and its 95 % interval, 89 % to 98 %" in text

    def test_every_model_calls_on_all_problems_greedily(self, runs):
        assert results(runs["outcome"], "after", "greedy", "tool_rate") == [1] * 5
        assert results(runs["outcome"], "before", "greedy", "tool_rate") == [0] * 5

    def test_about_three_in_ten_call_at_the_start(self, runs):
        rates = results(runs["outcome"], "before", "sampled", "tool_rate")
        assert all(0.25 < p < 0.36 for p in rates)
        assert all(1 - p**8 - (1 - p) ** 8 > 0.9 for p in rates), "nine groups of ten or more"

    def test_tool_rate_and_success_climb_together(self, runs):
        for record in runs["outcome"].values():
            tool, success = record["curves"]["tool_rate"], record["curves"]["success"]
            n, mt, ms = len(tool), sum(tool) / len(tool), sum(success) / len(success)
            both = sum((a - mt) * (b - ms) for a, b in zip(tool, success, strict=True))
            spread = math.sqrt(sum((a - mt) ** 2 for a in tool) * sum((b - ms) ** 2 for b in success))
            assert both / spread > 0.75
            assert n == 40
            lengths = record["curves"]["completions/mean_length"]
            assert (lengths[0] < 9, lengths[-1] > 18) == (True, True)

    def test_the_80_yuan_problem(self, runs):
        for record in runs["outcome"].values():
            before, after = record["results"]["before"], record["results"]["after"]
            assert before["case"]["accuracy"] < 0.45
            assert after["case"]["accuracy"] > 0.9
            assert [turn["text"] for turn in after["episode"]][-1] == "Final Answer: 55"
            assert len(before["episode"]) == 1

    def test_what_it_costs(self, runs, text):
        clocks = [record["results"]["clock"] for record in runs["outcome"].values()]
        together = [sum(part["seconds"] for part in clock.values()) for clock in clocks]
        parts = {name: [round(clock[name]["seconds"]) for clock in clocks] for name in ("sft", "grpo")}
        assert (round(min(together)), round(max(together))) == (45, 47)
        assert (min(parts["sft"]), max(parts["sft"])) == (27, 28)
        assert (min(parts["grpo"]), max(parts["grpo"])) == (16, 18)
        assert "took 45–47 each, of which 27–28 were SFT and 16–18 GRPO" in text
        assert max(together) < 60

    def test_tokens_of_the_right_solution(self, text):
        tiny = pytest.importorskip("rl_lab.train.tiny")
        pytest.importorskip("transformers")
        tokenizer = tiny.make_tiny(0).tokenizer
        _, own = tiny.encode_traces(tokenizer, [shopping.tool_trace(shopping.EXAMPLE)])[0]
        first = own.index(1)
        assert (sum(own), len(own[first:-1])) == (19, 43)
        assert "Of 43 tokens 19 are the model's own" in text
        assert len(tokenizer) == 1129
        assert "with this tokenizer's 1,129 tokens" in text


class TestControls:
    def test_the_liar_is_no_longer_called(self, runs, text):
        assert all(rate < 0.05 for rate in at_the_end(runs["lying"], "tool_rate"))
        assert "falls below 0.05, on every seed" in text
        assert all(rate < 0.06 for rate in at_the_end(runs["lying"], "success"))

    def test_the_coin_drifts(self, runs, text):
        assert rounded(mean_interval(at_the_end(runs["coin"], "tool_rate"))) == [0.3, 0.13, 0.46]
        assert "at 0.30. But look at its interval, 0.13 to 0.46" in text
        starts = [record["curves"]["tool_rate"][0] for record in runs["coin"].values()]
        assert abs(sum(starts) / 5 - 0.3) < 0.02

    def test_seed_4_of_the_coin(self, runs, text):
        four = runs["coin"]["seed 4"]
        assert round(four["curves"]["tool_rate"][0], 2) == 0.31
        assert round(at_the_end(runs["coin"], "tool_rate")[3], 2) == 0.51
        greedy = [four["results"][when]["greedy"]["accuracy"] for when in ("before", "after")]
        assert greedy == [0.075, 0.96]
        assert "from 0.31 to 0.51" in text
        assert "jumped from 7.5 % to 96.0 %" in text
        others = [runs["coin"][f"seed {n}"]["results"]["after"]["greedy"]["accuracy"] for n in (1, 2, 3, 5)]
        assert max(others) <= 0.05
        assert "A coin raised one model of five from 7.5 % to 96 %" in text

    def test_half_a_liar_is_called(self, runs, text):
        assert rounded(mean_interval(at_the_end(runs["half_lying"], "tool_rate")), 3) == [0.915, 0.875, 0.955]
        assert "It ends at 0.915 (interval 0.875 to 0.955)" in text
        assert round(sum(at_the_end(runs["half_lying"], "success")) / 5, 2) == 0.18
        assert "success ends at 0.18" in text
        mean = sum(at_the_end(runs["half_lying"], "tool_rate")) / 5
        assert mean == pytest.approx(ch12.HALF_LYING_RATE, abs=0.01)


class TestFailing:
    def test_retries(self, runs, text):
        counts = {
            when: [
                sum(r["results"][when][key] for r in runs["failing"].values())
                for key in ("retried", "errors")
            ]
            for when in ("before", "after")
        }
        assert counts == {"before": [20, 255], "after": [687, 798]}
        assert "20 of 255 errors were followed by a second try, after it 687 of 798 (86 %)" in text
        assert round(100 * 687 / 798) == 86

    def test_right_by_number_of_errors(self, runs, text):
        assert pooled(runs["failing"], "before", "right_one_error") == [11, 239]
        assert pooled(runs["failing"], "after", "right_one_error") == [212, 293]
        assert pooled(runs["failing"], "after", "right_more_errors") == [34, 211]
        assert "right in 11 of 239 cases before, in 212 of 293 after" in text
        assert "only 34 of 211 end well" in text

    def test_no_demonstration_shows_two_errors_in_a_row(self):
        shares = EXPERIMENTS["failing"].shares
        for trace in shopping.demonstrations(3000, 1, **shares):
            errors = [m for m in trace if m["role"] == "tool" and m["content"].startswith("error")]
            assert len(errors) <= 1

    def test_the_curves_climb_as_described(self, runs):
        starts = [sum(x or 0 for x in r["curves"]["retry_rate"][:3]) / 3 for r in runs["failing"].values()]
        assert 0.05 < sum(starts) / 5 < 0.25
        assert all(0.74 < rate < 1 for rate in at_the_end(runs["failing"], "retry_rate"))

    def test_the_episode_shown_gives_up_before_and_calls_again_after(self, runs):
        shown = runs["failing"]["seed 1"]["results"]
        texts = [[turn["text"] for turn in shown[when]["episode"]] for when in ("before", "after")]
        assert texts[0][1] == texts[1][1] == "error: calculator busy"
        assert len(texts[0]) == 3
        assert texts[1][0] == texts[1][2]
        assert texts[1][-1] == "Final Answer: 55"


class TestMask:
    def test_what_the_unmasked_models_can_do(self, runs, text):
        greedy, sampled = (results(runs["unmasked"], "after", how) for how in ("greedy", "sampled"))
        masked = results(runs["outcome"], "after", "sampled")
        assert ([min(greedy), max(greedy)], [min(sampled), max(sampled)]) == ([0, 0.945], [0.01, 0.485])
        assert (min(masked), max(masked)) == (0.64, 0.835)
        assert (
            "from 0 to 94 % of the problems; sampled, in 1 to 48 %, where the masked ones reach 64 to 84 %"
            in text
        )

    def test_success_at_the_end(self, runs, text):
        means = [mean_interval(at_the_end(runs[name], "success")) for name in ("outcome", "unmasked")]
        assert [round(m[0], 2) for m in means] == [0.78, 0.23]
        assert means[1][1] < 0
        assert "success is 0.78 with the mask and 0.23 without" in text

    def test_the_gradient_is_about_ten_times_as_long(self, runs):
        first = {
            name: sum(sum(r["curves"]["grad_norm"][:5]) / 5 for r in runs[name].values()) / 5
            for name in ("outcome", "unmasked")
        }
        assert 8 < first["unmasked"] / first["outcome"] < 14

    def test_the_entropy_climbs(self, runs):
        for record in runs["unmasked"].values():
            assert record["curves"]["entropy"][-1] > 1.5 * record["curves"]["entropy"][0]


class TestMilestones:
    def test_neither_faster_nor_better(self, runs, text):
        pairs = [(runs["milestones"][seed], runs["outcome"][seed]) for seed in runs["outcome"]]

        def speed(r):
            return step_above(r["steps"], r["curves"]["tool_rate"], 0.9)

        def final(r):
            return r["results"]["after"]["sampled"]["accuracy"]

        sooner = mean_interval([speed(a) - speed(b) for a, b in pairs])
        better = mean_interval([100 * (final(a) - final(b)) for a, b in pairs])
        assert rounded(sooner, 1) == [-0.2, -2.4, 2.0]
        assert rounded(better, 1) == [-0.6, -2.7, 1.5]
        assert "0.2 steps sooner (the interval goes from 2.4 sooner to 2.0 later)" in text
        assert "0.6 points less accuracy (from 2.7 less to 1.5 more)" in text

    def test_most_groups_hold_a_success_from_the_start(self, runs, text):
        right = results(runs["outcome"], "before", "sampled")
        assert ([math.floor(100 * min(right) + 0.5), max(right)]) == [23, 0.31]
        assert "right in 23–31 % of the cases before GRPO" in text
        assert all(0.86 < 1 - (1 - p) ** 8 < 0.96 for p in right)


class TestSteps:
    def test_steps_paid_in_four_runs(self, runs, text):
        others = [r["results"]["before"] for seed, r in runs["steps"].items() if seed != "seed 4"]
        with_steps = [b["right_with_steps"][0] / b["right_with_steps"][1] for b in others]
        without = [b["right_without"][0] / b["right_without"][1] for b in others]
        assert rounded([100 * min(with_steps), 100 * max(with_steps)], 0) == [88, 98]
        assert rounded([100 * min(without), 100 * max(without)], 0) == [8, 20]
        assert "right in 88–98 % of the cases before GRPO, answers without in 8–20 %" in text

    def test_what_became_of_them(self, runs, text):
        after = [r["results"]["after"]["greedy"] for seed, r in runs["steps"].items() if seed != "seed 4"]
        assert (min(a["accuracy"] for a in after), max(a["accuracy"] for a in after)) == (0.945, 1)
        assert all(19.8 < a["mean_length"] <= 20 for a in after)
        assert "3 tokens became 20" in text
        assert "accuracy rose to 94–100 %" in text

    def test_seed_4_is_the_control(self, runs, text):
        four = runs["steps"]["seed 4"]["results"]
        assert four["before"]["right_with_steps"] == [11, 42]
        assert four["before"]["right_without"] == [24, 158]
        assert [four[when]["greedy"]["accuracy"] for when in ("before", "after")] == [0.16, 0.275]
        assert f"{0.275:.0%}" == "28%"
        assert "11 of 42 cases, against 24 of 158 without" in text
        assert "(16 → 28 %)" in text

    def test_twenty_tokens_are_the_full_calculation(self):
        tiny = pytest.importorskip("rl_lab.train.tiny")
        pytest.importorskip("transformers")
        from rl_lab.train import totals

        traces = [totals.trace(p, steps=True) for p in totals.sample_problems(50, 1)]
        tokenizer = tiny.build_tokenizer(tiny.render(traces))
        assert {sum(own) for _, own in tiny.encode_traces(tokenizer, traces)} == {20}


class TestChatModel:
    def test_each_record_was_made_with_the_tool_s_settings(self, chat):
        for name, record in chat.items():
            assert name == f"seed {record['seed']}"
            assert record["settings"].items() >= {**tool.TASK, **tool.GRPO}.items()
            assert record["settings"]["sft_learning_rate"] == tool.SFT["learning_rate"]
            assert record["results"]["sft"]["steps"] == 30
            assert record["settings"]["lora_target_modules"] == sorted(tool.LORA["target_modules"])
            assert not any("costs 80 yuan, is sold at 0.75" in s["prompt"] for s in record["samples"])

    def test_what_the_section_says_of_the_set_up(self, chat, text):
        big, small = 134_515_008, 179_072
        assert round(big / small, -1) == 750
        assert "is 750 times as big" in text
        for record in chat.values():
            assert record["results"]["parameters"] - record["results"]["trained"] == big
        assert tool.TASK["n_train"] == 240
        assert tool.TASK["tool_share"] == 2 / 5
        assert tool.GRPO["max_steps"] * tool.GRPO["per_device_train_batch_size"] // 8 == 20
        assert "320 prompts in its 40 steps. Here there are 20" in text

    def test_what_became_of_each_seed(self, chat, text):
        seeds, counted = {2: ("both seeds", "two seeds"), 3: ("all three seeds", "three seeds")}[len(chat)]
        assert f"SmolLM2-135M, {counted}" in PATH.read_text("utf-8")
        assert f"Twenty prompts were enough, on {seeds}." in text
        assert f"In a real chat model the same took ten steps, on {seeds}." in text
        two = {seed: chat[seed] for seed in ("seed 1", "seed 3")}
        called, right = (results(two, "before", "greedy", what) for what in ("tool_rate", "accuracy"))
        assert round(60 * max(called)) == 1
        assert f"at most one call on 60 problems, and {spread(right)} % were right" in text
        if "seed 2" in chat:
            early = chat["seed 2"]["results"]["before"]["greedy"]
            stated = f"it called on {early['tool_rate']:.0%} and was right on {early['accuracy']:.0%}"
            assert stated.replace("%", " %") in text
        called, right = (results(chat, "after", "greedy", what) for what in ("tool_rate", "accuracy"))
        on = "every one" if set(called) == {1} else f"{spread(called)} %"
        assert f"the model calls on {on}, and {spread(right)} % are right" in text
        found = {tuple(rounded(r)) for r in results(chat, "after", "greedy", "interval")}
        low, high = (round(100 * x) for x in next(iter(found)))
        intervals = f"95 % interval {low} to {high}" if len(found) == 1 else "95 % intervals in the table"
        assert f"% are right ({intervals})" in text

    def test_sampled(self, chat, text):
        assert (
            f"from the start, in {spread(results(chat, 'before', 'sampled', 'tool_rate'))} % of them" in text
        )
        assert f"Sampled, it is right in {spread(results(chat, 'after', 'sampled'))} %" in text

    def test_the_curve_of_seed_1_is_rough(self, chat, text):
        success = chat["seed 1"]["curves"]["success"]
        assert (success[5], success[-1]) == (0.9375, 0.625)
        assert "success of seed 1 falls from 0.94 in the sixth step to 0.63 in the last" in text

    def test_the_slips_that_are_quoted(self, chat):
        said = [
            [turn["text"] for turn in turns] for turns in chat["seed 1"]["results"]["after"]["sampled_texts"]
        ]
        assert any('calc("420*1")' in texts for texts in said)
        assert any(texts[-2:] == ["234", "Final Answer: 23"] for texts in said)

    def test_the_episodes_that_are_shown(self, chat):
        results = chat["seed 1"]["results"]
        assert len(results["before"]["episode"]) == 1
        texts = [turn["text"] for turn in results["after"]["episode"]]
        assert texts == ['calc("80*0.75")', "60", 'calc("60-5")', "55", "Final Answer: 55"]

    def test_what_it_took(self, chat, text):
        results = chat["seed 1"]["results"]
        assert round((results["clock"]["sft"] + results["clock"]["grpo"]) / 60) == 16
        assert round(results["peak_memory_mb"] / 1024) == 8
        assert "took us 16 minutes on two cores on which other programs worked as well, and 8 GB" in text

    def test_the_live_cell_does_what_was_recorded(self, notebook, monkeypatch):
        import rl_lab.train as train

        done = {}

        def fake(name, result=None):
            def call(*args, **kwargs):
                done[name] = (args, kwargs)
                return result

            return call

        for name in ("build_lora", "load_model", "load_task", "run_sft"):
            result = (
                SimpleNamespace(demonstrations=[], rows=[], test_rows=[]) if name == "load_task" else None
            )
            monkeypatch.setattr(train, name, fake(name, result), raising=False)
        space = {name: fake(name) for name in ("evaluate_policy", "run_grpo")}
        space |= {"torch": SimpleNamespace(set_num_threads=fake("threads")), "shop": None}
        code = next(c.source for c in notebook.cells if c.source.startswith("live = False"))
        assert "model" in tags(next(c for c in notebook.cells if c.source == code))
        exec(code, dict(space))
        assert done == {}, "off, until the reader says so"
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code.replace("live = False", "live = True"), space)
        assert done["load_task"][1] == {**tool.TASK, "seed": 1}
        assert done["build_lora"] == ((tool.LORA["rank"],), {"target_modules": tool.LORA["target_modules"]})
        assert done["run_sft"][1]["learning_rate"] == tool.SFT["learning_rate"]
        given, default = done["run_grpo"][1], {"max_tool_calling_iterations": 4}
        assert (default | given).items() >= {**tool.GRPO, "seed": 1}.items()
        assert done["load_model"] == (("smollm2",), {"tools": True})


class TestCost:
    def test_milliseconds_of_a_step(self, text):
        timing = read_record("12_step_time")["results"]
        trl, hand = timing["parts"]["TRL"], timing["parts"]["by hand"]

        def ms(*names):
            return round(1000 * sum(trl[n] - hand[n] for n in names))

        total = [round(1000 * sum(part.values())) for part in (trl, hand)]
        assert f"{total[0]} ms against {total[1]}" in text
        assert f"Most of the difference, {ms('forward and loss', 'backward')} ms, lies in" in text
        assert f"Another {ms('chat template', 'read tool calls')} ms go to" in text
        assert f"takes {timing['ratio']:.1f} times as long" in text
        assert timing["ratio"] > 1.5, "below, the page has nothing to explain"
        assert abs(ms("generate")) < 10
        assert round(64 * 512 * 150_000 * 4 / 1e9) == 20
        assert "those of 64 completions of 512 tokens would fill 20 GB" in text

    @pytest.mark.parametrize("parts", ["TRL_PARTS", "MINI_PARTS"])
    def test_the_functions_that_the_benchmark_times_exist(self, parts):
        pytest.importorskip("trl")
        for _, module, owner, name in getattr(importlib.import_module("bench.train_step"), parts):
            home = importlib.import_module(module)
            assert callable(getattr(getattr(home, owner) if owner else home, name))


class TestCells:
    """The folded cells compute what the page says of them."""

    def test_no_light_cell_needs_a_trained_model(self, ns):
        assert not {"sft", "sampled", "run", "before"} & set(ns)

    def test_tables_by_seed(self, ns):
        for function in ("per_seed", "worlds", "accuracies", "start_and_end"):
            table = ns[function]()["table"]
            assert [row["run"] for row in table] == [f"seed {n}" for n in range(1, 6)]

    def test_who_wrote_which_stretch(self, ns):
        rows = ns["hands"]()["table"]
        assert [row["mask"] for row in rows] == [1, 0, 1, 0, 1]
        assert sum(row["tokens"] for row in rows if row["mask"]) == 19
        assert "60" in rows[1]["text"]
        assert rows[-1]["text"].startswith("Final Answer: 55")

    def test_what_the_control_cells_print(self, ns):
        assert ns["over_seeds"]("coin") == [0.3, 0.13, 0.46]
        assert ns["over_seeds"]("unmasked", "success")[0] == 0.23
        assert [ns["gain"](ns[name]) for name in ("speed", "final")] == [
            [-0.2, -2.421, 2.021],
            [-0.006, -0.027, 0.015],
        ]
        assert (ns["pooled"]("after", "retried", "errors"), ns["pooled"]("before", "right_one_error")) == (
            "687 of 798",
            "11 of 239",
        )

    def test_the_bars_of_a_step_s_time_add_up(self, ns):
        figure = ns["step_time"]()
        assert sum(figure["TRL"]) == pytest.approx(figure["TRL, together"])
        assert figure["TRL, together"] / figure["by hand, together"] == pytest.approx(
            figure["TRL / by hand"], abs=0.05
        )


class TestLive:
    """What happened when the book was built; the words around it hold on any machine."""

    def test_before_and_after(self, said):
        printed = [out for code, out in said if code == "evaluate_policy(policy, test, shop)"]
        (right, called), (right_after, called_after) = (
            map(float, ACCURACY.search(out).groups()) for out in printed
        )
        assert (called, right < 15) == (0, True), "it never calls, and is nearly always wrong"
        assert (called_after > 90, right_after > 70) == (True, True)

    def test_calls_were_mostly_right_and_guesses_hardly_ever(self, said):
        out = next(out for code, out in said if code.startswith("sampled ="))
        (calls, right), (guesses, lucky) = [
            tuple(map(int, re.findall(r"\d+", line))) for line in out.splitlines()
        ]
        assert 0.2 < calls / (calls + guesses) < 0.42
        assert (right > 50, lucky < 15) == (True, True)

    def test_groups_in_which_both_kinds_meet(self, said):
        out = next(out for code, out in said if code.startswith("p ="))
        assert float(out) > 0.9

    def test_its_own_tokens_are_almost_certain_and_the_others_a_shock(self, said):
        out = next(out for code, out in said if code.startswith("def surprise"))
        own, other = map(float, re.findall(r"[\d.]+", out))
        assert own < 1
        assert math.exp(other) > 1e6

    def test_the_80_yuan_problem_was_learned(self, said):
        out = next(out for code, out in said if code.startswith("for name, who in"))
        (before, _), (after, _) = [map(float, pair) for pair in ACCURACY.findall(out)]
        assert (before < 50, after > 75) == (True, True)


class TestPage:
    def test_what_trains_is_tagged(self, notebook):
        code = "\n".join(c.source for c in light(notebook).cells if c.cell_type == "code")
        assert not re.search(r"\b(warm_up|run_grpo|run_sft|load_model|evaluate_policy)\(", code)

    def test_the_three_columns_are_there(self, text):
        header = next(t for t in tables(text) if "retries after an error" in [row[0] for row in t])[0]
        assert [cell.split("]")[0].strip("[") for cell in header[1:3]] == ["PBRFT", "RLVR"]
        assert header[3] == "Agentic RL"

    def test_the_cells_do_what_the_headline_does(self, notebook):
        code = "\n".join(
            c.source for c in notebook.cells if c.cell_type == "code" and "exercise" not in tags(c)
        )
        assert "shopping.demonstrations(8000, seed=1)" in code
        assert "shopping.sample_problems(320, 501)" in code
        assert (EXPERIMENTS["outcome"].demonstrations, EXPERIMENTS["outcome"].steps * 8) == (8000, 320)

    def test_habit_on_seed_1(self, runs, text, notebook):
        rates = runs["outcome"]["seed 1"]["curves"]["tool_rate"]
        assert step_above(range(1, 41), rates, 0.9) == 32
        assert next(i for i, rate in enumerate(rates, 1) if rate >= 0.9) == 28
        assert "it reports step 32, and the starter step 28" in text


class TestExercises:
    @pytest.mark.parametrize("guess", [None, "high", 1.5, True, 0.0, 0.25, 0.5, 1.0])
    def test_a_wrong_prediction_is_answered(self, guess):
        assert not check("12.1", guess).passed

    @pytest.mark.parametrize("guess", [0.8, 0.9, 0.95])
    def test_a_prediction_that_is_near_passes(self, guess):
        assert check("12.1", guess).passed

    def test_a_mask_that_forgets_the_end_token_is_told_so(self):
        def forgetful(tokens):
            mask, mine = [], True
            for token in tokens:
                mine = mine and token != "<|im_end|>"
                mask.append(int(mine))
                mine = mine or token == "assistant\n"
            return mask

        result = check("12.3", forgetful)
        assert not result.passed
        assert "end token is written by the model" in result.text()

    def test_the_solution_s_mask_is_that_of_the_tokenizer(self, notebook):
        tiny = pytest.importorskip("rl_lab.train.tiny")
        pytest.importorskip("transformers")
        solution = next(e.solution for e in exercises_of(notebook) if e.number == "12.3")
        space: dict = {}
        exec(solution, space)
        tokenizer = tiny.make_tiny(0).tokenizer
        ids, own = tiny.encode_traces(tokenizer, [shopping.tool_trace(shopping.EXAMPLE)])[0]
        first = own.index(1)
        tokens = [tokenizer.decode([i]) for i in ids[first:-1]]
        assert space["tool_call_mask"](tokens) == own[first:-1]
