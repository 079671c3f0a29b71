"""Builders that the tests of the memory design share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from langchain_context_engine.designs import MemoryEngine
from tests.builders import WordEmbeddings, a_collection

TIMELINE = "What did we discuss about the project timeline?"
NOW = datetime.now(UTC)


def days_ago(days):
    return (NOW - timedelta(days=days)).isoformat()


RECORDS = [
    {"id": "m1", "text": "The project timeline ends in May.", "type": "decision", "confidence": 0.9,
     "created_at": days_ago(1), "conversation_id": "c1"},
    {"id": "m2", "text": "The project budget is fixed.", "type": "fact", "confidence": 0.4,
     "created_at": days_ago(40), "conversation_id": "c2"},
    {"id": "m3", "text": "Ana prefers short meetings about the timeline.", "type": "preference",
     "created_at": days_ago(10)},
]  # fmt: skip
OTHER = [{"id": "x1", "text": "The secret project timeline of another company.", "type": "fact"}]


def a_memory(records=RECORDS, *, others=OTHER, embeddings=None, **settings):
    embeddings = WordEmbeddings() if embeddings is None else embeddings
    everything = [{"workspace_id": "acme", **r} for r in records]
    everything += [{"workspace_id": "other", **r} for r in others]
    return MemoryEngine(a_collection(everything, embeddings=embeddings), embeddings, **settings)


def ids(results):
    return [result.memory.id for result in results]
