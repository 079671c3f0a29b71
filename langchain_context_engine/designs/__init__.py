"""Five ready-made assemblies of the engine's parts, one a document. Each is loaded when first asked for.

`README.md` maps the documents' names to ours.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_context_engine.designs.learning import (
        ContextAssemblyError,
        FormattedContext,
        InvalidContextTypeError,
        LearningMemoryAssembler,
        Searcher,
    )
    from langchain_context_engine.designs.memory import (
        CacheConfig,
        ContextFormatter,
        ContextOptions,
        ContextPreview,
        ContextResult,
        ContextTemplate,
        CustomRanker,
        Memory,
        MemoryEngine,
        RankingFunction,
        RankingOptions,
        RelatedMemory,
        SearchAnalytics,
        SearchOptions,
        SearchResult,
    )
    from langchain_context_engine.designs.plan import ContextAssembler, ContextPlan
    from langchain_context_engine.designs.plan_assembly import (
        ContextPack,
        ContextPackBlock,
        ContextRetrieverRequest,
        Pack,
        PlanResult,
    )
    from langchain_context_engine.designs.plan_messages import (
        ContextDeclaration,
        ContextPolicySpec,
        MessageCounter,
    )
    from langchain_context_engine.designs.prime import (
        ContextItem,
        ContextMetrics,
        ContextStats,
        PrimeContext,
        PrimeContextService,
        PrimeSettings,
    )
    from langchain_context_engine.designs.shared import EngineSettings
    from langchain_context_engine.designs.workspace import (
        CollectorSettings,
        ContextConfig,
        ContextHints,
        ContextPayload,
        ContextValidationResult,
        FocusPoint,
        SemanticSettings,
        TokenBudget,
        TruncationSettings,
        User,
        WorkspaceContextBuilder,
        WorkspaceRequest,
    )
    from langchain_context_engine.designs.workspace_blocks import (
        ActivitySettings,
        FocusSettings,
        RelationSettings,
    )

__all__ = [
    "ActivitySettings",
    "CacheConfig",
    "CollectorSettings",
    "ContextAssembler",
    "ContextAssemblyError",
    "ContextConfig",
    "ContextDeclaration",
    "ContextFormatter",
    "ContextHints",
    "ContextItem",
    "ContextMetrics",
    "ContextOptions",
    "ContextPack",
    "ContextPackBlock",
    "ContextPayload",
    "ContextPlan",
    "ContextPolicySpec",
    "ContextPreview",
    "ContextResult",
    "ContextRetrieverRequest",
    "ContextStats",
    "ContextTemplate",
    "ContextValidationResult",
    "CustomRanker",
    "EngineSettings",
    "FocusPoint",
    "FocusSettings",
    "FormattedContext",
    "InvalidContextTypeError",
    "LearningMemoryAssembler",
    "Memory",
    "MemoryEngine",
    "MessageCounter",
    "Pack",
    "PlanResult",
    "PrimeContext",
    "PrimeContextService",
    "PrimeSettings",
    "RankingFunction",
    "RankingOptions",
    "RelatedMemory",
    "RelationSettings",
    "SearchAnalytics",
    "SearchOptions",
    "SearchResult",
    "Searcher",
    "SemanticSettings",
    "TokenBudget",
    "TruncationSettings",
    "User",
    "WorkspaceContextBuilder",
    "WorkspaceRequest",
]

_FILES = ("memory", "prime", "workspace", "learning", "plan", "plan_assembly", "plan_messages", "shared")


def __getattr__(name: str) -> Any:
    """Load a design's class when it is first asked for."""
    if name in __all__:
        for file in _FILES:
            value = getattr(import_module(f"{__name__}.{file}"), name, None)
            if value is not None:
                globals()[name] = value
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
