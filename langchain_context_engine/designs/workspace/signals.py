"""What only a workspace weighs: nearness in the tree, the type asked for, the user's own pages."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from langchain_context_engine.ranking.places import TreeDistance, TypeMatch, UserAffinity
from langchain_context_engine.ranking.signals import Signal

SIGNALS: Mapping[str, Signal] = MappingProxyType(
    {"structural": TreeDistance(), "type_match": TypeMatch(), "user_affinity": UserAffinity()}
)
"""Parts with settings, which every trace tells as data: it replays without the builder."""
