"""Text whose headings are lines of their own: plain text, one table of forms, and manuals in roff."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate
from operator import attrgetter

from langchain_context_engine.ingest.changelog import is_changelog, is_dated_release, is_unreleased
from langchain_context_engine.ingest.readers.markdown import read_markdown
from langchain_context_engine.ingest.report import SkippedError
from langchain_context_engine.ingest.sections import Document, Heading, Section, sections_under

_RULE = re.compile(rf"([{re.escape(string.punctuation)}])\1*+")
_OVERLINED = 3  # lines that a title takes with marks above it too
# A word with a role, a link, code: `z <https://z.dev>`_, :class:`~flask.Flask`, ``flask run``.
_ROLE = re.compile(
    r"(?::[\w:.+-]{1,40}:)?`{1,2}[~!]?(?:([^`<>\n]{1,200}?) ?<[^`>\n]{1,400}>|([^`\n]{1,400}))`{1,2}_{0,2}"
)
_SHORT = 4  # an underline shorter than its title must have this many marks at least


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """How headings of a format are written.

    `heading` finds a mark and a title. `levels` are the marks, outermost first, those of one level parted by
    a bar; "" where their length tells. Nothing is a heading between a line like `block` and `end`. What
    `unread` finds is no part of a title. A block that a line like `code` opens is fenced as Markdown's are;
    what `style` finds on the line above it says its language, if it does not itself.
    """

    heading: re.Pattern[str]
    levels: str = ""
    block: re.Pattern[str] | None = None
    end: str = "{}"
    unread: re.Pattern[str] | None = None
    code: re.Pattern[str] | None = None
    style: re.Pattern[str] | None = None

    def level(self, mark: str) -> int:
        """Return a mark's level."""
        if mark.isdigit():
            return int(mark)
        named = (n for n, same in enumerate(self.levels.split(), 1) if mark in same.split("|"))
        return next(named, len(mark))


