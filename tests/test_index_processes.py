"""The index on disk under processes that are killed and forked, under damage and a full disk."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import chromadb
import pytest

from langchain_context_engine import ChromaSource, ContextEngine
from langchain_context_engine.search.state import index_state
from tests.builders import a_request
from tests.chroma_builders import ids
from tests.index_builders import ASK, VECTOR, a_store, index_of, run


def test_a_process_opens_what_another_has_read_and_reads_nothing_again(tmp_path):
    collection = a_store(tmp_path, 300)
    source = ChromaSource(collection)
    source.prepare()
    number = source._shared.lexical.peek(source._handle).volume.edition.number
    told = json.loads(run(ASK, tmp_path, "w7x").stdout)
    assert told == [["n7"], [], number]


@pytest.mark.unmeasured
def test_a_reading_that_was_killed_goes_on_where_it_was(tmp_path):
    collection = a_store(tmp_path, 12_000)
    program = """
        import sys, chromadb
        from langchain_context_engine import ChromaSource, ContextEngine
        collection = chromadb.PersistentClient(sys.argv[1]).get_collection("notes", embedding_function=None)
        def told(done, total):
            print(done, flush=True)
        ChromaSource(collection).prepare(with_texts=False, progress=told)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)]
    reading = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert reading.stdout is not None
    reading.stdout.readline()
    reading.stdout.readline()
    reading.send_signal(signal.SIGKILL)
    reading.wait(10)
    state = index_state(collection)
    assert 2000 <= state.indexed < 12_000
    assert not state.is_whole
    done = []
    source = ChromaSource(collection)
    source.prepare(with_texts=False, progress=lambda many, _: done.append(many))
    assert min(done) > state.indexed
    found = source.fetch(a_request(query="w11999x", vector=VECTOR, limit=5))
    assert [c.id for c in found if c.claims["lexical"] > 0] == ["n11999"]
    assert index_state(collection).is_whole


def test_killed_at_any_moment_an_index_answers_as_a_new_one_does(tmp_path):
    """What a process wrote half when it died is finished or undone by the next."""
    collection = a_store(tmp_path, 400)
    ChromaSource(collection).prepare()
    program = """
        import sys, time, chromadb
        from langchain_context_engine import ChromaSource, ContextRequest
        collection = chromadb.PersistentClient(sys.argv[1]).get_collection("notes", embedding_function=None)
        source = ChromaSource(collection)
        source.prepare()
        print("ready", flush=True)
        for turn in range(10_000):
            collection.upsert(
                ids=[f"n{row}" for row in range(turn % 50, turn % 50 + 20)],
                documents=[f"changed t{turn}x" for _ in range(20)],
                embeddings=[[1.0, 0.1]] * 20,
            )
            source.prepare()
    """
    for seconds in (0.05, 0.3, 0.7):
        command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)]
        writing = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert writing.stdout is not None
        writing.stdout.readline()
        time.sleep(seconds)
        writing.send_signal(signal.SIGKILL)
        writing.wait(10)
    told = run(
        """
        import sys, chromadb
        from langchain_context_engine import ChromaSource, ContextEngine
        collection = chromadb.PersistentClient(sys.argv[1]).get_collection("notes", embedding_function=None)
        def answers(folder):
            engine = ContextEngine(sources=[ChromaSource(collection)], index_dir=folder, timeout_seconds=60)
            return [
                [(i.candidate.id, sorted(i.candidate.claims.items())) for i in engine.search(q, vector=[1.0, 0.5])]
                for q in ("changed", "billing item", "w77x", "w3x note")
            ]
        kept, anew = answers(None), answers(sys.argv[2])
        assert [[i for i, _ in each] for each in kept] == [[i for i, _ in each] for each in anew], (kept, anew)
        assert kept == anew
        """,
        tmp_path,
        tmp_path / "other",
    )
    assert told.returncode == 0, told.stderr


def _set_version(index: Path) -> None:
    with sqlite3.connect(index / "records.db") as database:
        database.execute("UPDATE facts SET value = 'older' WHERE name = 'version'")
    database.close()


DAMAGES = {
    "half of the records": lambda index: os.truncate(index / "records.db", 4000),
    "no records": lambda index: (index / "records.db").unlink(),
    "no words": lambda index: [path.unlink() for path in (index / "words").iterdir()],
    "a part of the words": lambda index: max(
        (path for path in (index / "words").iterdir() if path.suffix == ".term"),
        key=lambda p: p.stat().st_size,
    ).unlink(),
    "nonsense": lambda index: (index / "records.db").write_bytes(b"nonsense" * 1000),
    "another version": _set_version,
}


@pytest.fixture(scope="module")
def whole_store(tmp_path_factory):
    """A store whose index another process has made, to be copied."""
    folder = tmp_path_factory.mktemp("whole")
    a_store(folder, 200)
    assert run(ASK, folder, "w7x").returncode == 0
    return folder


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_made_anew_and_said_once(whole_store, tmp_path, damage):
    shutil.copytree(whole_store, tmp_path, dirs_exist_ok=True)
    DAMAGES[damage](index_of(tmp_path))
    first = run(ASK, tmp_path, "w7x")
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)[0] == ["n7"]
    collection = chromadb.PersistentClient(str(tmp_path)).get_collection("notes", embedding_function=None)
    second = ContextEngine(sources=[ChromaSource(collection)]).build("w7x", vector=VECTOR, limit=5)
    assert [c.id for c in second.candidates if c.claims.get("lexical")] == ["n7"]
    assert second.warnings == ()
    assert index_state(collection).is_whole


