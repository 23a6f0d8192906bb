"""The home page: its figure says what the prose says, and the map shows the chapters that are there, all of them."""

from __future__ import annotations

import re
import runpy

import pytest

from tests.notebooks import PATHS, ROOT, read

HOME = (ROOT / "book" / "index.md").read_text("utf-8")
MAP = re.search(r"::::\{div\} course-map\n(.*?)\n::::\n", HOME, re.S)[1]
STOP = re.compile(r"^- (?:(\d+) · )?(.*)$", re.M)
BOOK = (ROOT / "_toc.yml").read_text("utf-8")
THERE = {int(name[:2]): f"{name}.ipynb" for name in re.findall(r"notebooks/(\d\d_\w+)", BOOK)}


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """The function behind the figure, taken from the page's own cell."""
    cell = re.search(r"```\{code-cell\} python\n:tags: \[remove-input\]\n(.*?)```", HOME, re.S)[1]
    path = tmp_path_factory.mktemp("home") / "cell.py"
    path.write_text(cell, "utf-8")
    return runpy.run_path(str(path))["training"]


def test_as_it_opens_the_reward_rises_and_the_right_answers_fall(training):
    shown = training()
    assert shown["reward"] == sorted(shown["reward"])
    assert shown["right"] == sorted(shown["right"], reverse=True)
    assert (round(shown["before"], 1), round(shown["after"], 1)) == (37.0, 10.0)
    assert "falls from 37 % to 10 %" in HOME
    assert shown["it learns"] == "to guess"
    assert (round(shown["reward"][0], 2), round(shown["reward"][-1], 2)) == (-0.02, 0.10)
    assert "rises from -0.02 to 0.10" in HOME


def test_working_it_out_and_failing_costs_what_the_page_says(training):
    never_right = training(ability=0.0)
    assert round(never_right["reward"][0], 4) == round(0.9 * -0.43 + 0.1 * 0.1, 4)
    assert "failing costs 0.43" in HOME


def test_charging_right_answers_only_turns_it_round(training):
    gated = training(gate=True)
    assert gated["it learns"] == "to work it out"
    assert gated["right"] == sorted(gated["right"])


def test_there_are_settings_at_which_even_the_gate_fails(training):
    assert training(gate=True, ability=0.2, alpha=0.0015)["it learns"] == "to guess"
    assert training(gate=True, ability=0.1)["it learns"] == "to guess"


def test_without_a_cost_the_better_habit_wins(training):
    assert training(alpha=0.0)["it learns"] == "to work it out"


def test_the_map_lists_all_seventeen_chapters_in_order():
    assert [int(number) for number, _ in STOP.findall(MAP) if number] == list(range(1, 18))


def test_a_chapter_is_linked_if_and_only_if_it_is_there():
    for number, text in STOP.findall(MAP):
        if not number:
            continue
        linked = re.search(r"\]\(\.\./notebooks/([^)]+)\)", text)
        assert bool(linked) == (int(number) in THERE), f"chapter {number}: {text}"
        assert bool(linked) != ("in preparation" in text), f"chapter {number}: {text}"
        if linked:
            assert linked[1] == THERE[int(number)]


def test_a_chapter_has_the_title_that_its_notebook_has():
    titles = {path.name: read(path).cells[0].source.splitlines()[0] for path in PATHS}
    for number, title, name in re.findall(r"- (\d+) · \[([^\]]+)\]\(\.\./notebooks/([^)]+)\)", MAP):
        heading = titles[name].lstrip("# ")
        assert heading.startswith(f"{number}. ")
        assert heading.removeprefix(f"{number}. ") == title


def test_chapters_in_preparation_elsewhere_on_the_page_are_not_there_yet():
    announced = re.findall(r"chapters? (\d+)(?: and (\d+))?, in preparation", HOME)
    assert bool(announced) == (set(THERE) != set(range(1, 18))), "announced, or all here"
    assert not THERE.keys() & {int(n) for pair in announced for n in pair if n}


def test_pages_link_only_to_files_that_exist():
    for page in (ROOT / "book").glob("*.md"):
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text("utf-8")):
            assert (page.parent / target).is_file(), f"{page.name} links to {target}"


def test_no_page_waits_for_a_measurement():
    assert [page.name for page in (ROOT / "book").glob("*.md") if "TODO" in page.read_text("utf-8")] == []


@pytest.mark.parametrize("picture", ["logo.svg", "favicon.svg", "card.svg"])
def test_pictures_are_small_vector_files_with_a_title(picture):
    text = (ROOT / "_assets" / picture).read_text("utf-8")
    assert len(text) < 4_000
    assert '<title id="t">' in text
