"""Rules of converted documents: pages, office's files, PDF, mail, notebooks; what people report of them."""

from __future__ import annotations

import io
import os
import signal
import zipfile
from datetime import date, datetime
from email.message import EmailMessage

import pytest

from langchain_context_engine.ingest.readers import conversion
from langchain_context_engine.ingest.readers.documents import OLD_OFFICE
from langchain_context_engine.ingest.report import SkippedError
from tests.document_builders import (
    a_paragraph,
    a_pdf,
    a_presentation,
    a_run,
    a_word_file,
    a_word_table,
    a_workbook,
    an_open_document,
    notebook,
    packed,
    places,
    read,
    reason,
    text,
    texts,
    told,
    trails,
)

PAGE = (
    "<html><head><title>T</title><style>p{}</style></head><body><nav>Menu</nav><!-- hidden -->"
    "<article><header><h1>Guide</h1></header><p>One\n<b>two</b>, three.</p><script>no()</script>"
    "<h2>Part <i>2</i></h2><ul><li>a<li>b</ul></article><aside>Aside</aside><footer>Foot</footer></body>"
)


def test_a_page_is_the_text_that_a_person_sees_under_its_headings():
    assert places("a.html", PAGE) == ["a.html › Guide", "a.html › Guide › Part 2"]
    assert texts("a.html", PAGE) == ["# Guide\n\nOne two, three.", "## Part 2\n\n- a\n- b\n\nAside\n\nFoot"]
    assert "start_line" not in read("a.html", PAGE).records[0].metadata
    assert places("a.html", f"---\ntitle: T\nlayout: x\n---\n{PAGE}") == places("a.html", PAGE)
    assert places("a.html", "<title>Only a^b</title><p>words</p>") == ["a.html › Only a^b"]
    assert text("a.html", "<head><meta name=Generator content=Word></head><p>Hi.</p><hr>") == "Hi.\n\n---"
    assert text("a.html", "<hr><p>Hi.</p>") == "---\n\nHi."


HIGHLIGHTED = '<span></span><span class="k">def</span> <span class="nf">f</span>():\n    <span class="k">return</span> 1\n\n<span>x</span> = 2\n'


@pytest.mark.parametrize(
    "page",
    [
        f'<div class="highlight"><pre>{HIGHLIGHTED}</pre></div>',
        f"<pre><code class='language-python'>{HIGHLIGHTED}</code></pre>",
        (
            '<table class="highlighttable"><tr><td class="linenos"><pre>1\n2\n3\n4</pre></td>'
            f'<td class="code"><div><pre>{HIGHLIGHTED}</pre></div></td></tr></table>'
        ),
        f"<pre>{HIGHLIGHTED}</pre>".replace("\n", "<br>"),
        "<pre>" + "".join(f"<div>{line}</div>" for line in HIGHLIGHTED.split("\n")) + "</pre>",
        "<pre>"
        + "".join(f"<span style='display:block'>{line}</span>" for line in HIGHLIGHTED.rstrip().split("\n"))
        + "</pre>",
    ],
    ids=["sphinx", "code", "line numbers", "breaks", "blocks", "styled"],
)
def test_code_in_a_page_has_the_lines_that_a_browser_shows(page):
    """H1."""
    lines = [line for line in text("a.html", page).split("\n") if line.strip()]
    assert [line for line in lines if not line.startswith("```")] == ["def f():", "    return 1", "x = 2"]


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("10<sup>6</sup> a", "10^6 a"),
        ("x<sup>2n</sup> and the 1<sup>st</sup>", "x^2n and the 1st"),
        ("H<sub>2</sub>O", "H2O"),
        ("a^b^c and x^2", "a^b^c and x^2"),
        ("un<b>believ</b>able", "unbelievable"),
        ("seen<sup>[3]</sup>", "seen[3]"),
    ],
)
def test_what_is_raised_is_told_from_what_stands_beside_it(page, shown):
    """H2."""
    assert text("a.html", f"<p>{page}</p>") == shown


