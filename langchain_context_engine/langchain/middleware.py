"""`ContextEngineMiddleware`: an agent that knows what the engine knows, without having to call a tool."""

from __future__ import annotations

import logging
import types
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from langchain_context_engine.errors import ConfigError, ContextEngineError
from langchain_context_engine.langchain.calls import NOT_ASKED, Builder, check_failure_option, described
from langchain_context_engine.langchain.runnable import ContextRunnable
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.trace.context import Context

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import OmitFromInput, PrivateStateAttr
except ImportError as error:
    _MESSAGE = 'ContextEngineMiddleware needs langchain: pip install "langchain-context-engine[agents]"'
    raise ImportError(_MESSAGE) from error

_KEYS = ("context_text", "context_passages", "context_trace")
_LOGGER = logging.getLogger(__name__)
_INSTRUCTION = "Context for the user's question follows. Cite what you use by its marker."


class ContextState(AgentState[Any]):
    """An agent's state with the context of its current turn."""

    context_text: NotRequired[Annotated[str, PrivateStateAttr]]
    context_passages: NotRequired[Annotated[list[dict[str, Any]], OmitFromInput]]
    context_trace: NotRequired[Annotated[str, PrivateStateAttr]]


class ContextEngineMiddleware(AgentMiddleware[ContextState, Any, Any]):
    """Assembles the context of the user's latest message once a turn and adds it to the system message.

    It is assembled before the agent starts, so a loop of tool calls costs no second search; messages stay
    as they are. The state's `context_passages` (JSON-ready: citation, source, id, text, score, tokens,
    is_truncated, metadata) comes out with the answer, to resolve its citations. A turn without a user's
    message, or with nothing found, adds nothing. Where the engine has a journal, the agent's answer is kept
    there beside its context: see `Journal.record_answer`.

    Several in one agent need names of their own; the state's keys of one named `code` are
    `context_text_code` and `context_passages_code`.

    Args:
        engine: What builds the context.
        instruction: What stands before the context in the system message.
        scope: Metadata that must match: a mapping, or a function of the agent's runtime where it depends
            on who asks, for example `lambda runtime: {"user_id": runtime.context.user_id}`.
        name: Tells it from another context middleware of the same agent: a Python identifier.
        on_failure: Where every source failed, `tell` the model so and let it go on, or `raise`.
        **bound: Other request fields that hold for every turn.

    Raises:
        TypeError: A bound field is unknown.
        ConfigError: A bound value is wrong, or the name is no identifier.
        AllSourcesFailedError: (in a turn) Every source failed, and `on_failure` is `raise`.

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
        name: str | None = None,
        on_failure: Literal["tell", "raise"] = "tell",
        **bound: Any,
    ) -> None:
        super().__init__()
        self._name = name
        self._failures = check_failure_option(on_failure)
        self._text_key, self._passages_key, self._trace_key = _KEYS
        if name is not None:
            if not isinstance(name, str) or not name.isidentifier():
                raise ConfigError(f"name must be a Python identifier, got {name!r}")
            self._text_key, self._passages_key, self._trace_key = (f"{key}_{name}" for key in _KEYS)
            self.state_schema = _schema(name)
        self._journal: Any = getattr(engine, "journal", None)
        self._instruction = instruction
        self._scope_of = scope if callable(scope) else None
        self._assemble = ContextRunnable(engine, scope=None if callable(scope) else scope, **bound)

    @property
    def name(self) -> str:
        """What the agent knows it by."""
        return self._name or type(self).__name__

    def before_agent(self, state: ContextState, runtime: Any) -> dict[str, Any]:
        """Assemble the context of the turn into the state."""
        request = self._request(state["messages"], runtime)
        try:
            return self._update(self._assemble.invoke(request) if request else Context())
        except self._failures:
            return self._update(Context(text=NOT_ASKED))

    async def abefore_agent(self, state: ContextState, runtime: Any) -> dict[str, Any]:
        """Assemble the context of the turn into the state; as `before_agent`."""
        request = self._request(state["messages"], runtime)
        try:
            return self._update(await self._assemble.ainvoke(request) if request else Context())
        except self._failures:
            return self._update(Context(text=NOT_ASKED))

    def after_agent(self, state: ContextState, runtime: Any) -> None:
        """Keep the agent's answer beside its context where the engine has a journal."""
        del runtime
        trace_id, answer = str(state.get(self._trace_key) or ""), state["messages"][-1]
        if not trace_id or not isinstance(answer, AIMessage) or not hasattr(self._journal, "record_answer"):
            return
        try:
            self._journal.record_answer(trace_id, answer.text)
        except ContextEngineError as error:  # the disk is full, or the trace was dropped: the answer stands
            _LOGGER.warning("an answer was not kept beside its context: %s", error)

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
        text = request.state.get(self._text_key)
        if not text:
            return request
        told = text if text == NOT_ASKED else f"{self._instruction}\n\n{text}"
        block = {"type": "text", "text": told}
        system = request.system_message
        content: Any = [] if system is None else system.content
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        message = SystemMessage(content=[*blocks, block])
        if system is not None:
            message = system.model_copy(update={"content": message.content})
        return request.override(system_message=message)

    def _update(self, context: Context) -> dict[str, Any]:
        # Written even when empty: the context of the turn before must not stay.
        return {
            self._text_key: context.text,
            self._passages_key: [
                {
                    **described(passage),
                    "text": passage.text,
                    "metadata": dict(passage.ranked.candidate.metadata),
                }
                for passage in context.passages
            ],
            self._trace_key: context.trace_id,
        }


def _schema(name: str) -> Any:
    """Return a state with keys of its own, since a state's keys are shared by all of an agent."""
    own = {f"{key}_{name}": ContextState.__annotations__[key] for key in _KEYS}
    return types.new_class(
        f"ContextState_{name}", (AgentState[Any],), exec_body=lambda body: body.update(__annotations__=own)
    )
