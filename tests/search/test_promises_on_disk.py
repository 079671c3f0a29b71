"""The promises, over generated records in a real store on disk, with their index beside it."""

from __future__ import annotations

import uuid

import chromadb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import ChromaSource, ContextEngine
from tests import promises
from tests.builders import WordEmbeddings
from tests.strategies import BUDGETS, QUERIES, candidates, settings_of_engines

EMBEDDINGS = WordEmbeddings()
SOURCES = ("memories", "code")
NOW = "2026-01-01"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return chromadb.PersistentClient(str(tmp_path_factory.mktemp("promises")))


class Kept:
    """Records in two collections of a store."""

    def __init__(self, store):
        self.collections = {
            name: store.create_collection(f"{name}-{uuid.uuid4().hex}", embedding_function=None)
            for name in SOURCES
        }
        self.mine = {}

    def write(self, found, tenant="mine", **more):
        for candidate in found:
            text = candidate.text.encode("utf-8", "replace").decode()
            if tenant == "mine":
                self.mine[self.collections[candidate.source].name, candidate.id] = text
            dated = {} if candidate.created_at is None else {"created_at": candidate.created_at.isoformat()}
            self.collections[candidate.source].upsert(
                ids=[f"{more.get('title', '')}{candidate.id}"],
                documents=[f"{more.get('title', '')} {text}" if more else text],
                metadatas=[{**candidate.metadata, "kind": candidate.kind, "tenant": tenant, **dated, **more}],
                embeddings=EMBEDDINGS.embed_documents([text or "nothing"]),
            )

    def delete(self, candidate):
        collection = self.collections[candidate.source]
        collection.delete(ids=[candidate.id])
        self.mine.pop((collection.name, candidate.id), None)

    def engine(self, config):
        sources = [ChromaSource(each, embeddings=EMBEDDINGS) for each in self.collections.values()]
        engine = ContextEngine(sources=sources, scope_keys=("tenant",), **config)
        for source in engine.sources:
            source.prepare()
        return engine


def check(kept, engine, query, budget):
    """Ask, hold the answer against the promises and the records as they are now, and return it."""
    asked = {"budget": budget, "scope": {"tenant": "mine"}, "now": NOW}
    context = engine.build(query, **asked)
    assert not [warning for warning in context.warnings if "words of" in warning]
    fell = {decision.key for decision in context.decisions if decision.stage == "collect"}
    found = {candidate.key: candidate.text for candidate in context.candidates}
    promises.hold(context, engine, found.keys() | fell, budget)
    assert found.items() <= kept.mine.items()
    if query.strip() and budget:
        assert found.keys() | fell == kept.mine.keys()
    assert "SECRET" not in str(context.to_dict())
    promises.scores_sort_and_add_up(engine.search(query, scope={"tenant": "mine"}, now=NOW))
    promises.async_gives_the_same(context, engine, query, **asked)
    return context


@given(
    written=st.tuples(candidates(max_size=8), candidates(max_size=3)),
    config=settings_of_engines(),
    query=QUERIES,
    budget=BUDGETS,
)
@settings(deadline=None, max_examples=12)
def test_the_promises_hold_over_an_index_on_disk_and_after_writes(store, written, config, query, budget):
    """Promises 1, 2, 4, 5, 6, 7, 9 and 10."""
    found, later = written
    kept = Kept(store)
    kept.write(found)
    kept.write(found, "theirs", title="SECRET")
    engine = kept.engine(config)
    check(kept, engine, query, budget)
    # Of `later`, those whose ids are there already change; the first that was there goes.
    kept.write(later)
    for candidate in found[:1]:
        kept.delete(candidate)
    context = check(kept, engine, query, budget)
    assert check(kept, kept.engine(config), query, budget).text == context.text
