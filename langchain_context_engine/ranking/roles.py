"""What part a record plays for the thing that it is about: defines it, documents it, changed it, tests it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.editions import CHECKS, EDITION
from langchain_context_engine.text.memo import remember

PATHS_BYTES = 2**21
"""What is worked out of paths is kept for so many bytes of them: thousands, and a question meets hundreds."""

_TEST_PLACE = re.compile(
    r"(?:^|/)(?:tests?|specs?|testing|testdata|__tests__|fixtures?|benchmarks?|bench|examples?)/"
    r"|(?:^|/)(?:test_[^/]*|conftest\.py|[^/]*[._-](?:test|tests|spec)\.\w+|tests?\.\w+|[^/]*Tests?\.\w+)$"
)
_CHANGELOG = re.compile(
    r"(?:^|/)(?:change(?:s|log)|history|news|release(?:s|[-_]?notes)?)(?:-\d{1,8})?(?:\.\w+)?$", re.IGNORECASE
)

_CHECKS = re.compile(
    r"(?:^|/)\.(?:github|circleci|gitlab|buildkite|woodpecker|azure-pipelines|gitea|forgejo)/"
    r"|(?:^|/)(?:\.?(?:gitlab-ci|travis|appveyor|azure-pipelines|cirrus|drone|codecov|golangci|pre-commit-config)"
    r"\.(?:ya?ml|toml)|jenkinsfile|bitbucket-pipelines\.yml)$",
    re.IGNORECASE,
)
"""Settings of what checks a project: a robot is told there how to install it, nobody else is."""

_CODE_KINDS = frozenset({"code", "code_history", "function", "method", "class"})


class Role(StrEnum):
    """What a record is for the thing that it is about; `OTHER` is everything that is no repository's."""

    DEFINITION = "definition"
    DOCUMENT = "document"
    CHANGE = "change"
    CHANGELOG = "changelog"
    TEST = "test"
    OTHER = "other"


def role_of(candidate: Candidate, edition: int = EDITION) -> Role:
    """Return a record's role, by its kind, its path and what its metadata say.

    Args:
        candidate: The record.
        edition: Of the rules, see `editions.py`.

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
    if edition >= CHECKS and candidate.kind == "settings" and _CHECKS.search(path):
        return Role.TEST
    if is_changelog(candidate.metadata):
        return Role.CHANGELOG
    return Role.DOCUMENT if path else Role.OTHER


def is_changelog(metadata: Mapping[str, Any]) -> bool:
    """Return whether a record is a piece of a changelog."""
    return _is_changelog(str(metadata.get("path") or ""))


@remember(PATHS_BYTES)
def _is_changelog(path: str) -> bool:
    return _CHANGELOG.search(path) is not None


def is_test(candidate: Candidate) -> bool:
    """Return whether a piece of code tests other code: it says so, or its path does."""
    said = candidate.metadata.get("is_test")
    if isinstance(said, bool):
        return said
    return _is_of_tests(str(candidate.metadata.get("path") or ""))


@remember(PATHS_BYTES)
def _is_of_tests(path: str) -> bool:
    return _TEST_PLACE.search(path) is not None
