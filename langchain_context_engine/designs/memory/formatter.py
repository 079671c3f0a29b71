"""`ContextFormatter`: the document's formatter as an object, for memories that were found elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_context_engine.designs.memory.answers import ContextResult
from langchain_context_engine.designs.memory.results import SearchResult
from langchain_context_engine.designs.memory.templates import ContextTemplate, as_template
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.signals import Stated
from langchain_context_engine.rendering.templates import TEMPLATES, Template
from langchain_context_engine.text.tokens import resolve_tokenizer
from langchain_context_engine.trace.assemble import assemble
from langchain_context_engine.trace.config import EngineConfig

_PLACE = "\0place"


class ContextFormatter:
    """Writes memories into a context that fits a budget, in the order in which they are given.

    Args:
        tokenizer: What counts tokens; see `EngineConfig`.

    Example:
        >>> from langchain_context_engine.designs.memory.results import Memory
        >>> found = [SearchResult(memory=Memory(id="m", content="Ship in May."), score=0.9)]
        >>> print(ContextFormatter().format(found, "summary", 100))
        Key information:
        Ship in May.
    """

    def __init__(self, tokenizer: Any = "auto") -> None:
        self._count = resolve_tokenizer(tokenizer)

    def format(
        self, memories: Sequence[SearchResult], template: str | ContextTemplate | Template, token_budget: int
    ) -> ContextResult:
        """Return the memories in a template, the first ones first; what does not fit is cut or left out.

        Raises:
            ConfigError: The template or the budget is wrong.
        """
        shown = as_template(TEMPLATES[template] if isinstance(template, str) else template)
        config = EngineConfig(
            tokenizer=self._count, budget=token_budget, template=shown, selection="score",
            weights={"given_order": 1.0}, signals={"given_order": Stated(key=_PLACE)},
            shown_score="relevance", dedupe_threshold=None, dedupe_rules=(),
        )  # fmt: skip
        given = [_candidate(result, 1 - i / (1 + len(memories))) for i, result in enumerate(memories)]
        request = ContextRequest(budget=token_budget)
        context = assemble(given, request, config.parts()) if token_budget else None
        if context is None:
            return ContextResult(template=shown.name, truncated=bool(memories))
        kept = {passage.key[1] for passage in context.passages}
        return ContextResult(
            context=context.text,
            token_count=context.tokens,
            memories=tuple(result for result in memories if result.memory.id in kept),
            truncated=context.is_truncated,
            template=shown.name,
            warnings=context.warnings,
            trace=context,
        )

    def estimate_tokens(self, text: str) -> int:
        """Return the tokens of a text: counted, not estimated."""
        return self._count(text)

    def truncate_to_fit(
        self, memories: Sequence[SearchResult], template: str | ContextTemplate | Template, token_budget: int
    ) -> tuple[SearchResult, ...]:
        """Return the memories that stand in the context that `format` would write."""
        return self.format(memories, template, token_budget).memories


def _candidate(result: SearchResult, place: float) -> Candidate:
    memory = result.memory
    return Candidate(
        id=memory.id,
        text=memory.content,
        source="memories",
        kind=memory.type,
        relevance=result.score,
        created_at=memory.created_at,
        metadata={**memory.metadata, "confidence": memory.confidence, _PLACE: place},
    )
