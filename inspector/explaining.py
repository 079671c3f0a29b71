"""The panel of the Explain page: one candidate, why it is in or out, and what would admit it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from inspector import cards, controls, marking, state
from inspector.figures.fates import known_by
from inspector.figures.pieces import cut_pieces, cut_tokens
from inspector.figures.settings_diff import narrowing
from inspector.palette import FATE_COLOURS, LEFT_OVER, fate_of
from inspector.state import Opened
from inspector.tables import score_tree
from langchain_context_engine import Context
from langchain_context_engine.models.types import Candidate, Key, Verdict
from langchain_context_engine.text.differences import LONGEST, differences
from langchain_context_engine.text.words import query_terms
from langchain_context_engine.trace.explain import Row, explain, final_decisions
from langchain_context_engine.trace.what_if import Change, what_would_it_take

__all__ = ["candidate", "candidate_of", "not_offered", "pair", "record_html"]

_TEXT_HEIGHT = 210
_PAIR_HEIGHT = 150
_MOST_CHANGES = 4


def candidate(opened: Opened, row: Row) -> None:
    """Draw the candidate that is looked at: its fate, its reason, its pair, what would admit it, its text."""
    context = opened.context
    st.html(_head(context, row))
    changes = st.container()
    repeats = final_decisions(context)[row.key].repeats
    if repeats is not None:
        pair(context, repeats, row.key)
    # As high as a large screen has room for, unless its pair stands above.
    text(context, row, "ce-low" if repeats is not None else "ce-tall")
    # Where there is room for it: what is out has its what-if, what repeats another has its pair.
    score(row, is_open=row.verdict is Verdict.KEPT and repeats is None)
    decisions(opened, row)
    metadata(context, row)
    # Last, so that all else is there at once.
    if row.verdict is Verdict.DROPPED:
        with changes:
            wanted(opened, row)


def candidate_of(context: Context, key: Key) -> Candidate:
    """Return the candidate of a key; one that fell before ranking has its key alone."""
    found = next((c for c in context.candidates if c.key == key), None)
    return found or Candidate(id=key[1], source=key[0])


def record_html(context: Context, row: Row) -> str:
    """Return how a candidate is known: its marker, where it is from, its source and title."""
    place = known_by(candidate_of(context, row.key))
    parts = [row.citation, place, "" if row.title in place else row.title, row.key[0]]
    # Each by itself: one that is written from right to left turns none of the others round.
    return " · ".join(f"<bdi>{escape(part)}</bdi>" for part in dict.fromkeys(parts) if part)


def _head(context: Context, row: Row) -> str:
    fate = fate_of(row.verdict, row.reason)
    colour = FATE_COLOURS.get(fate, LEFT_OVER)
    reason = escape(row.sentence[:1].upper() + row.sentence[1:])
    rank = f" · rank {row.place}" if row.place else ""
    return (
        '<div class="ce-panel"><p class="ce-fate">'
        f'<i style="background:{colour}"></i>{escape(fate)}{rank}</p>'
        f'<p class="ce-where">{record_html(context, row)}</p><p class="ce-reason">{reason}.</p></div>'
    )


def copies(context: Context, winner: Key, repeating: Sequence[Key]) -> None:
    """Draw a text once, beside the places of all that repeat it to the letter."""
    kept = candidate_of(context, winner)
    places = "<br>".join(
        f"<bdi>{escape(' · '.join(dict.fromkeys((known_by(one), one.source))))}</bdi>"
        for one in (candidate_of(context, key) for key in repeating)
    )
    text = marking.beginning(kept.text, query_terms(context.request.query))
    stands = _stands(context, winner)
    name = " · ".join(dict.fromkeys((known_by(kept), kept.source)))
    st.html(
        f'<div class="ce-pair ce-panel"><div><strong>{stands}</strong> <bdi>{escape(name)}</bdi>'
        f"{marking.box(text, height=_PAIR_HEIGHT)}</div>"
        f"<div><strong>Repeated by {len(repeating)}:</strong><p>{places}</p></div></div>"
    )


def _stands(context: Context, winner: Key) -> str:
    return "Stands:" if any(p.key == winner for p in context.passages) else "Ranked better:"


def pair(context: Context, winner: Key, duplicate: Key) -> None:
    """Draw a duplicate beside what it repeats: only what differs, with the words around it."""
    kept, dropped = candidate_of(context, winner), candidate_of(context, duplicate)
    found, is_all = differences(kept.text, dropped.text)
    left, right = marking.sides(found) if found else ("", "")
    if not found:
        left = right = "<i>the same to the letter</i>"
    names = [" · ".join(dict.fromkeys((known_by(one), one.source))) for one in (kept, dropped)]
    if names[0] == names[1]:
        # Two notes without a title or a day: what tells them apart is their ids alone.
        names = [f"{name} · {one.id}" for name, one in zip(names, (kept, dropped), strict=True)]
    told = (_stands(context, winner), "Repeats it:")
    sides = "".join(
        f"<div><strong>{escape(label)}</strong> <bdi>{escape(name)}</bdi>"
        f"{marking.box(html, height=_PAIR_HEIGHT)}</div>"
        for label, name, html in zip(told, names, (left, right), strict=True)
    )
    st.html(f'<div class="ce-pair ce-panel">{sides}</div>')
    if not is_all:
        st.caption(f"Only {LONGEST:,} characters of each were compared, from where they begin to differ.")


def text(context: Context, row: Row, tall: str) -> None:
    """Draw a candidate's text, the question's words marked; of one that was cut, what stands and what not."""
    terms = query_terms(context.request.query)
    kept = next((p for p in context.passages if p.key == row.key), None)
    if kept is not None and kept.is_truncated and kept.spans:
        counted = cut_tokens(context, kept)
        shown = f"{counted[0]:,} of {counted[1]:,} tokens" if counted else "A part"
        st.caption(f"{shown} stand in the text; what is struck out does not.")
        st.html(marking.box(marking.cut(cut_pieces(kept), terms), name=tall))
        return
    if kept is not None and kept.is_truncated:
        st.caption("What was written in its place:")
        st.html(marking.box(marking.asked(kept.text, terms), height=_TEXT_HEIGHT))
        st.caption("The original:")
    st.html(marking.box(marking.beginning(row.text, terms) or "<i>no text</i>", name=tall))


def score(row: Row, *, is_open: bool) -> None:
    """Draw what a score is made of, as a tree, folded or open."""
    lines = score_tree(row)
    if lines:
        cells = "".join(
            f'<tr><td style="padding-left:{16 * depth}px">{"└ " if depth else ""}{escape(name)}</td>'
            f"<td>{escape(told)}</td></tr>"
            for depth, name, told in lines
        )
        with st.expander(f"Score {row.score or 0:.3f}", expanded=is_open):
            st.html(f'<table class="ce-tree">{cells}</table>')


def decisions(opened: Opened, row: Row) -> None:
    """Draw all that was decided about a candidate, in order, as `context-engine explain` prints it."""

    def told() -> str:
        return explain(opened.context, row.key)

    # Told when it is wanted: the ranking is worked out for it, which each step of J and K would wait for.
    box = st.expander("All its decisions", key="decisions", on_change="rerun")
    if not box.open:
        return
    with box:
        st.code(state.remember(("told", opened.name, row.key), told), language=None, wrap_lines=True)


def metadata(context: Context, row: Row) -> None:
    """Draw a record's own metadata, each value as it is."""
    record = candidate_of(context, row.key)
    facts = {
        "id": record.id,
        "kind": record.kind,
        "created": record.created_at,
        "offered by": ", ".join(record.provenance),
    }
    with st.expander("Metadata"):
        st.html(marking.pairs({**facts, **record.metadata}))


