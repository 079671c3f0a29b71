"""Files found without vectors: by full text, keywords, spelling, date and reference."""

from __future__ import annotations

import chromadb
import pytest

from langchain_context_engine import ConfigError, ContextRequest, Journal
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.sources.full_text import (
    FileSource,
    Fuzzy,
    OfThread,
    RecentlyAccessed,
    Referenced,
    by_keywords,
    full_text,
)
from tests.builders import a_collection
from tests.chroma_builders import client

__all__ = ["client"]

FILES = [
    {"id": "a", "text": "Invoices are sent monthly to customers.", "path": "docs/invoices.md"},
    {"id": "b", "text": "Customers pay by card.", "path": "src/payments.py"},
    {"id": "c", "text": "The office has a garden.", "path": "docs/garden.md"},
    {"id": "d", "text": "Customers get invoices.", "path": "x", "kind": "chunk"},
]


def a_source(records=FILES, find=full_text, *, owner="ann", client=None, **options):
    owned = [{"user_id": owner, **record} for record in records]
    return FileSource(a_collection(owned, client=client), find, **{"name": "files", **options})


def asked(query="", **fields):
    return ContextRequest(query=query, **{"scope": {"user_id": "ann"}, **fields})


def ids(candidates):
    return [candidate.id for candidate in candidates]


def test_full_text_finds_any_word_in_all_its_forms(client):
    """C2."""
    found = a_source(client=client).fetch(asked("how does a customer get an invoice?"))
    assert set(ids(found)) == {"a", "b", "d"}
    assert found[0].metadata["search_rank"] >= found[-1].metadata["search_rank"] > 0
    assert all(0 < candidate.relevance < 1 for candidate in found)


def test_keywords_must_all_be_there(client):
    """C2."""
    source = a_source(find=by_keywords, without_kinds=("chunk",), client=client)
    assert ids(source.fetch(asked("how do customers get their invoices"))) == ["a"]
    assert source.fetch(asked("customers garden")) == []


@pytest.mark.parametrize("query", ["", "   ", "is it so", "the of and", "!?"])
def test_a_question_without_keywords_finds_nothing(query):
    """C1."""
    assert a_source(find=by_keywords).fetch(asked(query)) == []
    assert a_source(find=full_text).fetch(asked(query)) == []
    assert a_source(find=Fuzzy()).fetch(asked(query)) == []


def test_fuzzy_finds_a_misspelled_path_and_a_misspelled_short_text(client):
    """C2."""
    source = a_source(find=Fuzzy(0.3), client=client)
    by_path = source.fetch(asked("where is the paymnts file?"))
    assert ids(by_path) == ["b"]
    assert by_path[0].metadata["search_rank"] > 0.3
    assert "c" in ids(source.fetch(asked("office gardn")))


def test_fuzzy_sees_what_was_added_changed_and_deleted(client):
    collection = a_collection([{"id": "a", "text": "x", "path": "garden.md"}], client=client)
    source = FileSource(collection, Fuzzy(), name="fuzzy")
    assert ids(source.fetch(ContextRequest(query="gardn"))) == ["a"]
    collection.upsert(ids=["b"], documents=["y"], metadatas=[{"path": "gardens.md"}], embeddings=[[1.0] * 64])
    assert set(ids(source.fetch(ContextRequest(query="gardn")))) == {"a", "b"}
    collection.delete(ids=["a"])
    assert ids(source.fetch(ContextRequest(query="gardn"))) == ["b"]


def test_what_was_accessed_last_comes_first_and_what_never_was_not_at_all(client):
    """C2."""
    records = [
        {"id": "old", "text": "x", "accessed_at": "2026-01-01"},
        {"id": "new", "text": "x", "accessed_at": 1769000000},
        {"id": "never", "text": "x"},
    ]
    assert ids(a_source(records, RecentlyAccessed(), client=client).fetch(asked())) == ["new", "old"]


def test_what_a_user_viewed_is_recent_for_that_user_alone(tmp_path):
    """C2, C11."""
    with Journal(tmp_path / "journal.db") as journal:
        source = a_source(find=RecentlyAccessed(journal=journal))
        assert source.fetch(asked()) == []
        journal.view("ann", (source.collection_name, "c"))
        journal.view("bob", (source.collection_name, "b"))
        assert ids(source.fetch(asked())) == ["c"]


def test_a_thread_is_its_latest_messages_newest_first_undated_ones_last(client):
    """C2."""
    messages = [{"id": f"m{n}", "text": "x", "thread_id": "t1", "created_at": n} for n in range(30)]
    messages += [{"id": "undated", "text": "x", "thread_id": "t2"}]
    source = a_source(messages, OfThread(), limit=20, client=client)
    assert ids(source.fetch(asked(focus={"thread": "t1"}))) == [f"m{n}" for n in range(29, 9, -1)]
    assert ids(source.fetch(asked(focus={"thread": "t2"}))) == ["undated"]
    assert source.fetch(asked()) == []
    assert source.fetch(asked(focus={"thread": ""})) == []


