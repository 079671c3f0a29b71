"""A prompt that always fits: system, packs, history and question, in front of any chat model.

python examples/context_plan.py
"""

from langchain_chroma import Chroma
from langchain_core.language_models import FakeListChatModel

from langchain_context_engine import LocalEmbeddings
from langchain_context_engine.designs import ContextPlan, ContextRetrieverRequest, Pack

ARTICLES = [
    "Orders ship within two working days. You get a tracking link by mail.",
    "Unused goods can be returned within 30 days. The refund arrives a week after the parcel.",
    "If a tracking link shows nothing for three days the parcel is lost; we send another.",
]
ORDERS = ["Order 1041: shipped on Monday, tracking DE-77120.", "Order 1007: delivered in January."]
articles = Chroma.from_texts(ARTICLES, LocalEmbeddings(), collection_name="articles").as_retriever()


def orders(request: ContextRetrieverRequest) -> list[str]:
    return ORDERS[request.offset : request.offset + request.limit]


plan = ContextPlan(
    [
        {"type": "system", "content": "You are a support agent. Answer from the context alone."},
        {"type": "context", "name": "orders", "priority": 1},
        {"type": "context", "name": "articles", "weight": 2},
        {"type": "history"},
        {"type": "user", "content": "Question: {input.question}"},
    ],
    packs={"orders": Pack(source=orders, limit=1), "articles": articles},
    policy={"input_budget": {"max_tokens": 100}, "expansion": {"max_pages": 2}},
)
asked = {"question": "Where is my order?", "history": [("user", "Hello!"), ("assistant", "How can I help?")]}
result = plan.assemble(asked)
print(result.to_prompt().to_string())
print(f"\n{result.token_count} of {result.max_tokens} tokens")
print((plan | FakeListChatModel(responses=["It left on Monday: DE-77120."])).invoke(asked).content)
