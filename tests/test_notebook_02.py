"""Chapter 2 says nothing that its own cells do not show."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from rl_lab.check import check
from rl_lab.cost import payback_months, prompt_cost
from rl_lab.exercises.ch02 import FIRST_MOVES
from rl_lab.shaping import signal_share
from tests.notebooks import ROOT, executed, namespace, one_line, read, states, tags
from tests.tables import markdown_of, tables

PATH = ROOT / "notebooks" / "02_why_post_training.ipynb"


@pytest.fixture(scope="module")
def ns() -> dict:
    return namespace(PATH)


@pytest.fixture(scope="module")
def prose() -> str:
    return one_line(PATH)


def lines_of(words: list[str]) -> list[str]:
    return [line.strip() for line in " ".join(words).split("\n") if line.strip()]


# --- the forum model ----------------------------------------------------------------------------------------------


def test_the_page_is_titles_and_ends_of_lines(ns):
    assert len(ns["TITLES"]) == len(set(ns["TITLES"])) == ns["page"].count("\n")
    assert " ".join(ns["ASK"]) not in ns["TITLES"]
    assert "leave-of-absence" not in ns["page"]


def test_followers_are_counted_and_back_off(ns):
    followers, page = ns["followers"], ns["page"]
    assert followers(["Help", "me", "write", "a"], page) == {
        "cover": 2,
        "resignation": 1,
        "toast": 1,
        "complaint": 1,
        "good": 1,
    }
    assert followers(["never", "seen"], page) == Counter(page), "nothing known: the odds of single words"
    assert followers(["never", "my"], page) == followers(["my"], page, n=2)
    assert followers([], ["a", "b", "a"], n=3) == {"a": 2, "b": 1}


def test_it_goes_on_with_headlines_that_it_made_up(ns, prose):
    written = lines_of(ns["go_on"]([*ns["ASK"], "\n"], ns["page"]))
    firsts = {title.split()[0] for title in ns["TITLES"]}
    assert len(written) >= 3
    assert all(line.split()[0] in firsts for line in written)
    assert not set(written) & set(ns["TITLES"])
    states(prose, "None of these stands on it word for word")


@pytest.mark.parametrize("seed", range(20))
def test_after_a_headline_always_comes_a_headline(ns, seed):
    firsts = {title.split()[0] for title in ns["TITLES"]}
    for n in (2, 3, 4, 5):
        written = lines_of(ns["go_on"]([*ns["ASK"], "\n"], ns["page"], n, seed=seed))
        assert all(line.split()[0] in firsts for line in written)
        assert not any("leave of absence" in line or line.startswith("Dear") for line in written)


def test_small_n_is_salad_and_large_n_copies(ns):
    copied = {n: [ns["forum"](n, 1.0, seed)["copied"] for seed in range(5)] for n in (1, 3, 5)}
    count = {n: sum(int(c.split()[0]) for c in cs) for n, cs in copied.items()}
    assert count[1] == 0
    assert count[3] < 12 <= count[5], count


def test_the_shares_of_figure_1(ns):
    out = ns["forum"]()
    assert out["share"] == pytest.approx([1 / 3, 1 / 6, 1 / 6, 1 / 6, 1 / 6, 0, 0, 0])
    assert ns["forum"](temperature=0.0)["share"] == [1.0] + [0.0] * 7
    flat = ns["forum"](temperature=2.0)["share"]
    assert 1 / 6 < flat[1] < flat[0] < 1 / 3
    for n in (2, 3, 4):
        for temperature in (0.5, 1.0, 2.0):
            everything = ns["shares"](["Help", "me", "write", "a"], ns["page"], n, temperature)
            assert sum(everything.values()) == pytest.approx(1)


def test_draws_follow_the_shares(ns):
    drawn = Counter(
        ns["go_on"](["Help", "me", "write", "a"], ns["page"], length=1, seed=s)[0] for s in range(1500)
    )
    for word, share in ns["shares"](["Help", "me", "write", "a"], ns["page"], 3, 1.0).items():
        assert drawn[word] / 1500 == pytest.approx(share, abs=0.04)


def test_help_surprises_more_than_a_headline(ns, prose):
    help_, headline = ns["HELPFUL"], ns["HEADLINE"]
    assert " ".join(headline) not in ns["TITLES"]
    for n in (2, 3, 4):
        bits = [ns["surprise"]([*ns["ASK"], "\n"], after, ns["page"], n) for after in (help_, headline)]
        assert bits[0] > 5 * bits[1]
    bits = [round(ns["surprise"]([*ns["ASK"], "\n"], after, ns["page"]), 1) for after in (help_, headline)]
    assert bits == [11.7, 0.8]
    states(prose, "11.7 for help, 0.8 for the headline", "0.8 bits a word, against 11.7 for help")


# --- SFT by counting ----------------------------------------------------------------------------------------------


def test_every_try_is_a_reply_and_none_asks_for_leave(ns, prose):
    assert len(ns["CHATS"]) == 6
    replies = ns["tries"]
    assert len(replies) == 200
    assert all(t.split()[0] in ns["starts"] for t in replies)
    assert not any("leave" in t.split() for t in replies)
    states(prose, "200 of 200 are replies, none asks for leave")
    four = [ns["answer"](ns["ASK"], ns["tuned"], seed) for seed in range(4)]
    assert any("I quit" in t for t in four), "so you are handed a resignation"


def test_without_the_marks_it_is_the_forum_again(ns):
    firsts = {title.split()[0] for title in ns["TITLES"]}
    for seed in range(10):
        written = lines_of(ns["go_on"]([*ns["ASK"], "\n"], ns["tuned"], seed=seed))
        assert written[0].split()[0] in firsts | {"<user>"}
    assert "<assistant>" not in ns["go_on"]([*ns["ASK"], "\n"], ns["tuned"])


def test_the_page_alone_cannot_reply(ns):
    rng = random.Random(0)
    for _ in range(20):
        assert ns["answer"](ns["ASK"], ns["page"], rng.random()).split()[:1] != ["Dear"]


# --- tables, folklore, the order ----------------------------------------------------------------------------------


def test_the_tables_are_there(prose):
    headers = [table[0] for table in tables(markdown_of(read(PATH)))]
    assert ["gap", "stage", "data", "signal", "what it still cannot do"] in headers
    (three,) = [h for h in headers if len(h) == 4 and "RLVR" in h[2]]
    assert "PBRFT" in three[1]
    assert "Agentic RL" in three[3]
    assert any(h[1:] == ["prompt", "SFT", "RL"] for h in headers)
    states(prose, "**tools → prompt → retrieval → training last.**")


def test_groups_with_a_signal(prose):
    at = {p: signal_share([p, 1 - p], 8) for p in (0.5, 0.05, 0.01, 0.001)}
    assert {p: round(s, 2) for p, s in at.items()} == {0.5: 0.99, 0.05: 0.34, 0.01: 0.08, 0.001: 0.01}
    states(prose, "At 5 % one group in three says something, at 0.1 % one in a hundred")


def test_what_a_calculator_repairs(ns):
    assert (ns["slip"].kind, ns["slip"].fixed_by_calculator) == ("arithmetic", True)
    assert (ns["wrong_way"].kind, ns["wrong_way"].fixed_by_calculator) == ("set-up", False)


def test_the_sums_of_figure_2(ns, prose):
    assert prompt_cost(100_000, 1_000, 0.5) == 50
    versus = ns["versus"]
    assert (versus()["monthly"], versus()["even"]) == (500.0, "month 100.0")
    assert versus(requests=10_000_000)["even"] == "month 4.3"
    assert versus(requests=10_000_000, cached=0.1)["even"] == "month 100.0"
    assert versus(requests=1_000)["even"] == "never"
    states(
        prose, "costs 500 and training pays in month 100", "At ten million it is month 4.3", "month 100 again"
    )
    out = versus(requests=10_000_000)
    ahead = [p > t for p, t in zip(out["prompt"], out["training"], strict=True)]
    assert ahead.index(True) == 3, "the lines cross between months 4 and 6"
    assert out["ahead"] == pytest.approx(out["prompt"][-1] - out["training"][-1])


# --- the chat model, as the book build ran it ---------------------------------------------------------------------


def test_cells_that_load_a_model_are_tagged():
    for cell in read(PATH).cells:
        if cell.cell_type == "code" and any(
            name in cell.source for name in ("load_model", "chat.model", "chat.tokenizer", "reply(")
        ):
            assert "model" in tags(cell)


def test_the_chat_model_answers_inside_its_marks_only():
    found = [c for c in executed(PATH).cells if "model" in tags(c)]
    text = ["".join(o.get("text", "") for o in cell.outputs) for cell in found]
    inside, outside = text[1].split("<|im_start|>assistant\n")[1], text[2]
    assert len(inside.split()) > 10
    assert "<|im_start|>" not in outside
    assert "Help me" in outside.split("-----")[1]


# --- exercises ----------------------------------------------------------------------------------------------------


def test_the_numbers_of_the_solutions(prose):
    monthly = prompt_cost(2_500_000, 2_000, 0.5)
    assert payback_months(24_000, monthly, 500) == 12
    roots, squares = [math.sqrt(0.8), math.sqrt(0.2)], [0.64, 0.04]
    assert [round(r / sum(roots), 3) for r in roots] == [0.667, 0.333]
    assert [round(s / sum(squares), 3) for s in squares] == [0.941, 0.059]
    states(prose, "become 0.667 and 0.333 at T = 2, and 0.941 and 0.059 at T = 0.5")


@pytest.mark.parametrize(
    ("number", "answer", "finding"),
    [
        ("02.1", 0.75, "looks at the word cat only"),
        ("02.1", 0.5, "Count only where cat occurs"),
        ("02.2", lambda s, T: s, "as they were"),
        ("02.2", lambda s, T: {w: p ** (1 / T) for w, p in s.items()}, "add up to 1"),
        (
            "02.2",
            lambda s, T: {w: p**T / sum(q**T for q in s.values()) for w, p in s.items()},
            "the power is 1/T",
        ),
        (
            "02.2",
            lambda s, T: {w: p ** (1 / T) / sum(q ** (1 / T) for q in s.values()) for w, p in s.items()},
            "ZeroDivisionError",
        ),
        ("02.2", None, "not solved yet"),
        ("02.3", 2_000_000, "Hosting costs 500 more"),
        ("02.3", 30_000_000, "whole year"),
        ("02.4", {**FIRST_MOVES, "a": "Agentic RL"}, "a calculator is exact"),
        ("02.4", {**FIRST_MOVES, "c": "RAG"}, "none of the five"),
        ("02.4", {}, "Your turn"),
        ("02.4", ["tool"], "a dict"),
    ],
)
def test_wrong_answers_are_told_why(number, answer, finding):
    result = check(number, answer)
    assert not result.passed
    assert finding in result.text()


def test_capitals_do_not_matter():
    assert check("02.4", {k: v.upper() for k, v in FIRST_MOVES.items()}).passed
