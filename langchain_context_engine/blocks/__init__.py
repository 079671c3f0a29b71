"""A workspace as a tree of blocks in a collection: what stands around a block, relates to it, was edited.

Sources of the workspace design. Begin with `blocks.py`, the tree; the other files each walk it.
"""

from __future__ import annotations

__all__ = ["activity", "blocks", "focus", "relations"]
