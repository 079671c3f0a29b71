"""The engine as a LangChain retriever over two collections, and why each document is there.

python examples/retriever.py
"""

from __future__ import annotations

import chromadb

from langchain_context_engine import ChromaSource, ContextEngine, LocalEmbeddings

COLLECTIONS = {
    "decisions": [
        "We decided to bill monthly, on the first working day.",
        "We decided to pay by direct debit.",
    ],
    "meetings": [
        "Ann reported that customers ask for yearly billing.",
        "We decided: to bill monthly, on the first working day.",
    ],
}


def main() -> None:
    client, embeddings = chromadb.EphemeralClient(), LocalEmbeddings()
    sources = []
    for name, texts in COLLECTIONS.items():
        collection = client.get_or_create_collection(name, embedding_function=None)
        ids = [f"{name}-{number}" for number in range(len(texts))]
        collection.upsert(ids=ids, documents=texts, embeddings=embeddings.embed_documents(texts))
        sources.append(ChromaSource(collection, embeddings=embeddings))

    retriever = ContextEngine(sources=sources).as_retriever(k=2)
    for document in retriever.invoke("What did we decide about billing?"):
        about = document.metadata["context"]
        print(f"{about['citation']} {about['source']}/{document.id} {about['score']:.2f}")
        print(f"    {document.page_content}")


if __name__ == "__main__":
    main()
