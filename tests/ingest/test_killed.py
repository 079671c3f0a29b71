"""Rules of a run that ends in the middle: whenever that is, the next one completes it."""

from __future__ import annotations

import uuid

import chromadb
import pytest

from langchain_context_engine.ingest import index_repository
from tests.builders import WordEmbeddings
from tests.ingest_builders import content, git, write_files

KINDS = ("code", "commits", "docs")

BATCH = 4


class KilledError(BaseException):
    """Nothing catches it, as nothing catches a kill."""


class MortalCollection:
    """A real collection whose client is killed before one of its writes."""

    def __init__(self, collection, client):
        self._collection = collection
        self._client = client

    def __getattr__(self, name):
        if name in {"upsert", "update", "delete", "modify"}:
            self._client.write()
        return getattr(self._collection, name)


class MortalClient:
    """A real client that is killed after so many writes."""

    def __init__(self, client, writes):
        self._client = client
        self._left = writes

    def __getattr__(self, name):
        return getattr(self._client, name)

    def get_max_batch_size(self):
        return BATCH

    def get_collection(self, *arguments, **named):
        return MortalCollection(self._client.get_collection(*arguments, **named), self)

    def create_collection(self, *arguments, **named):
        self.write()
        return MortalCollection(self._client.create_collection(*arguments, **named), self)

    def write(self):
        if not self._left:
            raise KilledError
        self._left -= 1


def index(folder, client, prefix, writes=10_000):
    return index_repository(folder, MortalClient(client, writes), WordEmbeddings(), prefix=prefix)


def held(client, prefix):
    return {kind: content(client, f"{prefix}{kind}") for kind in KINDS}


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """One repository before and after a change of everything that can change."""
    folder = tmp_path_factory.mktemp("killed") / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    long = f"Long\n\n{'A reason for it. ' * 120}"
    write_files(
        folder, a_dot_py="def f():\n    pass\n\n\ndef g():\n    pass\n", b_dot_md="# B\n\nx\n\n## C\n\ny\n"
    )
    write_files(folder, gone_dot_md="# Gone\n\nx\n\n## Too\n\ny\n\n## And\n\nz\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", long)

    def change():
        write_files(
            folder, a_dot_py="def f():\n    return 1\n\n\ndef h():\n    pass\n", c_dot_md="# New\n\nx\n"
        )
        (folder / "gone.md").unlink()
        git(folder, "add", "-A")
        git(folder, "commit", "--amend", "-qm", f"{long} Amended.", date="2026-01-06T10:00:00Z")

    return folder, change


def killed_at_each_write(index_until):
    """Call with 0, 1, 2 … writes until a run comes to its end; return how many did not."""
    for writes in range(100):
        try:
            index_until(writes)
        except KilledError:
            continue
        return writes
    raise AssertionError


@pytest.mark.unmeasured
def test_a_run_that_is_killed_before_any_of_its_writes_is_completed_by_the_next(states, tmp_path):
    client = chromadb.PersistentClient(str(tmp_path))
    folder, change = states
    prefixes = [f"k{uuid.uuid4().hex[:12]}-" for _ in range(40)]
    killed = killed_at_each_write(lambda writes: index(folder, client, prefixes[writes], writes))
    before = held(client, prefixes[killed])
    assert killed > 6
    for prefix in prefixes[:killed]:
        index(folder, client, prefix)
        assert held(client, prefix) == before
    change()
    killed_again = killed_at_each_write(lambda writes: index(folder, client, prefixes[writes], writes))
    after = held(client, prefixes[killed_again])
    assert before != after
    assert killed_again > 3
    for prefix in prefixes[:killed_again]:
        index(folder, client, prefix)
        assert held(client, prefix) == after
