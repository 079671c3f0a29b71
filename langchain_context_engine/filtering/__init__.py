"""Scope and `where`: read once, checked everywhere.

What a filter means stands here and nowhere else; how a store is asked for it stands with the store.
Begin with `filters.py`; `where.py` is Chroma's own language of conditions, `written.py` a person's.
"""

from __future__ import annotations

__all__ = ["filters", "where", "written"]
