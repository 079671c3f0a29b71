"""The former place of `config.read_settings`."""

from langchain_context_engine.config import SettingsFile, read_settings

__all__ = ["SettingsFile", "read_settings"]
