"""The former place of `trace.what_if`."""

from langchain_context_engine.trace.what_if import Change, what_would_it_take

__all__ = ["Change", "what_would_it_take"]
