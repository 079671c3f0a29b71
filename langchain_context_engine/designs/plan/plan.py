"""`ContextPlan`: what stands in a prompt, made to fit the model's window; `plan | model` works.

    collect   each pack asks its engine, retriever, function or nested plan, page by page until it is full
    expand    as the pack's engine does
    rank      as the pack's engine does; a retriever's own order is kept
    dedupe    pages joined without repeats
    pack      shares by priority and weight; then history, packs, examples, system give way, in this order
    render    system prompt, history, user message: a `ChatPromptValue`

The user's new message is never cut. What is counted is what the model is given: see `MessageCounter`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ContextThreadPoolExecutor

from langchain_context_engine.designs.plan.assembly import Assembly, Steps
from langchain_context_engine.designs.plan.call import Call, Setup
from langchain_context_engine.designs.plan.filling import Job
from langchain_context_engine.designs.plan.messages import (
    CountMessages,
    MessageCounter,
    count_tools,
    read_messages,
)
from langchain_context_engine.designs.plan.packs import Pack
from langchain_context_engine.designs.plan.policy import ContextDeclaration, ContextPolicySpec
from langchain_context_engine.designs.plan.result import PlanResult
from langchain_context_engine.designs.plan.retrieval import (
    ContextPack,
    ContextPackBlock,
    ContextRetrieverRequest,
)
from langchain_context_engine.designs.plan.setup import engine_of, set_up
from langchain_context_engine.langchain.calls import check_options
from langchain_context_engine.models.errors import ConfigError, ContextEngineError
from langchain_context_engine.trace.context import Context

__all__ = [
    "ContextDeclaration",
    "ContextPack",
    "ContextPackBlock",
    "ContextPlan",
    "ContextPolicySpec",
    "ContextRetrieverRequest",
    "MessageCounter",
    "Pack",
    "PlanResult",
]


class ContextPlan(Runnable[Mapping[str, Any], ChatPromptValue]):
    """Assembles a prompt from messages and packs, within a token budget.

    As a Runnable it takes a dictionary, which texts name as `{input.key}`. The conversation so far stands
    under `history`, a new message that is not the plan's own under `user_message`; `input` and `context`
    may be given apart, as mappings. Request fields, such as `scope`, are options of the call.

    Args:
        messages: Directives, in the prompt's order: `{"type": "system"|"user"|"assistant", "content": …}`,
            `{"type": "history"}`, `{"type": "context", "name": …, "budget"?, "weight"?, "priority"?}`.
            None is every pack, the history, the user's message. The last user message is the new one.
        packs: Name → a `ContextEngine`, a source, a retriever, a function, another plan, or a `Pack`.
        policy: See `ContextPolicySpec`.
        name: The plan's name, and its run's in traces.
        compactors: Further compactors by name, `(text, allowance) -> text`.
        model: A chat model: writes summaries for the compactor "summary", and tells its window.
        context_window: The model's window in tokens, for `input_budget.ratio`; None asks the model.
        tokenizer: What counts the tokens of texts, as in `ContextEngine`.
        tokens_per_message: What the model's format adds around each message; OpenAI's adds 3.
        count_messages: Counts messages instead of `MessageCounter`; for example a chat model's
            `get_num_tokens_from_messages`.
        tools: What the model is given as tools; their schemas are counted.
        journal: A path or a `Journal`: every assembly is recorded there, whole.

    Attributes:
        setup: The plan, checked and resolved.
        engines: Name → the `ContextEngine` that fills that pack.
        engine: One that has every part that they were given as functions, for replaying the plan's traces.
        journal: The journal, or None.

    Raises:
        ConfigError: A directive, a policy, a pack or a name is wrong; a nested plan has a history; a
            ratio has nothing to be a ratio of.

    Example:
        >>> plan = ContextPlan([
        ...     {"type": "system", "content": "You are a support agent."},
        ...     {"type": "user", "content": "Question: {input.question}"},
        ... ])
        >>> print(plan.invoke({"question": "Where is my order?"}).to_string())
        System: You are a support agent.
        Human: Question: Where is my order?
    """

    def __init__(
        self,
        messages: Sequence[Any] | None = None,
        *,
        packs: Mapping[str, Any] | None = None,
        policy: ContextPolicySpec | Mapping[str, Any] | None = None,
        name: str = "plan",
        compactors: Mapping[str, Any] | None = None,
        model: Any = None,
        context_window: int | None = None,
        tokenizer: Any = "auto",
        tokens_per_message: int = 0,
        count_messages: CountMessages | None = None,
        tools: Sequence[Any] = (),
        journal: Any = None,
    ) -> None:
        declared: dict[str, Any] = {"name": name, "messages": messages, "policy": policy}
        declaration = ContextDeclaration(**declared)
        self.name = name
        self.setup: Setup = set_up(
            declaration,
            packs or {},
            compactors=compactors or {},
            model=model,
            context_window=context_window,
            tokenizer=tokenizer,
            tokens_per_message=tokens_per_message,
            count_messages=count_messages,
            tools=tools,
        )
        self.engines = {name: pack.engine for name, pack in self.setup.packs.items() if pack.engine}
        self.engine = engine_of(self.setup, journal)
        self.journal = self.engine.journal

    def assemble(self, values: Mapping[str, Any] | None = None, **options: Any) -> PlanResult:
        """Return the prompt in its parts.

        Args:
            values: What texts name, as for `invoke`.
            **options: `history` (messages), `user_message` (a text or content blocks; the new message,
                the plan's own last one then stands before it), `base_system_prompt`, `tools` (counted
                beside the plan's), `retriever_override` (what retrieves instead, for all packs or by
                name), `max_tokens` (a smaller input budget), and fields of `ContextRequest` for every
                pack, which only narrow its own.

        Raises:
            BudgetError: What may not be cut does not fit.
            TemplateError: A text names what there is not.
            AllSourcesFailedError: Every pack failed.
        """
        return self._recorded(_drive(self._steps(values, options)))

    async def aassemble(self, values: Mapping[str, Any] | None = None, **options: Any) -> PlanResult:
        """Do the same as `assemble`, from a running event loop; packs are asked at once."""
        return self._recorded(await _adrive(self._steps(values, options)))

    def _recorded(self, result: PlanResult) -> PlanResult:
        if self.journal is not None:
            self.journal.record(result.trace)
        return result

    def invoke(
        self,
        input: Mapping[str, Any],  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> ChatPromptValue:
        """Return the prompt; `kwargs` are the options of `assemble`."""
        return self._call_with_config(self._prompt, input, config, run_type="prompt", **kwargs)

    async def ainvoke(
        self,
        input: Mapping[str, Any],  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> ChatPromptValue:
        """Return the prompt; as `invoke`."""
        return await self._acall_with_config(self._aprompt, input, config, run_type="prompt", **kwargs)

    def _prompt(self, values: Mapping[str, Any], **options: Any) -> ChatPromptValue:
        return self.assemble(values, **options).to_prompt()

    async def _aprompt(self, values: Mapping[str, Any], **options: Any) -> ChatPromptValue:
        return (await self.aassemble(values, **options)).to_prompt()

    def _steps(self, values: Mapping[str, Any] | None, options: Mapping[str, Any]) -> Steps:
        if values is not None and not isinstance(values, Mapping):
            raise ConfigError(f"a plan takes a dictionary, got {type(values).__name__}")
        given, options = dict(values or {}), dict(options)
        max_tokens = options.pop("max_tokens", None)
        history = options.pop("history", None) or given.get("history")
        said = options.pop("user_message", None) or given.get("user_message")
        own = given.get("input")
        call = Call(
            values={**given, "input": own if isinstance(own, Mapping) else given},
            history=read_messages(history),
            user=_user(said),
            base_system_prompt=str(options.pop("base_system_prompt", None) or ""),
            override=options.pop("retriever_override", None),
            tool_tokens=count_tools(options.pop("tools", None) or (), self.setup.count),
            fields=check_options(options),
        )
        return Assembly(setup=self.setup, call=call, bound=max_tokens).run()


def _user(said: Any) -> HumanMessage | None:
    if isinstance(said, BaseMessage):
        return HumanMessage(said.content)
    if said is None or (isinstance(said, str) and not said.strip()):
        return None
    return HumanMessage(said)


def _drive(steps: Steps) -> PlanResult:
    try:
        jobs = next(steps)
        while True:
            jobs = steps.send(_answers(jobs))
    except StopIteration as done:
        return cast("PlanResult", done.value)


async def _adrive(steps: Steps) -> PlanResult:
    try:
        jobs = next(steps)
        while True:
            jobs = steps.send(list(await asyncio.gather(*map(_aanswer, jobs))))
    except StopIteration as done:
        return cast("PlanResult", done.value)


def _answers(jobs: Sequence[Job]) -> list[Context | Exception]:
    if len(jobs) == 1:
        return [_answer(jobs[0])]
    with ContextThreadPoolExecutor(max_workers=len(jobs)) as pool:
        return list(pool.map(_answer, jobs))


def _answer(job: Job) -> Context | Exception:
    try:
        return job.engine.build(job.request)
    except ConfigError:
        raise
    except ContextEngineError as error:
        return error


async def _aanswer(job: Job) -> Context | Exception:
    try:
        return await job.engine.abuild(job.request)
    except ConfigError:
        raise
    except ContextEngineError as error:
        return error
