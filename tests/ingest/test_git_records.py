"""Rules of commits as records: what of their object is read, and what of it is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_context_engine.ingest.git_history import Change, commit_records, parse_commit, without_trailers
from langchain_context_engine.ingest.split import Splitter
from langchain_context_engine.text.boilerplate import is_appendix


def commit(message=b"", *headers, author=b"author A. Writer <a@x> 1767607200 +0100"):
    return parse_commit("ab" * 20, b"\n".join([b"tree 1", author, *headers]) + b"\n\n" + message)


@pytest.mark.parametrize(
    ("header", "encoding", "text"),
    [
        (b"encoding latin1", "latin-1", "réparation"),
        (b"encoding ISO-8859-1", "cp1252", "“réparation”"),
        (b"encoding gb2312", "gbk", "修复"),
        (b"encoding ISO-2022-JP", "iso2022_jp", "修正しました"),
        *((f"encoding {lie}".encode(), "utf-8", "修复") for lie in ("hex", "idna", "utf-16", "klingon", "undefined")),
    ],
)  # fmt: skip
def test_a_message_is_read_as_its_header_means_it_and_as_utf8_where_it_is(header, encoding, text):
    """R2."""
    author = f"author {text} <a@x> 1767607200 +0100".encode(encoding)
    found = commit(text.encode(encoding), header, author=author)
    assert (found.message, found.author) == (text, text)


def test_of_a_message_in_an_unknown_encoding_stays_what_can_be_read():
    """R2."""
    assert commit(b"r\xe9paration").message == "r\ufffdparation"
    assert commit(b"\xef\xbb\xbfThe one\r\nth\0ing\n").message == "The one\nthing\n"


@pytest.mark.parametrize(
    ("line", "author", "place"),
    [
        (b"author Ana <a@x> 1767607200 +0100", "Ana", "abababab, 2026-01-05, Ana"),
        (b"author Ana <a@x> 1767607200 +0100 junk", "Ana", "abababab, 2026-01-05, Ana"),
        (b"author Agent 007 <a@x> 1767607200 +0000", "Agent 007", "abababab, 2026-01-05, Agent 007"),
        (b"author Ana <a@x", "Ana", "abababab, Ana"),
        (b"author Ana <a@x> -86400 +0000", "Ana", "abababab, 1969-12-31, Ana"),
        (b"author", "", "abababab"),
    ],
)
def test_an_author_is_read_from_a_line_that_is_not_as_git_writes_it(line, author, place):
    """R2."""
    found = commit(author=line)
    assert (found.author, found.place) == (author, place)


PIECES = st.sampled_from(
    [b"tree ", b"parent ", b"author ", b"committer ", b"encoding ", b"gpgsig ", b"\n", b" ", b"<", b">", b"Ana",
     b"1767607200", b"-1", b"9" * 30, b"+0100", b"\xff", b"\0", b"utf-16", b"zlib", b"idna", b"punycode", b"undefined",
     b"unicode_escape", b"\\x", b"1" * 40, "é".encode()]
)  # fmt: skip


@given(data=st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=40).map(b"".join)))
def test_any_bytes_are_a_commit_whose_text_and_place_can_be_written(data):
    for record in commit_records(parse_commit("ab" * 20, data), None, Splitter(), {}):
        assert record.text.encode("utf-8")
        assert str(record.metadata["place"]).encode("utf-8")
        assert abs(record.metadata.get("created_at", 0)) < 2**63


def text_of(files):
    changes = [Change(path=f"berths/{i}.py", lines=(1, 0)) for i in range(files)]
    (record,) = commit_records(commit(b"Move all."), changes, Splitter(chunk_size=4000), {})
    assert len(record.metadata["files"]) == min(50, files)
    assert record.metadata["files_changed"] == record.metadata["insertions"] == files
    return record.text


@pytest.mark.parametrize(("files", "listed", "said"), [(20, 20, ""), (21, 20, "1"), (200, 20, "180")])
def test_of_many_files_the_first_twenty_are_read_and_the_number_of_others_is_no_message(files, listed, said):
    text = text_of(files)
    assert text.count(".py (+1 −0)") == listed
    assert text.endswith(f"\n… and {said} more files" if said else ".py (+1 −0)")
    assert is_appendix(text.partition("\n\n")[2])
    assert not is_appendix(text)


def test_a_commit_links_to_those_that_its_message_names_and_a_long_one_is_several_records():
    other = "c" * 40
    message = f"Revert\n\nThis reverts commit {other}, not {'ab' * 20}.\n\n{'A reason. ' * 60}".encode()
    records = list(commit_records(commit(message), [], Splitter(chunk_size=300), {"tenant": "a"}))
    assert [record.id for record in records] == [
        "ab" * 20,
        *(f"{'ab' * 20}-{n}" for n in range(2, len(records) + 1)),
    ]
    for record in records:
        assert {
            "links": [other],
            "title": "Revert",
            "kind": "commit",
            "tenant": "a",
        }.items() <= record.metadata.items()


SQUASHED = """Let the quay grow (#12)

* Add a berth

Signed-off-by: Ana Ré <ana@a.org>

* Mend the crane

Change-Id: I8473b95934b5732ac55d26311a706c9c2bde9940

---------

Signed-off-by: Ana Ré <ana@a.org>
Co-authored-by: Bo Li <bo@b.org>
Co-authored-by: pre-commit-ci[bot] <66853113+pre-commit-ci[bot]@users.noreply.github.com>
Reviewed-by: Cy <cy@c.org>
Co-Authored-By: Di <di@d.org>"""


def test_of_trailers_the_names_of_others_stay_each_once_and_those_who_wrote_first():
    told, trailers = without_trailers(SQUASHED, "Ana Ré")
    assert told == (
        "Let the quay grow (#12)\n\n* Add a berth\n\n* Mend the crane\n\nCo-authored-by: Bo Li, Di\nReviewed-by: Cy"
    )
    assert "Change-Id: I8473b95934b5732ac55d26311a706c9c2bde9940" in trailers
    assert len(trailers) == 6


@pytest.mark.parametrize(
    "message",
    [
        "Mend it",
        "Mend it\n\nFixes: #12\nRefs: #14\nSee-also: the manual",
        "Mend it\n\n---------\n\nWhat follows the line is the message's own.",
        "Mend it\n\n    Signed-off-by: an example, indented",
        "Signed-off-by: Ana <ana@a.org>",
    ],
)
def test_what_people_wrote_stays_to_the_character(message):
    assert without_trailers(message, "Ana")[0] == message
    signed, _ = without_trailers(f"{message}\n\nSigned-off-by: Ana <ana@a.org>", "Ana")
    assert signed.replace("\n\n\n", "\n\n") == message.replace("\n\n\n", "\n\n")


def test_what_a_robot_notes_of_versions_is_no_message():
    noted = "---\nupdated-dependencies:\n- dependency-name: tea\n  dependency-type: direct:production\n..."
    told, _ = without_trailers(
        f"Bump tea\n\n{noted}\n\nSigned-off-by: dependabot[bot] <d@x>", "dependabot[bot]"
    )
    assert told == "Bump tea"
