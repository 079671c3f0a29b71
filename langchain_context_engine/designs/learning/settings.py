"""The numbers, titles and templates of the learning memory, as data."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from langchain_context_engine.designs.learning.formats import NOTE, NOTES, SAID
from langchain_context_engine.designs.learning.sources import KIND_OF
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.ranking.identity import AcrossKinds, Versions
from langchain_context_engine.ranking.signals import ForKinds, Lookup, Recency, Signal, Stated
from langchain_context_engine.rendering.templates import Template

SHARES: Mapping[str, float] = MappingProxyType(
    {"experiences": 3, "code": 2, "commits": 2, "values": 1, "memories": 1}
)
"""Context type → weight of its share."""

PREMORTEM_SHARES: Mapping[str, float] = MappingProxyType(
    {"full": 3, "strategy": 3, "surprise": 3, "root_cause": 3, "values": 1}
)

WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"relevance": 0.7, "tier": 0.1, "importance_of_memories": 0.1, "newness": 0.1}
)
"""Signal → weight: similarity first, the others move what is about as similar."""

TIERS: Mapping[str, float] = MappingProxyType({"gold": 1.0, "silver": 0.7, "bronze": 0.4, "abandoned": 0.0})

SIGNALS: Mapping[str, Signal] = MappingProxyType(
    {
        "tier": Lookup(values=TIERS, default=0.5, key="confidence_tier"),
        "importance_of_memories": ForKinds(signal=Stated(key="importance"), kinds=("memory",)),
        "newness": ForKinds(signal=Recency(curve="half_life"), kinds=("commit", "experience")),
    }
)

TITLES: Mapping[str, str] = MappingProxyType({name: name.capitalize() for name in KIND_OF})

PREMORTEM_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "full": "Common Failures",
        "strategy": "Strategy Performance",
        "surprise": "Unexpected Outcomes",
        "root_cause": "Root Causes to Watch",
        "values": "Relevant Principles",
    }
)

MAX_ITEM_FRACTION = 0.25

MINIMUM_CUT = 8
"""A quarter of a small share is little: what is left of an item may be a line."""

SAME_THING = (
    AcrossKinds({"experience": "ghap_id", "value": "ghap_id"}),
    AcrossKinds({"code": "file_path", "commit": "files_changed"}),
    Versions(("symbol",), within=("file_path",), tells_apart=True),
)
"""What makes two items one. Two functions of one file never are, however alike; two versions of one are."""

SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "weights": WEIGHTS,
        "signals": SIGNALS,
        "selection": "score",
        "truncator": "keep_start",
        "notes": NOTES,
        "dedupe_key": SAID,
        "dedupe_threshold": 90.0,
    }
)
"""What this design sets of the engine; everything else is the engine's default."""

_FORM = {"passage": "{{content}}", "section": "## {{title}}\n", "separator": "\n\n", "note": NOTE}

TEMPLATE = Template(
    name="learning",
    header="# Context\n\n",
    footer="\n\n---\n*{{count}} items from {{sources}} sources*",
    **_FORM,
)


def premortem_template(domain: str, strategy: str | None) -> Template:
    """Return the template of a premortem, with its heading.

    Raises:
        ConfigError: The domain or the strategy is no name on one line.
    """
    for name, value in (("domain", domain), ("strategy", strategy or "none")):
        if not isinstance(value, str) or not value.strip() or not value.isprintable() or "{{" in value:
            raise ConfigError(f"{name} must be a name on one line, got {value!r}")
    return Template(
        name="premortem",
        header=f"# Premortem: {domain}{f' with {strategy}' if strategy else ''}\n\n",
        footer="\n\n---\n*Based on {{count}} past experiences*",
        **_FORM,
    )
