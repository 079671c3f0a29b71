"""How much of real documents is read: the share of visible words in the records, of headings with their trail.

    python -m tests.benchmarks.reading CLONES [--list tests/benchmarks/reading.tsv] [--worst 20]

`CLONES` holds a clone of each repository of the list (repository, commit, path), bare or not, as
`owner+name`. What a file shows is told by other means than ours: its own XML, the standard library's parser
of HTML and of mail, openpyxl, PDF's text by another library, and lines that are headings.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import sys
import zipfile
from collections import Counter, defaultdict
from email import message_from_bytes
from email.policy import default
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.reading import read_records
from langchain_context_engine.ingest.report import SkippedError

WORD = re.compile(r"[^\W\d_]{2,}|\d+")
HEADINGS = {  # suffix → what a heading's line is: its mark and its title
    **dict.fromkeys((".md", ".mdx", ".ipynb"), re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)$")),
    ".adoc": re.compile(r"(={1,6})[ \t]+(\S.*)$"),
    ".org": re.compile(r"(\*{1,8})[ \t]+(\S.*)$"),
    ".mediawiki": re.compile(r"(={1,6})[ \t]*([^=\s].*?)[ \t]*=+$"),
    ".tex": re.compile(r"\\((?:sub){0,2}section)\*?\{([^{}]+)\}"),
    ".1": re.compile(r"\.(S[HS])[ \t]+\"?(.+?)\"?$"),
}
LEVELS = {"section": 1, "subsection": 2, "subsubsection": 3, "SH": 1, "SS": 2}
FENCES = {  # what opens and closes a block in which no line is a heading
    **dict.fromkeys((".md", ".mdx", ".ipynb"), r"[ \t>]*(`{3,}|~{3,})"),
    ".adoc": r"(-{4,}$|\.{4,}$|`{3,})",
    ".org": r"[ \t]*#\+(?:begin|end)_(\w+)",
    ".tex": r"[ \t]*\\(?:begin|end)\{(verbatim)\}",
}


class Page(HTMLParser):
    """What a page shows, and its headings."""

    def __init__(self):
        super().__init__()
        self.words, self.headings, self._hidden, self._title = [], [], 0, None

    def handle_starttag(self, tag, attributes):
        self._hidden += tag in HIDDEN
        if re.fullmatch("h[1-6]", tag):
            self._title = []
        elif tag == "br" and self._title is not None:
            self._title.append(" ")
        elif tag not in {"a", "b", "i", "em", "strong", "span", "code", "wbr", "q", "u", "small"}:
            self.words.append(" ")

    def handle_endtag(self, tag):
        self._hidden -= tag in HIDDEN and self._hidden > 0
        if re.fullmatch("h[1-6]", tag) and self._title is not None:
            self.headings.append((int(tag[1]), " ".join("".join(self._title).split())))
            self._title = None

    def handle_data(self, data):
        if not self._hidden:
            self.words.append(data)
            if self._title is not None:
                self._title.append(data)


HIDDEN = {
    "head",
    "script",
    "style",
    "nav",
    "template",
    "noscript",
    "svg",
    "math",
    "select",
    "iframe",
    "object",
}


def shown(path: str, data: bytes) -> tuple[str, list[tuple[int, str]]]:
    """Return what a file shows as text, and its headings with their levels, by other means than ours."""
    suffix = Path(path).suffix.lower()
    if suffix in {".docx", ".pptx", ".odt", ".epub"}:
        return packed(suffix, data)
    if suffix == ".xlsx":
        import openpyxl

        book = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
        cells = (
            cell for sheet in book.worksheets for row in sheet.iter_rows(values_only=True) for cell in row
        )
        return " ".join(cell for cell in cells if isinstance(cell, str)), []
    if suffix == ".pdf":
        import kreuzberg

        return kreuzberg.extract_bytes_sync(data, "application/pdf", kreuzberg.ExtractionConfig()).content, []
    if suffix == ".eml":
        message = message_from_bytes(data, policy=default)
        body = message.get_body(("plain", "html"))
        said = "" if body is None else body.get_content()
        return (
            f"{message['subject'] or ''} {page(said)[0] if body and 'html' in body.get_content_type() else said}",
            [],
        )
    text = data.decode("utf-8-sig")
    if suffix in {".html", ".htm"}:
        return page(text)
    if suffix == ".ipynb":
        cells = [c for c in json.loads(text)["cells"] if c["cell_type"] != "raw"]
        sources = ["".join(c["source"]) for c in cells]
        told = "\n\n".join(s for s, c in zip(sources, cells, strict=True) if c["cell_type"] == "markdown")
        return " ".join(sources), lines(suffix, told)
    if suffix == ".rst":
        return text, restructured(text)
    return plain_manual(text) if suffix == ".1" else text, lines(suffix, text)


def restructured(text: str) -> list[tuple[int, str]]:
    from docutils import core, nodes

    quiet = {"report_level": 5, "halt_level": 5, "file_insertion_enabled": False, "doctitle_xform": False}
    tree = core.publish_doctree(text, settings_overrides=quiet)

    def depth(node: nodes.Node) -> int:
        return 0 if node.parent is None else depth(node.parent) + isinstance(node, nodes.section)

    return [(depth(section), section[0].astext()) for section in tree.findall(nodes.section)]


def plain_manual(text: str) -> str:
    """Return what a manual in roff says: without comments, macros and commands that lay out."""
    text = re.sub(
        r"(?ms)^\.(?:ig|de).*?^\.\.$|^[.']\\\".*?$|^\.(?!SH|SS|[BIR]{1,2}\b).*?$|^\.[A-Z]{1,2} ", "", text
    )
    return re.sub(
        r"\\(?:f\[?\w+\]?|\[\w+\]|\(..|.)", lambda e: {"\\-": "-", "\\(aq": "'"}.get(e[0], ""), text
    )


def page(text: str) -> tuple[str, list[tuple[int, str]]]:
    parser = Page()
    parser.feed(text)
    return "".join(parser.words), parser.headings


def packed(suffix: str, data: bytes) -> tuple[str, list[tuple[int, str]]]:
    """Return the words of the parts of a packed file, by its own XML."""
    wanted = {
        ".docx": r"word/document\.xml",
        ".pptx": r"ppt/slides/slide\d+\.xml",
        ".odt": r"content\.xml",
        ".epub": r".*\.x?html",
    }
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        parts = [
            file.read(n).decode()
            for n in file.namelist()
            if re.fullmatch(wanted[suffix], n) and "nav" not in n
        ]
    if suffix == ".epub":
        found = [page(part) for part in parts]
        return " ".join(words for words, _ in found), [h for _, headings in found for h in headings]
    blocks = [
        b for part in parts for b in re.split(r"</(?:[wa]:p|text:[ph])>|<[wa]:br/>|<(?:w|text):tab/>", part)
    ]
    texts = [
        re.sub(r"<[^>]*>", "", b)
        if suffix == ".odt"
        else "".join(re.findall(r"<[wa]:t(?: [^>]*)?>([^<]*)</", b))
        for b in blocks
    ]
    levels = [re.search(r"w:pStyle w:val=\"Heading(\d)\"|text:outline-level=\"(\d)\"", b) for b in blocks]
    heads = [(int(m[1] or m[2]), unescape(t).strip()) for m, t in zip(levels, texts, strict=True) if m]
    return unescape(" ".join(texts)), heads


def lines(suffix: str, text: str) -> list[tuple[int, str]]:
    form, found, fence = HEADINGS.get(suffix), [], ""
    if suffix == ".mdx":
        text = re.sub(r"(?s)\{/\*.*?\*/\}", "", text)
    if suffix in {".md", ".mdx", ".ipynb"}:  # titles with a line below them, as others
        text = re.sub(
            r"(?m)(?<!\S\n)^ {0,3}([\w\[].*)\n([=-])\2+[ \t]*$",
            lambda e: f"{'##'[e[2] == '=' :]} {e[1]}\n",
            text,
        )
    for line in text.split("\n") if form else ():
        if mark := re.match(FENCES.get(suffix, r"(?!)"), line, re.IGNORECASE):
            is_end = mark[1].lower().startswith(fence.lower()) and not line[mark.end() :].strip()
            fence = "" if fence and is_end else fence or mark[1]
        elif not fence and (heading := form.match(line)):
            title = re.sub(
                r"\]\([^)]*\)|<[^>]*>|[{\[]#[^}\]]*[}\]]$|\\f\[?\w+\]?|\\\(..|^TODO |[ \t]:[\w:]+:$",
                " ",
                heading[2],
            )
            found.append((LEVELS.get(heading[1]) or len(heading[1]), title))
    return found


def words(text: str) -> Counter[str]:
    return Counter(word.casefold() for word in WORD.findall(text.replace("\u00ad", "")))


def trails(headings: list[tuple[int, str]]) -> list[tuple[str, ...]]:
    found, trail = [], []
    for level, title in headings:
        trail = [*(above for above in trail if above[0] < level), (level, " ".join(words(title)))]
        found.append(tuple(name for _, name in trail if name))
    return [trail for trail in found if trail]


def measure(path: str, data: bytes) -> tuple[float, int, int, str]:
    """Return the share of words, how many headings there are and are right, and why it is left out."""
    text, headings = shown(path, data)
    try:
        read = read_records(path, data, splitter=Splitter())
    except SkippedError as error:
        return 0.0, len(headings), 0, f"{error.reason}: {error.detail}"
    said = words(" ".join(f"{r.metadata.get('headings', '')} {r.text}" for r in read.records))
    all_words = words(text)
    share = (all_words & said).total() / max(all_words.total(), 1)
    known = {
        tuple(" ".join(words(t)) for t in str(r.metadata.get("headings")).split(" › ")) for r in read.records
    }
    told = {part[:n] for trail in known for part in (trail, trail[1:]) for n in range(1, len(part) + 1)}
    wanted = trails(headings)
    return share, len(wanted), sum(trail in told for trail in wanted), ""


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("clones", type=Path)
    parser.add_argument("--list", type=Path, default=Path(__file__).with_suffix(".tsv"))
    parser.add_argument("--worst", type=int, default=0)
    given = parser.parse_args()
    kinds: dict[str, list[tuple[float, int, int]]] = defaultdict(list)
    worst = []
    for line in given.list.read_text(encoding="utf-8").splitlines():
        repository, commit, path = line.split("\t")
        folder = given.clones / repository.replace("/", "+")
        folder = folder / "repo" if (folder / "repo").is_dir() else folder
        data = subprocess.run(
            ["git", "-C", folder, "show", f"{commit}:{path}"], check=True, capture_output=True
        ).stdout
        share, headings, right, why = measure(path, data)
        kinds[Path(path).suffix.lower()].append((share, headings, right))
        worst.append((share, headings - right, f"{repository}:{path} {why}"))
    say("kind        files  words  headings right")
    for kind, found in sorted(kinds.items()):
        count, right = sum(h for _, h, _ in found), sum(r for *_, r in found)
        share = f"{right / count:.3f}" if count else "-"
        say(f"{kind:10} {len(found):6} {sum(s for s, *_ in found) / len(found):6.3f} {count:9} {share}")
    every = [each for found in kinds.values() for each in found]
    count, right = sum(h for _, h, _ in every), sum(r for *_, r in every)
    say(
        f"all        {len(every):6} {sum(s for s, *_ in every) / len(every):6.3f} {count:9} {right / count:.3f}"
    )
    for share, missing, name in sorted(worst, key=lambda each: (each[0] > 0.97, -each[1], each[0]))[
        : given.worst
    ]:
        say(f"{share:.3f} {missing:4} {name}")


if __name__ == "__main__":
    main()
