"""The intent of a question: which kind of record probably answers it.

A question about a repository is answered where a thing is defined, where it is documented, or where it was
decided. The question's words say which, more or less: one that gives no sign leans little, and no kind of
record is excluded. Records of no repository (a memory, a message, a page) are as good for any question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from langchain_context_engine.models.types import Candidate
from langchain_context_engine.text.memoize import memoize

PATHS_BYTES = 2**21
"""What is worked out of paths is kept for so many bytes of them: thousands, and a question meets hundreds."""


class Role(StrEnum):
    """What a record is for the thing that it is about; `OTHER` is everything that is no repository's."""

    DEFINITION = "definition"
    DOCUMENT = "document"
    CHANGE = "change"
    CHANGELOG = "changelog"
    TEST = "test"
    OTHER = "other"


_D, _P, _C, _L, _T, _O = (
    Role.DEFINITION, Role.DOCUMENT, Role.CHANGE, Role.CHANGELOG, Role.TEST, Role.OTHER,
)  # fmt: skip
UNTOLD: Mapping[Role, float] = {_D: 1.0, _P: 1.0, _C: 0.95, _L: 0.95, _T: 0.75, _O: 1.0}
"""How well each role suits a question that gives no sign: hardly one better than another."""

TOLD: Mapping[str, Mapping[Role, float]] = {
    "code": {_D: 1.0, _P: 0.7, _C: 0.6, _L: 0.6, _T: 0.5, _O: 1.0},
    "use": {_D: 0.8, _P: 1.0, _C: 0.6, _L: 0.7, _T: 0.5, _O: 1.0},
    "history": {_D: 0.65, _P: 0.7, _C: 1.0, _L: 0.95, _T: 0.4, _O: 1.0},
    "tests": {_D: 1.0, _P: 0.9, _C: 0.8, _L: 0.8, _T: 1.0, _O: 1.0},
}
"""Sign → role → how well it suits, 0–1. Of several signs the best counts."""

_SIGNS: Mapping[str, re.Pattern[str]] = {
    "code": re.compile(
        r"\b(?:which|what|whose)\s+(?:\w+\s+)?"
        r"(?:code|function|method|class|constant|module|file|piece|struct|macro|part)\b"
        r"|\b(?:in|of)\s+the\s+(?:\w+\s+)?(?:code|source|implementation)\b|\b(?:code|source)\s*base\b|\bimplement\w*\b"
        r"|\bwhere\s+(?:in|is|are|does|do|was|it|that|the)\b"
        r"|\bhow\s+(?:does|is|are|do\s+(?:they|we)|did)\b|\bwhat\s+happens\s+(?:if|when)\b"
        r"|\b(?:algorithm|internally|under\s+the\s+hood|decides?|data\s+structure|inherit\w*|(?:sub)?class(?:es)?)\b"
        r"|\b(?:method|function|attribute|decorator|constructor|instance|exception|parameter|argument|module|callback)s?\b"
        r"|\bwho\s+(?:calls|returns|raises|throws|sets|uses|owns|closes)\b",
        re.IGNORECASE,
    ),
    "use": re.compile(
        r"\bhow\s+(?:can|do|could|should|would)\s+(?:i|we|you|one)\b|\bhow\s+to\b|\bhow\s*\?"
        r"|\b(?:can|could|may|should)\s+(?:i|we|it|you|one)\b|\bis\s+there\s+(?:a|an|any)\b"
        r"|\b(?:docs?|documentation|documented?|readme|guide|manual|tutorial|faq)\b"
        r"|\b(?:steps|instructions|recommended)\b",
        re.IGNORECASE,
    ),
    "history": re.compile(
        r"\bwhy\s+(?:was|were|did|has|have)\b|\bwhen\s+(?:was|were|did)\b"
        r"|\b(?:commit(?:s|ted)?|pull\s+request|prs?|changelog|release\s+notes|merged?|revert\w*|regres\w*|blame"
        r"|history)\b"
        r"|\b(?:used\s+to|no\s+longer|any\s*more|dropped|removed|deprecated|introduced|switch(?:ed)?\s+to)\b",
        re.IGNORECASE,
    ),
    "tests": re.compile(
        r"\b(?:which|what|any|a|the)\s+(?:unit\s*)?tests?\b|\btests?\s+(?:for|of|that|covers?|checks?)\b"
        r"|\b(?:tested|covered\s+by)\b",
        re.IGNORECASE,
    ),
}  # fmt: skip

