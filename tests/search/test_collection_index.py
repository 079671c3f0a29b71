"""The index of words keeps in step with its collection, by what Chroma's public API tells, and bears what befalls it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import chromadb
import pytest
from filelock import FileLock

from langchain_context_engine import ChromaSource, ContextEngine, ContextRequest
from langchain_context_engine.search import collection_index
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.collection_index import folder_of, store_stamp
from langchain_context_engine.search.store_overview import index_state
from tests.builders import WordEmbeddings, a_collection, a_request
from tests.chroma_builders import EMBEDDINGS, a_source, client, notes
from tests.index_builders import ASK, VECTOR, a_store, ask, index_of, run, started

__all__ = ["client"]


def put(collection, id_, text, **metadata) -> None:
    collection.upsert(
        ids=[id_], documents=[text], metadatas=[metadata or None], embeddings=[EMBEDDINGS.embed_query(text)]
    )


def by_words(source, query, **fields) -> list[str]:
    found = source.fetch(a_request(query=query, limit=60, **fields))
    return sorted(c.id for c in found if c.claims.get("lexical"))


def a_quiet_source(collection, seconds=0.0) -> ChromaSource:
    """A source whose collection is compared again after so many seconds."""
    source = ChromaSource(collection, embeddings=EMBEDDINGS)
    source._shared.lexical._quiet_seconds = seconds
    return source


# In step


def test_what_was_added_changed_or_deleted_is_found_by_the_next_search(client):
    """I81."""
    source = a_source([{"id": "a", "text": "the zebra"}, {"id": "b", "text": "the lion"}], client=client)
    collection = source._handle.collection
    assert by_words(source, "zebra") == ["a"]
    put(collection, "c", "another zebra and yet another zebra")
    assert by_words(source, "zebra") == ["a", "c"]
    collection.delete(ids=["a"])
    assert by_words(source, "zebra") == ["c"]
    put(collection, "d", "a tiger")
    collection.delete(ids=["b"])
    assert by_words(source, "tiger") == ["d"]
    assert by_words(source, "lion") == []


def test_what_is_written_while_the_index_is_written_down_is_found_by_the_next_search(tmp_path, monkeypatch):
    """I81: the search in that moment took the index as it was, and said nothing."""

    def slowly(*given, write=collection_index.write):
        time.sleep(0.3)
        write(*given)

    monkeypatch.setattr(collection_index, "write", slowly)
    source = a_source([{"id": "a", "text": "the zebra"}], client=chromadb.PersistentClient(str(tmp_path)))
    assert by_words(source, "zebra") == ["a"]
    put(source._handle.collection, "b", "another zebra")
    assert by_words(source, "zebra") == ["a", "b"]


def test_what_is_written_while_the_index_is_being_read_is_found_by_the_next_search(tmp_path, monkeypatch):
    """I81: a search that waited for the reading of an earlier one had not looked itself."""
    source = a_source([{"id": "a", "text": "the zebra"}], client=chromadb.PersistentClient(str(tmp_path)))
    index = source._shared.lexical.index_of(source._handle)

    def slowly(stamp, told=None, catch_up=index._catch_up):
        catch_up(stamp, told)
        time.sleep(0.3)

    monkeypatch.setattr(index, "_catch_up", slowly)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(by_words, source, "zebra")
        while not index.is_whole:
            time.sleep(0.01)
        put(source._handle.collection, "b", "another zebra")
        assert by_words(source, "zebra") == ["a", "b"]
        assert first.result() in (["a"], ["a", "b"])


def test_what_is_rewritten_in_place_in_a_small_store_in_files_is_found_at_once(tmp_path):
    source = a_source(
        [{"id": f"n{i}", "text": f"note {i}"} for i in range(50)],
        client=chromadb.PersistentClient(str(tmp_path)),
    )
    assert by_words(source, "zebra") == []
    put(source._handle.collection, "n7", "now a zebra", user="A")
    assert by_words(source, "zebra") == ["n7"]
    assert by_words(source, "zebra", scope={"user": "B"}) == []
    source._handle.collection.update(ids=["n7"], metadatas=[{"user": "B"}])
    assert by_words(source, "zebra", scope={"user": "B"}) == ["n7"]


def test_what_is_rewritten_in_a_large_store_in_files_is_found_soon(tmp_path, monkeypatch):
    monkeypatch.setattr("langchain_context_engine.search.collection_index._COMPARED_AT_ONCE", 10)
    source = a_source(
        [{"id": f"n{i:03}", "text": f"note {i}"} for i in range(300)],
        client=chromadb.PersistentClient(str(tmp_path)),
    )
    source.prepare()
    put(source._handle.collection, "n150", "elephants that nobody thinks near")
    until = time.monotonic() + 60
    while "n150" not in by_words(source, "elephants") and time.monotonic() < until:
        time.sleep(0.05)
    assert by_words(source, "elephants") == ["n150"]


def test_what_is_rewritten_in_memory_is_taken_in_when_it_is_shown_and_all_of_it_now_and_then():
    collection = a_collection(
        [{"id": f"n{i:03}", "text": f"note {i}"} for i in range(300)], embeddings=EMBEDDINGS
    )
    source = a_quiet_source(collection, seconds=60)
    source.fetch(a_request(query="zebra"))
    put(collection, "n007", "now a zebra")
    shown = {c.id: c for c in source.fetch(a_request(query="zebra"))}
    assert shown["n007"].text == "now a zebra"
    assert shown["n007"].claims["lexical"] > 0
    often = a_quiet_source(collection)
    put(collection, "n100", "a lion")
    until = time.monotonic() + 60
    while not by_words(often, "lion") and time.monotonic() < until:
        time.sleep(0.02)
    assert by_words(often, "lion") == ["n100"]


def test_a_store_in_files_that_nobody_wrote_to_is_not_read_again(tmp_path):
    """Its age and size tell; a question costs no call for it, in this process and in the next."""
    source = a_source(notes(40), client=chromadb.PersistentClient(str(tmp_path)))
    source.prepare()
    handle = source._handle
    assert store_stamp(handle) == store_stamp(handle)
    for asked in (source, ChromaSource(handle.collection, embeddings=EMBEDDINGS)):
        calls = []
        call = asked._handle._call
        asked._handle._call = lambda method, call=call, calls=calls, **a: (
            calls.append(method) or call(method, **a)
        )
        assert by_words(asked, "billing item 3")
        assert calls == ["query", "get"]
    put(handle.collection, "x", "zebra")
    assert store_stamp(handle) != store_stamp(handle)  # written a moment ago: equal to nothing


OPEN = """
    import sys
    import chromadb
    from langchain_context_engine import ChromaSource
    from langchain_context_engine.search.collection_index import CollectionIndex, opening

    compare, compared = CollectionIndex._compare, []
    CollectionIndex._compare = lambda index, *given: compared.append(index) or compare(index, *given)
    with opening(sys.argv[1]):
        client = chromadb.PersistentClient(sys.argv[1])
    collection = client.get_collection("notes", embedding_function=None)
    ChromaSource(collection).prepare()
    print(len(compared))
