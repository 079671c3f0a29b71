"""Text whose headings are lines of their own: plain text, one table of forms, and manuals in roff."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from langchain_context_engine.ingest.changelog import date_in, is_changelog, is_dated_release, is_unreleased
from langchain_context_engine.ingest.generated import refuse_list
from langchain_context_engine.ingest.readers.markdown import read_markdown
from langchain_context_engine.ingest.report import SkippedError
from langchain_context_engine.ingest.sections import Document, Heading, Section, sections_under

_MARKS = frozenset(string.punctuation)
_OVERLINED = 3  # lines that a title takes with marks above it too
_SHORT = 4  # an underline shorter than its title must have this many marks at least


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """How headings of a format are written.

    Attributes:
        heading: Matches a heading's line; its groups are the mark and the title.
        level: The mark → level.
        block: Matches a line that opens a block in which nothing is a heading; its first group names it.
        end: The block's name → the line that closes it.
    """

    heading: re.Pattern[str]
    level: Callable[[str], int] = len
    block: re.Pattern[str] | None = None
    end: Callable[[str], str] = str


def _levels(names: str) -> Callable[[str], int]:
    found = {name: level for level, same in enumerate(names.split(), 1) for name in same.split("|")}
    return found.__getitem__


_LATEX = "part chapter section subsection subsubsection paragraph"
_TEXINFO = "top chapter|unnumbered|appendix section|unnumberedsec|appendixsec subsection"
_FORMS: Mapping[str, _Form] = {
    "asciidoc": _Form(
        heading=re.compile(r"(={1,6}|#{1,6})[ \t]+(\S[^\n]{0,400})$"),
        block=re.compile(
            r"(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|`{3,}|~{3,}|--|[|,:!]={3,})(?:(?<=`)\w+)?[ \t]*$"
        ),
    ),
    "latex": _Form(
        heading=re.compile(
            rf"[ \t]{{0,40}}\\({_LATEX.replace(' ', '|')})\*?[ \t]*(?:\[[^\]\n]{{0,300}}\])?[ \t]*"
            r"\{((?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]*\})*\}){1,400})"
        ),
        level=_levels(_LATEX),
        block=re.compile(
            r"[ \t]{0,40}\\begin\{((?:verbatim|Verbatim|lstlisting|minted|comment|filecontents)\*?)\}"
        ),
        end=lambda name: f"\\end{{{name}}}",
    ),
    "pod": _Form(heading=re.compile(r"=head([1-6])[ \t]+([^\n]{1,300})$"), level=int),
    "org": _Form(
        heading=re.compile(r"(\*{1,8}) (?:TODO |DONE )?(\S[^\n]{0,400}?)(?:[ \t]+:[\w:@]{1,80}:)?[ \t]*$"),
        block=re.compile(r"[ \t]*#\+begin_(src|example)", re.IGNORECASE),
        end=lambda name: f"#+end_{name}",
    ),
    "wiki": _Form(heading=re.compile(r"(={1,6})[ \t]*([^=\s][^\n]{0,400}?)[ \t]*\1[ \t]*$")),
    "textile": _Form(
        heading=re.compile(r"h([1-6])(?:\([^)\n]{0,80}\))?\.[ \t]+(\S[^\n]{0,400})$"), level=int
    ),
    "texinfo": _Form(
        heading=re.compile(rf"@({_TEXINFO.replace(' ', '|')})[ \t]+([^\n]{{1,400}})$"),
        level=_levels(_TEXINFO),
        block=re.compile(r"@(example|verbatim|smallexample|ignore)[ \t]*$"),
        end=lambda name: f"@end {name}",
    ),
}
# What is no part of a title as it is read: a label, an entry of the index, a note, names of commands, marks.
_UNSEEN = re.compile(r"\\(?:label|index|footnote|thanks|cite\w{0,10})(?:\[[^\]]{0,100}\])?\{[^{}]{0,200}\}")
_PLAIN_TWIN = re.compile(r"\\texorpdfstring\{[^{}]{0,200}\}\{([^{}]{0,200})\}")
_NAMED = re.compile(r"\b[A-Z]<{1,4} ?([^<>\n]{1,200}) ?>{1,4}|@\w{1,20}\{([^{}]{0,200})\}")
_COMMAND = re.compile(r"\\[A-Za-z]{1,40}\*?[ \t]?|[{}$\\]")

_POD_WORDS = re.compile(r"^(?:=head|[^=\s])", re.MULTILINE)


def marked_reader(name: str) -> Callable[[str, str, int], Document]:
    """Return what reads the sections of a format of the table."""

    def read(path: str, text: str, chunk_size: int) -> Document:
        del path, chunk_size
        sections = sections_under(text, list(_marked_lines(_FORMS[name], text)))
        if name == "pod" and not _POD_WORDS.search(text, 0, sections[0].end):
            sections = sections[1:]  # `=encoding utf8` alone
        return Document(text=text, sections=sections)

    return read


def _marked_lines(form: _Form, text: str) -> Iterator[Heading]:
    block, start = "", 0
    for line in text.split("\n"):
        end = min(start + len(line) + 1, len(text))
        if block:
            block = "" if line.strip().lower() == block.lower() else block
        elif form.block is not None and (opened := form.block.match(line)):
            block = form.end(opened[1])
        elif (found := form.heading.match(line)) and (title := _as_read(found[2])):
            yield Heading(level=form.level(found[1]), title=title, start=start, end=end)
        start = end


def _as_read(title: str) -> str:
    plain = _UNSEEN.sub("", _PLAIN_TWIN.sub(r"\1", title))
    named = _NAMED.sub(lambda found: found[1] or found[2] or "", plain)
    return " ".join(_COMMAND.sub("", named).replace("~", " ").rstrip("=# \t").split())


def read_restructured(path: str, text: str, chunk_size: int) -> Document:
    """Return the sections of a reStructuredText document."""
    del path, chunk_size
    return Document(text=text, sections=sections_under(text, titled_lines(text)))


def titled_lines(text: str) -> list[Heading]:
    """Return the titles: a line between or above marks, levels by the order in which styles appear.

    Docutils reads 30 kB a second and runs directives; only where sections begin is needed here.
    """
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    styles: list[tuple[str, bool]] = []
    found: list[Heading] = []
    number = 0
    while number + 1 < len(lines):
        after = _end_of_title(lines, number)
        if after:
            style = (lines[after - 1][0], after - number == _OVERLINED)
            styles += [] if style in styles else [style]
            level, title = 1 + styles.index(style), lines[after - 2].strip()
            found.append(
                Heading(level=level, title=title, start=starts[number], end=min(starts[after], len(text)))
            )
        number = after or number + 1
    return found


def _end_of_title(lines: list[str], number: int) -> int:
    """Return the line after a title that begins here; 0 where none does."""
    above = lines[number - 1].rstrip() if number else ""
    if above and not (number > 1 and _is_rule(above) and lines[number - 2].strip()):
        return 0  # but right below the underline of another a title may come
    line = lines[number].rstrip()
    if _is_rule(line) and number + 2 < len(lines):
        title, under = lines[number + 1].rstrip(), lines[number + 2].rstrip()
        if title.strip() and under == line and not _is_rule(title) and _is_wide(title, line):
            return number + 3
    is_text = line and not line[0].isspace() and not line.startswith((".. ", "| ", "- ", "* ", "+ "))
    if not is_text or (_is_rule(line) and len(line) >= _SHORT):
        return 0
    under = lines[number + 1].rstrip()
    return number + 2 if _is_rule(under) and _is_wide(line, under) else 0


def _is_wide(title: str, rule: str) -> bool:
    return len(rule) >= min(len(title), _SHORT)


def _is_rule(line: str) -> bool:
    return bool(line) and line[0] in _MARKS and line == line[0] * len(line)


# Headings do not go on in the next line: these are comments among commands.
_COMMANDS = re.compile(r"^(#{1,6}) \S.*\n\1 \S", re.MULTILINE)
_ELEMENT = re.compile(r"</?[A-Za-z]")
# An entry of a changelog as GNU, Debian, CPAN or Ruby keeps it: a line at the margin, what changed below.
_BY = r"[ \t]+(?P<{}>[^<(\n]{{1,200}}?)[ \t]*[<(][^<>()\n]{{0,200}}[>)]"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_ENTRY = re.compile(
    rf"^(?:(?P<day>\d{{4}}-\d\d-\d\d){_BY.format('author')}"
    rf"|{_DAY} (?P<date>[A-Z][a-z]{{2}} [ \d]?\d) [\d: A-Z]{{8,14}}(?P<year>\d{{4}}){_BY.format('writer')}"
    r"|(?P<version>[a-z0-9][a-z0-9+.-]{1,60} \([^)\s]{1,60}\) [^;\n]{1,80});[ \t]*[a-z-]+=[^\n]*"
    r"|(?P<release>(?:[=*#]{1,4} )?(?:v|version |release )?\d[^\n]{0,120}))[ \t]*$(?!\n([=~^*+#-])\7\7)",
    re.MULTILINE | re.IGNORECASE,
)
# A drawing as Android or the web keeps it.
_DRAWING = re.compile(
    r"\s*+(?:<\?[^>]{0,200}>\s*+)?(?:<!--(?:(?!-->)[\s\S]){0,2000}-->\s*+)?<(?:animated-)?(?:vector|svg)[\s>]"
)


def read_plain(path: str, text: str, chunk_size: int) -> Document:
    """Return the sections of a text without a format: titles, Markdown, or a changelog's entries."""
    if is_changelog(path) and (entries := list(_entries(text))):
        found = sections_under(text, entries)
        return Document(text=text, sections=tuple(replace(s, metadata=_author_of(s)) for s in found))
    begins = text.lstrip()[:8]
    if begins.startswith("#") and begins.lstrip("#")[:1] == " ":
        read = read_lines if _COMMANDS.search(text) else read_markdown
        return read(path, text, chunk_size)
    refuse_list(text)
    titles = [
        each for each in titled_lines(text) if not (_ELEMENT.match(each.title) or _is_fenced(text, each))
    ]
    return Document(text=text, sections=sections_under(text, titles))


