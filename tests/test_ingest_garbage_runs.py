"""The rule that nothing foreign ends a run: commits, histories and files made of garbage."""

from __future__ import annotations

import os
import shutil
import sys
import uuid

import chromadb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langchain_context_engine.ingest import index_repository
from langchain_context_engine.ingest.git_commit import parse_commit
from langchain_context_engine.ingest.git_records import commit_records
from langchain_context_engine.ingest.split import Splitter
from tests.builders import WordEmbeddings
from tests.ingest_builders import git, object_path, raw_commit, write_files

PIECES = st.sampled_from(
    [
        b"tree ", b"parent ", b"author ", b"committer ", b"encoding ", b"gpgsig ", b"\n", b" ", b"<", b">",
        b"a@x", b"Ana", b"1767607200", b"-1", b"9" * 30, b"+0100", b"\xff", b"\0", b"utf-16", b"zlib", b"idna",
        b"punycode", b"undefined", b"unicode_escape", b"\\x", b"1" * 40, "é".encode(),
    ]
)  # fmt: skip
GARBAGE = st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=40).map(b"".join))


@given(data=GARBAGE)
def test_any_bytes_are_a_commit_whose_text_and_place_can_be_written(data):
    commit = parse_commit("ab" * 20, data)
    for record in commit_records(commit, None, Splitter(), {}):
        assert record.text.encode("utf-8")
        assert str(record.metadata["place"]).encode("utf-8")
        assert abs(record.metadata.get("created_at", 0)) < 2**63


@settings(deadline=None, max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    headers=st.lists(GARBAGE, max_size=3),
    message=GARBAGE,
    damage=st.sampled_from(["none", "no tree", "no blob", "torn object"]),
    data=st.data(),
)
def test_a_history_of_garbage_is_indexed_with_all_that_is_whole(tmp_path, headers, message, damage, data):
    folder = tmp_path / uuid.uuid4().hex
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    write_files(folder, a_dot_md="# A\n\nx\n", sub__b_dot_md="# B\n\nx\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Whole")
    whole = git(folder, "rev-parse", "HEAD").strip()
    odd = raw_commit(folder, headers, message, parents=[whole])
    git(folder, "update-ref", "--no-deref", "HEAD", odd)
    if damage == "no tree":
        object_path(folder, git(folder, "rev-parse", f"{whole}:sub").strip()).unlink()
    elif damage == "no blob":
        object_path(folder, git(folder, "rev-parse", f"{whole}:a.md").strip()).unlink()
    elif damage == "torn object":
        path = object_path(folder, whole)
        path.chmod(0o644)
        path.write_bytes(data.draw(st.binary(max_size=60)))
    client = chromadb.EphemeralClient()
    prefix = f"g{uuid.uuid4().hex[:12]}-"
    report = index_repository(folder, client, WordEmbeddings(), prefix=prefix)
    commits = set(client.get_collection(f"{prefix}commits", embedding_function=None).get()["ids"])
    assert {commit.partition("-")[0] for commit in commits} == {odd} | (
        set() if damage == "torn object" else {whole}
    )
    assert report[f"{prefix}docs"].added == 2
    assert index_repository(folder, client, WordEmbeddings(), prefix=prefix).written == 0
    shutil.rmtree(folder)


NAMES = st.binary(min_size=1, max_size=12).filter(
    lambda n: not {0, 47} & set(n) and n not in {b".", b"..", b".git"}
)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@settings(deadline=None, max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.dictionaries(
        st.builds(bytes.__add__, NAMES, st.sampled_from([b".md", b".py", b".rs", b".txt", b""])),
        st.one_of(st.binary(max_size=80), st.text(max_size=80).map(str.encode)),
        max_size=5,
    ),
    ignore=st.binary(max_size=40),
    is_repository=st.booleans(),
)
def test_a_folder_of_garbage_is_indexed_and_a_second_run_writes_nothing(
    tmp_path, files, ignore, is_repository
):
    folder = tmp_path / uuid.uuid4().hex
    folder.mkdir()
    for name, data in files.items():
        (folder / os.fsdecode(name)).write_bytes(data)
    (folder / ".gitignore").write_bytes(ignore)
    if is_repository:
        git(folder, "init", "-q")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "--allow-empty", "-m", "Garbage")
    client = chromadb.EphemeralClient()
    prefix = f"g{uuid.uuid4().hex[:12]}-"
    first = index_repository(folder, client, WordEmbeddings(), prefix=prefix)
    second = index_repository(folder, client, WordEmbeddings(), prefix=prefix)
    assert second.written == 0
    assert (second.unchanged, second.skipped) == (first.added, first.skipped)
    shutil.rmtree(folder)
