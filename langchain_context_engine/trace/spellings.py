"""How a name may be written that was printed elsewhere: with its marker, in quotes, by a line of its file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["lines_of", "spellings"]

_LONGEST = 1000
_QUOTES = "\"'`“”‘’«»*"
_ENDS = ",;.:)]}>("
_MARKED = re.compile(r"\[[^\[\]\s]{1,20}\]")
_ATTRIBUTE = re.compile(r'citation="([^"<>]{1,20})"')
_LINES = re.compile(r"[:#]L?(\d{1,9})(?:[-\u2013]L?(\d{1,9})|:\d{1,9})?$")


def spellings(named: str) -> Iterator[str]:
    """Yield what a person may mean by a name, the name itself first.

    Example:
        >>> list(spellings("`[2] src/pay.py`"))
        ['`[2] src/pay.py`', '[2] src/pay.py', '[2]', 'src/pay.py']
        >>> list(spellings("(3),"))
        ['(3),', '(3)', '3', '[3]']
    """
    seen: set[str] = set()
    for written in _written(named.strip()):
        if written and written not in seen:
            seen.add(written)
            yield written


def _written(name: str) -> Iterator[str]:
    yield name
    if len(name) > _LONGEST:
        return
    bare = name.strip(_QUOTES + ",; ")
    yield bare
    if attribute := _ATTRIBUTE.search(bare):
        yield attribute[1]
    if marked := _MARKED.match(bare):
        yield marked[0]
        bare = bare[marked.end() :].strip().strip(_QUOTES)
        yield bare
    tidy = bare.replace("\\", "/").replace(" > ", " › ")
    yield tidy.removeprefix("./")
    yield tidy.removesuffix("()")
    yield tidy.strip("… ")  # where there were few columns
    core = unicodedata.normalize("NFKC", tidy).strip(_ENDS + "[{<").strip()
    yield core
    if core.isalnum() and len(core) < len(bare):
        yield f"[{core}]"


def lines_of(name: str) -> tuple[str, int, int] | None:
    """Return a path and the first and last line that a name has at its end, as editors write them.

    Example:
        >>> lines_of("src/pay.py:7-9"), lines_of("src/pay.py#L4"), lines_of("src/pay.py")
        (('src/pay.py', 7, 9), ('src/pay.py', 4, 4), None)
    """
    if len(name) > _LONGEST or not (found := _LINES.search(name)):
        return None
    first = int(found[1])
    return name[: found.start()], first, int(found[2] or first)
