"""`context-engine inspect`: the inspector on this machine alone, from a checkout or a wheel."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.options import JournalOption, StoreOption, Texts
from langchain_context_engine.cli.process import CommandFailedError, require, shared_memory_environment
from langchain_context_engine.cli.store import DEFAULT_STORE, Store
from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.metadata import read_pairs

JOURNAL_VARIABLE = "CONTEXT_ENGINE_JOURNAL"
TRACE_VARIABLE = "CONTEXT_ENGINE_TRACE"
SCOPE_VARIABLE = "CONTEXT_ENGINE_SCOPE"

ADDRESS = "127.0.0.1"
DEFAULT_PORT = 8501

_PRIVATE: Mapping[str, str | Sequence[str]] = {
    "server.address": ADDRESS,
    # The names a browser on this machine may use; another name is a rebinding attack.
    "server.allowedHosts": ("127.0.0.1", "localhost"),
    "server.enableXsrfProtection": "true",
    "server.enableAgentApi": "false",
    "server.fileWatcherType": "none",
    "server.showEmailPrompt": "false",
    "server.maxUploadSize": "64",
    "browser.gatherUsageStats": "false",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",
    "client.toolbarMode": "viewer",
    "global.disableWidgetStateDuplicationWarning": "true",
    # Otherwise every page is searched for lines to draw by themselves, which ours has none of.
    "runner.magicEnabled": "false",
}

_THEME: Mapping[str, str | Sequence[str]] = {
    "theme.baseRadius": "small",
    "theme.headingFontSizes": ("1.6rem", "1.25rem", "1.05rem"),
    "theme.metricValueFontSize": "1.35rem",
    "theme.baseFontSize": "15",
    "theme.paddingTop": "1rem",
    "theme.light.primaryColor": "#2f58c0",
    "theme.light.backgroundColor": "#fbfcfe",
    "theme.light.secondaryBackgroundColor": "#eef2f8",
    "theme.light.textColor": "#1b2433",
    "theme.light.borderColor": "#d5dce8",
    "theme.dark.primaryColor": "#7ea2ff",
    "theme.dark.backgroundColor": "#12161f",
    "theme.dark.secondaryBackgroundColor": "#1c2230",
    "theme.dark.textColor": "#e6eaf2",
    "theme.dark.borderColor": "#303950",
}

PortOption = Annotated[int, typer.Option("--port", "-p", min=1, max=65535, help="On 127.0.0.1.")]
BrowserOption = Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")]


def inspect(
    *,
    store: StoreOption = DEFAULT_STORE,
    journal: JournalOption = None,
    trace: Annotated[Path | None, typer.Option("--trace", "-t", help="A file of `ask --json`.")] = None,
    scope: Annotated[
        Texts, typer.Option("--scope", metavar="KEY=VALUE", help="Only what was asked within it; repeatable.")
    ] = None,
    port: PortOption = DEFAULT_PORT,
    opens_browser: BrowserOption = True,
) -> None:
    """Open the inspector: every answer, its candidates, and what other weights would give. Ctrl-C ends it."""
    require("streamlit")
    within = read_pairs("--scope", scope)
    require_free(ADDRESS, port, "the inspector")
    # In a bare terminal a text browser would take it over.
    has_screen = sys.platform != "linux" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    served = app_path().with_name("same_origin.py")
    command = inspect_command(served, port=port, opens_browser=opens_browser and has_screen)
    # The journal of an application need not exist yet.
    environment = inspect_environment(journal or Store(store).journal_path, trace, within)
    output.note(f"the inspector is at http://{ADDRESS}:{port}; Ctrl-C ends it")
    shown = ", ".join(f"{key}={value}" for key, value in within.items())
    output.note(
        f"it shows what was asked within {shown}, and nothing else of the journal"
        if shown
        else "it shows the questions and texts of every scope; --scope KEY=VALUE shows one alone"
    )
    process = subprocess.Popen(command, env=environment)  # noqa: S603 - our own, without a shell
    try:
        # A launcher that is told to end must not leave its server running.
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        code = process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        code = 0
    raise typer.Exit(code)


def app_path() -> Path:
    """Return the file that Streamlit runs: in a wheel inside this package, in a checkout beside it."""
    package = Path(__file__).resolve().parents[1]
    for path in (package / "inspector" / "app.py", package.parent / "inspector" / "app.py"):
        if path.is_file():
            return path
    raise ConfigError("the inspector's files are missing; install langchain-context-engine[inspector] again")


def inspect_command(app: Path, *, port: int = DEFAULT_PORT, opens_browser: bool = True) -> list[str]:
    """Return the command that starts the inspector, whose app is `app_path()` or lies beside it."""
    own = {"server.port": str(port), "server.headless": "false" if opens_browser else "true"}
    flags = [
        f"--{name}={one}"
        for name, value in {**_PRIVATE, **_THEME, **own}.items()
        for one in ((value,) if isinstance(value, str) else value)
    ]
    return [sys.executable, "-m", "streamlit", "run", str(app), *flags]


def inspect_environment(
    journal: Path | None = None, trace: Path | None = None, scope: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Return the environment that tells the inspector what to open; nothing of it is in the command line."""
    environment = {**os.environ, **shared_memory_environment()}
    if trace is not None and not trace.is_file():
        raise ConfigError(f"there is no trace {trace}; save one with: context-engine ask QUESTION --json")
    told = {
        TRACE_VARIABLE: trace and str(trace.absolute()),
        JOURNAL_VARIABLE: journal and str(journal.absolute()),
        SCOPE_VARIABLE: scope and json.dumps(dict(scope)),
        # In a checkout that is not installed, the inspector must find this very package.
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")))
        ),
    }
    for name, value in told.items():
        environment.pop(name, None)
        if value:
            environment[name] = value
    return environment


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
            f"{what} cannot listen on {host}, port {port} ({why});"
            f" give it another: {'--host' if is_host else '--port'}"
        ) from error
