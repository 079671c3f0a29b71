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
from tests.builders import WordEmbeddings
from tests.ingest_builders import git

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
