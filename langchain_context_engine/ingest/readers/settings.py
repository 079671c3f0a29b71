"""Settings: TOML, YAML, JSON and INI, a section a passage, verbatim, by their lines' indentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from langchain_context_engine.ingest.json_lines import read_documents
from langchain_context_engine.ingest.sections import Document, Section

_SMALL_SHARE = 4  # what is shorter than this part of a chunk goes with what stands beside it
_DEEPEST, _DEEPEST_INDENT = 6, 200
_TABLE = re.compile(
    r"^[ \t]*\[\[?(?P<key>[^\[\]\n,]{1,200}|[^\n]{0,100}\"[^\n]{0,100})\]\]?[ \t]*(?:[#;][^\n]*)?$",
    re.MULTILINE,
)
_LINE = re.compile(
    r"^(?P<indent>[ \t]*)(?:(?P<item>- +|\{[ \t]*$)?"
    r"(?:\"(?P<quoted>[^\"\n]{1,80})\"|(?P<bare>[\w.$@/<][^:#\"'\n{}\[\],]{0,79}))[ \t]*:(?=\s)"
    r"[ \t]*(?P<value>[^\n]*)"
    r"|(?P<mark>\{|- *[^\n]{0,80})[ \t]*$)",
    re.MULTILINE,
)
_STRINGS = re.compile(r"(\"\"\"|''')[\s\S]{0,100000}?\1")
_WRITTEN = re.compile(r"[^\n]")
_NAMING_KEYS = frozenset({"name", "title", "id"})
_COMMENT = re.compile(r"(?P<indent>[ \t]*+)(?:#|;|//)(?![#;/]{0,9}[ \t]{0,9}[\w.-]{1,100}[ \t]{0,9}=)")
"""A comment; a setting that is switched off is none, and belongs to what is above."""


@dataclass(slots=True)
class _Entry:
    """A key, where its line begins, how far in it stands, and what it holds."""

    key: str
    start: int
    indent: int
    entries: list[_Entry] = field(default_factory=list)


def read_tables(path: str, text: str, chunk_size: int) -> Document:
    """Return the tables of a TOML or INI file."""
    del path
    told = _STRINGS.sub(lambda string: _WRITTEN.sub(" ", string[0]), text)
    entries = [_Entry(found["key"].strip(" \t\"'"), found.start(), 0) for found in _TABLE.finditer(told)]
    return _document(text, entries, chunk_size)


def read_keys(path: str, text: str, chunk_size: int) -> Document:
    """Return the keys of a YAML or JSON file, down to those that fit; of a list of documents, each one."""
    if path.lower().endswith(".json") and (documents := read_documents(path, text)):
        return documents
    top = _Entry("", 0, -1)
    stack = [top]
    for found in _LINE.finditer(text):
        if not top.entries and found["mark"] and not text[: found.start()].strip():
            continue  # the brace that opens the whole
        is_item = bool(found["item"] or found["mark"])
        # An item of a list may stand as far in as the key that holds it.
        indent = 2 * len(found["indent"].expandtabs()) + is_item
        key = found["quoted"] or (found["bare"] or "").strip()
        while stack[-1].indent >= indent:
            stack.pop()
        holder = stack[-1]
        value = " ".join((found["value"] or "").strip("\"', ").split()) if key.lower() in _NAMING_KEYS else ""
        if value and not is_item and holder.key.isdigit():
            holder.key = value
        name = (value or f"{len(holder.entries) + 1}") if is_item else key
        holder.entries.append(_Entry(name, found.start(), indent))
        if len(stack) <= _DEEPEST:
            stack.append(holder.entries[-1])
    return _document(text, top.entries, chunk_size)


def _document(text: str, entries: Sequence[_Entry], chunk_size: int) -> Document:
    found = _grouped(text, chunk_size, entries, (0, len(text)))
    sections = (s for s in found if text[s.start : s.end].strip(" \t\n{}[],"))
    return Document(text=text, sections=tuple(sections))


def _grouped(
    text: str, size: int, entries: Sequence[_Entry], span: tuple[int, int], trail: tuple[str, ...] = ()
) -> Iterator[Section]:
    """Yield the sections of a span of a text: a large entry by what it holds, small ones together."""
    start, end = span
    if end - start <= size // _SMALL_SHARE:
        entries = ()
    begins = [max(_beginning(text, entry.start), start) for entry in entries]
    if begins and begins[0] - start <= size // _SMALL_SHARE:
        begins[0] = start  # what opens the whole goes with what comes first
    opened, keys = start, list[str]()

    def closed(at: int) -> Section:
        titles = (*trail, *keys) if len(keys) == 1 else trail
        return Section(start=opened, end=at, titles=titles, kind="settings")

    for entry, begin, stop in zip(entries, begins, [*begins[1:], end], strict=False):
        is_large = (stop - begin) * _SMALL_SHARE > size
        if is_large or (keys and stop - opened > size):
            yield closed(begin)
            opened, keys = begin, []
        if is_large:
            inner = entry.entries if stop - begin > size else []
            yield from _grouped(text, size, inner, (begin, stop), (*trail, entry.key))
            opened = stop
        else:
            keys.append(entry.key)
    yield closed(end)


def _beginning(text: str, begin: int) -> int:
    """Return where the comment right above a line begins, that stands no further in, or the line."""
    line = text[begin : begin + _DEEPEST_INDENT]
    margin = len(line) - len(line.lstrip(" \t"))
    while begin:
        above = text.rfind("\n", 0, begin - 1) + 1
        found = _COMMENT.match(text, above, begin)
        if found is None or len(found["indent"]) > margin:
            break
        begin = above
    return begin
