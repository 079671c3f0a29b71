"""Retrievers over facts about billing, and handlers that note every event."""

from __future__ import annotations

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler

from langchain_context_engine import ContextEngine, ContextRetriever
from tests.builders import ListSource, a_candidate

TEXTS = [
    "Invoices are sent on the first working day of each month.",
    "Billing disputes are answered by the finance team within two days.",
    "We decided to bill in euros and to show prices without taxes.",
    "The billing service retries a failed card payment three times.",
    "Refunds above one hundred euros need the approval of a manager.",
]


def a_source(**fields):
    return ListSource(
        [
            a_candidate(
                id=f"r{i}",
                text=text,
                relevance=0.9 - i / 10,
                metadata={"title": f"Title {i}", "tags": ["a", "b"], **fields},
            )
            for i, text in enumerate(TEXTS)
        ]
    )


def a_retriever(source=None, **fields):
    return ContextRetriever(engine=ContextEngine(sources=[source or a_source()]), **fields)


class Recorder(BaseCallbackHandler):
    """Notes every event with its run and its parent."""

    def __init__(self):
        self.events = []

    def on_retriever_start(self, serialized, query, *, run_id, parent_run_id=None, **kwargs):
        self.events.append(("start", run_id, parent_run_id, kwargs))

    def on_retriever_end(self, documents, *, run_id, parent_run_id=None, **kwargs):
        self.events.append(("end", run_id, parent_run_id, kwargs))

    def on_retriever_error(self, error, *, run_id, parent_run_id=None, **kwargs):
        self.events.append(("error", run_id, parent_run_id, kwargs))

    def on_custom_event(self, name, data, *, run_id, **kwargs):
        self.events.append((name, run_id, None, data))

    def named(self, name):
        return [event for event in self.events if event[0] == name]


class AsyncRecorder(AsyncCallbackHandler, Recorder):
    async def on_retriever_start(self, *args, **kwargs):
        Recorder.on_retriever_start(self, *args, **kwargs)

    async def on_retriever_end(self, *args, **kwargs):
        Recorder.on_retriever_end(self, *args, **kwargs)

    async def on_custom_event(self, *args, **kwargs):
        Recorder.on_custom_event(self, *args, **kwargs)
