"""Compare: two or more traces, or settings tried on one, candidate by candidate."""

from __future__ import annotations

from html import escape
from typing import Literal

import streamlit as st

from inspector import cards, grid, marking, sides, state, wording
from inspector.aligning import NOT_OFFERED, aligned, aligned_columns, by_key, changed, settings_table
from inspector.choosing import whether
from inspector.comparing import told, told_moves
from inspector.palette import FATE_COLOURS, LEFT_OVER, fate_of
from inspector.tables import one_line, option_of, places
from langchain_context_engine import Context, diff
from langchain_context_engine.text.words import query_terms
from langchain_context_engine.trace.diff import Diff
from langchain_context_engine.trace.explain import Row

QUESTION: grid.Column = {"name": "question", "label": "Question", "width": 240}
AGAINST: grid.Column = {"name": "against", "label": "Against A", "width": 230}
TEXT_HEIGHT = 96
LINE_HEIGHT = 24
MOST_LINES = 24


def show() -> None:
    """Draw the page."""
    head = st.container()
    kept = sides.sides()
    labels = sides.offered(kept)
    st.session_state["compare"] = [name for name in kept if name in labels][: sides.MOST]
    chosen = st.multiselect(
        "Traces and tries",
        list(labels),
        format_func=lambda name: labels.get(name, name),
        max_selections=sides.MOST,
        select_all=False,
        key="compare",
        placeholder="choose two or more",
        label_visibility="collapsed",
    )
    st.session_state["compared"] = chosen
    state.write_to_address("compare", chosen)
    if len(chosen) < 2:  # noqa: PLR2004
        with head:
            cards.heading("Compare")
        st.text("Choose two or more: tick them on the Traces page, or choose them here.")
        return
    contexts: dict[str, Context] = {}
    columns: dict[str, list[Row]] = {}
    names = dict(zip("ABCDEF", chosen, strict=False))
    with cards.guard("Choose others."):
        for letter, name in names.items():
            contexts[letter], columns[letter] = sides.load(name)
    with head:
        questions = {context.request.query for context in contexts.values()}
        cards.heading(f"Compare: {questions.pop()}" if len(questions) == 1 else "Compare")
    if len(contexts) < len(names):
        return
    key(names, labels, contexts, columns)
    cards.part(candidates, names, contexts, columns)
    settings(contexts)
    texts(names, contexts)


def against(names: dict[str, str], contexts: dict[str, Context], letter: str) -> Diff:
    """Return the difference from the first context to another, worked out once."""
    found = ("diff", names["A"], names[letter])
    return state.remember(found, lambda: diff(contexts["A"], contexts[letter]))


def key(
    names: dict[str, str], labels: dict[str, str], contexts: dict[str, Context], columns: dict[str, list[Row]]
) -> None:
    """Draw which letter is which with the figures of each, and in words what the others have otherwise."""
    first = contexts["A"]
    differences = {letter: against(names, contexts, letter) for letter in contexts}
    table: list[grid.GridRow] = [
        {
            "id": letter,
            "cells": {
                "letter": letter,
                "what": labels[names[letter]],
                "question": one_line(context.request.query, 80),
                "changed": "" if context is first else changed(first, context) or "nothing",
                "tokens": f"{context.tokens:,} of {context.budget:,}",
                "passages": str(len(context.passages)),
                "shared": wording.share(differences[letter].overlap),
                "against": "" if context is first else told(differences[letter]),
            },
        }
        for letter, context in contexts.items()
    ]
    is_one = len({context.request.query for context in contexts.values()}) == 1
    shown: list[grid.Column] = [
        {"name": "letter", "label": "", "width": 28},
        # Of one question the labels differ in their time or try: what was changed has the room.
        {"name": "what", "label": "What", "width": 250} if is_one else {"name": "what", "label": "What"},
        *([] if is_one else [QUESTION]),
        {"name": "changed", "label": "Changed from A"},
        {"name": "tokens", "label": "Tokens", "kind": "number", "width": 110},
        {"name": "passages", "label": "Passages", "kind": "number", "width": 72},
        {"name": "shared", "label": "Shared with A", "kind": "number", "width": 104},
        *([] if len(names) == 2 else [AGAINST]),  # noqa: PLR2004
    ]
    grid.draw("letters", shown, table, label="Which letter is which.", height=220)
    if len(names) == 2:  # noqa: PLR2004
        where = places([*first.candidates, *contexts["B"].candidates])
        st.text(f"From A to B: {told_moves(differences['B'], [*columns['B'], *columns['A']], where)}")


