"""Compare: two or more traces, candidate by candidate. What is tried on one, Tune compares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from inspector import cards, exports, grid, marking, opening, state, wording
from inspector.candidates import base_cells
from inspector.exports import File
from inspector.grid import Column, GridRow
from inspector.knobs import differing
from inspector.marking import Piece, passages_of_text
from inspector.palette import fate_of, fell_for
from inspector.state import Opened
from inspector.wording import one_line, option_of, sentence
from langchain_context_engine import Context, diff
from langchain_context_engine.models.types import Key
from langchain_context_engine.text.words import query_terms
from langchain_context_engine.trace.explain import Row
from langchain_context_engine.trace.replay import Diff

MOST = 6
LATEST = 300
PAIR = 2
TEXT_HEIGHT, LINE_HEIGHT = 150, 24
MOST_PASSAGES = 40
ABSENT = "<i>not in this text</i>"
NOT_OFFERED = "not offered"
_NAMED = 3
_CHANGES = 6
_LONGEST_NAME, _LONGEST, _QUESTION = 70, 80, 70
_LINES = re.compile(r"(?<!\S)[^\s:]++:\d++-\d++(?= · )")
_UNRANKED = 10**6
_FEW = 3
_GROUPS = ("Not alike in the texts", "In no text, for different reasons", "Treated alike")
_ALIKE = 2


def show() -> None:
    """Draw the page."""
    head = st.container(horizontal=True, vertical_alignment="center")
    kept = sides()
    labels = offered(kept)
    if "compare" not in st.session_state:
        st.session_state["compare"] = [name for name in kept if name in labels][:MOST]
    chosen = st.multiselect(
        "Traces", list(labels), format_func=lambda name: labels.get(name, name),
        max_selections=MOST, select_all=False, key="compare", placeholder="choose two or more",
        label_visibility="collapsed",
    )  # fmt: skip
    st.session_state["compared"] = chosen
    if st.query_params.get_all("compare") != chosen:
        st.query_params["compare"] = chosen
    if len(chosen) < PAIR:
        with head:
            cards.heading("Compare")
            other_budgets(chosen)
        st.text("Choose two or more: tick them on the Traces page, or choose them here.")
        return
    contexts: dict[str, Context] = {}
    columns: dict[str, list[Row]] = {}
    names = dict(zip("ABCDEF", chosen, strict=False))
    with cards.guard("Choose others."):
        for letter, name in names.items():
            opened = Opened(name, state.open_named(name))
            contexts[letter], columns[letter] = opened.context, state.rows_of(opened)
    with head:
        questions = {context.request.query for context in contexts.values()}
        cards.heading(f"Compare: {questions.pop()}" if len(questions) == 1 else "Compare")
        other_budgets(chosen)
    if len(contexts) < len(names):
        return
    compared(names, labels, contexts, columns)


def sides() -> list[str]:
    """Return the names of what is compared, the first being what the others are held against.

    The address wins; then what is ticked on the Traces page, where the trace that is looked at is among it or
    there is none; else that beside the newest other answer to its question, or what was looked at before it.
    """
    session = st.session_state
    asked = [name for name in st.query_params.get_all("compare") if opening.is_trace_name(name)]
    if asked or "compare" in session:
        return list(dict.fromkeys((*asked, *session.get("compare", ()))))
    current, before = session.get("trace"), list(session.get("compared", ()))
    ticked = list(session.get("ticked", ()))[:MOST]
    if current is None or current in ticked:
        return opening.oldest_first(ticked, state.settings())
    same: list[str] = []
    with cards.kept_guard(), opening.journal_of(state.settings()) as journal:
        query = state.open_named(current).request.query
        same = [row.id for row in journal.traces(2, query=query)] if journal else []
    wanted = [
        current,
        *[name for name in (*same, session.get("looked-before")) if name not in {None, current}][:1],
    ]
    # What was added to it on the page stays.
    return before if current in before else wanted


def other_budgets(chosen: Sequence[str]) -> None:
    """Draw the recorded answers to the first one's question at other budgets, and the way to any other."""
    if not chosen or len(chosen) == MOST:
        return
    with cards.guard("Choose others."):
        known = {state.open_named(name).budget for name in chosen}
        query = state.open_named(chosen[0]).request.query
        with opening.journal_of(state.settings()) as journal:
            rows = journal.traces(LATEST, query=query) if journal is not None else []
        # Of each budget the newest.
        others = {row.budget: row.id for row in reversed(rows) if row.budget not in known}
        with st.container(key="budgets", horizontal=True, vertical_alignment="center", width="content"):
            st.caption("At another budget:", width="content")
            for budget, name in sorted(others.items())[:_NAMED]:
                st.button(
                    wording.counted(budget, "token"), key=f"add-{name}", type="tertiary",
                    on_click=st.session_state.update, args=({"compare": [*chosen, name]},),
                )  # fmt: skip
            if st.button("Any, in Tune", key="any-budget", type="tertiary"):
                state.open_page(chosen[0], "tune")


