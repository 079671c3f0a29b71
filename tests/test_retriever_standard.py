"""LangChain's own integration suite for retrievers, unmodified, over a real Chroma collection."""

from __future__ import annotations

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests

from langchain_context_engine import ChromaSource, ContextEngine, ContextRetriever
from tests.builders import WordEmbeddings, a_collection

RECORDS = [
    {"id": "r1", "text": "Invoices are sent on the first working day of each month."},
    {"id": "r2", "text": "Billing disputes are answered by the finance team within two days."},
    {"id": "r3", "text": "We decided to bill in euros and to show prices without taxes."},
    {"id": "r4", "text": "The billing service retries a failed card payment three times."},
    {"id": "r5", "text": "Refunds above one hundred euros need the approval of a manager."},
]


class TestContextRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _an_engine(self):
        embeddings = WordEmbeddings()
        source = ChromaSource(a_collection(RECORDS, embeddings=embeddings), embeddings=embeddings)
        self.engine = ContextEngine(sources=[source])

    @property
    def retriever_constructor(self):
        return ContextRetriever

    @property
    def retriever_constructor_params(self):
        return {"engine": self.engine}

    @property
    def retriever_query_example(self):
        return "what did we decide about billing?"
