"""One palette for the page and for matplotlib: apart for every eye, legible on light and on dark paper."""

from __future__ import annotations

import itertools
import math
import re
import warnings

import pytest

from rl_lab.explore import use_style
from rl_lab.explore._html import asset

# How the three common colour vision deficiencies turn linear RGB (Machado et al. 2009, severity 1).
EYES = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900),
    ),
}  # fmt: skip


def palettes() -> list[dict[str, str]]:
    """Return the colour variables of the light and of the dark page."""
    blocks = re.findall(r"\{([^{}]*--xp-c0:[^{}]*)\}", asset("explore.css"))
    return [dict(re.findall(r"--xp-([a-z0-9]+): (#[0-9a-f]{3,6})", b)) for b in blocks]


def linear(colour: str) -> list[float]:
    digits = colour[1:] if len(colour) == 7 else "".join(c * 2 for c in colour[1:])
    parts = (int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def contrast(a: str, b: str) -> float:
    """Contrast ratio as WCAG 2 defines it."""
    light, dark = sorted(
        (sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(v), strict=True)) for v in (a, b)),
        reverse=True,
    )
    return (light + 0.05) / (dark + 0.05)


def oklab(rgb: list[float]) -> tuple[float, ...]:
    """Björn Ottosson's OKLab: distances in it are differences that people see."""
    mix = ((0.4122, 0.5363, 0.0514), (0.2119, 0.6807, 0.1074), (0.0883, 0.2817, 0.6300))
    lms = [max(0.0, sum(w * c for w, c in zip(row, rgb, strict=True))) ** (1 / 3) for row in mix]
    back = ((0.2105, 0.7936, -0.0041), (1.9780, -2.4286, 0.4506), (0.0259, 0.7828, -0.8087))
    return tuple(sum(w * c for w, c in zip(row, lms, strict=True)) for row in back)


def test_there_is_a_light_and_a_dark_palette_and_the_dark_one_is_told_once_more_for_the_system():
    light, dark, system = palettes()
    assert dark == system
    assert set(light) >= set(dark) >= {f"c{i}" for i in range(6)}


@pytest.mark.parametrize("palette", palettes()[:2], ids=["light", "dark"])
def test_texts_and_series_stand_out_from_their_paper(palette):
    assert contrast(palette["ink"], palette["paper"]) >= 7
    assert min(contrast(palette["soft"], palette[p]) for p in ("paper", "tint")) >= 4.5
    assert min(contrast(palette[f"c{i}"], palette["paper"]) for i in range(6)) >= 3


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("palette", palettes()[:2], ids=["light", "dark"])
def test_series_differ_for_every_eye(palette, eye):
    seen = [
        oklab(
            [
                min(1, max(0, sum(m * c for m, c in zip(row, linear(palette[f"c{i}"]), strict=True))))
                for row in EYES[eye]
            ]
        )
        for i in range(6)
    ]
    nearest = min(math.dist(a, b) for a, b in itertools.combinations(seen, 2))
    assert nearest >= 0.06  # three times what is just noticeable; dashes and markers differ besides
    assert min(math.dist(a, b) for a, b in itertools.combinations(seen[:3], 2)) >= 0.10


def test_matplotlib_draws_in_the_same_look_without_a_warning(tmp_path):
    mpl = pytest.importorskip("matplotlib")
    mpl.use("svg")
    import matplotlib.pyplot as plt

    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("error")
        use_style()
        figure, axes = plt.subplots()
        for k in range(6):
            axes.plot([0, 1], [-k, k], label=f"run {k}")
        axes.legend()
        figure.savefig(tmp_path / "picture.svg")
        styles = [(line.get_color(), line.get_linestyle()) for line in axes.get_lines()]
        plt.close(figure)
    assert len(set(styles)) == 6
    assert len({colour for colour, _ in styles}) == 6
    assert min(contrast(c, paper) for c, _ in styles for paper in ("#ffffff", "#14181e")) >= 3
    assert "<svg" in (tmp_path / "picture.svg").read_text("utf-8")
