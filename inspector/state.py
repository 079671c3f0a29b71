"""What one session knows: which trace is open, what it opened itself, what was computed. Never shared.

Everything lives in Streamlit's session state, so two people's sessions share nothing; nothing is cached
for the process.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import streamlit as st

from inspector import opening
from inspector.opening import Settings
from langchain_context_engine import ConfigError, Context
from langchain_context_engine.models.types import Ranked
from langchain_context_engine.search.stores import open_client
from langchain_context_engine.trace.explain import Row, rows
from langchain_context_engine.trace.replay import ranking, replay_ranked

T = TypeVar("T")
_REMEMBERED = 300
_OPENED = 12
_LOGGED = 60


@dataclass(frozen=True, slots=True)
class Opened:
    """The trace that is looked at, by its name in the address."""

    name: str
    context: Context


def settings() -> Settings:
    """Return what the inspector was started with."""
    return Settings.from_environment()


def go(page: str, **address: Any) -> None:
    """Go to a page by its name, with what its address then says."""
    st.switch_page(st.session_state["pages"][page], query_params=address)


def follow_address(page: str) -> None:
    """Take the trace that the address names, and write the chosen one into it.

    The address wins where a person changed it; otherwise the session does, since a change of page
    clears the address.
    """
    session = st.session_state
    if session.get("page-drawn") != page:
        session["page-drawn"], session["seeded"] = page, set()
    asked = st.query_params.get("trace")
    if asked and asked != session.get("written"):
        look_at(asked)
    if "trace" not in session and settings().trace is not None:
        session["trace"] = opening.FILE
    name = session["written"] = session.get("trace")
    if name and asked != name:
        st.query_params["trace"] = name


def seed(
    key: str, default: Any, is_known: Callable[[str], bool], *, read: Callable[[str], Any] = str
) -> None:
    """Give a widget the value that a person's address has for it, else what it had, else the default.

    The one way from the address to what is drawn. Call it before the widget, and `publish` after. Streamlit's
    own binding would not let a button of ours change the address of a page.

    Args:
        key: Of the widget, and in the address.
        default: Where neither the address nor this session says anything.
        is_known: Whether a value of the address can be; any other is dropped.
        read: From the address to the widget's value.
    """
    session = st.session_state
    asked = st.query_params.get_all(key)
    # A browser that is a moment behind still has an address that we wrote: it must not turn a slider back.
    is_theirs = bool(asked) and asked[0] not in session.get(f"log-{key}", ())
    if is_theirs and is_known(asked[0]):
        session[key] = read(asked[0])
    elif key not in session["seeded"] and f"kept-{key}" in session:
        # Of a widget that another page did not draw, Streamlit may have what it once began with.
        session[key] = session[f"kept-{key}"]
    session["seeded"].add(key)
    if session.get(key) is None:
        session[key] = session.get(f"kept-{key}", default)


def publish(key: str, value: Any, default: Any = None) -> None:
    """Write a widget's value into the address, and keep it for the page's return; a default is left out."""
    st.session_state[f"kept-{key}"] = value
    write_to_address(key, [] if value is None or value == default else [str(value)])


def write_to_address(key: str, values: list[str]) -> None:
    """Write what is chosen for a key into the address."""
    session = st.session_state
    # Noted first: a run can be ended by a press between the two, and the address would seem a person's.
    if values:
        session[f"log-{key}"] = [*session.get(f"log-{key}", ()), values[0]][-_LOGGED:]
    session[f"written-{key}"] = values
    if values and st.query_params.get_all(key) != values:
        st.query_params[key] = values
    elif not values and key in st.query_params:
        del st.query_params[key]


def take_from_address(key: str) -> list[str]:
    """Return what a person's address says for a key, each value once; nothing where we wrote it."""
    asked = st.query_params.get_all(key)
    is_ours = asked == st.session_state.get(f"written-{key}")
    return [] if is_ours else list(dict.fromkeys(asked))


def keep(key: str) -> None:
    """Keep what a widget was turned to, at once: who is on another page by then has turned it all the same.

    The widget's own value is left alone. Written here, Streamlit sends it back to the browser, where it would
    take the place of a key that was pressed meanwhile.
    """
    st.session_state[f"kept-{key}"] = st.session_state[key]


def put(key: str, value: Any) -> None:
    """Give a widget a value from now on, whether it was drawn on this page yet or not."""
    st.session_state[key] = st.session_state[f"kept-{key}"] = value


def forget(*keys: str) -> None:
    """Let widgets have their defaults again, or what an address says."""
    for key in keys:
        for name in (key, f"kept-{key}", f"written-{key}", f"log-{key}"):
            st.session_state.pop(name, None)


def one_of(
    key: str,
    options: Sequence[str],
    label: str,
    *,
    says: Callable[[str], str] = str,
    on_change: Callable[[], None] | None = None,
) -> str:
    """Draw a choice of a few and return what is chosen: what the address says, else what was, else the first.

    Args:
        key: Of the widget, and in the address.
        options: From left to right.
        label: What it is, for those who hear it.
        says: Option → what is drawn for it.
        on_change: Called when another is chosen.
    """
    seed(key, options[0], options.__contains__)
    chosen = st.segmented_control(
        label, options, format_func=says, key=key, required=True, on_change=on_change,
        label_visibility="collapsed",
    )  # fmt: skip
    publish(key, chosen, options[0])
    return str(chosen)


def whether(key: str, label: str, told: str | None = None) -> bool:
    """Draw a switch, off at first, and return whether it is on; `told` is what it says on hover."""
    seed(key, False, {"True"}.__contains__, read=lambda _: True)
    is_on = st.toggle(label, key=key, help=told)
    publish(key, is_on, False)
    return bool(is_on)


def picked(key: str, options: Sequence[str]) -> str:
    """Return which of some options is chosen, by the address or a table; the first where none is."""
    seed(key, options[0], options.__contains__)
    if st.session_state[key] not in options:
        st.session_state[key] = options[0]
    publish(key, st.session_state[key], options[0])
    return str(st.session_state[key])


def look_at(name: str) -> None:
    """Look at a trace from now on; what was chosen and searched in another is forgotten."""
    if st.session_state.get("trace") != name:
        forget("candidate", "find", "reading", "moved", *st.session_state.pop("knobs", ()))
        st.session_state["looked-before"] = st.session_state.get("trace")
        st.session_state["trace"] = name


def open_page(name: str, page: str = "explain", **address: Any) -> None:
    """Look at a trace on a page."""
    look_at(name)
    st.session_state["written"] = name
    go(page, trace=name, **address)


def add(name: str, context: Context) -> None:
    """Keep a trace that this session opened or asked, and look at it; the oldest makes way."""
    opened = st.session_state.setdefault("opened", {})
    opened.pop(name, None)
    opened[name] = context
    while len(opened) > _OPENED:
        del opened[next(iter(opened))]
    open_page(name)


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