def rows_of(page):
    lines = [line.strip("|") for line in text("a.html", page).split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")] for line in lines if "---" not in line]


def test_each_value_of_a_table_stands_in_its_own_column_and_each_row_on_its_own_line():
    """H3, H5."""
    spanned = "<tr><td rowspan=2>Oslo</td><td>2020</td><td>697</td></tr><tr><td>2021</td><td>699</td></tr>"
    found = rows_of(f"<table><tr><th>City<th>Year<th>Pop</tr>{spanned}</table>")
    assert [row[1:] for row in found] == [["Year", "Pop"], ["2020", "697"], ["2021", "699"]]
    both = "<tr><td rowspan=2 colspan=2>North<td>1<td>2</tr><tr><td>3</td><td>4</td></tr>"
    found = rows_of(f"<table><tr><th>R<th>Q<th>A<th>B</tr>{both}</table>")
    assert [row[2:] for row in found] == [["A", "B"], ["1", "2"], ["3", "4"]]
    blocks = "<tr><td><p>a</p></td><td><p>b</p><ul><li>c<li>d</ul></td></tr>"
    assert rows_of(f"<table><tr><th><p>A</p><th>B</tr>{blocks}</table>") == [["A", "B"], ["a", "b<br>c<br>d"]]


@pytest.mark.parametrize(
    "heading",
    [
        "<h2><button>Why?</button></h2>",
        "<h2><button><span>Why?</span></button><a class=headerlink href='#w'>¶</a></h2>",
        "<details><summary><h2>Why?</h2></summary></details>",
        "<h2><a href='#w'>Why?</a></h2>",
    ],
)
def test_a_question_that_is_a_button_is_a_heading(heading):
    """H4."""
    assert trails("a.html", f"<h1>FAQ</h1>{heading}<p>So.</p>") == ["FAQ › Why?"]
    assert "Why?" in text("a.html", heading)


def test_a_word_file_is_read_under_its_headings_with_its_tables():
    table = a_word_table((a_paragraph("port"), a_paragraph("sum")), (a_paragraph("80"), a_paragraph("007")))
    body = [
        a_paragraph("Report", style="Heading1"),
        a_paragraph("Words."),
        a_paragraph("Sums", style="Heading2"),
    ]
    data = a_word_file(*body, table)
    assert places("a.docx", data) == ["a.docx › Report › Sums"] or trails("a.docx", data) == [
        "Report",
        "Report › Sums",
    ]
    assert "| port | sum |\n| --- | --- |\n| 80 | 007 |" in text("a.docx", data)


NOTE = '<w:footnote w:id="{}"><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:footnote>'
REFERENCE = '<w:r><w:footnoteReference w:id="{}"/></w:r>'
INNER = a_word_table((a_paragraph("Inner"),))


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (a_paragraph("Fee ", f"<w:ins>{a_run('45')}</w:ins>", "<w:del><w:r><w:delText>4</w:delText></w:r></w:del>", " €."), "Fee 45 €."),
        (f"<w:sdt><w:sdtContent>{a_paragraph('In it.')}</w:sdtContent></w:sdt>", "In it."),
        (a_paragraph("To ", f"<w:sdt><w:sdtContent>{a_run('Ana')}</w:sdtContent></w:sdt>"), "To Ana"),
        (a_paragraph("A claim", REFERENCE.format(2), " stands."), "A claim [Shown in B.] stands."),
        (a_word_table((a_paragraph("Sum", REFERENCE.format(2)),)), "| Sum [Shown in B.] |"),
        (a_word_table((a_paragraph("Outer") + INNER + a_paragraph(""),)), "Inner"),
        (a_paragraph("Ask ", f'<w:smartTag w:element="PersonName">{a_run("Ann")}</w:smartTag>', "."), "Ask Ann."),
        (a_paragraph("Name", "<w:r><w:tab/></w:r>", "Ana"), "Name Ana"),
        (a_paragraph("AT&amp;T &lt;b&gt; R&#233;sum&#xe9;"), "AT&T <b> Résumé"),
        (a_paragraph("10", a_run("6", '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>')), "10^6"),
        (a_paragraph("a^b^c"), "a^b^c"),
        (a_paragraph("H", a_run("2", '<w:rPr><w:vertAlign w:val="subscript"/></w:rPr>'), "O"), "H2O"),
        (a_paragraph("un", a_run("believ", '<w:rPr><w:b/><w:u w:val="single"/></w:rPr>'), "able"), "unbelievable"),
        (a_paragraph(f'<w:moveFrom w:id="1">{a_run("Gone.")}</w:moveFrom>', "Of\ufb01ce."), "\n\nOffice."),
        ("<w:p><w:r><w:t>One</w:t><w:cr/><w:t>Two</w:t></w:r></w:p>", "One Two"),
    ],
    ids=["W1 inserted", "W2 control", "W2 inline", "W3 note", "W3 in a table", "W4 nested", "W5 tag", "tab", "entities", "raised", "caret", "lowered", "bold", "moved", "return"],
)  # fmt: skip
def test_nothing_that_word_shows_is_lost(body, shown):
    """W1, W2, W3, W4, W5."""
    data = a_word_file(a_paragraph("Before."), body, footnotes=NOTE.format(2, "Shown in B."))
    assert shown in text("a.docx", data)


