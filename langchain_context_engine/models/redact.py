"""Messages of errors, without secrets: of a foreign one its class, since no list of shapes is complete."""

from __future__ import annotations

import logging
import re
import sqlite3

from langchain_context_engine.errors import ContextEngineError

_log = logging.getLogger(__name__)

_LONGEST = 300
# Bounded, so that masking is linear in the text's length.
_NAMED = re.compile(
    r"((?:key|secret|token|passw|passphrase|pwd|credential|auth(?!ors?\b)|cookie|bearer|\bpass\b|\bsig\b)"
    r"[\w-]{0,40}[\"']?\s{0,3}[=:]\s{0,3}(?:bearer )?[\"']?)[^\s&;,\"']+",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(://)[^\s/@]{1,200}@")
_LONG_RUN = re.compile(r"\b[\w-]{32,}")


def redact(text: str) -> str:
    """Return a text of our own without what is named as a secret, or is as long and mixed as one."""
    return _LONG_RUN.sub(_masked, _LOGIN.sub(r"\1***@", _NAMED.sub(r"\1***", text)))


def _masked(run: re.Match[str]) -> str:
    """Mask a run that is mixed, as random ones are; a long word, or a long number, stays."""
    is_mixed = re.search(r"\d", run[0]) and re.search("[a-zA-Z]", run[0])
    return "***" if is_mixed else run[0]


def safe_message(error: BaseException) -> str:
    """Return what may be told of an error: `Type: message`, on one line of at most 300 characters.

    The message is that of our own errors, or what the operating system or SQLite says. Another library's
    may quote a key or a stranger's text: it goes to the log of this module, level debug, only.
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
