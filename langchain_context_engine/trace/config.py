"""The former place of `config.EngineConfig`."""

from langchain_context_engine.config import EngineConfig

__all__ = ["EngineConfig"]
