"""OpenTelemetry spans and instruments, by the API alone.

Only figures leave the house here, never a text, an id or a scope. All of it is `instruments.py`.
"""

from __future__ import annotations

__all__ = ["instruments"]
