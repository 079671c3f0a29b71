"""Plans declared by name, each able to stand in another: `ContextAssembler`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_context_engine.designs.plan.plan import ContextPlan
from langchain_context_engine.designs.plan.policy import ContextDeclaration, MessageSpec, PackSpec
from langchain_context_engine.designs.plan.result import PlanResult
from langchain_context_engine.designs.plan.text import packs_named
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.registry import Registry


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

    Example:
        >>> assembler = ContextAssembler({"support": ContextDeclaration(name="support", messages=[
        ...     {"type": "system", "content": "You are a support agent."},
        ...     {"type": "user", "content": "Question: {input.question}"},
        ... ])})
        >>> result = assembler.assemble(
        ...     context_name="support", base_system_prompt="", history_messages=[], user_message="",
        ...     template_context={"input": {"question": "Where is my order?"}, "context": {}},
        ... )
        >>> result.user_message
        'Question: Where is my order?'
    """

    def __init__(
        self,
        context_registry: Mapping[str, ContextDeclaration | Mapping[str, Any]],
        retriever_registry: Mapping[str, Any] | None = None,
        compactor_registry: Mapping[str, Any] | None = None,
        default_retriever: Any = None,
        **settings: Any,
    ) -> None:
        self._declared = {name: _declaration(name, given) for name, given in context_registry.items()}
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
            declaration = self._declared[name]
            packs = {
                used: self._plan(used, (*outer, name)) if used in self._declared else self._retrievers[used]
                for used in _used(declaration, self._retrievers)
                if used in self._declared or used in self._retrievers
            }
            plan = ContextPlan(
                declaration.messages, packs=packs, policy=declaration.policy, name=name, **self._settings
            )
            self.plans.register(name, plan)
        return self.plans[name]


def _declaration(name: str, given: ContextDeclaration | Mapping[str, Any]) -> ContextDeclaration:
    return given if isinstance(given, ContextDeclaration) else ContextDeclaration(**{"name": name, **given})


def _used(declaration: ContextDeclaration, retrievers: Iterable[str]) -> list[str]:
    """Return the names that a declaration places, by a directive or in a message; without messages, all."""
    if declaration.messages is None:
        return list(retrievers)
    names: list[str] = []
    for directive in declaration.messages:
        if isinstance(directive, PackSpec):
            names.append(directive.name)
        elif isinstance(directive, MessageSpec):
            names += packs_named(directive.content)
    return list(dict.fromkeys(names))
