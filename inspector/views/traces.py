"""Traces: the recorded questions; open one, compare some, follow them live, bring a saved one."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple
from urllib.parse import unquote

import streamlit as st

from inspector import cards, exports, grid, opening, state, wording
from inspector.state import one_of, whether
from inspector.wording import WITHOUT_WORDS, one_line
from langchain_context_engine import ConfigError, Context, Journal
from langchain_context_engine.journal import TraceRow
from langchain_context_engine.journal.traces import folded

PAGE_SIZE = 50
EVERY = "2s"
# What the list can be narrowed to → conditions of the journal.
KINDS: dict[str, dict[str, Any]] = {
    "All": {},
    "Nothing kept": {"is_bare": True},
    "Doubtful": {"status": "doubtful"},
    "Partial": {"status": "partial"},
    "Failed": {"status": "failed"},
    "Cut": {"is_cut": True},
    "Slow": {"is_slow": True},
    "Noted": {"is_noted": True},
}
DAYS = ("since", "until")
FILTERS = ("q", *DAYS, "only", "sorted")
"""What a saved view keeps of the list."""
COLUMNS: Sequence[grid.Column] = (
    {"name": "tick", "label": "Compare", "kind": "tick", "width": 66, "narrow": True},
    {"name": "time", "label": "Asked", "width": 158, "sorts": True},
    {"name": "question", "label": "Question", "sorts": True, "narrow": True},
    {"name": "found", "label": "Found in", "width": 112},
    {"name": "status", "label": "Status", "width": 72, "sorts": True, "narrow": True},
    {"name": "kept", "label": "Passages", "kind": "number", "width": 86, "sorts": True},
    {"name": "candidates", "label": "Candidates", "kind": "number", "width": 94, "sorts": True},
    {"name": "cut", "label": "Cut", "kind": "number", "width": 48, "sorts": True},
    {"name": "duplicates", "label": "Duplicates", "kind": "number", "width": 90, "sorts": True},
    {"name": "tokens", "label": "Tokens", "kind": "number", "width": 74, "sorts": True},
    {"name": "used", "label": "Budget used", "kind": "share", "width": 112, "sorts": True},
    {"name": "milliseconds", "label": "ms", "kind": "number", "width": 60, "sorts": True},
    {"name": "warnings", "label": "Warnings", "kind": "number", "width": 84, "sorts": True},
    {"name": "note", "label": "Note", "width": 170},
)
SORTS = [f"{sign}{column['name']}" for column in COLUMNS if column.get("sorts") for sign in ("", "-")]
"""By what the list can be sorted: falling, and with a sign before it rising; the newest come first."""
MOST_COMPARED = 6
MOST_ORDERED = 10_000
"""Found answers up to which questions that have all words come first: so many are read in 0.15 s."""

MOST_READ = 200
"""Answers that are read whole for a phrase or an id: they take a second, once."""

_ELSEWHERE = "text, id or place"
_PHRASE = re.compile(r"[\"“”„«»]([^\"“”„«»]+)[\"“”„«»]")
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
            files()
        return
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.subheader("Look around in a sample")
        st.text("Questions to a small fictional company, answered by the real engine.")
        files()
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
    state.search_field(
        "q", "Search", "Words or a “phrase” of the question, a passage or a note; an id, a source",
        on_change=first_page, label_visibility="collapsed",
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        one_of("only", list(KINDS), "Only", on_change=first_page)
        for key, label in zip(DAYS, ("From", "To"), strict=True):
            st.date_input(
                label,
                value=None,
                key=key,
                format="YYYY-MM-DD",
                on_change=first_page,
                width=150,
                **state.BOUND,
            )
        views()
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
            keep(name, {key: str(session[key]) for key in FILTERS if session.get(key)})

    def keep(name: str, filters: Mapping[str, str]) -> None:
        with cards.kept_guard("Give the view a name, and check that the journal can be written."):
            with state.writing() as journal:
                journal.keep_view(name, filters)
            session["view"] = name if filters else None

    chosen = st.selectbox(
        "Saved views", list(kept), index=None, key="view", on_change=take, accept_new_options=True, width=210,
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


def listing(is_live: bool) -> None:
    """Draw one page of the table; choosing a row opens it."""
    sort = state.picked("sorted", SORTS)
    with cards.guard(), opening.journal_of(state.settings()) as journal:
        if journal is None:
            st.text(f"The journal {state.settings().journal} is not there any more.")
            return
        search, total = searched(journal, conditions(sort)), journal.count()
        found = search.count(journal)
        pages = max(1, -(-found // PAGE_SIZE))
        # Drawn below the table that it turns the pages of.
        place, below = st.container(), st.container()
        page = below.pagination(pages, key="page", **state.BOUND) if pages > 1 else 1
        traces = search.page(journal, PAGE_SIZE, (page - 1) * PAGE_SIZE)
        since = st.session_state["live-since"]
        shown = sum(trace.time > since for trace in traces)
        unseen = journal.count(since=since + timedelta(microseconds=1)) - shown if is_live else 0
    with place:
        head(found, total, search, unseen)
        if search.unread:
            were = "was" if search.unread == 1 else "were"
            told = f"{wording.counted(search.unread, 'other')} with these words {were} not read for it"
            st.caption(f"A phrase or an id was looked for in {wording.counted(MOST_READ, 'answer')}: {told}.")
        if traces or is_live:
            words = folded(search.asked["search"]).split()
            table(traces, sort, words, is_live=is_live, has_pages=pages > 1)
        if not traces:
            st.text("No recorded question is like that. Clear the search, the days or the filter.")


class Search(NamedTuple):
    """What was found: rows, or where nothing is searched or very much is found, what the journal is asked."""

    asked: Mapping[str, Any]
    rows: list[TraceRow] | None = None
    unread: int = 0

    def count(self, journal: Journal) -> int:
        """Return how many were found."""
        asked = {name: value for name, value in self.asked.items() if name not in {"sort", "ascending"}}
        return journal.count(**asked) if self.rows is None else len(self.rows)

    def page(self, journal: Journal, limit: int, offset: int) -> list[TraceRow]:
        """Return some of them."""
        found = self.rows
        return (
            journal.traces(limit, offset, **self.asked) if found is None else found[offset : offset + limit]
        )


def searched(journal: Journal, asked: Mapping[str, Any]) -> Search:
    """Search the journal for words, phrases in quotes, an answer's id, or a candidate's `source/id`."""
    search, rest = asked["search"].strip(), {name: one for name, one in asked.items() if name != "search"}
    if not search:
        return Search(asked)
    if opening.is_trace_name(search) and (own := journal.traces(1, **rest, id=search)):
        return Search(asked, own)
    words = {**rest, "search": _QUOTES.sub(" ", search)}
    if phrases := tuple(" ".join(folded(one).split()) for one in _PHRASE.findall(search)):
        rows = journal.traces(MOST_ORDERED, **words)
        return _read(journal, words, rows, phrases)
    if Search(words).count(journal) > MOST_ORDERED:
        return Search(words)
    rows = journal.traces(MOST_ORDERED, **words)
    if not rows and "/" in search:
        source, _, name = search.partition("/")
        words["search"] = f"{unquote(source)} {name}"
        return _read(journal, words, journal.traces(MOST_ORDERED, **words), (), (unquote(source), name))
    return Search(words, _questions_first(rows, words))


def _read(
    journal: Journal,
    asked: Mapping[str, Any],
    rows: Sequence[TraceRow],
    phrases: tuple[str, ...],
    key: tuple[str, str] | None = None,
) -> Search:
    """Return the rows with every phrase, in the question, the note or the whole answer, or the candidate."""
    # What is found in an answer once stays: it does not change.
    known: dict[str, bool] = state.remember(("read", phrases, key), dict)
    found, unread, read = [], Search(asked).count(journal) - len(rows), 0
    for row in rows:
        told = " ".join(folded(f"{row.query}\n{row.note}").split())
        is_found = key is None and all(phrase in told for phrase in phrases)
        if not is_found and read >= MOST_READ:
            unread += 1
            continue
        read += not is_found
        if not is_found and row.id not in known:
            # One that is damaged costs itself.
            with suppress(ConfigError):
                context = journal.trace(row.id)
                texts = [*_texts(context), *(answer.text for answer in journal.answers(row.id))]
                whole = [" ".join(folded(text).split()) for text in texts]
                has_key = key is None or any(one.key == key for one in context.candidates)
                known[row.id] = has_key and all(any(p in text for text in whole) for p in phrases)
        if is_found or known.get(row.id):
            found.append(row)
    return Search(asked, _questions_first(found, asked), unread)


def _texts(context: Context) -> Iterator[str]:
    """Yield the texts in which a phrase is found, those of an answer's parts too."""
    yield from (context.request.query, *context.warnings, *(passage.text for passage in context.passages))
    for part in context.parts:
        if part.context is not None:
            yield from _texts(part.context)