def _entries(text: str) -> Iterator[Heading]:
    for found in _ENTRY.finditer(text):
        title = found["release"] or found["version"] or ""
        if found["release"] and not (is_dated_release(title) or is_unreleased([title], "")):
            continue
        if not title:
            day = found["day"] or f"{found['date']} {found['year']}"
            title = f"{day}, {found['author'] or found['writer']}"
        title = " ".join(title.strip("=*# \t\r").split())
        yield Heading(level=1, title=title, start=found.start(), end=found.end())


def _author_of(section: Section) -> dict[str, str]:
    day, comma, author = (section.titles or ("",))[0].partition(", ")
    return {"author": author} if comma and not day[:1].islower() and date_in(day) else {}


def _is_fenced(text: str, heading: Heading) -> bool:
    """Backticks below a line begin or end a block of code, rather than make a title of it."""
    return text[heading.start : heading.end].rstrip().rpartition("\n")[2].startswith("```")


def read_lines(path: str, text: str, chunk_size: int) -> Document:
    """Return a text as one section, cut where it is too long."""
    del path, chunk_size
    return Document(text=text, sections=(Section(start=0, end=len(text)),))


def read_xml(path: str, text: str, chunk_size: int) -> Document:
    """Return a text in XML as one section.

    Raises:
        SkippedError: unsupported: it is a drawing, of which nothing can be read.
    """
    if _DRAWING.match(text):
        raise SkippedError("unsupported", "a drawing")
    return read_lines(path, text, chunk_size)


