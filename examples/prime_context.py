"""What an agent should read before it answers in a thread: files and messages that LangChain stored.

python examples/prime_context.py
"""

from langchain_chroma import Chroma

from langchain_context_engine import LocalEmbeddings
from langchain_context_engine.designs import PrimeContextService

FILES = {
    "docs/billing.md": "Invoices are sent on the first working day. Yearly billing is not offered.",
    "docs/refunds.md": "A refund goes back to the card within ten days.",
    "src/invoices.py": "def send_invoices(month):\n    mail(customers(), month)",
}
MESSAGES = ["A customer asks why there is no yearly billing.", "Let us look at what the documents say."]
local = LocalEmbeddings()
files = Chroma.from_texts(
    list(FILES.values()),
    local,
    [{"user_id": "ann", "source": path} for path in FILES],
    collection_name="files",
)
about = [{"user_id": "ann", "thread_id": "t1", "author": "Ben"}] * len(MESSAGES)
messages = Chroma.from_texts(MESSAGES, local, about, collection_name="messages")

service = PrimeContextService(files, messages, fields={"path": "source"})
question = "When are invoices sent, and is there yearly billing?"
context = service.build_prime_context("t1", question, "ann", references=["docs/refunds.md"])
print(f"{context.text}\n\n{context.stats}")

cited = next(item for item in context.items if item.source == "docs/billing.md")
answered = service.mark_used(context, f"On the first working day {cited.citation}.")
print(answered.format_citations_for_response())
