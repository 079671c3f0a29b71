"""Row L1 and L2: a searcher with the document's five methods, asynchronous as it writes them, is plugged in."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from langchain_context_engine import ConfigError
from langchain_context_engine.designs import LearningMemoryAssembler
from tests.designs.learning_builders import ALL, NOW, a_commit, a_memory, a_unit, a_value, an_experience


@dataclass
class Found:
    id: str
    content: str
    score: float
    metadata: dict = field(default_factory=dict)


def found(record, score):
    own = dict(record)
    return Found(id=own.pop("id"), content=own.pop("text"), score=score, metadata=own)


class DocumentsSearcher:
    def __init__(self):
        self.asked = []

    async def search_memories(self, query, limit):
        self.asked.append(("memories", query, limit))
        return [found(a_memory(), 0.9)]

    async def search_code(self, query, limit):
        return [found(a_unit(), 0.8)]

    async def search_experiences(  # noqa: PLR0917 - the document's own arguments
        self, query, axis="full", domain=None, outcome=None, strategy=None, limit=20
    ):
        self.asked.append((axis, query, limit, domain, outcome, strategy))
        record = an_experience(f"e-{axis}", ghap_id="g1")
        for told in ("domain", "strategy", "outcome_status"):
            del record[told]
        return [found(record, 0.7)]

    async def search_values(self, query, limit):
        return [found(a_value(), 0.6)]

    def search_commits(self, query, limit):
        return [{**a_commit(), "message": "Clear the token cache", "similarity": 0.5}]


async def test_the_documents_searcher_is_asked_and_formatted():
    """L1, L3"""
    searcher = DocumentsSearcher()
    assembler = LearningMemoryAssembler(searcher)
    result = await assembler.assemble_context("flaky login", ALL, limit=7, now=NOW)
    assert result.sources_used == {"memory": 1, "code": 1, "experience": 1, "value": 1, "commit": 1}
    assert result.markdown == assembler.assemble_context_sync("flaky login", ALL, limit=7, now=NOW).markdown
    assert ("memories", "flaky login", 7) in searcher.asked
    assert (
        "**Memory**: Login tokens are signed with RS256.\n*Category: decision, Importance: 0.8*"
        in result.markdown
    )
    assert "**Commit** `abcdef1` by Ann" in result.markdown
    assert next(i for i in result.items if i.source == "memory").relevance == 0.9


async def test_a_premortem_asks_it_what_the_document_asks():
    """L2"""
    searcher = DocumentsSearcher()
    result = await LearningMemoryAssembler(searcher).get_premortem_context("debugging", "guessing", now=NOW)
    assert ("full", "failures and issues in debugging", 10, "debugging", "falsified", None) in searcher.asked
    assert ("strategy", "outcomes using guessing strategy", 10, None, None, "guessing") in searcher.asked
    assert ("root_cause", "why hypotheses fail in debugging", 10, "debugging", None, None) in searcher.asked
    assert "## Common Failures\n**Experience**: debugging" in result.markdown
    assert result.markdown.endswith("*Based on 1 past experiences*")


async def test_a_method_that_fails_costs_its_own_kind():
    """L10"""
    searcher = DocumentsSearcher()
    searcher.search_code = searcher.search_values = lambda query, limit: 1 / 0
    result = await LearningMemoryAssembler(searcher).assemble_context("login", ALL, now=NOW)
    assert result.is_partial
    assert "code" not in result.sources_used
    only = await LearningMemoryAssembler(searcher).assemble_context("login", ["code", "values"], now=NOW)
    assert (only.markdown, only.is_partial, len(only.warnings)) == ("", True, 2)


def test_what_has_no_method_is_no_searcher():
    """L10"""
    with pytest.raises(ConfigError, match="search_memories"):
        LearningMemoryAssembler(object())