_ROFF = re.compile(r"[.'][ \t]*+(\\\"|[A-Za-z]{1,20})[ \t]*(.*)")
_ROFF_LEVELS = {"SH": 1, "Sh": 1, "SS": 2, "Ss": 2}
_UNTIL = {"ig": "..", "de": "..", "am": "..", "TS": ".TE", "EQ": ".EN"}
"""Commands that open what nobody reads (a comment, a macro), or read as it stands (a table)."""
_TWO_TYPES = frozenset(f"{a}{b}" for a in "BIR" for b in "BIR" if a != b)
_MDOC = "Ar Cm Nm Pa Ev Va Li Dq Sq Ql Em Sy Op Dv Ic Xr Ad Ns Oo Oc No Pq Aq Bq It Fl Nd"
_OF_MDOC = frozenset(_MDOC.split())
_SPOKEN = {"B", "I", "SM", "SB", "IP"} | _OF_MDOC
_ROFF_WORD = re.compile(r'"([^"\n]*+)"?|([^\s"]\S*+)')
_ESCAPE = re.compile(
    r"\\(?:f(?:\[[^\]\n]{0,20}\]|\([^\n]{2}|[^\n\[(])|\*(?:\[[^\]\n]{0,40}\]|\([^\n]{2}|[^\n\[(])"
    r"|s[+-]?[0-9]{1,2}|\([^\n]{2}|\[[^\]\n]{1,40}\]|[^\n])"
)
_SIGNS = {"\\(bu": "•", "\\(aq": "'", "\\(cq": "’", "\\(oq": "‘", "\\(dq": '"', "\\(lq": "“", "\\(rq": "”"}
_SIGNS |= {"\\(em": "—", "\\(en": "–", "\\(co": "©", "\\e": "\\", "\\~": " "}


