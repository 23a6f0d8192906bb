"""The nine questions: each has points to tick, a model answer of readable length, a wrong answer, and true numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from rl_lab.evaluation import wilson_interval
from rl_lab.gsm8k import to_rl, to_sft
from rl_lab.labs.formats import CLIPS, loss_text
from rl_lab.labs.rewards import WALL, textbook_length
from rl_lab.lora import full_finetune_params, lora_params, memory
from rl_lab.mdp import run_agentic
from rl_lab.preferences import pairs_from_ranking
from rl_lab.shaping import break_even
from tests import proofs
from tests.proofs import chapter, leash, percent
from tests.test_pages_folklore import naive_answer

INTERVIEW = proofs.page("interview")
PARTS = re.compile(
    r"(?P<ask>.+?)\n\n<details class=\"answer\">\n<summary>(?P<summary>[^<]+)</summary>\n\n"
    r"\{\.points\}\n(?P<points>(?:- .+\n)+)\n"
    r"\*\*A model answer\.\*\* (?P<answer>.+?)\n\n\*\*The usual wrong answer\.\*\* (?P<wrong>.+?)\n\n</details>",
    re.S,
)


@dataclass(frozen=True)
class Question:
    """One question of the page."""

    title: str
    ask: str
    summary: str
    points: list[str]
    answer: str
    wrong: str


def questions() -> dict[int, Question]:
    found = {}
    for section in re.split(r"^## ", INTERVIEW, flags=re.M)[1:]:
        heading, _, body = section.partition("\n\n")
        if number := re.match(r"(\d+)\. (.+)", heading):
            parts = PARTS.match(body).groupdict()
            points = [line.removeprefix("- ") for line in parts.pop("points").splitlines()]
            found[int(number[1])] = Question(number[2], points=points, **parts)
    return found


QUESTIONS = questions()
EACH = pytest.mark.parametrize("number", QUESTIONS)


# --- the page -----------------------------------------------------------------------------------------------------


def test_there_are_nine_questions_in_order():
    assert list(QUESTIONS) == list(range(1, 10))


def test_the_page_states_the_points_that_there_are():
    points = [point for question in QUESTIONS.values() for point in question.points]
    assert f"There are {len(points)} points in nine questions" in INTERVIEW
    assert len(set(points)) == len(points), "a tick is kept by the text of its point"


def test_nothing_on_the_page_leads_nowhere():
    assert proofs.dead_links("interview") == []


@EACH
def test_a_question_has_three_to_five_points_that_can_be_checked(number):
    question = QUESTIONS[number]
    assert 3 <= len(question.points) <= 5
    assert all(20 < len(point) < 160 and not point.endswith(".") for point in question.points)
    assert not [point for point in question.points if "](" in point], "a label holds no link"
    assert question.title.endswith("?") or number in (5, 7)
    assert len(question.ask.split()) < 30


@EACH
def test_a_model_answer_can_be_said_in_a_minute_and_says_where_to_read_on(number):
    answer = QUESTIONS[number].answer
    spoken = re.sub(r"\s*\((\[[^\]]+\]\([^)]+\)(,\s+)?)+\)$", "", answer)
    assert spoken != answer, "it ends with its links, in brackets"
    assert 60 <= len(proofs.plain(spoken).split()) <= 120, len(proofs.plain(spoken).split())
    assert re.search(r"\]\(\.\./notebooks/\d\d_\w+\.ipynb#", answer)
    for text, file in re.findall(r"\[[Cc]hapter (\d+)\]\(\.\./notebooks/(\d\d)_", answer):
        assert int(text) == int(file)


@EACH
def test_a_wrong_answer_is_quoted_and_answered(number):
    assert re.match(r"“[^”]+\.” \S", QUESTIONS[number].wrong)


@pytest.mark.parametrize("number", [1, 5])
def test_the_three_paradigms_are_kept_apart(number):
    text = QUESTIONS[number].answer + " ".join(QUESTIONS[number].points)
    assert all(name in text for name in ("PBRFT", "RLVR", "Agentic RL"))


# --- the numbers --------------------------------------------------------------------------------------------------

PROOFS: dict[int, tuple[Callable[[], dict[str, str]], str]] = {}


def proves(number: int, given: str = ""):
    """Register the proof of an answer: it returns {text on the page: the same text, computed}."""

    def register(proof):
        PROOFS[number] = (proof, given)
        return proof

    return register


@EACH
def test_each_number_of_an_answer_is_computed(number):
    question = QUESTIONS[number]
    whole = "\n".join([*question.points, question.answer, question.wrong])
    proof, given = PROOFS[number]
    results = proof()
    for stated, computed in results.items():
        assert computed == stated
        assert stated in proofs.plain(whole)
    assert proofs.unproven(whole, results, given) == set()


@proves(1, given="80, 75, 5")
def _():
    run = run_agentic()
    first, second = (step.observation.rpartition("=")[2] for step in run.steps if step.observation)
    earned = [f"{reward:g}" for reward in run.rewards]
    return {
        "reads 60, calls": f"reads {first}, calls",
        "reads 55 and": f"reads {second} and",
        "0, 0.1, 0.1 and 0.8": f"{', '.join(earned[:3])} and {earned[3]}",
    }


@proves(2)
def _():
    run = chapter(11)["train"](first=0.001)
    start, end = (percent(run[step]["pi"][0], 1) for step in (0, -1))
    assert start == end
    return {"in 0.1 % of its tries": f"in {end} of its tries", "after 60 steps": f"after {len(run)} steps"}


@proves(3, given="3,200, 800")
def _():
    start, best, end = proofs.hill()
    assert percent(leash(pairs=3200)["truth"][-1]) == end, "the fall is as deep"
    return {
        "is 6 pairs": f"is {len(pairs_from_ranking('ADBC'))} pairs",
        "from 54 % right answers up to 62 % and then down to 13 %": (
            f"from {start} right answers up to {best} and then down to {end}"
        ),
    }


@proves(4, given="5")
def _():
    sft, rl = to_sft(CLIPS), to_rl(CLIPS)
    assert f"`{rl['ground_truth']}`" in QUESTIONS[4].answer
    return {
        "112 characters": f"{len(loss_text(sft))} characters",
        "gets 2 characters": f"gets {len(rl['ground_truth'])} characters",
        "66 % of the groups of eight": f"{percent(proofs.silent(0.05))} of the groups of eight",
    }


@proves(5, given="80")
def _():
    found = proofs.counts()
    assert found["RLVR"] == found["PBRFT"]
    assert not [field for field in proofs.trl_defaults() if "gamma" in field], "GRPO has no discount"
    states, actions, changes, rewards, steps, _ = found["PBRFT"]
    agent = [str(n) for n in found["Agentic RL"][:5]]
    return {
        "1 kind of state, 1 kind of action, 0 changes of the world, 1 reward, 1 step": (
            f"{states} kind of state, {actions} kind of action, {changes} changes of the world, "
            f"{rewards} reward, {steps} step"
        ),
        "3, 3, 2, 3 and 4": f"{', '.join(agent[:4])} and {agent[4]}",
    }


@proves(6, given="7, 0")
def _():
    ppo, grpo, checked, no_kl, lora = proofs.models_in_memory(7)
    return {"252 GB, then 140, 126, 112, and 14.6": f"{ppo} GB, then {grpo}, {checked}, {no_kl}, and {lora}"}


@proves(7, given="0.1, 0.1, 0.2, 1,201")
def _():
    run, worth = proofs.dense_run(), chapter(8)["worth"]
    dense, hybrid = (chapter(8)["PAY"][name] for name in ("dense", "hybrid"))
    assert hybrid[:3] == [0.1, 0.1, 0.2]
    going, stopping = worth(dense, p=0.3)["finish"], worth(dense, p=0.3)["stop"]
    fixed = [f"{100 * share:.0f}" for share in run["fixed"]]
    buried = "x" * 1185 + "Final Answer: 55"
    return {
        "paid 0.25 for each": f"paid {dense[0]} for each",
        "from 0.65 to 0.74": "from {:.2f} to {:.2f}".format(*run["reward"]),
        "from 22 in a hundred to 1.": f"from {fixed[0]} in a hundred to {fixed[1]}.",
        "worth 0.75 and going on 0.725": f"worth {stopping:g} and going on {going:g}",
        "only above 0.4.": f"only above {break_even(dense, 0.1):g}.",
        "and 0.6, which": f"and {hybrid[3]}, which",
        "at 0.167": f"at {break_even(hybrid, 0.1):.3f}",
        "earns −0.001": f"earns {textbook_length(buried, correct=True):.3f}".replace("-", "−"),
    }


@proves(8, given="68, 100")
def _():
    small = wilson_interval(68, 100)
    read = sum(naive_answer(case.text) == case.gold for case in WALL)
    return {
        "means 58 to 76 %": f"means {100 * small[0]:.0f} to {percent(small[1])}",
        "read 0 of 12": f"read {read} of {len(WALL)}",
        "85 % of the wrong completions": f"{proofs.wrong_sums()[0]} of the wrong completions",
        "would have saved 11 %": f"would have saved {proofs.wrong_sums()[1]}",
    }


@proves(9, given="8, 16")
def _():
    few, all_of_them = lora_params(4096, 4096, r=8), full_finetune_params(4096, 4096)
    full, lora = proofs.llama_gb("full"), proofs.llama_gb("lora")
    file = memory("Llama-3-8B", "lora", r=8, targets="all-linear")["saved_mb"]
    return {
        "65,536 for 16,777,216": f"{few:,} for {all_of_them:,}",
        "16.7 GB in place of 128.5": f"{lora} GB in place of {full}",
        "which is 13 %": f"which is {percent(float(lora) / float(full))}",
        "a file of 84 MB": f"a file of {file:.0f} MB",
    }