def test_a_slide_has_its_speakers_notes_and_words_of_two_types_are_one():
    runs = (
        '<a:r><a:t>un</a:t></a:r><a:r><a:rPr b="1" u="sng"/><a:t>believ</a:t></a:r><a:r><a:t>able</a:t></a:r>'
    )
    data = a_presentation(runs, "<a:r><a:t>Say &amp; pause.</a:t></a:r>")
    assert (trails("a.pptx", data), text("a.pptx", data)) == (
        ["unbelievable"],
        "## unbelievable\n\nSay & pause.",
    )


def test_an_open_document_has_its_notes_and_comments_where_they_are_referred_to():
    note = "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Shown.</text:p></text:note-body></text:note>"
    said = "<office:annotation><text:p>So?</text:p></office:annotation>"
    words = (
        f'<text:p>un<text:span text:style-name="B">believ</text:span>able{note}<text:s/>claim{said}</text:p>'
    )
    data = an_open_document(f'<text:h text:outline-level="1">Tides</text:h>{words}')
    assert text("a.odt", data) == "# Tides\n\nunbelievable [Shown.] claim [So?]"
    frame = (
        '<draw:frame presentation:class="{}"><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>'
    )
    slide = f"<draw:page>{frame.format('title', 'Tides')}{frame.format('outline', 'High water')}</draw:page>"
    data = an_open_document(slide, "presentation")
    assert (trails("a.odp", data), text("a.odp", data)) == (["Tides"], "# Tides\n\nHigh water")


def test_an_old_file_with_a_packed_one_in_it_is_no_packed_file():
    """Seen: 50 of 170 files of Word 2003 were read as the theme that they hold."""
    with pytest.raises(SkippedError) as left_out:
        read("a.doc", OLD_OFFICE + bytes(600) + a_word_file(a_paragraph("x")))
    assert "[50, 4b" not in left_out.value.detail


def test_a_book_has_its_exponents_and_whole_words():
    container = '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="b.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    items = '<manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine>'
    book = f'<package xmlns="http://www.idpf.org/2007/opf" version="3.0">{items}</package>'
    page = "<html xmlns='http://www.w3.org/1999/xhtml'><body><p>un<b>believ</b>able 10<sup>6</sup></p></body></html>"
    data = packed({"META-INF/container.xml": container, "b.opf": book, "a.xhtml": page})
    assert text("a.epub", data) == "unbelievable 10^6"


def test_pictures_in_a_document_are_told():
    data = io.BytesIO(a_word_file(a_paragraph("Words.")))
    with zipfile.ZipFile(data, "a") as file:
        file.writestr("word/media/image1.png", b"x")
        file.writestr("word/charts/chart1.xml", b"<c/>")
    (entry,) = read("a.docx", data.getvalue()).skipped
    assert (entry.where, entry.reason, entry.detail[:10]) == ("a.docx", "picture", "2 pictures")


def test_a_sheet_is_read_by_rows_under_its_header_with_dates_and_numbers_as_they_are():
    rows = [
        ["Harbour dues"],
        ["day", "berth", "sum", "paid"],
        [date(2026, 1, 5), "A, north", 12.5, True],
        [datetime.fromisoformat("2026-01-06T09:30"), "007", 1234567890, None],
        [],
        [date(2026, 1, 9), "B", 0.1, False],
    ]
    data = a_workbook(Winter=rows, Empty=[], Notes=[["Ask Ana first."]])
    assert list(zip(places("dues.xlsx", data), texts("dues.xlsx", data), strict=True)) == [
        ("dues.xlsx › Winter › row 1", "Harbour dues"),
        (
            "dues.xlsx › Winter › rows 3-6",
            (
                "day,berth,sum,paid\n"
                '2026-01-05,"A, north",12.5,TRUE\n2026-01-06 09:30:00,007,1234567890\n2026-01-09,B,0.1,FALSE'
            ),
        ),
        ("dues.xlsx › Notes › row 1", "Ask Ana first."),
    ]


