"""Folklore, checked: each claim has a verdict, a reason whose numbers are computed here, a cell and a source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import pytest

from rl_lab.audit import recorded
from rl_lab.evaluation import pass_at_k
from rl_lab.grpo import check_batch, grpo_advantages, grpo_loss, oom_advice, ratio
from rl_lab.labs.rewards import (
    GOLD,
    SAMPLES,
    WALL,
    accuracy_reward,
    share_fined,
    textbook_length,
    textbook_steps,
)
from rl_lab.lora import model_lora_params, scaling
from rl_lab.mdp import ShoppingEnv, crossing, discounted_return, horizon
from rl_lab.preferences import best_of_n, expected, fit_bradley_terry, pairs_from_ranking, relative_scores
from rl_lab.shaping import break_even, signal_share
from rl_lab.train.seeds import mean_interval, read_record, step_above
from rl_lab.train.seeds import recorded as recorded_runs
from tests import proofs
from tests.notebooks import PATHS, read
from tests.proofs import chapter, leash, percent

FOLKLORE = proofs.page("folklore")
VERDICTS = {"False": "false", "Half true": "half", "Unsupported": "open", "Outdated": "old"}
BLOCK = re.compile(
    r"^\((claim-[a-z0-9-]+)\)=\n### ([^\n]+)\n\n(.+?)\n\n\{\.where\}\n(.+?)\n(?=\n|\Z)", re.M | re.S
)


@dataclass(frozen=True)
class Claim:
    """One block of the page."""

    label: str
    heading: str
    body: str
    where: str

    @property
    def verdict(self) -> tuple[str, str]:
        """The word and its class."""
        return re.match(r"\[([A-Z][a-z ]+)\]\{\.verdict \.(\w+)\} ", self.body).groups()

    @property
    def why(self) -> str:
        """The reason, as plain text."""
        return proofs.plain(self.body.split("} ", 1)[1])


CLAIMS = {block[0]: Claim(*block) for block in BLOCK.findall(FOLKLORE)}


# --- the page -----------------------------------------------------------------------------------------------------


def test_every_claim_was_read():
    assert (
        len(CLAIMS)
        == len(re.findall(r"^### ", FOLKLORE, re.M))
        == len(set(re.findall(r"^### .*", FOLKLORE, re.M)))
    )


def test_the_summary_on_top_counts_what_is_below():
    counted = Counter(claim.verdict[0].lower() for claim in CLAIMS.values())
    stated = {word: int(n) for n, word in re.findall(r"^- \[(\d+) ([a-z ]+)\]\{\.verdict", FOLKLORE, re.M)}
    assert stated == counted
    assert f"**{len(CLAIMS)} claims checked.**" in FOLKLORE


def test_nothing_on_the_page_leads_nowhere():
    assert proofs.dead_links("folklore") == []


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_claim_is_quoted_judged_and_explained_in_short(claim):
    assert re.fullmatch(r"“.+”", claim.heading)
    word, kind = claim.verdict
    assert VERDICTS[word] == kind
    sentences = re.findall(r"[.?!:](?= |$)", re.sub(r"\bal\.", "", claim.why))
    assert 1 <= len([s for s in sentences if s != ":"]) <= 3, claim.why
    assert len(claim.why.split()) <= 75, len(claim.why.split())


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_claim_names_a_cell_or_a_source(claim):
    cells = re.findall(r"\]\((\.\./notebooks/\d\d_\w+\.ipynb#[^)]+)\)", claim.where)
    sources = re.findall(r"\]\((https?://[^)]+)\)", claim.where)
    assert cells or sources, claim.where
    for text, number in re.findall(r"\[chapter (\d+)[^\]]*\]\(\.\./notebooks/(\d\d)_", claim.where):
        assert int(text) == int(number)
    if claim.where.startswith(("Computed", "Counted")):
        assert cells, "computed where?"
    for heading, target in re.findall(r"\[chapter \d+, ([^\]]+)\]\(\S+#([^)\s]+)\)", claim.where):
        assert proofs.slug(heading.replace("“", '"').replace("”", '"')) == target, (
            "the link's words are the heading's"
        )


def test_every_folklore_note_of_a_chapter_is_on_this_page():
    linked = set(re.findall(r"\.\./notebooks/(\d\d_\w+\.ipynb)#([^)\s]+)\)", FOLKLORE))
    missing = []
    for path in PATHS:
        place = ""
        for line in "\n".join(c.source for c in read(path).cells if c.cell_type == "markdown").splitlines():
            place = proofs.slug(line.lstrip("# ")) if re.match(r"#{1,4} ", line) else place
            if re.match(r"(> )?\*\*Folklore", line) and (path.name, place) not in linked:
                missing.append(f"{path.name}#{place}")
    assert missing == [], "give book/folklore.md a block that links there"


# --- the numbers --------------------------------------------------------------------------------------------------

PROOFS: dict[str, tuple[Callable[[], dict[str, str]], str]] = {}


def proves(label: str, given: str = ""):
    """Register the proof of a claim: it returns {text on the page: the same text, computed}.

    `given` holds the numbers that are settings of the claim and not results.
    """

    def register(proof):
        PROOFS[label] = (proof, given)
        return proof

    return register


@pytest.mark.parametrize("label", CLAIMS)
def test_each_number_of_a_claim_is_computed(label):
    proof, given = PROOFS.get(label, (dict, ""))
    results = proof()
    text = proofs.plain(CLAIMS[label].body)
    for stated, computed in results.items():
        assert computed == stated
        assert stated in text
    assert proofs.unproven(CLAIMS[label].body, results, given) == set()


def test_every_proof_has_its_claim():
    assert PROOFS.keys() <= CLAIMS.keys()


@proves("claim-grpo-is-agentic")
def _():
    found = proofs.counts()
    assert found["RLVR"] == found["PBRFT"]
    one, agent = found["RLVR"], found["Agentic RL"]
    return {
        "1 step and 0 changes": f"{one[4]} step and {one[2]} changes",
        "has 4 and 2": f"has {agent[4]} and {agent[2]}",
    }


@proves("claim-no-prompt", given="step 0")
def _():
    run = chapter(1)["run"]
    cited = re.search(r"rose from (\d+ %) to 80 %", proofs.prose(1))[1]
    start, end = (percent(run[step][0][2]) for step in (0, 60))
    return {
        "from 5 % of the attempts to 92 %": f"from {start} of the attempts to {end}",
        "began at 40 %": f"began at {cited}",
    }


@proves("claim-finds-the-trick", given="55")
def _():
    never, seldom = chapter(1)["emergence"](first=0), chapter(11)["train"](first=0.001)
    assert len(never["x"]) - 1 == len(seldom) == 60
    return {
        "at 0 % after 60 rounds": f"at {never['calculator at the end']:.0f} % after 60 rounds",
        "in 0.1 % of its tries": f"in {percent(seldom[0]['pi'][0], 1)} of its tries",
        "says it in 0.1 % after 60 steps": f"says it in {percent(seldom[-1]['pi'][0], 1)} after {len(seldom)} steps",
    }


@proves("claim-sft-first", given="5 %")
def _():
    return {
        "66 % of the groups of eight": f"{percent(proofs.silent(0.05))} of the groups of eight",
        "at 0.1 % 99 % are": f"at 0.1 % {percent(proofs.silent(0.001))} are",
    }


def sft(name: str = "long") -> tuple[dict[int, dict], list[float]]:
    """Held-out evaluations by update, and the losses, of a recorded run of chapter 10."""
    run = read_record(f"10_{name}_1")
    return {e["step"]: e for e in run["held_out"]}, run["curves"]["loss"]


@proves("claim-sft-reasons")
def _():
    held, _ = sft()
    sample = next(s for s in read_record("10_long_1")["samples"] if s["step"] == 25)
    lines = re.findall(r"-?\d+ [-+] \d+ = -?\d+", sample["completion"])
    assert sample["reward"] == 1
    return {
        "after 15 updates 50 of 50 answers have the form and 8 are right": (
            f"after 15 updates {held[15]['n_format']} of {held[15]['n']} answers have the form "
            f"and {held[15]['correct']} are right"
        ),
        "at update 25": f"at update {sample['step']}",
        "8 - 10 = -2, -2 + 2 = -4": ", ".join(lines),
    }


@proves("claim-loss-converged")
def _():
    (held, loss), (bare, lower) = sft(), sft("answer")
    first, then, last = (sum(loss[k - 5 : k]) / 5 for k in (5, 15, 30))
    assert sum(lower[10:15]) < sum(loss[10:15])
    return {
        "69 % of the loss's fall is over at update 15, when 8 of 50": (
            f"{percent((first - then) / (first - last))} of the loss's fall is over at update 15, "
            f"when {held[15]['correct']} of {held[15]['n']}"
        ),
        "at update 30 there are 16": f"at update 30 there are {held[30]['correct']}",
        "and 0 are right": f"and {bare[15]['correct']} are right",
    }


@proves("claim-only-rescales", given="0.57, −0.43, 8")
def _():
    push, flip = chapter(7)["push_on_long"], chapter(7)["duel"]
    assert push(0.42, 8, False) < 0 < push(0.44, 8, False)
    with_std = {size: flip(size)["silence wins below"] for size in (8, 2)}
    return {
        "below p = 0.43 without": f"below p = {0.43 / (0.57 + 0.43):.2f} without",
        "below 0.457 with it in groups of 8, and below 0.5 in pairs": (
            f"below {with_std[8]} with it in groups of 8, and below {with_std[2]} in pairs"
        ),
    }


@proves("claim-bf16-supported", given="8.0")
def _():
    return {}


def tool_runs(name):
    """Recorded runs of chapter 12."""
    return list(recorded_runs(name).values())


@proves("claim-curve-rises", given="21, 7")
def _():
    greedy = [
        [r["results"][when]["greedy"]["accuracy"] for when in ("before", "after")] for r in tool_runs("coin")
    ]
    jumped = [pair for pair in greedy if pair[1] > 0.5]
    assert (len(greedy), len(jumped)) == (5, 1)
    return {
        "from 7.5 % right to 96.0 %": f"from {jumped[0][0]:.1%} right to {jumped[0][1]:.1%}".replace(
            "%", " %"
        )
    }


@proves("claim-pay-the-call")
def _():
    outcome, milestones = tool_runs("outcome"), tool_runs("milestones")
    assert [r["results"]["after"]["greedy"]["tool_rate"] for r in outcome] == [1] * 5

    def reached(run):
        return step_above(run["steps"], run["curves"]["tool_rate"], 0.9)

    mean, low, high = mean_interval(
        [reached(m) - reached(o) for m, o in zip(milestones, outcome, strict=True)]
    )
    ends = [[r["results"]["after"]["sampled"]["accuracy"] for r in runs] for runs in (outcome, milestones)]
    _, worse, better = mean_interval([b - a for a, b in zip(*ends, strict=True)])
    assert worse < 0 < better
    return {
        "0.2 steps sooner, interval 2.4 sooner to 2.0 later": (
            f"{-mean:.1f} steps sooner, interval {-low:.1f} sooner to {high:.1f} later"
        ),
    }


@proves("claim-longer-agent")
def _():
    tokens = [
        [round(r["results"][when]["greedy"]["mean_length"]) for when in ("before", "after")]
        for r in tool_runs("steps")
    ]
    grew = [pair for pair in tokens if pair[1] > 16]
    assert (len(tokens), len(grew)) == (5, 4)
    assert {after for _, after in grew} == {20}
    before = sorted({start for start, _ in grew})
    return {
        "write 20 tokens instead of 3 or 4": f"write {grew[0][1]} tokens "
        f"instead of {before[0]} or {before[-1]}"
    }


@proves("claim-logits", given="512, 1.16")
def _():
    """Eight completions: a word of the claim, and the cell's own setting, which a test of the chapter reads."""
    names = chapter(15)
    return {
        "holds 2.49 GB": f"holds {names['whole'] / 1e9:.2f} GB",
        "holds 0.27 GB": f"holds {names['tiles'] / 1e9:.2f} GB",
    }


