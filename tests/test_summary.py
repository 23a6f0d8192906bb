"""The course in thirteen points: each is short, links to its cell, and its numbers are computed here."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from rl_lab.answers import extract_answer, same_number
from rl_lab.audit import recorded
from rl_lab.evaluation import wilson_interval
from rl_lab.labs.rewards import SAMPLES, WALL, textbook_length, textbook_steps
from rl_lab.lora import find_model
from rl_lab.mdp import crossing
from tests import proofs
from tests.proofs import chapter, percent
from tests.test_pages_folklore import naive_answer

SUMMARY = proofs.page("summary")
ITEM = re.compile(r"^(\d+)\. \[([^\]]+)\]\{\.key\}\n\n {3,4}(.+?)(?=\n\n(?:\d|[A-Z])|\Z)", re.M | re.S)
POINTS = {int(number): (figure, text) for number, figure, text in ITEM.findall(SUMMARY)}
EACH = pytest.mark.parametrize("number", POINTS)


def test_there_are_thirteen_points_in_order():
    assert list(POINTS) == list(range(1, 14))


def test_nothing_on_the_page_leads_nowhere():
    assert proofs.dead_links("summary") == []


@EACH
def test_a_point_is_one_claim_one_proof_and_one_link(number):
    _, text = POINTS[number]
    claim, proof = re.match(r"\*\*(.+?\.)\*\* (.+)", text, re.S).groups()
    assert len(claim.split()) <= 12
    assert len(re.findall(r"[.?!](?= |$)", proofs.plain(proof))) <= 2
    links = re.findall(r"\[(Chapter|Question) (\d+)\]\((\S+)\)", text)
    assert len(links) == text.count("](") == 1
    if links[0][0] == "Chapter":
        assert links[0][2].startswith(f"../notebooks/{int(links[0][1]):02d}_")
        assert "#" in links[0][2]


# --- the numbers --------------------------------------------------------------------------------------------------

PROOFS: dict[int, tuple[Callable[[], dict[str, str]], str]] = {}


def proves(number: int, given: str = ""):
    """Register the proof of a point: it returns {text on the page: the same text, computed}."""

    def register(proof):
        PROOFS[number] = (proof, given)
        return proof

    return register


@EACH
def test_each_number_of_a_point_is_computed(number):
    figure, text = POINTS[number]
    proof, given = PROOFS[number]
    results = proof()
    for stated, computed in results.items():
        assert computed == stated
        assert stated == figure or stated in proofs.plain(text)
    assert figure in results, "the figure beside the point is among what is proved"
    assert proofs.unproven(re.sub(r"Question \d+", "", text), results, given) == set()


@proves(1)
def _():
    return {"494 million": f"{find_model('Qwen2.5-0.5B').params / 1e6:.0f} million"}


@proves(2)
def _():
    found = proofs.counts()
    assert found["PBRFT"] == found["RLVR"], "they differ in the judge alone"
    steps = ", ".join(str(found[name][4]) for name in ("PBRFT", "RLVR", "Agentic RL"))
    return {"1, 1, 4 steps": f"{steps} steps", "2 times": f"{found['Agentic RL'][5]} times"}


@proves(3)
def _():
    start, best, end = (share.removesuffix(" %") for share in proofs.hill())
    return {"54 → 62 → 13 %": f"{start} → {best} → {end} %"}


@proves(4)
def _():
    run = chapter(1)["run"]
    start, end = (f"{100 * run[step][0][2]:.0f}" for step in (0, 60))
    never = chapter(1)["emergence"](first=0)["calculator at the end"]
    return {"5 → 92 %": f"{start} → {end} %", "stays at 0 %": f"stays at {never:.0f} %"}


@proves(5, given="0.9, 1")
def _():
    return {"γ > 0.9202": f"γ > {crossing([0, 0.1, 0.1, 0.8], [0.8]):.4f}"}


@proves(6)
def _():
    splits = recorded()["splits"].values()
    rows = sum(split["n"] for split in splits)
    other, comma = (
        sum(s["counts"][issue] for s in splits) for issue in ("last_number_differs", "separators")
    )
    return {"245 of 8,792": f"{other} of {rows:,}", "93 labels": f"{comma} labels"}


@proves(7)
def _():
    naive, hardened = (
        sum(same_number(read(case.text), case.gold) for case in WALL)
        for read in (naive_answer, extract_answer)
    )
    return {"0 of 12": f"{naive} of {len(WALL)}", "reads 12": f"reads {hardened}"}


@proves(8, given="1,201")
def _():
    spam, buried = "= " * 1000 + "Final Answer: 55", "x" * 1185 + "Final Answer: 55"
    ungated = textbook_length(SAMPLES[2].text, correct=False, gate=False)
    assert textbook_length(buried, correct=True) < 0, "a gated wrong one earns 0"
    paid = f"{textbook_steps(spam, correct=True, max_steps=None):.0f}"
    return {"51 for “=”": f"{paid} for “=”", "pay 51": f"pay {paid}", "costs 0.411": f"costs {-ungated:.3f}"}


@proves(9)
def _():
    run = proofs.dense_run()
    assert set(chapter(8)["PAY"]["dense"]) == {0.25}, "four equal milestones"
    return {
        "22 → 1 in 100": "{:.0f} → {:.0f} in 100".format(*(100 * share for share in run["fixed"])),
        "from 0.65 to 0.74": "from {:.2f} to {:.2f}".format(*run["reward"]),
    }


@proves(10, given="16, 8, 64")
def _():
    full, lora, low, high = (
        proofs.llama_gb(*how) for how in (("full",), ("lora", 16), ("lora", 8), ("lora", 64))
    )
    return {"128.5 → 16.7 GB": f"{full} → {lora} GB", "16.4 to 18.7": f"{low} to {high}"}


@proves(11, given="1.00, 0.97")
def _():
    close = [1.00, 0.99, 0.98, 0.97]
    plain, scaled = proofs.advantages(close, False, 3), proofs.advantages(close, True)
    assert (plain[-1], scaled[-1]) == (f"−{plain[0]}", f"−{scaled[0]}")
    return {"±0.015 → ±1.15": f"±{plain[0]} → ±{scaled[0]}"}


@proves(12, given="5")
def _():
    return {
        "66 % silent": f"{percent(proofs.silent(0.05))} silent",
        "gives 100 %": f"gives {percent(min(proofs.silent(0.0), proofs.silent(1.0)))}",
    }


@proves(13, given="68, 100, 75")
def _():
    low, high = wilson_interval(68, 100)
    assert low < 0.75 < high
    return {"58 to 76 %": f"{100 * low:.0f} to {percent(high)}"}
