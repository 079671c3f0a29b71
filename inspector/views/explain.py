"""Explain: why this context is as it is, and why a given candidate is not in it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from functools import partial
from html import escape

import streamlit as st

from inspector import cards, exports, grid, marking, opening, state, wording
from inspector.candidates import (
    FRAME,
    ROOM_COLUMNS,
    SHOWN,
    beneath,
    budget_bar,
    budget_parts,
    fates_told,
    group_bars,
    meant_by,
    ranked_columns,
    ranked_rows,
    rows_like,
    score_tree,
    shared_tokens,
    sources_told,
)
from inspector.exports import File
from inspector.knobs import can_turn_to, meanings
from inspector.marking import Piece, cut_pieces, cut_tokens, how_joined, passages_of_text
from inspector.palette import ROOM, colours_of, fate_of, fell_for
from inspector.state import Opened, one_of
from inspector.views import collections
from inspector.views.compare import moves_html
from inspector.views.tune import open_with
from inspector.wording import file_name, one_line, option_of, plain, sentence
from langchain_context_engine import Context, diff
from langchain_context_engine.evaluation.not_offered import KnownItem, what_lets_in, why_not_offered
from langchain_context_engine.models.types import Candidate, Key, Reason, Verdict
from langchain_context_engine.text.words import query_terms
from langchain_context_engine.trace.explain import Names, Row, explain
from langchain_context_engine.trace.labels import labels
from langchain_context_engine.trace.what_if import Change, budget_that_admits, what_would_it_take

SECTIONS = ("Candidates", "Budget", "Text")
MISSING = "Why is X missing?"
# What is said where no candidate is of a kind.
NONE_SHOWN = {
    "In the context": "No candidate is in the context. “Left out” says why of each.",
    "Near misses": "No candidate lacked room alone. “Left out” says what each lacked.",
    "Left out": "Every candidate is in the context.",
    "Duplicates": "No candidate repeats another.",
}
IN_ORDER = {"selection": "score"}
PAIR_HEIGHT = 300
TEXT_HEIGHT, LINES_HEIGHT = 210, 80
MOST_CHANGES = 4
MOST_TOLD = 5
MOST_ADMITTED = 8
TRIES, SECONDS, LONGER = 60, 10, 4
"""What admits a candidate is looked for among so many numbers, so long; searched on, so many times that.

The time is for a machine that is busy: else one address showed two people different changes."""


def show() -> None:
    """Draw the page."""
    opened = cards.needs_trace("Explain")
    if opened is None:
        return
    st.session_state["walking"] = False
    with st.spinner("Ranking its candidates…"):
        rows = state.rows_of(opened)
    if why := state.ranked_of(opened)[1]:
        # Of the trace's own text: drawn as it is.
        st.text(f"Scores of what was left out are not known here, and Tune cannot replay it: {why}.")
    cards.part(body, opened, rows)


def body(opened: Opened, rows: list[Row]) -> None:
    """Draw the sections' names and the section that is looked at; a choice in it draws this alone again."""
    with st.container(horizontal=True, vertical_alignment="center"):
        section = one_of("section", SECTIONS, "Section")
        if section == SECTIONS[0]:
            shown, find = one_of("shown", SHOWN, "Show"), search(rows)
    if section == "Budget":
        budget(opened, rows)
    elif section == "Text":
        final_text(opened)
    else:
        candidates(opened, rows, shown, find)


def search(rows: list[Row]) -> str:
    """Draw where one asks why something is missing; what is meant is looked at."""

    def look() -> None:
        row = meant_by(rows, st.session_state["find"] or "")
        if row is not None:
            st.session_state["candidate"] = option_of(row.key)

    return state.search_field(
        "find", MISSING, f"{MISSING} Words, id, place or source", on_change=look, label_visibility="collapsed"
    )


