"""Chapter 12's experiments do what they say, and several seeds are put together rightly."""

from __future__ import annotations

import dataclasses
import json
import statistics

import pytest

from rl_lab.train import headline, seeds, shopping
from rl_lab.train.headline import CASE, EXPERIMENTS, GRPO
from rl_lab.train.record import read_run, write_run


@pytest.fixture
def short(monkeypatch):
    """Every experiment with two steps and four problems to measure on."""
    for name, plan in EXPERIMENTS.items():
        quick = {"per_device_train_batch_size": 8, "num_generations": 4, **plan.grpo}
        monkeypatch.setitem(EXPERIMENTS, name, dataclasses.replace(plan, steps=2, grpo=quick))
    measure = headline.measure
    monkeypatch.setattr(headline, "measure", lambda policy, name, seed: measure(policy, name, seed, n=4))


def world_of(name, seed=1):
    return headline._world(EXPERIMENTS[name], seed)


class TestWorlds:
    def test_the_case_is_the_running_example_and_held_out(self):
        assert CASE["ground_truth"] == "55"
        assert shopping.is_held_out(shopping.to_problem(CASE))

    def test_the_case_is_in_no_training_data(self):
        asked = {trace[0]["content"] for trace in shopping.demonstrations(8000, 1)}
        rows = shopping.to_rows(shopping.sample_problems(320, 501))
        assert CASE["prompt"][0]["content"] not in asked | {row["prompt"][0]["content"] for row in rows}

    def test_fails_once_fails_once_in_each_world(self):
        for _ in range(2):
            world = headline.fails_once()
            world.reset(**CASE)
            assert [world.calc("80*0.75") for _ in range(3)] == ["error: calculator busy", "60", "60"]
            assert (world.errors, world.retries) == (1, 1)

    def test_the_half_liar_lies_in_about_half_of_its_calls_and_always_upwards(self):
        world = world_of("half_lying")()
        world.reset(**CASE)
        world.episode.max_steps = 10**6
        off = [int(headline.HalfLying(seed)._calculate("80*0.75")) - 60 for seed in range(400)]
        assert set(off) == {0, 7, 11, 13}
        assert 0.4 < sum(x == 0 for x in off) / 400 < 0.6

    def test_the_half_liar_is_honest_when_the_reward_is_checked(self):
        world = world_of("half_lying").honest()
        world.reset(**CASE)
        assert [world.calc("80*0.75") for _ in range(8)] == ["60"] * 8

    def test_the_coin_pays_without_looking(self):
        pays, worlds = headline.coin_reward(3), [headline.fails_once() for _ in range(200)]
        for world in worlds:
            world.reset(**CASE)
        completions = [[{"role": "assistant", "content": "Final Answer: 55"}]] * 200
        paid = pays(completions, worlds)
        assert set(paid) == {0.0, 1.0}
        assert 70 < sum(paid) < 130

    def test_steps_are_logged_and_not_paid(self):
        logged = {}
        completions = [
            [{"role": "assistant", "content": "12+3=15\nFinal Answer: 15"}],
            [{"role": "assistant", "content": "Final Answer: 15"}],
        ]
        paid = headline.accuracy_and_steps(completions, logged.__setitem__, ground_truth=["15", "15"])
        assert paid == [1.0, 1.0]
        assert logged["writes_steps"] == 0.5

    @pytest.mark.parametrize("name", ["lying", "half_lying", "failing", "outcome"])
    def test_a_seed_repeats_what_the_calculator_does(self, name):
        def results():
            world = world_of(name)()
            world.reset(**CASE)
            return [world.calc("80*0.75") for _ in range(8)]

        assert results() == results()

    def test_an_unknown_experiment_names_the_choices_and_the_closest(self):
        with pytest.raises(ValueError, match=r"outcome, lying.*got 'lieing'; did you mean 'lying'"):
            headline.run_experiment("lieing", 1)


