"""Record the inspector's sample traces: the demo's questions, answered by the real engine.

Run it from the checkout after a change of the demo or of the trace format:

    python examples/record_samples.py
"""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from langchain_context_engine import Budget, ChromaSource, Context, ContextEngine
from langchain_context_engine.demo import DEMO_QUESTIONS, load_demo

SAMPLES = Path(__file__).resolve().parents[1] / "inspector" / "samples"
NAMES = ("duplicates", "tight-budget", "latest")
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        demo = load_demo(folder)
        found = demo.collections.values()
        engine = ContextEngine(
            sources=[ChromaSource(collection, embeddings=demo.embeddings) for collection in found],
            scope_keys=("workspace_id",),
            timeout_seconds=30,
            limit=15,
        )
        SAMPLES.mkdir(exist_ok=True)
        for name, question in zip(NAMES, DEMO_QUESTIONS, strict=True):
            context = engine.build(question.question, scope=question.scope, budget=question.budget, now=NOW)
            write(name, context)
        weighted = engine.with_settings(
            weights={"relevance": 0.5, "recency_half_life": 0.2, "confidence": 0.15, "keyword": 0.15},
            budget=Budget(
                tokens=700, reserve=60, shares={"memories": 3, "docs": 2, "code": 2, "chat": 1}, item_cap=0.5
            ),
        )
        question = "How are refunds, invoices and payouts checked before money moves?"
        write("weighted", weighted.build(question, scope=DEMO_QUESTIONS[0].scope, now=NOW))


def write(name: str, context: Context) -> None:
    path = SAMPLES / f"{name}.json"
    path.write_text(json.dumps(context.to_dict(), ensure_ascii=False), encoding="utf-8")
    print(f"{path.name}: {len(context.candidates)} candidates, {len(context.passages)} passages")


if __name__ == "__main__":
    main()
