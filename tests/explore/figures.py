"""Figures that together use every kind of drawing, and the page that holds them; for tests, bench and eyes."""

from __future__ import annotations

import math
from typing import Any

from rl_lab.explore import figure_html, replay_html, trajectory_html
from rl_lab.explore._explore import build as figure_of
from rl_lab.explore._html import asset
from rl_lab.explore._spec import Figure

HOSTILE = "</script><b>&\u2028'\"<!--"


def returns(gamma=0.9, cost=0.05):
    """Bars, a line and a marked point over numbers."""
    r = [-cost] * 20
    r[-1] += 1.0
    G, g = [0.0] * 20, 0.0
    for t in reversed(range(20)):
        g = r[t] + gamma * g
        G[t] = g
    return {
        "x": list(range(20)),
        "return": G,
        "reward": r,
        "best": (19, max(G)),
        "G0": G[0],
        "good": G[0] > 0,
    }


def groups(a=1.0, b=0.5, std=True):
    """Bars side by side over categories, negative ones too, with a table."""
    r = [a, b, 0.0]
    mean = sum(r) / 3
    s = math.sqrt(sum((v - mean) ** 2 for v in r) / 2) or 1.0
    A = [(v - mean) / s if std else v - mean for v in r]
    rows = [
        {"completion": f"no. {i} <{a}>", "reward": v, "advantage": w}
        for i, (v, w) in enumerate(zip(r, A, strict=True))
    ]
    return {
        "x": ["first & best", "second", "third, with a long name"],
        "reward": r,
        "A": A,
        "mean": mean,
        "table": rows,
    }


def piles(weight=0.5, mode="gated"):
    """Stacked bars with negative parts."""
    minus = 0.0 if mode == "gated" else -0.4 * weight
    parts = {"acc": [1, 1, 0], "length": [0, -0.43 * weight, minus], "steps": [weight, 0.2, 0.1]}
    return {"x": ["short", "long", "wrong"], **parts}


def sizes(rank=8, model="small"):
    """Logarithmic axes, whole numbers in the millions, a gap."""
    d = {"tiny": 64, "small": 512, "medium": 2048, "large": 4096, "huge": 16384}[model]
    x = [1, 2, 4, 8, 16, 32, 64]
    full = [None if r == 4 else d * d for r in x]
    n = 2 * d * rank
    return {"x": x, "LoRA": [2 * d * r for r in x], "full": full, "here": (rank, n), "n": n}


def waves(noise=0.2):
    """Many points and more different values than are kept exactly."""
    x = [t * 2.5 for t in range(80)]

    def run(k: int) -> list[float | None]:
        y = [math.exp(-t / (40 + 25 * k)) + noise * math.sin(t / (3 + k)) for t in x]
        return [None if k == 2 and 20 < t < 40 else v for t, v in zip(x, y, strict=True)]

    return {"x": x} | {f"run {k}": run(k) for k in range(4)}


def memory(size=7):
    """Heights that follow each frame: stacked bars from a few to thousands."""
    parts = {"weights": [2 * size, 2 * size], "optimizer": [12 * size, None]}
    return {"x": ["full tuning of all weights", "LoRA"], **parts, "GB": 14 * size}


def swing(size=1.0):
    """Bars that hang down, on an axis that follows each frame."""
    return {"x": [1, 2, 3], "up": [size, None, -size], "down": [-2 * size, -size, 0.0]}


def steep(power=1):
    """A logarithmic axis that follows each frame."""
    x = [2**k for k in range(14)]
    return {"x": x, "y": [0.003 * v**power for v in x]}


def words(level=1):
    """Only read-outs: hostile text, tiny and huge numbers."""
    return {
        "text": HOSTILE if level > 1 else "plain",
        "tiny": 2e-7 * level,
        "huge": 16777216 * level,
        "nothing": None,
    }


def still():
    """No parameter at all."""
    return {"x": ["a", "b"], "share": [0.25, 0.75]}