_FENCED = re.compile(r"[ \t]*(`{3,})")
_LATEX = "part chapter section subsection subsubsection paragraph"
_TEXINFO = "top chapter|unnumbered|appendix section|unnumberedsec|appendixsec subsection"
FORMS = {
    "asciidoc": _Form(
        heading=re.compile(r"(={1,6}|#{1,6})[ \t]+(\S[^\n]{0,400})$"),
        block=re.compile(
            r"(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|`{3,}|~{3,}|--|[|,:!]={3,})(?:(?<=`)\w+)?[ \t]*$"
        ),
        # A value that is kept elsewhere: its name is read only where a title is nothing else.
        unread=re.compile(r"(?<=\S)[ \t]+\{[\w-]{1,60}\}"),
        code=re.compile(r"-{4,}|\.{4,}|`{3,}(\w+)?"),
        style=re.compile(
            r"\[(?:source|listing|literal|(?=,))[^,\]\n]{0,80}"
            r"(?:,[ ]?([\w+#.-]{1,40})(?=[,\]]))?[^\]\n]{0,200}\]"
        ),
    ),
    "latex": _Form(
        heading=re.compile(
            rf"[ \t]{{0,40}}\\({_LATEX.replace(' ', '|')})\*?[ \t]*(?:\[[^\]\n]{{0,300}}\])?[ \t]*"
            r"\{((?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]*\})*\}){1,400})"
        ),
        levels=_LATEX,
        block=re.compile(
            r"[ \t]{0,40}\\begin\{((?:verbatim|Verbatim|lstlisting|minted|comment|filecontents)\*?)\}"
        ),
        end=r"\end{{{}}}",
        code=re.compile(
            r"\\begin\{(?:[vV]erbatim|lstlisting|minted)\*?\}(?:\[[^\]\n]{0,300}\])?(?:\{([\w+#.-]+)\})?"
        ),
    ),
    "pod": _Form(heading=re.compile(r"=head([1-6])[ \t]+([^\n]{1,300})$")),
    "org": _Form(
        heading=re.compile(r"(\*{1,8}) (?:TODO |DONE )?(\S[^\n]{0,400}?)(?:[ \t]+:[\w:@]{1,80}:)?[ \t]*$"),
        block=re.compile(r"[ \t]*#\+begin_(src|example)", re.IGNORECASE),
        end="#+end_{}",
        code=re.compile(r"#\+begin_(?:src|example)(?:[ \t]+([^`\n]+))?", re.IGNORECASE),
    ),
    "wiki": _Form(heading=re.compile(r"(={1,6})[ \t]*([^=\s][^\n]{0,400}?)[ \t]*\1[ \t]*$")),
    "textile": _Form(heading=re.compile(r"h([1-6])(?:\([^)\n]{0,80}\))?\.[ \t]+(\S[^\n]{0,400})$")),
    "texinfo": _Form(
        heading=re.compile(rf"@({re.sub('[ |]', '|', _TEXINFO)})[ \t]+([^\n]{{1,400}})$"),
        levels=_TEXINFO,
        block=re.compile(r"@(example|verbatim|smallexample|ignore)[ \t]*$"),
        end="@end {}",
        code=re.compile(r"@(?:example|verbatim|smallexample)()"),
    ),
}
# What is no part of a title as it is read: a label, an entry of the index, a note, names of commands, marks.
_UNSEEN = re.compile(r"\\(?:label|index|footnote|thanks|cite\w{0,10})(?:\[[^\]]{0,100}\])?\{[^{}]{0,200}\}")
_PLAIN_TWIN = re.compile(r"\\texorpdfstring\{[^{}]{0,200}\}\{([^{}]{0,200})\}")
_NAMED = re.compile(r"\b[A-Z]<{1,4} ?([^<>\n]{1,200}) ?>{1,4}|@\w{1,20}\{([^{}]{0,200})\}")
_COMMAND = re.compile(r"\\[A-Za-z]{1,40}\*?[ \t]?|[{}$\\]")
_LABELS = re.compile(r"(?:(?:\.\. [_:][^\n]*|[ \t]*)\n)*")
_POD_WORDS = re.compile(r"^(?:=head|[^=\s])", re.MULTILINE)


def marked_reader(name: str) -> Callable[[str, str, int], Document]:
    """Return what reads the sections of a format of the table."""

    def read(path: str, text: str, chunk_size: int) -> Document:
        del path, chunk_size
        text, headings = _marked_lines(FORMS[name], text)
        sections = sections_under(text, headings)
        if name == "pod" and not _POD_WORDS.search(text, 0, sections[0].end):
            sections = sections[1:]  # `=encoding utf8` alone
        return Document(text=text, sections=sections)

    return read


def _marked_lines(form: _Form, text: str) -> tuple[str, list[Heading]]:
    """Return a text with its blocks of code in fences, line by line as it was, and its headings."""
    lines = text.split("\n")
    found: list[tuple[int, int, str]] = []
    block = code = said = ""
    opened = 0
    for number, line in enumerate(lines):
        if code:
            if line.strip().lower() == code.lower():
                code = ""
                _fence(form.style, lines, (opened, number), said)
            continue
        begun = form.block.match(line) if form.block else None
        if begun and number and _underlines(line, lines[number - 1]):
            begun = None
        if begun and form.code and (opener := form.code.fullmatch(line.strip())):
            # In an example, a cell of a table too.
            code, opened, said = form.end.format(begun[1]), number, opener[1] or ""
        elif block:
            block = "" if line.strip().lower() == block.lower() else block
        elif begun:
            block = form.end.format(begun[1])
        elif heading := form.heading.match(line):
            title = _NAMED.sub(r"\1\2", _UNSEEN.sub("", _PLAIN_TWIN.sub(r"\1", heading[2])))
            title = form.unread.sub("", title) if form.unread else title
            title = " ".join(_COMMAND.sub("", title).replace("~", " ").rstrip("=# \t").split())
            if title:
                found.append((number, form.level(heading[1]), title))
    text = "\n".join(lines)
    starts = [*accumulate((len(line) + 1 for line in lines), initial=0)]
    return text, [
        Heading(level=level, title=title, start=starts[number], end=min(starts[number + 1], len(text)))
        for number, level, title in found
    ]


