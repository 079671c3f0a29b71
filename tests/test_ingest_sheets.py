"""Rules of reading workbooks and changelogs of entries: a row and an entry are where they say, of their own date."""

from __future__ import annotations

import io
from datetime import date, datetime

import pytest

from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.reading import read_records
from langchain_context_engine.ingest.skipped import SkippedError


def read(path, data, **sizes):
    data = data.encode() if isinstance(data, str) else data
    return read_records(path, data, splitter=Splitter(**sizes), metadata={"created_at": 7})


def a_workbook(**sheets):
    """The bytes of an XLSX file with these rows in its sheets."""
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


WINTER = """day,berth,sum,paid
Harbour dues
2026-01-05,"A, north",12.5,TRUE
2026-01-06 09:30:00,007,1234567890
2026-01-09,B,0.1,FALSE"""


def test_a_sheet_is_read_by_rows_under_its_header_with_dates_and_numbers_as_they_are():
    rows = [
        ["Harbour dues"],
        ["day", "berth", "sum", "paid"],
        [date(2026, 1, 5), "A, north", 12.5, True],
        [datetime.fromisoformat("2026-01-06T09:30"), "007", 1234567890, None],
        [],
        [date(2026, 1, 9), "B", 0.1, False],
    ]
    found = read("dues.xlsx", a_workbook(Winter=rows, Empty=[], Notes=[["Ask Ana first."]])).records
    assert [(r.metadata["place"], r.metadata["kind"], r.text) for r in found] == [
        (
            "dues.xlsx › Winter › rows 1-6",
            "table",
            WINTER,
        ),
        ("dues.xlsx › Notes › row 1", "table", "Ask Ana first."),
    ]


def test_the_rows_of_a_long_sheet_stand_under_its_header_in_every_passage_and_bear_their_own_numbers():
    rows = [["name", "price"], *([f"boat {i}", i] for i in range(2, 40))]
    found = read("a.xlsx", a_workbook(Fleet=rows), chunk_size=120).records
    assert len(found) > 2
    assert all(r.text.startswith("name,price\nboat ") for r in found)
    for record in found:
        first = record.text.split("\n")[1].split(",")[1]
        assert record.metadata["place"].startswith(f"a.xlsx › Fleet › rows {first}-")


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"PK not a zip", "invalid"), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 more", "encrypted"), (a_workbook(A=[]), "empty")],
)  # fmt: skip
def test_a_workbook_that_cannot_be_read_is_left_out_with_its_reason(data, reason):
    with pytest.raises(SkippedError) as left_out:
        read("a.xlsx", data)
    assert left_out.value.reason == reason


GNU = (
    "2024-01-02  Ana Ruiz  <ana@x.example>\n\n\t* src/tide.c (tide_at): Take the moon into account.\n\n"
    "2023-12-30  Bo Berg  <bo@x.example>\n\n\t* NEWS: Mention it.\n"
)


@pytest.mark.parametrize("path", ["ChangeLog", "lib/ChangeLog-2023", "ChangeLog.1", "changelog.txt"])
def test_each_entry_of_a_gnu_changelog_is_a_record_with_its_author_and_date(path):
    found = read(path, GNU).records
    assert [(r.metadata["place"], r.metadata["author"], r.metadata["created_at"]) for r in found] == [
        (f"{path} › 2024-01-02, Ana Ruiz", "Ana Ruiz", 1704153600),
        (f"{path} › 2023-12-30, Bo Berg", "Bo Berg", 1703894400),
    ]
    assert found[1].text.endswith("* NEWS: Mention it.")


def test_the_older_form_and_debians_are_read_too():
    old = read("ChangeLog", "Tue Jan  2 10:11:12 1996  Ana Ruiz  (ana@x.example)\n\n\t* a.c: New.\n").records
    assert (old[0].metadata["place"], old[0].metadata["created_at"]) == (
        "ChangeLog › Jan 2 1996, Ana Ruiz",
        820577472,
    )
    debian = (
        "tides (1.2-1) unstable; urgency=medium\n\n  * New release of tides.\n\n"
        " -- Ana Ruiz <ana@x.example>  Tue, 02 Jan 2024 10:00:00 +0100\n"
    )
    (found,) = read("debian/changelog", debian).records
    assert (found.metadata["place"], found.metadata["version"], found.metadata["created_at"]) == (
        "debian/changelog › tides (1.2-1) unstable",
        "1.2",
        1704186000,
    )


def test_an_entry_with_an_impossible_date_has_that_of_its_file_and_prose_is_no_entry():
    assert read("ChangeLog", GNU.replace("2024-01-02", "2024-13-02")).records[0].metadata["created_at"] == 7
    assert "author" not in read("notes.txt", GNU).records[0].metadata
