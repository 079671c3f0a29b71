"""The prime design: `PrimeContextService`. `service.py` reads from top to bottom as the document does."""

from __future__ import annotations

__all__ = ["service", "setup"]