def _fence(style_of: re.Pattern[str] | None, lines: list[str], span: tuple[int, int], said: str) -> None:
    """Put the lines that open and close a block of code, in `said` language, in Markdown's form."""
    first, last = span
    if style_of and first and (style := style_of.fullmatch(lines[first - 1].strip())):
        said, lines[first - 1] = said or style[1] or "", ""
    inside = (len(found[1]) + 1 for line in lines[first + 1 : last] if (found := _FENCED.match(line)))
    fence = "`" * max((3, *inside))
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    lines[first], lines[last] = f"{indent}{fence}{said}", f"{indent}{fence}"


def _underlines(line: str, above: str) -> bool:
    """Say whether marks are the line below a title as AsciiDoc had them once: as long as it, or nearly."""
    return above[:1].isalnum() and _RULE.fullmatch(line) is not None and abs(len(above) - len(line)) <= 1


def read_restructured(path: str, text: str, chunk_size: int) -> Document:
    """Return the sections of a reStructuredText document."""
    del path, chunk_size
    labels = _LABELS.match(text)
    silent = labels.end() if labels else 0
    headings = sorted([*titled_lines(text), *described(text)], key=attrgetter("start", "level"))
    return Document(text=text, sections=sections_under(text, headings, silent=silent))


# What describes one thing of a program, as Sphinx writes it: a heading of what is indented below.
_DESCRIBED = re.compile(
    r"([ \t]*)\.\. (?:[a-z]{1,5}:)?(?:module|class|exception|function|method|classmethod|staticmethod"
    r"|attribute|property|data|decorator|decoratormethod|macro|struct|enum|type|var|member|option|confval"
    r"|envvar|setting|directive|role)::[ \t]+([^\n(]{1,200}?)[ \t]*(?:\(.*|=.*|->.*)?$"
)
# Of C the type comes first: `void* f(int)`, `void (*f)(int)`, `int a.b`, `char c[8]`.
_OF_C = re.compile(
    r"[ \t]*\.\. c:\w+::[ \t]+"
    r"(?:[^\n(]*\([ \t]*\*+[ \t]*(\w+)|[^\n(]*?([A-Za-z_][\w.]*)[ \t]*(?:[\[(=].*)?$)"
)
_BELOW_ALL = 100


def described(text: str) -> Iterator[Heading]:
    """Yield a heading for each thing that reStructuredText describes, and an untitled one where that ends."""
    start, inside = 0, list[int]()
    for line in text.split("\n"):
        end = min(start + len(line) + 1, len(text))
        indent = len(line) - len(line.lstrip())
        if line.strip():
            found = _DESCRIBED.match(line)
            closed = [depth for depth in inside if depth >= indent]
            inside = [depth for depth in inside if depth < indent]
            if found:
                inside.append(indent)
                declared = _OF_C.match(line)
                title = (declared[1] or declared[2]) if declared else found[2].strip()
                yield Heading(level=_BELOW_ALL + indent, title=title, start=start, end=end)
            elif closed:
                yield Heading(level=_BELOW_ALL + min(closed), title="", start=start, end=start)
        start = end


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
        after = number + _title_length(lines, number)
        if after > number:
            style = (lines[after - 1][0], after - number == _OVERLINED)
            styles += [] if style in styles else [style]
            level, title = 1 + styles.index(style), _ROLE.sub(r"\1\2", lines[after - 2].strip())
            start, end = starts[number], min(starts[after], len(text))
            found.append(Heading(level=level, title=title, start=start, end=end))
        number = max(after, number + 1)
    return found


