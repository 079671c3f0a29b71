"""Searching one Chroma collection: the nearest by its own index, words by ours, records by id.

Machinery of the sources; nobody outside imports a Chroma client. Begin with `hybrid_search.py`, one question
over both legs; `collection_index.py` keeps the index of words in step with a collection.
"""
