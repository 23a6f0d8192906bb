"""Checking prose by computing it: the pages in book/, their links, and the facts that more than one of them states."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.util
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

import rl_lab.explore
from rl_lab.error_analysis import tally
from rl_lab.grpo import grpo_advantages
from rl_lab.lora import memory
from rl_lab.mdp import compare, run_agentic, run_pbrft, run_rlvr
from rl_lab.preferences import (
    beta_for_kl,
    completion_pool,
    expected,
    fit_bradley_terry,
    kl_regularised,
    rate_pairs,
)
from rl_lab.shaping import signal_share
from tests.notebooks import PATHS, ROOT, namespace, read
from tests.tables import markdown_of

NUMBER = re.compile(r"(?<![\w@^.\-])[−±]?\d[\d,]*(?:\.\d+)?(?![\w\-])")
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.S)
LINK = re.compile(r"\[((?:[^\[\]]|`[^`]*`)+)\]\(([^()\s]*(?:\([^()]*\)[^()\s]*)?)\)")


# --- text -----------------------------------------------------------------------------------------------------


def page(name: str) -> str:
    """A page of book/, its no-break spaces as plain ones."""
    return (ROOT / "book" / f"{name}.md").read_text("utf-8").replace("\u00a0", " ")


def plain(markdown: str) -> str:
    """What a reader reads: one line, links as their text, no attributes, no formulas, no code."""
    text = LINK.sub(r"\1", CODE.sub("", markdown))
    text = re.sub(r"\{[.#][^}]*\}|\$[^$]*\$|[*_]", "", text)
    return " ".join(text.split())


def numbers(text: str) -> set[str]:
    """Numbers that a sentence states; names such as Llama-3-8B and numbers of chapters are none."""
    text = re.sub(r"[Cc]hapters? \d+((,| and) (chapter )?\d+)*|\b(19|20)\d\d\b", "", plain(text))
    return {found.rstrip(",").lstrip("±") for found in NUMBER.findall(text)}


def unproven(text: str, proofs: Iterable[str], given: str = "") -> set[str]:
    """Numbers of `text` that no proof yields and that are not among the settings in `given`."""
    return numbers(text) - set().union(*(numbers(proof) for proof in proofs), numbers(given))


def slug(heading: str) -> str:
    """Anchor of a heading: GitHub's rule, which MyST follows for links to another page."""
    return re.sub(r"[^\w\- ]", "", heading.lower().replace(" ", "-"))


def anchors(path: Path) -> set[str]:
    """Anchors of a notebook's or a page's headings."""
    text = markdown_of(read(path)) if path.suffix == ".ipynb" else path.read_text("utf-8")
    return {slug(heading) for heading in re.findall(r"^#{1,4} (.+?)\s*$", text, re.M)}


def dead_links(name: str) -> list[str]:
    """Links of a page to a file that is not there, or to a heading that the file does not have."""
    dead, here = [], ROOT / "book"
    for _, target in LINK.findall(page(name)):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        path = here / file if file else here / f"{name}.md"
        if not path.is_file() or (anchor and anchor not in anchors(path)):
            dead.append(target)
    return dead


# --- chapters -------------------------------------------------------------------------------------------------


def notebook(number: int) -> Path:
    """File of a chapter."""
    return next(path for path in PATHS if path.name.startswith(f"{number:02d}_"))


@functools.cache
def prose(number: int) -> str:
    """All Markdown of a chapter on one line."""
    return re.sub(r"[\s>]+", " ", markdown_of(read(notebook(number))))


@functools.cache
def chapter(number: int) -> dict:
    """Names that a chapter's cells define; nothing is drawn, exercises are left out."""
    with pytest.MonkeyPatch.context() as patch:
        for call in ("explore", "trajectory", "replay"):
            patch.setattr(rl_lab.explore, call, lambda *args, **settings: None)
        return namespace(notebook(number))


# --- facts ----------------------------------------------------------------------------------------------------


def percent(share: float, digits: int = 0) -> str:
    """A share from 0 to 1 as the pages write it."""
    return f"{100 * share:.{digits}f} %"


@functools.cache
def counts() -> dict[str, list[int]]:
    """The six counts of the three episodes: states, actions, changes, rewards, steps, observations."""
    rows = compare(run_pbrft(), run_rlvr(), run_agentic())
    return {name: [row[name] for row in rows] for name in ("PBRFT", "RLVR", "Agentic RL")}


