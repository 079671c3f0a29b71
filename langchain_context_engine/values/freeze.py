"""What the constructors of the values share: cleaning texts, copying mappings, setting frozen fields."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from langchain_context_engine.values.errors import ConfigError

_BLANK = re.compile(r"[\s\x00-\x1f\u00ad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*\Z")
T = TypeVar("T")

_PLAIN = {int, float, bool, type(None)}


def clean_text(text: str) -> str:
    """Return the text with lone surrogates replaced by U+FFFD, so that it encodes as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def is_blank(text: str) -> bool:
    r"""Return whether nothing in a text can be seen: no character, or only spaces, controls and marks.

    Example:
        >>> is_blank(" \u200b\n"), is_blank("0")
        (True, False)
    """
    return _BLANK.match(text) is not None


def copy_mapping(value: Mapping[str, Any] | None, name: str) -> dict[str, Any]:
    """Return a copy with clean strings, lists and mappings within it copied too; None is empty.

    Raises:
        ConfigError: The value is no mapping.
    """
    if value is None:
        return {}
    if type(value) is not dict and not isinstance(value, Mapping):
        msg = f"{name} must be a mapping, got {type(value).__name__}"
        raise ConfigError(msg)
    return _copied(value)


def _copied(value: Mapping[Any, Any]) -> dict[Any, Any]:
    for k, v in value.items():
        # Of plain values a plain copy will do; a question makes hundreds.
        if not (type(k) is str and k.isascii() and (type(v) in _PLAIN or (type(v) is str and v.isascii()))):
            return {clean_text(k) if isinstance(k, str) else k: _copy(v) for k, v in value.items()}
    return dict(value)


def _copy(value: Any) -> Any:
    """Return a value that nobody else can change through the mapping it came in."""
    if isinstance(value, str):
        return clean_text(value)
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        return _copied(value)
    # Only plain sequences: a named tuple or a class of the caller's own stays what it is.
    if type(value) in {list, tuple, set}:
        return type(value)(_copy(item) for item in value)
    return value


def as_names(value: Sequence[str] | str | None) -> tuple[str, ...] | None:
    """Return names as a tuple; one string is one name, None stays None."""
    if value is None:
        return None
    return (value,) if isinstance(value, str) else tuple(value)


def set_fields(instance: object, **values: object) -> None:
    """Set fields of a frozen dataclass; only its own `__post_init__` may call this."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def with_fields(instance: T, **values: object) -> T:
    """Return a copy of a frozen dataclass with some fields set, unlike `replace` without checking them.

    Only for values that `__post_init__` would leave as they are.
    """
    copied = object.__new__(type(instance))
    for name in instance.__dataclass_fields__:  # type: ignore[attr-defined]
        object.__setattr__(copied, name, values[name] if name in values else getattr(instance, name))
    return copied


def longest_run(text: str, character: str) -> int:
    """Return the length of the longest run of one character in a text.

    Example:
        >>> longest_run("a ``` b ````", "`")
        4
    """
    longest = current = 0
    for c in text:
        current = current + 1 if c == character else 0
        longest = max(longest, current)
    return longest
