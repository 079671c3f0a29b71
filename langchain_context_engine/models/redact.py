"""Messages of errors, without secrets: of a foreign one its class, since no list of shapes is complete."""

from __future__ import annotations

import logging
import re
import sqlite3

from langchain_context_engine.errors import ContextEngineError

_log = logging.getLogger(__name__)

_MASK = "***"
_LONGEST = 300

_WORD = re.compile(r"[^\s&?;,]++")
_SECRET_NAME = re.compile(
    r"key|secret|token|passw|passphrase|pwd|credential|auth|cookie|sig\b|bearer|pass\b", re.IGNORECASE
)
_RANDOM_FROM = 32


def redact(text: str) -> str:
    """Return a text of our own without what is named as a secret, or is as long and mixed as one.

    Example:
        >>> redact("401 for api_key=sk-test-123 at https://me:pw@host/v1")
        '401 for api_key=*** at https://***@host/v1'
    """
    is_named = False

    def masked(word: re.Match[str]) -> str:
        nonlocal is_named
        told = word[0]
        name, sign, value = told.partition("=") if "=" in told else told.partition(":")
        was_named, is_named = is_named, _SECRET_NAME.search(name) is not None and not value.strip("'\"")
        if "://" in told and "@" in told:
            return f"{told[: told.index('://')]}://{_MASK}@{told.rpartition('@')[2]}"
        if sign and value and _SECRET_NAME.search(name):
            return f"{name}{sign}{_MASK}"
        is_mixed = any(map(str.isdigit, told)) and any(map(str.isalpha, told))
        is_random = len(told) >= _RANDOM_FROM and "/" not in told
        return _MASK if is_mixed and (is_random or was_named) else told

    return _WORD.sub(masked, text)


def safe_message(error: BaseException) -> str:
    """Return what may be told of an error: `Type: message`, on one line of at most 300 characters.

    The message is that of our own errors, or what the operating system or SQLite says. Another library's
    may quote a key or a stranger's text: it goes to the log of this module, level debug, only.

    Example:
        >>> safe_message(RuntimeError("Incorrect API key provided: sk-test"))
        'RuntimeError'
    """
    kind = type(error).__name__
    if isinstance(error, ContextEngineError):
        message = redact(str(error)[: 20 * _LONGEST])
    elif isinstance(error, OSError) and error.strerror:
        message = str(error.strerror)
    elif isinstance(error, sqlite3.Error):
        message = str(error)  # names tables and columns, never a value
    else:
        _log.debug("an error from outside", exc_info=error)
        return kind
    line = " ".join(message.split())
    return f"{kind}: {line if len(line) <= _LONGEST else line[: _LONGEST - 1] + '…'}"
