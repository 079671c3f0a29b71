"""What an agent should read before it answers in a thread: files, references, messages; learning from use.

python examples/prime_context.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import chromadb

from langchain_context_engine.designs import PrimeContextService

FILES = {
    "docs/billing.md": "Invoices are sent on the first working day. Yearly billing is not offered.",
    "docs/refunds.md": "A refund goes back to the card within ten days.",
    "src/invoices.py": "def send_invoices(month):\n    mail(customers(), month)",
}
MESSAGES = {
    "m1": "A customer asks why there is no yearly billing.",
    "m2": "Let us look at what the documents say.",
}


def collection(client: Any, name: str, texts: dict[str, str], **about: str) -> Any:
    made = client.create_collection(name, embedding_function=None)
    # No search here needs vectors, but Chroma wants one for each record.
    vectors = [[1.0]] * len(texts)
    records = [{"user_id": "ann", **about, **({} if about else {"path": key})} for key in texts]
    made.add(ids=list(texts), documents=list(texts.values()), metadatas=records, embeddings=vectors)
    return made


def main() -> None:
    client = chromadb.EphemeralClient()
    files = collection(client, "files", FILES)
    messages = collection(client, "messages", MESSAGES, thread_id="t1", author="Ben")
    with tempfile.TemporaryDirectory() as folder:
        service = PrimeContextService(files, messages, journal=Path(folder) / "journal.db")
        question = "When are invoices sent, and is there yearly billing?"
        named = ["docs/refunds.md"]
        context = service.build_prime_context("t1", question, "ann", references=named)
        print(f"{context.text}\n\n{context.stats}")

        # An answer that cites an item makes it weigh more in the next context.
        cited = next(item for item in context.items if item.source == "docs/billing.md")
        answered = service.mark_used(context, f"On the first working day {cited.citation}.")
        print(answered.format_citations_for_response())
        again = service.build_prime_context("t1", question, "ann", references=named)
        after = next(item for item in again.items if item.id == cited.id)
        print(f"{cited.id}: {cited.relevance:.3f} -> {after.relevance:.3f}")
        service.close()


if __name__ == "__main__":
    main()
