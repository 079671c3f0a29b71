"""Pieces that several pages draw: the head of a page, errors, what to do where there is nothing yet.

A text that came from a record, a question or an error is drawn by `st.text`, `st.code`, the grid or
`marking`, which show it as it is; Streamlit's Markdown would fetch pictures from it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import tzinfo
from html import escape
from typing import Any

import streamlit as st

from inspector import opening, state, wording
from inspector.figures.budget_usage import used
from inspector.figures.offered import searched_told
from inspector.figures.settings_diff import deviations
from inspector.state import Opened
from inspector.tables import WITHOUT_WORDS, one_line
from langchain_context_engine import Context, ContextEngineError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.trace.explain import final_decisions

__all__ = [
    "alerts",
    "error_card",
    "guard",
    "heading",
    "kept_guard",
    "needs_trace",
    "no_trace",
    "part",
    "trace_head",
    "zone",
]

RECORD = """\
engine = ContextEngine(sources=[...], journal="context.db")
engine.build("your question", scope={...})
# then:  context-engine inspect --journal context.db"""

ADVICE = "Go back, or choose another trace on the Traces page."
STATUSES = {
    "ok": "Nothing failed, and what was found may well hold the question.",
    "doubtful": "What was found may not hold the question; the warning says why.",
    "partial": "A source failed; the others answered.",
    "empty": "Nothing was found, and nothing failed.",
    "failed": "Every source failed.",
}
"""What each status means."""

_LONGEST_HEADING = 180
_LONGEST_FACT = 60
_MOST_OWN = 6
"""So many of what is not default stand in the line: a design has twenty, and would push the table down."""

_log = logging.getLogger("langchain_context_engine.inspector")


@contextmanager
def guard(advice: str = ADVICE) -> Iterator[None]:
    """Draw what goes wrong inside as a card: what happened, and what to do."""
    try:
        yield
    except ContextEngineError as error:
        error_card(str(error), advice)
    except Exception as error:  # noqa: BLE001 - any error is told as a card, never as a stack
        _log.exception("a page failed")
        error_card(safe_message(error), "This is a mistake of the inspector. " + advice)


@contextmanager
def kept_guard(advice: str = "Nothing was changed. Try again.") -> Iterator[None]:
    """Keep what goes wrong inside a callback, to be drawn as a card on top of the page that comes next."""
    try:
        yield
    except ContextEngineError as error:
        st.session_state["alert"] = (str(error), advice)
    except Exception as error:  # noqa: BLE001 - any error is told as a card, never as a stack
        _log.exception("an action failed")
        st.session_state["alert"] = (safe_message(error), "This is a mistake of the inspector. " + advice)


def part(draw: Callable[..., None], *given: Any, every: str | None = None) -> None:
    """Draw a part of a page that is drawn again by itself, when something in it is used or every so often.

    What then goes wrong in an action or in drawing is told in it: the page around it is not drawn again.

    Args:
        draw: Draws it.
        *given: What it is drawn from.
        every: How often by itself, such as "2s"; None: only when it is used.
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
    if opened is None:
        heading(page)
        no_trace()
    else:
        trace_head(opened)
    return opened


def no_trace() -> None:
    """Say how to get a trace where none is open."""
    st.subheader("No trace is open yet")
    st.text("Open one on the Traces page, or look around in a sample.")
    samples()
    how_to_record()


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
            state.choose(name)
            st.switch_page("views/explain.py", query_params={"trace": name})
        shows.caption(opening.SAMPLES.get(title, ""))


def trace_head(opened: Opened) -> None:
    """Draw the question, and in one line its figures, what is not default, and the trace's id to copy."""
    context = opened.context
    heading(context.request.query.strip() or WITHOUT_WORDS)
    facts = "".join(f"<span>{escape(fact)}</span>" for fact in _facts(context))
    status = str(context.status)
    facts += f'<span title="{STATUSES.get(status, "")}">{escape(status)}</span>'
    own = [_own(name, value) for name, value in deviations(context).items()]
    told, rest = "".join(own[:_MOST_OWN]), own[_MOST_OWN:]
    if searched := searched_told(context):
        told += (
            f'<span title="{escape(f"Searched: {searched}"[:2000])}">searched: '
            f"{escape(one_line(searched, _LONGEST_FACT))}</span>"
        )
    told += f'<span>trace <code class="ce-id" title="Click to select">{escape(opened.name)}</code></span>'
    if rest:
        told += f"<details><summary>{wording.counted(len(rest), 'other setting')} not default</summary>"
        told += f'<div class="ce-facts">{"".join(rest)}</div></details>'
    st.html(f'<div class="ce-facts">{facts}{told}</div>')
    if context.warnings:
        with st.expander(
            wording.counted(len(context.warnings), "warning"),
            # They are the whole answer then.
            expanded=status == "failed",
        ):
            for warning in context.warnings:
                st.text(f"! {warning}")


def _own(name: str, value: str) -> str:
    """Return what is not default, its whole value on hover."""
    return (
        f'<span class="ce-own" title="{escape(f"{name}: {value}"[:2000])}">{escape(name)}: '
        f"{escape(one_line(value, _LONGEST_FACT))}</span>"
    )


def _facts(context: Context) -> list[str]:
    final = final_decisions(context)
    duplicates = sum(d.is_duplicate for d in final.values())
    cut = sum(passage.is_truncated for passage in context.passages)
    took = context.timings.get("total", sum(context.timings.values()))
    asked, share = context.request.now, wording.share(used(context.tokens, context.budget))
    return [
        *([wording.time(asked, zone())] if asked else []),
        f"{context.tokens:,} / {context.budget:,} tokens ({share})",
        f"{len(context.passages):,} of {len(final):,} candidates in" + (f", {cut:,} cut" if cut else ""),
        wording.counted(duplicates, "duplicate"),
        f"{took:,.0f} ms",
    ]