SETTINGS: dict[Any, dict[str, Any]] = {
    returns: {
        "gamma": (0, 1, 0.1),
        "cost": (0.0, 0.2, 0.05),
        "kinds": {"reward": "bar", "best": "point"},
        "title": "Return <of> a step",
        "x_label": "step",
        "y_label": "return & reward",
        "labels": {"gamma": "discount γ", "G0": "return G₀"},
        "units": {"G0": "points"},
        "alt": "Rewards as bars, returns as a line.",
    },
    groups: {
        "a": [0.0, 0.5, 0.8, 1.0],
        "b": (0.0, 1.0, 0.25),
        "std": True,
        "start": {"a": 0.8},
        "kinds": {"reward": "bar", "A": "bar"},
        "decimals": {"mean": 3, "A": 2},
        "labels": {"std": "divide by the standard deviation"},
        "title": "Advantages",
    },
    piles: {
        "weight": (0.0, 1.0, 0.25),
        "mode": ["gated", "open"],
        "kinds": {"acc": "stack", "length": "stack", "steps": "stack"},
        "title": "Piles",
        "y_label": "reward",
    },
    sizes: {
        "rank": [1, 2, 4, 8, 16, 32, 64],
        "model": ["tiny", "small", "medium", "large", "huge"],
        "kinds": {"here": "point"},
        "x_log": True,
        "y_log": True,
        "x_label": "rank",
        "units": {"n": "parameters", "rank": "columns"},
        "title": "Sizes",
    },
    waves: {"noise": (0.0, 1.0, 0.05), "title": "Waves", "x_label": "step", "y_range": (-0.5, 1.2)},
    memory: {
        "size": [0.5, 7, 70, 671],
        "kinds": {"weights": "stack", "optimizer": "stack"},
        "y_range": "frame",
        "y_label": "GB",
        "units": {"GB": "GB"},
    },
    swing: {"size": [0.01, 1.0, 250.0], "kinds": {"up": "bar", "down": "bar"}, "y_range": "frame"},
    steep: {"power": (1, 4, 1), "x_log": True, "y_log": True, "y_range": "frame"},
    words: {"level": (1, 3, 1), "title": "Words " + HOSTILE},
    still: {"kinds": {"share": "bar"}, "title": "Still", "decimals": {"share": 2}},
}


def figure(f) -> Figure:
    """The figure that the page holds for `f`, with Python's own values."""
    return figure_of(f, SETTINGS[f])


def run(seed: int, every: int = 10) -> dict[str, Any]:
    """A recorded run as it would lie in runs/."""
    steps = list(range(0, 201, every))
    completion = {s: f"step {s}: {HOSTILE}" for s in (0, 100)}
    return {
        "name": f"seed {seed}",
        "command": "python -m rl_lab.train",
        "seed": seed,
        "versions": {},
        "settings": {},
        "steps": steps,
        "curves": {
            "reward": [1 - math.exp(-s / (50 + seed)) for s in steps],
            "kl": [None if s < 20 else s * 0.0004 * seed for s in steps],
            "length": [200 - s // 2 for s in steps],
        },
        "samples": [
            {"step": s, "prompt": "What is paid?", "completion": completion[s], "reward": 0.1 * seed}
            for s in (0, 0, 0, 0, 0, 100)
        ],
    }


EPISODES = {
    "PBRFT": [
        {"role": "agent", "text": "It is about 55."},
        {"role": "judge", "text": "reads well", "reward": 0.83},
    ],
    "Agentic RL": [
        {"role": "agent", "text": "think", "reward": 0.0, "note": "nothing earned yet"},
        {"role": "agent", "text": 'calc("80*0.75")', "reward": 0.1},
        {"role": "tool", "text": "60"},
        {"role": "agent", "text": HOSTILE, "reward": -0.25},
    ],
}
RUNS = [run(1), run(2, every=25)]


def page(dark: bool = False, site: bool = True, body: str | None = None) -> str:
    """A whole page with one figure of each kind; with `site` the script and the style stand in its head once."""
    parts = [figure_html(f, site=site, **settings) for f, settings in SETTINGS.items()]
    parts += [
        replay_html(RUNS[0], title="One run", site=site),
        replay_html(RUNS, ["reward", "kl"], title="Two", site=site),
    ]
    parts.append(trajectory_html(EPISODES, title="Episodes", alt="Two episodes side by side.", site=site))
    head = f"<style>{asset('explore.css')}</style><script>{asset('explore.js')}</script>" if site else ""
    return (
        f'<!doctype html><html lang="en" data-theme="{"dark" if dark else "light"}"><head><meta charset="utf-8">'
        '<title>Figures</title><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,">{head}</head>'
        '<body style="margin:0 auto;max-width:760px;padding:10px;font-family:sans-serif">'
        f"<main><h1>Figures</h1>{body or ''.join(parts)}</main></body></html>"
    )
