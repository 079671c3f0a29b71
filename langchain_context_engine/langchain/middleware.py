"""`ContextEngineMiddleware`: an agent that knows what the engine knows, without having to call a tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, NotRequired

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from langchain_context_engine.answering.context import Context
from langchain_context_engine.langchain.calls import Builder
from langchain_context_engine.langchain.runnable import ContextRunnable
from langchain_context_engine.values.types import ContextRequest, Passage

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import OmitFromInput, PrivateStateAttr
except ImportError as error:
    _MESSAGE = 'ContextEngineMiddleware needs langchain: pip install "langchain-context-engine[agents]"'
    raise ImportError(_MESSAGE) from error

_INSTRUCTION = "Context for the user's question follows. Cite what you use by its marker."


class ContextState(AgentState[Any]):
    """An agent's state with the context of its current turn."""

    context_text: NotRequired[Annotated[str, PrivateStateAttr]]
    context_passages: NotRequired[Annotated[list[dict[str, Any]], OmitFromInput]]


class ContextEngineMiddleware(AgentMiddleware[ContextState, Any, Any]):
    """Assembles the context of the user's latest message once a turn and adds it to the system message.

    It is assembled before the agent starts, so a loop of tool calls costs no second search; messages stay
    as they are. The state's `context_passages` (JSON-ready: citation, source, id, text, score, tokens,
    is_truncated, metadata) comes out with the answer, to resolve its citations. A turn without a user's
    message, or with nothing found, adds nothing.

    Args:
        engine: What builds the context.
        instruction: What stands before the context in the system message.
        scope: Metadata that must match: a mapping, or a function of the agent's runtime where it depends
            on who asks, for example `lambda runtime: {"user_id": runtime.context.user_id}`.
        **bound: Other request fields that hold for every turn.

    Raises:
        TypeError: A bound field is unknown.
        ConfigError: A bound value is wrong.

    Example:
        >>> from langchain_context_engine import ContextEngine
        >>> engine = ContextEngine(sources=[])
        >>> ContextEngineMiddleware(engine, scope={"workspace_id": "acme"}, budget=1000).name
        'ContextEngineMiddleware'
    """

    state_schema = ContextState
    tools = ()

    def __init__(
        self,
        engine: Builder,
        *,
        instruction: str = _INSTRUCTION,
        scope: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]] | None = None,
        **bound: Any,
    ) -> None:
        super().__init__()
        self._instruction = instruction
        self._scope_of = scope if callable(scope) else None
        self._assemble = ContextRunnable(engine, scope=None if callable(scope) else scope, **bound)

    def before_agent(self, state: ContextState, runtime: Any) -> dict[str, Any]:
        """Assemble the context of the turn into the state."""
        request = self._request(state["messages"], runtime)
        return _update(self._assemble.invoke(request) if request else Context())

    async def abefore_agent(self, state: ContextState, runtime: Any) -> dict[str, Any]:
        """Assemble the context of the turn into the state; as `before_agent`."""
        request = self._request(state["messages"], runtime)
        return _update(await self._assemble.ainvoke(request) if request else Context())

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Add the turn's context to the system message of a model call."""
        return handler(self._informed(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Add the turn's context to the system message; as `wrap_model_call`."""
        return await handler(self._informed(request))

    def _request(self, messages: Sequence[AnyMessage], runtime: Any) -> ContextRequest | None:
        asked = [i for i, message in enumerate(messages) if isinstance(message, HumanMessage)]
        if not asked or not (query := messages[asked[-1]].text.strip()):
            return None
        scope = self._scope_of(runtime) if self._scope_of else {}
        return ContextRequest(query=query, scope=scope, history=tuple(messages[: asked[-1]]))

    def _informed(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        text = request.state.get("context_text")
        if not text:
            return request
        block = {"type": "text", "text": f"{self._instruction}\n\n{text}"}
        system = request.system_message
        content: Any = [] if system is None else system.content
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        message = SystemMessage(content=[*blocks, block])
        if system is not None:
            message = system.model_copy(update={"content": message.content})
        return request.override(system_message=message)


def _update(context: Context) -> dict[str, Any]:
    # Written even when empty: the context of the turn before must not stay.
    return {"context_text": context.text, "context_passages": [_passage(p) for p in context.passages]}


def _passage(passage: Passage) -> dict[str, Any]:
    source, record_id = passage.key
    return {
        "citation": passage.citation,
        "source": source,
        "id": record_id,
        "text": passage.text,
        "score": passage.ranked.score,
        "tokens": passage.tokens,
        "is_truncated": passage.is_truncated,
        "metadata": dict(passage.ranked.candidate.metadata),
    }
