"""What a path tells of a file: that it is a test, shows how something is used, or is to be filled in."""

from __future__ import annotations

import re

_TEST_PATH = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|testing|testdata|e2e|fixtures)/"
    r"|(?:^|/)(?:test_[^/]*|conftest)\.py$|[_.-](?:test|tests|spec)\.\w+$|(?:Test|Tests|Spec)\.(?:java|kt|cs|php|scala|swift)$",
)
_EXAMPLE_PATH = re.compile(r"(?:^|/)(?:examples?|samples?|demos?|docs_src|tutorials?)/")
_TO_FILL_IN = frozenset({"in", "dist", "sample", "example", "default", "template"})


def path_marks(path: str) -> dict[str, bool]:
    """Return `is_test` or `is_example`; nothing where a file is neither.

    Example:
        >>> path_marks("tests/test_a.py"), path_marks("examples/a.py"), path_marks("src/contest.py")
        ({'is_test': True}, {'is_example': True}, {})
    """
    if _TEST_PATH.search(path):
        return {"is_test": True}
    return {"is_example": True} if _EXAMPLE_PATH.search(path) else {}


def without_mark(path: str) -> str:
    """Return a file's path without the suffix that says it is one to copy and fill in.

    Example:
        >>> without_mark("phpunit.xml.dist"), without_mark("src/config.h.in"), without_mark("notes.md")
        ('phpunit.xml', 'src/config.h', 'notes.md')
    """
    stem, mark, suffix = path.rpartition(".")
    return stem if mark and suffix.lower() in _TO_FILL_IN and stem.rpartition("/")[2].strip(".") else path
