from __future__ import annotations

from inspector.aligning import aligned, changed, settings_table
from inspector.comparing import arrow, moves, told, told_moves
from langchain_context_engine import diff, replay
from tests.builders import a_candidate
from tests.inspector.builders import a_context, rows_of


def test_moves_tell_places_before_and_after_and_what_entered():
    before = a_context(budget=60, truncator="none")
    after = replay(before, budget=5000)
    difference = diff(before, after)
    rows = moves(rows_of(before), rows_of(after), difference, {}, only=False)
    table = {row["id"]: row["cells"] for row in rows}
    assert table["memories/c"]["change"] == "entered"
    assert table["memories/c"]["before"] == "out · no room"
    assert table["memories/a"]["change"] == ""
    assert table["memories/a"]["before"] == ""
    assert told(difference).endswith("entered.")


def test_only_what_changed_is_shown_where_that_is_wanted():
    before = a_context(budget=60, truncator="none")
    after = replay(before, budget=5000)
    rows = moves(rows_of(before), rows_of(after), diff(before, after), {}, only=True)
    assert {row["id"] for row in rows} == {"memories/c", "memories/d"}


def test_the_sentence_names_what_entered_and_what_left():
    before = a_context(budget=60, truncator="none")
    after = replay(before, budget=5000)
    told_of = told_moves(diff(before, after), rows_of(after), {("memories", "c"): "docs/refunds.md:3-9"})
    assert "Entered: docs/refunds.md:3-9" in told_of
    assert "Left: " in told_moves(diff(after, before), rows_of(after), {})


def test_a_name_written_from_right_to_left_turns_nothing_round_beside_it():
    """After a place with an override, "Left:" and what followed were read backwards."""
    before, after = a_context(), a_context(budget=45)
    left = diff(before, after).left
    told_of = told_moves(diff(before, after), rows_of(before), {left[0]: "gnp\u202e.exe"})
    assert "Left: \u2068gnp\u202e.exe\u2069" in told_of


def test_an_arrow_points_up_where_the_place_became_better():
    assert arrow(9, 1) == "▲ 8"
    assert arrow(1, None) == "unranked"


def test_candidates_are_aligned_by_key_over_traces_that_share_only_some():
    one = a_context([a_candidate(id="x", text="alpha one"), a_candidate(id="y", text="beta two")])
    other = a_context([a_candidate(id="y", text="beta two"), a_candidate(id="z", text="gamma three")])
    columns, contexts = {"A": rows_of(one), "B": rows_of(other)}, {"A": one, "B": other}
    table = {row["id"]: row["cells"] for row in aligned(columns, contexts, only=False) if "id" in row}
    assert set(table) == {"memories/x", "memories/y", "memories/z"}
    assert table["memories/x"]["B fate"] == "not offered"
    assert table["memories/x"]["A place"] == "1"
    only = aligned(columns, contexts, only=True)
    assert {row["id"] for row in only if "id" in row} == {"memories/x", "memories/z"}


def test_what_differs_stands_above_what_is_treated_alike_each_counted():
    one = a_context(budget=60, truncator="none")
    other = replay(one, budget=5000)
    columns, contexts = {"A": rows_of(one), "B": rows_of(other)}, {"A": one, "B": other}
    table = [row.get("line") or row["id"] for row in aligned(columns, contexts, only=False)]
    assert table[0] == "Not alike in the texts: 2"
    assert set(table[1:3]) == {"memories/c", "memories/d"}
    assert table[3] == "Treated alike: 2"
    alike = {"A": rows_of(one), "B": rows_of(one)}
    assert aligned(alike, {"A": one, "B": one}, only=True) == []


def test_what_was_asked_otherwise_is_told_in_one_line_and_a_budget_once():
    context = a_context(budget=60)
    other = a_context(budget=1200, query="another")
    assert changed(context, other) == "another question; tokens allowed 60 → 1,200"
    assert changed(context, replay(context, budget=90)) == "tokens allowed 60 → 90"
    assert changed(context, context) == ""


def test_only_settings_that_differ_are_told():
    context = a_context()
    other = replay(context, dedupe_threshold=70.0)
    table = settings_table({"A": context, "B": other})
    assert [row["setting"] for row in table] == ["dedupe_threshold"]
    assert (table[0]["A"], table[0]["B"]) == ("90.0", "70.0")
    assert settings_table({"A": context, "B": context}) == []
