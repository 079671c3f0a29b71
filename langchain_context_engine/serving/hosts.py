"""Who is on this machine, and what others need to ask a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_context_engine.models.errors import ConfigError

__all__ = ["LOOPBACK", "LOOPBACK_HOSTS", "require_token_beyond_this_machine"]

LOOPBACK = "127.0.0.1"
LOOPBACK_HOSTS = (LOOPBACK, "localhost", "::1")


def require_token_beyond_this_machine(host: str, tokens: Mapping[str, Any] | None) -> None:
    """Check that nobody in the network may ask without a token.

    Raises:
        ConfigError: Others than this machine could ask at `host`, and no token is needed.
    """
    if host not in LOOPBACK_HOSTS and not tokens:
        msg = f"listening at {host} needs a token, or anybody in the network could read what is served"
        raise ConfigError(msg)
