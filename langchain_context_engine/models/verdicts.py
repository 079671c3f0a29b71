"""The former place of the verdicts of `types`."""

from langchain_context_engine.models.types import Reason, Status, Verdict

__all__ = ["Reason", "Status", "Verdict"]
