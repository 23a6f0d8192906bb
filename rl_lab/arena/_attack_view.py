"""How the outcome of the attack suite is shown: the score, what got through, and what to do about it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rl_lab.arena._panel import clipped, escaped, panel

if TYPE_CHECKING:
    from rl_lab.arena._attack import AttackReport, Verdict

_OPEN = 8  # faults that are shown at once; the rest folds away
_KINDS = {
    "wrong": "wrong answers, dressed up",
    "right": "right answers, in unusual spelling",
    "padding": "padding",
    "label": "unusable labels",
}


def _head(report: AttackReport) -> str:
    return f"{report.score} of {report.total} attacks handled"


def report_text(report: AttackReport) -> str:
    """The report as plain text: one line for the score, four for each fault."""
    lines = [_head(report)]
    for verdict in report.verdicts:
        if not verdict.passed:
            lines += [
                f"  {verdict.attack.name}",
                f"    sent:     {clipped(repr(verdict.attack.completion), 66)}",
                f"    {'raised:' if verdict.error else 'earned:'}   {verdict.came_back}",
                f"    expected: {verdict.expected}",
                f"    lesson:   {verdict.attack.lesson}",
            ]
    return "\n".join(lines)


def report_html(report: AttackReport) -> str:
    """The report as a panel."""
    faults = [verdict for verdict in report.verdicts if not verdict.passed]
    body = f"<p><strong>{_head(report)}</strong></p>"
    if faults:
        body += f"<ol>{''.join(map(_fault, faults[:_OPEN]))}</ol>"
    if faults[_OPEN:]:
        rest = "".join(map(_fault, faults[_OPEN:]))
        body += (
            f"<details><summary>{len(faults) - _OPEN} more got through</summary>"
            f'<ol start="{_OPEN + 1}">{rest}</ol></details>'
        )
    return panel("bad" if faults else "good", body + _handled(report))


def _fault(verdict: Verdict) -> str:
    one = verdict.attack
    label = "" if one.label == "55" else f" (label {escaped(clipped(repr(one.label), 24))})"
    return (
        f"<li><strong>{escaped(one.name)}</strong>: <code>{escaped(clipped(repr(one.completion)))}</code>{label}<br>"
        f"{'raised' if verdict.error else 'earned'} {escaped(verdict.came_back)}; "
        f"expected {escaped(verdict.expected)}. {escaped(one.lesson)}</li>"
    )


def _handled(report: AttackReport) -> str:
    lines = []
    for kind, verdicts in groupby(report.verdicts, key=lambda verdict: verdict.attack.kind):
        names = [verdict.attack.name for verdict in verdicts if verdict.passed]
        if names:
            lines.append(f"<p>{_KINDS[kind]} ({len(names)}): {escaped(', '.join(names))}</p>")
    return f"<details><summary>What was handled</summary>{''.join(lines)}</details>" if lines else ""
