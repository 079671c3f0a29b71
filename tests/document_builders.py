"""What the tests of documents share: files of several formats, made by hand, and what is read of them."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.reading import read_records
from langchain_context_engine.ingest.report import SkippedError

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def read(path, data, metadata=None, **sizes):
    """Read a file whose own date is 7."""
    data = data if isinstance(data, bytes) else data.encode()
    return read_records(path, data, splitter=Splitter(**sizes), metadata=metadata or {"created_at": 7})


def records(path, data, **sizes):
    return read(path, data, **sizes).records


def texts(path, data, **sizes):
    return [record.text for record in read(path, data, **sizes).records]


def text(path, data, **sizes):
    return "\n\n".join(texts(path, data, **sizes))


def places(path, data, **sizes):
    return [record.metadata["place"] for record in read(path, data, **sizes).records]


def trails(path, data, **sizes):
    return [record.metadata.get("headings") for record in read(path, data, **sizes).records]


def told(path, data, **sizes):
    """Where something was left out, and why."""
    return [(entry.where, entry.reason) for entry in read(path, data, **sizes).skipped]


def reason(path, data):
    """Why a whole file is left out."""
    with pytest.raises(SkippedError) as left_out:
        read(path, data)
    return left_out.value.reason


def notebook(*cells, **more):
    return json.dumps({"cells": list(cells), "metadata": {"language_info": {"name": "python"}}, **more})


def a_run(words, properties=""):
    return f'<w:r>{properties}<w:t xml:space="preserve">{words}</w:t></w:r>'


def a_paragraph(*runs, style=""):
    look = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{look}{''.join(run if run.startswith('<') else a_run(run) for run in runs)}</w:p>"


def a_word_table(*rows):
    cells = ("".join(f"<w:tc>{cell}</w:tc>" for cell in row) for row in rows)
    return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in cells) + "</w:tbl>"


def a_word_file(*body, footnotes=""):
    """A DOCX file of as few parts as the format asks for."""
    main, types = (
        "application/vnd.openxmlformats-officedocument.wordprocessingml",
        f"{_PACKAGE}/content-types",
    )
    space = f'xmlns:w="{_WORD}" xmlns:r="{_OFFICE}"'
    overrides = "".join(
        f'<Override PartName="/word/{part}.xml" ContentType="{main}.{kind}+xml"/>'
        for part, kind in (("document", "document.main"), ("styles", "styles"), ("footnotes", "footnotes"))
    )
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{n}"><w:name w:val="heading {n}"/></w:style>'
        for n in (1, 2)
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{types}"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{overrides}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="a" '
        f'Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        + "".join(
            f'<Relationship Id="{part}" Type="{_OFFICE}/{part}" Target="{part}.xml"/>'
            for part in ("styles", "footnotes")
        )
        + "</Relationships>",
        "word/styles.xml": f"<w:styles {space}>{styles}</w:styles>",
        "word/document.xml": f"<w:document {space}><w:body>{''.join(body)}</w:body></w:document>",
        "word/footnotes.xml": f"<w:footnotes {space}>{footnotes}</w:footnotes>",
    }
    return packed(parts)


def packed(parts):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
        for name, part in parts.items():
            file.writestr(name, f'<?xml version="1.0"?>{part}')
    return written.getvalue()


def an_open_document(body, kind="text"):
    spaces = ("office", "text", "style", "table", "presentation")
    names = "".join(f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in spaces)
    compatible = ' xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"'
    compatible += ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
    bold = '<style:style style:name="B" style:family="text"><style:text-properties fo:font-weight="bold" style:text-underline-style="solid"/></style:style>'
    styles = f"<office:automatic-styles>{bold}</office:automatic-styles>"
    whole = f"{styles}<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    return packed(
        {"content.xml": f"<office:document-content{names}{compatible}>{whole}</office:document-content>"}
    )


def a_presentation(slide, notes):
    """One slide with a title of some runs, and what its speaker says."""
    a, p = (f"http://schemas.openxmlformats.org/{kind}/2006/main" for kind in ("drawingml", "presentationml"))
    space = f'xmlns:a="{a}" xmlns:p="{p}" xmlns:r="{_OFFICE}"'

    def page(tag, kind, runs):
        shape = f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:txBody><a:p>{runs}</a:p></p:txBody></p:sp>'
        return f"<p:{tag} {space}><p:cSld><p:spTree>{shape}</p:spTree></p:cSld></p:{tag}>"

    def relations(target, kind):
        link = f'<Relationship Id="rId1" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        return f'<Relationships xmlns="{_PACKAGE}/relationships">{link}</Relationships>'

    slides = '<p:sldIdLst><p:sldId id="256" r:id="rId1"/></p:sldIdLst>'
    return packed(
        {
            "_rels/.rels": relations("ppt/presentation.xml", "officeDocument"),
            "ppt/presentation.xml": f"<p:presentation {space}>{slides}</p:presentation>",
            "ppt/_rels/presentation.xml.rels": relations("slides/slide1.xml", "slide"),
            "ppt/slides/slide1.xml": page("sld", "title", slide),
            "ppt/slides/_rels/slide1.xml.rels": relations("../notesSlides/notesSlide1.xml", "notesSlide"),
            "ppt/notesSlides/notesSlide1.xml": page("notes", "body", notes),
        }
    )


def a_workbook(merged=(), **sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
        for region in merged:
            sheet.merge_cells(region)
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def a_pdf(*pages, field=None):
    """A minimal file by the format's own rules: a catalog, pages, a font, their streams, a field of a form."""
    last = 4 + 2 * len(pages)
    form = f" /AcroForm << /Fields [{last} 0 R] /DA (/F1 0 Tf 0 g) >>" if field else ""
    objects = [f"<< /Type /Catalog /Pages 2 0 R{form} >>"]
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, words in enumerate(pages):
        noted = f"/Annots [{last} 0 R] " if field and not number else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R {noted}"
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        stream = f"BT /F1 12 Tf 72 700 Td ({words}) Tj ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    if field:
        objects.append(
            f"<< /Type /Annot /Subtype /Widget {' '.join(field[2:]) or '/FT /Tx'} /T ({field[0]})"
            f" /V {f'/{field[1]}' if field[2:] else f'({field[1]})'} /Rect [9 9 99 29] /P 4 0 R >>"
        )
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n"
    return out + f"{end}<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n".encode()
