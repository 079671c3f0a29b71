"""The formats of files that are no code: their names, and what reads each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from langchain_context_engine.ingest.json_lines import read_rows
from langchain_context_engine.ingest.places import without_mark
from langchain_context_engine.ingest.readers.documents import read_office
from langchain_context_engine.ingest.readers.html import read_html
from langchain_context_engine.ingest.readers.mail import read_mail
from langchain_context_engine.ingest.readers.markdown import read_markdown
from langchain_context_engine.ingest.readers.markup import marked_reader, read_manual, read_restructured
from langchain_context_engine.ingest.readers.notebook import read_notebook
from langchain_context_engine.ingest.readers.pdf import read_pdf
from langchain_context_engine.ingest.readers.plain import read_lines, read_plain, read_xml
from langchain_context_engine.ingest.readers.settings import read_keys, read_tables
from langchain_context_engine.ingest.readers.tables import read_sheets, read_table
from langchain_context_engine.ingest.sections import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How files of a format are read.

    Attributes:
        read_text: (path, text, chunk size) → document; None where the format is not text.
        read_bytes: (path, bytes, chunk size) → document, for what is converted in a process of its own.
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
    **{
        name: Format(read_text=marked_reader(name))
        for name in ("asciidoc", "latex", "org", "pod", "texinfo", "textile", "wiki")
    },
    "plain": Format(read_text=read_plain),
    "html": Format(read_bytes=read_html, is_data=True),
    "notebook": Format(read_text=read_notebook, bulk=10),
    "toml": Format(read_text=read_tables, is_data=True),
    "yaml": Format(read_text=read_keys, is_data=True),
    "xml": Format(read_text=read_xml, is_data=True),
    "lines": Format(read_text=read_lines, is_data=True),
    "manual": Format(read_text=read_manual),
    "table": Format(read_bytes=read_table),
    "rows": Format(read_text=read_rows),
    "mail": Format(read_bytes=read_mail),
    "pdf": Format(read_bytes=read_pdf, bulk=10),
    "office": Format(read_bytes=read_office, bulk=10),
    "sheets": Format(read_bytes=read_sheets, bulk=10),
}

_NAMES = {
    "markdown": ".md .markdown .mdx .mkd .mdown .qmd .rmd .mdc",
    "restructured": ".rst .rest",
    "asciidoc": ".adoc .asciidoc .asc .rdoc .typ .typst",
    "wiki": ".wiki .mediawiki .creole .t2t",
    "org": ".org",
    "textile": ".textile",
    "texinfo": ".texi .texinfo",
    "latex": ".tex .latex .ltx",
    "pod": ".pod",
    "manual": ".man",
    "plain": ".txt .text .cabal .feature .robot cabal.project go.mod go.work .inputrc .curlrc .wgetrc"
    " .screenrc .gdbinit .lldbinit .muttrc .hushlogin .ackrc .ripgreprc",
    "lines": ".rd .bib .opam .rproj .spec .pro .kdl .srt .vtt .ly .htaccess",
    "html": ".html .htm .xhtml",
    "notebook": ".ipynb",
    "toml": ".toml pipfile .ini .cfg .conf .properties .desktop .service .socket .timer .mount .editorconfig"
    " .gitconfig .gitmodules .flake8 .pylintrc .coveragerc .npmrc .ocamlformat .tmux.conf",
    "yaml": ".yaml .yml .neon .cff .json .jsonc .json5 .webmanifest .sublime-settings .sublime-project"
    " .sublime-keymap .code-workspace .geojson .jsonld .avsc .hjson .prettierrc .eslintrc .babelrc"
    " .clang-format .clang-tidy .ansible-lint .yamllint",
    "xml": ".xml .xsd .xsl .xslt .wsdl .dtd .nuspec .resx .slnx .wixproj .csproj .vbproj .fsproj .props"
    " .targets .plist",
    "table": ".csv .tsv .tab",
    "rows": ".jsonl .ndjson",
    "mail": ".mbox .eml",
    "pdf": ".pdf",
    "office": ".docx .docm .odt .rtf .epub .pptx .odp .doc",
    "sheets": ".xlsx .xlsm .xlsb .xls .ods",
}
BY_SUFFIX = {name: form for form, names in _NAMES.items() for name in names.split()}
"""Suffix, or whole name, in lower case → format."""
_PLAIN_NAMES = (
    "readme changelog changes contributing license licence notice authors contributors copying copyright"
    " credits history hacking install maintainers manifest news release releases security support thanks todo"
    " unlicense codeowners version owners governance roadmap"
)


def format_of(path: str) -> str | None:
    """Return the name of the format of a file that is no code, or None where no reader knows it.

    Example:
        >>> format_of("docs/guide.md"), format_of("LICENSE"), format_of("photo.png")
        ('markdown', 'plain', None)
    """
    name = PurePosixPath(without_mark(path))
    plain = name.name.lower()
    known = BY_SUFFIX.get(plain) or BY_SUFFIX.get(name.suffix.lower())
    if known:
        return known
    if plain.startswith("readme.") or (plain.startswith("changelog.") and name.suffix[1:].isdigit()):
        return "plain"  # README.SETUP; changelogs of former years, as GNU keeps them
    is_named = plain in _PLAIN_NAMES.split() or plain.partition("-")[0] in {"license", "licence", "changelog"}
    return "plain" if is_named and not name.suffix else None


def bulk_of(path: str) -> int:
    """Return how many times as large as a text a file may be: notebooks hold pictures, PDF holds fonts.

    Example:
        >>> bulk_of("study.ipynb"), bulk_of("study.md")
        (10, 1)
    """
    name = format_of(path)
    return FORMATS[name].bulk if name else 1
