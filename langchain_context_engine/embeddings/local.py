"""`LocalEmbeddings`: a small static embedding that ships in a wheel, so nothing is ever downloaded."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from langchain_context_engine.embeddings.static import StaticEmbeddings


class LocalEmbeddings(StaticEmbeddings, Embeddings):
    """Embeds offline with wordllama's 256-dimension token vectors: about 0.04 ms a query on one core.

    The model loads on first use, once for the process; instances hold no state, so they are safe to
    share between threads and to pickle. Vectors have unit length. A text that is empty or only spaces
    has no vector: see `langchain_context_engine.embeddings`.

    Attributes:
        model: Name of the model, for caches and for a collection's metadata.
        dimensions: Length of a vector, 256.
        is_in_process: It asks nobody, so that nothing is gained by waiting for it in several threads.

    Raises:
        ConfigError: The extra `local` is not installed.

    Example:
        >>> len(LocalEmbeddings().embed_query("hello"))
        256
    """
