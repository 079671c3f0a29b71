"""Traces: the recorded questions; open one, compare some, follow them live, bring a saved one."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any
from urllib.parse import unquote

import streamlit as st

from inspector import cards, exports, grid, opening, state, wording
from inspector.candidates import rows_like
from inspector.state import Opened, one_of, whether
from inspector.wording import WITHOUT_WORDS, one_line
from langchain_context_engine import ConfigError, Context, Journal
from langchain_context_engine.journal import TraceRow
from langchain_context_engine.journal.traces import folded
from langchain_context_engine.trace.labels import labels

PAGE_SIZE = 50
EVERY = "2s"
# What the list can be narrowed to → conditions of the journal.
KINDS: dict[str, dict[str, Any]] = {
    "All": {},
    "Nothing kept": {"is_bare": True},
    "Doubtful": {"status": "doubtful"},
    "Unsure": {"status": "unsure"},
    "Source late or failed": {"status": "partial"},
    "Failed": {"status": "failed"},
    "In part": {"is_cut": True},
    "Slowest twentieth": {"is_slow": True},
    "Noted": {"is_noted": True},
}
DAYS = ("since", "until")
FILTERS = ("q", *DAYS, "only", "sorted")
"""What a saved view keeps of the list."""
STATUSES_TOLD = "\n".join(f"{name}: {told}" for name, told in cards.STATUSES.items())
COLUMNS: Sequence[grid.Column] = (
    {"name": "tick", "label": "Compare", "kind": "tick", "width": 66, "narrow": True},
    {"name": "time", "label": "Asked", "width": 158, "sorts": True},
    {"name": "question", "label": "Question", "sorts": True, "narrow": True},
    {"name": "found", "label": "Found in", "width": 112},
    {"name": "status", "label": "Status", "width": 72, "sorts": True, "narrow": True, "help": STATUSES_TOLD},
    {"name": "kept", "label": "Passages", "kind": "number", "width": 80, "sorts": True},
    {"name": "candidates", "label": "Candidates", "kind": "number", "width": 88, "sorts": True},
    {
        "name": "cut",
        "label": "In part",
        "kind": "number",
        "width": 62,
        "sorts": True,
        "help": "passages that stand in the text in part",
    },
    {"name": "duplicates", "label": "Duplicates", "kind": "number", "width": 90, "sorts": True},
    {"name": "tokens", "label": "Tokens", "kind": "number", "width": 66, "sorts": True},
    {"name": "budget", "label": "Budget", "kind": "number", "width": 66, "sorts": True},
    {"name": "milliseconds", "label": "ms", "kind": "number", "width": 60, "sorts": True},
    {"name": "warnings", "label": "Warnings", "kind": "number", "width": 84, "sorts": True},
    {"name": "note", "label": "Note", "width": 170},
)
SORTS = [f"{sign}{column['name']}" for column in COLUMNS if column.get("sorts") for sign in ("", "-")]
"""By what the list can be sorted: falling, and with a sign before it rising; the newest come first."""
MOST_COMPARED = 6
MOST_ORDERED = 10_000
"""Found answers up to which questions that have all words come first: so many are read in 0.15 s."""

SHORT_ID = 8
"""Characters of an id that are shown where it is one of several, and from which on its beginning finds it."""

SEARCHED = (
    "Searched: questions, notes, warnings, sources, model answers, the passages that are in a context, "
    "and of every candidate its id and place."
)
_ELSEWHERE = "elsewhere"
MOST_READ = 20
"""Answers of a page that are read to name where words are: one takes some hundredths of a second."""
_QUOTES = re.compile(r"[\"“”„«»]")


def show() -> None:
    """Draw the page."""
    cards.heading("Traces")
    path = state.settings().journal
    with opening.journal_of(state.settings()) as journal:
        total = journal.count() if journal is not None else 0
        lost = journal.lost() if journal is not None else 0
    if lost:
        st.warning(f"Not every question is here: {lost:,} could not be kept.")
    if total:
        recorded()
    elif path is not None:
        st.subheader("Nothing is recorded yet" if path.exists() else "There is no journal there")
        st.text(f"Waiting for {path}: run your application and ask it something.")
        cards.part(look_again, every=EVERY)
    if total:
        with st.expander("Open a saved trace, or a sample"):
            bring()
        return
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.subheader("Look around in a sample")
        st.text("Questions to a small fictional company, answered by the real engine.")
        bring()
    with right:
        st.subheader("Record your own")
        cards.how_to_record()


def look_again() -> None:
    """Draw the page anew as soon as something is recorded."""
    with opening.journal_of(state.settings()) as journal:
        if journal is not None and journal.count():
            st.rerun()


def recorded() -> None:
    """Draw the filters and the table of a journal."""
    if st.session_state.pop("shows-new", False):
        show_new()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state.search_field(
            "q", "Search", "Words of the question, a passage or a note; an id or its beginning, a source",
            on_change=first_page,
        )  # fmt: skip
        for key, label in zip(DAYS, ("From", "To"), strict=True):
            st.date_input(
                label, None, key=key, format="YYYY-MM-DD", on_change=first_page, width=132, **state.BOUND
            )
        views()
    with st.container(horizontal=True, vertical_alignment="center"):
        one_of("only", list(KINDS), "Only", on_change=first_page)
        is_live = whether(
            "live", "Live", "Looks for new questions every two seconds, and marks them.", value=True
        )
    st.session_state.setdefault("live-since", datetime.now(tz=UTC))
    cards.part(listing, is_live)


def views() -> None:
    """Draw the views that were saved: one is chosen, or the present one is given a name."""
    session = st.session_state
    with opening.journal_of(state.settings()) as journal:
        kept = journal.views() if journal is not None else {}

    def take() -> None:
        """Show a saved view; what no view is called yet becomes the name of this one."""
        name = session["view"]
        if name in kept:
            show_new()
            days = {key: date.fromisoformat(kept[name][key]) for key in DAYS if key in kept[name]}
            session.update({**kept[name], **days, "view": name})
        elif name:
            keep(name, shown())

    def shown() -> dict[str, str]:
        return {key: str(session[key]) for key in FILTERS if session.get(key)}

    def keep(name: str, filters: Mapping[str, str]) -> None:
        with cards.kept_guard("Give the view a name, and check that the journal can be written."):
            with state.writing() as journal:
                journal.keep_view(name, filters)
            session["view"] = name if filters else None

    usual, name = {"only": "All", "sorted": SORTS[0]}, session.get("view") or ""
    if name in kept and {**usual, **kept[name]} != {**usual, **shown()}:
        # Of what is not shown any more the name can be chosen again.
        session["view"] = None
    chosen = st.selectbox(
        "Saved views", list(kept), index=None, key="view", on_change=take, accept_new_options=True, width=200,
        placeholder="choose, or name this",
    )  # fmt: skip
    if chosen in kept:
        st.button(
            "Forget it", on_click=keep, args=(chosen, {}), type="tertiary", help="The view, not its answers."
        )


def first_page() -> None:
    """Look at the first page: what is searched anew is another list."""
    st.session_state["page"] = 1


def conditions(sort: str) -> dict[str, Any]:
    """Return what the journal is asked for."""
    session, zone = st.session_state, cards.zone()
    since, until = session.get("since"), session.get("until")
    return {
        **KINDS[session["only"] or "All"],
        "search": session["q"] or "",
        "since": datetime.combine(since, time.min, zone) if since else None,
        "until": datetime.combine(until, time.max, zone) if until else None,
        "sort": sort.lstrip("-"),
        "ascending": sort.startswith("-"),
    }


def news() -> None:
    """Draw, where one answer is looked at, how many came since the list was; a click shows them in it."""
    since = st.session_state.setdefault("listed", datetime.now(tz=UTC))
    with opening.journal_of(state.settings()) as journal:
        count = journal.count(since=since) if journal is not None else 0
    # Pressed by the page's script, while nothing else is drawn.
    st.button("Look for new answers", key="look-news")
    if count and st.button(wording.counted(count, "new answer"), key="news", type="tertiary"):
        st.session_state["shows-new"] = True
        state.go("traces")


def listing(is_live: bool) -> None:
    """Draw one page of the table; choosing a row opens it."""
    ticked = st.session_state.setdefault("ticked", st.query_params.get_all("ticked"))
    if st.query_params.get_all("ticked") != ticked:
        st.query_params["ticked"] = ticked
    sort = state.picked("sorted", SORTS)
    with cards.guard(), opening.journal_of(state.settings()) as journal:
        if journal is None:
            st.text(f"The journal {state.settings().journal} is not there any more.")
            return
        asked, total = searched(journal, conditions(sort)), journal.count()
        found = count(journal, asked)
        pages = max(1, -(-found // PAGE_SIZE))
        # Drawn below the table that it turns the pages of.
        place, below = st.container(), st.container()
        page = below.pagination(pages, key="page", **state.BOUND) if pages > 1 else 1
        traces = rows_found(journal, asked, found, (page - 1) * PAGE_SIZE, PAGE_SIZE)
        words = folded(asked["search"] or st.session_state["q"] or "").split()
        found_at = state.remember(
            ("places", *words, *(trace.id for trace in traces)), lambda: places(journal, traces, words)
        )
        since = st.session_state["live-since"]
        st.session_state["listed"] = datetime.now(tz=UTC)
        shown = sum(trace.time > since for trace in traces)
        unseen = journal.count(since=since + timedelta(microseconds=1)) - shown if is_live else 0
    with place:
        head(found, total, unseen)
        if traces or is_live:
            table(traces, sort, words, found_at, is_live=is_live, has_pages=pages > 1)
        if not traces:
            st.text(f"No recorded question is like that. {SEARCHED}")
            if st.button("Clear the search, the days and the filter", key="clear"):
                clear()


def searched(journal: Journal, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the journal is asked for: words, the beginning of an id, or a candidate's `source/id`."""
    words = {**asked, "search": _QUOTES.sub(" ", asked["search"]).strip()}
    search = words["search"]
    if len(search) >= SHORT_ID and opening.is_trace_name(search):
        own = {**asked, "search": "", "id_prefix": search}
        if count(journal, own):
            return own
    if "/" in search and not count(journal, words):
        source, _, name = search.partition("/")
        words["search"] = f"{unquote(source)} {name}"
    return words


