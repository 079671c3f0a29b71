"""The former place of `trace.replay` and `trace.diff`."""

from langchain_context_engine.trace.diff import Diff, diff
from langchain_context_engine.trace.replay import REQUERY_SETTINGS, ranking, replay, replay_ranked

__all__ = ["REQUERY_SETTINGS", "Diff", "diff", "ranking", "replay", "replay_ranked"]
