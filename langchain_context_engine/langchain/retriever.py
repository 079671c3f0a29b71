"""`ContextRetriever`: an engine as a LangChain retriever."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import ensure_config, set_config_context
from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from langchain_context_engine.langchain.calls import (
    REQUEST_FIELDS,
    Builder,
    aannounce,
    announce,
    check_options,
    described,
    narrowed,
    refuse_pickling,
)
from langchain_context_engine.models.types import ContextRequest
from langchain_context_engine.trace.context import Context


class ContextRetriever(BaseRetriever):
    """Retrieves the passages of the context that an engine builds, in the order of its text.

    A Document's `page_content` is the passage (cut where the budget made it), its `id` the record's, its
    `metadata` a copy of the record's own with `metadata["context"]` on top: {source, score, signals,
    citation, tokens, is_truncated, place}. With `k` there are exactly k where candidates and budget suffice.

    Fields are defaults for every call; `invoke(query, **options)` and `ainvoke` take any field of
    `ContextRequest` (and `token_budget` for `budget`) for one call. What isolates or filters only becomes
    narrower by that: see `calls.narrowed`. Each call sends the custom event `context_assembled`.

    `copy.deepcopy` shares the engine; pickling works where the engine can be pickled. The engine is left
    out of `langchain_core.load.dumps`.

    Attributes:
        engine: What builds the context.
        k: Documents to return; None is as many as fit the budget.
        is_annotated: Whether Documents carry `metadata["context"]`. Without it an uncut record's Document is
            the same whatever was asked, as LangChain's `MultiQueryRetriever` and others want that drop what
            they have already by comparing whole Documents.

    The others are fields of `ContextRequest`; None leaves them to the engine.

    Raises:
        pydantic.ValidationError: A field is unknown, or its value is wrong.
        TypeError: (calling) an option is unknown.

    Example:
        >>> from langchain_context_engine import Candidate, ContextEngine
        >>> class Notes:
        ...     name = "notes"
        ...     def fetch(self, request):
        ...         return [Candidate(id="n1", text="Invoices go out monthly.", relevance=0.9)]
        >>> (document,) = ContextRetriever(engine=ContextEngine(sources=[Notes()])).invoke("invoices?")
        >>> document.id, document.page_content, document.metadata["context"]["citation"]
        ('n1', 'Invoices go out monthly.', '[1]')
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True, arbitrary_types_allowed=True)

    engine: Builder = Field(exclude=True, repr=False)
    k: int | None = None
    budget: int | None = None
    scope: Mapping[str, Any] | None = None
    where: Mapping[str, Any] | None = None
    kinds: Sequence[str] | None = None
    sources: Sequence[str] | None = None
    since: datetime | str | float | None = None
    until: datetime | str | float | None = None
    min_confidence: float | None = None
    conversation_id: str | None = None
    depth: int | None = None
    limit: int | None = None
    template: Any = None
    is_annotated: bool = True

    @field_validator(*REQUEST_FIELDS, mode="after", check_fields=False)
    @classmethod
    def _check_field(cls, value: Any, info: ValidationInfo) -> Any:
        if value is not None:
            ContextRequest(**{str(info.field_name): value})
        return value

    def _bound(self) -> ContextRequest:
        values = {name: getattr(self, name) for name in REQUEST_FIELDS if name in type(self).model_fields}
        return ContextRequest(**{name: value for name, value in values.items() if value is not None})

    def _request(self, query: str, options: Mapping[str, Any]) -> ContextRequest:
        return narrowed(self._bound(), {"query": query, **check_options(options)})

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        **options: Any,
    ) -> list[Document]:
        request = self._request(query, {"k": k, **options})
        callbacks = run_manager.get_child()
        # Runs that a source starts, a retriever's for example, belong under this one.
        with set_config_context(ensure_config({"callbacks": callbacks})) as variables:
            context = variables.run(self.engine.build, request)
        announce(context, callbacks)
        return documents(context, is_annotated=self.is_annotated)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        **options: Any,
    ) -> list[Document]:
        request = self._request(query, {"k": k, **options})
        callbacks = run_manager.get_child()
        with set_config_context(ensure_config({"callbacks": callbacks})) as variables:
            context = await asyncio.create_task(_built(self.engine, request), context=variables)
        await aannounce(context, callbacks)
        return documents(context, is_annotated=self.is_annotated)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Return True: `dumps` writes the fields, without the engine."""
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """Return where the class is found."""
        return ["langchain_context_engine", "retriever"]

    def __getstate__(self) -> dict[Any, Any]:
        """Refuse to be pickled with an engine that holds live clients.

        Raises:
            ConfigError: The engine cannot be pickled.
        """
        refuse_pickling(self.engine, "a ContextRetriever")
        return super().__getstate__()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> ContextRetriever:
        """Copy the fields and share the engine, whose clients cannot be copied."""
        return super().__deepcopy__({**(memo or {}), id(self.engine): self.engine})


async def _built(engine: Builder, request: ContextRequest) -> Context:
    return await engine.abuild(request)


def documents(context: Context, *, is_annotated: bool = True) -> list[Document]:
    """Return a context's passages as new Documents, in text order; nothing in them is shared.

    Args:
        context: What was built.
        is_annotated: Whether `metadata["context"]` says what became of each.
    """
    found = []
    for passage in context.passages:
        candidate = passage.ranked.candidate
        metadata = copy.deepcopy(dict(candidate.metadata))
        if is_annotated:
            about = {name: value for name, value in described(passage).items() if name != "id"}
            metadata["context"] = {**about, "signals": dict(passage.ranked.signals), "place": candidate.place}
        found.append(Document(id=candidate.id, page_content=passage.text, metadata=metadata))
    return found
