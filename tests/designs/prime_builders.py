"""What the tests of the prime-context service share."""

from __future__ import annotations

from langchain_context_engine.designs import PrimeContextService
from tests.builders import a_collection

NOW = "2026-03-10T12:00:00Z"
FILES = [
    {"id": "billing", "path": "docs/billing.md", "text": "Invoices are sent monthly. Billing runs on the first."},
    {"id": "refunds", "path": "docs/refunds.md", "text": "Refunds go back to the card within ten days."},
    {"id": "garden", "path": "docs/garden.md", "text": "The office has a garden with two benches."},
    {"id": "payments", "path": "src/payments.py", "text": "def charge(card, amount): return gateway.send(card, amount)"},
]  # fmt: skip
MESSAGES = [
    {"id": "m1", "thread_id": "t1", "text": "Can customers choose their billing day?", "created_at": "2026-03-10"},
    {"id": "m2", "thread_id": "t1", "text": "Not yet, it is on the list.", "created_at": "2026-03-09"},
    {"id": "m3", "thread_id": "t2", "text": "Who waters the garden?", "created_at": "2026-03-09"},
]  # fmt: skip


def owned(records, user="ann"):
    return [{"user_id": user, "created_at": "2026-03-01", **record} for record in records]


def a_service(
    files=FILES, messages=MESSAGES, references=(), *, user="ann", **settings
) -> PrimeContextService:
    return PrimeContextService(
        a_collection(owned(files, user)),
        a_collection(owned(messages, user)) if messages else None,
        a_collection(owned(references, user)) if references else None,
        **settings,
    )


def ask(service, message="When are invoices sent?", thread="t1", user="ann", **fields):
    return service.build_prime_context(thread, message, user, **{"now": NOW, **fields})


def item(context, id_):
    return next(item for item in context.items if item.id == id_)


def ranked(context, id_):
    """Return the ranked candidate behind an item."""
    return next(p.ranked for p in context.trace.passages if p.key[1] == id_)
