"""ContextRetriever: one run a call, where it belongs, with one custom event."""

from __future__ import annotations

import asyncio
import json

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableLambda

from langchain_context_engine import ChromaSource, ContextEngine, ContextRetriever
from tests.builders import ListSource, WordEmbeddings, a_collection
from tests.retriever_builders import AsyncRecorder, Recorder, a_retriever, a_source


@pytest.mark.parametrize("recorder", [Recorder, AsyncRecorder])
async def test_each_call_is_one_run_under_its_parent_with_one_custom_event(recorder):
    """H71: invoke, ainvoke, batch and abatch."""
    retriever = a_retriever(k=2)

    async def all_ways(_, config):
        await asyncio.to_thread(retriever.invoke, "a", config)
        await retriever.ainvoke("b", config)
        await asyncio.to_thread(retriever.batch, ["c", "d"], config)
        await retriever.abatch(["e", "f"], config)

    seen = recorder()
    roots = []

    class Roots(BaseCallbackHandler):
        def on_chain_start(self, *args, run_id, **kwargs):
            roots.append(run_id)

    await RunnableLambda(all_ways).ainvoke("x", {"callbacks": [seen, Roots()]})
    starts, ends, events = seen.named("start"), seen.named("end"), seen.named("context_assembled")
    assert len(starts) == len(ends) == len(events) == 6
    assert {e[1] for e in starts} == {e[1] for e in ends} == {e[1] for e in events}
    assert {e[2] for e in starts} == {roots[0]}


async def test_the_custom_event_is_json_ready_and_reaches_astream_events():
    retriever = a_retriever(k=2)
    found = [
        e async for e in retriever.astream_events("billing", version="v2") if e["event"] == "on_custom_event"
    ]
    (event,) = found
    assert event["name"] == "context_assembled"
    data = json.loads(json.dumps(event["data"]))
    assert [p["id"] for p in data["passages"]] == ["r0", "r1"]
    assert data["status"] == "ok"
    assert 0 < data["tokens"] <= data["budget"]
    assert data["candidates"] == 5
    assert sum(data["dropped"].values()) == 3


async def test_an_error_ends_the_run():
    """H71."""
    seen = Recorder()
    with pytest.raises(TypeError):
        a_retriever().invoke("a", {"callbacks": [seen]}, typo=1)
    assert [e[0] for e in seen.events] == ["start", "error"]


async def test_runs_that_a_source_starts_are_children_of_the_retriever_s():
    """H71."""

    class Nested(ListSource):
        def fetch(self, request):
            RunnableLambda(lambda x: x).invoke("inner")
            return super().fetch(request)

    parents = []

    class Chains(BaseCallbackHandler):
        def on_chain_start(self, *args, run_id, parent_run_id=None, **kwargs):
            parents.append(parent_run_id)

    seen = Recorder()
    retriever = a_retriever(Nested(a_source().candidates))
    retriever.invoke("a", {"callbacks": [seen, Chains()]})
    await retriever.ainvoke("a", {"callbacks": [seen, Chains()]})
    assert parents == [event[1] for event in seen.named("start")]


def test_tags_metadata_and_names_of_store_and_embedding_reach_the_run():
    """B8."""
    embeddings = WordEmbeddings()
    source = ChromaSource(a_collection([], embeddings=embeddings), embeddings=embeddings)
    retriever = ContextRetriever(
        engine=ContextEngine(sources=[source]), tags=["own"], metadata={"team": "billing"}
    )
    seen = Recorder()
    retriever.invoke("a", {"callbacks": [seen], "tags": ["call"], "metadata": {"x": 1}, "run_name": "ask"})
    ((_, _, _, run),) = seen.named("start")
    assert {"own", "call"} <= set(run["tags"])
    assert run["name"] == "ask"
    assert (
        run["metadata"]
        | {
            "team": "billing",
            "x": 1,
            "ls_retriever_name": "context",
            "ls_vector_store_provider": "chroma",
            "ls_embedding_provider": "WordEmbeddings",
        }
        == run["metadata"]
    )
