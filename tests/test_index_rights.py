"""An index and who may read and write what: two users of one store, and a clock that was set back."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import chromadb
import pytest

from langchain_context_engine import ChromaSource, ContextEngine
from tests.builders import a_collection
from tests.chroma_builders import EMBEDDINGS, a_source, notes
from tests.conftest import ROOT

NOBODY = 65534

ASK_AS_NOBODY = f"""
import os, sys, tempfile
import chromadb
import numpy.ma  # NumPy imports it late
from langchain_context_engine import ChromaSource, ContextEngine
from tests.builders import WordEmbeddings

def ask(folder, create):
    client = chromadb.PersistentClient(folder)
    collection = client.create_collection("notes", embedding_function=None) if create else client.get_collection(
        "notes", embedding_function=None)
    if create:
        collection.add(ids=["a"], documents=["b"], embeddings=WordEmbeddings().embed_documents(["b"]))
    engine = ContextEngine([ChromaSource(collection, embeddings=WordEmbeddings())])
    engine.sources[0].prepare()
    return [engine.build("billing item 3") for _ in range(2)]

ask(tempfile.mkdtemp(), True)  # what is imported late cannot be read any more afterwards
os.environ["XDG_CACHE_HOME"] = sys.argv[2]
os.setgid({NOBODY})
os.setuid({NOBODY})
for context in ask(sys.argv[1], False):
    print(len(context.passages), any(c.claims.get("lexical") for c in context.candidates), list(context.warnings))
"""


@pytest.fixture
def open_folder():
    """A folder that every user may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may become another user"
)
def test_who_may_not_write_beside_a_store_keeps_the_index_in_the_cache_and_is_told_once(open_folder):
    store, cache = open_folder / "store", open_folder / "cache"
    cache.mkdir()
    source = a_source(notes(20), client=chromadb.PersistentClient(str(store)))
    # The collection under the name that the other user asks for; the index of root's own stays root's.
    a_collection(notes(20), embeddings=EMBEDDINGS, client=chromadb.PersistentClient(str(store)), name="notes")
    source.prepare()
    index = store / "context-engine-index"
    before = sorted(index.rglob("*"))
    for path in (cache, store, *(p for p in store.rglob("*") if index not in (p, *p.parents))):
        os.chown(path, NOBODY, NOBODY)
    run = subprocess.run(
        [sys.executable, "-c", ASK_AS_NOBODY, str(store), str(cache)],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    first, second = run.stdout.splitlines()
    assert " True [" in first
    assert first.count("the store's folder may not be written; its index is kept at") == 1
    assert second.endswith(" True []")
    assert [path.name for path in cache.rglob("records.db")] == ["records.db"]
    assert sorted(index.rglob("*")) == before


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
@pytest.mark.parametrize("place", ["beside the store", "elsewhere"])
def test_the_folder_of_an_index_is_for_nobody_who_may_not_enter_the_store(place, tmp_path, monkeypatch):
    """Point 11 of the attack: an index holds the words of every record, whatever the process' umask."""
    store = tmp_path / "store"
    store.mkdir(mode=0o700)
    home = store / "context-engine-index"
    if place == "elsewhere":
        home = tmp_path / "indexes"
        monkeypatch.setenv("CONTEXT_ENGINE_INDEX_DIR", str(home))
    before = os.umask(0)
    try:
        a_source(notes(5), client=chromadb.PersistentClient(str(store))).prepare()
    finally:
        os.umask(before)
    (records,) = home.rglob("records.db")
    assert stat.S_IMODE(records.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(records.parent.parent.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in records.parent.glob("*lock*")] == [0o600]


def test_a_clock_that_was_set_back_hides_no_write(tmp_path):
    collection = a_collection(
        notes(20), embeddings=EMBEDDINGS, client=chromadb.PersistentClient(str(tmp_path)), name="notes"
    )
    engine = ContextEngine([ChromaSource(collection, embeddings=EMBEDDINGS)])
    engine.sources[0].prepare()
    assert engine.build("zebra crossing").passages
    code = (
        "import chromadb, sys; from tests.builders import WordEmbeddings as W\n"
        "c = chromadb.PersistentClient(sys.argv[1]).get_collection('notes', embedding_function=None)\n"
        "c.add(ids=['z'], documents=['a zebra'], embeddings=W().embed_documents(['a zebra']))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env=environment)
    for path in tmp_path.rglob("*"):
        os.utime(path, (1, 1))
    found = engine.search("zebra")
    assert found[0].candidate.id == "z"
