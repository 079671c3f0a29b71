"""Two or more contexts side by side, candidate by candidate. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.palette import AMBER, GREEN, RED, fate_of
from inspector.tables import one_line, option_of
from langchain_context_engine import Context
from langchain_context_engine.answering.explain import Row
from langchain_context_engine.answering.traces import Diff
from langchain_context_engine.values.types import Verdict

__all__ = ["CHANGE_COLOURS", "aligned", "arrow", "moves", "settings_table", "told"]

_SHORT = 400


def moves(before: Sequence[Row], after: Sequence[Row], difference: Diff) -> list[dict[str, Any]]:
    """Return one row a candidate: where it stood, where it stands, and what became of it.

    Ordered by the place after; those no longer ranked last.
    """
    was = {row.key: row for row in before}
    table = []
    for row in after:
        old = was.get(row.key)
        table.append(
            {
                "#": row.place,
                "was": old.place if old else None,
                "moved": arrow(old.place if old else None, row.place),
                "change": _change(row, difference),
                "fate": [fate_of(row.verdict, row.reason)],
                "fate before": _other_fate(old, row),
                "score": row.score,
                "tokens": row.tokens or None,
                "source": row.key[0],
                "candidate": one_line(f"{row.title} — {row.text}" if row.title else row.text),
            }
        )
    return table


CHANGE_COLOURS = {"entered": GREEN, "left": RED, "recut": AMBER}
"""What can become of a passage → colour."""


def _change(row: Row, difference: Diff) -> list[str]:
    changed = {"entered": difference.entered, "left": difference.left, "recut": difference.recut}
    return [name for name, keys in changed.items() if row.key in keys]


def _other_fate(old: Row | None, row: Row) -> list[str]:
    if old is None or (old.verdict, old.reason) == (row.verdict, row.reason):
        return []
    return [fate_of(old.verdict, old.reason)]


def arrow(before: int | None, after: int | None) -> str:
    """Return how far a candidate moved, in words a table can show.

    Example:
        >>> arrow(5, 2), arrow(2, 5), arrow(3, 3), arrow(None, 1)
        ('▲ 3', '▼ 3', '=', 'new')
    """
    if after is None:
        return "" if before is None else "unranked"
    if before is None:
        return "new"
    if before == after:
        return "="
    return f"▲ {before - after}" if after < before else f"▼ {after - before}"


def told(difference: Diff) -> str:
    """Return a difference in one sentence.

    Example:
        >>> from langchain_context_engine import Context, diff
        >>> told(diff(Context(), Context()))
        'Nothing changed in the text.'
    """
    parts = [
        f"{len(keys)} {name}"
        for name, keys in (
            ("entered", difference.entered),
            ("left", difference.left),
            ("moved", difference.moved),
            ("recut", difference.recut),
        )
        if keys
    ]
    return f"{', '.join(parts)}.".capitalize() if parts else "Nothing changed in the text."


def aligned(columns: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    """Return one row a candidate that any of several contexts ranked: its place and fate in each.

    Args:
        columns: What each context is called → its rows.

    Returns:
        Rows by the best place anywhere; `differs` says whether the contexts treat the candidate differently.
    """
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for name, rows in columns.items():
        for row in rows:
            found.setdefault(row.key, {})[name] = row
    table = []
    for key, by_name in found.items():
        text = next(iter(by_name.values()))
        entry: dict[str, Any] = {
            "candidate": option_of(key),
            "text": one_line(text.title or text.text, 90),
            "differs": len({_inside(by_name.get(name)) for name in columns}) > 1,
        }
        for name in columns:
            entry[name] = _cell(by_name.get(name))
        entry["_best"] = min((row.place or 10**6 for row in by_name.values()), default=10**6)
        table.append(entry)
    table.sort(key=lambda entry: (entry.pop("_best"), entry["candidate"]))
    return table


def _inside(row: Row | None) -> str:
    return str(row.reason) if row is not None and row.verdict is Verdict.KEPT else "out"


def _cell(row: Row | None) -> str:
    if row is None:
        return "not offered"
    place = f"#{row.place} " if row.place else ""
    score = f" {row.score:.3f}" if row.score is not None else ""
    return f"{place}{fate_of(row.verdict, row.reason)}{score}"


def settings_table(contexts: Mapping[str, Context]) -> list[dict[str, str]]:
    """Return the settings in which some contexts differ, one row a setting; the question's fields too."""
    described = {name: _described(context) for name, context in contexts.items()}
    names = dict.fromkeys(setting for values in described.values() for setting in values)
    return [
        {"setting": setting, **{name: _short(values.get(setting)) for name, values in described.items()}}
        for setting in names
        if len({_short(values.get(setting)) for values in described.values()}) > 1
    ]


def _described(context: Context) -> dict[str, Any]:
    request = context.request
    asked = {
        "question": request.query,
        "tokens allowed": context.budget,
        "k": request.k,
        "limit": request.limit,
    }
    return {**asked, **_flat(context.settings)}


def _flat(settings: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return settings within settings by dotted names."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= _flat(value, f"{above}{name}.") if isinstance(value, Mapping) else {f"{above}{name}": value}
    return flat


def _short(value: Any) -> str:
    return "–" if value is None else str(value)[:_SHORT]
