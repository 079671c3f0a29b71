"""What may be said of an error from outside: its message without keys, tokens, passwords and credentials."""

from __future__ import annotations

import re

__all__ = ["redact", "safe_message"]

_MASK = "***"
_LONGEST = 300
_NAMES = (
    r"[\w.-]*(?:api[\w-]*key|access[_-]?key|secret|token|passw(?:or)?d|passphrase|\bpass\b|pwd|credential|auth|cookie"
    r"|session[_-]?id|signature|\bsig\b|private[_-]?key|\bkey\b)[\w.-]*"
)
_PATTERNS = (
    # a whole block of PEM: private keys and certificates
    (re.compile(r"-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\Z)", re.DOTALL), _MASK),
    # scheme://user:password@host
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/@'\"]+@", re.IGNORECASE), rf"\1{_MASK}@"),
    # Authorization: Bearer abc, "Basic abc"
    (re.compile(r"\b(bearer|basic|digest)\s+[\w.+/=~:-]{4,}", re.IGNORECASE), rf"\1 {_MASK}"),
    # Authorization: ApiKey ab12, --password ab12
    (
        re.compile(
            r"\b(api[\s_-]?key|token|secret|passw(?:or)?d|passphrase)\s+"
            r"['\"]?(?=[^\s'\"]*\d)(?=[^\s'\"]*[a-z])[^\s'\",;)]{4,}",
            re.IGNORECASE,
        ),
        rf"\1 {_MASK}",
    ),
    # a word that says it is secret, and what is assigned to it, quoted or not
    (
        re.compile(
            rf"({_NAMES}[\"']?\s*(?:[=:]|\bis\b)\s*)(\"[^\"]*\"|'[^']*'|(?!(?:bearer|basic|digest)\b)[^\s,;&)}}\]]+)",
            re.IGNORECASE,
        ),
        rf"\1{_MASK}",
    ),
    # the well-known shapes of keys: OpenAI, GitHub, Slack, AWS, Google, Hugging Face, JSON web tokens
    (
        re.compile(
            r"\b(?:sk|pk|rk|xox[abprs]|gh[opsur]|github_pat|glpat|hf|gsk|ck)[-_][\w*.-]{3,}"
            r"|\bA(?:KIA|SIA)[A-Z0-9]{12,}|\bAIza[\w-]{20,}|\bya29\.[\w.-]+"
            r"|\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?"
        ),
        _MASK,
    ),
    # anything long that mixes letters and digits as only a machine would
    (re.compile(r"\b(?=[\w+/-]*[0-9])(?=[\w+/-]*[A-Za-z])[\w+/]{40,}={0,2}"), _MASK),
)


def redact(text: str) -> str:
    """Return the text with everything that looks like a secret replaced by `***`.

    Example:
        >>> redact("401 for api_key=sk-test-123 at https://me:pw@host/v1")
        '401 for api_key=*** at https://***@host/v1'
    """
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
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