@proves("claim-raise-beta", given="0.05, 0.1, 0.02")
def _():
    runs = read_record("15_kl")["runs"]

    def ends(label):
        return [round(100 * run["held-out accuracy"][-1]) for run in runs[label].values()]

    raised, lowered = ends("β to 0.05") + ends("β to 0.1"), ends("a third of a third")
    back = runs["β to 0.1"]["seed 1"]
    return {
        "end with 4 to 8 % right": f"end with {min(raised)} to {max(raised)} % right",
        "ends with 65 and 74 %": f"ends with {lowered[0]} and {lowered[1]} %",
        "from 5.8 to 0.7, with 4 % right": (
            f"from {max(back['kl']):.1f} to {back['kl'][-1]:.1f}, with {percent(back['held-out accuracy'][-1])} right"
        ),
    }


@proves("claim-read-the-best")
def _():
    names = chapter(15)
    after = sorted(names["READ"]["after"], key=lambda c: -c["reward"])
    lucky = [i for i, c in enumerate(after) if names["is_right"](c) and "=" not in c["completion"]]
    assert lucky == [0, 1, 2, 3, 4]
    return {
        "best of 64": f"best of {len(after)}",
        "of 62 guesses": f"of {sum('=' not in c['completion'] for c in after)} guesses",
    }


