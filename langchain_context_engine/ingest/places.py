"""Where a record is from, as one short line that a person can follow, and what its path tells of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

SEPARATOR = " › "
_LONGEST_TITLE = 60
_LONGEST_TRAIL = 110
_NOT_A_LETTER = re.compile(r"[\W_]+")
_TEST_PATH = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|testing|testdata|e2e|fixtures)/"
    r"|(?:^|/)(?:test_[^/]*|conftest)\.py$|[_.-](?:test|tests|spec)\.\w+$|(?:Test|Tests|Spec)\.(?:java|kt|cs|php|scala|swift)$",
)
_EXAMPLE_PATH = re.compile(r"(?:^|/)(?:examples?|samples?|demos?|docs_src|tutorials?)/")
_TO_FILL_IN = frozenset({"in", "dist", "sample", "example", "default", "template"})


def code_place(path: str, first_line: int, last_line: int, symbol: str = "") -> str:
    """Return the place of lines of a file, and of what they define.

    Example:
        >>> code_place("httpx/_client.py", 430, 471, "Client.send")
        'httpx/_client.py:430-471 · Client.send'
        >>> code_place("notes.txt", 3, 3)
        'notes.txt:3'
    """
    lines = f"{first_line}-{last_line}" if last_line > first_line else f"{first_line}"
    return f"{path}:{lines} · {symbol}" if symbol else f"{path}:{lines}"


def trail_place(path: str, titles: Sequence[str]) -> str:
    """Return the place of a passage under headings, or of a named part.

    A first heading that repeats the path is left out. Long headings are shortened, and of a long
    trail the middle is left out.

    Example:
        >>> trail_place("CHANGELOG.md", ["Changelog", "0.13.0", "Removed"])
        'CHANGELOG.md › 0.13.0 › Removed'
        >>> trail_place("data.csv", ["rows 12-20"])
        'data.csv › rows 12-20'
    """
    shown = [_shortened(title) for title in without_repeated_path(path, titles)]
    while len(shown) > 2 and sum(map(len, shown)) > _LONGEST_TRAIL:  # noqa: PLR2004
        middle = len(shown) // 2
        if shown[middle] == "…":
            shown.pop(middle - 1 if middle > 1 else middle + 1)
        else:
            shown[middle] = "…"
        if len(shown) == 3 and shown[1] == "…":  # noqa: PLR2004
            break
    return SEPARATOR.join((path, *shown))


def message_part(subject: str, date: str, author: str) -> str:
    """Return what names a message within its box.

    Example:
        >>> message_part("Release", "2026-08-04", "A. Writer")
        'Release, 2026-08-04, A. Writer'
    """
    return ", ".join(filter(None, (_shortened(subject), date, _shortened(author))))


def without_repeated_path(path: str, titles: Sequence[str]) -> Sequence[str]:
    """Return the headings without a first one that says no more than the path.

    Example:
        >>> without_repeated_path("docs/FAQ.md", ["FAQ", "Why?"])
        ['Why?']
    """
    name = PurePosixPath(path)
    said = {_folded(str(name)), _folded(name.name), _folded(name.stem)}
    return titles[1:] if titles and _folded(titles[0]) in said else titles


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


def _folded(text: str) -> str:
    return _NOT_A_LETTER.sub("", text).casefold()


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TITLE else text[: _LONGEST_TITLE - 1].rstrip() + "…"
