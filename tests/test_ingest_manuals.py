"""Manuals: what `man` would show, under the headings, each line where the file has it."""

from __future__ import annotations

from langchain_context_engine.ingest.reading import read_records
from langchain_context_engine.ingest.split import Splitter

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


def records(text, path="berth.1"):
    read = read_records(path, text.encode(), splitter=Splitter(chunk_size=200))
    return {record.metadata["headings"]: record for record in read.records}


def test_a_manual_is_read_by_its_headings_without_its_commands():
    found = records(MAN)
    assert set(found) == {"NAME", "OPTIONS", "OPTIONS › More of it"}
    assert "berth - lets berths" in found["NAME"].text
    options = found["OPTIONS"].text
    for shown in ("-n, --nights=N", "nights. See", "harbour(1)", 'and "“quays”".', "•", "quay|\nnorth"):
        assert shown in options
    assert "\\" not in options
    assert "tab(" not in options


def test_the_lines_of_a_manual_are_the_files_own():
    lines = MAN.split("\n")
    (more,) = (record for headings, record in records(MAN).items() if headings.endswith("More of it"))
    assert lines[more.metadata["start_line"] - 1] == '.SS "More of it"'


def test_a_manual_by_mdoc_says_its_name_where_it_is_not_written_again():
    found = records(MDOC)
    assert "berth\nlets them." in found["DESCRIPTION"].text
    assert "-n nights" in found["DESCRIPTION"].text
