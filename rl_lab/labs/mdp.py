"""Lab 1 in a terminal: one shopping problem as three decision processes, counted field by field.

>>> main()  # doctest: +ELLIPSIS
Lab 1 · The MDP, field by field
...
"""

from __future__ import annotations

import textwrap

from rl_lab.mdp import (
    EXAMPLE,
    ShoppingEnv,
    Trajectory,
    compare,
    crossing,
    discounted_return,
    horizon,
    run_agentic,
    run_pbrft,
    run_rlvr,
    tool_policy,
)

_GAMMAS = (0.0, 0.5, 0.9, 0.99, 1.0)
_WIDTH = 78


def main() -> None:
    """Print the lab: three episodes, the five-tuple, returns, variants, the tool's errors, a naive grader."""
    print("Lab 1 · The MDP, field by field\n")
    print(textwrap.fill(EXAMPLE.question, _WIDTH), end="\n\n")
    for part in (_episodes, _five_tuple, _returns, _variants, _horizon, _tool, _grading):
        print("\n".join(part()), end="\n\n")
    print("Chapter 4 builds each of these by hand: notebooks/04_mdp_five_tuple.ipynb")


def _episodes() -> list[str]:
    rows = []
    for run in (run_pbrft(), run_rlvr(), run_agentic()):
        rows += [f"{run.name}   judged by {run.judge}", *_turns(run), ""]
    return rows[:-1]


def _turns(run: Trajectory) -> list[str]:
    rows = []
    for turn in run.turns()[1:]:
        if turn["role"] == "judge":
            continue
        reward = "" if turn["reward"] is None else f"{turn['reward']:+.2f}"
        first, *more = textwrap.wrap(turn["text"], _WIDTH - 20)
        head = f"  {turn['role']:<7}{first:<{_WIDTH - 17}}{reward:>6}".rstrip()
        rows += [head, *(f"{'':9}{line}" for line in more)]
    return rows


def _five_tuple() -> list[str]:
    rows = compare()
    names = [name for name in rows[0] if name not in ("field", "counted")]
    head = f"{'Counted in these episodes':<30}" + "".join(f"{name:>12}" for name in names)
    return [head] + [
        f"  {row['field']}  {row['counted']:<25}" + "".join(f"{row[name]:>12}" for name in names)
        for row in rows
    ]


def _returns() -> list[str]:
    rewards = run_agentic().rewards
    rows = [
        f"Discounted return of the rewards {rewards}",
        f"  {'gamma':>6}{'return':>10}{'share of the last':>20}",
    ]
    for gamma in _GAMMAS:
        total = discounted_return(rewards, gamma)
        share = rewards[-1] * gamma ** (len(rewards) - 1) / total if total else 0.0
        rows.append(f"  {gamma:>6}{total:>10.4f}{100 * share:>18.1f} %")
    return [*rows, "  At gamma = 0 nothing that comes later counts: thinking first is worth nothing."]


def _variants() -> list[str]:
    plans = {
        "think, calc, calc, answer 55": None,
        "answer 55 at once": [("answer", "55")],
        "answer 60 at once": [("answer", "60")],
        "think three times, then as above": tool_policy(thoughts=3),
    }
    rows = ["Other ways through the same world, at gamma = 0.9"]
    for text, plan in plans.items():
        run = run_agentic(plan)
        steps = "1 step " if len(run.steps) == 1 else f"{len(run.steps)} steps"
        rows.append(f"  {text:<36}{steps}{discounted_return(run.rewards, 0.9):>10.4f}")
    gamma = crossing(run_agentic().rewards, [0.8])
    return [
        *rows,
        f"  The tool pays more than a right guess only for gamma above {gamma:.4f}.",
    ]


def _horizon() -> list[str]:
    rows = ["How far a discount looks: 1 / (1 - gamma) steps"]
    return rows + [
        f"  gamma {gamma:<5} {horizon(gamma):>4.0f} steps, where a reward still counts {gamma ** horizon(gamma):.2f}"
        for gamma in (0.5, 0.9, 0.99)
    ]


def _tool() -> list[str]:
    env = ShoppingEnv()
    env.reset()
    rows = ["What the calculator makes of a model's slips: text that the agent sees, no crash"]
    for expr in ("80×0.75", "1,234,567*1", "5/0", "9**9**9", "__import__('os')"):
        first, *more = textwrap.wrap(env.step(("calc", expr))[0], _WIDTH - 20)
        rows += [f"  {expr:<18}{first}", *(f"{'':20}{line}" for line in more)]
    return rows


def _grading() -> list[str]:
    rows = [
        "A grader that looks for the digits 55, and one that compares numbers",
        f"  {'':<24}contains   compares",
    ]
    for text in ("55 yuan", "155 yuan", "5.55 yuan", "55.00 yuan"):
        naive, right = "55" in text, sum(run_rlvr(text).rewards)
        rows.append(f"  {text:<24}{float(naive):>8.1f}{right:>11.1f}")
    return rows