def candidates(opened: Opened, rows: list[Row], shown: str, find: str) -> None:
    """Draw the ranked table beside the candidate that is looked at, or why there is none."""
    # As the table has them: of duplicates the first that stands there is looked at.
    like = rows_like(rows, shown, find, opened.context)
    found = {option_of(row.key): row for row in beneath(opened.context, like)[0]}
    if found:
        # Of duplicates what repeats is looked for, not what stands.
        is_copy = [name for name, row in found.items() if fell_for(row) is Reason.DUPLICATE]
        name = state.picked("candidate", [*(is_copy if shown == "Duplicates" else ()), *found])
        left, right = st.columns([64, 36], gap="small")
        with left:
            ranked(opened, rows, list(found.values()), name)
            told: list[KnownItem] = []
            if find:
                if late := [one for one in sources_told(opened.context, find) if " failed: " in one]:
                    st.text("\n".join(late))
                told = not_offered(
                    opened.context, f"Look for “{plain(one_line(find, 40))}” in the store", find
                )
        with right:
            # What the store says is of another record than the one that has the words.
            if told:
                store_told(opened.context, told)
            else:
                candidate(opened, found[name])
        return
    if not rows:
        is_failed = str(opened.context.status) == "failed"
        st.text(
            "Every source failed, so there is no answer. The warnings above say how."
            if is_failed
            else "No source offered a candidate. What narrowed the question is underlined, if anything did."
        )
    elif not find:
        st.text(NONE_SHOWN[shown])
    elif sources := sources_told(opened.context, find):
        # What is named is a source: neither a filter nor the store says more of it.
        st.text("\n".join(sources))
        return
    else:
        st.text("No candidate of this question is like that: no source offered it.")
    if find:
        label = f"Ask the store why “{plain(one_line(find, 40))}” is no candidate"
        store_told(opened.context, not_offered(opened.context, label, find))


def ranked(opened: Opened, rows: list[Row], shown: list[Row], name: str) -> None:
    """Draw the ranked table; a click, Enter, J and K choose a candidate."""
    colours = colours_of(signal for row in rows for signal in row.contributions)
    terms = query_terms(opened.context.request.query)
    has_bars = len(colours) > 1
    grid.draw(
        "ranked",
        ranked_columns(len(colours)),
        ranked_rows(opened.context, shown, colours, terms, everyone=rows, wholes=state.wholes_of(opened)),
        label="Every candidate, best first, with its fate, score and cost. J and K walk.",
        chosen=name,
        on_choose=lambda option: st.session_state.update(candidate=option),
        walks=True,
        rests=True,
        below=26 * has_bars,
    )
    if has_bars:
        keys = "".join(
            f'<span title="{escape(meanings().get(signal, ""))}"><b style="background:{colour}"></b>'
            f"{escape(signal)}</span>"
            for signal, colour in colours.items()
        )
        st.html(f'<div class="ce-keys">{keys}<span>J next, K previous</span></div>')


def not_offered(context: Context, label: str, named: str) -> list[KnownItem]:
    """Draw the way to ask the store, which can be opened here; return what it holds that was not offered."""
    if not collections.place_of_store():
        collections.where_field(
            "Is it no candidate? Open its store to hear why: a folder or a server", "store-here"
        )
        return []
    found: list[KnownItem] = []
    with cards.guard("Open the store again on the Collections page."):
        request, names = collections.within_scope(context.request), collections.asked_of(context)
        key = (collections.place_of_store(), repr(request), named)
        if st.button(label, key="ask-store"):
            with st.spinner("Asking the store…", show_time=True):
                told = why_not_offered(collections.engine_of(names), request, named, seconds=0)
                st.session_state["why-not"] = (key, told)
        asked, told = st.session_state.get("why-not", (None, ()))
        found = [item for item in told if not item.is_offered]
        # Its rank is known at once; that a limit lets it in is found by answering so once more.
        if asked == key and found and found[0].rank and st.button("What would let it in", key="ask-further"):
            with st.spinner("Asking the store…", show_time=True):
                found[0] = what_lets_in(found[0], collections.engine_of(names), request, seconds=SECONDS)
                st.session_state["why-not"] = (key, found)
        if asked == key and not found:
            st.text(
                "All that is called so was offered, and stands among the candidates."
                if told
                else "The store holds nothing of that id, place, title or words in this scope."
            )
        return found if asked == key else []
    return found


