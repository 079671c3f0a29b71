"""How much of a context is to the point, and how often a cache answers, on the demo's sample data.

python -m tests.benchmarks.precision

Records were judged by hand, question by question, before anything was asked: those that answer, and those
that help. A passage is to the point if its record, or one that it stands for as a duplicate, is either.
The stream for the caches asks these questions as people do (the n-th most popular 1/n as often, Zipf's
law), each second time in other words that were never asked before.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from langchain_context_engine import ChromaSource, Context, ContextEngine
from langchain_context_engine.demo import WORKSPACE_ID, DemoCollections, load_demo
from langchain_context_engine.trace.result_cache import ResultCache

BUDGETS = (150, 300, 600)
NOW = "2026-06-01"
MIN_SCORES = (None, 0.6, 0.7)
_HEAD = """\
| `min_score` | budget | answer in it | best passage to the point | passages to the point |
| --- | ---: | ---: | ---: | ---: |
"""
_SCOPE = {"workspace_id": WORKSPACE_ID}


@dataclass(frozen=True, slots=True)
class Judged:
    """A question, the ids of the records that answer it, and of those that help."""

    question: str
    answers: str
    helps: str = ""

    @property
    def good(self) -> frozenset[str]:
        """All ids that are to the point."""
        return frozenset(f"{self.answers} {self.helps}".split())


JUDGED = (
    Judged("On which day of the month do invoices go out?", "m-invoice-day m-invoice-day-again invoices-1119-2",
           "invoices-1119-1 invoices-1119-3 invoices-1119-4 invoices-1119-5 invoices-1119-6"),
    Judged("Which payment provider does Harbor use now?", "m-provider-stripe provider-0217-6",
           "m-provider-paddle m-provider-cutover m-direct-debit provider-0217-1 provider-0217-2 provider-0217-3"
           " provider-0217-4 provider-0217-5 provider-0217-7 x-12"),
    Judged("How often is a failed card payment tried again?", "m-retry-cards", "m-retry-debit"),
    Judged("Why did the payout import fail in January?", "m-payout-incident standup-0113-4",
           "standup-0113-1 standup-0113-2 standup-0113-3 standup-0113-5 standup-0113-6 standup-0113-7 x-01 x-02"
           " m-payout-check"),
    Judged("How do I void an invoice that has been paid?", "m-void-not-delete assistant-0309-2",
           "assistant-0309-1 assistant-0309-3 assistant-0309-4 assistant-0309-5 assistant-0309-6 m-roles"
           " m-invoice-number m-refunds"),
    Judged("How much VAT does a berth in Madeira carry?", "m-vat-madeira", "m-vat-portugal"),
    Judged("When may we not deploy?", "m-deploy-friday"),
    Judged("How do harbour masters sign in?", "m-auth", "m-roles"),
    Judged("What does Harbor cost a marina?", "m-pricing"),
    Judged("What happens when a tablet has no signal on the pier?", "m-offline", "x-09"),
    Judged("Who may void an invoice?", "m-roles assistant-0309-2", "m-void-not-delete assistant-0309-1"),
    Judged("How are Stripe's webhooks handled?", "m-webhooks", "m-webhook-order x-06"),
    Judged("Where is Harbor hosted, and where is the standby?", "m-hosting"),
    Judged("When are reminders for unpaid invoices sent?", "m-reminders", "m-reminder-tone x-05"),
    Judged("How is money stored and rounded?", "m-money-cents", "x-08"),
    Judged("Where does the refund of an invoice from January go?", "m-refunds assistant-0309-4",
           "m-provider-cutover provider-0217-7 assistant-0309-2 assistant-0309-3"),
    Judged("Which marinas are in the pilot?", "m-pilot"),
    Judged("What slowed down the monthly invoice run?", "x-07"),
    Judged("Why did Horta's bookings begin a day early?", "x-10", "m-timezone m-pilot"),
    Judged("Can two bookings of a berth overlap?", "m-berth-overlap", "x-04"),
    Judged("When do on-call turns change?", "m-on-call"),
    Judged("What is planned for next quarter?", "m-roadmap"),
    Judged("How long is the ledger's backup kept?", "m-backup"),
    Judged("What did moving the first marina to the new provider show?", "x-12", "m-provider-cutover provider-0217-6"),
)  # fmt: skip


def ids_of(context: Context) -> list[set[str]]:
    """Return for each passage, best first, the ids of the records that it stands for."""
    ranked = sorted(context.passages, key=lambda passage: -passage.ranked.score)
    return [{id_ for _, id_ in (passage.key, *passage.also_in)} for passage in ranked]


def figures(engine: ContextEngine, budget: int) -> tuple[float, float, float]:
    """Return how often the answer stands in the context, and how much of it is to the point."""
    hits = firsts = 0
    shares = []
    for judged in JUDGED:
        found = ids_of(engine.build(judged.question, budget=budget, scope=_SCOPE, now=NOW))
        hits += any(ids & set(judged.answers.split()) for ids in found)
        firsts += bool(found and found[0] & judged.good)
        shares.append(sum(bool(ids & judged.good) for ids in found) / max(1, len(found)))
    return hits / len(JUDGED), firsts / len(JUDGED), sum(shares) / len(shares)


def stream(length: int, seed: int) -> Iterator[str]:
    """Yield what people ask: the popular often, and each second time in words of their own."""
    numbers = random.Random(seed)
    popular = [judged.question for judged in JUDGED]
    weights = [1 / rank for rank in range(1, len(popular) + 1)]
    for number in range(length):
        question = numbers.choices(popular, weights)[0]
        yield f"{question} Asked for ticket {number}." if number % 2 else question


def hit_rate(engine: ContextEngine, questions: Iterable[str]) -> float:
    """Return the share of questions that the engine's cache answered."""
    for question in questions:
        engine.build(question, scope=_SCOPE, now=NOW)
    return engine.cache.hit_rate if engine.cache else 0.0


def engine_over(demo: DemoCollections, cache: ResultCache | None = None) -> ContextEngine:
    """Return an engine over the sample data, without the repository."""
    kept = (demo.memories, demo.chat, demo.experiences)
    sequence = ("document", "start")
    sources = [ChromaSource(each, embeddings=demo.embeddings, sequence=sequence) for each in kept]
    return ContextEngine(sources, timeout_seconds=30, cache=cache)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--asked", type=int, default=300, help="questions of the stream")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        demo = load_demo(folder)
        engine = engine_over(demo)
        sys.stdout.write(_HEAD)
        for min_score in MIN_SCORES:
            strict = engine.with_settings(min_score=min_score)
            for budget in BUDGETS:
                told = " | ".join(f"{100 * share:.0f} %" for share in figures(strict, budget))
                sys.stdout.write(f"| {min_score or 'none'} | {budget} | {told} |\n")
        cache = ResultCache(ttl_seconds=3600, longest_seconds=3600)
        share = hit_rate(engine_over(demo, cache), stream(options.asked, 7))
        sys.stdout.write(f"\nOf {options.asked} questions {100 * share:.0f} % were answered by the cache.\n")


if __name__ == "__main__":
    main()
