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
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ContextThreadPoolExecutor

from langchain_context_engine.config import EngineConfig, Registry, with_own
from langchain_context_engine.designs.arguments import FunctionSource
from langchain_context_engine.designs.plan_messages import (
    ContextDeclaration,
    ContextPolicySpec,
    Directive,
    HistorySpec,
    MessageCounter,
    PackSpec,
    Piece,
    count_tools,
    fill_paths,
    messages_of,
    packs_named,
    read_messages,
    system_of,
    turns,
    write_pieces,
)
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.errors import (
    AllSourcesFailedError,
    BudgetError,
    ConfigError,
    ContextEngineError,
    SourceError,
    UnknownNameError,
)
from langchain_context_engine.journal import open_journal
from langchain_context_engine.langchain.calls import check_options, narrowed
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.request import ContextRequest, Message
from langchain_context_engine.models.types import Candidate, Key, Status, Verdict
from langchain_context_engine.rendering.compact import COMPACTORS, compact, resolve_compactor
from langchain_context_engine.rendering.templates import Template
from langchain_context_engine.sources.retriever import RetrieverSource
from langchain_context_engine.text.tokens import resolve_tokenizer
from langchain_context_engine.trace.assemble import assemble
from langchain_context_engine.trace.context import Context, Part
from langchain_context_engine.trace.prompt import (
    MOST,
    UNBOUNDED,
    Filled,
    claims_of,
    compose,
    fit_packs,
    most_of,
    promises,
)

SETTINGS: Mapping[str, Any] = {
    "budget": Budget(minimum_cut=1),
    "weights": {"relevance": 1.0},
    "template": Template(name="pack", passage="{{content}}", separator="\n\n", note=""),
}
"""What this design sets of the engine for packs that are no engine of their own."""

