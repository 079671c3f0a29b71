"""Manuals in roff, by `man` and `mdoc`: sections by their commands, the text without its marks of type."""

from __future__ import annotations

import re

from langchain_context_engine.ingest.sections import Document, Heading, sections_under

_COMMAND = re.compile(r"[.'][ \t]*+(\\\"|[A-Za-z]{1,20})")
_HEADINGS = {"SH": 1, "Sh": 1, "SS": 2, "Ss": 2}
# One word in two types: `.BR ls (1)` is `ls(1)`.
_TOGETHER = frozenset(f"{a}{b}" for a in "BIR" for b in "BIR" if a != b)
_OF_MDOC = "Ar Cm Nm Pa Ev Va Li Dq Sq Ql Em Sy Op Dv Ic Xr Ad"
_SPOKEN = frozenset(f"B I SM SB IP It Nd Fl {_OF_MDOC}".split())
# Words of mdoc that say how the next ones look.
_LOOKS = frozenset(f"Ns Oo Oc No Pq Aq Bq {_OF_MDOC}".split())
_OPENS_TABLE, _CLOSES_TABLE = "TS", "TE"

_SIGNS = {
    "\\-": "-",
    "\\ ": " ",
    "\\~": " ",
    "\\e": "\\",
    "\\\\": "\\",
    "\\(bu": "•",
    "\\(aq": "'",
    "\\(cq": "’",
    "\\(oq": "‘",
    "\\(dq": '"',
    "\\(lq": "“",
    "\\(rq": "”",
    "\\(em": "—",
    "\\(en": "–",
    "\\(co": "©",
}
_NARROW = "&|^/,%:)"
_WORD = re.compile(r'"([^"\n]*+)"?|([^\s"]\S*+)')
_ESCAPE = re.compile(
    r"\\(?:f(?:\[[^\]\n]{0,20}\]|\([^\n]{2}|[^\n\[(])|\*(?:\[[^\]\n]{0,40}\]|\([^\n]{2}|[^\n\[(])|s[+-]?[0-9]{1,2}"
    r"|\([^\n]{2}|\[[^\]\n]{1,40}\]|[^\n])"
)


def read_manual(path: str, text: str, chunk_size: int) -> Document:
    r"""Return the sections of a manual, each line where it stood, without its commands.

    Example:
        >>> text = ".TH A 1\n.SH OPTIONS\n.TP\n\\fB\\-n\\fR\nCounts.\n.SS More\nSee\n.BR ls (1)\n"
        >>> document = read_manual("a.1", text, 0)
        >>> [section.titles for section in document.sections if section.titles]
        [('OPTIONS',), ('OPTIONS', 'More')]
        >>> document.text.split()
        ['OPTIONS', '-n', 'Counts.', 'More', 'See', 'ls(1)']
    """
    del path, chunk_size
    lines: list[str] = []
    headings: list[Heading] = []
    offset, is_table_form, name = 0, False, ""
    for line in text.split("\n"):
        command, rest = _split(line)
        shown = _spoken(command, rest) if command else _plain(line)
        if command == "Nm":  # alone it stands for what the page began with
            name = name or shown
            shown = shown or name
        if is_table_form:
            is_table_form, shown = not line.rstrip().endswith("."), ""
        is_table_form = (is_table_form or command == _OPENS_TABLE) and command != _CLOSES_TABLE
        if shown and (level := _HEADINGS.get(command)):
            headings.append(Heading(level=level, title=shown, start=offset, end=offset + len(shown)))
        lines.append(shown)
        offset += len(shown) + 1
    shown_text = "\n".join(lines)
    return Document(text=shown_text, sections=sections_under(shown_text, headings))


def _split(line: str) -> tuple[str, str]:
    found = _COMMAND.match(line)
    return (found[1], line[found.end() :].strip()) if found else ("", "")


def _spoken(command: str, rest: str) -> str:
    """Return what a command shows of its own line; "" for those that only lay out."""
    if command in _TOGETHER:
        return _plain("".join(_words(rest)))
    if command in _HEADINGS:
        return _plain(" ".join(_words(rest)))
    if command not in _SPOKEN:
        return ""
    words = _words(rest)
    if command == "IP":
        return _plain(words[0]) if words else ""
    return _plain(_of_mdoc([command, *words])) if command not in {"B", "I", "SM", "SB"} else _plain(rest)


def _of_mdoc(words: list[str]) -> str:
    shown, is_flag = [], False
    for word in words:
        if word == "Fl":
            is_flag = True
        elif word not in _LOOKS and word != "It":
            shown.append(f"-{word}" if is_flag else word)
            is_flag = False
    return " ".join(shown)


def _words(rest: str) -> list[str]:
    return [quoted or word for quoted, word in _WORD.findall(rest)]


def _plain(line: str) -> str:
    plain = _ESCAPE.sub(_sign, line).rstrip()
    return plain.removeprefix("T}").removesuffix("T{")  # what holds a cell of several lines


def _sign(escape: re.Match[str]) -> str:
    """Return the sign that an escape writes; of a type, a size or a space too narrow to see, none."""
    written = escape[0]
    is_itself = len(written) == 2 and not written[1].isalnum() and written[1] not in _NARROW  # noqa: PLR2004
    return _SIGNS.get(written, written[1] if is_itself else "")
