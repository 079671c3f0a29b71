"""The former place of `trace.labels`."""

from langchain_context_engine.trace.labels import label_of, labels, meant

__all__ = ["label_of", "labels", "meant"]