def _questions_first(rows: list[TraceRow], asked: Mapping[str, Any]) -> list[TraceRow]:
    """Return rows with those first whose question has all words, unless they are sorted otherwise."""
    words = folded(asked["search"]).split()
    is_sorted = (asked["sort"], asked["ascending"]) != ("time", False)
    return rows if is_sorted else sorted(rows, key=lambda row: found_in(row, words) != "question")


def found_in(row: TraceRow, words: Sequence[str]) -> str:
    """Return in which fields of a row searched words are; what is in none is in a text, a place or an id."""
    if words == [row.id]:
        return "id"
    fields = {
        "question": folded(row.query),
        "note": folded(f"{row.note} {' '.join(row.tags)}"),
        "source": folded(" ".join((*row.source_timings, *row.offered))),
    }
    own = (next((name for name, text in fields.items() if word in text), _ELSEWHERE) for word in words)
    return ", ".join(dict.fromkeys(own))


def show_new() -> None:
    """Show the newest of all, whatever the list was narrowed to or sorted by."""
    st.session_state.update({"q": "", "only": "All", "sorted": SORTS[0], "view": None, **dict.fromkeys(DAYS)})
    first_page()


def head(found: int, total: int, search: Search, unseen: int) -> None:
    """Draw how many there are, what can be done with the ticked ones, and how those found are taken away.

    So many new ones stand on another page of the list, or are not what it is narrowed to.
    """
    ticked: list[str] = st.session_state.get("ticked", [])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{found:,} of {total:,} questions. Choose one to see why: by a click, or J, K and Enter.")
        if unseen > 0:
            told = wording.counted(unseen, "new answer")
            if st.button(told, key="show-new", type="primary"):
                # What the list is narrowed by stands outside of what is drawn by itself.
                st.session_state["shows-new"] = True
                st.rerun()
        if len(ticked) > 1:
            if st.button(f"Compare the {len(ticked)} ticked", type="primary", key="compare-ticked"):
                compared = opening.oldest_first(ticked[:MOST_COMPARED], state.settings())
                state.go("compare", compare=compared)
            if st.button("Make a set of them", key="set-of-ticked"):
                state.go("sets")
        elif ticked:
            st.caption("Tick another to compare the two.")
        box = st.popover("Save", key="save-list", on_change="rerun")
        if box.open:
            with box:
                cards.download(f"All {found:,} as CSV", saved(search, found), "questions.csv", "text/csv")


