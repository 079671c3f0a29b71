"""The prime-context design over HTTP, as `context-engine serve --design prime` serves it; asked by a program.

python examples/prime_server.py
"""

from __future__ import annotations

import json
import socket
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import chromadb
import uvicorn

from langchain_context_engine.designs import PrimeContextService
from langchain_context_engine.serving.server import LOOPBACK_HOSTS, create_app

FILES = {
    "docs/billing.md": "Invoices are sent on the first working day. Yearly billing is not offered.",
    "docs/refunds.md": "A refund goes back to the card within ten days.",
}
MESSAGES = {"m1": ("customer", "Is there yearly billing?"), "m2": ("ann", "Let us look at the documents.")}


def a_service(journal: Path) -> PrimeContextService:
    client = chromadb.EphemeralClient()
    files = client.get_or_create_collection("served-files", embedding_function=None)
    files.upsert(
        ids=list(FILES),
        documents=list(FILES.values()),
        metadatas=[{"user_id": "ann", "path": path} for path in FILES],
        embeddings=[[1.0]] * len(FILES),  # no search here needs vectors, but Chroma wants one
    )
    messages = client.get_or_create_collection("served-messages", embedding_function=None)
    messages.upsert(
        ids=list(MESSAGES),
        documents=[text for _, text in MESSAGES.values()],
        metadatas=[{"user_id": "ann", "thread_id": "t1", "author": who} for who, _ in MESSAGES.values()],
        embeddings=[[1.0]] * len(MESSAGES),
    )
    return PrimeContextService(files, messages, journal=journal)


def post(address: str, body: dict[str, Any]) -> Any:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)  # noqa: S310 - this machine
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        return json.load(answer)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket() as listening:
        service = a_service(Path(folder) / "journal.db")
        # What the server sets as scope, no caller can change or widen.
        app = create_app(service, scope={"user_id": "ann"}, allowed_hosts=LOOPBACK_HOSTS)
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"

        question = {
            "threadId": "t1",
            "message": "When are invoices sent, and is there yearly billing?",
            "references": ["docs/refunds.md"],
            "history": [{"role": "user", "content": "Please answer in one sentence."}],
        }
        answer = post(f"{address}/build", question)
        for item in answer["data"]["items"]:
            print(f"{item['type']:9} {item['source']:16} {item['content']}")
        print(answer["meta"])
        print(post(f"{address}/feedback", {"contextItemId": "docs/refunds.md", "useful": False}))

        server.should_exit = True
        thread.join()
        service.close()


if __name__ == "__main__":
    main()