def count(journal: Journal, asked: Mapping[str, Any]) -> int:
    """Return how many answers are found."""
    return journal.count(**{name: one for name, one in asked.items() if name not in {"sort", "ascending"}})


def rows_found(
    journal: Journal, asked: Mapping[str, Any], found: int, offset: int, limit: int
) -> list[TraceRow]:
    """Return some of those found, first those whose question has all words, unless they are sorted."""
    words = folded(asked["search"]).split()
    if not words or found > MOST_ORDERED or (asked["sort"], asked["ascending"]) != ("time", False):
        return journal.traces(limit, offset, **asked)
    rows = journal.traces(MOST_ORDERED, **asked)
    return sorted(rows, key=lambda row: found_in(row, words) != "question")[offset : offset + limit]


def found_in(row: TraceRow, words: Sequence[str], context: Context | None = None) -> str:
    """Return in which fields of a row, or else of its answer, searched words are."""
    if len(words) == 1 and len(words[0]) >= SHORT_ID and row.id.startswith(words[0]):
        return "id"
    fields = {
        "question": folded(row.query),
        "note": folded(f"{row.note} {' '.join(row.tags)}"),
        "source": folded(" ".join((*row.source_timings, *row.offered))),
    }
    if context is not None:
        named = (*(candidate.id for candidate in context.candidates), *labels(context).values())
        fields |= {
            "passage": folded(" ".join(passage.text for passage in context.passages)),
            "candidate": folded(" ".join(named)),
            "warning": folded(" ".join(context.warnings)),
        }
    last = _ELSEWHERE if context is None else "model answer"
    own = (next((name for name, text in fields.items() if word in text), last) for word in words)
    return ", ".join(dict.fromkeys(own))


