"""Starting the inspector: on this machine alone, without usage statistics, from a checkout or a wheel."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_context_engine.cli.allocator import shared_memory_environment
from langchain_context_engine.errors import ConfigError

JOURNAL_VARIABLE = "CONTEXT_ENGINE_JOURNAL"
TRACE_VARIABLE = "CONTEXT_ENGINE_TRACE"
SCOPE_VARIABLE = "CONTEXT_ENGINE_SCOPE"

_VARIABLES = (JOURNAL_VARIABLE, TRACE_VARIABLE, SCOPE_VARIABLE)

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


def app_path() -> Path:
    """Return the file that Streamlit runs: in a wheel inside this package, in a checkout beside it."""
    package = Path(__file__).resolve().parents[1]
    for path in (package / "inspector" / "app.py", package.parent / "inspector" / "app.py"):
        if path.is_file():
            return path
    raise ConfigError("the inspector's files are missing; install langchain-context-engine[inspector] again")


def inspect_command(app: Path, *, port: int = DEFAULT_PORT, opens_browser: bool = True) -> list[str]:
    """Return the command that starts the inspector, whose app is `app_path()` or lies beside it.

    Example:
        >>> inspect_command(Path("app.py"))[1:5]
        ['-m', 'streamlit', 'run', 'app.py']
    """
    options: dict[str, str | Sequence[str]] = {
        **_PRIVATE,
        **_THEME,
        "server.port": str(port),
        "server.headless": "false" if opens_browser else "true",
    }
    flags = [
        f"--{name}={one}"
        for name, value in options.items()
        for one in ((value,) if isinstance(value, str) else value)
    ]
    return [sys.executable, "-m", "streamlit", "run", str(app), *flags]


def inspect_environment(
    journal: str | os.PathLike[str] | None = None,
    trace: str | os.PathLike[str] | None = None,
    scope: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """Return the environment that tells the inspector what to open; nothing of it is in the command line.

    Raises:
        ConfigError: There is no such trace.
    """
    environment = {k: v for k, v in os.environ.items() if k not in _VARIABLES} | shared_memory_environment()
    if trace is not None:
        path = Path(trace).absolute()
        if not path.is_file():
            raise ConfigError(f"there is no trace {path}; save one with json.dump(context.to_dict(), file)")
        environment[TRACE_VARIABLE] = str(path)
    if journal is not None:
        environment[JOURNAL_VARIABLE] = str(Path(journal).absolute())
    if scope:
        environment[SCOPE_VARIABLE] = json.dumps(dict(scope))
    # In a checkout that is not installed, the inspector must find this very package.
    root = str(Path(__file__).resolve().parents[2])
    known: Sequence[str] = environment.get("PYTHONPATH", "").split(os.pathsep)
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys((root, *filter(None, known))))
    return environment


def inspect(
    journal: str | os.PathLike[str] | None = None,
    trace: str | os.PathLike[str] | None = None,
    *,
    scope: Mapping[str, Any] | None = None,
    port: int = DEFAULT_PORT,
    opens_browser: bool = True,
) -> int:
    """Run the inspector until it is stopped; return its exit code.

    Args:
        journal: A journal that an application writes; it need not exist yet.
        trace: A saved trace.
        scope: Show of the journal only what was asked within exactly this scope; None or empty shows all.
        port: Where it listens on 127.0.0.1.
        opens_browser: Open it in the browser at once.

    Raises:
        ConfigError: There is no such trace, or the inspector's files are missing.
    """
    door = app_path().with_name("door.py")
    command = inspect_command(door, port=port, opens_browser=opens_browser)
    process = subprocess.Popen(command, env=inspect_environment(journal, trace, scope))  # noqa: S603
    try:
        # A launcher that is told to end must not leave its server running.
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        return process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        return 0
