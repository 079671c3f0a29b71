"""What makes one candidate better than another: signals, the fusion of search legs, links, identity.

Pure functions of candidates and the request. Nothing here drops or packs anything: stages do. Begin
with `signals.py`, what rank can weigh, then `fusion.py`, what relevance is made of.
"""

from __future__ import annotations

__all__ = [
    "fusion",
    "identity",
    "links",
    "places",
    "signals",
]
