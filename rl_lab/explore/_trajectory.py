"""``trajectory``: episodes side by side, one turn after the other, with what each turn earned."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite
from numbers import Real
from typing import Any

from ._html import asset, fresh_id, shell, with_assets
from ._numbers import number_text
from ._show import show
from ._words import choose

ROLES = ("agent", "tool", "env", "judge", "user", "system")
FIELDS = ("role", "text", "reward", "note")


@dataclass(frozen=True)
class Turn:
    """One turn, with the return of the episode so far (undiscounted)."""

    role: str
    text: str
    reward: float | None
    note: str
    total: float


def trajectory(episodes: Any, *, title: str = "", alt: str = "") -> None:
    """Show episodes turn by turn, in columns beside each other.

    Parameters
    ----------
    episodes
        A dict from names to episodes, or one episode. An episode is a list of turns, dicts with ``"role"`` ("agent",
        "tool", "env", "judge", "user" or "system") and ``"text"``, and, where there is one, ``"reward"`` (a number)
        and ``"note"`` (a text).
    title, alt
        As in :func:`rl_lab.explore.explore`.

    Raises
    ------
    ValueError, TypeError
        If a turn lacks its role or text, has an unknown field, or a reward that is no number; names the episode and
        the turn.

    Examples
    --------
    >>> trajectory({"agent": [{"role": "agent", "text": "calc(2*3)", "reward": 0.1}, {"role": "tool", "text": "6"}]})
    Trajectory
      agent, 2 turns, return 0.1
        agent: calc(2*3)  [+0.1]
        tool: 6
    """
    columns = read_episodes(episodes)
    show(
        _summary(columns, title),
        lambda site: _static(columns, title, alt, site),
        lambda: _live(columns, title, alt),
    )


def trajectory_html(episodes: Any, *, title: str = "", alt: str = "", site: bool = False) -> str:
    """Return the static figure of :func:`trajectory` as HTML; see :func:`rl_lab.explore.figure_html`."""
    return _static(read_episodes(episodes), title, alt, site)


def read_episodes(episodes: Any) -> dict[str, list[Turn]]:
    """Check episodes and add up their rewards."""
    if isinstance(episodes, Sequence) and not isinstance(episodes, str):
        episodes = {"": episodes}
    if not isinstance(episodes, Mapping) or not episodes:
        raise TypeError(
            f"episodes must be a dict from names to lists of turns, or one such list, got {episodes!r}"
        )
    return {str(name): _read(str(name), turns) for name, turns in episodes.items()}


def _read(name: str, turns: Any) -> list[Turn]:
    what = f"episode {name!r}" if name else "the episode"
    if not isinstance(turns, Sequence) or isinstance(turns, str) or not turns:
        raise ValueError(f"{what} must be a list of at least one turn, got {turns!r}")
    out, total = [], 0.0
    for i, turn in enumerate(turns):
        turn = _check(turn, f"turn {i + 1} of {what}")
        total += turn.get("reward") or 0.0
        out.append(
            Turn(turn["role"], turn["text"], turn.get("reward"), turn.get("note") or "", round(total, 10))
        )
    return out


def _check(turn: Any, what: str) -> dict[str, Any]:
    if not isinstance(turn, Mapping):
        raise TypeError(f'{what} must be a dict with "role" and "text", got {turn!r}')
    choose(turn, FIELDS, what, "a field of a turn")
    if not isinstance(turn.get("role"), str) or not isinstance(turn.get("text"), str):
        raise TypeError(f'{what} needs "role" and "text", both texts, got {dict(turn)!r}')
    choose([turn["role"]], ROLES, what, "a role")
    reward, note = turn.get("reward"), turn.get("note")
    if reward is not None and (
        isinstance(reward, bool) or not isinstance(reward, Real) or not isfinite(reward)
    ):
        raise TypeError(f"the reward of {what} must be a finite number or None, got {reward!r}")
    if note is not None and not isinstance(note, str):
        raise TypeError(f"the note of {what} must be a text or None, got {note!r}")
    return dict(turn, reward=None if reward is None else float(reward))


def _signed(reward: float) -> str:
    text = number_text(reward)
    return text if text.startswith("-") or reward == 0 else f"+{text}"


def _turn_html(turn: Turn, later: bool) -> str:
    badge = f'<span class="xp-badge">{_signed(turn.reward)}</span>' if turn.reward is not None else ""
    note = f'<p class="xp-note">{escape(turn.note)}</p>' if turn.note else ""
    hidden = ' aria-hidden="true"' if later else ""
    kind = f"xp-turn xp-role-{turn.role}{' xp-hidden' if later else ''}"
    return (
        f'<li class="{kind}" data-total="{number_text(turn.total)}"{hidden}><p class="xp-who"><span>{turn.role}</span>'
        f'{badge}</p><p class="xp-text">{escape(turn.text)}</p>{note}</li>'
    )


def _column(name: str, turns: list[Turn], shown: int) -> str:
    total = number_text(turns[min(shown, len(turns)) - 1].total)
    head = f"<span>{escape(name)}</span>" if name else ""
    items = "".join(_turn_html(turn, i >= shown) for i, turn in enumerate(turns))
    return (
        f'<div class="xp-episode"><p class="xp-head">{head}<span>return <b class="xp-total">{total}</b></span></p>'
        f'<ol class="xp-turns">{items}</ol></div>'
    )


def _columns(columns: dict[str, list[Turn]], shown: int) -> str:
    inner = "".join(_column(name, turns, shown) for name, turns in columns.items())
    return f'<div class="xp-episodes">{inner}</div>'


def _longest(columns: dict[str, list[Turn]]) -> int:
    return max(len(turns) for turns in columns.values())


def _static(columns: dict[str, list[Turn]], title: str, alt: str, site: bool) -> str:
    count = _longest(columns)
    body = _columns(columns, count)
    uid = fresh_id("xp-" + hashlib.sha256((title + body).encode()).hexdigest()[:8])
    controls = (
        '<div class="xp-controls xp-player"><button type="button" class="xp-prev" disabled>Back</button>'
        '<button type="button" class="xp-next" disabled>Next</button>'
        f'<div class="xp-control xp-range"><label for="{uid}-0">turn</label><span class="xp-value" aria-hidden="true">'
        f'{count} of {count}</span><input type="range" id="{uid}-0" min="1" max="{count}" step="1" value="{count}" '
        f'aria-valuetext="{count} of {count}" disabled></div></div><p class="xp-say" role="status"></p>'
    )
    about = f'<p class="xp-alt">{escape(alt)}</p>' if alt else ""
    html = shell(
        uid, title, "trajectory", about + (controls if count > 1 else "") + body, alt or "Trajectory"
    )
    return with_assets(html, {"turns": count}, uid, site)


def _live(columns: dict[str, list[Turn]], title: str, alt: str) -> Any:
    """Return the live figure: buttons and a slider of ipywidgets over the same columns."""
    import ipywidgets as w

    count = _longest(columns)
    style = w.HTML(f"<style>{asset('explore.css')}</style>", layout={"display": "none"})
    slider = w.IntSlider(value=1, min=1, max=max(2, count), description="turn", disabled=count < 2)
    back, ahead = w.Button(description="Back"), w.Button(description="Next")
    screen, uid = w.HTML(), fresh_id("xp-trajectory")

    def update(_change: Any = None) -> None:
        about = f'<p class="xp-alt">{escape(alt)}</p>' if alt else ""
        screen.value = shell(uid, title, "live", about + _columns(columns, slider.value), alt or "Trajectory")

    def move(by: int) -> None:
        slider.value = min(max(slider.value + by, 1), count)

    back.on_click(lambda _: move(-1))
    ahead.on_click(lambda _: move(1))
    slider.observe(update, "value")
    update()
    return w.VBox([style, w.HBox([back, ahead, slider]), screen])


def _summary(columns: dict[str, list[Turn]], title: str) -> str:
    lines = ["Trajectory" + (f": {title}" if title else "")]
    for name, turns in columns.items():
        head = f"{name}, " if name else ""
        lines.append(f"  {head}{len(turns)} turns, return {number_text(turns[-1].total)}")
        for turn in turns:
            first = turn.text.splitlines()[0] if turn.text else ""
            reward = f"  [{_signed(turn.reward)}]" if turn.reward is not None else ""
            lines.append(f"    {turn.role}: {first}{reward}")
    return "\n".join(lines)
