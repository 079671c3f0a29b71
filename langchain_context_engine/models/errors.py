"""The former place of `langchain_context_engine.errors`."""

from langchain_context_engine.errors import *  # noqa: F403