def test_a_merged_region_is_told_in_each_of_its_rows():
    """X1."""
    rows = [["Region", "Month", "Sum"], ["North", "Jan", 1], [None, "Feb", 2], ["South", "Jan", 3]]
    assert "North,Jan,1\nNorth,Feb,2\nSouth,Jan,3" in text("a.xlsx", a_workbook(Sales=rows, merged=["A2:A3"]))
    wide = [["Sales of 2026"], ["Region", "Sum"], ["North", 1]]
    assert text("a.xlsx", a_workbook(Sales=wide, merged=["A1:B1"])).startswith("Sales of 2026\n")


def test_formulas_that_nothing_has_computed_are_told():
    """X2."""
    data = a_workbook(Sales=[["Region", "Sum"], ["North", 1], ["Total", "=SUM(B2:B2)"]])
    assert text("a.xlsx", data) == "Region,Sum\nNorth,1\nTotal"
    assert told("a.xlsx", data) == [("a.xlsx", "no value")]
    assert told("a.xlsx", a_workbook(Sales=[["Region", "Sum"], ["North", "#REF!"]])) == [
        ("a.xlsx", "no value")
    ]


@pytest.mark.parametrize(
    ("first", "header"),
    [
        (",a,b", ",a,b"),
        ("sep=;\nname;b;c", "name;b;c"),
        ("name,b,c", "name,b,c"),
        ("city,2020,2021", "city,2020,2021"),
        ("city,2020/21,Q1 2022", "city,2020/21,Q1 2022"),
        ("name,,c", "name,,c"),
        (",0,1", ",0,1"),
        ("name,sum,sum\n,a,b", "name,sum,sum\n,a,b"),
    ],
)
def test_a_header_stands_above_every_row_of_a_table_and_nothing_after_a_long_cell_is_lost(first, header):
    """X3."""
    mark = ";" if "sep" in first else ","
    rows = [mark.join((f"r{n}", "word " * 40_000 if n == 3 else f"x{n}", "z")) for n in range(9)]
    found = texts("a.csv", "\n".join([first, *rows]), chunk_size=400)
    assert all(each.startswith(f"{header}\n") for each in found)
    assert all(any(f"r{n}{mark}" in each for each in found) for n in range(9))


@pytest.mark.parametrize("first", ["1,2,3", "2020,Oslo,x", "Oslo,2026-01-05,x", "Oslo,1.5,x"])
def test_a_row_of_data_is_no_header(first):
    found = texts("a.csv", f"{first}\n" + "Rome,4,y\n" * 60, chunk_size=200)
    assert [first in each for each in found] == [True, *[False] * (len(found) - 1)]


def test_a_header_of_two_merged_rows_stands_above_every_row():
    """X1."""
    rows = [["City", "Sum", None], [None, "first", "second"], *([f"R{n}", n, n] for n in range(60))]
    found = texts("a.xlsx", a_workbook(Sales=rows, merged=["A1:A2", "B1:C1"]), chunk_size=200)
    assert {each[: each.index("R")] for each in found} == {"City,Sum,Sum\nCity,first,second\n"}


def test_rows_of_several_lines_stay_whole_and_are_numbered_as_a_spreadsheet_does():
    rows = "".join(f'2026-01-{n:02},00{n},"a, b\nsecond line"\n' for n in range(1, 10))
    found = read("data.csv", f"day,sum,note\n{rows}", chunk_size=120).records
    assert found[0].text.startswith("day,sum,note\n2026-01-01,001,")
    assert all(r.text.startswith("day,sum,note\n") and r.text.endswith('"') for r in found)
    assert [found[0].metadata["place"], found[-1].metadata["place"]] == [
        "data.csv › rows 2-4",
        "data.csv › rows 8-10",
    ]
    assert texts("data.csv", "1,2\n3,4\n") == ["1,2\n3,4"]


def a_mail(**headers):
    said = {
        "From": "Ana <a@x.example>",
        "Subject": "Plan",
        "Date": "Tue, 4 Aug 2026 10:00:00 +0200",
        **headers,
    }
    return "".join(f"{name}: {value}\n" for name, value in said.items())