@proves("claim-cluster", given="300 steps, 5 % of the peak")
def _():
    bill = chapter(14)["bill"]

    def minutes(**changed):
        out = bill(**changed)
        return out["updating"][1] + out["generating"][1]

    held, room = re.match(r"([\d.]+) of (\d+) GB", bill(model="Qwen2.5-7B", lora=False)["held"]).groups()
    return {
        "holds 122 GB": f"holds {float(held):.0f} GB",
        "an A100 has 80": f"an A100 has {room}",
        "6 minutes on that card": f"{minutes():.0f} minutes on that card",
        "and 35 where": f"and {minutes(share=0.05):.0f} where",
    }


@proves("claim-retry")
def _():
    shown, learned = chapter(1)["retry"](able=50), chapter(1)["learned"]
    assert learned(lasting=False)[-1] > 0.9
    assert learned(lasting=True)[-1] < 0.1
    again, stop = shown["call again, at 0.5"], shown["give up, at 0.5"]
    return {"worth 0.9375, and giving up 0.6250": f"worth {again:.4f}, and giving up {stop:.4f}"}


@proves("claim-longer", given="200, 50")
def _():
    wrong = grpo_advantages([1, 0, 0, 1], normalize=False)[1:3]
    return {"0.25 times": f"{(wrong[1] / 200) / (wrong[0] / 50):.2f} times"}


