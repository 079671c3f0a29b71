"""What can be compared: traces and tries, each by its name in the address; and which come first to mind."""

from __future__ import annotations

from typing import Any

import streamlit as st

from inspector import cards, controls, opening, state, wording
from inspector.figures import knobs as tuning
from inspector.figures.settings_diff import deviations
from inspector.state import Opened
from inspector.tables import one_line
from langchain_context_engine import ConfigError, Context
from langchain_context_engine.trace.explain import Row, rows
from langchain_context_engine.trace.replay import ranking

__all__ = ["MOST", "load", "offered", "sides"]

MOST = 6
_LATEST = 50
_TRY = "try-"


def sides() -> list[str]:
    """Return the names of what is compared, the first being what the others are held against.

    A person's address wins; then what was chosen on the page. Who comes anew from Tune finds the trace and
    what was tried on it last; from Traces, what is ticked there; from elsewhere what was compared before,
    where the trace that is looked at is among it, else that beside what is nearest to it.
    """
    session = st.session_state
    asked = state.take_from_address("compare")
    if not asked and "compare" not in session:
        # By the back key to what we wrote ourselves.
        asked = st.query_params.get_all("compare")
    asked = [name for name in asked if opening.is_trace_name(name.partition("~")[0])]
    if asked or "compare" in session:
        return asked or list(session["compare"])
    before: list[str] = session.get("compared", [])
    wanted = _wanted()
    # What was added to it on the page stays.
    return before if before and set(wanted) <= set(before) else wanted


def _wanted() -> list[str]:
    current = st.session_state.get("trace")
    ticked = st.session_state.get("ticked", [])
    if len(ticked) > 1 and (current is None or st.session_state.get("came-from") == "traces"):
        return list(ticked[:MOST])
    if current is None:
        return []
    with cards.kept_guard():
        tried = _last_try(current)
        if tried and st.session_state.get("came-from") == "tune":
            return [current, tried]
        before = st.session_state.get("compared", [])
        if len(before) > 1 and any(name in {current, tried} for name in before):
            return list(before)
        other = tried or _near(current)
        return [current, other] if other else [current]
    return [current]


def _last_try(trace: str) -> str | None:
    """Return what was tried last on a trace: how its knobs stand now, else the last try that changed it.

    The knobs themselves are looked at, since a page that is left at once may not have noted its last turn.
    """
    recorded = tuning.recorded(state.open_named(trace))
    if st.session_state.get("knobs"):
        standing = controls.standing(recorded)
        if standing != recorded:
            return _try_name(trace, standing)
    tries = [one for one in st.session_state.get("tries", {}).get(trace, ()) if one.changed]
    return _try_name(trace, tries[-1].knobs) if tries else None


def _near(trace: str) -> str | None:
    """Return another answer to the same question, the newest, else what was looked at before."""
    query = state.open_named(trace).request.query
    with opening.journal_of(state.settings()) as journal:
        same = [row.id for row in journal.traces(2, query=query)] if journal is not None else []
    looked = st.session_state.get("looked-before")
    return next((name for name in (*same, looked) if name and name != trace), None)


def offered(kept: list[str]) -> dict[str, str]:
    """Return what can be compared: name in the address → label, no two alike."""
    told: dict[str, tuple[str, ...]] = {}
    for trace, tries in st.session_state.get("tries", {}).items():
        for one in tries:
            if one.changed:
                told[_try_name(trace, one.knobs)] = (f"try {one.number}: {one.told}", trace[:8])
    for name in state.known_names():
        told[name] = (name.replace("-", " "),)
    with opening.journal_of(state.settings()) as journal:
        for row in journal.traces(_LATEST) if journal is not None else ():
            told[row.id] = (
                f"{wording.time(row.time, cards.zone())} · {one_line(row.query, 70)}",
                f"{row.kept} passages, {row.tokens:,} of {row.budget:,} tokens",
                row.id[:8],
            )
    current = st.session_state.get("trace")
    for name in [*kept, *([current] if current else [])]:
        if name not in told:
            # A trace of any age by its address, whether it is among the latest or not.
            told[name] = _named(name)
    return wording.unique_labels(told)


def _named(name: str) -> tuple[str, ...]:
    """Return what can be said of a trace or a try that an address names."""
    if name.startswith(_TRY):
        return (f"try: {name.partition('~')[2].replace('~', ', ')}", name)
    with cards.kept_guard():
        context = state.open_named(name)
        own = ", ".join(f"{setting} {value}" for setting, value in deviations(context).items())
        return (one_line(context.request.query, 70) or name, one_line(own, 60), name[:8])
    return (name,)


def _try_name(trace: str, knobs: tuning.Knobs) -> str:
    """Return how a try is named in the address: its trace and the knobs that were turned."""
    recorded = tuning.recorded(state.open_named(trace))
    turned = [f"{knob}={value}" for knob, value in knobs.items() if value != recorded.get(knob)]
    return "~".join((f"{_TRY}{trace}", *turned))


def load(name: str) -> tuple[Context, list[Row]]:
    """Return a context of `offered`, with its rows.

    Raises:
        ConfigError: There is no such trace, or a try in the address is none.
    """
    if not name.startswith(_TRY):
        opened = Opened(name, state.open_named(name))
        return opened.context, state.rows_of(opened)
    trace, *turned = name.removeprefix(_TRY).split("~")
    opened = Opened(trace, state.open_named(trace))
    recorded = tuning.recorded(opened.context)
    knobs = {**recorded, **dict(_knob(part, recorded) for part in turned if not part.startswith("number="))}
    context, _ = state.replayed(opened, tuning.changes(opened.context, knobs))
    return context, state.remember(("rows", name), lambda: rows(context, ranking(context)))


def _knob(part: str, recorded: tuning.Knobs) -> tuple[str, Any]:
    name, _, text = part.partition("=")
    try:
        return name, type(recorded[name])(text)
    except (KeyError, ValueError) as error:
        raise ConfigError(f"the address names a try with {part!r:.80}, which is no setting") from error
