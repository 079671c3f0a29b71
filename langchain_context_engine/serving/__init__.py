"""The engine over HTTP (`server.py`) and MCP (`mcp_server.py`); answers are the engine's own."""