@proves("claim-grade", given="20, 100")
def _():
    """The four letters of chapter 3 by polite words, dates, question marks and tens of words; then the heap."""
    ranked = [[3, 1, 0, 2.2], [3, 0, 0, 1.9], [0, 0, 1, 1.2], [0, 0, 0, 0.8]]
    fitted = {n: fit_bradley_terry(pairs_from_ranking(ranked), steps=n, rate=0.3) for n in (20, 50, 100)}
    best = {n: relative_scores([judge.score(x) for x in ranked])[0] for n, judge in fitted.items()}
    heap = fitted[50].score([9, 2, 0, 1.2]) / fitted[50].score(ranked[0])
    assert f"{best[20]:.2f}" in CLAIMS["claim-grade"].heading
    return {
        "0.91 after 20 steps": f"{best[20]:.2f} after 20 steps",
        "0.98 after 100": f"{best[100]:.2f} after 100",
        "2.1 times": f"{heap:.1f} times",
    }


@proves("claim-more-comparisons", given="800, 3,200")
def _():
    few, many, checked = (leash(*how)["truth"][-1] for how in ((0.5, 800), (0.5, 3200), (1.0, 800)))
    assert percent(few) == percent(many)
    return {
        "13 % right answers": f"{percent(few)} right answers",
        "end at 80 %": f"end at {percent(checked)}",
    }


@proves("claim-leash")
def _():
    text = "{} up to {} and down to {}"
    return {text.format("54 %", "62 %", "13 %"): text.format(*proofs.hill())}


@proves("claim-best-of-n", given="16, 1,024")
def _():
    judge = leash()
    one, some, many = (
        percent(expected(best_of_n(judge["scores"], n, judge["reference"]), judge["right"]))
        for n in (1, 16, 1024)
    )
    return {"from 54 % to 65 %": f"from {one} to {some}", "down to 13 %": f"down to {many}"}


@proves("claim-dozen")
def _():
    return {"89 %": percent(0.99**12), "100 steps": f"{horizon(0.99):.0f} steps"}


@proves("claim-gamma", given="500")
def _():
    assert not [field for field in proofs.trl_defaults() if "gamma" in field]
    return {"0.7 %": percent(0.99**500, 1)}


