"""Readers of files: one format each, and the table that names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from langchain_context_engine.ingest.places import without_mark
from langchain_context_engine.ingest.readers.asciidoc import read_asciidoc
from langchain_context_engine.ingest.readers.html import read_html
from langchain_context_engine.ingest.readers.latex import read_latex
from langchain_context_engine.ingest.readers.mail import read_mail
from langchain_context_engine.ingest.readers.manual import read_manual
from langchain_context_engine.ingest.readers.markdown import read_markdown
from langchain_context_engine.ingest.readers.notebook import read_notebook
from langchain_context_engine.ingest.readers.pdf import read_pdf
from langchain_context_engine.ingest.readers.plain import read_lines, read_plain, read_xml
from langchain_context_engine.ingest.readers.pod import read_pod
from langchain_context_engine.ingest.readers.restructured import read_restructured
from langchain_context_engine.ingest.readers.rows import read_rows
from langchain_context_engine.ingest.readers.settings import read_ini, read_json, read_toml, read_yaml
from langchain_context_engine.ingest.readers.sheets import read_xlsx
from langchain_context_engine.ingest.readers.tables import read_table
from langchain_context_engine.ingest.readers.word import read_docx
from langchain_context_engine.ingest.sections import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How files of a format are read.

    Attributes:
        read_text: (path, text, chunk size) → document; None where the format is not text.
        read_bytes: (path, bytes, chunk size) → document, for formats that are not text.
        is_data: Written by programs as often as by people: what looks minified or generated is
            left out.
        bulk: How many times as large as a text such a file may be, since little of it is one.
    """

    read_text: Callable[[str, str, int], Document] | None = None
    read_bytes: Callable[[str, bytes, int], Document] | None = None
    is_data: bool = False
    bulk: int = 1


FORMATS: Mapping[str, Format] = {
    "markdown": Format(read_text=read_markdown),
    "restructured": Format(read_text=read_restructured),
    "asciidoc": Format(read_text=read_asciidoc),
    "latex": Format(read_text=read_latex),
    "plain": Format(read_text=read_plain),
    "pod": Format(read_text=read_pod),
    "html": Format(read_text=read_html, is_data=True),
    "notebook": Format(read_text=read_notebook, bulk=10),
    "toml": Format(read_text=read_toml, is_data=True),
    "yaml": Format(read_text=read_yaml, is_data=True),
    "json": Format(read_text=read_json, is_data=True),
    "ini": Format(read_text=read_ini, is_data=True),
    "xml": Format(read_text=read_xml, is_data=True),
    "lines": Format(read_text=read_lines, is_data=True),
    "manual": Format(read_text=read_manual),
    "table": Format(read_text=read_table),
    "rows": Format(read_text=read_rows),
    "mail": Format(read_bytes=read_mail),
    "pdf": Format(read_bytes=read_pdf, bulk=10),
    "word": Format(read_bytes=read_docx, bulk=10),
    "sheets": Format(read_bytes=read_xlsx, bulk=10),
}

BY_SUFFIX = {
    suffix: name
    for name, suffixes in {
        "markdown": ".md .markdown .mdx .mkd .mdown .qmd .rmd .mdc",
        "restructured": ".rst .rest",
        "asciidoc": ".adoc .asciidoc .asc .rdoc",
        "plain": ".txt .text .org .typ .typst .textile .cabal .wiki .mediawiki .creole .t2t"
        " .texi .texinfo .feature .robot",
        "latex": ".tex .latex .ltx",
        "pod": ".pod",
        "manual": ".man",
        "lines": ".rd .bib .opam .rproj .spec .pro .kdl .srt .vtt .ly",
        "html": ".html .htm .xhtml",
        "notebook": ".ipynb",
        "toml": ".toml",
        "yaml": ".yaml .yml .neon .cff",
        "json": ".json .jsonc .json5 .webmanifest .sublime-settings .sublime-project .sublime-keymap"
        " .code-workspace .geojson .jsonld .avsc .hjson",
        "ini": ".ini .cfg .conf .properties .desktop .service .socket .timer .mount .editorconfig",
        "xml": ".xml .xsd .xsl .xslt .wsdl .dtd .nuspec .resx .slnx .wixproj .csproj .vbproj .fsproj .props"
        " .targets .plist",
        "table": ".csv .tsv .tab",
        "rows": ".jsonl .ndjson",
        "mail": ".mbox .eml",
        "pdf": ".pdf",
        "word": ".docx",
        "sheets": ".xlsx .xlsm",
    }.items()
    for suffix in suffixes.split()
}
_PLAIN_NAMES = frozenset(
    [
        "readme",
        "changelog",
        "changes",
        "contributing",
        "license",
        "licence",
        "notice",
        "authors",
        "contributors",
        "copying",
        "copyright",
        "credits",
        "history",
        "hacking",
        "install",
        "maintainers",
        "manifest",
        "news",
        "release",
        "releases",
        "security",
        "support",
        "thanks",
        "todo",
        "unlicense",
        "codeowners",
        "version",
        "owners",
        "governance",
        "roadmap",
    ]
)
_BY_NAME = {
    ".editorconfig": "ini",
    ".gitconfig": "ini",
    ".gitmodules": "ini",
    ".flake8": "ini",
    ".pylintrc": "ini",
    ".coveragerc": "ini",
    ".npmrc": "ini",
    "pipfile": "toml",
    ".prettierrc": "yaml",
    ".eslintrc": "json",
    ".babelrc": "json",
    ".clang-format": "yaml",
    ".clang-tidy": "yaml",
    ".ansible-lint": "yaml",
    ".yamllint": "yaml",
    "cabal.project": "plain",
    "go.mod": "plain",
    "go.work": "plain",
    ".inputrc": "plain",
    ".curlrc": "plain",
    ".ocamlformat": "ini",
    ".htaccess": "lines",
    ".wgetrc": "plain",
    ".screenrc": "plain",
    ".gdbinit": "plain",
    ".lldbinit": "plain",
    ".muttrc": "plain",
    ".hushlogin": "plain",
    ".tmux.conf": "ini",
    ".ackrc": "plain",
    ".ripgreprc": "plain",
}


def format_of(path: str) -> str | None:
    """Return the name of the format of a file that is no code, or None where no reader knows it.

    Example:
        >>> format_of("docs/guide.md"), format_of("LICENSE"), format_of("photo.png")
        ('markdown', 'plain', None)
    """
    name = PurePosixPath(without_mark(path))
    plain = name.name.lower()
    if plain in _BY_NAME:
        return _BY_NAME[plain]
    if name.suffix.lower() in BY_SUFFIX:
        return BY_SUFFIX[name.suffix.lower()]
    if plain.startswith("changelog.") and name.suffix[1:].isdigit():
        return "plain"  # of former years, as GNU keeps them
    if plain.startswith("readme."):
        return "plain"  # README.SETUP
    is_named = plain in _PLAIN_NAMES or plain.partition("-")[0] in {"license", "licence", "changelog"}
    return "plain" if is_named and not name.suffix else None


def bulk_of(path: str) -> int:
    """Return how many times as large as a text a file may be: notebooks hold pictures, PDF holds fonts.

    Example:
        >>> bulk_of("study.ipynb"), bulk_of("study.md")
        (10, 1)
    """
    name = format_of(path)
    return FORMATS[name].bulk if name else 1
