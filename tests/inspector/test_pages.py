"""Every page by Streamlit's AppTest: what it shows, what a press does, what a broken address does."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from inspector import state
from inspector.opening import sample_names
from langchain_context_engine import Journal
from tests.builders import a_candidate
from tests.inspector.builders import HOSTILE, a_context, a_page, said

PAGES = ("traces", "explain", "tune", "compare", "judge", "collections")


@pytest.fixture(autouse=True)
def _no_journal(monkeypatch):
    monkeypatch.delenv("CONTEXT_ENGINE_JOURNAL", raising=False)
    monkeypatch.delenv("CONTEXT_ENGINE_TRACE", raising=False)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("trace", [None, *sample_names()])
def test_every_page_opens_with_and_without_a_trace(page, trace):
    at = a_page(page, trace=trace)
    assert not at.exception
    assert "This did not work" not in said(at)


def test_the_empty_state_tells_in_three_lines_how_to_record():
    at = a_page("traces")
    recipe = next(code.value for code in at.code if "journal" in code.value)
    assert len(recipe.splitlines()) == 3
    assert any("Load the sample" in button.label for button in at.button)


@pytest.mark.parametrize("page", ["explain", "tune", "judge"])
def test_a_page_that_needs_a_trace_offers_a_sample(page):
    at = a_page(page)
    assert "No trace is open yet" in said(at)
    assert any("Load the sample" in button.label for button in at.button)


def test_a_journal_lists_its_questions_and_pages_through_them(tmp_path, monkeypatch):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        for number in range(60):
            journal.record(a_context(query=f"question {number}?"))
    at = a_page("traces", journal=path, monkeypatch=monkeypatch)
    assert "60 of 60 questions" in said(at)
    assert len(at.dataframe[0].value) == 50
    found = a_page("traces", journal=path, monkeypatch=monkeypatch, q="question 7")
    assert len(found.dataframe[0].value) == 1


def test_a_journal_that_is_not_there_yet_is_waited_for(tmp_path, monkeypatch):
    at = a_page("traces", journal=tmp_path / "none.db", monkeypatch=monkeypatch)
    assert "Nothing is recorded yet" in said(at)
    assert not (tmp_path / "none.db").exists()


def test_a_file_that_is_no_journal_is_a_card(tmp_path, monkeypatch):
    path = tmp_path / "j.db"
    path.write_text("this is no database, it is a text that is long enough to look at" * 40)
    at = a_page("traces", journal=path, monkeypatch=monkeypatch)
    assert not at.exception
    assert "This did not work" in said(at)


@pytest.mark.parametrize("trace", ["nothing-like-it", "../../etc/passwd", "upload-0123456789ab", "%3Cb%3E"])
@pytest.mark.parametrize("page", ["explain", "tune", "judge"])
def test_an_address_that_names_no_trace_is_a_card_that_says_what_to_do(page, trace):
    at = a_page(page, trace=trace)
    assert not at.exception
    assert "This did not work" in said(at)
    assert "Traces page" in said(at)


def test_the_explanation_tells_figures_fates_and_the_chosen_candidate():
    at = a_page("explain", trace="sample-weighted")
    assert [metric.label for metric in at.metric] == [
        "Tokens",
        "Passages",
        "Candidates",
        "Duplicates",
        "Time",
        "Status",
    ]
    table = at.dataframe[0].value
    assert table["fate"].str[0].str.startswith(("in", "out", "budget")).all()
    assert "budget line" in set(table["fate"].str[0])


def test_next_and_previous_walk_through_the_candidates():
    at = a_page("explain", trace="sample-weighted")
    names = at.selectbox(key="candidate").options
    at.button(key="next").click().run()
    at.button(key="next").click().run()
    assert names.index(_label(at)) == 2
    at.button(key="previous").click().run()
    assert names.index(_label(at)) == 1


def _label(at):
    box = at.selectbox(key="candidate")
    return box.options[box.index]


def test_a_row_of_the_table_leads_to_its_candidate():
    at = a_page("explain", trace="sample-weighted")
    option = at.dataframe[0].value["option"][3]
    at.session_state["ranked"] = {"selection": {"rows": [3], "columns": [], "cells": []}}
    at.session_state["candidate"] = option
    at.run()
    assert at.session_state["candidate"] == option


def test_what_was_never_offered_is_told_apart_from_what_was_left_out():
    at = a_page("explain", trace="sample-weighted", find="zzz-no-such-thing")
    assert "no source offered it" in said(at)
    assert "scope" in set(at.dataframe[0].value["field"])


def test_what_would_admit_a_candidate_is_found_and_opens_in_tune():
    context = a_context(budget=60, truncator="none")
    at = a_page("explain", trace="upload-1", opened={"upload-1": context}, candidate="memories/d")
    assert "no room" in said(at)
    next(b for b in at.button if b.label.startswith("Find the smallest")).click().run()
    assert "budget from 60 to" in said(at)
    assert any(b.label == "See it in Tune" for b in at.button)


@pytest.mark.parametrize("section", ["Budget", "Duplicates", "Text", "Export"])
def test_every_section_of_the_explanation_opens(section):
    at = a_page("explain", trace="sample-duplicates", section=section)
    assert not at.exception
    assert "This did not work" not in said(at)


def test_a_citation_leads_to_its_candidate():
    at = a_page("explain", trace="sample-duplicates", section="Text")
    at.button(key="cite-1").click().run()
    assert at.session_state["section"] == "Candidates"
    assert at.session_state["candidate"]


def test_a_turned_weight_gives_another_order_and_can_be_undone():
    at = a_page("tune", trace="sample-weighted")
    before = at.code[0].value, list(at.dataframe[0].value["candidate"])
    at.slider(key="w_relevance").set_value(0.0).run()
    assert list(at.dataframe[0].value["candidate"]) != before[1]
    assert list(at.dataframe[1].value["changed"])[-1] == "as recorded"
    at.button(key="undo").click().run()
    assert at.slider(key="w_relevance").value == 0.5
    assert list(at.dataframe[0].value["candidate"]) == before[1]


def test_settings_come_from_the_address_and_nonsense_in_it_is_dropped():
    at = a_page(
        "tune",
        trace="sample-weighted",
        budget="300",
        w_relevance="7",
        order="evil",
        w_nope="1",
        w_importance="0.3",
    )
    assert at.slider(key="budget").value == 300
    assert at.slider(key="w_relevance").value == 0.5
    assert at.selectbox(key="order").value == "relevance"
    assert at.slider(key="w_importance").value == 0.3
    assert not at.exception


def test_all_weights_at_zero_are_a_card_not_a_crash():
    at = a_page(
        "tune",
        trace="sample-weighted",
        w_relevance="0",
        w_recency_half_life="0",
        w_confidence="0",
        w_keyword="0",
    )
    assert not at.exception
    assert "at least one must be above 0" in said(at)


def test_a_preset_turns_the_knobs():
    at = a_page("tune", trace="sample-weighted")
    at.selectbox(key="preset").select("Half the budget").run()
    assert at.slider(key="budget").value == 350


def test_what_needs_a_new_question_is_said():
    assert "need a new question" in said(a_page("tune", trace="sample-latest"))


def test_a_part_given_as_a_function_is_explained_and_not_replayed():
    context = a_context(order=lambda passages: tuple(reversed(passages)))
    opened = {"upload-1": context}
    explained = a_page("explain", trace="upload-1", opened=opened)
    assert "given as a function" in said(explained)
    assert "This did not work" not in said(explained)
    assert "This did not work" in said(a_page("tune", trace="upload-1", opened=opened))


def test_two_samples_are_compared_by_candidate():
    at = a_page("compare", trace="sample-latest")
    at.multiselect(key="compare").set_value(["sample-latest", "sample-weighted"]).run()
    assert not at.exception
    assert list(at.dataframe[0].value[""]) == ["A", "B"]
    assert {"A", "B"} <= set(at.dataframe[1].value.columns)


def test_a_grade_is_kept_counted_and_taken_back():
    at = a_page("judge", trace="sample-weighted")
    assert at.metric[0].value.startswith("0 of")
    at.button(key="grade3").click().run()
    at.button(key="up").click().run()
    assert at.metric[0].value.startswith("2 of")
    at.button(key="jprevious").click().run()
    at.button(key="ungrade").click().run()
    assert at.metric[0].value.startswith("1 of")


def test_grades_go_to_the_journal_where_there_is_one(tmp_path, monkeypatch):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        name = journal.record(a_context())
    at = a_page("judge", trace=name, journal=path, monkeypatch=monkeypatch)
    at.button(key="grade2").click().run()
    with Journal(path) as journal:
        assert [(j.key, j.grade) for j in journal.judgments()] == [(("memories", "a"), 2)]
    over = a_page("judge", journal=path, monkeypatch=monkeypatch, judging="All judged questions")
    assert over.metric[0].label == "nDCG@10"
    assert list(over.dataframe[0].value["question"]) == ["When do invoices go out?"]


def test_m94_nothing_is_cached_for_the_process_so_no_argument_must_be_hashable():
    """M94: clients and embedders never pass through a Streamlit cache."""
    folder = Path(inspect.getfile(state)).parent
    sources = [path.read_text() for path in folder.rglob("*.py")]
    assert not any("cache_data" in text or "cache_resource" in text for text in sources)


def test_m95_two_sessions_share_nothing():
    """M95: A's traces, grades and tries are nowhere in B's session, even for the same question and name."""
    mine = a_context([a_candidate(id="a", text="only Ann may read this")], query="same question?")
    ann = a_page("judge", trace="upload-1", opened={"upload-1": mine})
    ann.button(key="grade3").click().run()
    assert "only Ann" in said(ann)
    bob = a_page("explain", trace="upload-1")
    assert "only Ann" not in said(bob)
    assert "another session" in said(bob)
    theirs = a_context([a_candidate(id="a", text="Bob's own text")], query="same question?")
    judged = a_page("judge", trace="upload-1", opened={"upload-1": theirs})
    assert judged.metric[0].value.startswith("0 of")
    assert "only Ann" not in said(judged)


@pytest.mark.parametrize("page", ["explain", "tune", "judge", "compare", "collections"])
@pytest.mark.parametrize("section", ["Candidates", "Text", "Duplicates"])
def test_m96_texts_are_shown_as_texts(page, section):
    """M96: HTML, Markdown, LaTeX and pictures in texts, ids, titles and questions are literal."""
    candidates = [
        a_candidate(
            id=HOSTILE,
            source=HOSTILE[:30],
            text=f"{HOSTILE} {word}",
            metadata={"title": HOSTILE},
            kind=HOSTILE,
        )
        for word in ("alpha", "alpha ", "gamma delta")
    ]
    context = a_context(candidates, query=HOSTILE)
    at = a_page(page, trace="upload-1", opened={"upload-1": context}, section=section)
    assert not at.exception
    assert "This did not work" not in said(at)
    for element in [*at.markdown, *at.caption, *at.title, *at.subheader]:
        assert not getattr(element, "allow_html", False)
        assert "onerror" not in element.value
    for labelled in [*at.slider, *at.button, *at.expander, *at.metric, *at.tabs]:
        # Where a name must be a label, every sign that Markdown reads is escaped.
        assert "<img" not in labelled.label.replace("\\<", "")
        assert "![" not in labelled.label.replace("\\!", "")


def test_m97_metadata_of_mixed_types_is_shown():
    """M97: one column with 10.0, "OK" and a tuple is no Arrow error."""
    candidates = [
        a_candidate(id=str(i), text=f"text {word}", metadata={"v": value})
        for i, (word, value) in enumerate([("one", 10.0), ("two", "OK"), ("three", (1, 2)), ("four", None)])
    ]
    for page in ("explain", "judge", "collections"):
        at = a_page(page, trace="upload-1", opened={"upload-1": a_context(candidates)})
        assert not at.exception
        assert "This did not work" not in said(at)


def test_m97_a_hundred_thousand_traces_are_paged(tmp_path, monkeypatch):
    """M97: a page reads fifty rows, whatever the journal holds."""
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        journal.record(a_context())
    import sqlite3

    with sqlite3.connect(path) as connection:
        columns = [
            row[1]
            for row in connection.execute("PRAGMA table_info(traces)")
            if row[1] not in {"number", "id"}
        ]
        connection.execute(
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99999) "
            f"INSERT INTO traces (id, {', '.join(columns)}) SELECT 'copy' || i, {', '.join(columns)} FROM traces, n"
        )
    at = a_page("traces", journal=path, monkeypatch=monkeypatch)
    assert "100,000 of 100,000 questions" in said(at)
    assert len(at.dataframe[0].value) == 50


def test_m98_one_press_asks_once_and_a_run_ends(tmp_path):
    """M98: no rerun loop; a question is asked by its press alone, once."""
    import chromadb

    from langchain_context_engine import LocalEmbeddings

    embeddings = LocalEmbeddings()
    collection = chromadb.PersistentClient(path=str(tmp_path)).create_collection(
        "notes", embedding_function=None
    )
    texts = ["Invoices go out on the first.", "Plants are watered on Friday."]
    collection.add(ids=["1", "2"], documents=texts, embeddings=embeddings.embed_documents(texts))
    at = a_page("collections")
    at.text_input(key="where").set_value(str(tmp_path))
    next(b for b in at.button if b.label == "Open").click().run()
    assert "notes" in set(at.dataframe[0].value["collection"])
    assert "read directly" in said(at)
    at.text_input(key="new-question").set_value("When do invoices go out?")
    next(b for b in at.button if b.label == "Ask").click().run()
    assert not at.exception
    assert at.session_state["asked"] == 1
    assert at.session_state["trace"] == "asked-1"
    at.run()
    assert at.session_state["asked"] == 1
