"""Five ready-made assemblies of the engine's parts, one a document.

`README.md` maps the documents' names to ours.
"""

from __future__ import annotations

from langchain_context_engine.designs.arguments import EngineSettings
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
