"""Rules of reading documents: headings by their format, records with a place, nothing that is not text."""

from __future__ import annotations

import io
import json

import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser
from docutils.utils import new_document
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.readers.restructured import titled_lines
from langchain_context_engine.ingest.reading import read_records
from langchain_context_engine.ingest.skipped import SkippedError


def read(path, data, **sizes):
    data = data.encode() if isinstance(data, str) else data
    return read_records(path, data, splitter=Splitter(**sizes), metadata={"created_at": 7})


def places(path, data, **sizes):
    return [r.metadata["place"] for r in read(path, data, **sizes).records]


def trails(path, text):
    return [r.metadata.get("headings") for r in read(path, text).records]


def test_a_line_that_begins_with_inline_code_of_three_backticks_opens_no_fence():
    """F3."""
    text = "# A\n\n```npm ci``` installs everything.\n\n## B\n\nx\n\n## C\n\ny\n"
    assert trails("a.md", text) == ["A", "A › B", "A › C"]


def test_a_comment_holds_no_heading():
    """F4."""
    assert trails("a.md", "# A\n\n<!--\n# no\n-->\n\n## B\n\nx\n") == ["A", "A › B"]


def test_a_heading_with_nothing_below_it_is_no_part_of_the_next_section():
    assert trails("a.md", "# A\n\n## To come\n\n## 1.0\n\nx\n") == ["A › To come", "A › 1.0"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Guide\n===\n\nx\n\nPart\n---\n\ny\n", ["Guide", "Guide › Part"]),
        ("# A `b` [c](d) *e* #\n\nx\n", ["A b c e"]),
        ("# A\n\n---\n| b | c |\n|---|---|\n| d | e |\n---\n\nx\n", ["A"]),
        ("> # quoted\n\n- # listed\n\n    # code\n\ntext\n", [None]),
        ("~~~\n# no\n```\n# no\n~~~\n# yes\n\nx\n", [None, "yes"]),
        ('<h1 align="center">\n  <b>Tool</b>\n</h1>\n\nx\n\n## Use\n\ny\n', ["Tool", "Tool › Use"]),
        ("## Install {#install}\n\nx\n", ["Install"]),
        ("#no\n\n####### no\n\nx\n", [None]),
    ],
)
def test_headings_are_those_of_commonmark(text, expected):
    assert trails("a.md", text) == expected


def test_front_matter_gives_title_and_date():
    found = read("post.md", '---\ntitle: "On dates"\ndate: 2024-05-01\ntags: [a]\n---\n\nHello.\n').records[0]
    assert (found.metadata["title"], found.metadata["created_at"]) == ("On dates", 1714521600)


def test_sections_of_a_changelog_have_version_and_date_of_their_own_heading():
    text = (
        "# Changelog\n\nAll changes.\n\n## Unreleased\n\n- soon\n\n## 0.13.0 (2026-08-04)\n\n"
        "### Removed\n\n- old\n\n## v1.2 - 4 August 2026\n\n- x\n\n## 1.1.0\n\n- y\n"
    )
    found = [
        (r.metadata["place"], r.metadata.get("version"), r.metadata["created_at"])
        for r in read("CHANGELOG.md", text).records
    ]
    assert found == [
        ("CHANGELOG.md:1-3", None, 7),
        ("CHANGELOG.md › Unreleased", None, 7),
        ("CHANGELOG.md › 0.13.0 (2026-08-04) › Removed", "0.13.0", 1785801600),
        ("CHANGELOG.md › v1.2 - 4 August 2026", "1.2", 1785801600),
        ("CHANGELOG.md › 1.1.0", "1.1.0", 7),
    ]
    assert "version" not in read("guide.md", "## 1.2 Install\n\nx\n").records[0].metadata


