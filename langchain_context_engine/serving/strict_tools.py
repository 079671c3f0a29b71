"""Tools that refuse what they do not know: who sends a scope must not believe that it is heeded."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp.server import MCPServer

__all__ = ["own_version", "refuse_unknown_arguments"]


def own_version() -> str:
    """Return the version of this package, as clients are told it."""
    try:
        return version("langchain-context-engine")
    except PackageNotFoundError:
        return "0+checkout"


def refuse_unknown_arguments(server: MCPServer) -> None:
    """Let every tool of a server refuse arguments that it does not declare, and say so in its schema."""
    for tool in server._tool_manager.list_tools():  # noqa: SLF001 - the library offers no other way
        model = tool.fn_metadata.arg_model
        model.model_config["extra"] = "forbid"
        model.model_rebuild(force=True)
        tool.parameters["additionalProperties"] = False
