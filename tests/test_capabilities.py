"""Six worlds, one interface; and in each the capability is needed: the ceiling without it is proved or measured."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_lab.capabilities import (
    NAMES,
    Episode,
    habits,
    make,
    mean_return,
    memory,
    one_text,
    perception,
    planning,
    play,
    policies,
    reasoning,
    self_improvement,
    tool_use,
)
from rl_lab.evaluation import wilson_interval
from tests.notebooks import ROOT

FIRST = {
    "reasoning": ("think", "1+1=2"),
    "tool_use": ("calc", "2*3"),
    "memory": "go",
    "planning": ("go", "Ash"),
    "self_improvement": ("try", "1"),
    "perception": ("answer", "-1"),
}


# --- one interface ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
class TestEveryWorld:
    def test_reset_and_step_have_gymnasiums_shape(self, name):
        env = make(name)
        observation, info = env.reset(seed=0)
        assert isinstance(observation, str)
        assert info == {"steps": 0, "action": None, "error": None, "success": None}
        observation, reward, terminated, truncated, info = env.step(FIRST[name])
        assert [type(x) for x in (observation, reward, terminated, truncated)] == [str, float, bool, bool]
        assert info["steps"] == 1

    def test_the_same_seed_draws_the_same_task_and_another_seed_another(self, name):
        tasks = [make(name).reset(seed=seed)[0] for seed in (5, 5, 6, 7)]
        assert tasks[0] == tasks[1]
        assert len(set(tasks)) > 1

    def test_without_a_seed_the_sequence_goes_on(self, name):
        env = make(name)
        first = env.reset(seed=1)[0]
        assert len({first, *(env.reset()[0] for _ in range(5))}) > 1

    def test_a_slip_is_an_observation_and_costs_a_step(self, name):
        env = make(name)
        env.reset(seed=0)
        observation, reward, terminated, truncated, info = env.step("dance(polka)")
        assert observation.startswith("error: the action must be ")
        assert all(action in observation for action in env.actions)
        assert (reward, terminated, truncated, info["steps"]) == (0.0, False, False, 1)
        assert observation == f"error: {info['error']}"

    def test_the_step_limit_truncates(self, name):
        env = make(name)
        env.reset(seed=0)
        ends = [env.step("dance")[2:4] for _ in range(env.max_steps)]
        assert ends[-1] == (False, True)
        assert ends[:-1] == [(False, False)] * (env.max_steps - 1)
        with pytest.raises(RuntimeError, match=r"was cut at the step limit; call reset\(\)"):
            env.step("dance")

    def test_stepping_before_reset_or_after_the_end_is_refused(self, name):
        env = make(name)
        with pytest.raises(RuntimeError, match=r"has not started; call reset\(\) before step\(\)"):
            env.step("go")
        episode = play(env, policies(name)["good"], seed=3)
        assert episode.end == "terminated"
        with pytest.raises(RuntimeError, match="has ended"):
            env.step("go")

    def test_wrong_kinds_are_refused(self, name):
        env = make(name)
        with pytest.raises(TypeError, match="seed must be an int or None, got '1'"):
            env.reset(seed="1")
        with pytest.raises(ValueError, match="options must be empty"):
            env.reset(options={"gap": 3})
        env.reset(seed=0)
        with pytest.raises(TypeError, match="action must be a"):
            env.step(7)

    def test_having_the_capability_pays_and_the_intervals_leave_no_doubt(self, name):
        bad, good = (mean_return(make(name), policies(name)[kind]) for kind in ("bad", "good"))
        assert bad.high < good.low
        assert good.mean >= 0.9

    def test_each_habit_is_at_least_as_good_as_the_one_before(self, name):
        means = [mean_return(make(name), policy, episodes=200).mean for policy in habits(name).values()]
        assert all(b >= a - 0.02 for a, b in pairwise(means))
        assert means[-1] > means[0]

    def test_policies_never_slip(self, name):
        env = make(name)
        for policy in habits(name).values():
            for seed in range(30):
                episode = play(env, policy, seed=seed)
                assert not [o for o in episode.observations if o.startswith("error")]
                assert episode.end == "terminated"

    def test_the_documentation_names_actions_observations_rewards(self, name):
        text = type(make(name)).__doc__
        assert all(f"{heading}\n    ---" in text for heading in ("Actions", "Observations", "Rewards"))
        assert all(f"``{action}" in text for action in make(name).actions)

    @settings(max_examples=25, deadline=None, derandomize=True)
    @given(
        st.lists(
            st.one_of(st.text(max_size=30), st.tuples(st.text(max_size=8), st.text(max_size=12))), max_size=30
        )
    )
    def test_no_text_crashes_it_and_the_return_stays_in_0_to_1(self, name, actions):
        env = make(name)
        env.reset(seed=0)
        total = 0.0
        for action in [*actions, *(f"{a}(7)" for a in env.actions)]:
            _, reward, terminated, truncated, _ = env.step(action)
            total += reward
            if terminated or truncated:
                break
        assert 0.0 <= total <= 1.0


def test_an_action_can_be_spelled_in_three_ways():
    for action in (
        ("answer", "733913"),
        'answer("733913")',
        {"name": "answer", "arguments": {"number": 733913}},
    ):
        env = make("tool_use")
        env.reset(seed=1)
        assert env.step(action)[1] == 1.0


@pytest.mark.parametrize("text", ["1733913", "73391.3", "733913 or 733914", "not 733913 but 5", "no idea"])
def test_an_answer_is_a_number_and_not_a_text_that_contains_one(text):
    env = make("tool_use")
    env.reset(seed=1)
    assert env.step(("answer", text))[1:3] == (0.0, True)


def test_names_settings_and_ranges_are_checked():
    with pytest.raises(ValueError, match="got 'memry'; did you mean 'memory'"):
        make("memry")
    with pytest.raises(ValueError, match="name must be reasoning"):
        habits("x")
    with pytest.raises(
        TypeError, match="memory has the settings gap, window, got 'gaps'; did you mean 'gap'"
    ):
        make("memory", gaps=3)
    with pytest.raises(TypeError, match="perception has no settings"):
        make("perception", rows=3)
    with pytest.raises(ValueError, match="gap must be a whole number from 1 to 40, got 0"):
        make("memory", gap=0)
    with pytest.raises(TypeError, match="steps must be a whole number"):
        make("reasoning", steps=2.5)
    with pytest.raises(ValueError, match=r"cost must be from 0 to 1, got 10; write 20 % as 0\.2"):
        make("tool_use", cost=10)
    with pytest.raises(TypeError, match=r"policy must be a function of \(seen, rng\)"):
        play(make("memory"), "go")


def test_it_is_ground_floor():
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); before = set(sys.modules)\n"
        "import rl_lab.capabilities, rl_lab.exercises.ch05\n"
        "new = {m.split('.')[0] for m in set(sys.modules) - before}\n"
        "print(sorted(n for n in new if n not in sys.stdlib_module_names and n != 'rl_lab'),"
        " 'rl_lab.explore' in sys.modules, {'threading', 'socket', 'subprocess'} & new)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False set()"


# --- play and mean_return -----------------------------------------------------------------------------------------


def test_an_episode_turns_into_what_the_viewer_shows():
    turns = play(make("tool_use"), policies("tool_use")["good"], seed=1).turns()
    assert [turn["role"] for turn in turns] == ["env", "agent", "tool", "agent", "judge"]
    assert [turn["reward"] for turn in turns] == [None, 0.0, None, 0.9, None]
    assert turns[-1]["text"] == "the job is done"
    assert turns[-1]["note"] == "terminated"


def test_a_repeated_thought_is_shown_once():
    turns = play(make("reasoning", steps=2), policies("reasoning")["good"], seed=4).turns()
    assert [turn["role"] for turn in turns] == ["env", "agent", "agent", "agent", "judge"]


def test_an_episode_can_be_left_open_by_a_text_that_is_too_short():
    episode = play(make("memory"), lambda seen, rng: ["go"], one_text=True)
    assert episode == Episode(episode.observations, (("go", ""),), (0.0,), False, "left open")


def test_the_interval_is_wilsons_where_returns_are_0_or_1():
    result = mean_return(make("perception"), perception.right_row, episodes=90, seed=7)
    assert (result.low, result.high) == pytest.approx(wilson_interval(round(result.mean * 90), 90), abs=1e-6)
    assert type(result.mean) is type(result.low) is float


def test_the_policy_sees_the_window_and_no_more():
    seen_at_door = []

    def watch(seen, rng):
        seen_at_door.append(len(seen))
        return "go" if "door asks" not in seen[-1] else ("enter", "1")

    play(make("memory", gap=5, window=3), watch)
    assert seen_at_door == [1, 2, 3, 3, 3, 3, 3]


# --- reasoning ----------------------------------------------------------------------------------------------------


def chain_result(task: str, left_out: tuple[int, ...] = ()) -> int:
    value = int(task.split()[2].strip("."))
    for i, (sign, n) in enumerate(reasoning.steps_of(task)):
        value = value if i in left_out else reasoning.carry(value, sign, n)
    return value


@pytest.mark.parametrize("seed", range(20))
def test_whoever_leaves_out_one_step_is_wrong(seed):
    env = make("reasoning", steps=6)
    task, _ = env.reset(seed=seed)
    assert len(reasoning.steps_of(task)) == 6
    gold = chain_result(task)
    assert env.step(("answer", gold))[1] == 1.0
    assert all(chain_result(task, (i,)) != gold for i in range(6))


def test_at_once_is_right_about_as_often_as_nothing_is_left_out():
    exact = 0.0
    for seed in range(100):
        task, _ = make("reasoning").reset(seed=seed)
        out = [c for r in range(6) for c in combinations(range(5), r)]
        exact += sum(
            0.2 ** len(c) * 0.8 ** (5 - len(c)) for c in out if chain_result(task, c) == chain_result(task)
        )
    assert 0.8**5 <= exact / 100 < 0.8**5 + 0.02  # now and then two omissions cancel
    result = mean_return(make("reasoning"), reasoning.at_once(0.2))
    assert result.low < exact / 100 < result.high
    assert mean_return(make("reasoning"), reasoning.at_once(0.0), episodes=50).mean == 1.0


def test_step_by_step_is_right_if_no_line_slips():
    for steps, slip in ((5, 0.02), (10, 0.05), (3, 0.0)):
        result = mean_return(make("reasoning", steps=steps), reasoning.step_by_step(slip))
        assert result.low <= (1 - slip) ** steps <= result.high
    with pytest.raises(ValueError, match="slip must be from 0 to 1"):
        reasoning.at_once(2)


# --- tool use -----------------------------------------------------------------------------------------------------


def test_only_right_answers_pay_for_their_calls():
    for calls, answer, reward in ((0, 733913, 1.0), (2, 733913, 0.8), (2, 1, 0.0)):
        env = make("tool_use")
        env.reset(seed=1)
        for _ in range(calls):
            assert env.step(("calc", "2033*361"))[0] == "733913"
        assert env.step(("answer", answer))[1] == reward


def test_a_calculator_error_is_read_by_the_agent():
    env = make("tool_use")
    env.reset(seed=1)
    assert env.step(("calc", "5/0"))[0].startswith("error: division by zero")
    assert env.step(("calc", "__import__('os')"))[0].startswith("error: ")


@pytest.mark.parametrize(("cost", "hard"), [(0.1, 0.5), (0.4, 1.0), (0.2, 0.0)])
def test_the_returns_of_the_tool_habits_are_exact(cost, hard):
    env = make("tool_use", cost=cost, hard=hard)
    always, needed = (
        mean_return(env, habits("tool_use")[h]) for h in ("always the tool", "tool when needed")
    )
    assert always.mean == pytest.approx(1 - cost)
    assert needed.low <= 1 - hard * cost <= needed.high


def test_the_head_gets_each_digit_wrong_with_the_same_chance():
    rng, n = random.Random(0), 4000
    right = sum(tool_use.recall(4837, 692, 0.1, rng) == 4837 * 692 for _ in range(n)) / n
    assert right == pytest.approx(0.9**7, abs=0.025)
    assert all(tool_use.recall(a, b, 1.0, rng) == a * b for a in range(2, 10) for b in range(2, 10))
    assert tool_use.recall(4837, 692, 0.0, rng) == 4837 * 692


# --- memory -------------------------------------------------------------------------------------------------------


def observations_with_code(code: int, gap: int = 4) -> list[str]:
    env = make("memory", gap=gap)
    env.reset(seed=11)
    env._code, env._said[0] = code, env._said[0].replace(str(env._code), str(code))
    return [env.step("go")[0] for _ in range(gap + 1)]


def test_after_the_first_observation_nothing_depends_on_the_code():
    ways = {tuple(observations_with_code(code)) for code in memory.CODES}
    assert len(ways) == 1, "so any policy without the first observation does the same for every code"
    assert len(memory.CODES) == 90


def test_without_memory_the_ceiling_is_one_in_ninety():
    opened = []
    for code in memory.CODES:
        env = make("memory", gap=1)
        env.reset(seed=11)
        env._code = code
        env.step("go")
        env.step("go")
        opened.append(env.step(("enter", 43))[1])
    assert sum(opened) == 1.0


@pytest.mark.parametrize(
    ("window", "gap", "sees"), [(8, 6, True), (8, 7, False), (3, 1, True), (2, 1, False)]
)
def test_a_window_helps_as_long_as_everything_fits(window, gap, sees):
    result = mean_return(make("memory", gap=gap, window=window), memory.no_notes, episodes=60)
    assert result.mean == 1.0 if sees else result.mean < 0.1


def test_the_pad_holds_twenty_characters_and_one_note():
    env = make("memory")
    env.reset(seed=0)
    assert env.step(("note", "x" * 50))[0].endswith("Pad: " + "x" * 20)
    assert env.step(("note", "4 7\n8"))[0].endswith("Pad: 4 7 8")
    observation = env.step(("enter", "47"))[0]
    assert observation.startswith("error: the door is not here yet; write go\n")
    assert observation.endswith("Pad: 4 7 8"), "a slip does not hide the pad"


# --- planning -----------------------------------------------------------------------------------------------------


def all_ways(roads: dict, place: str = "Depot") -> list[int]:
    if place == "Harbour":
        return [0]
    return [km + rest for to, km in roads[place].items() for rest in all_ways(roads, to)]


@pytest.mark.parametrize("seed", range(15))
def test_the_best_route_is_the_shortest_of_all_ways(seed):
    roads = planning.map_of(make("planning").reset(seed=seed)[0])
    assert planning.best_route(roads, "Depot")[0] == min(all_ways(roads))


def test_the_nearest_place_never_leads_to_the_harbour_while_all_roads_are_open():
    env = make("planning", closed=0.0)
    assert mean_return(env, planning.look_ahead(1), episodes=150).mean == 0.0
    assert mean_return(env, planning.look_ahead(4), episodes=150).mean == 1.0


def test_looking_further_ahead_is_never_worse_and_all_the_way_always_arrives():
    for closed in (0.5, 1.0):
        env = make("planning", closed=closed)
        means = [mean_return(env, planning.look_ahead(d), episodes=200).mean for d in (1, 2, 3, 4)]
        assert means == sorted(means)
        assert means[-1] == 1.0


def test_a_closed_road_is_seen_where_it_starts_and_not_before():
    env = make("planning", closed=1.0)
    for seed in range(20):
        episode = play(env, policies("planning")["good"], seed=seed)
        assert "closed." not in episode.observations[0].replace("may turn out closed.", "")
        assert sum("is closed." in o for o in episode.observations) == 1


def test_roads_that_are_not_there_closed_or_too_long_are_errors():
    env = make("planning", closed=1.0)
    env.reset(seed=3)
    assert env.step("go(Moon)")[0].startswith("error: no road leads from Depot to Moon; there are Ash")
    good = play(env, policies("planning")["good"], seed=3)
    at, shut = next(
        (o.split()[1].strip("."), o.split("road to ")[1].split()[0])
        for o in good.observations
        if "is closed" in o
    )
    env.reset(seed=3)
    for _, place in good.actions:
        env.step(("go", place))
        if place == at:
            break
    assert env.step(("go", shut))[0] == f"error: the road to {shut} is closed"


# --- self-improvement ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("habit", "attempts", "chance"),
    [
        ("repeats itself", 5, 1 / 20),
        ("another each time", 3, 3 / 20),
        ("another each time", 20, 1.0),
        ("uses the direction", 3, 7 / 20),
        ("uses the direction", 4, 15 / 20),
        ("uses the direction", 5, 1.0),
        ("uses the number", 1, 1 / 20),
        ("uses the number", 2, 1.0),
    ],
)
def test_what_feedback_is_worth_over_all_coupons(habit, attempts, chance):
    env, won = make("self_improvement", attempts=attempts), 0
    for coupon in self_improvement.COUPONS:
        observation, _ = env.reset(seed=9)
        env._coupon = coupon
        seen, done = [observation], False
        while not done:
            observation, reward, done, _, _ = env.step(
                habits("self_improvement")[habit](seen, random.Random(0))
            )
            seen.append(observation)
        won += reward
    assert won / 20 == pytest.approx(chance)


def test_the_task_does_not_give_the_coupon_away():
    env = make("self_improvement")
    env.reset(seed=9)
    task, coupons = env.reset(seed=9)[0], set()
    for seed in range(3000):
        if env.reset(seed=seed)[0] == task:
            coupons.add(env._coupon)
    assert len(coupons) > 5, "the same text with many coupons"


@pytest.mark.parametrize("text", ["0", "101", "-5", "fifty", "70 or 71", ""])
def test_a_percentage_out_of_range_costs_a_step_but_no_attempt(text):
    env = make("self_improvement", attempts=1)
    env.reset(seed=1)
    observation, _, terminated, _, _ = env.step(("try", text))
    assert observation.startswith("error: ")
    assert not terminated


# --- perception ---------------------------------------------------------------------------------------------------


def test_the_ladder_of_reading_is_exact_over_all_questions():
    env = make("perception")
    row_hits = cells = hits = 0
    for seed in range(40):
        note, _ = env.reset(seed=seed)
        table = perception.table_of(note)
        numbers = [n for row in table.values() for n in row.values()]
        assert len(set(numbers)) == 12
        row, column = perception.asked(note)
        assert env._gold == table[row][column]
        row_hits += sum(n == env._gold for n in table[row].values())
        cells += 12
        hits += sum(n == env._gold for n in numbers)
    assert row_hits == 40, "one of the three numbers of a row"
    assert hits / cells == 1 / 12
    result = mean_return(env, perception.right_row)
    assert result.low < 1 / 3 < result.high


def test_the_first_number_is_never_asked_for():
    assert mean_return(make("perception"), perception.first_number, episodes=100).mean == 0.0


# --- one text -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("reasoning", 0.98**5),
        ("perception", 1.0),
        ("memory", 1.0),
        ("planning", 0.5),
        ("self_improvement", 3 / 20),
    ],
)
def test_what_one_text_can_earn(name, share):
    result = mean_return(make(name), one_text(name), one_text=True)
    assert result.low <= share <= result.high


def test_one_text_multiplies_in_its_head():
    head = mean_return(make("tool_use"), habits("tool_use")["in its head"]).mean
    assert mean_return(make("tool_use"), one_text("tool_use"), one_text=True).mean == head