def test_a_release_between_dated_ones_is_as_old_as_the_next_and_one_to_come_is_told():
    """Seen 2: an old release without a readable date took that of the file, and was the latest of all."""
    text = (
        "# Changes\n\n## Version 8.5.0\n\nUnreleased\n\n- soon\n\n## Version 8.4.0\n\nReleased 2026-06-24\n\n- now\n\n"
        '## Version 6.0\n\nReleased 2015-11-24, codename "pow pow"\n\n- then\n\n## Version 5.1\n\n- undated\n\n'
        "## Version 5.0\n\nReleased on August 16th 2015\n\n- x\n"
    )
    found = [
        (r.metadata.get("version"), r.metadata["created_at"], r.metadata.get("unreleased"))
        for r in read_records(
            "CHANGES.md", text.encode(), splitter=Splitter(), metadata={"created_at": 1_790_000_000}
        ).records
        if r.metadata.get("version")
    ]
    assert found == [
        ("8.5.0", 1_790_000_000, True),
        ("8.4.0", 1_782_259_200, None),
        ("6.0", 1_448_323_200, None),
        ("5.1", 1_439_683_200, None),
        ("5.0", 1_439_683_200, None),
    ]


def test_places_are_short_and_do_not_repeat_the_path():
    assert places("docs/faq.md", "# FAQ\n\n## Why?\n\nx\n") == ["docs/faq.md › Why?"]
    assert places("notes.txt", "one\n\ntwo\n") == ["notes.txt:1-3"]
    deep = "".join(f"{'#' * n} {'A long heading of words ' * 4}\n\n" for n in range(1, 7)) + "x\n"
    assert len(places("a.md", deep)[0]) < 220
    assert "…" in places("a.md", deep)[0]


RST = st.lists(
    st.sampled_from(
        ["Title", "=====", "-----", "~~~~~", "==", "", "", "text here", "  indented", "::", ".. note:: x", "- a", "Other part"]
    ),
    max_size=14,
).map("\n".join)  # fmt: skip


def docutils_titles(text):
    values = get_default_settings(Parser)
    values.report_level, values.halt_level, values.warning_stream = 5, 6, False
    document = new_document("x", values)
    Parser().parse(text, document)
    return [node[0].astext() for node in document.findall(nodes.section)]


@pytest.mark.parametrize(
    "text",
    [
        "=====\nGuide\n=====\n\nx\n\nPart\n----\n\ny\n\nDeep\n~~~~\n\nz\n\nLast\n----\n\nq\n",
        "Title\n=====\n.. note:: x\n\n   Inside\n   ------\n\nText::\n\n   Code\n   ====\n\nEnd\n===\n",
        "A\n==\nB\n--\n\nx\n",
        "=====  =====\ncol    col\n=====  =====\n1      2\n=====  =====\n\nTitle\n-----\n",
        "Text\n----\n\n----\n\nmore\n",
    ],
)
def test_titles_of_restructured_text_are_those_that_docutils_finds(text):
    assert [h.title for h in titled_lines(text)] == docutils_titles(text)


def test_levels_of_restructured_text_follow_the_order_of_styles():
    text = "=====\nGuide\n=====\n\nx\n\nPart\n~~~~\n\ny\n\nDeep\n====\n\nz\n\nNext\n~~~~\n\nq\n"
    assert trails("a.rst", text) == ["Guide", "Guide › Part", "Guide › Part › Deep", "Guide › Next"]


