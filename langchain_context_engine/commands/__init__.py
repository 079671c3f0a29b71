"""The commands of `context-engine`, one file each; `cli.py` gathers them.

Each loads what it needs when it runs, so that `--help` answers at once. What a command does stands in
the library; here it is asked for and printed. Begin with `ask.py`.
"""

from __future__ import annotations

__all__ = [
    "ask",
    "demo",
    "doctor",
    "evaluate",
    "explain",
    "failure",
    "index",
    "inspect",
    "journal",
    "ls",
    "mcp",
    "output",
    "prepare",
    "rm",
    "serve",
    "tune",
]
