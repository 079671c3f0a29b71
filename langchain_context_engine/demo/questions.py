"""Three questions that show what the engine does, over the bundled data, and some to go on with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

COMPANY = (
    "Harbor is a company that does not exist: six people who make the software of small marinas, for\n"
    "berths, bookings and invoices. Bundled are what its assistant remembers, the talk of the team, what\n"
    "was tried and how it went, and its small repository; beside them some records of Lantern, another\n"
    "tenant, which must never show."
)
"""Who the demo's questions are about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoQuestion:
    """A question and what its answer shows.

    Attributes:
        question: What is asked.
        shows: One sentence: what to look at in the context and its explanation.
        budget: Tokens.
        scope: Whose records may be seen.
        key_id: The id of the record that the answer turns on.
    """

    question: str
    shows: str
    budget: int
    scope: Mapping[str, str] = field(default_factory=lambda: {"workspace_id": "harbor"})
    key_id: str = ""


DEMO_QUESTIONS: tuple[DemoQuestion, ...] = (
    DemoQuestion(
        question="On which day of the month do invoices go out?",
        shows="The same rule was noted in almost the same words: it stands in the context once, the other is "
        "dropped as its duplicate and named as such. Lantern's own rule is out of scope and nowhere.",
        budget=400,
        key_id="m-invoice-day",
    ),
    DemoQuestion(
        question="Why did the payout import fail in January, and what did we change?",
        shows="A small budget: it holds what failed and what was changed, and the explanation says how many "
        "tokens were left when the next best had its turn.",
        budget=120,
        key_id="m-payout-incident",
    ),
    DemoQuestion(
        question="What did we decide most recently: Paddle or Stripe?",
        shows="The older decision for Paddle resembles the question as much as the newer one for Stripe; "
        "since the question asks for the most recent, the newer one leads; the commit that carried it out "
        "follows.",
        budget=400,
        key_id="m-provider-stripe",
    ),
)

NEXT_QUESTIONS: tuple[str, ...] = (
    "Why were there gaps in the invoice numbers?",
    "Why did we decide to move from Paddle to Stripe?",
    "How do I void an invoice that is already paid?",
)
"""Questions of the same company that the demo proposes; each is answered by its first passages."""