"""


def test_a_program_that_only_opens_a_store_does_not_read_it_again(tmp_path):
    """Chroma writes to its file whenever a client opens it; what is rewritten in place is still seen."""
    ChromaSource(a_store(tmp_path, 40)).prepare()
    rewrites = f"{OPEN}    collection.update(ids=['n7'], documents=['a zebra'], embeddings=[[1.0, 0.2]])"
    assert run(rewrites, tmp_path).stdout.strip() == "0"
    compared, found = run(OPEN + ASK, tmp_path, "zebra").stdout.splitlines()
    assert (compared, json.loads(found)[0]) == ("1", ["n7"])


@pytest.mark.hurried
def test_a_question_during_a_reading_says_so_with_figures_and_without_them_in_a_scope(tmp_path):
    """S2."""
    collection = a_store(tmp_path, 1100)
    engine = ContextEngine(sources=[ChromaSource(collection)], timeout_seconds=8)
    source = engine.sources[0]
    folder = folder_of(source._handle)
    folder.mkdir(parents=True)
    with FileLock(folder / "lexical.lock"):  # as another process that reads it just now
        source.fetch(a_request(vector=VECTOR))
        open_ = engine.build("w7x", vector=VECTOR)
        scoped = engine.build("w7x", vector=VECTOR, scope={"team": "red"})
    assert open_.candidates
    assert scoped.candidates
    assert "the words of 'notes' are being read: 0 of 1,100; this answer did without them" in open_.warnings
    assert "the words of 'notes' are being read; this answer did without them" in scoped.warnings
    source.prepare()
    assert engine.build("w7x", vector=VECTOR).warnings == ()


def test_a_server_that_hangs_keeps_no_other_source_waiting():
    """Promise 8."""

    is_over, ended = threading.Event(), []

    class Hanging:
        name, id, metadata, _client = "hanging", "0", {}, None

        def count(self):
            is_over.wait(60)
            ended.append(self)
            raise ConnectionError("gone")

        query = get = count

    source = a_source(notes(3))
    source._shared.lexical.register(CollectionHandle(Hanging()))
    assert source.fetch(a_request())
    assert not ended
    is_over.set()


def test_scores_compare_over_the_collections_of_an_engine_and_an_engine_of_many_is_one():
    common = [{"id": f"n{i}", "text": "billing note"} for i in range(20)]
    sources = [
        ChromaSource(a_collection(records, embeddings=EMBEDDINGS), embeddings=EMBEDDINGS)
        for records in (
            [{"id": "a", "text": "billing zebra"}],
            [*common, {"id": "b", "text": "billing zebra"}],
            *([{"id": f"r{i}", "text": f"tiger number{i}x"}] for i in range(20)),
        )
    ]
    engine = ContextEngine(sources=sources, timeout_seconds=60)
    asked = a_request(query="billing zebra")
    found = {c.id: c.claims["lexical"] for source in engine.sources[:2] for c in source.fetch(asked)}
    assert found["a"] == found["b"] > 0
    assert [i.candidate.id for i in engine.search("number17x") if i.candidate.claims["lexical"]] == ["r17"]


@pytest.mark.parametrize("query", ["invocie", "billing invoice", "zebra note"])
def test_what_another_tenant_has_changes_no_score_and_no_correction(client, query):
    """Promise 4: nobody learns from an answer whether a word stands in another tenant's records."""
    mine = [{"id": f"a{i}", "text": f"invoice {i} about billing", "user": "A"} for i in range(6)]
    theirs = [{"id": f"b{i}", "text": "invocie zebra billing note", "user": "B"} for i in range(30)]
    gone = [{"id": "c", "text": "an invocie", "user": "A", "deleted": True}]
    told = [
        {
            c.id: c.claims
            for c in a_source(r, client=client).fetch(a_request(query=query, scope={"user": "A"}))
        }
        for r in (mine, [*mine, *theirs, *gone])
    ]
    assert told[0] == told[1]
    assert told[0]["a1"]["lexical"] > 0 or query == "zebra note"


