"""Pieces that several pages draw: the question, figures, errors, what to do where there is nothing yet.

A text that came from a record, a question or an error is drawn by `st.text`, `st.code` or a table, which
show it as it is; Streamlit's Markdown would fetch pictures from it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import streamlit as st

from inspector import opening, state
from inspector.palette import FATE_COLOURS
from inspector.state import Opened
from inspector.tables import figures
from langchain_context_engine import Context, ContextEngineError
from langchain_context_engine.values.redact import safe_message

__all__ = ["error_card", "fate_column", "guard", "needs_trace", "question", "strip", "table_height"]

RECORD = """\
engine = ContextEngine(sources=[...], journal="context.db")
engine.build("your question", scope={...})
# then:  context-engine inspect --journal context.db"""

_log = logging.getLogger("langchain_context_engine.inspector")


@contextmanager
def guard(advice: str = "Go back, or choose another trace on the Traces page.") -> Iterator[None]:
    """Draw what goes wrong inside as a card: what happened, and what to do."""
    try:
        yield
    except ContextEngineError as error:
        error_card(str(error), advice)
    except Exception as error:  # noqa: BLE001 - any error is told as a card, never as a stack
        _log.exception("a page failed")
        error_card(safe_message(error), "This is a mistake of the inspector. " + advice)


def error_card(what: str, advice: str) -> None:
    """Draw an error: a heading, the message as plain text, and what to do."""
    with st.container(border=True):
        st.badge("This did not work", color="red")
        st.text(what)
        st.caption(advice)


def needs_trace() -> Opened | None:
    """Return the trace that is looked at; where there is none, say how to get one and return None."""
    opened = state.current()
    if opened is None:
        st.subheader("No trace is open yet")
        st.text("Open one on the Traces page, or look around in a sample.")
        samples()
        how_to_record()
    return opened


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
            st.switch_page("views/explain.py")
        shows.caption(opening.SAMPLES.get(title, ""))


def question(context: Context) -> None:
    """Draw the question, and the warnings of its answer."""
    st.code(context.request.query or "(no question: asked by vector)", language=None, wrap_lines=True)
    if context.warnings:
        with st.expander(f"{len(context.warnings)} warnings", expanded=len(context.warnings) < 3):  # noqa: PLR2004
            for warning in context.warnings:
                st.text(f"! {warning}")


def strip(context: Context) -> None:
    """Draw the strip of figures."""
    shown = figures(context)
    for column, figure in zip(st.columns(len(shown), gap="small"), shown, strict=True):
        column.metric(figure.label, figure.value, help=figure.meaning, border=True)


def table_height(rows: int, most: int) -> int | Literal["content"]:
    """Return the height of a table: that of its rows, where it would not be more than so many pixels."""
    return "content" if 38 + 35 * rows <= most else most


def fate_column(label: str, width: int = 118) -> Any:
    """Return a table column that draws fates as coloured words."""
    return st.column_config.MultiselectColumn(
        label, options=list(FATE_COLOURS), color=list(FATE_COLOURS.values()), width=width
    )
