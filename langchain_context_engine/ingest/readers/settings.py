"""Settings: TOML, YAML, JSON and INI, a section a passage, verbatim, by their lines' indentation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_context_engine.ingest.json_lines import read_documents
from langchain_context_engine.ingest.sections import Document, Section

_SMALL_SHARE = 4  # what is shorter than this part of a chunk goes with what stands beside it
_DEEPEST = 6
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
_STRINGS = re.compile(r"(\"\"\"|''')(?:(?!\1)[\s\S]){0,100000}+\1")
_WRITTEN = re.compile(r"[^\n]")
_NAMING_KEYS = frozenset({"name", "title", "id"})
_COMMENT = re.compile(r"(?:#|;|//)(?![#;/]{0,9}[ \t]{0,9}[\w.-]{1,100}[ \t]{0,9}=)")
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
        key, value = found["quoted"] or (found["bare"] or "").strip(), found["value"] or ""
        while stack[-1].indent >= indent:
            stack.pop()
        holder = stack[-1]
        if is_item:
            named = key.lower() in _NAMING_KEYS and value.strip("\"', ")
            holder.entries.append(_Entry(named or f"{len(holder.entries) + 1}", found.start(), indent))
        else:
            if holder.key.isdigit() and key.lower() in _NAMING_KEYS and (name := value.strip("\"', ")):
                holder.key = " ".join(name.split())
            holder.entries.append(_Entry(key, found.start(), indent))
        if len(stack) <= _DEEPEST:
            stack.append(holder.entries[-1])
    return _document(text, top.entries, chunk_size)


def _document(text: str, entries: Sequence[_Entry], chunk_size: int) -> Document:
    grouping = _Grouping(text=text, chunk_size=chunk_size)
    grouping.add(entries, 0, len(text), ())
    return Document(text=text, sections=tuple(grouping.sections))


@dataclass(slots=True)
class _Grouping:
    """Lays entries out as sections: a large one is cut by what it holds, small ones go together."""

    text: str
    chunk_size: int
    sections: list[Section] = field(default_factory=list)

    def add(self, entries: Sequence[_Entry], start: int, end: int, trail: tuple[str, ...]) -> None:
        """Add the sections of the text from start to end, in which the entries stand."""
        if not entries or end - start <= self.chunk_size // _SMALL_SHARE:
            self._put(start, end, trail)
            return
        begins = [max(self._beginning(entry.start), start) for entry in entries]
        if begins[0] - start <= self.chunk_size // _SMALL_SHARE:
            begins[0] = start  # what opens the whole goes with what comes first
        open_start, open_keys = start, list[str]()
        for entry, begin, stop in zip(entries, begins, [*begins[1:], end], strict=True):
            is_large = (stop - begin) * _SMALL_SHARE > self.chunk_size
            if is_large or (open_keys and stop - open_start > self.chunk_size):
                self._put(open_start, begin, (*trail, *open_keys) if len(open_keys) == 1 else trail)
                open_start, open_keys = begin, []
            if is_large:
                inner = entry.entries if stop - begin > self.chunk_size else []
                self.add(inner, begin, stop, (*trail, entry.key))
                open_start = stop
            else:
                open_keys.append(entry.key)
        self._put(open_start, end, (*trail, *open_keys) if len(open_keys) == 1 else trail)

    def _put(self, start: int, end: int, trail: tuple[str, ...]) -> None:
        if self.text[start:end].strip(" \t\n{}[],"):
            self.sections.append(Section(start=start, end=end, titles=trail, kind="settings"))

    def _beginning(self, begin: int) -> int:
        """Return where the comment right above a line begins, that stands no further in, or the line."""
        margin = (
            len(self.text) - begin - len(self.text[begin:].lstrip(" \t")) if begin < len(self.text) else 0
        )
        while begin:
            above = self.text.rfind("\n", 0, begin - 1) + 1
            line = self.text[above : begin - 1]
            comment = line.lstrip(" \t")
            if len(line) - len(comment) > margin or not _COMMENT.match(comment):
                break
            begin = above
        return begin