def offered(kept: list[str]) -> dict[str, str]:
    """Return what can be compared: name in the address → label, no two alike."""
    labels = {name: name.replace("-", " ") for name in state.known_names()}
    # A trace of any age by its address, whether it is among the latest or not.
    wanted = [name for name in (*kept, st.session_state.get("trace")) if name]
    with opening.journal_of(state.settings()) as journal:
        rows = journal.traces(LATEST) if journal is not None else []
        latest = {row.id for row in rows}
        if journal is not None:
            rows += [row for name in wanted if name not in latest for row in journal.traces(1, id=name)]
    for row in rows:
        asked = wording.time(row.time, cards.zone())
        labels[row.id] = f"{asked} · {row.budget:,} tokens · {row.id[:8]} · {one_line(row.query, _QUESTION)}"
    return {name: name[:12] for name in wanted} | labels


def compared(
    names: Mapping[str, str],
    labels: Mapping[str, str],
    contexts: Mapping[str, Context],
    columns: Mapping[str, list[Row]],
) -> None:
    """Draw which letter is which, the figures of each, what the others have otherwise, and the texts."""
    first, table = contexts["A"], []
    questions = {context.request.query for context in contexts.values()}
    common = f" · {one_line(questions.pop(), _QUESTION)}" if len(questions) == 1 else ""
    differences = {
        letter: state.remember(("diff", names["A"], name), partial(diff, first, contexts[letter]))
        for letter, name in names.items()
    }
    for letter, context in contexts.items():
        shared = "" if context is first else f", {wording.share(differences[letter].overlap)} in both"
        table.append(
            {
                "": letter,
                # A question that all have is told above.
                "What": labels[names[letter]].removesuffix(common),
                "Changed from A": "" if context is first else changed(first, context) or "nothing",
                "Tokens": f"{context.tokens:,} of {context.budget:,}",
                "Passages": f"{len(context.passages)}{shared}",
            }
        )
    cards.table(table)
    for letter in list(names)[1:]:
        rows = [*columns[letter], *columns["A"]]
        st.html(moves_html(differences[letter], rows, f"From A to {letter}: "))
    cards.part(side_by_side, columns, contexts, names)
    st.subheader("Passages")
    for letter in list(names)[1:]:
        with st.expander(f"A against {letter}", expanded=len(names) == PAIR):
            passages(first, contexts[letter], [*columns[letter], *columns["A"]])


def files() -> list[File]:
    """Return every candidate with its fate in each of the answers that are compared."""
    names = dict(zip("ABCDEF", st.session_state.get("compared", ()), strict=False))
    each = {letter: Opened(name, state.open_named(name)) for letter, name in names.items()}
    columns = {letter: state.rows_of(opened) for letter, opened in each.items()}
    return compared_files(
        columns, {letter: opened.context for letter, opened in each.items()}, names.values()
    )


def side_by_side(
    columns: Mapping[str, list[Row]],
    contexts: Mapping[str, Context],
    names: Mapping[str, str],
    told: str = "",
) -> None:
    """Draw every candidate with its fate in each context, and why the chosen one stands as it does.

    Args:
        columns: What a context is called → its candidates.
        contexts: What it is called → the context.
        names: What it is called → its trace, where the candidate is explained.
        told: What is said beside the switch.
    """
    head = st.container(horizontal=True, vertical_alignment="center")
    with head:
        only = state.whether("onlydiff", "Only those treated differently")
        st.caption(told)
    table = aligned(columns, contexts, only=only)
    if not table:
        st.text("Every candidate is treated alike.")
        return
    chosen = state.picked("side", [row["id"] for row in table if "id" in row])
    grid.draw(
        "aligned",
        aligned_columns(list(contexts)),
        table,
        label="Every candidate with its fate, place, tokens and score in each context. J and K walk.",
        chosen=chosen,
        on_choose=lambda option: st.session_state.update(side=option),
        walks=True,
        below=TEXT_HEIGHT + 24 + LINE_HEIGHT * len(contexts),
    )
    for name, trace in names.items():
        if head.button(f"Explain it in {name}", key=f"explain-{name}", type="tertiary"):
            state.open_page(trace, candidate=chosen)
    found = next(by_name for key, by_name in by_key(columns).items() if option_of(key) == chosen)
    lines = ""
    for name in contexts:
        row = found.get(name)
        fate = cards.fate_html(fate_of(row.verdict, fell_for(row)) if row else "not offered")
        told = escape(sentence(row.sentence if row else "no source offered it"))
        lines += f"<p><strong>{escape(name)}</strong> {fate} <bdi>{told}</bdi></p>"
    passages = (p for one in contexts.values() for p in one.passages)
    stands = list(dict.fromkeys(p.text for p in passages if option_of(p.key) == chosen))
    if len(stands) == PAIR:
        # Cut in two ways: what differs of the two.
        cut = "".join(f"<div>{marking.box(html)}</div>" for html in marking.sides(*stands))
        text = f'<div class="ce-pair" style="max-height:{TEXT_HEIGHT}px">{cut}</div>'
    else:
        terms = query_terms(contexts["A"].request.query)
        shown = marking.beginning(next(iter(found.values())).text, terms) or "<i>no text</i>"
        text = marking.box(shown, height=TEXT_HEIGHT)
    st.html(f'<div class="ce-panel ce-sides">{lines}{text}</div>')


