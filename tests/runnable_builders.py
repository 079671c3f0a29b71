"""Runnables over facts about billing, and a handler that notes every event."""

from __future__ import annotations

from langchain_core.callbacks import BaseCallbackHandler

from langchain_context_engine import ContextEngine, ContextRunnable
from tests.builders import ListSource, a_candidate


def a_source():
    return ListSource(
        [
            a_candidate(
                id=f"r{i}", text=f"Fact {i} about billing.", relevance=0.9 - i / 10, metadata={"user": "u1"}
            )
            for i in range(5)
        ]
    )


def a_runnable(source=None, **bound):
    return ContextRunnable(ContextEngine(sources=[source or a_source()]), **bound)


def same(*contexts):
    return len({(c.text, c.tokens, c.passages, c.status) for c in map(_hashable, contexts)}) == 1


def _hashable(context):
    class Figures:
        text, tokens, status = context.text, context.tokens, context.status
        passages = tuple((p.key, p.citation) for p in context.passages)

    return Figures


class Recorder(BaseCallbackHandler):
    def __init__(self):
        self.starts, self.ends, self.custom = [], [], []

    def on_chain_start(self, serialized, inputs, *, run_id, parent_run_id=None, name=None, **kwargs):
        self.starts.append((name, run_id, parent_run_id))

    def on_chain_end(self, outputs, *, run_id, **kwargs):
        self.ends.append((run_id, outputs))

    def on_custom_event(self, name, data, *, run_id, **kwargs):
        self.custom.append((name, run_id, data))
