"""The references: well-formed, each source once, each with a link, and none that a page names but the list lacks."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.notebooks import PATHS, ROOT, read

BIB = (ROOT / "book" / "references.bib").read_text("utf-8")
PAGE = (ROOT / "book" / "references.md").read_text("utf-8")
ARXIV = re.compile(r"arxiv\.org/(?:abs|pdf)/(\d{4}\.\d{4,5})(?:v\d+)?")

# What the course leans on: arXiv ids, and a word of the title for what is not on arXiv.
# fmt: off
PROMISED = [
    "2509.02547", "2402.03300", "2501.12948", "2503.20783", "2503.14476", "1707.06347", "2203.02155",
    "2309.00267", "1706.03741", "2310.03716", "2210.10760", "2110.14168", "2106.09685", "2312.03732",
    "2305.14314", "2504.13837", "2107.03374", "2406.12045", "2310.13548", "2407.17032", "1506.02438",
    "2203.11171",
]
# fmt: on
TITLES = [
    "Without Regret",
    "Reward Shaping",
    "Approximating",
    "Connectionist",
    "An Introduction",
    "{TRL}",
    "{PEFT}",
]


def entries() -> list[dict[str, str]]:
    """Fields of each entry, with its ``key`` and ``kind``; one field a line, which is how the file is written."""
    found = []
    for kind, key, body in re.findall(r"^@(\w+)\{([^,]+),\n(.*?)^\}$", BIB, re.M | re.S):
        fields = dict(re.findall(r"^ +(\w+) += \{(.*)\},$", body, re.M))
        assert len(fields) == body.count("\n"), f"{key}: a line is not `name = {{value}},`"
        found.append({"kind": kind, "key": key, **fields})
    return found


ENTRIES = entries()
KEYS = [entry["key"] for entry in ENTRIES]


def test_every_entry_was_read():
    assert len(ENTRIES) == len(re.findall(r"^@", BIB, re.M)) >= 29
    assert all(BIB.count(bracket) == BIB.count(other) for bracket, other in ["{}"])


def test_pybtex_reads_the_file_as_we_do():
    database = pytest.importorskip("pybtex.database")
    assert list(database.parse_string(BIB, "bibtex").entries) == KEYS


@pytest.mark.parametrize("field", ["key", "title", "eprint", "doi", "url"])
def test_no_source_is_listed_twice(field):
    values = Counter(entry[field].lower() for entry in ENTRIES if field in entry)
    assert [value for value, n in values.items() if n > 1] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=KEYS)
def test_an_entry_is_complete(entry):
    assert {"title", "author", "year"} <= set(entry)
    assert re.fullmatch(r"(19|20)\d\d", entry["year"])
    assert entry["year"] in entry["key"]
    assert entry.keys() & {"eprint", "doi", "url"}, "a reader must be able to go there"
    assert re.fullmatch(r"https?://\S+", entry.get("url", "https://x"))
    assert re.fullmatch(r"10\.\d{4,}/\S+", entry.get("doi", "10.1000/x"))
    if "eprint" in entry:
        assert re.fullmatch(r"\d{4}\.\d{5}", entry["eprint"])
        assert entry["archiveprefix"] == "arXiv"
        assert entry["year"] == f"20{entry['eprint'][:2]}", "the year is that of the first version"


@pytest.mark.parametrize("eprint", PROMISED)
def test_a_promised_paper_is_there(eprint):
    assert eprint in [entry.get("eprint") for entry in ENTRIES]


@pytest.mark.parametrize("word", TITLES)
def test_a_promised_source_outside_arxiv_is_there(word):
    assert sum(word in entry["title"] for entry in ENTRIES) == 1


def test_the_page_cites_every_entry_and_nothing_else():
    cited = {key for keys in re.findall(r"\{cite:\w+\}`([^`]+)`", PAGE) for key in re.split(r"\s*,\s*", keys)}
    assert cited == set(KEYS)


def test_every_paper_that_a_page_links_to_is_in_the_list():
    texts = {page.name: page.read_text("utf-8") for page in (ROOT / "book").glob("*.md")}
    for path in PATHS:
        texts[path.name] = "\n".join(c.source for c in read(path).cells if c.cell_type == "markdown")
    listed = {entry.get("eprint") for entry in ENTRIES}
    missing = {(name, eprint) for name, text in texts.items() for eprint in ARXIV.findall(text)}
    assert sorted(pair for pair in missing if pair[1] not in listed) == []


@pytest.mark.parametrize(
    ("page", "text", "eprint"),
    [
        (page.name, text, eprint)
        for page in sorted((ROOT / "book").glob("*.md"))
        for text, eprint in re.findall(
            r"\[([^\]]+ \d{4})\]\(https://arxiv\.org/abs/([\d.]+)\)", page.read_text("utf-8")
        )
    ],
)
def test_a_link_names_the_author_and_year_of_its_paper(page, text, eprint):
    entry = next(e for e in ENTRIES if e.get("eprint") == eprint)
    first = entry["author"].split(",")[0]
    assert text.startswith(first), f"{page}: {text!r} links to a paper by {first}"
    assert text.endswith(entry["year"]), f"{page}: {text!r} links to a paper of {entry['year']}"