def test_mail_is_read_by_message_with_subject_sender_and_date():
    box = f"From a@x Mon Aug  4 10:00:00 2026\n{a_mail()}\nOn Friday.\n>From then on.\n\nFrom b@x Tue Aug  5 10:00:00 2026\n{a_mail(Subject='Sums', Date='none')}\nSee.\n"
    found = read("box.mbox", box).records
    assert [r.metadata["place"] for r in found] == [
        "box.mbox › Plan, 2026-08-04, Ana",
        "box.mbox › Sums, Ana",
    ]
    assert found[0].metadata["created_at"] == 1785830400
    assert (found[0].metadata["kind"], found[0].metadata["author"]) == ("mail", "Ana")
    assert "From then on." in found[0].text
    assert found[1].metadata["created_at"] == 7


@pytest.mark.parametrize("name", ["cur/1446038687.R8137.host:2,S", "mail_1"])
def test_a_message_without_a_suffix_is_mail(name):
    """Seen: of a parser of mail eight of its test mails were "a list of names", for they held a picture."""
    written = f"Return-Path: <a@x.example>\nReceived: by x\n  with SMTP\n{a_mail()}\nOn Friday.\n"
    assert read(name, written).records[0].metadata["kind"] == "mail"
    assert (
        read("note", f"Dear Bo,\n\nthe quay is yours from Friday on.\n\n{written}")
        .records[0]
        .metadata["kind"]
        == "doc"
    )


@pytest.mark.parametrize("sender", ["=?utf-8?q?M=C3=BCller=2C_Ann?= <a@x.example>", "=?iso-8859-1?q?M=FCller=2C?= =?iso-8859-1?q?_Ann?= <a@x.example>", '"Müller, Ann" <a@x.example>'])  # fmt: skip
def test_a_name_is_whole_however_it_is_written(sender):
    """M1, M2."""
    found = read("a.eml", (a_mail(From=sender, Subject="Grüße") + "\nx\n").encode()).records[0]
    assert (found.metadata["author"], found.metadata["title"]) == ("Müller, Ann", "Grüße")


PLAIN, HTML = ("Body in plain.", "plain"), ("<p>Body <b>in HTML</b>.</p>", "html")
CALENDAR, FOOTER = ("BEGIN:VCALENDAR", "calendar"), ("--\nThe list's footer", "plain")


@pytest.mark.parametrize(
    ("kind", "parts", "shown", "hidden"),
    [
        ("mixed", [HTML, CALENDAR], "Body in HTML.", "VCALENDAR"),
        ("alternative", [HTML, CALENDAR], "Body in HTML.", "VCALENDAR"),
        ("mixed", [HTML, FOOTER], "Body in HTML.", "<p>"),
        ("alternative", [PLAIN, HTML], "Body in plain.", "HTML"),
        ("alternative", [("", "plain"), HTML], "Body in HTML.", "<p>"),
    ],
    ids=["M3 mixed", "M3 alternative", "M4", "both", "empty"],
)
def test_the_body_of_a_mail_is_read_whatever_stands_beside_it(kind, parts, shown, hidden):
    """M3, M4."""
    message = EmailMessage()
    message["Subject"] = "Plan"
    message.add_header("Content-Type", f"multipart/{kind}")
    for body, subtype in parts:
        part = EmailMessage()
        part.set_content(body, subtype=subtype)
        message.attach(part)
    found = text("a.eml", message.as_bytes())
    assert shown in found
    assert hidden not in found


def test_a_mail_within_a_mail_says_its_subject_and_whose_it_is():
    inner = EmailMessage()
    inner["Subject"], inner["From"] = "Tides", "Cy <c@x.example>"
    inner.set_content("Inner words.")
    message = EmailMessage()
    message["Subject"], message["Cc"] = "Plan", "Bo <b@x.example>"
    message.set_content("See below.")
    message.add_attachment(inner)
    found = text("a.eml", message.as_bytes())
    assert found.split("\n\n") == [
        "Subject: Plan\nCc: Bo <b@x.example>",
        "See below.",
        "Subject: Tides\nFrom: Cy <c@x.example>",
        "Inner words.",
    ]