# On disk


def test_an_index_lies_beside_the_store_as_private_as_that_or_where_one_says(tmp_path, monkeypatch):
    store = tmp_path / "store"
    collection = a_collection(notes(3), client=chromadb.PersistentClient(str(store)))
    store.chmod(0o700)
    before = os.umask(0)
    try:
        ChromaSource(collection, embeddings=EMBEDDINGS).prepare()
    finally:
        os.umask(before)
    home = index_of(store).parent
    assert stat.S_IMODE(home.stat().st_mode) == stat.S_IMODE(home.parent.stat().st_mode) == 0o700
    handle = CollectionHandle(collection)
    assert folder_of(handle) == home
    monkeypatch.setenv("CONTEXT_ENGINE_INDEX_DIR", str(tmp_path / "elsewhere"))
    assert tmp_path / "elsewhere" in folder_of(handle).parents
    assert tmp_path / "here" in folder_of(handle, tmp_path / "here").parents
    assert folder_of(CollectionHandle(a_collection(notes(1)))) is None


def test_beside_a_store_that_may_not_be_written_the_index_is_kept_in_the_cache(tmp_path, monkeypatch):
    collection = a_store(tmp_path / "store", 20)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("langchain_context_engine.search.collection_index.os.access", lambda *_: False)
    source = ChromaSource(collection)
    source.prepare()
    assert list((tmp_path / "cache").rglob("lexical.index"))


