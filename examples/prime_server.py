"""The prime-context design over HTTP, as `context-engine serve --design prime` serves it; asked by a client.

python examples/prime_server.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from langchain_chroma import Chroma
from starlette.testclient import TestClient

from langchain_context_engine import LocalEmbeddings
from langchain_context_engine.designs import PrimeContextService
from langchain_context_engine.serving.server import LOOPBACK_HOSTS, create_app

FILES = {
    "docs/billing.md": "Invoices are sent on the first working day. Yearly billing is not offered.",
    "docs/refunds.md": "A refund goes back to the card within ten days.",
}
MESSAGES = {"Is there yearly billing?": "customer", "Let us look at the documents.": "ann"}
local = LocalEmbeddings()
files = Chroma.from_texts(
    list(FILES.values()),
    local,
    [{"user_id": "ann", "path": path} for path in FILES],
    ids=list(FILES),
    collection_name="served-files",
)
about = [{"user_id": "ann", "thread_id": "t1", "author": who} for who in MESSAGES.values()]
messages = Chroma.from_texts(list(MESSAGES), local, about, collection_name="served-messages")

with TemporaryDirectory() as folder:
    service = PrimeContextService(files, messages, journal=Path(folder) / "journal.db")
    # What the server sets as scope, no caller can change or widen. `uvicorn.run(app)` serves it.
    app = create_app(service, scope={"user_id": "ann"}, allowed_hosts=LOOPBACK_HOSTS)
    with TestClient(app, base_url="http://localhost") as client:
        question = {
            "threadId": "t1",
            "message": "When are invoices sent, and is there yearly billing?",
            "references": ["docs/refunds.md"],
            "history": [{"role": "user", "content": "Please answer in one sentence."}],
        }
        answer = client.post("/build", json=question).json()
        for item in answer["data"]["items"]:
            print(f"{item['type']:9} {item['source']:16} {item['content']}")
        print(answer["meta"])
        print(client.post("/feedback", json={"contextItemId": "docs/refunds.md", "useful": False}).json())
