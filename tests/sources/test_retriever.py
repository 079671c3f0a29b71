"""RetrieverSource over real LangChain retrievers."""

from __future__ import annotations

import contextvars
import threading

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from pydantic import Field

from langchain_context_engine import ContextEngine
from langchain_context_engine.errors import SourceError
from langchain_context_engine.sources.retriever import RetrieverSource
from tests.builders import ListSource, a_candidate, a_request


class Listed(BaseRetriever):
    documents: list[Document] = Field(default_factory=list)

    def _get_relevant_documents(self, query, *, run_manager):
        return self.documents


class Failing(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        raise RuntimeError("refused for api_key=sk-test-abc")


class Starts(BaseCallbackHandler):
    def __init__(self):
        self.parents = []
        self.ends = 0

    def on_retriever_start(self, serialized, query, *, run_id, parent_run_id=None, **kwargs):
        self.parents.append(parent_run_id)

    def on_retriever_end(self, documents, **kwargs):
        self.ends += 1


def a_source(*documents: Document, **options) -> RetrieverSource:
    return RetrieverSource(Listed(documents=list(documents)), **{"name": "docs", **options})


def test_relevance_falls_by_rank_where_nothing_states_it():
    found = a_source(Document("a"), Document("b"), Document("c")).fetch(a_request())
    assert [c.relevance for c in found] == [1, 1 / 2, 1 / 3]


@pytest.mark.parametrize("key", ["relevance_score", "score", "similarity"])
def test_a_stated_score_is_the_relevance(key):
    found = a_source(Document("a", metadata={key: 0.9}), Document("b", metadata={key: 0.2})).fetch(
        a_request()
    )
    assert [c.relevance for c in found] == [0.9, 0.2]


def test_what_is_out_of_scope_is_left_out_before_a_page_is_cut():
    """J83."""
    documents = [Document(str(i), metadata={"user": "A" if i % 2 else "B"}) for i in range(6)]
    found = a_source(*documents, Document("no user")).fetch(a_request(scope={"user": "A"}, offset=1))
    assert [c.text for c in found] == ["3", "5"]


@pytest.mark.parametrize("asked", [{"limit": 0}, {"query": ""}, {"query": "  "}])
async def test_nothing_asked_asks_nobody(asked):
    """C24, I74."""
    source = RetrieverSource(Failing(), name="docs")
    assert source.fetch(a_request(**asked)) == []
    assert await source.afetch(a_request(**asked)) == []


def test_a_failure_costs_its_own_candidates_and_names_the_source_and_no_secret():
    """L93."""
    engine = ContextEngine([RetrieverSource(Failing(), name="docs"), ListSource([a_candidate()])])
    (warning,) = [told for told in engine.build("billing").warnings if "docs" in told]
    assert "failed" in warning
    assert "sk-test" not in warning


@pytest.mark.parametrize("answer", [None, "text", ["text"], {"documents": []}])
def test_an_answer_that_is_no_list_of_documents_is_a_failure(answer):
    with pytest.raises(SourceError, match="Documents"):
        RetrieverSource(RunnableLambda(lambda _: answer), name="docs").fetch(a_request())


async def test_async_gives_the_same():
    """Promise 10."""
    source = a_source(Document("a", id="1"), Document("b"))
    assert await source.afetch(a_request()) == source.fetch(a_request())


def test_callbacks_of_a_surrounding_run_reach_a_copied_context_in_a_thread():
    """H71."""
    starts = Starts()
    source = a_source(Document("a"))

    def inside(_):
        context = contextvars.copy_context()
        thread = threading.Thread(target=lambda: context.run(source.fetch, a_request()))
        thread.start()
        thread.join()

    RunnableLambda(inside).invoke("q", config={"callbacks": [starts]})
    assert len(starts.parents) == 1
    assert starts.parents[0] is not None