def compared_files(
    columns: Mapping[str, list[Row]], contexts: Mapping[str, Context], traces: Iterable[str]
) -> list[File]:
    """Return every candidate with its fate in each context, as a file."""
    if not contexts:
        return []
    texts = {option_of(key): next(iter(of.values())).text for key, of in by_key(columns).items()}
    table = [
        # Its place in the ranking is its rank, beside which "where" is the place in a file.
        {name.replace(" place", " rank"): cell for name, cell in row["cells"].items()}
        | {"text": texts[row["id"]]}
        for row in aligned(columns, contexts, only=False)
        if "cells" in row
    ]
    cells = exports.as_csv(table)
    name = wording.file_name(contexts["A"].request.query, traces, "compared.csv")
    return [File("Candidates compared, CSV", cells, name)]


def passages(first: Context, other: Context, rows: Sequence[Row]) -> None:
    """Draw the passages of two texts one by one: in full those that are not alike, then the others' names."""
    names = {row.key: row.label for row in rows}
    # Where the passages are alike and the texts are not, it is their order, or what the template adds.
    by = [[Piece(one.text, one.key) for one in each.passages] for each in (first, other)]
    if {*by[0]} == {*by[1]}:
        by = [passages_of_text(each) for each in (first, other)]
    was, now = ({one.key: one.text for one in each} for each in by)
    every = list(dict.fromkeys((*was, *now)))
    changed = [key for key in every if was.get(key) != now.get(key)]
    st.text(f"{len(changed):,} of {wording.counted(len(every), 'passage')} not alike.")
    for key in changed[:MOST_PASSAGES]:
        texts = was.get(key), now.get(key)
        htmls = [ABSENT if text is None else marking.asked(text, ()) for text in texts]
        if texts[0] is not None and texts[1] is not None:
            htmls = list(marking.sides(texts[0], texts[1], folds=False))
        name = escape(names.get(key, key[1]) if key else "before the first")
        st.html(
            f'<div class="ce-panel ce-whole"><p class="ce-where"><bdi>{name}</bdi></p><div class="ce-pair">'
            f"{''.join(f'<div>{marking.box(html)}</div>' for html in htmls)}</div></div>"
        )
    if len(changed) > MOST_PASSAGES:
        st.caption(f"{len(changed) - MOST_PASSAGES:,} more: choose them in the table.")
    if alike := [names.get(key, key[1]) for key in every if key not in changed and key]:
        st.text("\n".join(("Alike:", *alike)))


def moves_html(difference: Diff, rows: Sequence[Row], head: str = "", *, most: int = _NAMED) -> str:
    """Return a difference in words, with the names of what entered and left; of many some are folded."""
    names, told = {row.key: row.label for row in rows}, []
    for verb, keys in (("Entered", difference.entered), ("Left", difference.left)):
        known = [escape(_name(names.get(key) or key[1])) for key in keys]
        shown, more = "; ".join(known[:most]), "; ".join(known[most:])
        folded = f" <details><summary>and {len(known) - most} more</summary>{more}.</details>"
        told += [f"<div>{verb}: {shown}{folded if more else '.'}</div>"] if known else []
    # What is named need not be counted; "8 left" could be read as those that remain.
    stayed = (("moved", difference.moved), ("cut anew", difference.recut))
    if counted := ", ".join(f"{len(keys)} {name}" for name, keys in stayed if keys):
        told.append(f"{counted}.")
    return f'<div class="ce-moves">{escape(head)}{" ".join(told) or "Nothing changed in the text."}</div>'


