from __future__ import annotations

import gc

from inspector import garbage


def test_what_a_page_imports_is_kept_from_the_garbage_collector_once_a_page(monkeypatch):
    monkeypatch.setattr(garbage, "_DRAWN", set())
    gc.unfreeze()
    try:
        garbage.set_aside("tune")
        alive = [[]]
        garbage.set_aside("tune")
        assert any(each is alive for each in gc.get_objects())
        garbage.set_aside("judge")
        assert not any(each is alive for each in gc.get_objects())
    finally:
        gc.unfreeze()
