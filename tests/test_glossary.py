"""The glossary: every term is there, says something, and is reached by the links that the pages make."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import pytest

from tests.notebooks import PATHS, ROOT, read

SOURCE = (ROOT / "book" / "glossary.md").read_text("utf-8")
GLOSSARY = re.sub(r'^<a id="[\w-]+"></a>\n', "", SOURCE, flags=re.M)  # as the site reads it
PAGES = sorted((ROOT / "book").glob("*.md"))

# The anchors that notebooks may link to, by part of the page.
PARTS = {
    "The loop": "policy environment state observation action transition mdp-and-pomdp trajectory rollout episode",
    "Returns and credit": "reward return discount horizon advantage baseline critic reference-model kl-divergence",
    "Language-model training": "pre-training post-training sft reward-model rlhf rlaif pbrft rlvr agentic-rl",
    "Algorithms": "ppo grpo dr-grpo dapo",
    "LoRA and plumbing": "lora rank alpha chat-template tool-call-mask",
    "Things that go wrong": "reward-hacking sycophancy catastrophic-forgetting",
    "Measuring": "pass-at-k maj-at-k pass-hat-k",
}
TERMS = [anchor for anchors in PARTS.values() for anchor in anchors.split()]


def slug(heading: str) -> str:
    """Anchor of a heading: GitHub's rule, which MyST follows for links to another page."""
    return re.sub(r"[^\w\- ]", "", heading.lower().replace(" ", "-"))


@dataclass(frozen=True)
class Entry:
    """One term: its part of the page, its anchor, and the paragraphs below the heading."""

    part: str
    anchor: str
    paragraphs: list[str]


def entries() -> list[Entry]:
    found = []
    for section in re.split(r"^## ", GLOSSARY, flags=re.M)[1:]:
        part, *terms = re.split(r"^### ", section, flags=re.M)
        for term in terms:
            heading, body = term.split("\n", 1)
            paragraphs = [p.strip() for p in body.split("\n\n") if p.strip()]
            found.append(Entry(part.split("\n", 1)[0], slug(heading), paragraphs))
    return found


ENTRIES = {entry.anchor: entry for entry in entries()}


def test_each_term_has_its_anchor_for_jupyterlab_too():
    # JupyterLab's own ids keep the heading's capitals: a link to #rollout would open the page and stay at its top.
    anchors = re.findall(r'^<a id="([\w-]+)"></a>\n### (.*)$', SOURCE, re.M)
    assert [anchor for anchor, _ in anchors] == list(ENTRIES)
    assert all(slug(heading) == anchor for anchor, heading in anchors)


def links_to_the_glossary() -> list[tuple[str, str]]:
    """(where, anchor) for each link to an entry, in notebooks and in pages."""
    texts = {page.name: page.read_text("utf-8") for page in PAGES}
    for path in PATHS:
        texts[path.name] = "\n".join(c.source for c in read(path).cells if c.cell_type == "markdown")
    outside = [
        (name, a) for name, t in texts.items() for a in re.findall(r"glossary\.(?:md|html)#([^)\s]+)\)", t)
    ]
    return outside + [("glossary.md", anchor) for anchor in re.findall(r"\]\(#([^)\s]+)\)", GLOSSARY)]


def test_the_terms_stand_in_their_parts_and_in_order():
    assert [(e.part, e.anchor) for e in entries()] == [
        (part, anchor) for part, anchors in PARTS.items() for anchor in anchors.split()
    ]


@pytest.mark.parametrize("anchor", TERMS)
def test_each_entry_defines_shows_and_tells_apart(anchor):
    definition, *rest = ENTRIES[anchor].paragraphs
    assert re.search(r"[.:]($|\s)", definition), "the definition is a sentence"
    assert len(definition) > 60
    assert not definition.startswith(("**Example", "**Mix-up", "{")), "the definition comes first"
    leads = [re.match(r"\*\*(Example|Mix-up)\.\*\* \S", paragraph) for paragraph in rest]
    assert [lead[1] for lead in leads if lead] == ["Example", "Mix-up"]
    assert rest[-1].startswith("{.where}\n"), "the last line says where to read on"


