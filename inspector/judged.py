"""The parts of the Judge page over all judged questions: figures, regressions, weights, exchange."""

from __future__ import annotations

import math
from contextlib import suppress
from html import escape
from typing import Any

import streamlit as st

from inspector import cards, controls, grading, grid, opening, state, wording
from inspector.figures.settings import as_json
from inspector.judging import QUALITY_COLUMNS, quality_rows, tally
from inspector.state import Opened
from inspector.suggesting import suggestion
from langchain_context_engine import ConfigError
from langchain_context_engine.evaluation.judgments import agreement, judgments_as_lines, read_judgments
from langchain_context_engine.evaluation.quality import Quality, means, quality
from langchain_context_engine.journal import Judgment
from langchain_context_engine.models.types import Key

__all__ = ["agreement_told", "exchange", "figures_line", "over_all", "traces_of"]

_MOST = 200
_MEANINGS = {
    "ndcg": ("nDCG@10", "How well the first ten are ordered: 1 is the best order of all judged."),
    "precision": ("Precision@10", "Share of the first ten that answer well (grade 2 or 3)."),
    "recall": ("Evidence", "Share of the well-answering texts that stands in the context."),
    "utilisation": ("Budget used", "Share of the budget that is used."),
    "coverage": ("First ten judged", "How far the other figures can be trusted."),
}


def figures_line(now: Quality, before: Quality | None = None, *more: str) -> None:
    """Draw the figures in one line, each with its meaning on hover, and by how much it changed."""
    told = [f"<span>{escape(one)}</span>" for one in more]
    for name, (label, meaning) in _MEANINGS.items():
        value = getattr(now, name)
        shown = wording.ratio(value) if name in {"ndcg", "precision"} else wording.share(value)
        change = getattr(now, name) - getattr(before, name) if before is not None else math.nan
        changed = wording.signed(round(change, 3)) if not math.isnan(change) else ""
        told.append(
            f'<span title="{escape(meaning)}">{label} <strong>{shown}</strong>'
            f"{f' ({changed})' if changed else ''}</span>"
        )
    st.html(f'<p class="ce-facts ce-figures">{"".join(told)}</p>')


def agreement_told(judgments: list[Judgment]) -> str:
    """Return how far the raters agree, in words; "" where nobody graded what another did."""
    found = agreement(judgments)
    if not found.pairs:
        return ""
    kappa = "" if math.isnan(found.kappa) else f", kappa {found.kappa:.2f}".replace("-", "−")
    return (
        f"Raters agree on {wording.share(found.same)} of {wording.counted(found.pairs, 'grade')} that two "
        f"gave, within one on {wording.share(found.near)}{kappa}."
    )


def over_all() -> None:
    """Draw the figures of every judged question, as recorded and as last tried, the worst first."""
    judgments = grading.all_grades()
    if not judgments:
        st.subheader("Nothing is judged yet")
        st.text("Open a trace, grade some of its candidates from 0 to 3, and come back.")
        return
    traces = traces_of(list(judgments)[:_MOST])
    tried = last_tried()
    if tried:
        st.text("Compared with what you tried last on the Tune page:")
        st.code(as_json(tried), language="json")
    else:
        st.caption("Try settings on the Tune page to see here which questions they make better or worse.")
    found = replayed_with(tried, traces, judgments)
    for told, count in (
        (wording.WITHOUT_TRACE, len(judgments) - len(traces)),
        (wording.NOT_REPLAYED, len(traces) - len(found)),
    ):
        if count:
            st.caption(f"{told}: {wording.counted(count, 'judged question')}.")
    if found:
        before, after = means(q for _, q, _ in found), means(q for _, _, q in found)
        figures_line(after, before if tried else None, wording.counted(len(found), "judged question"))
        told = agreement_told(grading.everyone())
        if told:
            st.caption(told)
        table(found, traces, is_tried=bool(tried))
    suggestion({query: traces[query] for query, _, _ in found}, judgments)


def replayed_with(
    tried: dict[str, Any], traces: dict[str, Opened], judgments: dict[str, dict[Key, int]]
) -> list[tuple[str, Quality, Quality]]:
    """Return each question with its figures as recorded and as tried, if it can be replayed.

    Raises:
        ConfigError: None could be.
    """
    found: list[tuple[str, Quality, Quality]] = []
    failed: ConfigError | None = None
    with st.spinner("Replaying the judged questions…"):
        for query, opened in traces.items():
            try:
                both = [quality(*state.replayed(opened, some), judgments[query]) for some in ({}, tried)]
            except ConfigError as error:
                failed = failed or error
            else:
                found.append((query, both[0], both[1]))
    if failed is not None and not found:
        raise failed
    return found


def table(found: list[tuple[str, Quality, Quality]], traces: dict[str, Opened], *, is_tried: bool) -> None:
    """Draw one row a question, the worst first; choosing one opens it to be graded."""

    def take(query: str) -> None:
        state.choose(traces[query].name)
        st.session_state["judging"] = "Grade this question"

    told = f"{tally(found)}; the worse ones first, then by nDCG@10." if is_tried else "The worst first."
    st.caption(f"{told} Choose a row to see and grade its candidates.")
    columns = [c for c in QUALITY_COLUMNS if is_tried or c["name"] not in {"change", "verdict"}]
    grid.draw(
        "judged",
        columns,
        quality_rows(found),
        label="Figures of every judged question, the worst first.",
        height=480,
        on_choose=take,
        opens=True,
    )


def traces_of(queries: list[str]) -> dict[str, Opened]:
    """Return the latest trace of each question, matched exactly: the journal's, else the session's."""
    found: dict[str, Opened] = {}
    with opening.journal_of(state.settings()) as journal:
        for query in queries:
            for trace in journal.traces(1, query=query) if journal is not None else ():
                # One that cannot be read costs its own question.
                with suppress(ConfigError):
                    found[query] = Opened(trace.id, state.open_named(trace.id))
    wanted = set(queries)
    for name in state.known_names():
        with suppress(ConfigError):
            opened = Opened(name, state.open_named(name))
            if opened.context.request.query in wanted:
                found.setdefault(opened.context.request.query, opened)
    return found


def last_tried() -> dict[str, Any]:
    """Return the settings tried last on the trace that is looked at; nothing where none were."""
    tries = st.session_state.get("tries", {}).get(st.session_state.get("trace"), ())
    return dict(tries[-1].changed) if tries else {}


def exchange() -> None:
    """Draw the ways in and out for judgments."""
    judgments = grading.everyone()
    questions = len({judgment.query for judgment in judgments})
    where = "in the journal" if state.settings().journal is not None else "in this session alone"
    told = f"{wording.counted(len(judgments), 'judgment')} of {wording.counted(questions, 'question')}"
    st.text(f"{told}, kept {where}.")
    given = [(j.query, j.key, j.rater, j.grade) for j in judgments]
    lines = judgments_as_lines(given)
    controls.download(
        "Export as JSON Lines", lines, "judgments.jsonl", "application/jsonl", disabled=not judgments
    )
    file = st.file_uploader(
        'Import JSON Lines: {"query", "source", "id", "grade", "rater"}', type=["jsonl", "json"]
    )
    if file is not None and st.button("Take these judgments in", key="take-in"):
        with cards.guard("What was not taken in is kept here and said to be unsaved."):
            taken = grading.take_in(read_judgments(file.getvalue()))
            if not taken:
                raise ConfigError("the file holds no judgment")
            st.success(f"{taken} judgments were taken in.")
