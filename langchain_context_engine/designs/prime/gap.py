"""How far a greedy selection falls short of the best one."""

from __future__ import annotations

import math

from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.models.types import Passage, Ranked
from langchain_context_engine.pipeline.pack import Packing
from langchain_context_engine.pipeline.select import knapsack
from langchain_context_engine.rendering.layout import write
from langchain_context_engine.trace.config import EngineConfig
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.traces import ranking


def optimality_gap(context: Context, engine: ContextEngine) -> float:
    """Return by what share of the best possible sum of scores a context falls short, 0–1.

    The best is found by dynamic programming over whole passages. A passage that was cut counts by the
    share of its tokens that is in.

    Args:
        context: What the engine answered.
        engine: That engine.
    """
    config = EngineConfig.read(context.settings, engine.config)
    packing = config.parts().packing_for(context.request)
    ranked = ranking(context, engine)
    costs = [_cost(item, packing) for item in ranked]
    scores = [item.score for item in ranked]
    room = max(0, packing.budget.tokens - packing.budget.reserve)
    best = math.fsum(scores[i] for i in knapsack(scores, costs, room))
    whole = {item.key: cost for item, cost in zip(ranked, costs, strict=True)}
    got = math.fsum(
        p.ranked.score * (min(1.0, p.tokens / whole[p.key]) if p.is_truncated else 1.0)
        for p in context.passages
    )
    return max(0.0, 1 - got / best) if best else 0.0


def _cost(item: Ranked, packing: Packing) -> int:
    written = write([Passage(ranked=item, text=item.candidate.text)], packing.layout)
    return packing.count(packing.layout.template.separator + written.text)