def test_a_process_opens_what_another_has_read(tmp_path):
    collection = a_store(tmp_path, 300)
    ChromaSource(collection).prepare()
    written = index_of(tmp_path).stat()
    assert json.loads(run(ASK, tmp_path, "w7x").stdout) == [["n7"], []]
    assert index_of(tmp_path).stat() == written
    collection.upsert(ids=["n7"], documents=["w7y instead"], embeddings=[VECTOR])
    assert ask(tmp_path, "w7y") == [["n7"], []]


PREPARE = """
    import sys, time, chromadb
    from langchain_context_engine import ChromaSource
    from langchain_context_engine.search import collection_index
    collection_index._PAGE = collection_index._UNCOMMITTED = 100
    collection = chromadb.PersistentClient(sys.argv[1]).get_collection("notes", embedding_function=None)
    ChromaSource(collection).prepare(progress=lambda done, total: print(done, flush=True) or time.sleep(0.02))
"""


def test_a_reading_that_was_killed_goes_on_where_it_was(tmp_path):
    collection = a_store(tmp_path, 1500)
    reading = started(PREPARE, tmp_path)
    while int(reading.stdout.readline() or 1500) < 1000:
        pass
    reading.send_signal(signal.SIGKILL)
    reading.wait(10)
    state = index_state(collection)
    assert 500 <= state.indexed < 1500
    assert not state.is_whole
    done, source = [], ChromaSource(collection)
    source.prepare(progress=lambda many, _: done.append(many))
    assert min(done) > state.indexed
    assert by_words(source, "w1499x", vector=VECTOR) == ["n1499"]
    assert index_state(collection).is_whole


