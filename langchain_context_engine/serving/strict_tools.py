"""Tools that refuse what they do not know, and take an optional field filled with nothing as not given.

Who sends a scope must not believe that it is heeded; a model that fills in every field has chosen nothing.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server import MCPServer

_NOTHING = {"", "null", "none", "undefined", "[]", "{}"}

__all__ = ["given", "given_names", "own_version", "refuse_unknown_arguments"]


def own_version() -> str:
    """Return the version of this package, as clients are told it."""
    try:
        return version("langchain-context-engine")
    except PackageNotFoundError:
        return "0+checkout"


def given(value: Any) -> Any:
    """Return an optional argument, None where it was filled with nothing: 0, an empty list, "", "null".

    Example:
        >>> given(" None "), given([]), given("3")
        (None, None, '3')
    """
    if isinstance(value, str) and value.strip().lower() in _NOTHING:
        return None
    return None if isinstance(value, (int, list, dict)) and not value else value


def given_names(value: Any) -> Any:
    """Return an optional list of names: one string is one name, items that are nothing are left out.

    Example:
        >>> given_names("code"), given_names(["code", "", None]), given_names([""])
        (['code'], ['code'], None)
    """
    if isinstance(value, str):
        value = value.split(",")
    if isinstance(value, list):
        return [name for name in value if given(name) is not None] or None
    return given(value)


def refuse_unknown_arguments(server: MCPServer) -> None:
    """Let every tool of a server refuse arguments that it does not declare, and say so in its schema."""
    for tool in server._tool_manager.list_tools():  # noqa: SLF001 - the library offers no other way
        model = tool.fn_metadata.arg_model
        model.model_config["extra"] = "forbid"
        model.model_rebuild(force=True)
        tool.parameters["additionalProperties"] = False
