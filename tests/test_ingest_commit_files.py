"""The files that a commit touched: the first of many are listed, and belong to its message."""

from __future__ import annotations

import pytest

from langchain_context_engine.ingest.git_commit import Commit
from langchain_context_engine.ingest.git_history import Change
from langchain_context_engine.ingest.git_records import commit_records
from langchain_context_engine.ingest.split import Splitter
from langchain_context_engine.text.worth import is_appendix


def text_of(files):
    """Return the text of a commit that touched so many files."""
    when = 1_767_225_600
    facts = {"id": "a" * 40, "tree": "", "parents": (), "author": "Ana", "message": "Move all."}
    commit = Commit(**facts, created_at=when, committed_at=when)
    changes = [Change(path=f"berths/{i}.py", lines=(1, 0)) for i in range(files)]
    (record,) = commit_records(commit, changes, Splitter(chunk_size=4000, overlap=0), {})
    assert len(record.metadata["files"]) == min(50, files)
    return record.text


@pytest.mark.parametrize(("files", "listed", "said"), [(20, 20, ""), (21, 20, "1"), (200, 20, "180")])
def test_of_many_files_the_first_twenty_are_read(files, listed, said):
    text = text_of(files)
    assert text.count(".py (+1 −0)") == listed
    assert text.endswith(f"\n… and {said} more files" if said else ".py (+1 −0)")


def test_that_there_are_more_files_is_no_message():
    appendix = text_of(30).partition("\n\n")[2]
    assert is_appendix(appendix)
    assert not is_appendix(appendix, counts_more=False)
    assert not is_appendix(text_of(30))
