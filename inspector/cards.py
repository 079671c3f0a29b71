"""Pieces that several pages draw: the head of a page, errors, what to do where there is nothing yet.

A text that came from a record, a question or an error is drawn by `st.text`, `st.code`, the grid or
`marking`, which show it as it is; Streamlit's Markdown would fetch pictures from it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import tzinfo
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from inspector import opening, state, wording
from inspector.exports import File
from inspector.knobs import deviations
from inspector.palette import FATE_COLOURS, GREY
from inspector.state import Opened
from inspector.wording import WITHOUT_WORDS, one_line
from langchain_context_engine import ContextEngineError
from langchain_context_engine.journal import TraceRow
from langchain_context_engine.journal.traces import status_of
from langchain_context_engine.models.redact import safe_message

RECORD = """\
engine = ContextEngine(sources=[...], journal="context.db")
engine.build("your question", scope={...})
# then:  context-engine inspect --journal context.db"""

ADVICE = "Go back, or choose another trace on the Traces page."
STATUSES = {
    "ok": "Nothing failed, and what was found seems to hold the question.",
    "unsure": "What was found may hold only a part of the question; the warning says why.",
    "doubtful": "What was found may not hold the question; the warning says why.",
    "partial": "A source failed or was late; the others answered.",
    "empty": "Nothing was found, and nothing failed.",
    "failed": "Every source failed.",
}
"""What each status means."""

LONGEST_NOTE = 2000
_LONGEST_HEADING = 180
_LONGEST_FACT = 90
_MOST_WARNINGS = 3
_MOST_OWN = 6
"""So many of what is not default stand in the line: a design has twenty, and would push the table down."""

_log = logging.getLogger("langchain_context_engine.inspector")


@contextmanager
def guard(advice: str = ADVICE, tell: Callable[[str, str], None] | None = None) -> Iterator[None]:
    """Draw what goes wrong inside as a card: what happened, and what to do; or tell it otherwise."""
    try:
        yield
    except ContextEngineError as error:
        (tell or error_card)(str(error), advice)
    except Exception as error:  # noqa: BLE001 - any error is told as a card, never as a stack
        _log.exception("the inspector failed")
        (tell or error_card)(safe_message(error), "This is a mistake of the inspector. " + advice)


def kept_guard(advice: str = "Nothing was changed. Try again.") -> AbstractContextManager[None]:
    """Keep what goes wrong inside a callback, to be drawn as a card on top of the page that comes next."""
    return guard(advice, lambda what, how: st.session_state.update(alert=(what, how)))


def part(draw: Callable[..., None], *given: Any, every: str | None = None) -> None:
    """Draw a part of a page that is drawn again by itself, when something in it is used or every so often.

    What then goes wrong in an action or in drawing is told in it: the page around it is not drawn again.
    """

    def drawn() -> None:
        with guard():
            alerts()
            draw(*given)

    st.fragment(drawn, run_every=every)()


def alerts() -> None:
    """Draw what went wrong in the last action, once."""
    alert = st.session_state.pop("alert", None)
    if alert is not None:
        error_card(*alert)


def error_card(what: str, advice: str) -> None:
    """Draw an error: a heading, the message as plain text, and what to do."""
    with st.container(border=True):
        st.html('<strong class="ce-wrong" role="alert">This did not work</strong>')
        st.text(what)
        st.caption(advice)


def zone() -> tzinfo:
    """Return the viewer's time zone."""
    return wording.zone_of(st.context.timezone)


def heading(text: str) -> None:
    """Draw the one heading of a page."""
    shown = one_line(text, _LONGEST_HEADING)
    st.html(f'<h1 class="ce-h1" title="{escape(text[:2000])}">{escape(shown)}</h1>')
    if len(" ".join(text.split())) > len(shown):
        with st.expander(f"The whole question, {len(text):,} characters"):
            st.code(text, language=None, wrap_lines=True)


def needs_trace(page: str) -> Opened | None:
    """Draw the head of the trace that is looked at and return it; where there is none, say how to get one."""
    opened = state.current()
    if opened is not None:
        trace_head(opened)
        return opened
    heading(page)
    st.subheader("No trace is open yet")
    st.text("Open one on the Traces page, or look around in a sample.")
    samples()
    how_to_record()
    return None


def how_to_record() -> None:
    """Draw the three lines that record an application's questions."""
    st.caption("Record the questions of your own application in three lines:")
    st.code(RECORD, language="python", wrap_lines=True)


def samples() -> None:
    """Draw the buttons that load a sample, each with what it shows."""
    for name in opening.sample_names():
        title = name.removeprefix("sample-").replace("-", " ")
        button, shows = st.columns([3, 5], vertical_alignment="center")
        if button.button(f"Load the sample: {title}", key=f"load-{name}", width="stretch"):
            state.open_page(name)
        shows.caption(opening.SAMPLES.get(title, ""))


def export(files: Callable[[], list[File]]) -> None:
    """Draw what can be taken away of a page, made once it is asked for.

    Streamlit also takes a function for a file, but names it anew in each run: a click while the page is drawn
    again would ask for a file that is gone. Bytes are named by what they hold, so such a click finds them.
    """
    box = st.popover("Export", key="export", on_change="rerun", type="tertiary")
    if box.open:
        with box, guard():
            found = files()
            if not found:
                st.text("There is nothing to take away here yet.")
            for file in found:
                st.download_button(file.label, file.data, file.name, on_click="ignore", width="stretch")


