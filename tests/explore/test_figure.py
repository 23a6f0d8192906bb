"""What ``explore`` accepts, and how it says what it does not."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from rl_lab.explore import explore, figure_html
from rl_lab.explore._explore import build as figure_of
from rl_lab.explore._explore import summary
from rl_lab.explore._layout import fitted
from tests.explore import figures


def line(a=1.0, b=2):
    return {"x": [0, 1], "y": [a, b], "sum": a + b}


def build(f, **settings):
    return figure_of(f, settings)


def start_frame(figure):
    return figure.frame(figure.outputs[figure.start])


# ---------------------------------------------------------------- parameters


def test_a_range_holds_both_ends_and_no_rounding_noise():
    figure = build(line, a=(0, 1, 0.1))
    assert figure.controls[0].values == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def test_whole_steps_give_whole_numbers_to_the_function():
    seen = []

    def f(n):
        seen.append(n)
        return {"x": [0], "y": [n]}

    build(f, n=(1, 3, 1))
    assert seen == [1, 2, 3]
    assert all(type(n) is int for n in seen)


def test_each_kind_of_parameter_becomes_its_control():
    figure = build(
        lambda a, b, c, d: {"a": a, "b": b, "c": c, "d": d},
        a=(0.0, 1.0, 0.5),
        b=[1, 2, 8],
        c=False,
        d=["one", "two"],
    )
    assert [c.kind for c in figure.controls] == ["range", "range", "check", "choice"]
    assert [c.start for c in figure.controls] == [1, 1, 0, 0]


def test_a_figure_starts_at_start_then_at_the_default_then_in_the_middle():
    assert build(line, a=(0.0, 2.0, 0.5), start={"a": 2}).start == 4
    assert build(line, a=(0.0, 2.0, 0.5)).start == 2
    assert build(lambda a: {"a": a}, a=[1, 2, 3, 4]).start == 1


def test_the_last_parameter_moves_fastest():
    figure = build(line, a=(0, 1, 1), b=[1, 2, 3], start={"a": 1, "b": 3})
    assert figure.start == 5
    assert start_frame(figure)["read"] == ["4"]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"a": (0, 1, 0.3)}, ValueError, r"a: steps of 0.3 from 0 do not land on 1; end at 0.9"),
        ({"a": (1, 0, 0.1)}, ValueError, r"a must have low < high and step > 0, got \(1, 0, 0.1\)"),
        ({"a": (0, 1, 0)}, ValueError, "step > 0"),
        ({"a": (0, math.inf, 1)}, ValueError, "finite"),
        ({"a": (0, 1, 1e-9)}, ValueError, "coarser step"),
        ({"a": (0, 1)}, TypeError, r"a must be \(low, high, step\).*pass a list, a=\[0, 1\]"),
        ({"a": [1]}, ValueError, "at least two values"),
        ({"a": [1, 1]}, ValueError, "twice"),
        ({"a": [1, "x"]}, TypeError, "all finite numbers or all strings"),
        ({"a": 3}, TypeError, "a list of numbers or strings, or True/False, got 3"),
        ({"a": [1, 2], "start": {"b": 1}}, ValueError, "start names 'b', which is not a slider"),
        ({"a": (0, 1, 0.5), "start": {"a": 0.7}}, ValueError, r"start\['a'\] is 0.7.*closest is 0.5"),
        ({"a": (2, 4, 1)}, ValueError, r"the default of 'a' in the function is 1.0.*closest is 2"),
        ({"aa": (0, 1, 1)}, TypeError, "names 'aa', which is not a parameter of line; did you mean 'a'"),
        ({"a": (0, 1, 1), "title": 3}, TypeError, "title must be a text, got 3"),
        ({"a": (0, 1, 1), "labels": "a"}, TypeError, "labels must be a dict"),
        ({"a": (0, 1, 1), "labels": {"summ": "total"}}, ValueError, "labels names 'summ'.*did you mean 'sum'"),
        ({"a": (0, 1, 1), "units": {"q": "GB"}}, ValueError, "units names 'q'.*Choices: 'a', 'y', 'sum'"),
        ({"a": (0, 1, 1), "kinds": {"y": "bars"}}, ValueError, "did you mean 'bar'"),
        ({"a": (0, 1, 1), "kinds": {"sum": "bar"}}, ValueError, "kinds names 'sum', which is not a series"),
        ({"a": (0, 1, 1), "decimals": {"sum": 1.5}}, ValueError, r"decimals\['sum'\] must be a whole number"),
        ({"a": (0, 1, 1), "y_range": (1, 0)}, ValueError, "y_range must have low < high"),
        ({"a": (0, 1, 1), "y_range": 3}, TypeError, r"y_range must be a pair \(low, high\)"),
        ({"a": (0, 1, 1), "y_log": True}, ValueError, "y_log needs positive values, but a series reaches 0"),
        ({"a": (0, 1, 1), "x_log": True}, ValueError, "x_log needs positive numbers along x, got 0"),
    ],
    ids=str,
)  # fmt: skip
def test_settings_that_cannot_be_read_name_the_rule_and_the_value(settings, error, message):
    with pytest.raises(error, match=message):
        build(line, **settings)


def test_more_than_5000_combinations_name_each_count_and_the_remedy():
    with pytest.raises(
        ValueError, match=r"10,201 combinations \(a: 101 × b: 101\).*5,000.*coarser steps.*fewer sliders"
    ):
        build(line, a=(0, 1, 0.01), b=(0, 2, 0.02))


def test_a_needed_parameter_without_a_slider_is_named():
    with pytest.raises(TypeError, match="needs 'cost' too; add a slider"):
        build(lambda gamma, cost: {"a": 1}, gamma=[0, 1])


def test_what_is_not_a_function_is_refused():
    with pytest.raises(TypeError, match="f must be a function"):
        build({"x": [1]})


# ---------------------------------------------------------------- outputs


@pytest.mark.parametrize(
    ("output", "settings", "error", "message"),
    [
        ([1, 2], {}, TypeError, r"must return a dict.*got \[1, 2\] at a=0"),
        ({1: 2}, {}, TypeError, "keys of the returned dict must be strings, got 1"),
        ({"y": [1, 2]}, {}, ValueError, "'y' to draw but no \"x\""),
        ({"x": [1, 2]}, {}, ValueError, "nothing to draw"),
        ({"x": [], "y": []}, {}, ValueError, "x is empty at a=0"),
        ({"x": [1, 2], "y": [1]}, {}, ValueError, "'y' has 1 values but x has 2 at a=0"),
        ({"x": [2, 1], "y": [1, 2]}, {}, ValueError, "x must increase"),
        ({"x": ["a", "a"], "y": [1, 2]}, {}, ValueError, "names a category twice"),
        ({"x": ["a", 1], "y": [1, 2]}, {}, TypeError, "'x' must hold numbers, got 'a' at position 0"),
        ({"x": [1, None], "y": [1, 2]}, {}, TypeError, "'x' must hold numbers, got None"),
        ({"x": 3, "y": [1]}, {}, TypeError, "x must be a list"),
        ({"x": [1, 2], "y": [1, math.nan]}, {}, ValueError, "'y' is nan at position 1 at a=0; return None there"),
        ({"x": [1, 2], "y": [1, math.inf]}, {}, ValueError, "'y' is inf"),
        ({"x": [1, 2], "y": [1, "2"]}, {}, TypeError, "'y' must hold numbers.*got '2'"),
        ({"x": [1, 2], "y": [True, False]}, {}, TypeError, "got True"),
        ({"total": math.nan}, {}, ValueError, "'total' is nan at a=0; return a finite number"),
        ({"total": {"a": 1}}, {}, TypeError, "'total' must be a number, a short text or a list"),
        ({"total": "x" * 300}, {}, ValueError, "a text of 300 characters"),
        ({"x": [1], "y": [1], "p": 3}, {"kinds": {"p": "point"}}, TypeError, r"'p' is a point.*pair \(x, y\)"),
        ({"x": ["a"], "p": ("b", 1)}, {"kinds": {"p": "point"}}, ValueError, "'b', which is not a category"),
        ({"table": 3}, {}, TypeError, '"table" must be a list of dicts'),
        ({"table": []}, {}, ValueError, "no rows"),
        ({"table": [{"a": 1}, {"b": 1}]}, {}, ValueError, "row 1 of the table has the columns 'b'"),
        ({"x": ["a"], "y": [1]}, {"x_log": True}, ValueError, "x holds categories"),
        ({"x": [1], "y": [1]}, {"y_log": True, "kinds": {"y": "stack"}}, ValueError, "stacked bars"),
    ],
    ids=lambda v: str(v)[:40],
)  # fmt: skip
def test_outputs_that_cannot_be_shown_name_the_key_and_the_parameters(output, settings, error, message):
    with pytest.raises(error, match=message):
        build(lambda a: output, a=[0, 1], **settings)


@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        ({"x": [1, 2], "y": [1, 2]}, {"x": [1, 2, 3], "y": [1, 2, 3]}, "length of x changes.*2 at first, 3 at a=1"),
        ({"x": [1, 2], "y": [1, 2]}, {"x": [1, 3], "y": [1, 2]}, "x changes with the sliders at a=1"),
        ({"x": [1], "y": [1]}, {"x": [1], "z": [1]}, "series change.*'y' at first, 'z' at a=1"),
        ({"u": 1}, {"v": 1}, "read-outs change"),
        ({"x": [1], "y": [1], "z": [1]}, {"x": [1], "y": [1], "z": 1}, "series change"),
        ({"table": [{"a": 1}]}, {"table": [{"b": 1}]}, "table's columns change"),
        ({"table": [{"a": 1}]}, {}, "table's columns change"),
    ],
    ids=lambda v: str(v)[:30],
)  # fmt: skip
def test_outputs_that_differ_between_combinations_are_refused(first, later, message):
    with pytest.raises(ValueError, match=message):
        build(lambda a: later if a else first, a=[0, 1])


def test_an_exception_inside_the_function_names_its_parameters_and_keeps_its_cause():
    def ratio(a, b=2):
        return {"ratio": b / a}

    with pytest.raises(RuntimeError, match=r"ratio raised ZeroDivisionError: .* at a=0, b=2") as caught:
        build(ratio, a=[0, 1], b=[2, 3])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_table_may_change_its_number_of_rows():
    figure = build(lambda n: {"table": [{"i": i} for i in range(n)]}, n=[1, 3])
    assert [len(figure.frame(o)["table"]) for o in figure.outputs] == [1, 3]


def test_numbers_of_every_library_are_read():
    numpy = pytest.importorskip("numpy")
    figure = build(
        lambda: {
            "x": numpy.arange(2),
            "y": numpy.array([0.5, 1.5]),
            "n": numpy.int64(7),
            "d": Decimal("0.25"),
            "q": Fraction(1, 2),
        }
    )
    frame = start_frame(figure)
    assert frame["read"] == ["7", "0.25", "0.5"]
    assert all(type(v) in (int, float) for v in frame["y"][0])


def test_read_outs_are_written_with_separators_units_and_fixed_decimals():
    figure = build(
        lambda: {"n": 6815744, "share": 0.12, "yes": True, "none": None, "word": "long"},
        units={"n": "parameters", "share": "%", "none": "GB"},
        decimals={"share": 3},
    )
    assert start_frame(figure)["read"] == ["6,815,744 parameters", "0.120 %", "yes", "–", "long"]


# ---------------------------------------------------------------- axes


def test_bars_stand_on_zero_and_lines_far_from_it_do_not():
    assert build(lambda: {"x": [1], "y": [5.0]}, kinds={"y": "bar"}).spec["y"]["lim"][0] == 0
    low, high = build(lambda: {"x": [1, 2], "y": [95.0, 99.0]}).spec["y"]["lim"]
    assert 90 <= low <= 95
    assert 99 <= high <= 100


def test_the_axis_holds_every_combination_so_it_stands_still():
    low, high = build(lambda a: {"x": [0, 1], "y": [a, -a]}, a=(0, 40, 10)).spec["y"]["lim"]
    assert (low, high) == (-40, 40)


def test_stacks_are_measured_by_their_tops_and_feet():
    figure = build(figures.piles, **figures.SETTINGS[figures.piles])
    tops = [a + max(0, w) for a, w in zip([1, 1, 0], [1, 0.2, 0.1], strict=True)]
    low, high = figure.spec["y"]["lim"]
    assert high >= max(tops)
    assert low <= -0.43


def test_an_axis_that_follows_the_frame_is_rounded_anew_for_each():
    figure = figures.figure(figures.memory)
    small, large = (
        fitted(figure.spec, figure.frame(o))["y"]["lim"] for o in (figure.outputs[0], figure.outputs[-1])
    )
    assert small == [0, 7]
    assert large[1] >= 14 * 671
    assert (
        fitted(figures.figure(figures.piles).spec, {})["y"]["lim"]
        == figures.figure(figures.piles).spec["y"]["lim"]
    )


def test_a_point_outside_x_widens_the_axis():
    figure = build(lambda: {"x": [0, 1], "y": [0, 1], "p": (2.0, 0.5)}, kinds={"p": "point"})
    assert figure.spec["x"]["lim"] == [0, 2.0]


@pytest.mark.parametrize("values", [[0.0, 0.0], [3.0, 3.0], [-2.0, -2.0], [1e-9, 1e-9], [None, None]])
def test_series_without_extent_still_have_an_axis(values):
    low, high = build(lambda: {"x": [0, 1], "y": values}).spec["y"]["lim"]
    assert low < high
    assert all(v is None or low <= v <= high for v in values)


# ---------------------------------------------------------------- what is displayed


def test_plain_python_prints_what_the_figure_shows(capsys):
    explore(
        line, a=(0.0, 1.0, 0.5), title="Sum", alt="Two numbers.", labels={"a": "first"}, units={"a": "yuan"}
    )
    out = capsys.readouterr().out
    assert out.splitlines() == [
        "Interactive figure: Sum. Two numbers.",
        "  first: slider, 0 yuan to 1 yuan (3 values), here 1 yuan",
        "  sum: 3",
    ]


def test_the_summary_names_choices_and_checkboxes():
    figure = build(figures.piles, **figures.SETTINGS[figures.piles])
    assert "  mode: choice of gated, open, here gated" in summary(figure)


def test_without_an_alt_text_the_series_and_the_axis_are_named():
    spec = build(line, title="Sum", labels={"y": "height"}, x_label="step").spec
    assert spec["alt"] == "Sum: height over step"
    assert build(line).spec["alt"] == "line: y over x"
    assert build(line, alt="Two points.").spec["alt"] == "Two points."


def test_none_is_returned():
    assert explore(line, a=[1.0, 2.0]) is None


def test_a_figure_of_two_thousand_combinations_stays_small():
    def f(a, b, c):
        return {"x": list(range(20)), "G": [a * t + b for t in range(20)], "r": [c] * 20, "v": a + b + c}

    html = figure_html(f, site=True, a=(0, 1, 0.05), b=(0, 1, 0.1), c=(0, 0.8, 0.1))
    assert len(html) < 100_000
