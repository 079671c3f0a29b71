"""Searching one Chroma collection: its records, vectors and words, what changed in it, who reads it when.

Machinery of the sources; nobody outside imports a Chroma client. Begin with `search.py`, one
question over both legs; `shelf.py` holds what is known of a collection.
"""

from __future__ import annotations

__all__ = [
    "collection",
    "dated",
    "finders",
    "folders",
    "forks",
    "lexical",
    "query_vectors",
    "quotas",
    "reading",
    "records",
    "search",
    "sheets",
    "shelf",
    "shelves",
    "sparse",
    "state",
    "store_search",
    "stores",
    "together",
    "watches",
]