def places(journal: Journal, traces: Sequence[TraceRow], words: Sequence[str]) -> dict[str, str]:
    """Return of each answer where searched words are; the first that have them elsewhere are read for it."""
    found = {trace.id: found_in(trace, words) for trace in traces}
    for trace in [one for one in traces if _ELSEWHERE in found[one.id]][:MOST_READ]:
        with suppress(ConfigError):
            found[trace.id] = found_in(trace, words, journal.trace(trace.id))
    return found


def show_new() -> None:
    """Show the newest of all, whatever the list was narrowed to or sorted by."""
    st.session_state.update({"q": "", "only": "All", "sorted": SORTS[0], "view": None, **dict.fromkeys(DAYS)})
    first_page()


def clear() -> None:
    """Show all: what the list is narrowed by stands outside of what is drawn by itself."""
    st.session_state["shows-new"] = True
    st.rerun()


def head(found: int, total: int, unseen: int) -> None:
    """Draw how many there are, and what can be done with the ticked ones.

    So many new ones stand on another page of the list, or are not what it is narrowed to.
    """
    ticked: list[str] = st.session_state.get("ticked", [])
    with st.container(horizontal=True, vertical_alignment="center"):
        told = " Choose one to see why: by a click, or J, K and Enter." if found else ""
        if _QUOTES.search(st.session_state["q"] or ""):
            told += " Words in quotes are searched one by one."
        st.caption(f"{found:,} of {total:,} questions.{told}")
        if unseen > 0 and st.button(wording.counted(unseen, "new answer"), key="show-new", type="primary"):
            clear()
        if len(ticked) > 1:
            if st.button(f"Compare the {len(ticked)} ticked", type="primary", key="compare-ticked"):
                compared = opening.oldest_first(ticked[:MOST_COMPARED], state.settings())
                state.go("compare", compare=compared)
            if st.button("Make a set of them", key="set-of-ticked"):
                state.go("sets")
        elif ticked:
            st.caption("Tick another to compare the two.")


