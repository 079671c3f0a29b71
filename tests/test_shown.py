"""What an engine and its parts print: sources by name, budget and counter, nothing secret."""

from __future__ import annotations

from langchain_context_engine import ChromaSource, ContextEngine, HistorySource, PinnedSource
from tests.builders import ListSource, WordEmbeddings, a_candidate, a_collection


class Secretive(WordEmbeddings):
    api_key = "sk-test"

    def __repr__(self) -> str:
        return f"Secretive(api_key={self.api_key!r})"


def test_an_engine_and_its_sources_print_their_names_and_no_secret():
    embeddings = Secretive()
    collection = a_collection([{"id": "a", "text": "tea"}], embeddings=embeddings)
    chroma = ChromaSource(collection, embeddings=embeddings, name="notes", kind="memory")
    engine = ContextEngine(sources=[chroma, HistorySource()], budget=700, tokenizer="cl100k_base")
    assert repr(chroma) == "ChromaSource(name='notes', kind='memory')"
    assert repr(engine) == (
        "ContextEngine(sources=['notes', 'history'], budget=700, tokenizer='cl100k_base')"
    )
    assert "sk-test" not in repr(engine.sources) + repr(engine.as_retriever())


def test_a_counter_of_ones_own_is_named_by_its_type_and_pinned_texts_are_not_printed():
    engine = ContextEngine(sources=[ListSource([a_candidate()]), PinnedSource(["my secret"])], tokenizer=len)
    assert "tokenizer='builtin_function_or_method'" in repr(engine)
    assert "secret" not in repr(engine) + repr(engine.sources)
