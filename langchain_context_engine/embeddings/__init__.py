"""Embeddings: `LocalEmbeddings` without a network, `OpenAIEmbeddings`, and `CachedEmbeddings` around any.

All three treat texts that are empty or only spaces alike, and never send them anywhere: `embed_query`
raises `EmbeddingError`; `embed_documents` keeps its place with a zero vector, so that vectors stay
aligned with their texts.
"""
