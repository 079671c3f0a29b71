"""The one way that every call of the memory engine goes: check, embed the question once, build, tell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_context_engine.designs.memory.answers import Answer, Call
from langchain_context_engine.designs.memory.options import ContextOptions, RankingOptions, SearchOptions
from langchain_context_engine.designs.memory.rankers import Ranker, engine_settings, signals_of
from langchain_context_engine.designs.memory.setup import embedding_errors
from langchain_context_engine.designs.memory.templates import as_template
from langchain_context_engine.embeddings import CachedEmbeddings
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.models.errors import ContextEngineError, ScopeError
from langchain_context_engine.models.redact import redact
from langchain_context_engine.models.registry import Registry
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.rendering.templates import Template
from langchain_context_engine.search.query_vectors import check_vector

_LONGEST_LOGGED = 200


@dataclass(kw_only=True)
class Answering:
    """What the calls of one memory engine share.

    Attributes:
        recorded: The engine that records into the journal.
        unrecorded: The same without a journal, for previews.
        embeddings: Embed questions, and remember them.
        rankers: By name.
        templates: By name.
        ranking: The weights of the ranker "default".
        default_template: The template of contexts that name none.
        workspace_key: The metadata key of the workspace.
        logger: Told of calls that fail.
    """

    recorded: ContextEngine
    unrecorded: ContextEngine
    embeddings: CachedEmbeddings
    rankers: Registry[Ranker]
    templates: Registry[Template]
    ranking: RankingOptions
    default_template: Template
    workspace_key: str
    logger: Any
    _engines: dict[Any, ContextEngine] = field(default_factory=dict)

    def registered(self) -> ContextEngine:
        """Return the engine that knows every registered ranker; a name may mean another one now."""
        self._engines.clear()
        return self.recorded.with_settings(signals=signals_of(self.rankers, self.ranking))

    def run(self, *fields: Any) -> Answer:
        """Answer a call, given as the fields of `Call`: the one way that all of them go."""
        call = Call(*fields)
        with self._reporting(call):
            options, engine, request = self._ask(call)
            if _is_embedded(request):
                with embedding_errors():
                    vector = self.embeddings.embed_query(request.query)
                request = replace(request, vector=tuple(vector))
            return Answer(options=options, context=engine.build(request), parts=engine.config.parts())

    async def arun(self, *fields: Any) -> Answer:
        """Do the same as `run`, from a running event loop."""
        call = Call(*fields)
        with self._reporting(call):
            options, engine, request = self._ask(call)
            if _is_embedded(request):
                with embedding_errors():
                    vector = await self.embeddings.aembed_query(request.query)
                request = replace(request, vector=tuple(vector))
            context = await engine.abuild(request)
            return Answer(options=options, context=context, parts=engine.config.parts())

    def _ask(self, call: Call) -> tuple[ContextOptions | SearchOptions, ContextEngine, ContextRequest]:
        kind = SearchOptions if call.is_search else ContextOptions
        options = kind.read(call.options, call.more)
        shape: dict[str, Any] = {"template": self.default_template}
        if isinstance(options, ContextOptions):
            template = self.template_of(options.template, include_metadata=options.include_metadata)
            shape = {"template": template, "budget": options.token_budget}
        elif self.recorded.config.budget.tokens == 0:
            # A search is not packed, so an engine whose contexts are empty can still search.
            shape["budget"] = 1
        asked = (
            {"query": call.question}
            if isinstance(call.question, str)
            else {"vector": check_vector(call.question, "the vector")}
        )
        request = ContextRequest(
            scope=self.scope_of(call.workspace_id), **asked, **shape, **options.as_request()
        )
        return options, self.engine(options.ranker, is_recorded=call.name != "preview_context"), request

    def engine(self, ranker: Any, *, is_recorded: bool = True) -> ContextEngine:
        """Return the engine with a ranker; those of names and weights are kept."""
        base = self.recorded if is_recorded else self.unrecorded
        if ranker is None:
            return base
        can_keep = isinstance(ranker, (str, RankingOptions))
        key = (ranker, is_recorded)
        if can_keep and key in self._engines:
            return self._engines[key]
        engine = base.with_settings(**engine_settings(ranker, self.rankers, self.ranking))
        if can_keep:
            self._engines[key] = engine
        return engine

    def template_of(self, given: Any, *, include_metadata: bool | None = None) -> Template:
        """Return the template of a name, or the one given, or the default.

        Raises:
            UnknownNameError: There is no such template; those that exist are listed.
        """
        if given is None:
            return as_template(self.default_template, include_metadata=include_metadata)
        template = self.templates[given] if isinstance(given, str) else given
        return as_template(template, include_metadata=include_metadata)

    def scope_of(self, workspace_id: Any) -> dict[str, Any]:
        """Return the scope of one workspace.

        Raises:
            ScopeError: It is no name of one: a list would reach into several.
        """
        is_name = isinstance(workspace_id, (str, int)) and not isinstance(workspace_id, bool)
        if not is_name or workspace_id == "":
            raise ScopeError(f"workspace_id must be a non-empty string or a number, got {workspace_id!r}")
        return {self.workspace_key: workspace_id}

    @contextmanager
    def _reporting(self, call: Call) -> Iterator[None]:
        """Tell the logger of a call that fails: what was asked, and the kind of error."""
        try:
            yield
        except ContextEngineError as error:
            asked = call.question if isinstance(call.question, str) else "(a vector)"
            told = redact(str(asked))[:_LONGEST_LOGGED]
            self.logger.warning("memory %s failed for %r: %s", call.name, told, type(error).__name__)
            raise


def _is_embedded(request: ContextRequest) -> bool:
    """Return whether a request needs the embedding of its question: it can find something."""
    finds = request.budget != 0 and request.limit != 0 and request.kinds != ()
    return finds and request.vector is None and bool(request.query.strip())
