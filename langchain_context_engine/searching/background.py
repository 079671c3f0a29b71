"""Threads that read in the background, and end before the interpreter does: see `stages.threads`."""

from __future__ import annotations

from langchain_context_engine.stages.threads import is_ending, rest, start

__all__ = ["is_ending", "rest", "start"]