def store_told(context: Context, found: Sequence[KnownItem]) -> None:
    """Draw what the store says of the first that were not offered, each with its text and what lets it in."""
    terms = query_terms(context.request.query)
    if len(found) > MOST_TOLD:
        st.caption(f"The nearest {MOST_TOLD} of {len(found):,} that were not offered.")
    for item in found[:MOST_TOLD]:
        changes = "".join(f"<li>{escape(change)}</li>" for change in item.changes)
        st.html(
            f'<div class="ce-panel ce-why"><p><strong>{escape(item.label)}</strong></p>'
            f'<p class="ce-reason">{escape(sentence(item.reason))}</p>'
            + (f"<p>Would be in with:</p><ul>{changes}</ul>" if changes else "")
            + f"</div>{marking.box(marking.beginning(item.text, terms), height=LINES_HEIGHT)}"
        )
        if item.rank is None:
            continue
        # It brings the record among the candidates, where its fate is told in full.
        asked = dataclasses.replace(context.request, limit=item.rank)
        ways = {f"Ask again with a limit of {item.rank:,}": asked}
        if item.budget is not None:
            ways[f"and a budget of {item.budget:,}"] = dataclasses.replace(asked, budget=item.budget)
        name = option_of(item.key)
        with st.container(horizontal=True), cards.guard("Open the store again on the Collections page."):
            for label, request in ways.items():
                if st.button(label, key=f"{label}-{name}"):
                    collections.ask_store(collections.asked_of(context), request, {}, candidate=name)


def candidate(opened: Opened, row: Row) -> None:
    """Draw the candidate that is looked at: its fate, its reason, its pair, what would admit it, its text."""
    context = opened.context
    known = cards.fate_html(fate_of(row.verdict, fell_for(row)), f" · rank {row.place}" if row.place else "")
    st.html(
        f'<div class="ce-panel"><p>{known}</p><p class="ce-where">{record_html(row)}</p>'
        f'<p class="ce-reason">{escape(sentence(row.sentence))}</p></div>'
    )
    whole = state.wholes_of(opened).get(row.key)
    if whole and row.verdict is Verdict.DROPPED:
        st.caption(f"That is a part of it with its marker and place: the whole text has {whole:,} tokens.")
    repeats = context.final_decisions()[row.key].repeats
    if repeats is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(how_joined(context, row.key))
            others = option_of(repeats)
            st.button(
                "Go to winner", on_click=look_at, args=(others,), key=f"winner-{others}", type="tertiary"
            )
        pair(opened, repeats, row.key)
    is_cut = row.verdict is Verdict.KEPT and row.reason is not Reason.WHOLE
    if is_cut:
        text(context, row, "ce-low")
    changes = st.container()
    # As high as the screen has room for: a whole one has its score below, a duplicate its pair above.
    if repeats is None and not is_cut:
        text(context, row, "ce-tall")
    elif repeats is not None:
        with st.expander("Its text"):
            text(context, row, "ce-low")
    if row.contributions or row.signals:
        with st.expander(f"Score {row.score or 0:.3f}", expanded=row.reason is Reason.WHOLE):
            st.html(score_html(row))
    # Told when it is wanted: the ranking is worked out for it, which each step of J and K would wait for.
    box = st.expander("All its decisions", key="decisions", on_change="rerun")
    if box.open:
        told = state.remember(("told", opened.name, row.key), lambda: explain(context, row.key))
        box.code(told, language=None, wrap_lines=True)
    record = candidate_of(context, row.key)
    facts = {"id": record.id, "kind": record.kind, "created": record.created_at}
    with st.expander("Metadata"):
        offered = {"offered by": ", ".join(record.provenance)}
        st.html(marking.pairs({**facts, **offered, **record.metadata}))
    if (is_cut or row.verdict is Verdict.DROPPED) and not state.unreplayable(opened):
        with changes:
            # Last, so that all else is there at once; and not for each step of a walk, which would wait.
            if st.session_state["walking"]:
                st.caption("What would change that is worked out where you rest.")
            else:
                wanted(opened, row)


def score_html(row: Row) -> str:
    """Return what a score is made of as a table: each value with a bar of 0–1, and its share of the score."""
    head = "".join(f"<th>{name}</th>" for name in ("signal", "0–1", "", "weight", "adds", "of the score"))
    lines = ""
    for part in score_tree(row):
        depth, branch = (16 * part.depth, "└ ") if part.depth else (0, "")
        bar = "" if part.value is None else f'<meter value="{part.value:.3f}"></meter>'
        weight, share = (f"{part.weight:.2f}", wording.share(part.share)) if part.weight else ("", "")
        cells = (bar, wording.ratio(part.value), weight, wording.ratio(part.adds) if share else "", share)
        told = escape(meanings().get(part.name, ""))
        lines += f'<tr title="{told}"><td style="padding-left:{depth}px">{branch}{escape(part.name)}</td>'
        lines += "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    told = "<p>Relevance is fused of what stands under it over all candidates: it is not their sum.</p>"
    return f'<table class="ce-tree"><tr>{head}</tr>{lines}</table>{told if "└" in lines else ""}'


