"""The former place of `freeze.as_config_error`."""

from langchain_context_engine.models.freeze import as_config_error

__all__ = ["as_config_error"]
