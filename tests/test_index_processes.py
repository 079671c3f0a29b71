"""The index on disk under many processes: killed, forked, damaged, written to by one while others ask."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import chromadb
import pytest

from langchain_context_engine import ChromaSource, ContextEngine
from langchain_context_engine.searching.state import index_state
from tests.builders import WordEmbeddings, a_collection, a_request
from tests.chroma_builders import EMBEDDINGS, ids, notes

VECTOR = [1.0, 0.5]


def run(program: str, *arguments: object, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


def a_store(folder: Path, n: int, name: str = "notes") -> chromadb.Collection:
    collection = chromadb.PersistentClient(str(folder)).create_collection(name, embedding_function=None)
    for start in range(0, n, 5000):
        rows = range(start, min(n, start + 5000))
        collection.add(
            ids=[f"n{row}" for row in rows],
            documents=[f"note {row} about billing, item w{row}x" for row in rows],
            metadatas=[{"team": "red" if row % 2 else "blue"} for row in rows],
            embeddings=[[1.0, row / n] for row in rows],
        )
    return collection


def index_of(folder: Path) -> Path:
    return next((folder / "context-engine-index").iterdir())


ASK = """
    import sys, json, chromadb
    from langchain_context_engine import ChromaSource, ContextEngine
    collection = chromadb.PersistentClient(sys.argv[1]).get_collection("notes", embedding_function=None)
    engine = ContextEngine(sources=[ChromaSource(collection)], timeout_seconds=60)
    context = engine.build(sys.argv[2], vector=[1.0, 0.5], limit=5)
    lexical = [c.id for c in context.candidates if c.claims.get("lexical")]
    shelf = engine.sources[0]._shared.lexical.state(engine.sources[0]._handle)
    print(json.dumps([lexical, list(context.warnings), shelf.volume.edition.number]))
