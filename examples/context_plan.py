"""A prompt that always fits: a plan of system, packs, history and question, in front of any chat model.

python examples/context_plan.py
"""

from __future__ import annotations

import chromadb
from langchain_core.language_models import FakeListChatModel

from langchain_context_engine import ChromaSource, ContextEngine, LocalEmbeddings
from langchain_context_engine.designs import ContextPlan, ContextRetrieverRequest, Pack

ARTICLES = {
    "shipping": "Orders ship within two working days. You get a tracking link by mail.",
    "returns": "Unused goods can be returned within 30 days. The refund arrives a week after the parcel.",
    "tracking": "If a tracking link shows nothing for three days the parcel is lost; we send another.",
}
ORDERS = ["Order 1041: shipped on Monday, tracking DE-77120.", "Order 1007: delivered in January."]


def orders(request: ContextRetrieverRequest) -> list[str]:
    return ORDERS[request.offset : request.offset + request.limit]


def help_centre() -> ContextEngine:
    embeddings, texts = LocalEmbeddings(), list(ARTICLES.values())
    collection = chromadb.EphemeralClient().get_or_create_collection(
        "articles", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    collection.upsert(ids=list(ARTICLES), documents=texts, embeddings=embeddings.embed_documents(texts))
    return ContextEngine([ChromaSource(collection, embeddings=embeddings, name="articles")])


def main() -> None:
    plan = ContextPlan(
        [
            {"type": "system", "content": "You are a support agent. Answer from the context alone."},
            {"type": "context", "name": "orders", "priority": 1},
            {"type": "context", "name": "articles", "weight": 2},
            {"type": "history"},
            {"type": "user", "content": "Question: {input.question}"},
        ],
        packs={"orders": Pack(source=orders, limit=1), "articles": help_centre()},
        policy={"input_budget": {"max_tokens": 120}, "expansion": {"max_pages": 2}},
    )
    asked = {
        "question": "Where is my order?",
        "history": [("user", "Hello!"), ("assistant", "How can I help?")],
    }
    result = plan.assemble(asked)
    print(result.to_prompt().to_string())
    print(f"\n{result.token_count} of {result.max_tokens} tokens; {', '.join(result.packs)}")
    model = FakeListChatModel(responses=["It left on Monday: DE-77120."])
    print((plan | model).invoke(asked).content)


if __name__ == "__main__":
    main()