def candidate_of(context: Context, key: Key) -> Candidate:
    """Return the candidate of a key; one that fell before ranking has its key alone."""
    found = next((c for c in context.candidates if c.key == key), None)
    return found or Candidate(id=key[1], source=key[0])


def record_html(row: Row) -> str:
    """Return how a candidate is known: its marker, where it is from, its title and source."""
    parts = [row.citation, row.label, "" if row.title in row.label else row.title, row.key[0]]
    # Each by itself: one that is written from right to left turns none of the others round.
    return " · ".join(f"<bdi>{escape(part)}</bdi>" for part in dict.fromkeys(parts) if part)


def pair(opened: Opened, winner: Key, duplicate: Key) -> None:
    """Draw a duplicate beside what it repeats: only what differs, with the words around it."""
    context = opened.context
    names = {
        row.key: f"{row.label} · rank {row.place}" if row.place else row.label
        for row in state.rows_of(opened)
    }
    texts = [candidate_of(context, key).text for key in (winner, duplicate)]
    is_in = any(passage.key == winner for passage in context.passages)
    sides = "".join(
        f"<div><strong>{label}</strong> <bdi>{escape(names.get(key, key[1]))}</bdi>{marking.box(html)}</div>"
        for label, key, html in zip(
            ("Stands:" if is_in else "Ranked better:", "Repeats it:"),
            (winner, duplicate),
            marking.sides(*texts),
            strict=True,
        )
    )
    st.html(f'<div class="ce-pair ce-panel" tabindex="0" style="max-height:{PAIR_HEIGHT}px">{sides}</div>')
    if max(map(len, texts)) > marking.LONGEST:
        st.caption(f"Only the first {marking.LONGEST:,} characters of each were compared.")


def looked_for(context: Context) -> list[str]:
    """Return what is marked: the question's words, and what is looked for in its answer."""
    return [*query_terms(context.request.query), *query_terms(st.session_state.get("find") or "")]


def text(context: Context, row: Row, tall: str) -> None:
    """Draw a candidate's text, what is looked for marked; of one that was cut, what stands and what not."""
    terms = looked_for(context)
    kept = next((p for p in context.passages if p.key == row.key), None)
    if kept is not None and kept.is_truncated and kept.spans:
        counted = cut_tokens(context, kept)
        part, whole = counted or (0, 0)
        more = kept.tokens - part
        told = f"{part:,} of its {whole:,} tokens stand in the text" if counted else "A part stands there"
        with_marker = f"{kept.tokens:,} of {whole + more:,}" if counted else f"{kept.tokens:,}"
        left = context.budget - context.tokens
        why = f" Its rest takes {whole - part:,}, and {left:,} were left over in the end." if counted else ""
        st.caption(f"{told} ({with_marker} with its marker and place); what is struck out does not.{why}")
        st.html(marking.box(marking.cut(cut_pieces(kept), terms), name=tall))
        return
    if kept is not None and kept.is_truncated:
        st.caption("What was written in its place:")
        st.html(marking.box(marking.asked(kept.text, terms), height=TEXT_HEIGHT))
        st.caption("The original:")
    st.html(marking.box(marking.beginning(row.text, terms) or "<i>no text</i>", name=tall))


