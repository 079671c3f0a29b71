"""The Sources block below an answer: which passages it cites, as a person is shown them."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_context_engine.models.types import Passage
from langchain_context_engine.rendering.citations import Citation, chosen_markers, excerpt
from langchain_context_engine.rendering.templates.values import title_of
from langchain_context_engine.trace.context import Context

__all__ = ["list_citations", "sources_block"]


def list_citations(context: Context) -> tuple[Citation, ...]:
    """Return the citations of a context in text order, none of them marked as used."""
    return tuple(_citation(passage) for passage in context.passages if passage.citation)


def _citation(passage: Passage) -> Citation:
    candidate = passage.ranked.candidate
    return Citation(
        marker=passage.citation,
        key=passage.key,
        source=title_of(candidate) or candidate.origin,
        kind=candidate.kind,
        path=str(candidate.metadata.get("path") or ""),
        place=candidate.place,
        excerpt=" ".join(passage.text.split()),
        relevance=passage.ranked.score,
    )


def sources_block(context: Context, used: Iterable[str] | str | None = None) -> str:
    """Return the list of sources to put below an answer; "" if none is used.

    A line for each, in text order: marker, source, and the first 50 characters of what was shown.

    Args:
        context: The context that the answer was made from.
        used: Markers, or the answer itself; None is all.
    """
    citations = list_citations(context)
    chosen = None if used is None else chosen_markers(used, [citation.marker for citation in citations])
    lines = [_source_line(c) for c in citations if chosen is None or c.marker in chosen]
    return "\n\n---\nSources:\n" + "\n".join(lines) if lines else ""


def _source_line(citation: Citation) -> str:
    shown = f" - {excerpt(citation.excerpt)}..." if citation.excerpt else ""
    return f"{citation.marker}: {citation.source}{shown}"
