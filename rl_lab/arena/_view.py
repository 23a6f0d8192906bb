"""How the outcome of an arena is shown: a table of habits, as text and as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rl_lab.arena._panel import escaped, number, panel, share_bar, table

if TYPE_CHECKING:
    from rl_lab.arena import ArenaResult


def _summary(result: ArenaResult) -> list[str]:
    steps, last = len(result.accuracy) - 1, result.shares
    leaders = result.leaders or [result.winner]
    shown = " and ".join(f"{habit} ({last[habit][-1]:.0%})" for habit in leaders)
    return [
        f"After {steps} steps: {shown}",
        (
            f"right {result.accuracy[0]:.0%} → {result.accuracy[-1]:.0%}, "
            f"reward {number(result.reward[0])} → {number(result.reward[-1])}"
        ),
    ]


def arena_text(result: ArenaResult) -> str:
    """The result in lines of at most 80 characters."""
    lines = _summary(result)
    lines += ["", f"{'habit':<10}{'characters':>11}{'right':>8}{'earns':>9}{'share':>8}"]
    for row in result.table:
        name = row["habit"] if len(row["habit"]) < 10 else row["habit"][:9] + "…"
        lines.append(
            f"{name:<10}{row['characters']:>11,}{row['right']:>8.0%}{number(row['earns']):>9}{row['share']:>8.0%}"
        )
    return "\n".join(lines)


def arena_html(result: ArenaResult) -> str:
    """The result as a panel with a bar for each habit."""
    first, second = _summary(result)
    rows = [
        [
            escaped(row["habit"]),
            escaped(row["what"]),
            f"{row['characters']:,}",
            f"{row['right']:.0%}",
            number(row["earns"]),
            share_bar(row["share"]),
        ]
        for row in result.table
    ]
    head = ["habit", "what it does", "characters", "right", "earns", "share at the end"]
    body = f"<p><strong>{escaped(first)}</strong></p><p>{escaped(second)}</p>"
    return panel("", body + table(head, rows, numeric={2, 3, 4}, wide={1}))
