"""Whether a file is a test, or shows how something is used: told by its path."""

from __future__ import annotations

import re

_TEST_PATH = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|testing|testdata|e2e|fixtures)/"
    r"|(?:^|/)(?:test_[^/]*|conftest)\.py$|[_.-](?:test|tests|spec)\.\w+$|(?:Test|Tests|Spec)\.(?:java|kt|cs|php|scala|swift)$",
)
_EXAMPLE_PATH = re.compile(r"(?:^|/)(?:examples?|samples?|demos?|docs_src|tutorials?)/")


def path_marks(path: str) -> dict[str, bool]:
    """Return `is_test` or `is_example`; nothing where a file is neither.

    Example:
        >>> path_marks("tests/test_a.py"), path_marks("examples/a.py"), path_marks("src/contest.py")
        ({'is_test': True}, {'is_example': True}, {})
    """
    if _TEST_PATH.search(path):
        return {"is_test": True}
    return {"is_example": True} if _EXAMPLE_PATH.search(path) else {}