DAMAGES = {
    "half of it": lambda path: os.truncate(path, path.stat().st_size // 2),
    "one byte": lambda path: path.write_bytes(path.read_bytes()[:-9] + b"\xff" + path.read_bytes()[-8:]),
    "nonsense": lambda path: path.write_bytes(b"nonsense" * 1000),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_set_aside_and_made_anew_and_said_once(tmp_path, damage):
    """Whatever is wrong with it costs one warning; this answer comes from the store."""
    source = ChromaSource(a_store(tmp_path, 200))
    source.prepare()
    DAMAGES[damage](index_of(tmp_path))
    answer = ask(tmp_path, "w7x")
    assert answer[0] == ["n7"]
    assert len(answer[1]) == 1
    assert "its index was damaged and is made anew" in answer[1][0]
    assert index_of(tmp_path, "lexical.damaged").exists()


def test_an_index_cut_short_or_gone_while_it_is_used_costs_one_warning_and_no_question(tmp_path):
    engine = ContextEngine([ChromaSource(a_store(tmp_path, 200))], timeout_seconds=60)
    engine.sources[0].prepare()
    os.truncate(index_of(tmp_path), 600)
    contexts = [engine.build(f"w{n}x", vector=VECTOR, limit=3) for n in (7, 8, 9)]
    assert all(context.candidates for context in contexts)
    assert sum("made anew" in warning for context in contexts for warning in context.warnings) == 1
    assert [c.id for c in contexts[-1].candidates if c.claims["lexical"]] == ["n9"]
    engine.sources[0].prepare()  # nothing is written in the background any more
    shutil.rmtree(tmp_path / "context-engine-index")
    assert by_words(engine.sources[0], "w11x", vector=VECTOR) == ["n11"]


def test_a_full_disk_costs_a_warning_that_says_so_and_the_answer_stands(tmp_path):
    """S4: whenever it happens; what was written before is left as it is."""
    for name in ("early", "late"):
        a_store(tmp_path, 300, name)
    ended = run(
        """
        import sys, json, resource, signal, time, chromadb
        from langchain_context_engine import ChromaSource, ContextEngine
        client, engines = chromadb.PersistentClient(sys.argv[1]), []
        for name in ("early", "late"):
            collection = client.get_collection(name, embedding_function=None)
            collection.query(query_embeddings=[[1.0, 0.5]], n_results=1)
            engines.append(ContextEngine(sources=[ChromaSource(collection)], timeout_seconds=60))
        engines[1].sources[0].prepare()
        collection.add(
            ids=[f"m{row}" for row in range(1500)],  # as many as are written down at once
            documents=[f"more of billing, w{row}y" for row in range(1500)],
            embeddings=[[1.0, 0.2]] * 1500,
        )
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, resource.RLIM_INFINITY))
        for engine in engines:
            found, warnings, words, until = [], [], [], time.monotonic() + 30
            while not (words and any("memory" in warning for warning in warnings)) and time.monotonic() < until:
                context = engine.build("w7x", vector=[1.0, 0.5], limit=5)
                found.append(len(context.candidates))
                words = [each.id for each in context.candidates if each.claims.get("lexical")]
                warnings += context.warnings
            said = [warning for warning in warnings if "memory" in warning]
            print(json.dumps([sorted(set(found)), words, said]))
        """,
        tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    for found, words, warnings in map(json.loads, ended.stdout.splitlines()[-2:]):
        assert (found, words) == ([5], ["n7"])
        assert len(warnings) == 1
        assert "its index is kept in memory: no file may grow further here" in warnings[0]


def test_an_index_of_another_copy_of_the_store_and_a_clock_set_back_hide_no_write(tmp_path):
    store, copy = tmp_path / "store", tmp_path / "copy"
    collection = a_collection(
        notes(30), client=chromadb.PersistentClient(str(store)), name="notes", embeddings=WordEmbeddings(2)
    )
    shutil.copytree(store, copy)
    collection.add(ids=["later"], documents=["a zebra"], embeddings=[VECTOR])
    source = ChromaSource(collection)
    source.prepare()
    shutil.copytree(store / "context-engine-index", copy / "context-engine-index")
    assert ask(copy, "zebra")[0] == []
    times = {path: path.stat().st_mtime_ns for path in store.rglob("*")}
    collection.update(ids=["n003"], documents=["an elephant"], embeddings=[VECTOR])
    for path, at in times.items():
        os.utime(path, ns=(at, at))
    assert by_words(source, "elephant", vector=VECTOR) == ["n003"]


def test_a_program_that_ends_while_a_collection_is_read_ends_cleanly(tmp_path):
    a_store(tmp_path, 4000)
    ended = run(
        """
        import sys, threading, time, chromadb
        from langchain_context_engine import ChromaSource, ContextEngine
        collection = chromadb.PersistentClient(sys.argv[1]).get_collection("notes", embedding_function=None)
        engine = ContextEngine(sources=[ChromaSource(collection)])
        threading.Thread(target=engine.build, args=("billing",), kwargs={"vector": [1.0, 0.0]}, daemon=True).start()
        time.sleep(0.3)
        """,
        tmp_path,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="this system cannot fork")
def test_an_engine_made_before_a_fork_says_in_the_child_what_to_do_and_goes_on_in_the_parent(tmp_path):
    a_store(tmp_path, 200)
    ended = run(
        """
        import os, signal, sys, chromadb
        from langchain_context_engine import ChromaSource, ContextEngine
        from langchain_context_engine.errors import AllSourcesFailedError
        collection = chromadb.PersistentClient(sys.argv[1]).get_collection("notes", embedding_function=None)
        engine = ContextEngine(sources=[ChromaSource(collection)], timeout_seconds=30)
        engine.sources[0].prepare()
        def words(question):
            found = engine.search(question, vector=[1.0, 0.5])
            return [item.candidate.id for item in found if item.candidate.claims["lexical"]]
        assert words("w7x") == ["n7"]
        child = os.fork()
        if child == 0:
            signal.alarm(30)  # one that hangs does not stay
            try:
                words("w9x")
            except AllSourcesFailedError as error:
                os.write(1, str(error).encode() + bytes([10]))
            os._exit(0)
        os.waitpid(child, 0)
        assert words("w8x") == ["n8"]
        print("parent answered")
        """,
        tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    assert "before this process was forked" in ended.stdout
    assert "parent answered" in ended.stdout


WRITE = """
    import itertools, sys, chromadb
    collection = chromadb.PersistentClient(sys.argv[1]).get_collection("notes", embedding_function=None)
    for turn in itertools.count():
        rows = [(37 * turn + row) % 1500 for row in range(100)]
        collection.upsert(ids=[f"n{row}" for row in rows], documents=[f"changed t{turn}x"] * 100,
                          embeddings=[[1.0, 0.1]] * 100)
        print(turn, flush=True)
"""


def test_beside_a_writer_without_pause_every_question_is_answered(tmp_path):
    """It ended in AllSourcesFailedError two or three times in a hundred."""
    collection = a_store(tmp_path, 1500)
    writer = started(WRITE, tmp_path)
    try:
        assert writer.stdout.readline()
        source = ChromaSource(collection)
        engine = ContextEngine([source], timeout_seconds=20)
        requests = [ContextRequest(query=f"changed t{turn}x", vector=VECTOR) for turn in range(20)]
        assert all(engine.build(request).passages for request in requests)
    finally:
        writer.kill()
        writer.wait()


class Locked:
    """A collection whose vectors cannot be asked while another process writes."""

    def __init__(self, collection):
        self.collection, self.is_locked = collection, False

    def __getattr__(self, name):
        return getattr(self.collection, name)

    def query(self, **asked):
        if self.is_locked:
            time.sleep(2)
        return self.collection.query(**asked)


def test_beside_a_writer_whose_lock_nobody_gets_in_time_the_answer_is_of_words_and_says_so(tmp_path):
    """Two to three of a hundred questions found no source in time: now there is what the words find."""
    collection = Locked(a_store(tmp_path, 1200))
    engine = ContextEngine([ChromaSource(collection)], timeout_seconds=2)
    engine.sources[0].prepare()
    assert engine.build("w7x", vector=VECTOR).status == "ok"
    collection.is_locked = True
    for id_ in ("late", "later"):  # the second one is not asked for vectors again while the first still is
        collection.add(ids=[id_], documents=[f"a zebra that came {id_}"], embeddings=[VECTOR])
        context = engine.build(f"zebra that came {id_}", vector=VECTOR)
        assert context.status == "partial"
        assert "this answer is of words only" in context.warnings[0]
        assert id_ in {candidate.id for candidate in context.candidates}


@pytest.mark.parametrize(("timeout_seconds", "status"), [(1, "partial"), (20, "ok")])
def test_beside_a_writer_vectors_are_waited_for_as_long_as_the_question_has_time(
    tmp_path, timeout_seconds, status
):
    collection = Locked(a_store(tmp_path, 1200))
    engine = ContextEngine([ChromaSource(collection)], timeout_seconds=timeout_seconds)
    engine.sources[0].prepare()
    engine.build("w7x", vector=VECTOR)
    collection.is_locked = True
    collection.add(ids=["late"], documents=["a zebra that came late"], embeddings=[VECTOR])
    context = engine.build("zebra that came late", vector=VECTOR)
    assert context.status == status
    assert "late" in {candidate.id for candidate in context.candidates}