@functools.cache
def leash(checking: float = 0.5, pairs: int = 800) -> dict[str, list]:
    """Chapter 3: a judge from raters of whom a share checks, and what its policy does as the leash is loosened."""
    pool = completion_pool()
    reference, right = [c.chance for c in pool], [float(c.right) for c in pool]
    rated = rate_pairs(pool, pairs, checking, seed=0)
    judge = fit_bradley_terry([(better.style, worse.style) for better, worse in rated], steps=100, rate=2)
    scores = [judge.score(c.style) for c in pool]
    betas = [beta_for_kl(scores, kl / 4, reference) for kl in range(1, 27)]
    path = [reference] + [kl_regularised(scores, beta, reference) for beta in betas if beta]
    path.append(kl_regularised(scores, 0, reference))
    return {
        "reference": reference,
        "right": right,
        "scores": scores,
        "truth": [expected(policy, right) for policy in path],
        "proxy": [expected(policy, scores) for policy in path],
    }


def hill() -> tuple[str, str, str]:
    """Right answers of chapter 3's policy: at the start, at the best leash, and without one."""
    path = leash()
    assert path["proxy"] == sorted(path["proxy"]), "the score rises all the way"
    return percent(path["truth"][0]), percent(max(path["truth"])), percent(path["truth"][-1])


def silent(p: float, group_size: int = 8) -> float:
    """Share of groups whose rewards are all equal, for a prompt that is solved with chance `p`."""
    return 1 - signal_share([1 - p, p], group_size)


def models_in_memory(billions: int = 7) -> list[str]:
    """GB for PPO, GRPO, a checked reward, β = 0, and LoRA, at 16 bytes a trained and 2 a frozen weight."""
    trained, frozen, adapter = 16 * billions, 2 * billions, 0.005 * 16 * billions
    steps = [2 * trained + 2 * frozen, trained + 2 * frozen, trained + frozen, trained, frozen + adapter]
    shown = chapter(11)["memory"](billions)
    assert steps == [shown[key] for key in ("PPO", "GRPO", "checked reward", "β = 0", "LoRA")]
    return [f"{step:.1f}".removesuffix(".0") for step in steps]


def llama_gb(mode: str, r: int = 16) -> str:
    """GB of weights, gradients and optimizer states to train Llama-3-8B, all linear layers if with LoRA."""
    return f"{memory('Llama-3-8B', mode, r=r, targets='all-linear')['total'] / 1e9:.1f}"


@functools.cache
def dense_run() -> dict[str, tuple[float, float]]:
    """Chapter 8's run under dense pay: the mean of the first ten steps and of the last ten."""
    cells = chapter(8)
    return {
        key: tuple(cells["mean"](key, part) for part in (cells["run"][:10], cells["run"][-10:]))
        for key in ("reward", "fixed")
    }


def advantages(rewards: list[float], convention: bool | str, digits: int = 2) -> list[str]:
    """Advantages as the pages write them."""
    shown = (f"{a:.{digits}f}" for a in grpo_advantages(rewards, convention))
    return [text.replace("-", "−") for text in shown]


@functools.cache
def trl_defaults(config: str = "grpo_config") -> dict[str, object]:
    """Fields of TRL's GRPOConfig with their defaults, read from its source: importing it takes half a minute."""
    found = importlib.util.find_spec("trl")
    if found is None or found.origin is None:
        pytest.skip("TRL is not installed")
    source = (Path(found.origin).parent / "trainer" / f"{config}.py").read_text("utf-8")
    fields = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.AnnAssign) and n.value]
    defaults = {}
    for field in fields:
        given = {k.arg: k.value for k in getattr(field.value, "keywords", [])}.get("default")
        if given is not None:
            with contextlib.suppress(ValueError):
                defaults[field.target.id] = ast.literal_eval(given)
    return defaults


@functools.cache
def wrong_sums() -> tuple[str, str]:
    """Chapter 13's recorded run: wrong completions that hold a wrong sum, and those that right sums would mend."""
    names = chapter(13)
    wrong = [names["by_recomputing"](text) for _, text in names["wrong"]]
    mended = sum(row.fixed for row in tally(names["found"]))
    return percent(wrong.count("arithmetic") / len(wrong)), percent(mended / len(wrong))
