"""What a process of tests would keep for all its life: the stores of every test that it has run."""

from __future__ import annotations

import gc
import sys

__all__ = ["let_stores_go"]


def let_stores_go() -> None:
    """Forget every store of Chroma that was opened, and give the memory back.

    Chroma keeps each for as long as a process lives: all stores in memory are one, with an index of 2.6 MB for the
    smallest collection, and one on disk has six threads. Two to three gigabytes were held so in the end. Who still
    has a client or a collection keeps what it stands for.
    """
    # Imported here: what conftest imports comes before it has set the environment.
    from langchain_context_engine.cli.process import give_back

    # Who opened no store has not loaded it.
    if chroma := sys.modules.get("chromadb.api.shared_system_client"):
        chroma.SharedSystemClient.clear_system_cache()
    gc.collect()
    give_back()
