"""What one session knows: which trace is open, what it opened itself, what was computed. Never shared.

Everything lives in Streamlit's session state, so two people's sessions share nothing; nothing is cached
for the process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import streamlit as st

from inspector import opening
from inspector.marking import whole_tokens
from inspector.opening import Settings
from langchain_context_engine import ConfigError, Context, Journal
from langchain_context_engine.models.types import Key, Ranked
from langchain_context_engine.search.store_overview import open_client
from langchain_context_engine.trace.explain import Row, rows
from langchain_context_engine.trace.replay import ranking, replay_ranked

T = TypeVar("T")
_REMEMBERED = 300
_OPENED = 12
_LOGGED = 60
LONGEST_SEARCH = 200
BOUND: Mapping[str, Any] = {"bind": "query-params", "persist_state": "session"}
"""What a widget is given whose value stands in the address, and is kept for the page's return."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The trace that is looked at, by its name in the address."""

    name: str
    context: Context


def settings() -> Settings:
    """Return what the inspector was started with."""
    return Settings.from_environment()


@contextmanager
def writing() -> Iterator[Journal]:
    """Open the journal to be written to.

    Raises:
        ConfigError: There is none, or it cannot be written.
    """
    with opening.journal_of(settings(), read_only=False) as journal:
        if journal is None:
            raise ConfigError(f"there is no journal {settings().journal or ''}")
        yield journal


def go(page: str, **address: Any) -> None:
    """Go to a page by its name, with what its address then says."""
    st.switch_page(st.session_state["pages"][page], query_params=address)


def follow_address(*, names: bool) -> None:
    """Take the trace that the address names, and where `names` write the chosen one into it.

    The address wins where a person changed it; otherwise the session does, since a change of page
    clears the address.
    """
    session = st.session_state
    asked = st.query_params.get("trace")
    if asked and asked != session.get("written"):
        look_at(asked)
    if "trace" not in session and settings().trace is not None:
        session["trace"] = opening.FILE
    name = session["written"] = session.get("trace")
    if session.get("drawn") != name:
        session["drawn"] = name
        for key in ("candidate", "reading", "side"):
            session.pop(key, None)
            session.pop(f"log-{key}", None)
        if "find" in session:
            session["find"] = st.query_params.get("find", "")
    if names and name and asked != name:
        st.query_params["trace"] = name


def one_of(key: str, options: Sequence[str], label: str, **given: Any) -> str:
    """Draw a choice of a few, the first where neither the address nor the session says another."""
    chosen = st.segmented_control(
        label, options, default=options[0], key=key, required=True, label_visibility="collapsed",
        **BOUND, **given,
    )  # fmt: skip
    # An address with an empty value clears it.
    return str(chosen or options[0])


def whether(key: str, label: str, told: str | None = None, *, value: bool = False, **given: Any) -> bool:
    """Draw a switch and return whether it is on; `told` is what it says on hover."""
    return bool(st.toggle(label, value, key=key, help=told, **BOUND, **given))


def search_field(key: str, label: str, shown: str, **given: Any) -> str:
    """Draw a field that is searched by while it is written in, and return its words."""
    st.text_input(label, key=key, max_chars=LONGEST_SEARCH, live="400ms", placeholder=shown, **BOUND, **given)
    return (st.session_state[key] or "").strip()


def picked(key: str, options: Collection[str]) -> str:
    """Return which of some rows is chosen, by the address or a table; the first where none is."""
    session, first = st.session_state, next(iter(options))
    asked = st.query_params.get(key)
    # A browser that is a moment behind still has an address that we wrote: it must not take a choice back.
    if asked in options and asked not in session.get(f"log-{key}", ()):
        session[key] = asked
    # Who chose nothing looks at the first, also when another becomes it: then nothing is written. What is
    # written while a knob turns would put the address back to where the knob was.
    chosen = session[key] if session.get(key) in options else first
    if chosen != first:
        # Noted first: a run can be ended by a press between the two, and the address would seem a person's.
        session[f"log-{key}"] = [*session.get(f"log-{key}", ()), chosen][-_LOGGED:]
        if asked != chosen:
            st.query_params[key] = chosen
    elif asked:
        del st.query_params[key]
    return str(chosen)