def _name(label: str) -> str:
    """Return a name; of a long one file and lines, or its last heading, or its last words.

    One that is written from right to left turns nothing else round.
    """
    shown = " ".join(label.split())
    if len(shown) > _LONGEST_NAME and (lines := _LINES.match(shown)):
        shown = lines[0]
    file, *steps = shown.split(" › ")
    if len(shown) > _LONGEST_NAME and steps:
        shown = f"{file.rsplit('/', 1)[-1]} › {steps[-1]}"
    if len(shown) > _LONGEST_NAME:
        first = len(shown) - _LONGEST_NAME + 1
        begins = (found.end() for found in re.finditer("[ /]", shown))
        # A word that is longer than that itself is cut.
        shown = f"…{shown[next((place for place in begins if place >= first), first) :]}"
    return shown if shown.isascii() else f"\u2068{shown}\u2069"


def aligned_columns(names: Sequence[str]) -> list[Column]:
    """Return the columns of `aligned`: fate, rank, place in the text and score of each context."""
    columns: list[Column] = [
        {
            "name": "where",
            "label": "Place",
            "kind": "place",
            "width": 190 if len(names) <= _FEW else 150,
            "narrow": True,
        },
        {"name": "text", "label": "Text"},
    ]
    for name in names:
        columns += [
            {"name": f"{name} fate", "label": f"{name} fate", "kind": "fate", "width": 112, "narrow": True},
            {"name": f"{name} place", "label": f"{name} #", "kind": "number", "width": 38, "help": "rank"},
            {"name": f"{name} in text", "label": f"{name} in text", "kind": "number", "width": 62},
            {"name": f"{name} score", "label": f"{name} score", "kind": "number", "width": 58},
        ]
    return columns


def aligned(
    columns: Mapping[str, Sequence[Row]], contexts: Mapping[str, Context], *, only: bool
) -> list[GridRow]:
    """Return one row a candidate that any of several contexts ranked: its fate, rank, place and score.

    Returns:
        Under a line each: what is not alike in the texts, what is in none for different reasons, what is
        treated alike; in each by the best place anywhere.
    """
    groups: list[list[tuple[int, GridRow]]] = [[] for _ in _GROUPS]
    texts = [{passage.key: passage.text for passage in contexts[name].passages} for name in columns]
    places = [{key: str(place) for place, key in enumerate(text, 1)} for text in texts]
    for key, by_name in by_key(columns).items():
        of_each = [by_name.get(name) for name in columns]
        first = next(iter(by_name.values()))
        cells: dict[str, Any] = {"where": first.label, "text": one_line(first.text)}
        for name, own, in_text in zip(columns, of_each, places, strict=True):
            said = base_cells(own) if own else {"fate": NOT_OFFERED}
            cells |= {f"{name} {what}": said.get(what, "") for what in ("fate", "place", "tokens", "score")}
            cells[f"{name} in text"] = in_text.get(key, "")
        best = min(row.place or _UNRANKED for row in by_name.values())
        if len({text.get(key) for text in texts}) > 1:
            kind = 0
        else:
            kind = _ALIKE if len({row and fell_for(row) for row in of_each}) == 1 else 1
        groups[kind].append((best, {"id": option_of(key), "cells": cells}))
    table: list[GridRow] = []
    for name, group in list(zip(_GROUPS, groups, strict=True))[: _ALIKE if only else None]:
        if group:
            table.append({"line": f"{name}: {wording.number(len(group))}"})
            table += [entry for _, entry in sorted(group, key=lambda item: (item[0], item[1]["id"]))]
    return table


def by_key(columns: Mapping[str, Sequence[Row]]) -> dict[Key, dict[str, Row]]:
    """Return the rows of each candidate: key → what a context is called → its row there."""
    found: dict[Key, dict[str, Row]] = {}
    for name, rows in columns.items():
        for row in rows:
            found.setdefault(row.key, {})[name] = row
    return found


def changed(first: Context, other: Context) -> str:
    """Return in one line what was asked or set otherwise than for the first answer; "" for nothing."""
    told = [
        "another question" if setting == "question" else f"{setting} {_short(was)} → {_short(now)}"
        for setting, (was, now) in differing(first, other).items()
    ]
    more = [f"and {len(told) - _CHANGES} more"] if len(told) > _CHANGES else []
    return "; ".join(told[:_CHANGES] + more)


def _short(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return wording.number(value)
    return wording.UNKNOWN if value is None else one_line(str(value), _LONGEST)
