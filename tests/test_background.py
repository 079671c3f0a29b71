"""What reads in the background ends before the program does, and spares what may be dear."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
import time

import chromadb
import pytest

from langchain_context_engine import ContextEngine
from langchain_context_engine.pipeline import dedupe
from langchain_context_engine.search import shelves
from langchain_context_engine.text import analysis
from tests.chroma_builders import a_source, notes

PROGRAM = textwrap.dedent(
    """
    import sys, threading, time
    import chromadb
    from langchain_context_engine import ChromaSource, ContextEngine

    collection = chromadb.PersistentClient(sys.argv[1]).get_collection("notes", embedding_function=None)
    engine = ContextEngine(sources=[ChromaSource(collection)])
    threading.Thread(target=engine.build, args=("billing",), kwargs={"vector": [1.0, 0.0]}, daemon=True).start()
    time.sleep(float(sys.argv[2]))
    """
)


@pytest.fixture(scope="module")
def many_notes(tmp_path_factory):
    path = tmp_path_factory.mktemp("store")
    collection = chromadb.PersistentClient(str(path)).create_collection("notes", embedding_function=None)
    for start in range(0, 8000, 4000):
        rows = range(start, start + 4000)
        collection.add(
            ids=[f"n{row}" for row in rows],
            documents=[f"Note {row} is about billing. It says {row} things. " * 8 for row in rows],
            embeddings=[[1.0, row / 8000] for row in rows],
        )
    return path


@pytest.mark.parametrize("seconds", [0.05, 0.4])
def test_a_program_that_ends_while_a_collection_is_read_ends_cleanly(many_notes, tmp_path, seconds):
    store = tmp_path / "store"
    shutil.copytree(many_notes, store, ignore=shutil.ignore_patterns("context-engine-index"))
    run = [sys.executable, "-c", PROGRAM, str(store), str(seconds)]
    ended = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_texts_are_prepared_before_a_question_meets_them(tmp_path):
    source = a_source(notes(40), client=chromadb.PersistentClient(str(tmp_path)))
    engine = ContextEngine(sources=[source])
    engine.sources[0].prepare()
    for text in ("billing of item 3", ""):  # the question itself, and the name of a record that has none
        analysis.analyse(text)
    before = analysis.analyse.misses, dedupe._folded.misses
    assert engine.build("billing of item 3").passages
    assert (analysis.analyse.misses, dedupe._folded.misses) == before


def test_a_counter_of_ones_own_is_not_asked_for_texts_that_nobody_asked_about(tmp_path):
    counted = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text.split())

    source = a_source(notes(40), client=chromadb.PersistentClient(str(tmp_path)))
    engine = ContextEngine(sources=[source], tokenizer=count)
    counted.clear()
    engine.sources[0].prepare()
    assert counted == []


def test_texts_are_not_prepared_while_questions_come(tmp_path, monkeypatch):
    monkeypatch.setattr(shelves, "_QUIET_SECONDS", 3.0)  # no machine is so busy between two questions
    source = a_source(notes(200), client=chromadb.PersistentClient(str(tmp_path)))
    engine = ContextEngine(sources=[source])
    index = engine.sources[0]._shared.lexical
    prepared = []
    index._on_text = prepared.append
    engine.build("billing", limit=5)
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        engine.build("billing", limit=5)
    assert prepared == []
    until = time.monotonic() + 20
    while len(prepared) < 200 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(prepared) == 200
