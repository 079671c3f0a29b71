"""Which of a folder's files are wanted, by patterns as in `.gitignore`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from langchain_context_engine.models.errors import ConfigError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class Selection:
    """Says of a path whether it is wanted.

    Args:
        include: Patterns as in `.gitignore`; a path must match one. Without any, all do.
        exclude: Patterns of what is left out, also of what `include` names.

    Raises:
        ConfigError: A pattern is none.

    Example:
        >>> wanted = Selection(include=["docs/", "*.py"], exclude=["test_*"])
        >>> wanted("docs/a.md"), wanted("src/a.py"), wanted("src/test_a.py"), wanted("a.md")
        (True, True, False, False)
    """

    def __init__(self, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> None:
        self._include = _spec("include", include)
        self._exclude = _spec("exclude", exclude)

    def __call__(self, path: str) -> bool:
        """Say whether a file is wanted."""
        is_included = self._include is None or self._include.match_file(path)
        return is_included and not (self._exclude is not None and self._exclude.match_file(path))


def _spec(name: str, patterns: Iterable[str]) -> GitIgnoreSpec | None:
    from pathspec import GitIgnoreSpec

    given = [patterns] if isinstance(patterns, str) else list(patterns)
    try:
        return GitIgnoreSpec.from_lines(given) if given else None
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigError(f"{name} takes patterns as in .gitignore, got {given!r}: {error}") from error