"""


def test_a_process_opens_what_another_has_read_and_reads_nothing_again(tmp_path):
    collection = a_store(tmp_path, 300)
    source = ChromaSource(collection)
    source.prepare()
    number = source._shared.lexical.peek(source._handle).volume.edition.number
    told = json.loads(run(ASK, tmp_path, "w7x").stdout)
    assert told == [["n7"], [], number]


def test_a_reading_that_was_killed_goes_on_where_it_was(tmp_path):
    collection = a_store(tmp_path, 12_000)
    program = """
        import sys, chromadb
        from langchain_context_engine import ChromaSource
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
    assert 4000 <= state.indexed < 12_000
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
    import sqlite3

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


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_made_anew_and_said_once(tmp_path, damage):
    collection = a_store(tmp_path, 200)
    assert run(ASK, tmp_path, "w7x").returncode == 0
    DAMAGES[damage](index_of(tmp_path))
    first, second = (run(ASK, tmp_path, "w7x") for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr
    assert json.loads(first.stdout)[0] == json.loads(second.stdout)[0] == ["n7"]
    assert json.loads(second.stdout)[1] == []
    assert index_state(collection).is_whole


def test_an_index_that_vanishes_while_it_is_used_costs_no_question(tmp_path):
    import shutil

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
        from langchain_context_engine.searching.writer_lock import WriterLock
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


def test_a_full_disk_costs_a_warning_and_the_answer_stands(tmp_path):
    a_store(tmp_path, 300)
    ended = run(
        """
        import sys, json, resource, signal, chromadb
        from langchain_context_engine import ChromaSource, ContextEngine
        collection = chromadb.PersistentClient(sys.argv[1]).get_collection("notes", embedding_function=None)
        collection.query(query_embeddings=[[1.0, 0.5]], n_results=1)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
        engine = ContextEngine(sources=[ChromaSource(collection)], timeout_seconds=60)
        context = engine.build("w7x", vector=[1.0, 0.5], limit=5)
        print(json.dumps([len(context.candidates), list(context.warnings), str(context.status)]))
        """,
        tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    found, warnings, _ = json.loads(ended.stdout.splitlines()[-1])
    assert found == 5
    assert len([warning for warning in warnings if "notes" in warning]) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_an_engine_made_before_a_fork_answers_in_the_child_or_says_what_to_do(tmp_path):
    a_store(tmp_path, 200)
    ended = run(
        """
        import os, signal, sys, chromadb
        from langchain_context_engine import ChromaSource, ContextEngine
        from langchain_context_engine.values.errors import AllSourcesFailedError
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


WRITER = """
    import sys, time, chromadb
    collection = chromadb.PersistentClient(sys.argv[1]).get_collection("notes", embedding_function=None)
    until, turn = time.monotonic() + float(sys.argv[2]), 0
    while time.monotonic() < until:
        began = time.monotonic()
        collection.upsert(ids=[f"v{turn % 40}"], documents=[f"turn k{turn}q of the writer"], embeddings=[[1.0, 0.5]])
        print(turn, flush=True)
        turn += 1
        time.sleep(max(0.0, 0.01 - (time.monotonic() - began)))
"""
READER = """
    import sys, time, chromadb
    from pathlib import Path
    from langchain_context_engine import ChromaSource, ContextEngine
    collection = chromadb.PersistentClient(sys.argv[1]).get_collection("notes", embedding_function=None)
    engine = ContextEngine(sources=[ChromaSource(collection)], timeout_seconds=60)
    log, until, asked, wrong = Path(sys.argv[3]), time.monotonic() + float(sys.argv[2]), 0, 0
    while time.monotonic() < until:
        lines = log.read_text().split()
        if not lines:
            continue
        last = int(lines[-1])
        context = engine.build(f"k{last}q", vector=[1.0, 0.5], limit=60)
        texts = [c.text for c in context.candidates]
        # It may have been written over by one that is forty turns later, never be missing before that.
        later = int(log.read_text().split()[-1])
        if not any(f"k{last}q" in text for text in texts) and later < last + 39:
            wrong += 1
        gone = [t for t in texts if t.startswith("turn k") and int(t.split("k")[1].split("q")[0]) < last - 40]
        wrong += len(gone) + len(context.warnings)
        asked += 1
        if gone or context.warnings:
            sys.stderr.write(f"{last} {later} {gone[:3]} {context.warnings}" + chr(10))
    print(asked, wrong)
"""


def test_while_one_process_writes_four_others_ask_and_none_answers_wrongly(tmp_path):
    a_store(tmp_path, 200)
    assert run(ASK, tmp_path, "w7x").returncode == 0
    log = tmp_path / "log.txt"
    with log.open("w") as out:
        command = [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path), "14"]
        writer = subprocess.Popen(command, stdout=out)
        command = [sys.executable, "-c", textwrap.dedent(READER), str(tmp_path), "8", str(log)]
        readers = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(4)
        ]
        told = [reader.communicate(timeout=110) for reader in readers]
        writer.wait(60)
    assert [error for _, error in told] == [""] * 4
    counted = [tuple(map(int, out.split())) for out, _ in told]
    assert all(asked > 0 for asked, _ in counted)
    assert [wrong for _, wrong in counted] == [0] * 4


def test_an_index_of_a_later_copy_of_the_store_is_not_believed(tmp_path):
    import shutil

    store, copy = tmp_path / "store", tmp_path / "copy"
    collection = a_collection(
        notes(30), client=chromadb.PersistentClient(str(store)), name="notes", embeddings=WordEmbeddings(2)
    )
    shutil.copytree(store, copy)
    collection.add(ids=["later"], documents=["a zebra"], embeddings=[VECTOR])
    ChromaSource(collection).prepare()
    shutil.copytree(store / "context-engine-index", copy / "context-engine-index")
    told = json.loads(run(ASK, copy, "zebra").stdout)
    assert told[0] == []


def test_engines_over_parts_of_a_store_share_its_indexes(tmp_path):
    client = chromadb.PersistentClient(str(tmp_path))
    kept = [a_collection(notes(20), name=f"notes{i}", embeddings=EMBEDDINGS, client=client) for i in range(2)]
    both = ContextEngine(sources=[ChromaSource(each, embeddings=EMBEDDINGS) for each in kept])
    one = ContextEngine(sources=[ChromaSource(kept[0], embeddings=EMBEDDINGS)])
    assert both.search("billing item")
    assert one.search("billing item")
    assert len(list((tmp_path / "context-engine-index").iterdir())) == 2
