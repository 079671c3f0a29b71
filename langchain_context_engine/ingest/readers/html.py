"""HTML as Markdown: what a person sees of a page."""

from __future__ import annotations

import re

from langchain_context_engine.ingest.readers.decoding import decode, without_invisible
from langchain_context_engine.ingest.readers.generated import refuse_api_page, refuse_generated_text
from langchain_context_engine.ingest.readers.markdown import front_matter, markdown_document
from langchain_context_engine.ingest.sections import Document

_UNSEEN = (
    "nav svg math script style template noscript select iframe object canvas a.headerlink a.anchor-link"
    " .linenos .linenodiv .lineno .gutter"
)
# Words of one type beside another are one word: `un<b>believ</b>able`.
_PLAIN = ["a", "b", "strong", "i", "em", "u", "mark", "small", "big", "font", "q"]
_TABLE = re.compile(r"<table\b[^>]{0,500}>(?:(?!</?table\b).)*+</table>", re.IGNORECASE | re.DOTALL)
_NUMBERS = re.compile(r"\bclass=[\"'][^\"']{0,200}\b(?:linenos|linenodiv|lineno|gutter)\b", re.IGNORECASE)
_VERBATIM = re.compile(r"<pre\b[^>]{0,500}>.*?</pre\s*>", re.IGNORECASE | re.DOTALL)
_BLOCK_LINE = re.compile(r"(?<=[^\n])(<span\b[^>]{0,300}display:\s*block[^>]{0,300}>)", re.IGNORECASE)
_SUMMARY = re.compile(r"<(/?)summary\b", re.IGNORECASE)
_RAISED = re.compile(r"\^([^\s^]{1,40})\^")
_ORDINAL = re.compile(r"(?:st|nd|rd|th|[eoªº]|er|ème|TM|SM)\Z|\[")


def read_html(path: str, data: bytes, chunk_size: int) -> Document:
    """Return what a page says under its headings, without scripts, styles, comments and navigation.

    Raises:
        SkippedError: generated: it was made of the comments in some code; encoding.
    """
    del chunk_size
    text = decode(data)
    refuse_generated_text(text)
    refuse_api_page(text)
    begin, said = front_matter(text)
    shown, title = html_text(text[begin:])
    return markdown_document(path, shown, title=said.get("title") or title)


def html_text(text: str) -> tuple[str, str]:
    r"""Return a page as Markdown, and its title.

    Example:
        >>> html_text("<title>T</title><p>10<sup>6</sup> of\n<b>two</b>.<script>no</script>")
        ('10^6 of two.', 'T')
    """
    import html_to_markdown as library

    options = library.ConversionOptions(
        sup_symbol="^",
        strip_tags=_PLAIN,
        exclude_selectors=_UNSEEN.split(),
        br_in_tables=True,
        compact_tables=True,
        skip_images=False,
        preprocessing=library.PreprocessingOptions(enabled=False),
    )
    # Browsers show a summary on a line of its own, and code beside its line numbers as code.
    prepared = _SUMMARY.sub(r"<\1div", _TABLE.sub(_without_line_numbers, text))
    found = library.convert(_VERBATIM.sub(_with_lines, prepared), options)
    title = found.metadata.document.title if found.metadata else ""
    body = (found.content or "").removeprefix("---\n").partition("\n---\n")[2] if title else found.content
    return as_read(body or "").strip(), " ".join((title or "").split())[:200]


def _without_line_numbers(table: re.Match[str]) -> str:
    blocks = _VERBATIM.findall(table[0])
    return str(blocks[-1]) if blocks and _NUMBERS.search(table[0]) else table[0]


def _with_lines(block: re.Match[str]) -> str:
    return _BLOCK_LINE.sub(r"\n\1", block[0])


def as_read(text: str) -> str:
    r"""Return Markdown as it is read aloud: exponents with one mark, no hyphens that nobody sees.

    Example:
        >>> as_read("10^6^, the 1^st^, un\u00adlikely")
        '10^6, the 1st, unlikely'
    """
    raised = _RAISED.sub(lambda up: up[1] if _ORDINAL.match(up[1]) else f"^{up[1]}", text)
    return without_invisible(raised)
