"""The engine over HTTP and MCP.

HTTP: begin with `server.py`; what a body may say and what is answered is `bodies.py`, who is let in
`connections.py`. MCP: `mcp_server.py`. Answers are the engine's own.
"""