def test_references_are_found_by_id_and_by_path_whole_and_pinned(client):
    """C2."""
    long = {"id": "long", "text": "A sentence of no interest. " * 100, "path": "docs/long.md"}
    source = a_source([*FILES, long], Referenced(), excerpt_characters=None, is_pinned=True, client=client)
    found = source.fetch(asked(focus={"references": ["docs/long.md", "b", "b", "nothing"]}))
    assert ids(found) == ["long", "b"]
    assert found[0].text == long["text"]
    assert all(candidate.is_pinned and candidate.relevance == 1 for candidate in found)


def test_references_kept_for_a_thread_are_found_within_the_scope():
    """C2."""
    kept = a_collection(
        [
            {"id": "r1", "text": "r", "thread_id": "t1", "user_id": "ann", "file_id": "b"},
            {"id": "r2", "text": "r", "thread_id": "t1", "user_id": "bob", "file_id": "a"},
            {"id": "r3", "text": "r", "thread_id": "t2", "user_id": "ann", "file_id": "c"},
        ]
    )
    source = a_source(find=Referenced(kept=CollectionHandle(kept)))
    assert ids(source.fetch(asked(focus={"thread": "t1"}))) == ["b"]


def test_a_long_file_is_shown_by_the_sentences_that_answer_with_marks():
    """C3."""
    filler = "The garden is green and quiet in the evening. " * 40
    text = f"{filler}Invoices are sent on Monday. {filler}"
    found = a_source([{"id": "a", "text": text, "path": "a.md"}]).fetch(asked("when are invoices sent?"))[0]
    assert len(found.text) <= 500
    assert "Invoices are sent on Monday." in found.text
    assert all(piece in text for piece in found.text.split(" … "))
    assert "<<<Invoices>>> are <<<sent>>> on Monday." in found.metadata["excerpt"]
    assert found.metadata["excerpt"].replace("<<<", "").replace(">>>", "") == found.text


@pytest.mark.parametrize(
    "find", [full_text, by_keywords, Fuzzy(0.0), RecentlyAccessed(), OfThread(), Referenced()]
)
def test_no_finder_sees_beyond_the_scope(find, client):
    """Promise 4."""
    record = {"id": "a", "text": "invoices", "path": "invoices", "accessed_at": 1, "thread_id": "t1"}
    collection = a_collection(
        [
            {**record, "id": "mine", "user_id": "ann"},
            {**record, "id": "theirs", "user_id": "bob"},
            {**record, "id": "gone", "user_id": "ann", "deleted": True},
            {**record, "id": "nobodys"},
        ],
        client=client,
    )
    source = FileSource(collection, find, name="files")
    everything = {"thread": "t1", "references": ["mine", "theirs", "gone", "nobodys", "invoices"]}
    assert ids(source.fetch(asked("invoices", focus=everything))) == ["mine"]
    assert ids(source.get(["theirs", "mine", "gone", "nobodys"], asked())) == ["mine"]


@pytest.mark.parametrize("find", [full_text, Fuzzy(0.0), RecentlyAccessed()])
def test_pages_neither_overlap_nor_skip(find):
    records = [
        {"id": f"n{n:02}", "text": "the same invoices", "path": "same", "accessed_at": n % 3}
        for n in range(20)
    ]
    source = a_source(records, find, limit=100)
    whole = ids(source.fetch(asked("invoices")))
    assert len(whole) == 20
    paged = [
        i for offset in (0, 6, 12, 18) for i in ids(source.fetch(asked("invoices", offset=offset, limit=6)))
    ]
    assert paged == whole


def test_filters_hold_but_not_for_what_is_pinned():
    source = a_source()
    assert ids(source.fetch(asked("garden invoices", where={"path": "docs/garden.md"}))) == ["c"]
    assert ids(source.fetch(asked("customers", kinds=("chunk",)))) == ["d"]
    pinned = a_source(find=Referenced(), is_pinned=True)
    named = asked(focus={"references": ["a"]}, where={"path": "x"}, kinds=("message",))
    assert ids(pinned.fetch(named)) == ["a"]


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), True, "0.3", None])
def test_a_wrong_threshold_is_refused_while_building(threshold):
    with pytest.raises(ConfigError, match="threshold"):
        Fuzzy(threshold)


def test_a_question_reads_what_it_may_show_and_not_the_whole_collection(tmp_path):
    """C1: once they are known, dates, spellings and words of all records were read anew for each question."""
    records = [
        {"id": f"n{n:04}", "text": f"invoice {n}", "path": f"f{n}.md", "accessed_at": n, "created_at": n,
         "thread_id": "t1", "user_id": "ann"}
        for n in range(1, 1001)
    ]  # fmt: skip
    collection = a_collection(records, client=chromadb.PersistentClient(str(tmp_path)))
    for find in (full_text, by_keywords, Fuzzy(), RecentlyAccessed(), OfThread()):
        source = FileSource(collection, find, name="files")
        source.prepare()
        source.fetch(asked("invoice 7", focus={"thread": "t1"}))
        read, call = [], source._handle._call

        def counted(method, call=call, read=read, **given):
            read.append(call(method, **given))
            return read[-1]

        source._handle._call = counted
        assert len(source.fetch(asked("invoice 8", focus={"thread": "t1"}))) == 10
        assert sum(len(answer["ids"]) for answer in read) <= 250, find
