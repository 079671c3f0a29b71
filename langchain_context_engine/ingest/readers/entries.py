"""Keys of settings and where they stand: TOML, JSON and YAML, read without building what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_DEEPEST = 6
_NAMING_KEYS = frozenset({"name", "title", "id"})
_LONGEST_KEY = 80


@dataclass(slots=True)
class Entry:
    """A key and what stands under it.

    Attributes:
        key: As written.
        start: Offset of its first character.
        depth: 1 is outermost.
        entries: What it holds, in order.
    """

    key: str
    start: int
    depth: int
    entries: list[Entry] = field(default_factory=list)


_TOML_TOKEN = re.compile(
    r"\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*(?:\"\"\"|\Z)|'''(?:[^']|'(?!''))*(?:'''|\Z)"
    r"|\"(?:[^\"\\\n]|\\.)*\"?|'[^'\n]*'?|\#[^\n]*|^[ \t]*\[\[?([^\]\n]{1,200})\]",
    re.MULTILINE | re.DOTALL,
)


def toml_tables(text: str) -> Iterator[Entry]:
    """Yield the tables of a TOML file, outside of strings and comments."""
    for token in _TOML_TOKEN.finditer(text):
        # An array of arrays begins lines with a bracket too: a table's name ends its line.
        name, after = token[1] or "", text[token.end() : token.end() + 1]
        if name and after in {"]", "\n", " ", "\t", "#", ""} and ("," not in name or '"' in name):
            yield Entry(key=name.strip(" \t[\"'"), start=token.start(), depth=1)


_JSON_TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*\"?|[{}\[\],:]|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?", re.DOTALL)


def json_entries(text: str) -> list[Entry]:
    """Return the keys of an object, or the items of a list, with what they hold; never raises.

    Read token by token: a file cut short or with comments gives what it has.
    """
    walk = _JsonWalk()
    for token in _JSON_TOKEN.finditer(text):
        walk.take(token[0], token.start())
    return walk.top


@dataclass(slots=True)
class _JsonWalk:
    top: list[Entry] = field(default_factory=list)
    _open: list[_Open] = field(default_factory=list)
    _too_deep: int = 0
    _last_string: tuple[str, int] | None = None

    def take(self, mark: str, start: int) -> None:
        """Take the next string, comment or mark of the text."""
        if mark[0] == "/":
            return
        if mark[0] == '"':
            self._last_string = (mark.strip('"')[:_LONGEST_KEY], start)
            return
        if mark in "{[":
            self._enter(start, is_object=mark == "{")
        elif mark in "}]":
            self._leave()
        elif mark == ":":
            self._name()
        self._last_string = None

    def _name(self) -> None:
        """Take the string before a colon as a key."""
        if self._last_string and not self._too_deep and self._open and self._open[-1].is_object:
            key, start = self._last_string
            self._open[-1].entries.append(Entry(key=key, start=start, depth=len(self._open)))

    def _enter(self, start: int, *, is_object: bool) -> None:
        if self._too_deep or len(self._open) >= _DEEPEST:
            self._too_deep += 1
            return
        entries = self.top
        if self._open:
            inside = self._open[-1]
            if not inside.is_object:
                inside.count += 1
                inside.entries.append(Entry(key=f"{inside.count}", start=start, depth=len(self._open)))
            entries = inside.entries[-1].entries if inside.entries else []
        self._open.append(_Open(entries=entries, is_object=is_object))

    def _leave(self) -> None:
        if self._too_deep:
            self._too_deep -= 1
        elif self._open:
            self._open.pop()


@dataclass(slots=True)
class _Open:
    """A collection that is open: where its entries go, and how far it is read."""

    entries: list[Entry]
    is_object: bool
    owner: Entry | None = None
    is_key_next: bool = True
    count: int = 0


def yaml_entries(text: str) -> list[Entry]:
    """Return the keys of each document with what they hold, by the parser's events: nothing is built.

    Anchors are not followed and tags not acted upon. What cannot be parsed has none.
    """
    import yaml

    walk = _YamlWalk()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.CollectionEndEvent):
                walk.leave()
            elif isinstance(event, yaml.NodeEvent) and event.start_mark is not None:
                is_mapping = isinstance(event, yaml.MappingStartEvent)
                is_collection = isinstance(event, yaml.CollectionStartEvent)
                value = str(getattr(event, "value", "?"))[:_LONGEST_KEY]
                walk.take(value, event.start_mark.index, is_mapping if is_collection else None)
    except (yaml.YAMLError, RecursionError, ValueError):
        return []
    return walk.top


@dataclass(slots=True)
class _YamlWalk:
    top: list[Entry] = field(default_factory=list)
    _open: list[_Open] = field(default_factory=list)

    def take(self, value: str, start: int, is_mapping: bool | None) -> None:
        """Take a node: a scalar, or the start of a mapping or a sequence (None for a scalar)."""
        entries, owner = self.top, None
        if self._open:
            inside = self._open[-1]
            is_key = inside.is_object and inside.is_key_next
            if len(self._open) <= _DEEPEST:
                self._add(inside, value, start, is_key=is_key)
            owner = inside.entries[-1] if inside.entries and not is_key else None
            entries = owner.entries if owner else []
            if owner and is_mapping is None:
                _name_item(inside, owner, value)
            inside.is_key_next = not inside.is_key_next
        if is_mapping is not None:
            self._open.append(_Open(entries=entries, is_object=is_mapping, owner=owner))

    def _add(self, inside: _Open, value: str, start: int, *, is_key: bool) -> None:
        if is_key:
            inside.entries.append(Entry(key=value, start=start, depth=len(self._open)))
        elif not inside.is_object:
            inside.count += 1
            inside.entries.append(Entry(key=f"{inside.count}", start=start, depth=len(self._open)))

    def leave(self) -> None:
        """Take the end of a mapping or a sequence."""
        self._open.pop()


def _name_item(inside: _Open, entry: Entry, value: str) -> None:
    """Let an item of a list go by its name or title instead of its number."""
    item = inside.owner
    if item and item.key.isdigit() and entry.key in _NAMING_KEYS and value.strip():
        item.key = " ".join(value.split())