class TestExperiments:
    @pytest.mark.parametrize("name", ["failing", "coin", "unmasked"])
    def test_each_runs_from_a_start_to_a_record_that_can_be_written(self, short, warm, name, tmp_path):
        run = headline.run_experiment(name, 1, start=warm)
        path = write_run(run, tmp_path / "run.json")
        again = read_run(path)
        assert again["steps"] == [1, 2]
        assert again["settings"]["experiment"] == name
        assert {"greedy", "sampled", "case", "episode"} <= set(again["results"]["after"])
        assert set(again["results"]["clock"]) == {"grpo", "measuring"}
        assert again["curves"]["tool_rate"]
        assert path.stat().st_size < 150_000

    def test_a_start_is_copied_and_not_trained(self, short, warm):
        before = warm.model.lm_head.weight.detach().clone()
        headline.run_experiment("outcome", 1, start=warm)
        assert (warm.model.lm_head.weight == before).all()

    def test_experiments_differ_in_one_thing_from_the_headline(self):
        plain = dataclasses.asdict(EXPERIMENTS["outcome"])
        for name, one in (
            ("lying", "calculator"),
            ("coin", "reward"),
            ("milestones", "reward"),
            ("unmasked", "learn_tool_tokens"),
        ):
            other = dataclasses.asdict(EXPERIMENTS[name])
            assert {key for key in plain if other[key] != plain[key]} == {"about", one}

    def test_sft_is_shown_as_it_goes(self, capsys):
        on_step = headline.watch_sft(40)
        for step in range(1, 41):
            on_step(step, 1 / step, 0.1)
        assert "step 40/40  loss 0.025" in capsys.readouterr().out

    def test_the_settings_fill_whole_groups(self):
        assert GRPO["per_device_train_batch_size"] % GRPO["num_generations"] == 0
        assert headline.PROMPTS_PER_STEP == 8


class TestSeeds:
    def test_interval_of_three_values_by_hand(self):
        values = [0.84, 0.86, 0.94]
        half = 4.303 * statistics.stdev(values) / 3**0.5
        mean = sum(values) / 3
        assert seeds.mean_interval(values) == pytest.approx((mean, mean - half, mean + half))

    def test_equal_values_have_an_interval_of_no_width(self):
        assert seeds.mean_interval([0.5] * 5) == (0.5, 0.5, 0.5)

    @pytest.mark.parametrize("values", [[], [0.5], [0.5] * 11])
    def test_an_interval_needs_two_to_ten_values(self, values):
        with pytest.raises(ValueError, match="2 to 10 values"):
            seeds.mean_interval(values)

    def test_a_single_lucky_step_is_not_yet_a_habit(self):
        rates = [0.2, 1.0, 0.2, 0.9, 0.9, 0.9]
        assert seeds.step_above(range(1, 7), rates, 0.9, window=3) == 6
        assert seeds.step_above(range(1, 7), rates, 0.95, window=3) is None

    def test_steps_without_a_value_are_left_out_of_the_mean(self):
        assert seeds.step_above([1, 2, 3], [None, 0.9, 0.9], 0.9, window=3) == 3

    def test_records_are_found_in_the_order_of_their_seeds(self, tmp_path):
        for seed in (10, 2):
            (tmp_path / f"12_x_{seed}.json").write_text(json.dumps({"seed": seed}), "utf-8")
        (tmp_path / "12_x_y_1.json").write_text("{}", "utf-8")
        assert list(seeds.recorded("x", tmp_path)) == ["seed 2", "seed 10"]
        assert seeds.read_record("12_x_10", tmp_path) == {"seed": 10}

    def test_a_missing_record_says_what_there_is_and_where_it_comes_from(self, tmp_path):
        (tmp_path / "12_outcome_1.json").write_text("{}", "utf-8")
        with pytest.raises(
            FileNotFoundError, match=r"there are 12_outcome; they come with the course's repository"
        ):
            seeds.recorded("outcom", tmp_path)

    def test_runs_of_different_steps_are_not_averaged(self):
        runs = {"a": {"steps": [1], "curves": {}}, "b": {"steps": [1, 2], "curves": {}}}
        with pytest.raises(ValueError, match="same steps, got a, b"):
            seeds.average(runs)
