"""`ContextRunnable` and `ContextRetriever`: an engine as a link of a LangChain chain."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForChainRun,
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForChainRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage, convert_to_messages
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import ensure_config, set_config_context
from pydantic import ConfigDict, Field, ValidationInfo, field_validator
from rapidfuzz.distance import Indel

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.langchain.calls import (
    ALIASES,
    REQUEST_FIELDS,
    Builder,
    aannounce,
    announce,
    asked_fields,
    check_options,
    described,
    narrowed,
)
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.trace.context import Context

ContextInput = str | dict[str, Any] | ContextRequest

_QUERY_KEYS = ("query", "question", "input")
_REQUEST_KEY = "context_request"
# Of names shorter than this every word that a chain may carry (`pk`, `know`) looks like a slip.
_SHORT = 4
# In names so long one wrong letter is a slip; `score` is not `scope`.
_LONG = 10


class ContextRunnable(Runnable[ContextInput, Context]):
    """Turns a question into a `Context`, which stands in a prompt as its text.

    A question is a string, a `ContextRequest`, or a dictionary with the question under `query`,
    `question` or `input` (the first that is there). What is meant for the request stands under
    `context_request`, a dictionary of request fields, where an unknown one is refused; request fields
    beside the question (and `token_budget` for `budget`) are heeded too. Foreign keys are left alone, unless
    they are a request field mistyped (`scpoe`): a filter that is silently not applied would show too much.
    `invoke(question, **options)` takes request fields too.

    What isolates or filters only becomes narrower by a question or an option: see
    `langchain_context_engine.langchain.calls.narrowed`. Each call sends the custom event `context_assembled`.

    As a node of a LangGraph graph take `as_node`: what enters a state is to be plain data, since LangGraph
    warns of types that are not its own and will refuse them.

    Args:
        engine: What builds the context.
        name: The run's name in traces.
        **bound: Request fields that hold for every call.

    Raises:
        TypeError: A bound field or an option is unknown.
        ConfigError: A value is wrong, or (calling) there is no question.

    Example:
        >>> from langchain_core.prompts import PromptTemplate
        >>> from langchain_context_engine import Candidate, ContextEngine
        >>> class Notes:
        ...     name = "notes"
        ...     def fetch(self, request):
        ...         return [Candidate(id="n1", text="Pay by card.", relevance=0.9)]
        >>> context = ContextRunnable(ContextEngine(sources=[Notes()]))
        >>> chain = {"context": context} | PromptTemplate.from_template("Known: {context}")
        >>> chain.invoke("how do I pay?").text
        'Known: [1] Pay by card.'
    """

    def __init__(self, engine: Builder, *, name: str | None = None, **bound: Any) -> None:
        self.engine = engine
        self.name = name
        self.bound = ContextRequest(**check_options(bound))

    def invoke(self, input: ContextInput, config: RunnableConfig | None = None, **kwargs: Any) -> Context:
        """Return the context of a question."""
        return self._call_with_config(self._build, input, config, run_type="chain", **kwargs)

    async def ainvoke(
        self,
        input: ContextInput,
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Context:
        """Return the context of a question; as `invoke`."""
        return await self._acall_with_config(self._abuild, input, config, run_type="chain", **kwargs)

    def _build(
        self, question: ContextInput, run_manager: CallbackManagerForChainRun, **options: Any
    ) -> Context:
        context = self.engine.build(self._request(question, options))
        announce(context, run_manager.get_child())
        return context

    async def _abuild(
        self, question: ContextInput, run_manager: AsyncCallbackManagerForChainRun, **options: Any
    ) -> Context:
        context = await self.engine.abuild(self._request(question, options))
        await aannounce(context, run_manager.get_child())
        return context

    def _request(self, question: ContextInput, options: Mapping[str, Any]) -> ContextRequest:
        return narrowed(narrowed(self.bound, _read(question)), check_options(options))

    def __copy__(self) -> ContextRunnable:
        """Share the engine, whose clients cannot be copied; the rest never changes."""
        return type(self)(self.engine, name=self.name, **asked_fields(self.bound))

    def __deepcopy__(self, memo: dict[int, Any]) -> ContextRunnable:
        """Copy as `copy.copy` does."""
        return self.__copy__()


def _read(question: ContextInput) -> dict[str, Any]:
    """Return a question's request fields."""
    if isinstance(question, str):
        return {"query": question}
    if isinstance(question, ContextRequest):
        return asked_fields(question)
    if not isinstance(question, Mapping):
        raise ConfigError(
            f"a question is a string, a dictionary or a ContextRequest, got {type(question).__name__}"
        )
    for key in question:
        _refuse_slip(key)
    names = (*REQUEST_FIELDS, *ALIASES)
    given = check_options({key: value for key, value in question.items() if key in names})
    meant = question.get(_REQUEST_KEY) or {}
    if not isinstance(meant, (Mapping, ContextRequest)):
        raise ConfigError(f"{_REQUEST_KEY} is a dictionary of request fields, got {type(meant).__name__}")
    given |= asked_fields(meant) if isinstance(meant, ContextRequest) else check_options(meant)
    query_key = next((key for key in _QUERY_KEYS if question.get(key) is not None), None)
    if query_key is not None:
        given["query"] = question[query_key]
    if not {"vector", "query"} & given.keys():
        found = ", ".join(sorted(map(str, question))) or "nothing"
        raise ConfigError(
            f"no question: the dictionary needs one of {', '.join(_QUERY_KEYS)}, it has {found}"
        )
    return given


