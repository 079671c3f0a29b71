"""`context-engine inspect`: open the inspector on recorded answers."""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.failure import CommandFailedError, require
from langchain_context_engine.cli.inspect_command import ADDRESS, DEFAULT_PORT
from langchain_context_engine.cli.options import JournalOption, StoreOption, read_pairs
from langchain_context_engine.cli.store import DEFAULT_STORE, Store

PortOption = Annotated[
    int, typer.Option("--port", "-p", min=1, max=65535, help="The inspector's, on 127.0.0.1.")
]
BrowserOption = Annotated[
    bool, typer.Option("--browser/--no-browser", help="Open the inspector in the browser at once.")
]


def inspect(
    *,
    store: StoreOption = DEFAULT_STORE,
    journal: JournalOption = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", "-t", help="A file that `ask --json` gave.")
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope", metavar="KEY=VALUE", help="Show only what was asked within this scope; repeatable."
        ),
    ] = None,
    port: PortOption = DEFAULT_PORT,
    opens_browser: BrowserOption = True,
) -> None:
    """Open the inspector: every answer, its candidates, and what other weights would give. Ctrl-C ends it."""
    open_inspector(
        journal or Store(store).journal_path,
        trace=trace,
        scope=read_pairs("--scope", scope),
        port=port,
        opens_browser=opens_browser,
    )


def open_inspector(
    journal: Path,
    *,
    trace: Path | None = None,
    scope: Mapping[str, Any] | None = None,
    port: int = DEFAULT_PORT,
    opens_browser: bool = True,
) -> None:
    """Run the inspector until it is ended, and end with its exit code; see `inspect_command.inspect`."""
    from langchain_context_engine.cli.inspect_command import inspect as run

    require("streamlit")
    require_free(ADDRESS, port, "the inspector")
    output.note(f"the inspector is at http://{ADDRESS}:{port}; Ctrl-C ends it")
    shown = ", ".join(f"{key}={value}" for key, value in (scope or {}).items())
    output.note(
        f"it shows what was asked within {shown}, and nothing else of the journal"
        if shown
        else "it shows the questions and texts of every scope; --scope KEY=VALUE shows one alone"
    )
    # In a bare terminal a text browser would take it over.
    has_screen = sys.platform != "linux" or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    raise typer.Exit(run(journal, trace, scope=scope, port=port, opens_browser=opens_browser and has_screen))


def require_free(host: str, port: int, what: str) -> None:
    """Raise before anybody is told that `what` listens at an address where it cannot."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            if sys.platform != "win32":  # There it would share a port that is taken.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, UnicodeError) as error:  # a host of letters that no name may have
        is_host = isinstance(error, (socket.gaierror, UnicodeError)) or error.errno == errno.EADDRNOTAVAIL
        why = getattr(error, "strerror", None) or "no name of a host"
        raise CommandFailedError(
            f"{what} cannot listen on {shown_address(host, port)} ({why}); "
            f"give it another: {'--host' if is_host else '--port'}"
        ) from error


def shown_address(host: str, port: int) -> str:
    """Return a host and a port as an address has them, one of IPv6 in brackets.

    Example:
        >>> shown_address("127.0.0.1", 80), shown_address("::1", 80)
        ('127.0.0.1:80', '[::1]:80')
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