def wanted(opened: Opened, row: Row) -> None:
    """Draw what would admit a candidate that was left out, or keep one whole, each proved by a replay."""
    context = opened.context
    patience = f"patience-{opened.name}-{option_of(row.key)}"
    times = st.session_state.get(patience, 1)
    with cards.guard("Try the Tune page."):
        with st.spinner("Replaying under other settings…", show_time=True):
            changes = state.remember(
                ("whatif", opened.name, row.key, times),
                lambda: what_would_it_take(context, row.key, tries=times * TRIES, seconds=times * SECONDS),
            )
            in_order(opened, row)
        if changes and row.verdict is Verdict.KEPT:
            st.caption("It would stand whole with one of these:")
        for number, change in enumerate(changes[:MOST_CHANGES]):
            told, button = st.columns([76, 24], vertical_alignment="center", gap="small")
            smallest = f" ({change.least})" if change.least else ""
            # Who leaves is told below, by name once.
            setting = change.sentence.partition("; ")[0] if change.leaves else change.sentence
            moved = diff(context, change.context)
            recut = tuple(key for key in moved.recut if key != row.key)
            others = dataclasses.replace(moved, entered=change.enters, recut=recut, moved={})
            named = moves_html(others, state.rows_of(opened), most=1)
            told.html(
                f'<div class="ce-panel ce-change">'
                f"<p><strong>{escape(setting)}</strong>{smallest}: {escape(stands_as(opened, change, row))}"
                f"{moves(context, change)}</p>{named if others.entered or others.left or recut else ''}</div>"
            )
            can = can_turn_to(context, change.settings)
            if button.button(
                "Try in Tune", key=f"take-{number}-{change.setting}", type="tertiary", disabled=not can,
                help=None if can else f"Tune has no knob for {change.setting}; set it in your application.",
            ):  # fmt: skip
                open_with(opened, change.settings, row.key)
        more = len(changes) - MOST_CHANGES
        last = f"And {more} other single changes. " if more > 0 else ""
        if changes.untried:
            last += f"Not tried to the end: {', '.join(changes.untried)}."
        elif not changes:
            does = "keep it whole" if row.verdict is Verdict.KEPT else "admit it"
            last = f"No single change of a setting was found to {does}. "
            if row.details.get("duplicate_of"):
                last += "It repeats what fell too: see what would admit that. "
        with st.container(horizontal=True, vertical_alignment="center"):
            if last:
                st.caption(last)
            if changes.untried or any(one.setting == "budget" and not one.is_smallest for one in changes):
                label = "Search on" if changes.untried else "Search for a smaller number"
                st.button(
                    label, key="search-on", type="tertiary", on_click=st.session_state.update,
                    args=({patience: LONGER * times},),
                    help=f"Up to {LONGER * times * TRIES:,} numbers, and {LONGER * times * SECONDS:,} s.",
                )  # fmt: skip


def stands_as(opened: Opened, change: Change, row: Row) -> str:
    """Return in words how much of a candidate stands under a change, of how much."""
    told = Names(opened.context).sentence(change.context.final_decisions()[row.key])
    passage = next(passage for passage in change.context.passages if passage.key == row.key)
    counted = cut_tokens(change.context, passage) if passage.is_truncated else None
    return f"{told} of {counted[1]:,}" if counted else told


def moves(context: Context, change: Change) -> str:
    """Return in words how many enter and leave under a change."""
    moved = diff(context, change.context)
    counts = (f"{len(moved.entered):,} enter", moved.entered), (f"{len(moved.left):,} leave", moved.left)
    return "".join(f" · {told}" for told, keys in counts if keys)


def in_order(opened: Opened, row: Row) -> None:
    """Say what becomes of a candidate that others overtook when all are packed in the ranking's order."""
    everyone = state.rows_of(opened)
    later = [one for one in everyone if one.verdict is Verdict.KEPT and (one.place or 0) > (row.place or 0)]
    is_in_order = opened.context.settings.get("selection") == IN_ORDER["selection"]
    if is_in_order or not later or row.place is None or fell_for(row) not in ROOM:
        return
    _, rows = state.replayed(opened, IN_ORDER)
    again = next(one for one in rows if one.key == row.key)
    told, button = st.columns([76, 24], vertical_alignment="center", gap="small")
    told.caption(
        f"{len(later):,} ranked later are in: room goes by what a text is worth for its tokens. "
        f"By rank alone (selection: score, a replay) this one is {again.sentence.removeprefix('dropped: ')}."
    )
    if button.button("See it in Tune", key="take-in-order", type="tertiary"):
        open_with(opened, IN_ORDER, row.key)


