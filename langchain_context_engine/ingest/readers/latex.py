"""LaTeX: its parts, chapters and sections, outside of comments and of what is set verbatim."""

from __future__ import annotations

import re

from langchain_context_engine.ingest.sections import Document, Heading, sections_under

_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_COMMAND = re.compile(
    rf"[ \t]{{0,40}}\\(?P<name>{'|'.join(_LEVELS)})\*?[ \t]*(?:\[[^\]\n]{{0,300}}\])?[ \t]*\{{"
)
_VERBATIM = re.compile(
    r"[ \t]{0,40}\\(?P<does>begin|end)"
    r"\{(?P<name>verbatim|Verbatim|lstlisting|minted|comment|filecontents)\*?\}"
)
_LONGEST_TITLE = 400
# What is no part of a title as it is read: a label, an entry of the index, a note.
_UNSEEN = re.compile(r"\\(?:label|index|footnote|thanks|cite\w{0,10})(?:\[[^\]]{0,100}\])?\{[^{}]{0,200}\}")
_PLAIN_TWIN = re.compile(r"\\texorpdfstring\{[^{}]{0,200}\}\{(?P<plain>[^{}]{0,200})\}")
_NAME = re.compile(r"\\[A-Za-z]{1,40}\*?[ \t]?|[{}$]")


def read_latex(path: str, text: str, chunk_size: int) -> Document:
    r"""Return the sections of a LaTeX document.

    Example:
        >>> tex = "\\chapter{Sets \\label{sets}}\n\nx\n% \\section{no}\n\\section*{The \\emph{empty} set}\ny"
        >>> [s.titles for s in read_latex("a.tex", tex, 0).sections]
        [('Sets',), ('Sets', 'The empty set')]
    """
    del path, chunk_size
    headings: list[Heading] = []
    verbatim, position = "", 0
    for line in text.split("\n"):
        if mark := _VERBATIM.match(line):
            if not verbatim and mark["does"] == "begin":
                verbatim = mark["name"]
            elif verbatim == mark["name"] and mark["does"] == "end":
                verbatim = ""
        elif not verbatim and (found := _COMMAND.match(line)):
            start = position + found.end()
            end = _closed(text, start)
            if end and (title := _as_read(text[start : end - 1])):
                level = 1 + _LEVELS.index(found["name"])
                headings.append(Heading(level=level, title=title, start=position, end=end))
        position += len(line) + 1
    return Document(text=text, sections=sections_under(text, headings))


def _closed(text: str, start: int) -> int:
    """Return the offset after the brace that closes what begins here; 0 where none does soon."""
    depth = 1
    for place in range(start, min(start + _LONGEST_TITLE, len(text))):
        if text[place] in "{}" and text[place - 1] != "\\":
            depth += 1 if text[place] == "{" else -1
            if not depth:
                return place + 1
    return 0


def _as_read(title: str) -> str:
    plain = _UNSEEN.sub("", _PLAIN_TWIN.sub(lambda twin: twin["plain"], title))
    return " ".join(_NAME.sub("", plain).replace("~", " ").replace("\\", "").split())
