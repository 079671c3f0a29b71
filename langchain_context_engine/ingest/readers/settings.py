"""Settings: TOML, YAML, JSON and INI, a section a passage, verbatim."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_context_engine.ingest.readers.entries import Entry, json_entries, toml_tables, yaml_entries
from langchain_context_engine.ingest.readers.rows import read_documents
from langchain_context_engine.ingest.sections import Document, Section

_SMALL_SHARE = 4  # what is shorter than this part of a chunk goes with what stands beside it
_COMMENT_MARKS = ("#", ";", "//")
_SWITCHED_OFF = re.compile(r"(?:[#;]{1,9}|//)[ \t]{0,9}[\w.-]{1,100}[ \t]{0,9}=")
_LONGEST_LINE = 200


def read_toml(path: str, text: str, chunk_size: int) -> Document:
    r"""Return the tables of a TOML file.

    Example:
        >>> text = "[a]\nx = 'one value'\n[b.c]\ny = 'another value'\n"
        >>> [s.titles for s in read_toml("a.toml", text, 40).sections]
        [('a',), ('b.c',)]
    """
    del path
    return _document(text, list(toml_tables(text)), chunk_size)


def read_ini(path: str, text: str, chunk_size: int) -> Document:
    """Return the sections of an INI file, or of what is written like one."""
    del path
    found = re.finditer(r"^\[([^\]\n]{1,200})\]", text, re.MULTILINE)
    return _document(text, [Entry(key=m[1].strip(), start=m.start(), depth=1) for m in found], chunk_size)


def read_json(path: str, text: str, chunk_size: int) -> Document:
    """Return the keys of a JSON file, comments and trailing commas allowed, down to those that fit.

    Of a list of documents, each document.
    """
    if documents := read_documents(path, text):
        return documents
    return _document(text, json_entries(text), chunk_size)


def read_yaml(path: str, text: str, chunk_size: int) -> Document:
    """Return the keys of a YAML file's documents, down to those that fit; a template is cut by lines."""
    del path
    return _document(text, yaml_entries(text), chunk_size)


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
        begins = [max(self._beginning(entry.start), start) for entry in entries]
        if begins[0] - start <= self.chunk_size // _SMALL_SHARE:
            begins[0] = start  # what opens the whole goes with what comes first
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

    def _beginning(self, offset: int) -> int:
        """Return where an entry's line begins, the comment above included, if its line begins with it.

        A setting that is switched off is no such comment, nor is what stands further in: both belong to
        what is above.
        """
        margin = begin = self._line_start(offset)
        if self.text[begin:offset].strip(" \t-"):
            return offset
        while begin:
            above = self._line_start(begin - 1)
            line = self.text[above : begin - 1]
            comment = line.lstrip(" \t")
            is_further_in = len(line) - len(comment) > offset - margin
            if is_further_in or not comment.startswith(_COMMENT_MARKS) or _SWITCHED_OFF.match(comment):
                break
            begin = above
        return begin

    def _line_start(self, offset: int) -> int:
        """Return where the line begins, or the offset itself where that is far."""
        begin = self.text.rfind("\n", max(0, offset - _LONGEST_LINE), offset) + 1
        return begin if begin or offset <= _LONGEST_LINE else offset
