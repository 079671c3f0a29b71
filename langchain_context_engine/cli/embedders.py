"""Which embedder belongs to a collection: a query must be embedded as the records were."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_context_engine.cli.process import CommandFailedError
from langchain_context_engine.errors import ConfigError

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from langchain_context_engine.embeddings.static import StaticEmbeddings

AUTO = "auto"
_OPENAI_MODELS = "text-embedding-"


class Memory(NamedTuple):
    """What a collection remembers of its embedder: "" where nothing says it, None where it is empty."""

    model: str
    dimension: int | None


def remembered(collection: Any) -> Memory:
    """Return what embedded a collection, as far as it says."""
    metadata = collection.metadata or {}
    dimension = metadata.get("embedding_dimension")
    if not isinstance(dimension, int):
        vectors = collection.get(limit=1, include=["embeddings"])["embeddings"]
        dimension = len(vectors[0]) if vectors is not None and len(vectors) else None
    return Memory(str(metadata.get("embedding_model") or ""), dimension)


def embedder(name: str = AUTO) -> Embeddings:
    """Return the embedder of a name: `local`, `openai`, `openai:MODEL`, or `auto`, the first that works."""
    from langchain_context_engine.embeddings.local import LocalEmbeddings
    from langchain_context_engine.embeddings.openai import OpenAIEmbeddings

    kind, _, model = name.partition(":")
    if kind == AUTO and find_spec("wordllama") is not None:
        kind = "local"
    elif kind == AUTO and find_spec("openai") is not None and os.environ.get("OPENAI_API_KEY"):
        kind = "openai"
    elif kind == AUTO:
        raise CommandFailedError(
            'nothing here embeds: pip install "langchain-context-engine[local]", or set OPENAI_API_KEY and'
            ' install "langchain-context-engine[openai]"'
        )
    if kind == "local" and not model:
        return LocalEmbeddings()
    if kind == "openai":
        return OpenAIEmbeddings(model) if model else OpenAIEmbeddings()
    raise ConfigError(f"--embeddings takes auto, local, openai or openai:MODEL, got {name!r}")


def embedder_for(collection: Any, name: str = AUTO) -> Embeddings | StaticEmbeddings:
    """Return what embeds questions to a collection: what it remembers, else what is named."""
    known = remembered(collection)
    found = _of_model(known, collection.name) if name == AUTO else embedder(name)
    dimension = getattr(found, "dimensions", None)
    if None not in (dimension, known.dimension) and dimension != known.dimension:
        raise CommandFailedError(
            f"collection {collection.name!r} has vectors of {known.dimension} dimensions"
            f"{f' by {known.model}' if known.model else ''}, here {describe(found)};"
            " give the --embeddings that it was filled with"
        )
    return found


def _of_model(known: Memory, collection_name: str) -> Embeddings | StaticEmbeddings:
    from langchain_context_engine.embeddings.static import StaticEmbeddings

    if known.model == StaticEmbeddings.model:
        return StaticEmbeddings()
    if known.model.startswith(_OPENAI_MODELS):
        from langchain_context_engine.embeddings.openai import OpenAIEmbeddings

        # ada-002 has one length, and refuses to be asked for it.
        length = None if known.model == "text-embedding-ada-002" else known.dimension
        return OpenAIEmbeddings(known.model, dimensions=length)
    if not known.model:
        raise CommandFailedError(
            f"collection {collection_name!r} does not say what embedded it; give --embeddings"
        )
    raise CommandFailedError(
        f"collection {collection_name!r} was embedded by {known.model}, which is not known here;"
        " ask it from Python with ChromaSource(collection, embeddings=…)"
    )


def describe(embeddings: Embeddings | StaticEmbeddings) -> str:
    """Return an embedder in words, equal for equal ones."""
    model = getattr(embeddings, "model", type(embeddings).__name__)
    return f"{model}, {getattr(embeddings, 'dimensions', None) or 'unknown'} dimensions"