def look_at(name: str) -> None:
    """Look at a trace from now on; what was chosen and searched in another is forgotten when it is drawn."""
    if st.session_state.get("trace") != name:
        st.session_state["looked-before"] = st.session_state.get("trace")
        st.session_state["trace"] = name


def open_page(name: str, page: str = "explain", **address: Any) -> None:
    """Look at a trace on a page."""
    look_at(name)
    st.session_state["written"] = name
    go(page, trace=name, **address)


def add(name: str, context: Context, **address: Any) -> None:
    """Keep a trace that this session opened or asked, and look at it; the oldest makes way."""
    opened = st.session_state.setdefault("opened", {})
    opened.pop(name, None)
    opened[name] = context
    while len(opened) > _OPENED:
        del opened[next(iter(opened))]
    open_page(name, **address)


def known_names() -> list[str]:
    """Return the traces of this session, newest first, and the samples."""
    own = list(reversed(st.session_state.get("opened", {})))
    started = [opening.FILE] if settings().trace is not None else []
    return [*own, *started, *opening.sample_names()]


def open_named(name: str) -> Context:
    """Return a trace by its name.

    Raises:
        ConfigError: There is none, or it cannot be read.
    """
    own = st.session_state.get("opened", {})
    if name in own:
        context: Context = own[name]
        return context
    return remember(("trace", name), lambda: opening.open_trace(name, settings()))


def current() -> Opened | None:
    """Return the trace that is looked at, or None where none was chosen.

    Raises:
        ConfigError: The address names one that cannot be opened.
    """
    name = st.session_state.get("trace")
    return Opened(name, open_named(name)) if name else None


def ranked_of(opened: Opened) -> tuple[tuple[Ranked, ...], str]:
    """Return a trace's ranking and "", or why it has none: a part was a function, or it is damaged."""

    def compute() -> tuple[tuple[Ranked, ...], str]:
        try:
            return ranking(opened.context), ""
        except ConfigError as error:
            return (), str(error)

    return remember(("ranking", opened.name), compute)


def rows_of(opened: Opened) -> list[Row]:
    """Return every candidate's row, ranked ones first; without a ranking only passages have scores."""
    return remember(("rows", opened.name), lambda: rows(opened.context, ranked_of(opened)[0]))


def wholes_of(opened: Opened) -> dict[Key, int]:
    """Return the tokens of the whole of what stands, or lacked room, in part."""
    return remember(("wholes", opened.name), lambda: whole_tokens(opened.context))


def replayed(opened: Opened, changed: dict[str, Any]) -> tuple[Context, list[Row]]:
    """Return what the trace gives under changed settings, by the library's own replay, with its rows.

    Without a change it is the recorded one, unless this version of the engine builds it otherwise.

    Raises:
        ConfigError: A setting is wrong, or a part of the trace was a function.
    """

    def compute() -> tuple[Context, list[Row]]:
        context, ranked = replay_ranked(opened.context, **changed)
        return context, rows(context, ranked)

    return remember(("replay", opened.name, repr(sorted(changed.items()))), compute)


def unreplayable(opened: Opened) -> str:
    """Return why nothing can be tried on a trace (a part was a function, it is damaged), else ""."""
    try:
        replayed(opened, {})
    except ConfigError as error:
        return str(error)
    return ""


def client(place: str) -> Any:
    """Return this session's client of a store; a copy of a folder is taken once.

    Raises:
        ConfigError: There is none, or a server does not answer in time.
    """
    clients: dict[str, Any] = st.session_state.setdefault("clients", {})
    if place not in clients:
        clients[place] = open_client(place)
    return clients[place]


def remember(key: Hashable, compute: Callable[[], T]) -> T:
    """Return what was computed for a key in this session, computing it once; the oldest makes way."""
    memory = st.session_state.setdefault("remembered", {})
    memory[key] = memory.pop(key) if key in memory else compute()
    while len(memory) > _REMEMBERED:
        del memory[next(iter(memory))]
    value: T = memory[key]
    return value