def wanted(opened: Opened, row: Row) -> None:
    """Draw what would admit a candidate that was left out, each change proved by a replay."""
    key = ("whatif", opened.name, row.key)
    with cards.guard("Try the Tune page."):
        with st.spinner("Replaying under other settings…"):
            changes = state.remember(key, lambda: what_would_it_take(opened.context, row.key))
        if not changes:
            st.caption(
                "No single change of a weight, the budget, a cap or a threshold was found to admit it."
            )
        for number, change in enumerate(changes[:_MOST_CHANGES]):
            _change(opened, number, change)
        if len(changes) > _MOST_CHANGES:
            st.caption(f"And {len(changes) - _MOST_CHANGES} other single changes.")


def _change(opened: Opened, number: int, change: Change) -> None:
    told, button = st.columns([76, 24], vertical_alignment="center", gap="small")
    smallest = " (the smallest that does)" if change.is_smallest else ""
    told.html(f'<div class="ce-panel ce-change"><p>In with {escape(change.sentence)}{smallest}.</p></div>')
    if button.button("Try in Tune", key=f"take-{number}-{change.setting}", type="tertiary"):
        controls.open_in_tune(opened.name, opened.context, change.settings)


def not_offered(context: Context) -> None:
    """Say that what was searched is no candidate at all, and what narrowed the question."""
    st.text("No candidate of this question is like that: no source offered it.")
    told = narrowing(context)
    if not told:
        st.caption("Nothing narrowed the question: no scope, filter, date or threshold.")
        return
    st.caption("What narrowed the question. Widening one of these needs a new question.")
    st.html(marking.pairs(told))
