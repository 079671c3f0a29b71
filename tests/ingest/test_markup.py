"""Rules of text formats with headings of their own: reStructuredText, AsciiDoc, LaTeX, POD, roff and others."""

from __future__ import annotations

import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser
from docutils.utils import new_document
from hypothesis import strategies as st

from langchain_context_engine.ingest.readers.markup import titled_lines
from tests.document_builders import read, records, text, trails

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


def test_the_headings_of_perls_documentation_are_its_trail():
    text = "=encoding utf8\n\n=head1 GUIDE\n\nOf the harbour.\n\n=head2 The C<berth> method\n\nIt moors.\n\n=cut\n"
    places = [record.metadata["place"] for record in records("lib/Guide.pod", text)]
    assert places == ["lib/Guide.pod:3-5", "lib/Guide.pod › The berth method"]


def test_the_chapters_and_sections_of_latex_are_its_trail():
    text = (
        "\\documentclass{book}\n\\chapter{Harbours \\label{h}}\nShips.\n% \\section{no}\n"
        "\\begin{verbatim}\n\\section{nor this}\n\\end{verbatim}\n\\section[short]{The \\emph{old} quay}\nStones.\n"
    )
    assert [r.metadata["title"] for r in records("a.tex", text)][-2:] == ["Harbours", "The old quay"]


def test_an_example_of_html_or_a_line_above_a_fence_is_no_title_of_plain_text():
    text = "Inlines\n=======\n\nx y\n\n<p>foo</p>\n`````\n\nBold text\n\naaa\n```\nmore\n"
    assert {r.metadata["title"] for r in records("spec.txt", text)} == {"Inlines"}


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("a.org", "* Guide\n\nx\n\n#+BEGIN_SRC sh\n* no\n#+END_SRC\n\n** TODO Part  :tag:\n\ny\n"),
        ("a.mediawiki", "= Guide =\n\nx\n\n== Part ==\n\ny\n"),
        ("a.textile", "h1. Guide\n\nx\n\nh2(#part). Part\n\ny\n"),
        (
            "a.texi",
            "@chapter Guide\n\nx\n\n@example\n@section no\n@end example\n\n@section @code{Part}\n\ny\n",
        ),
        ("a.typ", "= Guide\n\nx\n\n== Part\n\ny\n"),
    ],
)
def test_headings_of_other_formats_are_the_trail(path, written):
    assert trails(path, written) == ["Guide", "Guide › Part"]


MAN = r""".\" Written by hand.
.TH BERTH 1 "2026" "1.0"
.SH NAME
berth \- lets berths
.SH OPTIONS
.TP
\fB\-n\fR, \fB\-\-nights\fR=\fIN\fR
For how many nights\. See
.BR harbour (1)
and "\(lqquays\(rq".
.IP \(bu 2
one
.TS
tab(|);
l l.
\fBquay\fR|T{
north
T}
.TE
.SS "More of it"
Long \fIenough\fR to stand alone.
"""

MDOC = r""".Dd May 1, 2026
.Dt BERTH 1
.Os
.Sh NAME
.Nm berth
.Nd lets berths
.Sh DESCRIPTION
.Nm
lets them.
.It Fl n Ar nights
For how long.
"""


def by_trail(manual):
    return {r.metadata["headings"]: r for r in records("berth.1", manual, chunk_size=200)}


def test_a_manual_is_read_by_its_headings_without_its_commands():
    found = by_trail(MAN)
    assert set(found) == {"NAME", "OPTIONS", "OPTIONS › More of it"}
    assert "berth - lets berths" in found["NAME"].text
    options = found["OPTIONS"].text
    for shown in ("-n, --nights=N", "nights. See", "harbour(1)", 'and "“quays”".', "•", "quay|\nnorth"):
        assert shown in options
    assert "\\" not in options
    assert "tab(" not in options


def test_the_lines_of_a_manual_are_the_files_own():
    lines = MAN.split("\n")
    (more,) = (record for headings, record in by_trail(MAN).items() if headings.endswith("More of it"))
    assert lines[more.metadata["start_line"] - 1] == '.SS "More of it"'


def test_a_manual_by_mdoc_says_its_name_where_it_is_not_written_again():
    found = by_trail(MDOC)
    assert "berth\nlets them." in found["DESCRIPTION"].text
    assert "-n nights" in found["DESCRIPTION"].text


def test_a_manual_may_begin_with_what_is_ignored_and_define_commands():
    manual = ".ig\nThe licence of\n.SH NOTHING\n..\n.de Ex\n.SH NO\n..\n.TH fzf 1\n.SH NAME\nfzf - finds\n.SH OPTIONS\n.B --multi\n"
    assert trails("man/fzf.1", manual) == ["NAME", "OPTIONS"]
    assert "licence" not in text("man/fzf.1", manual)
