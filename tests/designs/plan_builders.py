"""Builders that the tests of the plan design share."""

from __future__ import annotations

from langchain_context_engine import ChromaSource, ContextEngine
from langchain_context_engine.designs import ContextPack, ContextPackBlock, ContextPlan
from tests.builders import WordEmbeddings, a_collection, count_words

SYSTEM = {"type": "system", "content": "You are a support agent."}
USER = {"type": "user", "content": "Question: {input.question}"}
HISTORY = {"type": "history"}
ASKED = {"question": "Where is my order?"}


def a_pack(name="kb", **more):
    return {"type": "context", "name": name, **more}


class Pages:
    """A retrieval function over numbered sentences; it keeps what it was asked."""

    def __init__(self, sentences=30, *, word="fact", length=4):
        self.texts = [
            " ".join([word, str(i), *(f"{word}{i}x{j}" for j in range(length - 2))]) for i in range(sentences)
        ]
        self.asked = []

    def __call__(self, request):
        self.asked.append(request)
        found = self.texts[request.offset : request.offset + request.limit]
        blocks = [
            ContextPackBlock(evidence_item_id=f"{t.split()[0]}{request.offset + i}", text=t)
            for i, t in enumerate(found)
        ]
        return ContextPack(text="\n\n".join(found), evidence_count=len(found), blocks=blocks)


def an_engine(**settings):
    embeddings = WordEmbeddings()
    records = [
        {"id": "r1", "text": "Orders ship within two days.", "tenant": "a"},
        {"id": "r2", "text": "An order can be tracked online.", "tenant": "a"},
        {"id": "r3", "text": "The order of another tenant.", "tenant": "b"},
    ]
    source = ChromaSource(a_collection(records, embeddings=embeddings), embeddings=embeddings, name="faq")
    return ContextEngine([source], **settings)


def a_plan(messages=(SYSTEM, USER), **settings):
    return ContextPlan(list(messages), **{"tokenizer": count_words, **settings})


def budget(tokens, **more):
    return {"input_budget": {"max_tokens": tokens}, **more}


def a_conversation(turns):
    said = ((("user", f"question number {i}"), ("assistant", f"answer number {i}")) for i in range(turns))
    return [message for turn in said for message in turn]
