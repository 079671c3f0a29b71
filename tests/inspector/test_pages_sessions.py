"""Every page with hostile, mixed or very many texts, and with two sessions at once."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from inspector import state
from langchain_context_engine import Journal
from tests.builders import a_candidate
from tests.inspector.builders import HOSTILE, a_context, a_page, cells, grids, htmls, said


def test_m94_nothing_is_cached_for_the_process_so_no_argument_must_be_hashable():
    """M94: clients and embedders never pass through a Streamlit cache."""
    folder = Path(inspect.getfile(state)).parent
    sources = [path.read_text() for path in folder.rglob("*.py")]
    assert not any("cache_data" in text or "cache_resource" in text for text in sources)


def test_m95_two_sessions_share_nothing():
    """M95: A's traces, grades and tries are nowhere in B's session, even for the same question and name."""
    mine = a_context([a_candidate(id="a", text="only Ann may read this")], query="same question?")
    ann = a_page("judge", trace="upload-1", opened={"upload-1": mine})
    ann.button(key="grade3-memories/a").click().run()
    assert "only Ann" in said(ann)
    bob = a_page("explain", trace="upload-1")
    assert "only Ann" not in said(bob)
    assert "another session" in said(bob)
    theirs = a_context([a_candidate(id="a", text="Bob's own text")], query="same question?")
    judged = a_page("judge", trace="upload-1", opened={"upload-1": theirs})
    assert "Judged: 0 of" in said(judged)
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
    for html in htmls(at):
        assert "<img" not in html
    for labelled in [*at.slider, *at.button, *at.expander, *at.tabs]:
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
    assert len(grids(at)["traces"]["rows"]) == 50


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
    assert "notes" in cells(at, "sheets", "collection")
    assert "This is a copy" in said(at)
    at.text_input(key="new-question").set_value("When do invoices go out?")
    next(b for b in at.button if b.label == "Ask").click().run()
    assert not at.exception
    assert at.session_state["asked"] == 1
    assert at.session_state["trace"] == "asked-1"
    at.run()
    assert at.session_state["asked"] == 1