@proves("claim-four-values")
def _():
    env = ShoppingEnv()
    env.reset()
    return {"returns five": f"returns {['four', 'five'][len(env.step(('calc', '80*0.75'))) - 4]}"}


@proves("claim-guess", given="0.9, 0.8")
def _():
    tool = [0, 0.1, 0.1, 0.8]
    return {
        "above 0.9202": f"above {crossing(tool, [0.8]):.4f}",
        "way 0.7542": f"way {discounted_return(tool, 0.9):.4f}",
    }


@proves("claim-containment")
def _():
    paid = [number for number in ("155", "5.55", "56") if "55" in number]
    assert not any(accuracy_reward(f"You pay {number} yuan.", GOLD) for number in paid)
    return {"pays 155 and 5.55": f"pays {' and '.join(paid)}"}


def gsm8k(issue: str) -> tuple[int, int]:
    """Rows with an issue, and all rows, in both splits of the recorded audit."""
    splits = recorded()["splits"].values()
    return sum(split["counts"][issue] for split in splits), sum(split["n"] for split in splits)


@proves("claim-label")
def _():
    some, rows = gsm8k("separators")
    return {"In 93 of GSM8K's 8,792 rows": f"In {some} of GSM8K's {rows:,} rows"}


@proves("claim-last-number")
def _():
    some, rows = gsm8k("last_number_differs")
    return {"In 245 of GSM8K's own 8,792 solutions": f"In {some} of GSM8K's own {rows:,} solutions"}


def naive_answer(text: str) -> str | None:
    """Chapter 7's: first "Final Answer:", else the last number."""
    marked, found = re.search(r"Final Answer: *(-?\d+)", text), re.findall(r"-?\d+", text)
    return marked[1] if marked else found[-1] if found else None


@proves("claim-extractor")
def _():
    right = sum(accuracy_reward(f"Final Answer: {naive_answer(case.text)}", case.gold) for case in WALL)
    return {"0 of 12 right completions": f"{right:.0f} of {len(WALL)} right completions"}


@proves("claim-silence", given="630")
def _():
    assert len(SAMPLES[1].text) == 630
    return {"a chance of 0.43": f"a chance of {0.001 * (630 - 200):g}"}


@proves("claim-gate", given="0")
def _():
    long = textbook_length(SAMPLES[1].text, correct=True)
    assert textbook_length(SAMPLES[2].text, correct=False) == textbook_length("60", correct=False) == 0
    return {"pays 0.57": f"pays {long:.2f}", "right 57 % as often": f"right {percent(long)} as often"}


@proves("claim-target")
def _():
    trained, marks = (share_fined(kind, 200) for kind in ("as trained on", "marks left in"))
    return {"60.5 %": percent(trained, 1), "72 %": percent(marks)}


@proves("claim-floor", given="0.001, 200, 1,201")
def _():
    buried = "x" * 1185 + "Final Answer: 55"
    assert len(buried) == 1201
    return {"earns −0.001": f"earns {textbook_length(buried, correct=True):.3f}".replace("-", "−")}


@proves("claim-cap")
def _():
    spam = "= " * 1000 + "Final Answer: 55"
    right = [sample.text for sample in SAMPLES if sample.correct]
    marks = {len(re.findall(r"Step \d+", text)) + text.count("=") for text in right}
    paid = {round(textbook_steps(text, correct=True), 4) for text in right}
    (marks,), (paid,) = marks, paid
    return {
        "hold 4 step marks": f"hold {marks} step marks",
        "1 + 4 · 0.05 = 1.2": f"1 + {marks} · 0.05 = {paid:g}",
        "earn 51": f"earn {textbook_steps(spam, correct=True, max_steps=None):.0f}",
    }


@proves("claim-milestones", given="1, 0.1")
def _():
    flips = {n: break_even([0.1] * n + [1 - 0.1 * n], effort=0.1) for n in (3, 8, 9)}
    assert flips[9] is None, "no chance of success makes it worth going on"
    return {"0.143": f"{flips[3]:.3f}", "below 0.5": f"below {flips[8]:.1f}"}


@proves("claim-dense")
def _():
    q, size = 0.25, 8
    reached = [q**k * (1 - q) for k in range(4)] + [q**4]
    return {
        "90.0 %": percent(signal_share(reached, size), 1),
        "3.1 %": percent(signal_share([1 - q**4, q**4], size), 1),
        "chance of 0.4": f"chance of {break_even([0.25] * 4, 0.1):g}",
        "at 0.1": f"at {break_even([0, 0, 0, 1.0], 0.1):g}",
    }