def test_the_index_lists_every_term_once_in_alphabetical_order():
    index = re.search(r":::\{div\} az\n(.*?)\n:::", GLOSSARY, re.S)[1]
    links = re.findall(r"\[([^\]]+)\]\(#([^)]+)\)", index)
    assert sorted(anchor for _, anchor in links) == sorted(TERMS)
    words = [re.sub(r"\W", " ", text).lower() for text, _ in links]
    assert words == sorted(words)


@pytest.mark.parametrize(("where", "anchor"), sorted(set(links_to_the_glossary())))
def test_each_link_reaches_an_entry(where, anchor):
    assert anchor in ENTRIES, f"{where} links to glossary.md#{anchor}, which is no entry"


def test_chapters_named_as_in_preparation_are_not_there_yet():
    there = {int(n) for n in re.findall(r"notebooks/(\d\d)_", (ROOT / "_toc.yml").read_text("utf-8"))}
    announced = re.findall(r"[Cc]hapters? (\d+)(?: and (\d+))?, in preparation", GLOSSARY)
    assert not there & {int(n) for pair in announced for n in pair if n}, "link them now"


def test_a_chapter_is_linked_by_its_own_number():
    for text, number in re.findall(r"\[([Cc]hapter \d+)\]\(\.\./notebooks/(\d\d)_", GLOSSARY):
        assert int(text.split()[1]) == int(number)


def test_the_three_paradigms_differ_as_they_should():
    rows = {
        r.split("|")[1].strip(): [c.strip() for c in r.split("|")[2:5]]
        for r in GLOSSARY.splitlines()
        if "|" in r
    }
    assert rows[""] == ["PBRFT", "RLVR", "Agentic RL"]
    assert rows["Steps in an episode"] == ["one", "one", "many"]
    assert rows["Answers back on the way"] == ["nothing", "nothing", "an environment"]


# --- The figures in the examples, worked out here by hand --------------------------------------------------

REWARDS = [0, 0.1, 0.1, 0.8]


def std(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))


FIGURES = {
    "return": [("0.7542", sum(0.9**t * r for t, r in enumerate(REWARDS)), 4), ("1.0", sum(REWARDS), 1)],
    "discount": [("0.5832", 0.8 * 0.9**3, 4)],
    "horizon": [("10", 1 / (1 - 0.9), 0), ("100", 1 / (1 - 0.99), 0)],
    "advantage": [("0.7", 2.8 / 4, 1), ("0.3", 1 - 0.7, 1), ("−0.7", 0 - 0.7, 1), ("0.1", 0.8 - 0.7, 1)],
    "kl-divergence": [
        ("0.470", math.log(0.8 / 0.5), 3),
        ("0.095", 0.5 / 0.8 - 1 - math.log(0.5 / 0.8), 3),
    ],
    "grpo": [("0.625", 5 / 8, 3)],
    "dr-grpo": [
        (text, (r - 0.7) / std([1, 1, 0, 0.8]), 2) for text, r in (("0.63", 1), ("−1.47", 0), ("0.21", 0.8))
    ],
    "lora": [
        ("16,777,216", 4096 * 4096, 0),
        ("65,536", 8 * (4096 + 4096), 0),
        ("256", 4096 * 4096 / 65536, 0),
    ],
    "rank": [("32,768", 4 * 8192, 0), ("524,288", 64 * 8192, 0)],
    "alpha": [("5.66", 16 / math.sqrt(8), 2)],
    "pass-at-k": [
        ("0.500", 1 - math.comb(15, 8) / math.comb(16, 8), 3),
        ("0.403", 1 - (1 - 1 / 16) ** 8, 3),
    ],
    "pass-hat-k": [("0.998", 1 - 0.2**4, 3), ("0.410", 0.8**4, 3)],
}


@pytest.mark.parametrize(
    ("anchor", "text", "value", "digits"),
    [(anchor, *figure) for anchor, figures in FIGURES.items() for figure in figures],
)
def test_a_figure_in_an_example_is_right(anchor, text, value, digits):
    assert text in " ".join(ENTRIES[anchor].paragraphs)
    assert f"{value:,.{digits}f}".replace("-", "−") == text