def budget(opened: Opened, rows: list[Row]) -> None:
    """Draw where the budget went; a segment and a row lead to their candidate."""
    context = opened.context
    st.html(budget_bar(context))
    told = "Left over is room that nothing fitted."
    if FRAME in budget_parts(context):
        told = f"Frame is what the template adds around the passages. {told}"
    if shared := shared_tokens(context):
        told += f" Joined, the passages take {shared:,} tokens less than counted one by one, as here."
    st.caption(told)
    st.html(group_bars(context, rows))
    st.caption(fates_told(context))
    # In turn: what took room, and what lacked it.
    shown = [row for row in rows if row.verdict is Verdict.KEPT or fell_for(row) in ROOM]
    lacking = [row for row in shown if row.verdict is Verdict.DROPPED][:MOST_ADMITTED]
    told = f"Find the budgets that admit the first {len(lacking)}"
    found = st.session_state.setdefault(f"admits-{opened.name}", {})
    waiting = [row.key for row in lacking if row.key not in found]
    if waiting:
        st.button(
            told, key="find-budgets", type="tertiary",
            on_click=st.session_state.update, args=({"finding": opened.name},),
        )  # fmt: skip
    if shown:
        terms, wholes = query_terms(context.request.query), state.wholes_of(opened)
        table = ranked_rows(context, shown, {}, terms, wholes=wholes, admits=found)
        grid.draw(
            "room",
            [*ranked_columns(1), *ROOM_COLUMNS],
            table,
            label="What took room, and what lacked it, turn by turn. A row leads to it.",
            on_choose=look_at,
            opens=True,
        )
    if waiting and st.session_state.get("finding") == opened.name:
        # One after the other, each drawn as soon as it is found.
        with st.spinner(f"Replaying under other budgets: {len(waiting)} to go…", show_time=True):
            found[waiting[0]] = admits(context, budget_that_admits(context, waiting[0]))
        st.rerun()


def admits(context: Context, change: Change | None) -> str:
    """Return the least budget that was found to admit a candidate, and how many enter and leave then."""
    if change is None:
        return "none found"
    until = f", out at {change.undone_at:,}" if change.undone_at else ""
    return f"{'' if change.is_smallest else '≤ '}{change.after:,}{until}{moves(context, change)}"


def final_text(opened: Opened) -> None:
    """Draw the final text, passages beside what leads to their candidates, and a model's answer to it."""
    context, answer = opened.context, None
    with cards.guard():
        answer = opening.answer_to(opened.name, state.settings())
    st.caption(f"{context.tokens:,} of {context.budget:,} tokens. A number leads to its candidate.")
    left, right = st.columns([64, 36]) if answer is not None else (st.container(), None)
    with left:
        for number, piece in enumerate(passages_of_text(context)):
            passage(number, piece, query_terms(context.request.query))
    if answer is not None and right is not None:
        names = labels(context) | {key: marker for marker, key in context.citations.items()}
        told = [", ".join(names.get(k, k[1]) for k in keys) for keys in (answer.cited, answer.unused)]
        with right:
            st.subheader("What the model answered")
            st.code(answer.text, language=None, wrap_lines=True)
            st.text(
                f"It cites {told[0] or 'nothing'}; it was given and never used {told[1] or 'nothing else'}."
            )


def passage(number: int, piece: Piece, terms: list[str]) -> None:
    """Draw a piece of the text, beside the button that leads to where it comes from."""
    if not piece.text.strip():
        return
    left, right = st.columns([1, 22], gap="small")
    if piece.key is not None:
        name = option_of(piece.key)
        left.button(
            plain(piece.citation or "source"), key=f"cite-{number}-{name}", on_click=look_at, args=(name,),
            help=plain(name), type="tertiary",
        )  # fmt: skip
    right.html(marking.box(marking.asked(piece.text.strip("\n"), terms)))


def look_at(name: str) -> None:
    """Go to a candidate's explanation, whatever the candidates were narrowed to."""
    st.session_state.update(candidate=name, section=SECTIONS[0], shown=SHOWN[0], find="")


def files() -> list[File]:
    """Return what can be taken away of the answer that is looked at."""
    opened = state.current()
    if opened is None:
        return []
    context, rows = opened.context, state.rows_of(opened)
    named = partial(file_name, context.request.query, [opened.name])
    session = st.session_state
    shown = rows_like(rows, session.get("shown") or SHOWN[0], session.get("find") or "")
    some = File(f"The {len(shown):,} candidates shown", exports.rows_as_csv(shown), named("shown.csv"))
    trace = json.dumps(context.to_dict(), ensure_ascii=False).encode()
    return [
        File("Candidates, CSV", exports.rows_as_csv(rows), named("candidates.csv")),
        *([some] if len(shown) < len(rows) else []),
        File("Trace, JSON", trace, named("trace.json")),
        File("Account, Markdown", exports.as_markdown(context).encode(), named("account.md")),
        File("Text alone", context.text.encode(), named("context.txt")),
    ]