def test_an_index_that_vanishes_while_it_is_used_costs_no_question(tmp_path):
    source = ChromaSource(a_store(tmp_path, 200))
    source.prepare()
    shutil.rmtree(tmp_path / "context-engine-index")
    for _ in range(3):
        found = source.fetch(a_request(query="w7x", vector=VECTOR, limit=3))
        assert found
    assert found[0].claims["lexical"] > 0 or found[1].claims["lexical"] > 0


def test_the_writers_lock_is_free_when_its_process_is_gone(tmp_path):
    collection = a_store(tmp_path, 50)
    source = ChromaSource(collection)
    source.prepare()
    program = """
        import sys, time
        from pathlib import Path
        from langchain_context_engine.search.writer_lock import WriterLock
        with WriterLock(Path(sys.argv[1])).held() as is_held:
            print(is_held, flush=True)
            time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(index_of(tmp_path) / "lock")]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "True\n"
    collection.upsert(ids=["new"], documents=["a zebra"], embeddings=[VECTOR])
    assert "new" in ids(source.fetch(a_request(query="zebra", vector=VECTOR, limit=3)))  # nobody waits
    shelf = source._shared.lexical.peek(source._handle)
    number = shelf.volume.edition.number
    shelf.flush()
    assert shelf.volume.edition.number == number
    holder.send_signal(signal.SIGKILL)
    holder.wait(10)
    shelf.flush()
    assert shelf.volume.edition.number > number


@pytest.mark.parametrize(
    ("records", "room", "is_late", "told"),
    [
        (300, 30_000, False, "its index cannot be kept at"),
        (3000, 100_000, False, "its index is kept in memory"),
        (300, 30_000, True, "the index of 'notes' cannot be written"),
    ],
    ids=["opening", "reading", "writing on"],
)
def test_a_full_disk_costs_a_warning_that_says_so_and_the_answer_stands(
    tmp_path, records, room, is_late, told
):
    """Whenever it happens: what ends a failed write must not hide why it failed."""
    a_store(tmp_path, records)
    ended = run(
        """
        import sys, json, resource, signal, time, chromadb
        from langchain_context_engine import ChromaSource, ContextEngine
        folder, room, is_late = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "True"
        collection = chromadb.PersistentClient(folder).get_collection("notes", embedding_function=None)
        collection.query(query_embeddings=[[1.0, 0.5]], n_results=1)
        engine = ContextEngine(sources=[ChromaSource(collection)], timeout_seconds=60)
        if is_late:
            engine.sources[0].prepare()
            rows = range(1200)  # as many as are written to disk at once
            collection.upsert(
                ids=[f"m{row}" for row in rows],
                documents=[f"more of billing, w{row}y" for row in rows],
                embeddings=[[1.0, 0.2] for _ in rows],
            )
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        found, warnings, until = [], [], time.monotonic() + 30
        while not any("disk" in warning for warning in warnings) and time.monotonic() < until:
            context = engine.build("w7x", vector=[1.0, 0.5], limit=5)
            found.append(len(context.candidates))
            warnings += context.warnings
        print(json.dumps([sorted(set(found)), [warning for warning in warnings if "disk" in warning]]))
        """,
        tmp_path,
        room,
        is_late,
    )
    assert ended.returncode == 0, ended.stderr
    found, warnings = json.loads(ended.stdout.splitlines()[-1])
    assert found == [5]
    assert len(warnings) == 1
    assert told in warnings[0]
    assert "disk" in warnings[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_an_engine_made_before_a_fork_answers_in_the_child_or_says_what_to_do(tmp_path):
    a_store(tmp_path, 200)
    ended = run(
        """
        import os, signal, sys, chromadb
        from langchain_context_engine import ChromaSource, ContextEngine
        from langchain_context_engine.models.errors import AllSourcesFailedError
        collection = chromadb.PersistentClient(sys.argv[1]).get_collection("notes", embedding_function=None)
        engine = ContextEngine(sources=[ChromaSource(collection)], timeout_seconds=30)
        engine.sources[0].prepare()
        def words(question):
            found = engine.search(question, vector=[1.0, 0.5])
            return [item.candidate.id for item in found if item.candidate.claims["lexical"]]
        assert words("w7x") == ["n7"]
        lock, (ours, theirs), (heard, said) = engine.sources[0]._shared.lexical._lock, os.pipe(), os.pipe()
        lock.acquire()  # as a thread of the parent might hold it at that moment
        child = os.fork()
        if child == 0:
            signal.alarm(30)  # one that hangs does not stay
            assert words("w8x") == ["n8"]
            os.write(1, b"child answered" + bytes([10]))
            os.write(said, b"x")
            os.read(ours, 1)
            try:
                words("w9x")
            except AllSourcesFailedError as error:
                os.write(1, str(error).encode() + bytes([10]))
            os._exit(0)
        lock.release()
        os.read(heard, 1)
        collection.upsert(ids=["n1"], documents=["other words"], embeddings=[[1.0, 0.5]])
        os.write(theirs, b"x")
        os.waitpid(child, 0)
        assert words("w7x") == ["n7"]
        print("parent answered")
        """,
        tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    assert "child answered" in ended.stdout
    assert "parent answered" in ended.stdout
    assert "before this process was forked" in ended.stdout