def candidates(names: dict[str, str], contexts: dict[str, Context], columns: dict[str, list[Row]]) -> None:
    """Draw the candidates aligned, and why the chosen one stands as it does in each."""
    only = whether("onlydiff", "Only those treated differently")
    table = aligned(columns, contexts, only=only)
    if not table:
        st.text("Every candidate is treated alike.")
        return
    options = [row["id"] for row in table if "id" in row]
    state.seed("side", options[0], options.__contains__)
    if st.session_state["side"] not in options:
        st.session_state["side"] = options[0]
    chosen = st.session_state["side"]
    state.publish("side", chosen, options[0])

    def choose(option: str) -> None:
        st.session_state["side"] = option

    grid.draw(
        "aligned",
        aligned_columns(list(contexts)),
        table,
        label="Every candidate with its fate, place and score in each context. J and K walk.",
        chosen=chosen,
        on_choose=choose,
        walks=True,
        below=TEXT_HEIGHT + 24 + LINE_HEIGHT * len(names),
    )
    found = next(rows for key, rows in by_key(columns).items() if option_of(key) == chosen)
    why(contexts, found)


def why(contexts: dict[str, Context], found: dict[str, Row]) -> None:
    """Draw what became of one candidate in each context, in words, and its text."""
    lines = ""
    for letter in contexts:
        row = found.get(letter)
        fate = fate_of(row.verdict, row.reason) if row else NOT_OFFERED
        sentence = row.sentence if row else "no source offered it"
        lines += (
            f'<p><strong>{letter}</strong> <span class="ce-fate">'
            f'<i style="background:{FATE_COLOURS.get(fate, LEFT_OVER)}"></i>{escape(fate)}</span> '
            f"<bdi>{escape(sentence[:1].upper() + sentence[1:])}.</bdi></p>"
        )
    text = next(iter(found.values())).text
    terms = query_terms(contexts["A"].request.query)
    body = marking.box(marking.beginning(text, terms) or "<i>no text</i>", height=TEXT_HEIGHT)
    st.html(f'<div class="ce-panel ce-sides">{lines}{body}</div>')


def settings(contexts: dict[str, Context]) -> None:
    """Draw the settings that differ."""
    table = settings_table(contexts)
    if not table:
        st.text("Settings that differ: none. The same question under the same settings.")
        return
    st.subheader("Settings that differ")
    columns: list[grid.Column] = [{"name": "setting", "label": "Setting", "width": 200}]
    columns += [{"name": name, "label": name} for name in contexts]
    grid.draw(
        "settings", columns, [{"id": row["setting"], "cells": row} for row in table],
        label="Settings that differ.", height=260,
    )  # fmt: skip


def texts(names: dict[str, str], contexts: dict[str, Context]) -> None:
    """Draw the difference of the texts, each against the first."""
    st.subheader("Texts")
    for letter in list(names)[1:]:
        # Without its first two lines, which name files that there are not.
        lines = against(names, contexts, letter).lines[2:]
        height: int | Literal["content"] = 520 if len(lines) > MOST_LINES else "content"
        with st.expander(f"A against {letter}", expanded=len(names) == 2):  # noqa: PLR2004
            st.code(
                "\n".join(lines) or "The texts are equal.", language="diff", wrap_lines=True, height=height
            )


show()