def test_nothing_that_restructured_text_names_is_read(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET")
    text = f"A\n=\n\n.. include:: {secret}\n\n.. raw:: html\n   :file: {secret}\n"
    assert "SECRET" not in "".join(r.text for r in read("a.rst", text).records)


def test_asciidoc_titles_stand_outside_of_blocks():
    text = "= Guide\n\nx\n\n----\n== no\n----\n\n== Part\n\ny\n\n====\nexample\n====\n\n=== Deep\n\nz\n"
    assert trails("a.adoc", text) == ["Guide", "Guide › Part", "Guide › Part › Deep"]


def test_a_page_is_the_text_that_a_person_sees_under_its_headings():
    page = (
        "<html><head><title>T</title><style>p{}</style></head><body><nav>Menu</nav><!-- hidden -->"
        "<h1>Guide</h1><p>One\n<b>two</b>, three.</p><script>no()</script><h2>Part <i>2</i></h2>"
        "<ul><li>a<li>b</ul><pre>x\n  y</pre><table><tr><td>1<td>2</table></body>"
    )
    found = read("a.html", page).records
    assert [r.metadata["place"] for r in found] == ["a.html › Guide", "a.html › Guide › Part 2"]
    assert found[0].text == "Guide\n\nOne two, three."
    assert found[1].text == "Part 2\n\n- a\n- b\n\nx\n  y\n\n1 | 2 |"
    assert "start_line" not in found[0].metadata


def notebook(*cells, **more):
    return json.dumps({"cells": list(cells), "metadata": {"language_info": {"name": "python"}}, **more})


def test_a_notebook_is_its_cells_in_order_without_outputs():
    text = notebook(
        {"cell_type": "markdown", "source": ["# Study\n", "\n", "Why."]},
        {"cell_type": "code", "source": "x = 1\n", "outputs": [{"text": "OUTPUT"}]},
        {"cell_type": "raw", "source": "raw"},
        {"cell_type": "markdown", "source": "## Result"},
        {"cell_type": "code", "source": ["y = 2"]},
        {"cell_type": "code", "source": 5},
    )
    found = read("a.ipynb", text)
    assert [r.metadata["place"] for r in found.records] == [
        "a.ipynb › Study › cells 1-2",
        "a.ipynb › Study › Result › cells 4-5",
    ]
    assert found.records[0].text == "# Study\n\nWhy.\n\n```python\nx = 1\n```"
    assert {r.metadata["kind"] for r in found.records} == {"notebook"}
    assert [(s.where, s.reason) for s in found.skipped] == [("a.ipynb:cell 6", "invalid")]


@pytest.mark.parametrize("data", ["", "[]", "{}", '{"cells": 5}', "[" * 100_000])
def test_what_is_no_notebook_is_left_out(data):
    with pytest.raises(SkippedError) as left_out:
        read("a.ipynb", data)
    assert left_out.value.reason == "invalid"


def a_pdf(*pages):
    """A minimal file by the format's own rules: a catalog, pages, a font, their streams."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, text in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n"
    return out + f"{end}<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n".encode()


def test_a_pdf_is_read_page_by_page():
    found = read("paper.pdf", a_pdf("First words.", "", "Third words.")).records
    assert [(r.metadata["place"], r.text) for r in found] == [
        ("paper.pdf › page 1", "First words."),
        ("paper.pdf › page 3", "Third words."),
    ]


def test_a_docx_is_read_under_its_headings_with_its_tables():
    import docx

    document = docx.Document()
    document.add_heading("Report", level=1)
    document.add_paragraph("Some words.")
    document.add_heading("Figures", level=2)
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "sum", "007"
    data = io.BytesIO()
    document.save(data)
    found = read("a.docx", data.getvalue()).records
    assert [r.metadata["place"] for r in found] == ["a.docx › Report", "a.docx › Report › Figures"]
    assert found[1].text.endswith("sum | 007")


@pytest.mark.parametrize("path", ["a.pdf", "a.docx"])
def test_a_broken_file_is_left_out_with_its_reason(path):
    with pytest.raises(SkippedError) as left_out:
        read(path, b"%PDF-1.4 but no more")
    assert left_out.value.reason == "invalid"


@settings(deadline=None, max_examples=60)
@given(text=RST)
def test_titles_are_in_order_and_within_the_text(text):
    found = titled_lines(text)
    assert [h.start for h in found] == sorted(h.start for h in found)
    assert all(0 <= h.start < h.end <= len(text) for h in found)


def test_a_release_takes_its_date_from_the_line_below_its_heading_for_all_its_sections():
    text = (
        "# Change Log\n\n## Version 0.8.0\n\n_2014-04-24_\n\n * Of 2013-01-01.\n\n### Fixes\n\n * One.\n\n"
        "## Version 0.7.0\n\n * Without a date, as 2012-01-01 is none of it.\n"
    )
    found = read("CHANGELOG.md", text.encode()).records
    assert [(r.metadata["version"], r.metadata["created_at"]) for r in found] == [
        ("0.8.0", 1398297600),
        ("0.8.0", 1398297600),
        ("0.7.0", 7),
    ]


def test_a_heading_with_links_by_reference_is_told_by_its_words():
    text = b"# UTF-8 ([Java][ExploreCharsets]/[Kotlin][]) `a[b][c]`\n\nx\n\n# The ([Java][A])\n\ny\n"
    titles = [r.metadata["title"] for r in read("a.md", text).records]
    assert titles[1] == "The (Java)"