def saved(search: Search, found: int) -> bytes:
    """Return everything that was found as CSV, notes and tags too."""
    with opening.journal_of(state.settings()) as journal:
        rows = search.page(journal, found, 0) if journal is not None else []
    return exports.as_csv([dataclasses.asdict(row) for row in rows])


def table(traces: list[TraceRow], sort: str, words: Sequence[str], *, is_live: bool, has_pages: bool) -> None:
    """Draw the rows, and open the chosen one."""

    def tick(name: str, is_ticked: bool) -> None:
        others = [one for one in st.session_state.get("ticked", []) if one != name]
        st.session_state["ticked"] = [*others, *([name] if is_ticked else [])]

    def sort_by(column: str, ascending: bool) -> None:
        st.session_state["sorted"] = f"{'-' if ascending else ''}{column}"
        first_page()

    since = st.session_state["live-since"] if is_live else None
    grid.draw(
        "traces",
        COLUMNS,
        trace_rows(traces, cards.zone(), since, words),
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
        state.open_page(name)


def trace_rows(
    traces: Iterable[TraceRow], zone: tzinfo, since: datetime | None = None, words: Sequence[str] = ()
) -> list[grid.GridRow]:
    """Return one row for each recorded question, in the order given.

    Args:
        traces: The questions.
        zone: Where the viewer is.
        since: What was asked later is marked as new.
        words: What was searched, folded.
    """
    rows: list[grid.GridRow] = []
    for trace in traces:
        share = wording.used(trace.tokens, trace.budget)
        question = one_line(trace.query) or WITHOUT_WORDS
        is_new = since is not None and trace.time > since
        cells = {
            "time": wording.time(trace.time, zone),
            "question": [("new ", True), (question, False)] if is_new else question,
            "found": found_in(trace, words),
            "status": str(trace.status),
            "kept": wording.number(trace.kept),
            "candidates": wording.number(trace.candidates),
            "cut": wording.number(trace.cut) if trace.cut else "",
            "duplicates": wording.number(trace.duplicates) if trace.duplicates else "",
            "tokens": wording.number(trace.tokens),
            "used": None if share is None else (min(1.0, share), wording.share(share)),
            "milliseconds": wording.number(trace.milliseconds),
            "warnings": wording.number(trace.warnings) if trace.warnings else "",
            "note": wording.noted(trace.tags, trace.note),
        }
        rows.append({"id": trace.id, "label": one_line(trace.query, 60), "cells": cells})
    return rows


def files() -> None:
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
