"""Where the house meets the world: what a question can be asked of.

A source has a name and `fetch(request)`; how a collection is searched stands in `searching`. Begin with
`chroma.py`, or with `pinned.py` for a short one; `asking.py` says who is asked.
"""

from __future__ import annotations

__all__ = ["adapted", "asking", "chroma", "files", "history", "pinned", "retriever", "shown"]
