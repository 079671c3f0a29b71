"""A chain that answers from a context, offline: the model is a fake, everything before it is real.

python examples/chain_with_fake_model.py
"""

from __future__ import annotations

import chromadb
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from langchain_context_engine import ChromaSource, ContextEngine, LocalEmbeddings

NOTES = {
    "opening": "The marina office is open from eight in the morning to six in the evening.",
    "berths": "A berth for one night costs 40 euros, water and electricity included.",
    "storm": "In a storm the harbour master moves boats to the inner basin.",
}
PROMPT = ChatPromptTemplate.from_template(
    "Answer from the context and cite it.\n\n{context}\n\nQuestion: {question}"
)


def main() -> None:
    embeddings = LocalEmbeddings()
    texts = list(NOTES.values())
    collection = chromadb.EphemeralClient().get_or_create_collection("marina", embedding_function=None)
    collection.upsert(ids=list(NOTES), documents=texts, embeddings=embeddings.embed_documents(texts))

    engine = ContextEngine(sources=[ChromaSource(collection, embeddings=embeddings)], budget=100)
    inputs = {"context": engine.as_runnable(k=1), "question": RunnablePassthrough()}
    model = FakeListChatModel(responses=["40 euros [1]."])

    question = "What does a berth cost for a night?"
    print((inputs | PROMPT).invoke(question).to_string())
    print((inputs | PROMPT | model | StrOutputParser()).invoke(question))


if __name__ == "__main__":
    main()
