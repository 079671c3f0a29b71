"""The former place of `trace.serialization`."""

from langchain_context_engine.trace.serialization import VERSION, context_from_dict, context_to_dict

__all__ = ["VERSION", "context_from_dict", "context_to_dict"]
