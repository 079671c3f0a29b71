"""The index on disk used by many at once: one writes while others ask, copies, parts of a store."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap

import chromadb

from langchain_context_engine import ChromaSource, ContextEngine
from tests.builders import WordEmbeddings, a_collection
from tests.chroma_builders import EMBEDDINGS, notes
from tests.index_builders import ASK, VECTOR, a_store, run

WRITER = """
    import itertools, sys, time, chromadb
    collection = chromadb.PersistentClient(sys.argv[1]).get_collection("notes", embedding_function=None)
    for turn in itertools.count():
        began = time.monotonic()
        collection.upsert(ids=[f"v{turn % 40}"], documents=[f"turn k{turn}q of the writer"], embeddings=[[1.0, 0.5]])
        print(turn, flush=True)
        time.sleep(max(0.0, 0.01 - (time.monotonic() - began)))
"""
QUESTIONS = int(os.environ.get("QUESTIONS_BESIDE_A_WRITER", "15"))
"""Of each reader: at 15 some hundred turns of the writer go by meanwhile, 2500 make ten thousand in all."""
READER = """
    import sys, time, chromadb
    from pathlib import Path
    from langchain_context_engine import ChromaSource, ContextEngine
    collection = chromadb.PersistentClient(sys.argv[1]).get_collection("notes", embedding_function=None)
    # Without doubt: of what was written over meanwhile it is right to doubt.
    engine = ContextEngine(sources=[ChromaSource(collection)], timeout_seconds=60, doubtful_below=0)
    log, wrong = Path(sys.argv[3]), 0
    while not log.read_text().strip():
        time.sleep(0.05)
    for _ in range(int(sys.argv[2])):
        last = int(log.read_text().split()[-1])
        context = engine.build(f"k{last}q", vector=[1.0, 0.5], limit=60)
        texts = [c.text for c in context.candidates]
        # It may have been written over by one that is forty turns later, never be missing before that.
        later = int(log.read_text().split()[-1])
        if not any(f"k{last}q" in text for text in texts) and later < last + 39:
            wrong += 1
        gone = [t for t in texts if t.startswith("turn k") and int(t.split("k")[1].split("q")[0]) < last - 40]
        wrong += len(gone) + len(context.warnings)
        if gone or context.warnings:
            sys.stderr.write(f"{last} {later} {gone[:3]} {context.warnings}" + chr(10))
    print(wrong)
"""


def test_while_one_process_writes_four_others_ask_and_none_answers_wrongly(tmp_path):
    a_store(tmp_path, 200)
    assert run(ASK, tmp_path, "w7x").returncode == 0
    log = tmp_path / "log.txt"
    with log.open("w") as out:
        writer = subprocess.Popen([sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path)], stdout=out)
        command = [sys.executable, "-c", textwrap.dedent(READER), str(tmp_path), str(QUESTIONS), str(log)]
        readers = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(4)
        ]
        told = [reader.communicate(timeout=110 + QUESTIONS) for reader in readers]
        is_written_to_the_end = writer.poll() is None
        writer.kill()
        writer.wait(60)
    assert is_written_to_the_end
    assert told == [("0\n", "")] * 4


def test_an_index_of_a_later_copy_of_the_store_is_not_believed(tmp_path):
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
    sources = [ChromaSource(each, embeddings=EMBEDDINGS) for each in kept]
    both = ContextEngine(sources=sources, timeout_seconds=60)
    one = ContextEngine(sources=sources[:1], timeout_seconds=60)
    assert both.search("billing item")
    assert one.search("billing item")
    assert len(list((tmp_path / "context-engine-index").iterdir())) == 2
