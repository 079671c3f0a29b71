"""The former name of `functools.cached_property`."""

from functools import cached_property as kept_property

__all__ = ["kept_property"]
