"""The static figure as HTML: complete without a script, safe whatever a model wrote."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser

import pytest

from rl_lab.explore import figure_html, replay_html, trajectory_html
from rl_lab.explore._html import json_text
from rl_lab.explore._pack import from_text, pack_items, pack_rows, to_text, unpack_rows
from tests.explore import figures

VOID = {"input", "br", "img", "meta", "link"}


class Outline(HTMLParser):
    """Check that elements nest, and collect what the tests ask about."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.labels, self.inputs, self.scripts, self.text = [], [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        assert len(values) == len(attrs), f"an attribute twice on {tag}"
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "label" and "for" in values:
            self.labels.append(values["for"])
        if tag in ("input", "select", "button"):
            self.inputs.append(values)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] in ("script", "style") else self.text).append(data)


@pytest.fixture(scope="module")
def outline() -> Outline:
    return Outline(figures.page())


def test_the_markup_nests_and_ids_are_unique(outline):
    assert len(outline.ids) == len(set(outline.ids)) > 20


def test_every_control_waits_disabled_and_every_slider_has_its_label(outline):
    fields = [i for i in outline.inputs if i.get("type") != "button"]
    assert fields
    assert all("disabled" in i for i in outline.inputs)
    sliders = [i for i in fields if i.get("type") in ("range", "checkbox")]
    assert all(i["id"] in outline.labels for i in sliders)
    assert all(i["aria-valuetext"] for i in sliders if i["type"] == "range")


def test_a_value_text_carries_the_unit():
    html = figure_html(lambda t: {"v": t}, t=(0, 10, 5), units={"t": "tokens"}, site=True)
    assert 'aria-valuetext="5 tokens"' in html
    assert '<p class="xp-given">t: 5 tokens</p>' in html


def test_the_first_frame_shows_numbers_and_read_outs_without_a_script(outline):
    text = " ".join(outline.text)
    figure = figures.figure(figures.returns)
    frame = figure.frame(figure.outputs[figure.start])
    assert frame["read"][0] in text
    assert "Show the numbers" in text


def test_two_pages_made_in_one_process_share_no_id():
    one = set(Outline(figures.page()).ids)
    two = set(Outline(figures.page()).ids)
    assert not one & two


@pytest.mark.parametrize(
    "html",
    [
        figure_html(figures.words, site=True, **figures.SETTINGS[figures.words]),
        replay_html(figures.RUNS, title=figures.HOSTILE, site=True),
        trajectory_html({figures.HOSTILE: figures.EPISODES["Agentic RL"]}, title=figures.HOSTILE, site=True),
    ],
    ids=["explore", "replay", "trajectory"],
)  # fmt: skip
def test_untrusted_text_never_leaves_its_place(html):
    outline = Outline(html)
    assert "<b>&" in "".join(outline.text) or "<b>&" in "".join(
        json.loads(s).__repr__() for s in outline.scripts
    )
    assert html.count("</script>") == html.count("<script")
    assert "<!--" not in html
    data = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL)
    json.loads(data.group(1))


def test_json_in_a_page_cannot_end_its_element_and_reads_back():
    text = json_text({"a": figures.HOSTILE})
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == {"a": figures.HOSTILE}


def test_the_site_gets_data_only_and_other_pages_get_script_and_style():
    settings = figures.SETTINGS[figures.still]
    assert "rlLabExplore" not in figure_html(figures.still, site=True, **settings)
    alone = figure_html(figures.still, site=False, **settings)
    assert "rlLabExplore" in alone
    assert ".xp-line" in alone


def test_one_series_named_by_its_axis_needs_no_legend():
    assert "xp-legend" not in figure_html(lambda: {"x": [0, 1], "y": [0, 1]}, y_label="reward", site=True)
    assert "xp-legend" in figure_html(lambda: {"x": [0, 1], "y": [0, 1]}, site=True)


def test_five_choices_become_a_list_and_four_stand_side_by_side():
    def f(m):
        return {"m": m}

    assert "<select" in figure_html(f, m=list("abcde"), site=True)
    assert figure_html(f, m=list("abcd"), site=True).count('type="radio"') == 4


# ---------------------------------------------------------------- packing


def test_integers_survive_as_text():
    assert from_text(to_text([0, 1, 65535])) == [0, 1, 65535]
    assert from_text(to_text([0, 255], "B"), "B") == [0, 255]


def test_equal_rows_are_stored_once():
    packed = pack_rows([(1.5, 2.5)] * 2000)
    assert "at" not in packed
    assert len(packed["values"]) == 2


def test_few_different_numbers_are_kept_exactly_and_gaps_stay_gaps():
    rows = [(float(i % 7) / 4, None, 16777216) for i in range(50)]
    assert unpack_rows(pack_rows(rows)) == [list(row) for row in rows]


def test_many_different_numbers_are_kept_to_a_part_in_65534_of_their_range():
    rows = [(math.sqrt(i), None if i % 5 else -3.0) for i in range(9000)]
    packed = pack_rows(rows)
    assert "low" in packed
    for row, back in zip(rows, unpack_rows(packed), strict=True):
        assert abs(row[0] - back[0]) <= (packed["high"] - packed["low"]) / 65534
        assert (row[1] is None) == (back[1] is None)


def test_items_are_stored_once_each():
    assert pack_items(["a", "b", "a"]) == {"items": ["a", "b"], "at": to_text([0, 1, 0])}
    assert pack_items(["a", "a"]) == {"items": ["a"]}