_TEST_PLACE = re.compile(
    r"(?:^|/)(?:tests?|specs?|testing|testdata|__tests__|fixtures?)/"
    r"|^(?:(?!(?:src|lib|pkg|internal)/)[^/]+/)*(?:benchmarks?|bench|examples?)/"
    r"|(?:^|/)(?:test_[^/]*|conftest\.py|[^/]*[._-](?:test|tests|spec)\.\w+|tests?\.\w+|[^/]*Tests?\.\w+)$"
)
"""A folder of benchmarks among the sources is what the project is about."""
_CHANGELOG = re.compile(
    r"(?:^|/)(?:change(?:s|log)|history|news|release(?:s|[-_]?notes)?)(?:-\d{1,8})?(?:\.\w+)?$", re.IGNORECASE
)
_CODE_KINDS = frozenset({"code", "code_history", "function", "method", "class"})


@memoize(2**20)
def signs_of(query: str) -> frozenset[str]:
    """Return what a question says of what it is after: "code", "use", "history", "tests"; English only.

    Example:
        >>> sorted(signs_of("which function decides that, and why was it removed?"))
        ['code', 'history']
    """
    return frozenset(sign for sign, pattern in _SIGNS.items() if pattern.search(query))


def intents(candidates: Sequence[Candidate], query: str) -> list[float]:
    """Return how well each candidate's role suits the question, 0–1: 1 for the role here that suits best.

    Example:
        >>> code = Candidate(id="a", kind="code", metadata={"path": "tea.py", "symbol": "brew"})
        >>> page = Candidate(id="b", kind="doc", metadata={"path": "tea.md"})
        >>> intents([code, page], "How do I brew tea?"), intents([code, page], "Which function brews it?")
        ([0.8, 1.0], [1.0, 0.7])
    """
    tables = [TOLD[sign] for sign in signs_of(query)] or [UNTOLD]
    suits = {role: max(table[role] for table in tables) for role in Role}
    found = [suits[role_of(candidate)] for candidate in candidates]
    best = max(found, default=1.0)
    return [suit / best for suit in found]


def role_of(candidate: Candidate) -> Role:
    """Return a record's role, by its kind, its path and what its metadata say.

    Example:
        >>> role_of(Candidate(id="a", kind="code", metadata={"path": "tests/test_a.py"})).value
        'test'
        >>> role_of(Candidate(id="a", kind="memory")).value
        'other'
    """
    path = str(candidate.metadata.get("path") or "")
    if candidate.kind == "commit":
        return Role.CHANGE
    if candidate.kind in _CODE_KINDS or (path and candidate.metadata.get("symbol")):
        return Role.TEST if is_test(candidate) else Role.DEFINITION
    if is_changelog(candidate.metadata):
        return Role.CHANGELOG
    return Role.DOCUMENT if path else Role.OTHER


def is_changelog(metadata: Mapping[str, Any]) -> bool:
    """Return whether a record is a piece of a changelog."""
    return _is_changelog(str(metadata.get("path") or ""))


@memoize(PATHS_BYTES)
def _is_changelog(path: str) -> bool:
    return _CHANGELOG.search(path) is not None


def is_test(candidate: Candidate) -> bool:
    """Return whether a piece of code tests other code: it says so, or its path does."""
    said = candidate.metadata.get("is_test")
    if isinstance(said, bool):
        return said
    return _is_of_tests(str(candidate.metadata.get("path") or ""))


@memoize(PATHS_BYTES)
def _is_of_tests(path: str) -> bool:
    return _TEST_PLACE.search(path) is not None
