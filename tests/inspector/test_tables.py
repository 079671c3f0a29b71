"""Rows of the tables: unique ids, the budget line, what is narrowed and searched."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from inspector.figures.fates import funnel
from inspector.palette import FATE_COLOURS, FATES, colours_of, stacked
from inspector.tables import (
    label_of,
    option_of,
    options,
    ranked_rows,
    score_tree,
    trace_rows,
)
from inspector.wording import unique_labels, zone_of
from langchain_context_engine import Context, Journal
from langchain_context_engine.models.types import Reason
from langchain_context_engine.trace.explain import final_decisions
from tests.builders import a_candidate
from tests.inspector.builders import HOSTILE, a_context, rows_of


def line_of(table):
    return next((i for i, row in enumerate(table) if "line" in row), None)


def test_every_final_reason_has_two_words_and_a_colour():
    final = [reason for reason in Reason if reason in FATES]
    steps = {
        "clamped", "merged", "expanded", "neighbour", "linked", "latest", "reranked", "shortened", "pinned",
    }  # fmt: skip
    assert {str(reason) for reason in Reason} - {str(reason) for reason in final} <= steps
    assert all(FATES[reason] in FATE_COLOURS for reason in final)


def test_the_funnel_ends_with_the_passages_and_accounts_for_every_candidate():
    context = a_context(budget=120)
    steps = funnel(context)
    assert [step.stage for step in steps] == ["collected", "expanded", "unique", "packed"]
    assert steps[0].count == len(final_decisions(context))
    assert steps[-1].count == len(context.passages)
    assert steps[0].count - sum(sum(step.fell.values()) for step in steps) == len(context.passages)
    assert steps[2].fell == {Reason.DUPLICATE: 1}


def test_the_funnel_of_an_empty_context_is_all_zeros():
    assert [step.count for step in funnel(Context())] == [0, 0, 0, 0]


def test_the_budget_line_stands_after_the_last_that_got_in_and_only_where_room_was_lacking():
    tight, wide = a_context(budget=50, truncator="none"), a_context(budget=5000)
    table = ranked_rows(tight, rows_of(tight), {}, [])
    line = line_of(table)
    assert table[line - 1]["cells"]["fate"].startswith("in")
    assert not any(row["cells"]["fate"].startswith("in") for row in table[line + 1 :])
    assert "of 50 tokens" in table[line]["line"]
    assert line_of(ranked_rows(wide, rows_of(wide), {}, [])) is None


def test_the_budget_line_is_drawn_from_all_rows_or_not_at_all():
    """Of filtered rows it said that nothing below got in, where what got in was only not shown."""
    context = a_context(budget=50, truncator="none")
    rows = rows_of(context)
    assert line_of(ranked_rows(context, rows, {}, [], everyone=rows)) is not None
    assert line_of(ranked_rows(context, rows[:2], {}, [])) is not None
    assert line_of(ranked_rows(context, rows[:2], {}, [], everyone=rows)) is None


def test_a_row_tells_its_score_cost_and_where_it_is_from():
    found = [a_candidate(id="9f3c", text="alpha", metadata={"path": "a.py", "start_line": 3, "end_line": 9})]
    context = a_context(found)
    rows = rows_of(context)
    (row,) = ranked_rows(context, rows, colours_of(rows[0].contributions), ["alpha"])
    assert row["cells"]["where"] == "a.py:3-9"
    assert row["cells"]["text"] == [("alpha", True)]
    assert row["cells"]["tokens"] == str(rows[0].tokens)
    assert "9f3c" not in str(row["cells"])


def test_a_bar_has_a_piece_a_signal_that_adds_something():
    pieces = stacked({"a": 0.5, "b": 0.25, "c": -1.0}, {"a": "#123456"}, full=1.0)
    assert pieces[0][:2] == ("#123456", 0.5)
    assert len(pieces) == 2


@given(
    st.tuples(st.text(max_size=6), st.text(max_size=6)), st.tuples(st.text(max_size=6), st.text(max_size=6))
)
def test_two_candidates_that_look_alike_in_the_address_stay_two(first, second):
    assert (option_of(first) == option_of(second)) == (first == second)


def test_candidates_with_one_name_in_the_address_are_two_options():
    candidates = [
        a_candidate(id="b/c", source="a", text="one"),
        a_candidate(id="c", source="a/b", text="two"),
    ]
    assert set(options(rows_of(a_context(candidates)))) == {"a/b/c", "a%2Fb/c"}


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=4), st.lists(st.sampled_from(["why?", "k 3", ""]), max_size=3)
    )
)
def test_no_two_labels_are_equal(told):
    """Streamlit takes the first of equal labels: another trace was compared than the address named."""
    labels = unique_labels(told)
    assert set(labels) == set(told)
    assert len(set(labels.values())) == len(told)


def test_a_hostile_text_stays_on_one_line_of_a_label():
    row = rows_of(a_context([a_candidate(text=f"{HOSTILE}\n\n# heading")]))[0]
    assert "\n" not in label_of(row)


def test_a_score_is_a_tree_with_the_parts_of_relevance_under_it():
    found = [
        a_candidate(id=str(i), text=f"{word} rope", claims={"dense": 0.2 * i, "lexical": i})
        for i, word in enumerate(("old", "new", "blue"))
    ]
    row = rows_of(a_context(found, weights={"relevance": 3, "keyword": 1}))[0]
    tree = score_tree(row)
    names = [name for _, name, _ in tree]
    assert {depth for depth, name, _ in tree if name in {"relevance", "keyword"}} == {0}
    at = names.index("relevance")
    assert {"dense", "lexical"} <= {name for depth, name, _ in tree[at + 1 :] if depth == 1}


def test_a_trace_row_tells_the_share_of_the_budget_and_the_time_where_the_viewer_is(tmp_path):
    with Journal(tmp_path / "j.db") as journal:
        journal.record(a_context(budget=200), at=datetime(2026, 7, 1, 22, 30, tzinfo=UTC))
        journal.record(Context(budget=0))
        table = trace_rows(journal.traces(), zone_of("Europe/Berlin"))
    assert table[0]["cells"]["used"] is None
    assert 0 < table[1]["cells"]["used"][0] <= 1
    assert table[1]["cells"]["candidates"] == "4"
    assert table[1]["cells"]["time"] == "2 Jul 2026, 00:30:00"


def test_the_journal_counts_duplicates_as_the_explanation_does(tmp_path):
    contexts = [a_context(budget=budget, truncator="none") for budget in (10, 60, 2000)]
    with Journal(tmp_path / "j.db") as journal:
        for context in contexts:
            journal.record(context)
        journal.flush()
        recorded = [row.duplicates for row in reversed(journal.traces())]
    assert recorded == [1, 1, 1]
    explained = [sum(d.is_duplicate for d in final_decisions(context).values()) for context in contexts]
    assert explained == recorded