def _title_length(lines: list[str], number: int) -> int:
    """Return how many lines a title takes that begins here, marks above and below it included; else 0."""
    above = lines[number - 1].rstrip() if number else ""
    if above and not (number > 1 and _RULE.fullmatch(above) and lines[number - 2].strip()):
        return 0  # but right below the underline of another a title may come
    line, under, third = (each.rstrip() for each in [*lines[number : number + 3], ""][:3])
    is_rule = _RULE.fullmatch(line)
    if is_rule and third == line and under and not _RULE.fullmatch(under) and _is_wide(under.strip(), line):
        return _OVERLINED
    is_text = line and not line[0].isspace() and not line.startswith((".. ", "| ", "- ", "* ", "+ "))
    if not is_text or (is_rule and len(line) >= _SHORT):
        return 0
    return 2 if _RULE.fullmatch(under) and _is_wide(line, under) else 0


def _is_wide(title: str, rule: str) -> bool:
    return len(rule) >= min(len(title), _SHORT)


# Headings do not go on in the next line: these are comments among commands.
_COMMANDS = re.compile(r"^(#{1,6}) \S.*\n\1 \S", re.MULTILINE)
_TITLE_LIKE = re.compile(r"[ \t]{0,3}#{1,6} ")
_NO_TITLE = re.compile(r"</?[A-Za-z]|[^\n]*\n```")
"""An element, and a line above a block of code."""
# An entry of a changelog as GNU, Debian, CPAN or Ruby keeps it: a line at the margin, what changed below.
_ENTRY = re.compile(
    r"^(?:(?P<day>\d{4}-\d\d-\d\d|[a-z]{3} (?P<date>[a-z]{3} [ \d]?\d) [\d: a-z]{8,14}(?P<year>\d{4}))"
    r"[ \t]+(?P<author>[^<(\n]{1,200}?)[ \t]*[<(][^<>()\n]{0,200}[>)]"
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
        authors = {heading.title: author for heading, author in entries if author}
        found = sections_under(text, [heading for heading, _ in entries])
        signed = (
            ({"author": authors[s.titles[0]]} if s.titles and s.titles[0] in authors else {}) for s in found
        )
        return Document(
            text=text, sections=tuple(replace(s, metadata=m) for s, m in zip(found, signed, strict=True))
        )
    if _TITLE_LIKE.match(text.lstrip()[:8]):
        return (read_lines if _COMMANDS.search(text) else read_markdown)(path, text, chunk_size)
    titles = [each for each in titled_lines(text) if not _NO_TITLE.match(text, each.start)]
    return Document(text=text, sections=sections_under(text, titles))


def _entries(text: str) -> Iterator[tuple[Heading, str]]:
    """Yield the heading of each entry, and who wrote it."""
    for found in _ENTRY.finditer(text):
        title, author = found["release"] or found["version"] or "", found["author"] or ""
        if found["release"] and not (is_dated_release(title) or is_unreleased([title], "")):
            continue
        if author:
            day = f"{found['date']} {found['year']}" if found["date"] else found["day"]
            title = f"{day}, {author}"
        title = " ".join(title.strip("=*# \t\r").split())
        yield Heading(level=1, title=title, start=found.start(), end=found.end()), author


def read_lines(path: str, text: str, chunk_size: int) -> Document:
    """Return a text as one section, cut where it is too long."""
    del path, chunk_size
    return Document(text=text, sections=(Section(start=0, end=len(text)),))


def read_xml(path: str, text: str, chunk_size: int) -> Document:
    """Return a text in XML as one section; a drawing, of which nothing can be read, is unsupported."""
    if _DRAWING.match(text):
        raise SkippedError("unsupported", "a drawing")
    return read_lines(path, text, chunk_size)


_ROFF = re.compile(r"[.'][ \t]*+(\\[\"}]|[A-Za-z][A-Za-z0-9]{0,19}|$)[ \t]*(.*)")
_ROFF_LEVELS = {"SH": 1, "Sh": 1, "SS": 2, "Ss": 2}
_LITERAL = re.compile(r"nf|EX|Bd .*-(?:literal|unfilled)\b.*")
_FILLED = {"fi", "EE", "Ed", *_ROFF_LEVELS}
_UNTIL = {"ig": "..", "de": "..", "am": "..", "TS": ".TE", "EQ": ".EN"}
"""Commands that open what nobody reads (a comment, a macro), or read as it stands (a table)."""
# What neither shows nor ends a paragraph: a comment, the end of a condition, a type, a distance.
_SILENT = frozenset({"", '\\"', "\\}", *"ad br el ft hy ie if ne nh PD Sm".split()})  # noqa: SIM905
_BEFORE_TERM = {"TP": "\n\n", "TQ": ", "}
_BELOW_TERM = frozenset({"RS", "IP"})
_AFTER_TERM = frozenset("TP TQ IP HP PP P LP RE Pp Bl El".split())  # noqa: SIM905
_LETTER = re.compile(r"[^\W\d_]")
_TWO_TYPES = re.compile(r"[BIR]{2}")
_MDOC = (
    "Ar Cm Nm Pa Ev Va Li Dq Sq Ql Em Sy Op Dv Ic Xr Ad Ns Oo Oc No Pq Aq Bq It Fl Nd "
    "An Brq Cd D1 Dl Er Fa Fd Fn Fo Ft In Lk Ms Mt Qq Sx Tn Vt"
)
_OF_MDOC = frozenset(_MDOC.split())
_SPOKEN = {"B", "I", "SM", "SB", "IP"} | _OF_MDOC | _ROFF_LEVELS.keys()
_ROFF_WORD = re.compile(r'"([^"\n]*+)"?|([^\s"]\S*+)')
_ESCAPE = re.compile(
    r"\\(?:f(?:\[[^\]\n]{0,20}\]|\([^\n]{2}|[^\n\[(])|\*(?:\[[^\]\n]{0,40}\]|\([^\n]{2}|[^\n\[(])"
    r"|s[+-]?[0-9]{1,2}|\([^\n]{2}|\[[^\]\n]{1,40}\]|[^\n])"
)
_SIGNS = {"\\(bu": "•", "\\(aq": "'", "\\(cq": "’", "\\(oq": "‘", "\\(dq": '"', "\\(lq": "“", "\\(rq": "”"}
_SIGNS |= {"\\(em": "—", "\\(en": "–", "\\(co": "©", "\\e": "\\", "\\~": " "}


def read_manual(path: str, text: str, chunk_size: int) -> Document:
    """Return the sections of a manual by `man` or `mdoc`, without its commands, each term with its text."""
    del path, chunk_size
    manual, until, name = _Manual(), "", ""
    for number, line in enumerate(text.split("\n"), 1):
        found = _ROFF.match(line)
        command, rest = (found[1], found[2]) if found else ("", line)
        if until:
            is_row = until == ".TE" and line.rstrip() != until and not line.rstrip().endswith((";", "."))
            command, said = "", _signed(line) if is_row else ""
            until = "" if line.rstrip() == until else until
        else:
            said, until = _spoken(command, rest), _UNTIL.get(command, "")
        if command == "Nm":  # alone it stands for what the page began with
            name = name or said
            said = said or name
        manual.literal(number, f"{command} {rest}".rstrip(), said)
        if said:
            manual.add(number, command, said)
        elif not found or command not in _SILENT:
            manual.lay_out(command)
    manual.literal(text.count("\n") + 1, "fi", "")
    whole = "".join(manual.shown)
    sections = sections_under(whole, manual.headings)
    return Document(text=whole, sections=sections, lines=manual.numbers)


@dataclass(slots=True)
class _Manual:
    """A manual as it grows: what joins the next line to it, and what the last and the next one are."""

    shown: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    length: int = 0
    join: str = ""
    last: str = ""
    is_term: bool = False
    is_hanging: bool = False
    may_be_term: bool = False
    is_literal: bool = False
    is_fenced: bool = False

    def lay_out(self, command: str) -> None:
        """Take a command that shows nothing: a term's text follows it, or most often another paragraph."""
        self.is_term, self.is_hanging = self.is_term or command in _BEFORE_TERM, command == "HP"
        if command in _BELOW_TERM and self.may_be_term:
            self.join = ": "
        elif self.join != ": " or command in _AFTER_TERM:
            self.join = _BEFORE_TERM.get(command, "\n\n")
        self.may_be_term = False

    def literal(self, number: int, line: str, said: str) -> None:
        """Fence what is shown as it stands; a term, and what is to stand behind one, are in its line."""
        if line[:2] in _FILLED:
            if self.is_fenced:
                self.fence(number, "\n", "\n\n")
            self.is_literal = self.is_fenced = False
        elif _LITERAL.fullmatch(line):
            self.is_literal = True
        if said and self.is_literal:
            self.is_literal = False
            if not (self.is_term or self.join == ": "):
                self.is_fenced = True
                self.fence(number, "\n\n" if self.shown else "", "\n")

    def fence(self, number: int, before: str, after: str) -> None:
        """Add the line of a fence, with what stands around it."""
        self.join = before
        self.add(number, "", "```")
        self.join = after

    def add(self, number: int, command: str, said: str) -> None:
        """Add what a line shows."""
        level, is_term = _ROFF_LEVELS.get(command, 0), self.is_term or command in {"It", "IP"}
        is_below_heading = bool(self.headings) and self.length == self.headings[-1].end
        if not self.shown or is_below_heading:
            self.join = "\n" if self.shown else ""
        elif level or (is_term and self.join != ", "):
            self.join = "\n\n"
        elif self.join == ": " and not (_LETTER.search(self.last) and self.last[1:] and self.last[-1] != ":"):
            self.join = " "  # behind a mark or a number
        is_first = is_below_heading or self.join in {"", "\n\n"}
        self.may_be_term = is_first and not level and (self.is_hanging or said[-1] not in ".:;!?")
        if self.join in {": ", ", ", " "}:
            self.numbers[-1] = number
        else:
            self.numbers += [number] * max(1, len(self.join))
        self.length += len(self.join)
        if level:
            end = self.length + len(said)
            self.headings.append(Heading(level=level, title=said, start=self.length, end=end))
        self.shown += (self.join, said)
        self.length += len(said)
        self.join, self.last = ": " if is_term else "\n", said
        self.is_term = self.is_hanging = False


def _spoken(command: str, rest: str) -> str:
    """Return what a line shows; "" for commands that only lay out."""
    if not command:
        return _signed(rest)
    words = [quoted or word for quoted, word in _ROFF_WORD.findall(rest)]
    if _TWO_TYPES.fullmatch(command):  # one word in two types: `.BR ls (1)` is `ls(1)`
        return _signed("".join(words))
    if command in _OF_MDOC:  # commands stand among its words: `Fl n Ar nights` is `-n nights`
        before = [command, *words]
        flagged = (f"-{w}" if last == "Fl" else w for last, w in zip(before, words, strict=False))
        words = [word for word in flagged if word.removeprefix("-") not in _OF_MDOC]
    said = " ".join(words[:1] if command == "IP" else words)
    return _signed(said) if command in _SPOKEN else ""


def _signed(line: str) -> str:
    plain = _ESCAPE.sub(_sign, line).rstrip()
    return plain.removeprefix("T}").removesuffix("T{")  # what holds a cell of several lines


def _sign(escape: re.Match[str]) -> str:
    """Return the sign that an escape writes; of a type, a size or a space too narrow to see, none."""
    written = escape[0]
    is_itself = not written[2:] and not written[1].isalnum() and written[1] not in "&|^/,%:)"
    return _SIGNS.get(written, written[1] if is_itself else "")
