"""Weights that the judgments suggest: tried on held-out questions, shown, and taken only by a click."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from inspector import cards, controls
from inspector.judging import weights_table
from inspector.state import Opened
from langchain_context_engine.evaluation.quality import Grades

if TYPE_CHECKING:
    from langchain_context_engine.evaluation.tune import Tuning

__all__ = ["suggestion"]


def suggestion(traces: Mapping[str, Opened], judgments: Mapping[str, Grades]) -> None:
    """Draw what the judged questions suggest, once it is asked for.

    Args:
        traces: Question → its trace.
        judgments: Question → grades.
    """
    from langchain_context_engine.evaluation.tune import MIN_QUERIES, tune

    st.subheader("Suggest weights")
    st.caption(
        f"Learned from your judgments and tried on questions held out. It takes {MIN_QUERIES} judged "
        "questions: fewer mislead."
    )
    # A suggestion is of these judgments; after another grade it is gone.
    key = {query: dict(grades) for query, grades in judgments.items()}
    with cards.guard("Judge on, and ask again."):
        if st.button("Suggest weights", key="suggest"):
            contexts = [opened.context for opened in traces.values()]
            with st.spinner("Learning on some questions, trying on the others…"):
                st.session_state["suggested"] = (key, tune(contexts, judgments))
        of, learned = st.session_state.get("suggested", (None, None))
        if learned is not None and of == key:
            show(learned, next(iter(traces.values()), None))


def show(learned: Tuning, opened: Opened | None) -> None:
    """Draw a suggestion: the verdict, before and after, and the way to take it."""
    if learned.is_worth_it:
        st.badge("worth it", color="green")
    else:
        st.badge("keep the present weights", color="gray")
    st.text(learned.reason[:1].upper() + learned.reason[1:] + ".")
    if learned.gain is None:
        return
    before, after, gain = st.columns(3, gap="small")
    before.metric(
        f"{learned.metric} with the present weights", f"{learned.before:.3f}", border=True, height="stretch"
    )
    after.metric(
        "With the suggested weights",
        f"{learned.after:.3f}",
        round(learned.gain.difference, 3),
        border=True,
        height="stretch",
    )
    gain.metric(
        "99 % interval of the gain",
        f"{learned.gain.low:+.3f} to {learned.gain.high:+.3f}",
        border=True,
        height="stretch",
    )
    table, code = st.columns(2, gap="medium")
    table.dataframe(pd.DataFrame(weights_table(learned)), hide_index=True)
    weights = {name: round(weight, 3) for name, weight in learned.learned.items()}
    code.code(f"ContextEngine(weights={weights!r}, ...)", language="python", wrap_lines=True)
    if opened is not None and code.button("Take these weights to Tune", key="take-weights"):
        controls.open_in_tune(opened.name, opened.context, {"weights": learned.learned})
