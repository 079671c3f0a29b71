"""Rerankers of the LangChain world as what the engine asks: `(question, texts) -> scores`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.pipeline.rerank import Scorer

_PLACE = "context_engine_place"
_SCORES = ("relevance_score", "rerank_score", "score")


def scorer_of(reranker: Any) -> Scorer:
    """Return what asks a reranker for scores.

    A document compressor says them in `relevance_score`, or by the order of what it returns; what it leaves
    out is below all that it returns. A cross encoder's `score` takes pairs.
    """
    if callable(getattr(reranker, "compress_documents", None)):
        return lambda query, texts: _by_compressor(reranker, query, texts)
    if callable(getattr(reranker, "score", None)):
        return lambda query, texts: [float(s) for s in reranker.score([(query, text) for text in texts])]
    if callable(reranker):
        return reranker  # type: ignore[no-any-return]
    raise ConfigError(
        f"rerank must be a LangChain document compressor or (query, texts) -> scores,"
        f" got {type(reranker).__name__}"
    )


def _by_compressor(compressor: Any, query: str, texts: Sequence[str]) -> list[float]:
    from langchain_core.documents import Document

    asked = [Document(page_content=text, metadata={_PLACE: place}) for place, text in enumerate(texts)]
    returned = [doc for doc in compressor.compress_documents(asked, query) if _PLACE in doc.metadata]
    key = next((k for k in _SCORES if returned and all(k in doc.metadata for doc in returned)), None)
    # A compressor need not sort what it scores, and need not score what it sorts.
    told = [
        (int(doc.metadata[_PLACE]), float(doc.metadata[key]) if key else 1 - i / len(texts))
        for i, doc in enumerate(returned)
    ]
    kept = [score for _, score in told] or [0.0]
    # What it leaves out is below what it keeps, the least of that too.
    scores = [min(kept) - max(1.0, max(kept) - min(kept)) / len(texts)] * len(texts)
    for place, score in told:
        scores[place] = max(score, scores[place])
    return scores
