"""How much of the package one question enters: `python -m tests.walked [--calls]`, of the README's question, warm.

Comprehensions and lambdas are their function's; what was entered when the question was asked before (imports,
texts that are remembered) does not count. With `--calls` the functions that are called most are told too.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import chromadb

import langchain_context_engine
from langchain_context_engine import ChromaSource, ContextEngine, LocalEmbeddings, executor

PACKAGE = Path(langchain_context_engine.__file__).parent
NOTES = {
    "ann": ("handbook.md › Invoices", "Invoices go out on the first working day of the month."),
    "bob": ("chat, 4 May", "Invoices go out on the first working day of each month."),
    "cat": ("handbook.md › History", "Until March invoices went out on the last Friday."),
    "dan": ("handbook.md › Reminders", "Reminders for unpaid invoices go out 14 days after the due date."),
}


def walked(act: Any) -> Counter[tuple[str, str]]:
    """Return (file, function) → how often it was called while something was done, in any thread."""
    calls: Counter[CodeType] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            calls[frame.f_code] += 1

    executor._threads.idle.clear()  # threads that run already would not be looked at
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    found: Counter[tuple[str, str]] = Counter()
    for code, times in calls.items():
        path = Path(code.co_filename)
        if path.is_relative_to(PACKAGE) and not code.co_name.startswith("<"):
            found[str(path.relative_to(PACKAGE)), code.co_qualname] += times
    return found


def main() -> None:
    """Print the figures."""
    places, texts = zip(*NOTES.values(), strict=True)
    embeddings = LocalEmbeddings()
    collection = chromadb.EphemeralClient().get_or_create_collection("notes", embedding_function=None)
    collection.upsert(
        ids=list(NOTES),
        documents=list(texts),
        metadatas=[{"place": place} for place in places],
        embeddings=embeddings.embed_documents(list(texts)),
    )
    engine = ContextEngine(sources=[ChromaSource(collection, embeddings=embeddings)], budget=56)
    for _ in range(3):
        engine.build("When do invoices go out?")
    found = walked(lambda: engine.build("When do invoices go out?"))
    files = Counter(file for file, _ in found)
    print(f"{len(found)} functions in {len(files)} files, {found.total():,} calls")  # noqa: T201
    if "--calls" in sys.argv:
        for (file, name), times in found.most_common(40):
            print(f"{times:6} {file}: {name}")  # noqa: T201


if __name__ == "__main__":
    main()
