"""Retrievers over facts about billing."""

from __future__ import annotations

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