@pytest.mark.parametrize("name", ['filename="=?utf-8?b?UmVjaG51bmcgw7xiZXIucGRm?="', "filename*=utf-8''Rechnung%20%C3%BCber.pdf"])  # fmt: skip
def test_the_name_of_an_attachment_is_told_as_people_write_it(name):
    """M5."""
    parts = f"--x\nContent-Type: text/plain\n\nSee.\n--x\nContent-Type: application/pdf\nContent-Disposition: attachment; {name}\n\nAAAA\n--x--\n"
    data = a_mail(**{"Content-Type": "multipart/mixed; boundary=x"}) + "\n" + parts
    assert text("a.eml", data).endswith("See.\n\nAttachments: Rechnung über.pdf")


def test_what_was_attached_before_mime_is_named_and_no_text():
    written = f"{a_mail()}\nSee it.\n\nbegin 644 quay plan.gif\nM9PCD=CAT2L%+J7)09Y<&?\n%0 ^(`\n`\nend\n\nBegin on Friday.\n"
    assert text("a.eml", written).endswith("See it.\n\n\n\nBegin on Friday.\n\nAttachments: quay plan.gif")


def test_a_pdf_is_read_page_by_page_with_its_forms_values_and_pages_without_words_are_told():
    """P1, P2."""
    data = a_pdf("First words.", "", "Third words.", field=("applicant", "Ana"))
    assert list(zip(places("a.pdf", data), texts("a.pdf", data), strict=True)) == [
        ("a.pdf › page 1", "First words.\nAna"),
        ("a.pdf › page 3", "Third words."),
    ]
    assert told("a.pdf", data) == [("a.pdf:page 2", "empty")]
    box = a_pdf("Agreed:", field=("terms", "Yes", "/FT /Btn /AS /Yes"))
    assert text("a.pdf", box) == "Agreed:\n[x] terms"
    assert reason("a.pdf", a_pdf("", "")) == "empty"


def test_a_notebook_is_its_cells_in_order_without_outputs():
    written = notebook(
        {"cell_type": "markdown", "source": ["# Study\n", "\n", "Why."]},
        {"cell_type": "code", "source": "x = 1\n", "outputs": [{"text": "OUTPUT"}]},
        {"cell_type": "raw", "source": "raw"},
        {"cell_type": "markdown", "source": "## Result"},
        {"cell_type": "code", "source": ["y = 2"]},
        {"cell_type": "code", "source": 5},
        {"cell_type": ["code"], "source": "z"},
    )
    assert places("a.ipynb", written) == [
        "a.ipynb › Study › cells 1-2",
        "a.ipynb › Study › Result › cells 4-5",
    ]
    assert texts("a.ipynb", written)[0] == "# Study\n\nWhy.\n\n```python\nx = 1\n```"
    assert told("a.ipynb", written) == [("a.ipynb:cell 6", "invalid"), ("a.ipynb:cell 7", "invalid")]


@pytest.mark.parametrize(
    ("path", "data", "why"),
    [
        *(("a.ipynb", data, "invalid") for data in ("", "[]", "{}", '{"cells": 5}', "[" * 100_000)),
        *((path, "PK not a zip", "invalid") for path in ("a.docx", "a.xlsx", "a.pdf", "a.odt", "a.pptx")),
        *((path, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 more", "encrypted") for path in ("a.docx", "a.xlsx")),
        ("a.docx", a_word_file(), "empty"),
        ("a.html", "<script>x</script>", "empty"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_out_with_its_reason(path, data, why):
    assert reason(path, data) == why


@pytest.mark.usefixtures("conversions_in_their_own")
def test_a_file_that_expands_is_left_out_within_its_bounds_and_the_next_one_is_read(monkeypatch):
    cell = '<w:tcPr><w:gridSpan w:val="2000000000"/></w:tcPr>' + a_paragraph("x")
    with monkeypatch.context() as patch:
        patch.setattr(conversion, "MOST_SECONDS", 2.0)
        assert reason("bomb.docx", a_word_file(a_word_table((cell, a_paragraph("y"))))) == "too complex"
    assert text("a.docx", a_word_file(a_paragraph("Words."))) == "Words."


@pytest.mark.usefixtures("conversions_in_their_own")
def test_a_process_of_conversion_that_dies_costs_one_file_and_is_started_anew():
    assert reason("a.docx", "PK not a zip") == "invalid"
    assert text("a.html", "<p>one</p>") == "one"
    process, _ = conversion._OF_THREAD.started
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert text("a.html", "<p>two</p>") == "two"
