"""Five ready-made assemblies of the engine's parts. Each is loaded when it is first asked for.

Each design has a folder, one of whose files reads from top to bottom as its document does; they share no
engine of their own. `README.md` maps the documents' names to ours.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "memory.engine": ("MemoryEngine",),
    "memory.options": ("CacheConfig", "ContextOptions", "RankingOptions", "SearchOptions"),
    "memory.answers": ("ContextPreview", "ContextResult", "SearchAnalytics"),
    "memory.results": ("Memory", "RelatedMemory", "SearchResult"),
    "memory.formatter": ("ContextFormatter",),
    "memory.rankers": ("CustomRanker", "RankingFunction"),
    "memory.templates": ("ContextTemplate",),
    "plan.plan": (
        "ContextDeclaration",
        "ContextPack",
        "ContextPackBlock",
        "ContextPlan",
        "ContextPolicySpec",
        "ContextRetrieverRequest",
        "MessageCounter",
        "Pack",
        "PlanResult",
    ),
    "plan.declared": ("ContextAssembler",),
    "prime.service": (
        "ContextItem",
        "ContextMetrics",
        "ContextStats",
        "PrimeContext",
        "PrimeContextService",
        "PrimeSettings",
    ),
    "workspace.builder": (
        "ContextHints",
        "ContextPayload",
        "ContextValidationResult",
        "FocusPoint",
        "TokenBudget",
        "User",
        "WorkspaceContextBuilder",
        "WorkspaceRequest",
    ),
    "workspace.config": (
        "ActivitySettings",
        "CollectorSettings",
        "ContextConfig",
        "FocusSettings",
        "RelationSettings",
        "SemanticSettings",
        "TruncationSettings",
    ),
    "learning.assembler": (
        "ContextAssemblyError",
        "FormattedContext",
        "InvalidContextTypeError",
        "LearningMemoryAssembler",
        "Searcher",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - one line for each design above, nothing twice


def __getattr__(name: str) -> Any:
    """Load a design's class when it is first asked for."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
