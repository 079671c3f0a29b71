"""Traces: the recorded questions; open one, compare some, follow them live, bring a saved one."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Any

import streamlit as st

from inspector import cards, grid, opening, state
from inspector.choosing import one_of, whether
from inspector.tables import TRACE_COLUMNS, trace_rows
from langchain_context_engine.journal import TraceRow

PAGE_SIZE = 50
EVERY = "2s"
# What the list can be narrowed to → conditions of the journal.
KINDS: dict[str, dict[str, Any]] = {
    "all": {},
    "nothing kept": {"is_bare": True},
    "doubtful": {"status": "doubtful"},
    "partial": {"status": "partial"},
    "failed": {"status": "failed"},
    "cut": {"is_cut": True},
    "slow": {"is_slow": True},
}

NEWEST = ("time", False)
LONGEST_SEARCH = 200
MOST_COMPARED = 6


def show() -> None:
    """Draw the page."""
    cards.heading("Traces")
    settings = state.settings()
    with opening.journal_of(settings) as journal:
        total = journal.count() if journal is not None else 0
        lost = journal.lost() if journal is not None else 0
    if lost:
        st.warning(f"Not every question is here: {lost:,} could not be kept.")
    if total:
        recorded(total)
    elif settings.journal is not None:
        st.subheader("Nothing is recorded yet")
        st.text(f"Waiting for {settings.journal}: run your application and ask it something.")
        st.button("Look again")
    bring(has_journal=total > 0)


def recorded(total: int) -> None:
    """Draw the filters and the table of a journal."""
    search, first, last, live = st.columns([50, 17, 17, 16], vertical_alignment="bottom")
    state.seed("q", "", lambda text: len(text) <= LONGEST_SEARCH)
    search.text_input(
        "Search",
        key="q",
        max_chars=LONGEST_SEARCH,
        placeholder="words of the question, in any order, or a source",
        live="300ms",
        on_change=first_page,
    )
    for column, key, label in ((first, "since", "From"), (last, "until", "To")):
        state.seed(key, None, _is_day, read=date.fromisoformat)
        column.date_input(label, value=None, key=key, format="YYYY-MM-DD", on_change=first_page)
        state.publish(key, st.session_state[key])
    with live:
        is_live = whether("live", "Live tail", f"Looks for new questions every {EVERY}.")
    one_of("only", list(KINDS), "Only", says=str.capitalize, on_change=first_page)
    state.publish("q", st.session_state["q"], "")
    cards.part(listing, total, every=EVERY if is_live else None)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def first_page() -> None:
    """Look at the first page: what is searched anew is another list."""
    st.session_state["page"] = 1


def conditions() -> dict[str, Any]:
    """Return what the journal is asked for."""
    session, zone = st.session_state, cards.zone()
    since, until = session.get("since"), session.get("until")
    column, ascending = session.setdefault("sorted", NEWEST)
    return {
        **KINDS[session["only"]],
        "search": session["q"] or "",
        "since": datetime.combine(since, time.min, zone) if since else None,
        "until": datetime.combine(until, time.max, zone) if until else None,
        "sort": column,
        "ascending": ascending,
    }


def listing(total: int) -> None:
    """Draw one page of the table; choosing a row opens it."""
    columns = {column["name"] for column in TRACE_COLUMNS if column.get("sorts")}
    state.seed("sorted", NEWEST, lambda text: text.lstrip("-") in columns, read=_read_sort)
    sort = st.session_state["sorted"]
    with cards.guard(), opening.journal_of(state.settings()) as journal:
        if journal is None:
            st.text(f"The journal {state.settings().journal} is not there any more.")
            return
        found = journal.count(**conditions())
        pages = max(1, -(-found // PAGE_SIZE))
        state.seed("page", 1, str.isdecimal, read=int)
        page = st.session_state["page"] = max(1, min(st.session_state["page"], pages))
        traces = journal.traces(PAGE_SIZE, (page - 1) * PAGE_SIZE, **conditions())
        state.publish("page", page, 1)
        state.write_to_address("sorted", [] if sort == NEWEST else [f"{'-' if sort[1] else ''}{sort[0]}"])
        st.session_state["kept-sorted"] = sort
        head(found, total)
        if not traces:
            st.text("No recorded question is like that. Clear the search, the days or the filter.")
            return
        table(traces, sort, has_pages=pages > 1)
        if pages > 1:
            st.pagination(pages, key="page")


def _read_sort(text: str) -> tuple[str, bool]:
    return text.lstrip("-"), text.startswith("-")


def head(found: int, total: int) -> None:
    """Draw how many there are, and what can be done with the ticked ones."""
    ticked: list[str] = st.session_state.get("ticked", [])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{found:,} of {total:,} questions. Choose one to see why its context is as it is.")
        if len(ticked) > 1:
            if st.button(f"Compare the {len(ticked)} ticked", type="primary", key="compare-ticked"):
                state.forget("compare")
                st.switch_page("views/compare.py", query_params={"compare": ticked[:MOST_COMPARED]})
            if st.button("Make a set of them", key="set-of-ticked"):
                st.switch_page("views/sets.py")
        elif ticked:
            st.caption("Tick another to compare the two.")


def table(traces: list[TraceRow], sort: tuple[str, bool], *, has_pages: bool) -> None:
    """Draw the rows, and open the chosen one."""

    def tick(name: str, is_ticked: bool) -> None:
        others = [one for one in st.session_state.get("ticked", []) if one != name]
        st.session_state["ticked"] = [*others, *([name] if is_ticked else [])]

    def sort_by(column: str, ascending: bool) -> None:
        st.session_state["sorted"] = (column, ascending)
        first_page()

    grid.draw(
        "traces",
        TRACE_COLUMNS,
        trace_rows(traces, cards.zone()),
        label="The recorded questions. A click or Enter opens one.",
        below=106 if has_pages else 56,
        on_choose=lambda name: st.session_state.update(opens=name),
        ticks=st.session_state.get("ticked", []),
        on_tick=tick,
        sort=sort,
        on_sort=sort_by,
        opens=True,
    )
    name = st.session_state.pop("opens", None)
    if name is not None:
        state.choose(name)
        st.switch_page("views/explain.py", query_params={"trace": name})


def bring(*, has_journal: bool) -> None:
    """Draw the other ways to a trace: a file, a sample."""
    if has_journal:
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


def files() -> None:
    """Draw the samples and the place to drop a file."""
    cards.samples()
    file = st.file_uploader("Open a JSON trace (context.to_dict())", type="json", max_upload_size=64)
    if file is None:
        # Whoever comes back may drop the same file again.
        st.session_state.pop("uploaded", None)
    else:
        data = file.getvalue()
        name = opening.upload_name(data)
        if st.session_state.get("uploaded") != name:
            with cards.guard("Save one with json.dump(context.to_dict(), file) and drop that file here."):
                state.add(name, opening.read_trace(data))
                st.session_state["uploaded"] = name
                st.switch_page("views/explain.py", query_params={"trace": name})


show()
