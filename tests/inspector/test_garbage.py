from __future__ import annotations

import gc

from inspector import garbage


def test_what_a_page_imports_is_kept_from_the_garbage_collector_once_a_page(monkeypatch):
    monkeypatch.setattr(garbage, "_DRAWN", set())
    gc.unfreeze()
    try:
        garbage.set_aside("tune")
        first = gc.get_freeze_count()
        alive = [[number] for number in range(1000)]
        garbage.set_aside("tune")
        assert gc.get_freeze_count() <= first
        garbage.set_aside("judge")
        assert gc.get_freeze_count() >= first + len(alive)
    finally:
        gc.unfreeze()
