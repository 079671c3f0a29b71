"""Settings: TOML, YAML, JSON and INI, a section a passage, verbatim."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from langchain_context_engine.ingest.sections import Document, Section

_DEEPEST = 3
_SMALL_SHARE = 4  # what is shorter than this part of a chunk goes with what stands beside it
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


def read_toml(path: str, text: str, chunk_size: int) -> Document:
    r"""Return the tables of a TOML file.

    Example:
        >>> text = "[a]\nx = 1\n" + "y = '''\n[no]\n'''\n" * 40 + "[b.c]\nz = 2\n" * 2
        >>> [s.titles for s in read_toml("a.toml", text, 100).sections]
        [('a',), ('b.c',), ('b.c',)]
    """
    del path
    return _document(text, list(_toml_tables(text)), chunk_size)


def read_ini(path: str, text: str, chunk_size: int) -> Document:
    """Return the sections of an INI file, or of what is written like one."""
    del path
    found = re.finditer(r"^\[([^\]\n]{1,200})\]", text, re.MULTILINE)
    return _document(text, [Entry(key=m[1].strip(), start=m.start(), depth=1) for m in found], chunk_size)


def read_json(path: str, text: str, chunk_size: int) -> Document:
    """Return the keys of a JSON file, comments and trailing commas allowed, down to those that fit."""
    del path
    return _document(text, json_entries(text), chunk_size)


def read_yaml(path: str, text: str, chunk_size: int) -> Document:
    """Return the keys of a YAML file's documents, down to those that fit; a template is cut by lines."""
    del path
    return _document(text, list(yaml_entries(text)), chunk_size)


_TOML_TOKEN = re.compile(
    r"\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*(?:\"\"\"|\Z)|'''(?:[^']|'(?!''))*(?:'''|\Z)"
    r"|\"(?:[^\"\\\n]|\\.)*\"?|'[^'\n]*'?|\#[^\n]*|^[ \t]*\[\[?([^\]\n]{1,200})\]",
    re.MULTILINE | re.DOTALL,
)


def _toml_tables(text: str) -> Iterator[Entry]:
    for token in _TOML_TOKEN.finditer(text):
        # An array of arrays begins lines with a bracket too: a table's name ends its line.
        if token[1] and text[token.end() : token.end() + 1] in {"]", "\n", " ", "\t", "#", ""}:
            if "," not in token[1] or '"' in token[1]:
                yield Entry(key=token[1].strip(" \t[\"'"), start=token.start(), depth=1)


_JSON_TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*\"?|[{}\[\],:]|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?", re.DOTALL)


def json_entries(text: str) -> list[Entry]:
    """Return the keys of an object, or the items of a list, with what they hold; never raises.

    Read token by token: a file cut short or with comments gives what it has.
    """
    top: list[Entry] = []
    # The lists that are open: where their entries go, whether of an object, how many items so far.
    open_entries: list[tuple[list[Entry], bool, int]] = []
    too_deep = 0
    last_string: tuple[str, int] | None = None
    for token in _JSON_TOKEN.finditer(text):
        mark = token[0]
        if mark[0] == '"':
            last_string = (mark.strip('"')[:_LONGEST_KEY], token.start())
        elif mark in "{[":
            if too_deep or len(open_entries) >= _DEEPEST:
                too_deep += 1
                continue
            if open_entries and not open_entries[-1][1]:
                entries, is_object, count = open_entries[-1]
                entries.append(Entry(key=f"{count + 1}", start=token.start(), depth=len(open_entries)))
                open_entries[-1] = (entries, is_object, count + 1)
            holder = open_entries[-1][0][-1].entries if open_entries and open_entries[-1][0] else top
            open_entries.append((holder, mark == "{", 0))
        elif mark in "}]":
            if too_deep:
                too_deep -= 1
            elif open_entries:
                open_entries.pop()
        elif mark == ":" and last_string and not too_deep and open_entries and open_entries[-1][1]:
            open_entries[-1][0].append(
                Entry(key=last_string[0], start=last_string[1], depth=len(open_entries))
            )
        if mark[0] not in '"/':
            last_string = None
    return top