def table(rows: Iterable[Mapping[str, Any]]) -> None:
    """Draw a table that is only read: nothing in it is cut off, and the Tab key passes it."""
    told = ({name: f"{one:,}" if type(one) is int else one for name, one in row.items()} for row in rows)
    frame = pd.DataFrame(told).dropna(axis="columns", how="all")
    with pd.option_context("display.max_colwidth", None):
        html = frame.to_html(
            index=False, border=0, justify="left", classes="ce-groups ce-read", na_rep=wording.UNKNOWN,
            float_format="{:,g}".format,
        )  # fmt: skip
    st.html(f'<div class="ce-wide">{html}</div>')


def fate_html(fate: str, more: str = "") -> str:
    """Return a fate beside its colour."""
    colour = FATE_COLOURS.get(fate, GREY)
    return f'<span class="ce-fate"><i style="background:{colour}"></i>{escape(fate)}{escape(more)}</span>'


def trace_head(opened: Opened) -> None:
    """Draw the question, and in one line how it ended and what is not default; more of both is folded."""
    context, row = opened.context, opening.row_of(opened.name, state.settings())
    with st.container(horizontal=True, vertical_alignment="center"):
        heading(context.request.query.strip() or WITHOUT_WORDS)
        if row is not None:
            note(row)
    final, status = context.final_decisions(), status_of(context)
    cut = sum(passage.is_truncated for passage in context.passages)
    share = wording.share(wording.used(context.tokens, context.budget))
    took = context.timings.get("total", sum(context.timings.values()))
    sure = "" if context.confidence is None else f", confidence {context.confidence:.2f}"
    waited = sorted(context.source_timings.items(), key=lambda item: -item[1])
    noted = wording.noted(row.tags, row.note) if row is not None else ""
    own = [_fact(f"{name}: {value}", "ce-own") for name, value in deviations(context).items()]
    facts = [
        f'<span title="{STATUSES.get(status, "")}"><strong>{escape(status)}</strong>{sure}</span>',
        _fact(f"{context.tokens:,} / {context.budget:,} tokens ({share})"),
        _fact(
            f"{len(context.passages):,} of {len(final):,} candidates in"
            + (f", {cut:,} in part" if cut else "")
        ),
        _fact(wording.counted(sum(one.is_duplicate for one in final.values()), "duplicate")),
        _fact(f"{took:,.0f} ms" + (f", {waited[0][1]:,.0f} for {waited[0][0]}" if waited else "")),
        *([_fact(noted)] if noted else []),
        *own[:_MOST_OWN],
    ]
    asked, told = context.request.now, {}
    told["asked"] = wording.time(asked, zone()) if asked else ""
    told["milliseconds"] = ", ".join(f"{name} {number:,.0f}" for name, number in context.timings.items())
    told["waited for"] = ", ".join(f"{name} {number:,.0f}" for name, number in waited)
    told["searched"] = "; ".join(f"{source}: {way}" for source, way in context.searched.items())
    more = "".join(
        (*own[_MOST_OWN:], *(f"<span>{escape(f'{name}: {one}')}</span>" for name, one in told.items() if one))
    )
    others = f" and {wording.counted(len(own) - _MOST_OWN, 'other setting')}" if len(own) > _MOST_OWN else ""
    name = f'<span>trace <code class="ce-id">{escape(opened.name)}</code></span>'
    st.html(
        f'<div class="ce-facts">{"".join(facts)}<details><summary>trace, timings{others}</summary>'
        f'<div class="ce-facts">{name}{more}</div></details></div>'
    )
    if context.warnings:
        # Each has its line: a second one behind a click is not read.
        lines = [f"<li>{escape(wording.sentence(warning))}</li>" for warning in context.warnings]
        shown, more = "".join(lines[:_MOST_WARNINGS]), "".join(lines[_MOST_WARNINGS:])
        count = len(lines) - _MOST_WARNINGS
        folded = f"<details><summary>{count:,} warnings more</summary>{more}</details>" if more else ""
        st.html(f'<ul class="ce-panel ce-warnings">{shown}{folded}</ul>')


def note(row: TraceRow) -> None:
    """Draw where a note and tags are written on a recorded answer; what is written is kept at once."""
    text, tags = f"note-{row.id}", f"tags-{row.id}"

    def keep() -> None:
        with kept_guard("Check that the journal can be written."), state.writing() as journal:
            journal.note(row.id, st.session_state[text], st.session_state[tags])

    box = st.popover("Note", type="tertiary", key="note", on_change="rerun")
    if box.open:
        with box:
            st.text_area("Note", row.note, key=text, on_change=keep, max_chars=LONGEST_NOTE)
            known = sorted({*opening.known_tags(state.settings()), *row.tags})
            st.multiselect(
                "Tags", known, row.tags, key=tags, on_change=keep, accept_new_options=True,
                placeholder="choose, or write a new one",
            )  # fmt: skip


def _fact(told: str, name: str = "") -> str:
    """Return a fact, the whole of a long one on hover."""
    shown, own = escape(one_line(told, _LONGEST_FACT)), f' class="{name}"' if name else ""
    return f'<span{own} title="{escape(told[:2000])}">{shown}</span>'