def read_manual(path: str, text: str, chunk_size: int) -> Document:
    """Return the sections of a manual by `man` or `mdoc`, each line where it stood, without its commands."""
    del path, chunk_size
    shown: list[str] = []
    headings: list[Heading] = []
    offset, until, name = 0, "", ""
    for line in text.split("\n"):
        found = _ROFF.match(line)
        command, rest = (found[1], found[2]) if found else ("", line)
        if until:
            said = _signed(line) if until == ".TE" and not line.rstrip().endswith((";", ".")) else ""
            until = "" if line.rstrip() == until else until
            said = said if until else ""
        else:
            said, until = _spoken(command, rest), _UNTIL.get(command, "")
        if command == "Nm":  # alone it stands for what the page began with
            name = name or said
            said = said or name
        if said and command in _ROFF_LEVELS:
            headings.append(
                Heading(level=_ROFF_LEVELS[command], title=said, start=offset, end=offset + len(said))
            )
        shown.append(said)
        offset += len(said) + 1
    whole = "\n".join(shown)
    return Document(text=whole, sections=sections_under(whole, headings))


def _spoken(command: str, rest: str) -> str:
    """Return what a line shows; "" for commands that only lay out."""
    if not command:
        return _signed(rest)
    words = [quoted or word for quoted, word in _ROFF_WORD.findall(rest)]
    if command in _TWO_TYPES:  # one word in two types: `.BR ls (1)` is `ls(1)`
        return _signed("".join(words))
    if command == "IP":
        words = words[:1]
    elif command in _OF_MDOC:
        words = _of_mdoc([command, *words])
    return _signed(" ".join(words)) if command in _SPOKEN or command in _ROFF_LEVELS else ""


def _of_mdoc(words: list[str]) -> list[str]:
    shown: list[str] = []
    is_flag = False
    for word in words:
        if word not in _OF_MDOC:
            shown.append(f"-{word}" if is_flag else word)
        is_flag = word == "Fl"
    return shown


def _signed(line: str) -> str:
    plain = _ESCAPE.sub(_sign, line).rstrip()
    return plain.removeprefix("T}").removesuffix("T{")  # what holds a cell of several lines


def _sign(escape: re.Match[str]) -> str:
    """Return the sign that an escape writes; of a type, a size or a space too narrow to see, none."""
    written = escape[0]
    is_itself = not written[2:] and not written[1].isalnum() and written[1] not in "&|^/,%:)"
    return _SIGNS.get(written, written[1] if is_itself else "")
