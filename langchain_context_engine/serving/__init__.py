"""The engine over HTTP and MCP.

Who may call, from which host, and how large a body may be is decided in `server.py`, where to begin; what a
body's fields may say in `server_bodies.py`. Answers are the engine's own.
"""

from __future__ import annotations

__all__ = ["hosts", "mcp_server", "server"]
