"""The engine over HTTP and MCP.

Bodies are read and refused in `server_bodies.py`; answers are the engine's own. Begin with `server.py`.
"""

from __future__ import annotations

__all__ = ["mcp_server", "server"]
