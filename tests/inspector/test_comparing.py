from __future__ import annotations

from inspector.comparing import aligned, arrow, moves, settings_table, told
from langchain_context_engine import diff, replay
from tests.builders import a_candidate
from tests.inspector.builders import a_context, rows_of


def test_moves_tell_places_before_and_after_and_what_entered():
    before = a_context(budget=60, truncator="none")
    after = replay(before, budget=5000)
    table = {row["candidate"][:8]: row for row in moves(rows_of(before), rows_of(after), diff(before, after))}
    assert table["Refunds "]["change"] == ["entered"]
    assert table["Refunds "]["fate before"] == ["out · no room"]
    assert table["Invoices"]["change"] == []
    assert table["Invoices"]["fate before"] == []
    assert told(diff(before, after)).endswith("entered.")


def test_an_arrow_points_up_where_the_place_became_better():
    assert arrow(9, 1) == "▲ 8"
    assert arrow(1, None) == "unranked"


def test_candidates_are_aligned_by_key_over_traces_that_share_only_some():
    one = a_context([a_candidate(id="x", text="alpha one"), a_candidate(id="y", text="beta two")])
    other = a_context([a_candidate(id="y", text="beta two"), a_candidate(id="z", text="gamma three")])
    table = {row["candidate"]: row for row in aligned({"A": rows_of(one), "B": rows_of(other)})}
    assert set(table) == {"memories/x", "memories/y", "memories/z"}
    assert table["memories/x"]["B"] == "not offered"
    assert table["memories/x"]["differs"]
    assert not table["memories/y"]["differs"]


def test_only_settings_that_differ_are_told():
    context = a_context()
    other = replay(context, dedupe_threshold=70.0)
    table = settings_table({"A": context, "B": other})
    assert [row["setting"] for row in table] == ["dedupe_threshold"]
    assert (table[0]["A"], table[0]["B"]) == ("90.0", "70.0")
    assert settings_table({"A": context, "B": context}) == []
