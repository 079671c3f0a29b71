"""The other sections of the Explain page: the budget, duplicates, the final text, exports."""

from __future__ import annotations

import json
from html import escape

import streamlit as st

from inspector import cards, controls, explaining, exports, grid, marking, opening, state
from inspector.choosing import one_of
from inspector.figures.budget_usage import shared_tokens
from inspector.figures.fates import funnel
from inspector.figures.pieces import Piece, duplicate_groups, pieces, token_view
from inspector.figures.redacted import redacted_bundle
from inspector.palette import fate_of
from inspector.spending_bar import budget_bar, group_bars
from inspector.state import Opened
from inspector.tables import MISS_COLUMNS, miss_rows, option_of, places
from langchain_context_engine.models.types import Reason, Verdict
from langchain_context_engine.text.words import query_terms
from langchain_context_engine.trace.explain import Row

__all__ = ["budget", "duplicates", "export", "funnel_told", "text"]

VIEWS = ("By passage", "As given", "Token by token")
"""How the final text can be drawn."""

_MOST_PAIRS = 30
_LONGEST_TOKENS = 20_000


def budget(opened: Opened, rows: list[Row]) -> None:
    """Draw where the budget went."""
    context = opened.context
    st.html(budget_bar(context))
    told = "Frame is what the template adds around the passages; left over is room that nothing fitted."
    if shared := shared_tokens(context):
        told += f" Joined, the passages take {shared:,} tokens less than counted one by one, as here."
    st.caption(told)
    st.html(group_bars(context))
    st.caption(funnel_told(opened))
    misses = miss_rows(rows, places(context.candidates))
    if misses:
        st.subheader("Nearest to getting in")
        grid.draw(
            "misses", MISS_COLUMNS, misses, label="What lacked room, best ranked first. A row leads to it.",
            height=200, on_choose=look_at, opens=True,
        )  # fmt: skip


def funnel_told(opened: Opened) -> str:
    """Return the way from collected to packed in one line."""
    steps = []
    for step in funnel(opened.context):
        fell = ", ".join(
            f"{count:,} {fate_of(Verdict.DROPPED, reason).removeprefix('out · ')}"
            + ("s" if reason is Reason.DUPLICATE and count > 1 else "")
            for reason, count in step.fell.items()
        )
        steps.append(f"{step.count:,} {step.stage}" + (f" (− {fell})" if fell else ""))
    return " → ".join(steps)


def duplicates(opened: Opened) -> None:
    """Draw each survivor with the texts it stands for, side by side."""
    groups = duplicate_groups(opened.context)
    threshold = opened.context.settings.get("dedupe_threshold")
    alike = (
        f"texts at least {threshold:g} % alike are"
        if isinstance(threshold, (int, float))
        else "only equal texts are"
    )
    st.caption(f"Of repeated texts the best ranked stays; {alike} one. Only what differs is shown.")
    if not groups:
        st.text("No candidate repeats another.")
    # What is the same to the letter, each with all its copies, is one thing to look at.
    shown = [(group, each) for group in groups for each in [*([None] if group.copies else []), *group.pairs]]
    for group, duplicate in shown[:_MOST_PAIRS]:
        fate = "in the context" if group.is_kept else "ranked better, but left out too"
        told = " · ".join(filter(None, (fate, duplicate.how if duplicate else "the same to the letter")))
        st.html(f'<div class="ce-panel"><p>{escape(told)}</p></div>')
        if duplicate is None:
            explaining.copies(opened.context, group.key, [each.key for each in group.copies])
        else:
            explaining.pair(opened.context, group.key, duplicate.key)
    if len(shown) > _MOST_PAIRS:
        st.caption(f"{_MOST_PAIRS} of {len(shown)}; the others: choose a duplicate among the candidates.")


def text(opened: Opened) -> None:
    """Draw the final text: its passages beside what leads to their candidates, as one, or token by token."""
    context = opened.context
    shown = one_of("textview", VIEWS, "View")
    if shown == VIEWS[0] and context.text:
        for number, piece in enumerate(pieces(context)):
            passage(number, piece, query_terms(context.request.query))
        st.caption(f"{context.tokens:,} of {context.budget:,} tokens. A number leads to its candidate.")
    elif shown == VIEWS[2]:
        with cards.guard("The text is shown as given instead."):
            st.code(token_view(context, _LONGEST_TOKENS), language=None, wrap_lines=True)
            st.caption(f"{context.tokens:,} tokens; a bar stands at each beginning.")
            if len(context.text) > _LONGEST_TOKENS:
                st.caption(f"The first {_LONGEST_TOKENS:,} of {len(context.text):,} characters.")
    else:
        st.code(context.text or "(empty)", language=None, wrap_lines=True)
        st.caption(f"{context.tokens:,} of {context.budget:,} tokens.")
    with cards.guard():
        answered(opened)


def answered(opened: Opened) -> None:
    """Draw what a model made of the text, where the journal has it: what it cites, and what it never used."""
    answer = opening.answer_to(opened.name, state.settings())
    if answer is None:
        return
    markers = {key: marker for marker, key in opened.context.citations.items()}
    told = [", ".join(markers.get(key, key[1]) for key in keys) for keys in (answer.cited, answer.unused)]
    st.subheader("What the model answered")
    st.code(answer.text, language=None, wrap_lines=True)
    st.text(f"It cites {told[0] or 'nothing'}; it was given and never used {told[1] or 'nothing else'}.")


def passage(number: int, piece: Piece, terms: list[str]) -> None:
    """Draw a piece of the text, beside the button that leads to where it comes from."""
    if not piece.text.strip():
        return
    left, right = st.columns([1, 11])
    if piece.key is not None:
        left.button(
            controls.plain(piece.citation or "source"),
            key=f"cite-{number}-{option_of(piece.key)}",
            on_click=look_at,
            args=(option_of(piece.key),),
            help=controls.plain(option_of(piece.key)),
            width="stretch",
        )
    right.html(marking.box(marking.asked(piece.text.strip("\n"), terms)))


def look_at(name: str) -> None:
    """Go to a candidate's explanation."""
    state.put("candidate", name)
    state.put("section", "Candidates")


def export(opened: Opened, rows: list[Row]) -> None:
    """Draw what can be taken away."""
    context = opened.context
    where = places(context.candidates)
    table = exports.rows_for_export(rows, where)
    st.text("The whole trace, its table, or an account to paste into an issue.")
    with st.container(horizontal=True):
        controls.download("Candidates as CSV", exports.as_csv(table), "candidates.csv", "text/csv")
        trace = json.dumps(context.to_dict(), ensure_ascii=False).encode()
        controls.download("Trace as JSON", trace, "trace.json", "application/json")
        account = exports.as_markdown(context, rows, where).encode()
        controls.download("Account as Markdown", account, "context.md", "text/markdown")
        controls.download("Text alone", context.text.encode(), "context.txt", "text/plain")
    st.text("For a bug report: every figure and fate, without a text, a name or a value of your records.")
    bundle = redacted_bundle(context, state.rows_of(opened))
    controls.download("Redacted bundle", bundle, "redacted.json", "application/json")
