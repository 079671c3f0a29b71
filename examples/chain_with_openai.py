"""The same chain with OpenAI's embeddings and a chat model of OpenAI.

    pip install ".[openai]"
    OPENAI_API_KEY=… python examples/chain_with_openai.py

Only the SDK is needed; with langchain-openai, `ChatOpenAI(model=MODEL)` stands in the chain as it is.
"""

from __future__ import annotations

import chromadb
from langchain_core.messages import convert_to_openai_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from openai import OpenAI

from langchain_context_engine import CachedEmbeddings, ChromaSource, ContextEngine, OpenAIEmbeddings

MODEL = "gpt-4o-mini"
NOTES = {
    "opening": "The marina office is open from eight in the morning to six in the evening.",
    "berths": "A berth for one night costs 40 euros, water and electricity included.",
}
PROMPT = ChatPromptTemplate.from_messages(
    [("system", "Answer from the context and cite it.\n\n{context}"), ("user", "{question}")]
)


def ask_model(prompt: PromptValue) -> str:
    """Return what the model answers to a prompt."""
    messages = convert_to_openai_messages(prompt.to_messages())
    answer = OpenAI().chat.completions.create(model=MODEL, messages=messages)
    return answer.choices[0].message.content or ""


def main() -> None:
    embeddings = CachedEmbeddings(OpenAIEmbeddings())
    texts = list(NOTES.values())
    collection = chromadb.EphemeralClient().get_or_create_collection("marina-openai", embedding_function=None)
    collection.upsert(ids=list(NOTES), documents=texts, embeddings=embeddings.embed_documents(texts))

    engine = ContextEngine(
        sources=[ChromaSource(collection, embeddings=embeddings)], budget=500, tokenizer=MODEL
    )
    inputs = {"context": engine.as_runnable(), "question": RunnablePassthrough()}
    print((inputs | PROMPT | RunnableLambda(ask_model)).invoke("What does a berth cost for a night?"))


if __name__ == "__main__":
    main()
