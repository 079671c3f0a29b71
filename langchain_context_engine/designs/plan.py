"""The elastic-plan design: what stands in a prompt, made to fit the model's window; `plan | model` works.

    collect   each pack asks its engine, retriever, function or nested plan, page by page until it is full
    rank      as the pack's engine does; a retriever's own order is kept
    dedupe    pages joined without repeats
    pack      shares by priority and weight; then history, packs, examples, system give way, in this order
    render    system prompt, history, user message: a `ChatPromptValue`

The user's new message is never cut. What is counted is what the model is given: see `MessageCounter`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ContextThreadPoolExecutor

from langchain_context_engine.config import Registry, with_own
from langchain_context_engine.designs.arguments import EngineSettings
from langchain_context_engine.designs.plan_assembly import Assembly, Call, Pack, PlanResult
from langchain_context_engine.designs.plan_messages import (
    ContextDeclaration,
    ContextPolicySpec,
    Directive,
    HistorySpec,
    MessageCounter,
    PackSpec,
    count_tools,
    packs_named,
    read_messages,
)
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.errors import ConfigError, UnknownNameError
from langchain_context_engine.journal import open_journal
from langchain_context_engine.langchain.calls import check_options
from langchain_context_engine.rendering.compact import COMPACTORS, resolve_compactor
from langchain_context_engine.text.tokens import resolve_tokenizer


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
        tokens_per_message: What the model's format adds around each message; OpenAI's adds 3.
        count_messages: Counts messages instead of `MessageCounter`; for example a chat model's
            `get_num_tokens_from_messages`.
        tools: What the model is given as tools; their schemas are counted.
        journal: A path or a `Journal`: every assembly is recorded there, whole.
        **settings: Settings of the engine for packs that are none: scope_keys, timeout_seconds, …. The
            `tokenizer` counts for all.

    Attributes:
        packs: Name → the pack, bound to what fills it.
        max_tokens: The input budget, or None.
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
        tokens_per_message: int = 0,
        count_messages: Any = None,
        tools: Sequence[Any] = (),
        journal: Any = None,
        **settings: Unpack[EngineSettings],
    ) -> None:
        declared: dict[str, Any] = {"name": name, "messages": messages, "policy": policy}
        declaration = ContextDeclaration(**declared)
        self.name, self.policy = name, declaration.policy
        self.count = resolve_tokenizer(settings.get("tokenizer", "auto"))
        self.count_messages = count_messages or MessageCounter(
            count=self.count, tokens_per_message=tokens_per_message
        )
        self.tool_tokens = count_tools(tools, self.count)
        known, chosen = with_own("compactor", COMPACTORS, compactors or {}), self.policy.compactor
        compactor = None if chosen is None else resolve_compactor(chosen.type, model=model, known=known)
        self.compactor = compactor or COMPACTORS["truncate"]
        self.settings: dict[str, Any] = {"compactor": compactor, **settings, "tokenizer": self.count}
        self.packs = {name: Pack.of(name, given, self.settings) for name, given in (packs or {}).items()}
        self.directives: tuple[Directive, ...] = declaration.messages or ()
        if declaration.messages is None:
            placed = (PackSpec(type="context", name=name) for name in self.packs)
            self.directives = (*placed, HistorySpec(type="history"))
        self.max_tokens = _input_budget(self.policy, context_window, model)
        self.rules = self._rules()
        for pack_name, pack in self.packs.items():
            nested = pack.source.directives if isinstance(pack.source, ContextPlan) else ()
            if any(isinstance(directive, HistorySpec) for directive in nested):
                told = f"the nested plan {pack_name!r} has a history; only the outermost may have one"
                raise ConfigError(f"plan {name!r}: {told}")
        self.engines = {
            name: pack.source for name, pack in self.packs.items() if isinstance(pack.source, ContextEngine)
        }
        self.engine = self._replaying_engine()
        self.journal = open_journal(journal)

    def assemble(self, values: Mapping[str, Any] | None = None, **options: Any) -> PlanResult:
        """Return the prompt in its parts; all packs are asked at once.

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
        assembly = self._assembly(values, options)
        while jobs := assembly.jobs():
            with ContextThreadPoolExecutor(max_workers=len(jobs)) as pool:
                asked = [pool.submit(engine.build, request) for engine, request in jobs]
            assembly.take([future.exception() or future.result() for future in asked])
        return self._recorded(assembly.result())

    async def aassemble(self, values: Mapping[str, Any] | None = None, **options: Any) -> PlanResult:
        """Do the same as `assemble`, from a running event loop."""
        assembly = self._assembly(values, options)
        while jobs := assembly.jobs():
            asked = (engine.abuild(request) for engine, request in jobs)
            assembly.take(await asyncio.gather(*asked, return_exceptions=True))
        return self._recorded(assembly.result())

    def invoke(
        self,
        input: Mapping[str, Any],
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> ChatPromptValue:
        """Return the prompt; `kwargs` are the options of `assemble`."""
        return self._call_with_config(self._prompt, input, config, run_type="prompt", **kwargs)

    async def ainvoke(
        self,
        input: Mapping[str, Any],
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> ChatPromptValue:
        """Return the prompt; as `invoke`."""
        return await self._acall_with_config(self._aprompt, input, config, run_type="prompt", **kwargs)

    def _prompt(self, values: Mapping[str, Any], **options: Any) -> ChatPromptValue:
        return self.assemble(values, **options).to_prompt()

    async def _aprompt(self, values: Mapping[str, Any], **options: Any) -> ChatPromptValue:
        return (await self.aassemble(values, **options)).to_prompt()

    def _recorded(self, result: PlanResult) -> PlanResult:
        if self.journal is not None:
            self.journal.record(result.trace)
        return result

    def _assembly(self, values: Mapping[str, Any] | None, options: dict[str, Any]) -> Assembly:
        if values is not None and not isinstance(values, Mapping):
            raise ConfigError(f"a plan takes a dictionary, got {type(values).__name__}")
        given = dict(values or {})
        own, max_tokens = given.get("input"), options.pop("max_tokens", None)
        call = Call(
            values={**given, "input": own if isinstance(own, Mapping) else given},
            history=read_messages(options.pop("history", None) or given.get("history")),
            user=_user(options.pop("user_message", None) or given.get("user_message")),
            base_system_prompt=str(options.pop("base_system_prompt", None) or ""),
            override=options.pop("retriever_override", None),
            tool_tokens=count_tools(options.pop("tools", None) or (), self.count),
            fields=check_options(options),
        )
        return Assembly(self, call, max_tokens)

    def _rules(self) -> dict[str, dict[str, Any]]:
        """Return what packs may have, those that a directive places or a message names."""
        specs: dict[str, PackSpec] = {}
        for spec in (directive for directive in self.directives if isinstance(directive, PackSpec)):
            if spec.name not in self.packs:
                raise UnknownNameError("pack", spec.name, self.packs)
            if spec.name in specs:
                raise ConfigError(f"plan {self.name!r} places pack {spec.name!r} twice")
            specs[spec.name] = spec
        for name in _names_in(self.directives):
            if name in self.packs:
                specs.setdefault(name, PackSpec(type="context", name=name))
        budgets = [self.policy.pack_budget, *(spec.budget for spec in specs.values())]
        if self.max_tokens is None and any(budget and budget.ratio for budget in budgets):
            told = "a ratio of a pack's budget is a share of input_budget, which is not given"
            raise ConfigError(f"plan {self.name!r}: {told}")
        shared = {"shared": self.policy.pack_budget.model_dump()}
        return {name: spec.model_dump(exclude={"type", "name"}) | shared for name, spec in specs.items()}

    def _replaying_engine(self) -> ContextEngine:
        """Return an engine that has every function that the packs' engines were given."""
        engines = list(self.engines.values())
        signals = {name: signal for e in reversed(engines) for name, signal in e.config.signals.items()}
        return (engines or [ContextEngine([])])[0].with_settings(tokenizer=self.count, signals=signals)


class ContextAssembler:
    """Plans by name, over one registry of retrievers.

    A name in a `context` directive is another declaration, or else a retriever.

    Args:
        context_registry: Name → `ContextDeclaration`, or a mapping of its fields.
        retriever_registry: Name → whatever a plan's pack may be; an object with `config` is read as a
            mapping of `query`, `limit` and `offset`, and retrieved by `default_retriever` or a call's
            override.
        compactor_registry: Name → `(text, allowance) -> text`.
        default_retriever: Retrieves for retrievers that have no source of their own.
        **settings: Further arguments of `ContextPlan`: tokenizer, model, context_window, ….

    Raises:
        ConfigError: A declaration is wrong, or declarations stand in each other in a circle.
    """

    def __init__(
        self,
        context_registry: Mapping[str, ContextDeclaration | Mapping[str, Any]],
        retriever_registry: Mapping[str, Any] | None = None,
        compactor_registry: Mapping[str, Any] | None = None,
        default_retriever: Any = None,
        **settings: Any,
    ) -> None:
        self._declared = {
            name: given if isinstance(given, ContextDeclaration) else ContextDeclaration(name=name, **given)
            for name, given in context_registry.items()
        }
        self._retrievers = dict(retriever_registry or {})
        self._default_retriever = default_retriever
        self._settings = {**settings, "compactors": compactor_registry}
        self.plans: Registry[ContextPlan] = Registry("context", {})
        for name in self._declared:
            self._plan(name, ())

    def assemble(  # noqa: PLR0917 - the design's own order
        self,
        context_name: str,
        base_system_prompt: str = "",
        history_messages: Any = (),
        user_message: Any = "",
        template_context: Mapping[str, Any] | None = None,
        retriever_override: Any = None,
        **options: Any,
    ) -> PlanResult:
        """Return the prompt of a plan in its parts; as `ContextPlan.assemble`.

        Raises:
            UnknownNameError: No plan has that name.
        """
        return self.plans[context_name].assemble(
            template_context,
            base_system_prompt=base_system_prompt,
            history=history_messages,
            user_message=user_message,
            retriever_override=retriever_override or self._default_retriever,
            **options,
        )

    def _plan(self, name: str, outer: tuple[str, ...]) -> ContextPlan:
        if name in outer:
            raise ConfigError(f"declarations stand in each other in a circle: {' → '.join((*outer, name))}")
        if name not in self.plans:
            declared = self._declared[name]
            used = self._retrievers if declared.messages is None else _names_in(declared.messages)
            packs = {
                pack: self._plan(pack, (*outer, name)) if pack in self._declared else self._retrievers[pack]
                for pack in used
                if pack in self._declared or pack in self._retrievers
            }
            self.plans[name] = ContextPlan(
                declared.messages, packs=packs, policy=declared.policy, name=name, **self._settings
            )
        return self.plans[name]


def _names_in(directives: Iterable[Directive]) -> list[str]:
    placed = ([d.name] if isinstance(d, PackSpec) else packs_named(d) for d in directives)
    return [name for names in placed for name in names]


def _input_budget(policy: ContextPolicySpec, context_window: int | None, model: Any) -> int | None:
    profile = getattr(model, "profile", None)
    told = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    window = told if context_window is None else context_window
    if policy.input_budget.ratio is not None and window is None:
        raise ConfigError(
            "input_budget.ratio is a share of the model's window, which is not known: pass context_window"
        )
    return policy.input_budget.of(window)


def _user(said: Any) -> HumanMessage | None:
    if isinstance(said, BaseMessage):
        return HumanMessage(said.content)
    if said is None or (isinstance(said, str) and not said.strip()):
        return None
    return HumanMessage(said)