@proves("claim-tiny-cost", given="0.001")
def _():
    group = [0.4] * 7 + [0.4 - 0.001]
    scaled, plain = proofs.advantages(group, True)[-1], proofs.advantages(group, False, 4)[-1]
    return {"is −1.93 in place of −0.0009": f"is {scaled} in place of {plain}"}


@proves("claim-progress", given="0.2, 0.9")
def _():
    cells = chapter(8)
    plan, worth = cells["solve"](cells["SHOP"], 0.9, cells["bonus"])
    assert (plan["start"], plan["file"]) == ("open the file", "close the file")
    repair = 0.2 + cells["V"]["start"]
    return {"1.05, against 0.835": f"{worth['start']:.2f}, against {repair:.3f}"}


@proves("claim-shaping")
def _():
    cells = chapter(8)
    moved = cells["moved"](lambda phi, s, t: 0.9 * phi[t] - phi[s], draws=200)
    totals = [[sum(rewards) for rewards in cells[name]] for name in ("shaped", "outcome")]
    assert grpo_advantages(totals[0], False) == pytest.approx(grpo_advantages(totals[1], False))
    return {"0 of 200": f"{moved} of 200"}


@proves("claim-alpha")
def _():
    factors = {scaling(2 * r, r) for r in (1, 8, 16, 64)}
    assert len(factors) == 1
    return {"the factor 2 at every rank": f"the factor {factors.pop():g} at every rank"}


@proves("claim-attention")
def _():
    count = model_lora_params("Llama-3-8B", "all-linear", r=16)
    return {"rank 16 that costs 0.52 %": f"rank 16 that costs {count['percent']:.2f} %"}


@proves("claim-lora-rate")
def _():
    cited = re.search(
        r"a best rate (about \d+ times) that of full tuning, for SFT and for RL", proofs.prose(9)
    )[1]
    return {"about 10 times": cited}


@proves("claim-lora-memory", given="16, 8, 64")
def _():
    share = float(proofs.llama_gb("lora")) / float(proofs.llama_gb("full"))
    assert round(model_lora_params("Llama-3-8B", "all-linear", r=16)["percent"], 1) == 0.5, "half a percent"
    return {
        "128.5 GB become 16.7": f"{proofs.llama_gb('full')} GB become {proofs.llama_gb('lora')}",
        "which is 13 %": f"which is {percent(share)}",
        "rank 8 needs 16.4 GB": f"rank 8 needs {proofs.llama_gb('lora', 8)} GB",
        "rank 64 needs 18.7": f"rank 64 needs {proofs.llama_gb('lora', 64)}",
    }


@proves("claim-squares")
def _():
    trained = {
        name: model_lora_params(name, ["q", "k", "v", "o"], r=8)["trainable"]
        for name in ("Llama-2-7B", "Llama-3-8B", "Qwen2.5-7B")
    }
    assert f"{trained['Llama-2-7B']:,}" in CLAIMS["claim-squares"].heading
    return {
        "6,815,744 in Llama-3-8B": f"{trained['Llama-3-8B']:,} in Llama-3-8B",
        "5,046,272 in Qwen2.5-7B": f"{trained['Qwen2.5-7B']:,} in Qwen2.5-7B",
    }


@proves("claim-four-to-two", given="0, 7")
def _():
    ppo, grpo, checked, no_kl, _ = proofs.models_in_memory(7)
    return {"252 GB, 140, 126, 112": f"{ppo} GB, {grpo}, {checked}, {no_kl}"}


@proves("claim-advantage", given="1, 1, 0, 0.8")
def _():
    plain, trl, population = (
        proofs.advantages([1, 1, 0, 0.8], how)[2] for how in (False, True, "population")
    )
    return {
        "−0.70 (mean only)": f"{plain} (mean only)",
        "−1.47 (TRL": f"{trl} (TRL",
        "−1.70 (by n)": f"{population} (by n)",
    }


@proves("claim-small-term", given="1.00, 0.99, 0.98, 0.97")
def _():
    first, second, third, last = proofs.advantages([1.00, 0.99, 0.98, 0.97], True)
    assert (third, last) == (f"−{second}", f"−{first}")
    return {"±1.15 and ±0.38": f"±{first} and ±{second}"}


