from __future__ import annotations

from inspector.palette import BUDGET_LINE, FATE_COLOURS, FATES, colours_of, stacked_bar
from inspector.tables import (
    figures,
    filter_rows,
    funnel,
    label_of,
    near_misses,
    options,
    ranked_table,
    searched,
    signal_table,
    trace_table,
)
from langchain_context_engine import Context, Journal
from langchain_context_engine.answering.explain import final_decisions
from langchain_context_engine.values.types import Reason, Verdict
from tests.builders import a_candidate
from tests.inspector.builders import HOSTILE, a_context, rows_of


def test_every_final_reason_has_two_words_and_a_colour():
    final = [reason for reason in Reason if reason in FATES]
    steps = {"clamped", "merged", "expanded", "neighbour", "linked", "latest", "compaction_failed", "pinned"}
    assert {str(reason) for reason in Reason} - {str(reason) for reason in final} <= steps
    assert all(FATES[reason] in FATE_COLOURS for reason in final)


def test_the_funnel_ends_with_the_passages_and_accounts_for_every_candidate():
    context = a_context(budget=120)
    steps = funnel(context)
    assert [step.stage for step in steps] == ["collected", "expanded", "unique", "packed"]
    assert steps[0].count == len(final_decisions(context))
    assert steps[-1].count == len(context.passages)
    assert steps[0].count - sum(sum(step.fell.values()) for step in steps) == len(context.passages)
    assert steps[2].told == "1 duplicate"


def test_the_funnel_of_an_empty_context_is_all_zeros():
    assert [step.count for step in funnel(Context())] == [0, 0, 0, 0]


def test_figures_tell_tokens_of_budget_and_duplicates():
    context = a_context(budget=120)
    shown = {figure.label: figure.value for figure in figures(context)}
    assert shown["Tokens"] == f"{context.tokens} / 120"
    assert shown["Duplicates"] == "1"
    assert shown["Candidates"] == "4"


def test_the_budget_line_stands_after_the_last_that_got_in_and_only_where_room_was_lacking():
    tight, wide = a_context(budget=50, truncator="none"), a_context(budget=5000)
    table = ranked_table(tight, rows_of(tight), {})
    fates = [row["fate"][0] for row in table]
    line = fates.index(BUDGET_LINE)
    assert fates[line - 1].startswith("in")
    assert not any(fate.startswith("in") for fate in fates[line + 1 :])
    assert "of 50 tokens" in table[line]["candidate"]
    assert BUDGET_LINE not in [row["fate"][0] for row in ranked_table(wide, rows_of(wide), {})]


def test_a_row_tells_score_difference_to_the_one_above_and_cost():
    context = a_context(weights={"relevance": 1, "keyword": 1}, budget=5000)
    rows = rows_of(context)
    table = [row for row in ranked_table(context, rows, colours_of(rows[0].contributions)) if row["#"]]
    assert table[0]["Δ above"] is None
    assert table[1]["Δ above"] == rows[1].score - rows[0].score
    assert table[0]["made of"].startswith("data:image/svg+xml,")
    assert table[0]["tokens"] == rows[0].tokens


def test_a_stacked_bar_is_drawn_from_numbers_alone_and_fetches_nothing():
    bar = stacked_bar({"<script>": 0.5, "b": 0.25, "c": -1.0}, {"<script>": "#123456"})
    assert "script" not in bar
    assert bar.count("%3Crect") == 3
    assert "http://www.w3.org/2000/svg" in bar.replace("%3A", ":")


def test_rows_are_narrowed_by_fate_and_by_every_word():
    rows = rows_of(a_context(budget=50, truncator="none"))
    assert all(row.verdict is Verdict.KEPT for row in filter_rows(rows, "In the context"))
    assert [row.key[1] for row in filter_rows(rows, "All", "EYES refunds")] == ["c"]
    assert filter_rows(rows, "Near misses") == near_misses(rows, 99)
    assert len(filter_rows(rows, "Left out")) + len(filter_rows(rows, "In the context")) == len(rows)


def test_two_candidates_that_look_alike_in_the_address_stay_two():
    candidates = [
        a_candidate(id="b/c", source="a", text="one"),
        a_candidate(id="c", source="a/b", text="two"),
    ]
    rows = rows_of(a_context(candidates))
    assert len(options(rows)) == 2
    assert set(options(rows)) == {"a/b/c", "a/b/c (2)"}


def test_a_hostile_text_stays_on_one_line_of_a_label():
    row = rows_of(a_context([a_candidate(text=f"{HOSTILE}\n\n# heading")]))[0]
    assert "\n" not in label_of(row)


def test_signals_are_told_with_weight_and_what_they_add_and_uncounted_ones_after():
    rows = rows_of(a_context(weights={"relevance": 3, "keyword": 1}))
    table = signal_table(rows[0])
    weighed = [entry for entry in table if entry["adds"] is not None]
    assert sum(entry["adds"] for entry in weighed) == rows[0].score
    assert weighed[0]["adds"] >= weighed[1]["adds"]


def test_a_trace_row_tells_the_share_of_the_budget_that_is_used(tmp_path):
    with Journal(tmp_path / "j.db") as journal:
        journal.record(a_context(budget=200))
        journal.record(Context(budget=0))
        table = trace_table(journal.traces())
    assert table[0]["used"] == 0.0
    assert 0 < table[1]["used"] <= 100
    assert table[1]["candidates"] == 4


def test_asking_why_something_is_not_here_leads_to_what_was_left_out_before_what_stands_in_the_context():
    found = options(rows_of(a_context(budget=60, truncator="none")))
    assert searched(found, "office PLANTS") == "memories/d"
    assert searched(found, "memories") == next(n for n, row in found.items() if row.verdict == "dropped")
    assert searched(found, "Invoices first") in {"memories/a", "memories/b"}
    assert searched(found, "nothing like it") is None
    assert searched(found, " ") is None


def test_the_journal_counts_duplicates_as_the_explanation_does(tmp_path):
    contexts = [a_context(budget=budget, truncator="none") for budget in (10, 60, 2000)]
    with Journal(tmp_path / "j.db") as journal:
        for context in contexts:
            journal.record(context)
        journal.flush()
        recorded = [row.duplicates for row in reversed(journal.traces())]
    assert recorded == [1, 1, 1]
    explained = [next(f.value for f in figures(context) if f.label == "Duplicates") for context in contexts]
    assert list(map(int, explained)) == recorded
