"""What may be said of an error from outside: its message without keys, tokens, passwords and credentials.

An error quotes what it choked on, so these expressions meet whatever a stranger wrote. Each goes over a
text once: what it repeats begins where a run begins and is never given back (`*+`, `++`), and what needs
to look in two directions is asked of one word at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["redact", "safe_message"]

_MASK = "***"
_LONGEST = 300

# A whole block of PEM: private keys and certificates.
_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]++-----.*?(?:-----END [A-Z0-9 ]++-----|\Z)", re.DOTALL)
# user:password in scheme://user:password@host
_CREDENTIALS = re.compile(r"(?<=://)[^\s/@'\"]++@")
# Authorization: Bearer abc, "Basic abc"
_SCHEME = re.compile(r"\b(bearer|basic|digest)\s++[\w.+/=~:-]{4,}+", re.IGNORECASE)
# Authorization: ApiKey ab12, --password ab12
_SPOKEN = re.compile(
    r"\b(api[\s_-]?key|token|secret|passw(?:or)?d|passphrase)\s++"
    r"['\"]?+(?=[^\s'\"]*\d)(?=[^\s'\"]*[a-z])[^\s'\",;)]{4,}+",
    re.IGNORECASE,
)
# The well-known shapes of keys: OpenAI, GitHub, Slack, AWS, Google, Hugging Face.
_KEYS = re.compile(
    r"\b(?:sk|pk|rk|xox[abprs]|gh[opsur]|github_pat|glpat|hf|gsk|ck)[-_][\w*.-]{3,}+"
    r"|\bA(?:KIA|SIA)[A-Z0-9]{12,}+|\bAIza[\w-]{20,}+|\bya29\.[\w.-]++"
)
# Parts joined by stops; a JSON web token where one of them begins with eyJ.
_JOINED = re.compile(r"(?<![\w-])[\w-]++\.[\w-]++(?:\.[\w-]*+)*+")
_WEB_TOKEN = re.compile(r"\beyJ")

_WORD = re.compile(r"[\w.-]++")
_SECRET_NAME = re.compile(
    r"access[_-]?key|secret|token|passw(?:or)?d|passphrase|\bpass\b|pwd|credential|auth|cookie"
    r"|session[_-]?id|signature|\bsig\b|private[_-]?key|\bkey\b",
    re.IGNORECASE,
)
# What is assigned to a word, quoted or not; schemes are masked by their own expression.
_ASSIGNED = re.compile(
    r"([\"']?+\s*+(?:[=:]|\bis\b)\s*+)"
    r"(?:\"[^\"]*+\"|'[^']*+'|(?!(?:bearer|basic|digest)\b)[^\s,;&)}\]]++)",
    re.IGNORECASE,
)

# Anything long that mixes letters and digits as only a machine would.
_RUN = re.compile(r"[\w+/-]{40,}+={0,2}+")
_LONG = re.compile(r"\b[\w+/]{40,}+={0,2}+")


def _without_assigned(text: str) -> str:
    """Return the text without what is assigned to a word that says it is secret."""
    parts: list[str] = []
    end = 0
    for word in _WORD.finditer(text):
        if word.start() < end or not _says_secret(word[0]):
            continue
        assigned = _ASSIGNED.match(text, word.end())
        if assigned:
            parts += (text[end : assigned.end(1)], _MASK)
            end = assigned.end()
    return "".join((*parts, text[end:]))


def _says_secret(word: str) -> bool:
    lower = word.lower()
    begin = lower.find("api")
    return (begin >= 0 and lower.find("key", begin + 3) >= 0) or _SECRET_NAME.search(word) is not None


def _without_web_token(joined: re.Match[str]) -> str:
    begin = _WEB_TOKEN.search(joined[0])
    return joined[0] if begin is None else joined[0][: begin.start()] + _MASK


def _without_long(run: re.Match[str]) -> str:
    mixes = any(map(str.isdigit, run[0])) and any(c.isascii() and c.isalpha() for c in run[0])
    return _LONG.sub(_MASK, run[0]) if mixes else run[0]


_STEPS: tuple[Callable[[str], str], ...] = (
    lambda text: _PEM.sub(_MASK, text),
    lambda text: _CREDENTIALS.sub(f"{_MASK}@", text),
    lambda text: _SCHEME.sub(rf"\1 {_MASK}", text),
    lambda text: _SPOKEN.sub(rf"\1 {_MASK}", text),
    _without_assigned,
    lambda text: _KEYS.sub(_MASK, text),
    lambda text: _JOINED.sub(_without_web_token, text),
    lambda text: _RUN.sub(_without_long, text),
)


def redact(text: str) -> str:
    """Return the text with everything that looks like a secret replaced by `***`, in linear time.

    Example:
        >>> redact("401 for api_key=sk-test-123 at https://me:pw@host/v1")
        '401 for api_key=*** at https://***@host/v1'
    """
    for step in _STEPS:
        text = step(text)
    return text


def safe_message(error: BaseException) -> str:
    """Return an error as `Type: message` on one line, redacted and at most 300 characters long.

    Example:
        >>> safe_message(RuntimeError("Incorrect API key provided: sk-test"))
        'RuntimeError: Incorrect API key provided: ***'
    """
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - an error that cannot describe itself must not replace the answer
        message = ""
    # Redacted before it is cut, so that a cut never leaves half a key that no pattern knows.
    line = " ".join(redact(message[: 20 * _LONGEST]).split())
    line = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
    return f"{type(error).__name__}: {line}" if line else type(error).__name__