@proves("claim-clip")
def _():
    assert proofs.trl_defaults()["num_iterations"] == 1
    return {"exactly 1": f"exactly {ratio(-1.3, -1.3):g}"}


@proves("claim-loss-zero", given="1")
def _():
    new = [[-1.0, -2.0], [-1.5, -0.5], [-0.7, -0.9], [-1.1, -0.4]]
    group = grpo_advantages([1, 1, 0, 0.8])
    nudged = [[x + 0.001 for x in new[0]], *new[1:]]
    assert grpo_loss(new, new, group) == pytest.approx(0, abs=1e-12)
    assert grpo_loss(nudged, new, group) < -1e-5, "the slope is not zero"
    return {"sum to 0": f"sum to {abs(sum(group)):.0f}"}


@proves("claim-kl-bands", given="40")
def _():
    cells = chapter(11)
    per_token = cells["moments"](cells["near"], cells["kl_k3"])[0]
    return {
        "0.046 per token and 1.85": f"{per_token:.3f} per token and {40 * per_token:.2f}",
        "β = 0": f"β = {proofs.trl_defaults()['beta']:g}",
    }


@proves("claim-k3")
def _():
    spread = {d: chapter(11)["estimators"](d)["spread of k3 / spread of k1"] for d in (1.0, 1.1, 1.2)}
    first = next(drift for drift, share in spread.items() if share > 1)
    assert proofs.trl_defaults()["use_bias_correction_kl"] is True
    return {
        "about 1.1 on": f"about {first} on",
        "1.26 times as much at 1.2": f"{spread[1.2]:.2f} times as much at 1.2",
    }


@proves("claim-divisible", given="6, 1")
def _():
    four, one = (check_batch(per_device=6, world=1, grad_accum=n, num_generations=8) for n in (4, 1))
    assert (four.ok, one.ok) == (True, False)
    assert "6 completions" in one.message
    assert "num_generations 8" in one.message
    return {"accumulation 4 it has 24": f"accumulation 4 it has {four.effective}"}


@proves("claim-oom")
def _():
    told = oom_advice(per_device=8, grad_accum=1, world=1, num_generations=8)
    assert "just as many are in memory, only spread over more prompts" in told.no_help
    assert told.advice[0]["per_device"] < 8
    assert told.advice[0]["grad_accum"] > 1
    return {}


@proves("claim-pass-at-k", given="16, 8")
def _():
    assert pass_at_k(16, 1, 8) == pytest.approx(1 - comb(15, 8) / comb(16, 8))
    return {
        "makes 0.403": f"makes {1 - (1 - 1 / 16) ** 8:.3f}",
        "gives 0.500": f"gives {pass_at_k(16, 1, 8):.3f}",
    }


@proves("claim-pass-at-8-ability", given="k = 8")
def _():
    readings = dict(zip(chapter(13)["RULERS"], chapter(13)["readings"](0), strict=True))
    greedy = read_record("13_step_0_1")["results"]["greedy_right"]
    assert readings["greedy, strict"] == 0
    return {"has 23 % at": f"has {readings['pass@8']:.0f} % at", "all 4 of": f"all {greedy} of"}


@proves("claim-arithmetic", given="42 24 29 5, 78.5, 58.3, 31.6")
def _():
    """What the tutorial prints: 85, 96 and 19 problems by tier, and 32 + 18 + 22 + 4 errors by type."""
    sizes, rates, kinds = (85, 96, 19), (0.785, 0.583, 0.316), (32, 18, 22, 4)
    assert not [right for right in range(86) if percent(right / 85, 1) == "78.5 %"]
    assert [round(100 * kind / sum(kinds)) for kind in kinds] == [42, 24, 29, 5]
    left = sum(sizes) - sum(size * rate for size, rate in zip(sizes, rates, strict=True))
    return {
        "No count of 85 is 78.5 %": f"No count of {sizes[0]} is 78.5 %",
        "71 errors of 200": f"{left:.0f} errors of {sum(sizes)}",
        "has 76": f"has {sum(kinds)}",
        "85 % of the wrong completions": f"{proofs.wrong_sums()[0]} of the wrong completions",
        "mends 11 % of them": f"mends {proofs.wrong_sums()[1]} of them",
    }