def files() -> list[exports.File]:
    """Return everything that was found, notes and tags too."""
    with opening.journal_of(state.settings()) as journal:
        if journal is None or "q" not in st.session_state:
            return []
        asked = searched(journal, conditions(st.session_state.get("sorted") or SORTS[0]))
        found = count(journal, asked)
        rows = rows_found(journal, asked, found, 0, found)
    table = exports.as_csv(
        [{**dataclasses.asdict(row), "milliseconds": round(row.milliseconds, 1)} for row in rows]
    )
    only = "" if st.session_state["only"] == "All" else st.session_state["only"]
    name = "-".join(["questions", *re.findall(r"\w+", f"{only} {asked['search']}".lower())])
    return [
        exports.File(f"The {wording.counted(len(rows), 'question')} found, CSV", table, f"{name[:80]}.csv")
    ]


def table(
    traces: list[TraceRow],
    sort: str,
    words: Sequence[str],
    found_at: Mapping[str, str],
    *,
    is_live: bool,
    has_pages: bool,
) -> None:
    """Draw the rows, and open the chosen one, at what has the searched words."""

    def tick(name: str, is_ticked: bool) -> None:
        others = [one for one in st.session_state.get("ticked", []) if one != name]
        st.session_state["ticked"] = [*others, *([name] if is_ticked else [])]

    def sort_by(column: str, ascending: bool) -> None:
        st.session_state["sorted"] = f"{'-' if ascending else ''}{column}"
        first_page()

    since = st.session_state["live-since"] if is_live else None
    grid.draw(
        "traces",
        COLUMNS if traces else (),
        trace_rows(traces, cards.zone(), since, found_at),
        label="The recorded questions. J and K walk, a click or Enter opens one.",
        walks=True,
        below=106 if has_pages else 56,
        on_choose=lambda name: st.session_state.update(opens=name),
        ticks=st.session_state.get("ticked", []),
        on_tick=tick,
        sort=(sort.lstrip("-"), sort.startswith("-")),
        on_sort=sort_by,
        opens=True,
        polls=is_live,
    )
    name = st.session_state.pop("opens", None)
    if name is not None:
        # What stands in the question or a note narrows no candidates.
        is_inside = any(one in found_at.get(name, "") for one in ("passage", "candidate", _ELSEWHERE))
        state.open_page(name, **({"find": " ".join(words)} if is_inside and holds(name, words) else {}))


def holds(name: str, words: Sequence[str]) -> bool:
    """Return whether a candidate of an answer has all searched words."""
    with suppress(ConfigError):
        return bool(rows_like(state.rows_of(Opened(name, state.open_named(name))), search=" ".join(words)))
    return False


def trace_rows(
    traces: Iterable[TraceRow],
    zone: tzinfo,
    since: datetime | None = None,
    found_at: Mapping[str, str] | None = None,
) -> list[grid.GridRow]:
    """Return one row for each recorded question, in the order given.

    Args:
        traces: The questions.
        zone: Where the viewer is.
        since: What was asked later is marked as new.
        found_at: Where searched words are, by the id of an answer.
    """
    rows: list[grid.GridRow] = []
    for trace in traces:
        question = one_line(trace.query) or WITHOUT_WORDS
        is_new = since is not None and trace.time > since
        cells = {
            "time": wording.time(trace.time, zone),
            "question": [("new ", True), (question, False)] if is_new else question,
            "found": (found_at or {}).get(trace.id, ""),
            "status": str(trace.status),
            "kept": wording.number(trace.kept),
            "candidates": wording.number(trace.candidates),
            "cut": wording.number(trace.cut) if trace.cut else "",
            "duplicates": wording.number(trace.duplicates) if trace.duplicates else "",
            "tokens": wording.number(trace.tokens),
            "budget": wording.number(trace.budget),
            "milliseconds": wording.number(trace.milliseconds),
            "warnings": wording.number(trace.warnings) if trace.warnings else "",
            "note": wording.noted(trace.tags, trace.note),
        }
        rows.append({"id": trace.id, "label": one_line(trace.query, 60), "cells": cells})
    return rows


def bring() -> None:
    """Draw the samples and the place to drop a file."""
    cards.samples()
    file = st.file_uploader("Open a JSON trace (context.to_dict())", type="json", max_upload_size=64)
    if file is None:
        # Whoever comes back may drop the same file again.
        st.session_state.pop("uploaded", None)
        return
    data = file.getvalue()
    name = opening.upload_name(data)
    if st.session_state.get("uploaded") != name:
        with cards.guard("Save one with json.dump(context.to_dict(), file) and drop that file here."):
            context = opening.read_trace(data)
            st.session_state["uploaded"] = name
            state.add(name, context)