_PAGE = 10
_QUERY_KEYS = ("query", "message", "question")
Job: TypeAlias = tuple[ContextEngine, ContextRequest]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRetrieverRequest:
    """What a retrieval function is asked: which records, and how many tokens the pack may have at first.

    Its metadata are `retriever`, the pack's name, and what the pack was given.
    """

    query: str
    offset: int = 0
    limit: int = _PAGE
    max_tokens: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPackBlock:
    """A piece of evidence: its id, its text, its metadata."""

    evidence_item_id: str
    text: str
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPack:
    """What a retrieval function may answer: blocks, or one text."""

    text: str = ""
    evidence_count: int = 0
    blocks: Sequence[ContextPackBlock] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A pack and how it is asked.

    Attributes:
        source: A `ContextEngine`, a source, a LangChain retriever, another plan, or a function of a
            `ContextRetrieverRequest` that answers a `ContextPack`, a text, None, or a list of blocks,
            Documents or texts; None needs a `retriever_override` in each call.
        query: What to ask, `{input.…}` filled in; "" asks `input.query`, `.message`, `.question`, or
            else the user's message.
        limit: Records a page; None is 10, of an engine its own limit.
        offset: Records to skip at first.
        metadata: What a retrieval function is told.
        fields: Fields of `ContextRequest` that hold for every call, `scope` for example.
    """

    source: Any = None
    query: str = ""
    limit: int | None = None
    offset: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, given: Any, own: Mapping[str, Any]) -> Pack:
        """Return a pack whose source is the engine or the plan that fills it; None: a call must bring it.

        Args:
            name: What the plan calls it.
            given: A `Pack`, or what may be its source; or an object whose `config` has its fields, and what
                becomes metadata.
            own: Settings of the engine for what is none; the `tokenizer` counts for all.

        Raises:
            ConfigError: Nothing could fill it.
        """
        pack, config = given if isinstance(given, Pack) else cls(source=given), getattr(given, "config", None)
        # A Runnable with a configuration is a retriever and no description of one.
        if isinstance(config, Mapping) and not callable(getattr(given, "invoke", None)):
            known = {key: value for key, value in config.items() if key in cls.__dataclass_fields__}
            told = {key: value for key, value in config.items() if key not in known}
            pack = cls(**{**known, "metadata": {**told, **known.get("metadata", {})}})
        source, limit = pack.source, pack.limit
        if source is None or isinstance(source, ContextPlan):
            return pack
        if isinstance(source, ContextEngine):
            limit = source.config.limit if limit is None else limit
            engine = source.with_settings(tokenizer=own["tokenizer"])
        else:
            engine = ContextEngine([_source_of(name, source, pack.metadata)], **{**SETTINGS, **own})
        return replace(pack, source=engine, limit=_PAGE if limit is None else limit)

    def request(
        self, query: str, page: int, max_tokens: int | None, fields: Mapping[str, Any]
    ) -> ContextRequest:
        """Return the request for a page; a call's own fields only narrow the pack's."""
        bound, limit = narrowed(ContextRequest(**self.fields), fields), self.limit or 0
        offset = bound.offset + self.offset + page * limit
        return replace(bound, query=query, offset=offset, limit=limit, budget=max_tokens)

    def fit(self, pages: Sequence[Context], max_tokens: int | None) -> Context:
        """Return the candidates of all pages, each once, as one context within so many tokens."""
        if not pages or max_tokens == 0:
            return Context(request=replace(pages[0].request, budget=0)) if pages else Context()
        joined: dict[Key, Candidate] = {}
        for candidate in (candidate for page in pages for candidate in page.candidates):
            joined.setdefault(candidate.key, candidate)
        request = replace(pages[0].request, budget=max_tokens)
        context = assemble(tuple(joined.values()), request, self.source.config.parts())
        warnings = dict.fromkeys((*(w for page in pages for w in page.warnings), *context.warnings))
        return replace(context, warnings=tuple(warnings), settings=self.source.config.described())

    @property
    def is_plan(self) -> bool:
        """Whether another plan fills it."""
        return self.source is not None and not isinstance(self.source, ContextEngine)

    def is_dry(self, pages: Sequence[Context]) -> bool:
        """Return whether the last page was short, or told nothing new."""
        offered = {c.key for c in pages[-1].candidates} | {
            d.key for d in pages[-1].decisions if d.stage == "collect" and d.verdict is Verdict.DROPPED
        }
        known = {candidate.key for page in pages[:-1] for candidate in page.candidates}
        return len(offered) < (self.limit or 0) or offered <= known


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult:
    """An assembled prompt.

    Attributes:
        system_prompt: The system messages and packs, in the plan's order.
        history: The conversation so far and the plan's own user and assistant messages.
        user_message: The new message: a text, or content blocks; "" where there is none.
        trace: The whole as one `Context` that replays, tells what it would take, and opens in the
            inspector; its `parts` say what each was promised, took and lost.

    Example:
        >>> PlanResult(system_prompt="Be brief.", user_message="Hello").messages[1].content
        'Hello'
    """

    system_prompt: str = ""
    history: tuple[BaseMessage, ...] = ()
    user_message: str | list[Any] = ""
    trace: Context = field(default_factory=Context, repr=False)

    @property
    def token_count(self) -> int:
        """Tokens of all messages and tool schemas."""
        return self.trace.tokens

    @property
    def max_tokens(self) -> int | None:
        """The input budget, or None."""
        return self.trace.request.budget

    @property
    def packs(self) -> dict[str, Context]:
        """Name → the context that fills that pack; of a nested plan its trace."""
        return {part.name: part.context for part in self.parts if part.context is not None}

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the prompt, in order: what each was promised, took and lost."""
        return self.trace.parts

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know: what was left out, which pack failed."""
        return self.trace.warnings

    @property
    def messages(self) -> tuple[BaseMessage, ...]:
        """The prompt as messages: system, history, user."""
        system = [SystemMessage(self.system_prompt)] if self.system_prompt else []
        user = [HumanMessage(self.user_message)] if self.user_message else []
        return (*system, *self.history, *user)

    def to_prompt(self) -> ChatPromptValue:
        """Return the prompt as a chat model takes it."""
        return ChatPromptValue(messages=list(self.messages))


def _source_of(name: str, given: Any, metadata: Mapping[str, Any]) -> Any:
    """Return a source, a retriever or a function as a source."""
    if callable(getattr(given, "invoke", None)):
        return RetrieverSource(given, name)
    if callable(getattr(given, "fetch", None)):
        return given
    if not callable(given):
        expected = "must be an engine, a source, a retriever, a function or a plan"
        raise ConfigError(f"pack {name!r} {expected}, got {type(given).__name__}")

    def ask(request: ContextRequest) -> Any:
        return given(
            ContextRetrieverRequest(
                query=request.query,
                offset=request.offset,
                limit=request.limit or 0,
                max_tokens=request.budget,
                metadata={"retriever": name, **metadata},
            )
        )

    return FunctionSource(name=name, ask=ask, records=_records)


def _records(answer: Any) -> Sequence[Any]:
    """Return the records of what a retrieval function answered, whatever its shape."""
    if answer is None or isinstance(answer, str):
        return [answer] if answer else []
    if isinstance(answer, Sequence):
        return answer
    told = (
        answer if isinstance(answer, Mapping) else {n: getattr(answer, n, None) for n in ("blocks", "text")}
    )
    blocks, text = told.get("blocks"), told.get("text")
    if not blocks and not isinstance(text, str):
        raise SourceError(f"expected a pack, Documents or texts, got {type(answer).__name__}")
    return tuple(blocks or ()) or _records(text)


class ContextPlan(Runnable[Mapping[str, Any], ChatPromptValue]):
    """Assembles a prompt from messages and packs, within a token budget.

    As a Runnable it takes a dictionary, which texts name as `{input.key}`. The conversation so far stands
    under `history`, a new message that is not the plan's own under `user_message`; `input` and `context`
    may be given apart, as mappings. Request fields, such as `scope`, are options of the call.

    Args:
        messages: Directives, in the prompt's order: `{"type": "system"|"user"|"assistant", "content": …}`,
            `{"type": "history"}`, `{"type": "context", "name": …, "budget"?, "weight"?, "priority"?}`.
            The last user message is the new one.
        packs: Name → a `ContextEngine`, a source, a retriever, a function, another plan, or a `Pack`.
        policy: See `ContextPolicySpec`.
        name: The plan's name, and its run's in traces.
        compactors: Further compactors by name, `(text, allowance) -> text`.
        model: A chat model: writes summaries for the compactor "summary", and tells its window.
        context_window: The model's window in tokens, for `input_budget.ratio`; None asks the model.
        tokens_per_message: What the model's format adds around each message; OpenAI's adds 3.
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
        messages: Sequence[Any],
        *,
        packs: Mapping[str, Any] | None = None,
        policy: ContextPolicySpec | Mapping[str, Any] | None = None,
        name: str = "plan",
        compactors: Mapping[str, Any] | None = None,
        model: Any = None,
        context_window: int | None = None,
        tokens_per_message: int = 0,
        tools: Sequence[Any] = (),
        journal: Any = None,
        **settings: Any,
    ) -> None:
        declared: dict[str, Any] = {"name": name, "messages": messages, "policy": policy or {}}
        declaration = ContextDeclaration(**declared)
        self.name, self.policy = name, declaration.policy
        self.count = resolve_tokenizer(settings.get("tokenizer", "auto"))
        self.count_messages = MessageCounter(count=self.count, tokens_per_message=tokens_per_message)
        self.tool_tokens = count_tools(tools, self.count)
        known, chosen = with_own("compactor", COMPACTORS, compactors or {}), self.policy.compactor
        compactor = None if chosen is None else resolve_compactor(chosen.type, model=model, known=known)
        self.compactor = compactor or COMPACTORS["truncate"]
        self.settings: dict[str, Any] = {"compactor": compactor, **settings, "tokenizer": self.count}
        self.packs = {name: Pack.of(name, given, self.settings) for name, given in (packs or {}).items()}
        self.directives = declaration.messages
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
                the plan's own last one then stands before it), `base_system_prompt`,
                `retriever_override` (what retrieves instead, for all packs or by name), `max_tokens` (a
                smaller input budget), and fields of `ContextRequest` for every pack, which only narrow
                its own.

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
            mapping of `query`, `limit` and `offset`, and retrieved by a call's override.
        compactor_registry: Name → `(text, allowance) -> text`.
        **settings: Further arguments of `ContextPlan`: tokenizer, model, context_window, ….

    Raises:
        ConfigError: A declaration is wrong, or declarations stand in each other in a circle.
    """

    def __init__(
        self,
        context_registry: Mapping[str, ContextDeclaration | Mapping[str, Any]],
        retriever_registry: Mapping[str, Any] | None = None,
        compactor_registry: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self._declared = {
            name: given if isinstance(given, ContextDeclaration) else ContextDeclaration(name=name, **given)
            for name, given in context_registry.items()
        }
        self._retrievers = dict(retriever_registry or {})
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
            retriever_override=retriever_override,
            **options,
        )

    def _plan(self, name: str, outer: tuple[str, ...]) -> ContextPlan:
        if name in outer:
            raise ConfigError(f"declarations stand in each other in a circle: {' → '.join((*outer, name))}")
        if name not in self.plans:
            declared = self._declared[name]
            packs = {
                pack: self._plan(pack, (*outer, name)) if pack in self._declared else self._retrievers[pack]
                for pack in _names_in(declared.messages)
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


@dataclass(kw_only=True)
class Call:
    """One call of a plan, and what was asked for it so far."""

    values: Mapping[str, Any]
    history: tuple[BaseMessage, ...] = ()
    user: HumanMessage | None = None
    base_system_prompt: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    override: Any = None
    question: str = ""
    start: float = field(default_factory=time.perf_counter)
    pages: dict[tuple[int, str], list[Context]] = field(default_factory=dict)
    failures: dict[int, dict[str, str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


class Assembly:
    """One assembly of a plan: first all is asked (`jobs`, `take`), then all is fitted (`result`)."""

    def __init__(self, plan: ContextPlan, call: Call, bound: int | None, *, is_nested: bool = False) -> None:
        self.plan, self.call, self.is_nested = plan, call, is_nested
        self.limit = min((n for n in (plan.max_tokens, bound) if n is not None), default=None)
        self.packs = {name: self._pack(name) for name in plan.rules}
        # A nested plan is assembled anew for each size, of what it was given once.
        self.pages = {name: call.pages.setdefault((id(plan), name), []) for name in plan.rules}
        self.failures = call.failures.setdefault(id(plan), {})
        self.bare = self._pieces({})
        self._check_fixed()
        room, limit = (
            (UNBOUNDED, UNBOUNDED) if self.limit is None else (max(0, -self._excess(self.bare)), self.limit)
        )
        self.claims, default = claims_of(plan.rules, limit)
        self.bounds = room, default
        self.most = most_of(self.claims, *self.bounds)
        self.promised = promises(self.claims, self.bounds)
        self._wanting: list[tuple[Assembly, str]] = []

    def jobs(self) -> list[Job]:
        """Return what must be asked now, at once: a page of each pack that is not full; at last nothing."""
        self._wanting = [(assembly, name) for assembly, name in self.open() if assembly.wants_more(name)]
        return [assembly.job(name) for assembly, name in self._wanting]

    def take(self, answers: Sequence[Any]) -> None:
        """Keep what the jobs gave, or raised."""
        for (assembly, name), found in zip(self._wanting, answers, strict=True):
            if isinstance(found, Context):
                assembly.pages[name].append(found)
            elif isinstance(found, ConfigError) or not isinstance(found, ContextEngineError):
                raise found
            else:
                assembly.failures[name] = safe_message(found)

    def open(self) -> Iterator[tuple[Assembly, str]]:
        """Yield the packs that can be asked, those of nested plans too, and whose they are."""
        for name, pack in self.packs.items():
            if self.most[name] > 0 and pack.is_plan:
                yield from self._nested(pack, self.most[name]).open()
            elif self.most[name] > 0:
                yield self, name

    def wants_more(self, name: str) -> bool:
        """Return whether another page is worth asking for: there may be one, and there is room for it."""
        pack, pages, most = self.packs[name], self.pages[name], self.most[name]
        expansion = self.plan.policy.expansion
        if name in self.failures or not pages:
            return name not in self.failures
        if len(pages) >= expansion.max_pages or most >= UNBOUNDED or pack.is_dry(pages):
            return False
        return pack.fit(pages, most).tokens < expansion.min_fill_ratio * most

    def job(self, name: str) -> Job:
        """Return what asks for the next page of a pack."""
        pack, bound = self.packs[name], _bound(self.promised[name] or self.most[name])
        request = pack.request(self._query(pack), len(self.pages[name]), bound, self.call.fields)
        return pack.source, request

    def _nested(self, pack: Pack, most: int) -> Assembly:
        return Assembly(pack.source, self.call, _bound(most), is_nested=True)

    def result(self) -> PlanResult:
        """Return the prompt; what is too long gives way in this order: history, packs, examples, system."""

        def excess(filled: Mapping[str, Filled]) -> int:
            return self._excess(self._pieces(filled))

        call, iterations = self.call, self.plan.policy.max_iterations
        filled = fit_packs(self.claims, self.bounds, self._filled, excess, iterations)
        pieces = self._pieces(filled)
        pieces = self._with_history(self._compacted() if self._excess(pieces) > 0 else pieces)
        if self.failures and len(self.failures) == len(self.packs) and not self.is_nested:
            raise AllSourcesFailedError([*self.failures.values()])
        parts = list(self._parts(pieces, filled))
        failed = [failure for failures in call.failures.values() for failure in failures.items()]
        warnings = [f"pack {name!r} is empty: {why}" for name, why in failed]
        own = (warning for pack in filled.values() for warning in pack.context.warnings)
        base = replace(
            self._base(parts),
            warnings=tuple(dict.fromkeys((*warnings, *call.warnings, *own))),
            timings={"total": (time.perf_counter() - call.start) * 1000},
            status=Status.PARTIAL if self.failures else Status.OK,
        )
        asked = [piece for piece in pieces if piece.part.kind == "user"]
        return PlanResult(
            system_prompt=system_of(pieces),
            history=tuple(message for piece in pieces if piece not in asked for message in piece.messages),
            user_message=asked[0].messages[0].content if asked else "",
            trace=compose(parts, base, tokens=self._cost(pieces)),
        )

    def _pack(self, name: str) -> Pack:
        """Return a pack, with what the call retrieves by in place of its own source."""
        pack, override = self.plan.packs[name], self.call.override
        chosen = override.get(name) if isinstance(override, Mapping) else override
        if chosen is not None and not pack.is_plan:
            return Pack.of(name, replace(pack, source=chosen), self.plan.settings)
        if pack.source is None:
            raise ConfigError(f"pack {name!r} has no source; give it one, or pass retriever_override")
        return pack

    def _filled(self, name: str, most: int) -> Filled:
        """Return a pack within so many tokens."""
        pack, context = self.packs[name], Context()
        if pack.is_plan and most > 0:
            context = self._nested(pack, most).result().trace
        elif most > 0:
            context = pack.fit(self.pages[name], _bound(most))
        return Filled(context, self.plan.count(context.text), 0)

    def _query(self, pack: Pack) -> str:
        """Return what to ask a pack: its own query, else the input's, else the user's message."""
        if pack.query:
            return str(fill_paths(pack.query, self.call.values))
        given = self.call.values.get("input")
        asked = [given.get(key) for key in _QUERY_KEYS] if isinstance(given, Mapping) else []
        texts = (text for text in asked if isinstance(text, str) and text.strip())
        return next(texts, self.call.question)

    def _pieces(self, filled: Mapping[str, Filled]) -> list[Piece]:
        texts = {name: filled[name].context.text if name in filled else "" for name in self.plan.rules}
        call, directives = self.call, self.plan.directives
        if self.is_nested:
            return write_pieces(directives, call.values, texts, as_text=True)
        return write_pieces(directives, call.values, texts, base=call.base_system_prompt, user=call.user)

    def _cost(self, pieces: Sequence[Piece]) -> int:
        if self.is_nested:
            return self.plan.count(system_of(pieces))
        return self.plan.count_messages(messages_of(pieces)) + self.plan.tool_tokens

    def _excess(self, pieces: Sequence[Piece]) -> int:
        return 0 if self.limit is None else self._cost(pieces) - self.limit

    def _check_fixed(self) -> None:
        """Raise where what may not be cut does not fit."""
        asked = [piece for piece in self.bare if piece.part.kind == "user"]
        if asked:
            self.call.question = asked[0].part.text
        least = self._excess(asked)
        if least > 0 and not self.is_nested:
            raise BudgetError(
                f"plan {self.plan.name!r}: the user's message and the tools need "
                f"{least + (self.limit or 0)} tokens, and the input budget is {self.limit}; "
                "shorten the message or raise input_budget"
            )

    def _compacted(self) -> list[Piece]:
        """Return what fits without packs: the examples go, the oldest turn first, then the system is cut."""
        pieces, count = self.bare, self.plan.count
        while self._excess(pieces) > 0:
            own = [i for i, piece in enumerate(pieces) if piece.part.kind == "example"]
            if not own:
                break
            begins = {i for i, p in enumerate(pieces) if p.part.role == "user" or p.part.kind != "example"}
            end = min((i for i in begins if i > own[0]), default=len(pieces))
            self.call.warnings.append(f"{end - own[0]} of the plan's own messages were left out for room")
            pieces = [*pieces[: own[0]], *pieces[end:]]
        whole = text = system_of(pieces)
        said = [piece for piece in pieces if piece.part.role != "system"]
        for attempt in range(self.plan.policy.max_iterations + 1):
            if (excess := self._excess(pieces)) <= 0:
                break
            if attempt < self.plan.policy.max_iterations:
                short = compact(text, count(text) - excess, count, self.plan.compactor)
                self.call.warnings.append(short.warning or "the system prompt was cut for room")
                text = short.text
            else:
                text = ""
            lost = max(0, count(whole) - count(text))
            cut = Part(name="system", kind="system", text=text, lost=lost, reason="cut for room")
            pieces = [Piece(cut), *said]
        return pieces

    def _with_history(self, pieces: list[Piece]) -> list[Piece]:
        """Return the pieces with as many of the latest turns as fit, whole and without a gap."""
        missing, latest = list[BaseMessage](), turns(self.call.history)
        place = next((i for i, p in enumerate(pieces) if p.part.kind == "history"), None)
        if place is None:
            if latest and not self.is_nested:
                self.call.warnings.append("the plan has no place for history; it was left out")
            return pieces

        def joined() -> list[Piece]:
            said = [Piece.said(f"history {n}", "history", turn) for n, turn in enumerate(latest, 1)]
            return [*pieces[:place], *said, *pieces[place + 1 :]]

        while latest and self._excess(joined()) > 0:
            missing += latest.pop(0)
        if missing:
            self.call.warnings.append(f"{len(missing)} older messages of the history were left out for room")
            lost = self.plan.count_messages(missing)
            told = replace(pieces[place].part, lost=lost, reason="left out for room")
            return [*joined()[:place], Piece(told), *joined()[place:]]
        return joined()

    def _base(self, parts: Sequence[Part]) -> Context:
        """Return what the whole was asked and under which settings: those of the first pack's engine."""
        plan, call = self.plan, self.call
        budget = UNBOUNDED if self.limit is None else self.limit
        contexts = [part.context for part in parts if part.context is not None]
        asked = next((context.request for context in contexts if context.request.now), ContextRequest())
        own = next((context.settings for context in contexts if context.settings), None)
        own = EngineConfig(tokenizer=plan.count).described() if own is None else own
        request = ContextRequest(
            query=call.question or asked.query,
            scope=asked.scope,
            history=tuple(map(Message.of, call.history)),
            focus={"plan": plan.name},
            budget=self.limit,
            now=asked.now,
        )
        settings = {**own, "budget": EngineConfig(budget=Budget(tokens=budget)).described()["budget"]}
        return Context(budget=budget, request=request, settings=settings)

    def _parts(self, pieces: Sequence[Piece], filled: Mapping[str, Filled]) -> Iterator[Part]:
        """Yield what became of each piece; at last of the packs that stand in messages."""
        names = {piece.part.name for piece in pieces}
        for part, messages in pieces:
            if part.kind == "pack":
                yield self._told(part.name, "", filled)
            elif messages or part.reason or part.text.strip():
                tokens = self.plan.count_messages(messages) if messages else self.plan.count(part.text)
                yield replace(part, tokens=tokens)
        for number, directive in enumerate(self.plan.directives, 1):
            for name in packs_named(directive):
                if name in self.plan.rules and name not in names:
                    names.add(name)
                    own = f"{directive.type} {number}"
                    yield self._told(name, own if own in names else "user", filled)

    def _told(self, name: str, within: str, filled: Mapping[str, Filled]) -> Part:
        """Return a pack as a part: what it was promised, where it stands, and what is not in it."""
        pack = self.packs[name]
        context, tokens, promised = filled.get(name, Filled(Context(), 0, UNBOUNDED))
        needed = context.tokens + sum(inner.lost for inner in context.parts)
        if context.is_truncated and not pack.is_plan:
            needed = max(needed, pack.fit(self.pages[name], MOST).tokens)
        lost = max(0, needed - tokens)
        return Part(
            name=name,
            kind="plan" if pack.is_plan else "pack",
            text=context.text,
            tokens=tokens,
            promised=_bound(promised),
            lost=lost,
            reason=self.failures.get(name) or ("some of it was left out or cut for room" if lost else ""),
            within=within,
            rule=self.plan.rules[name],
            context=context,
        )


def _bound(tokens: int) -> int | None:
    return None if tokens >= UNBOUNDED else tokens