def yaml_entries(text: str) -> Iterator[Entry]:
    """Yield the keys of each document with what they hold, by the parser's events: nothing is built.

    Anchors are not followed and tags not acted upon. What cannot be parsed yields nothing.
    """
    import yaml

    found: list[Entry] = []
    # For each open collection: its entries, whether a mapping, whether a key is next, items so far.
    stack: list[list[object]] = []
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            _take_event(event, found, stack)
    except (yaml.YAMLError, RecursionError, ValueError, UnicodeError):
        return
    yield from found


def _take_event(event: object, found: list[Entry], stack: list[list[object]]) -> None:
    import yaml

    if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
        stack.pop()
        return
    if not isinstance(event, (yaml.ScalarEvent, yaml.AliasEvent, yaml.CollectionStartEvent)):
        return
    entries: list[Entry] = found
    if stack:
        holder = stack[-1]
        own = holder[0]
        is_key = bool(holder[1] and holder[2])
        if isinstance(own, list):
            _add_entry(event, own, holder, len(stack), is_key=is_key)
            entries = own[-1].entries if own and not is_key else []
        holder[2] = not holder[2]
    if isinstance(event, yaml.CollectionStartEvent):
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        stack.append([entries if len(stack) < _DEEPEST else None, is_mapping, True, 0])


def _add_entry(event: object, own: list[Entry], holder: list[object], depth: int, *, is_key: bool) -> None:
    start = event.start_mark.index  # type: ignore[attr-defined]
    if is_key:
        own.append(Entry(key=str(getattr(event, "value", "?"))[:_LONGEST_KEY], start=start, depth=depth))
    elif not holder[1]:
        count = holder[3] = int(str(holder[3])) + 1
        own.append(Entry(key=str(count), start=start, depth=depth))


def _document(text: str, entries: Sequence[Entry], chunk_size: int) -> Document:
    grouping = _Grouping(text=text, chunk_size=chunk_size)
    grouping.add(entries, 0, len(text), ())
    return Document(text=text, sections=tuple(grouping.sections))


@dataclass(slots=True)
class _Grouping:
    """Lays entries out as sections: a large one is cut by what it holds, small ones go together."""

    text: str
    chunk_size: int
    sections: list[Section] = field(default_factory=list)

    def add(self, entries: Sequence[Entry], start: int, end: int, trail: tuple[str, ...]) -> None:
        """Add the sections of the text from start to end, in which the entries stand."""
        if not entries or end - start <= self.chunk_size // _SMALL_SHARE:
            self._put(start, end, trail)
            return
        begins = [max(self._line_start(entry.start), start) for entry in entries]
        ends = [*begins[1:], end]
        open_start, open_keys = start, list[str]()
        for entry, begin, stop in zip(entries, begins, ends, strict=True):
            length = stop - begin
            if length * _SMALL_SHARE > self.chunk_size:
                self._close(open_start, begin, trail, open_keys)
                inner = entry.entries if length > self.chunk_size else []
                self.add(inner, begin, stop, (*trail, entry.key))
                open_start, open_keys = stop, []
            else:
                if open_keys and stop - open_start > self.chunk_size:
                    self._close(open_start, begin, trail, open_keys)
                    open_start, open_keys = begin, []
                open_keys.append(entry.key)
        self._close(open_start, end, trail, open_keys)

    def _close(self, start: int, end: int, trail: tuple[str, ...], keys: Sequence[str]) -> None:
        self._put(start, end, (*trail, keys[0]) if len(keys) == 1 else trail)

    def _put(self, start: int, end: int, trail: tuple[str, ...]) -> None:
        if self.text[start:end].strip(" \t\n{}[],"):
            self.sections.append(Section(start=start, end=end, titles=trail, kind="settings"))

    def _line_start(self, offset: int) -> int:
        """Return where the line begins, if only white space or a dash stands before."""
        begin = self.text.rfind("\n", max(0, offset - 200), offset) + 1
        return begin if begin and not self.text[begin:offset].strip(" \t-") else offset


SETTINGS_READERS: dict[str, Callable[[str, str, int], Document]] = {
    "toml": read_toml,
    "ini": read_ini,
    "json": read_json,
    "yaml": read_yaml,
}