def _refuse_slip(key: object) -> None:
    """Refuse a name mistyped: letters exchanged, missing or too many, one wrong in a long one.

    A word that goes on where the other ends (`source`, `question_id`) is another word, not a slip.
    """
    known = (*REQUEST_FIELDS, *ALIASES, *_QUERY_KEYS)
    if key in known or not isinstance(key, str):
        return
    for name in known:
        most = 2 if len(name) >= _LONG and len(key) == len(name) else 1
        is_near = sorted(key) == sorted(name) or Indel.distance(key, name, score_cutoff=most) <= most
        goes_on = key.startswith(name) or name.startswith(key)
        if (key == "scopes" and name == "scope") or (len(name) >= _SHORT and not goes_on and is_near):
            raise ConfigError(
                f"unknown key {key!r}: did you mean {name!r}? A foreign key may not look like it"
            )


def as_node(engine: Builder, *, question: str = "question", key: str = "context", **bound: Any) -> Any:
    """Return a node of a LangGraph graph: it asks the state's question, and gives the context as plain data.

    What enters the state is `Context.to_dict()`, which every checkpointer keeps; its `text` is for the
    prompt, and `Context.from_dict` reads the whole back.

    Args:
        engine: What builds the context.
        question: The state's key with the question: a text, or messages, of which the latest of the user.
        key: The state's key for the context.
        **bound: Request fields that hold for every call.

    Raises:
        TypeError: A bound field is unknown.
        ConfigError: A value is wrong, or (calling) there is no question.
    """
    asked = RunnableLambda(partial(_question_of, question), name="question")
    kept: Runnable[Context, Any] = RunnableLambda(lambda context: {key: context.to_dict()}, name="update")
    return asked | ContextRunnable(engine, **bound) | kept


def _question_of(key: str, state: Mapping[str, Any]) -> str:
    value = state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)
    if isinstance(value, (list, tuple)):
        messages = convert_to_messages(value)
        value = next((m.text for m in reversed(messages) if isinstance(m, HumanMessage)), None)
    if not isinstance(value, str):
        raise ConfigError(f"the state has no question under {key!r}: a text or messages")
    return value


class ContextRetriever(BaseRetriever):
    """Retrieves the passages of the context that an engine builds, in the order of its text.

    A Document's `page_content` is the passage (cut where the budget made it), its `id` the record's, its
    `metadata` a copy of the record's own with `metadata["context"]` on top: {source, score, signals,
    citation, tokens, is_truncated, place}. With `k` there are exactly k where candidates and budget suffice.

    Fields are defaults for every call; `invoke(query, **options)` and `ainvoke` take any field of
    `ContextRequest` (and `token_budget` for `budget`) for one call. What isolates or filters only becomes
    narrower by that: see `calls.narrowed`. Each call sends the custom event `context_assembled`.

    `copy.deepcopy` shares the engine; pickling works where the engine can be pickled.

    Attributes:
        engine: What builds the context.
        k: Documents to return; None is as many as fit the budget.

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
        return documents(context)

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
            building = self.engine.abuild(request)
            context = await asyncio.create_task(building, context=variables)
        await aannounce(context, callbacks)
        return documents(context)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> ContextRetriever:
        """Copy the fields and share the engine, whose clients cannot be copied."""
        return super().__deepcopy__({**(memo or {}), id(self.engine): self.engine})


def documents(context: Context) -> list[Document]:
    """Return a context's passages as new Documents, in text order; nothing in them is shared."""
    found = []
    for passage in context.passages:
        candidate = passage.ranked.candidate
        metadata = copy.deepcopy(dict(candidate.metadata))
        about = {name: value for name, value in described(passage).items() if name != "id"}
        metadata["context"] = {**about, "signals": dict(passage.ranked.signals), "place": candidate.place}
        found.append(Document(id=candidate.id, page_content=passage.text, metadata=metadata))
    return found
