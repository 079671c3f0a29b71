from __future__ import annotations

import gc

from inspector import garbage


def test_what_a_page_imports_is_kept_from_the_garbage_collector_once_a_page(monkeypatch):
    monkeypatch.setattr(garbage, "_DRAWN", set())
    gc.unfreeze()
    try:
        garbage.set_aside("tune")
        alive = [[number] for number in range(1000)]
        garbage.set_aside("tune")
        assert are_looked_at(alive)
        garbage.set_aside("judge")
        assert not are_looked_at(alive)
    finally:
        gc.unfreeze()


def are_looked_at(some):
    """Return whether the collector looks at any of some objects; how many it leaves alone others change too."""
    looked_at = {id(one) for one in gc.get_objects()}
    return any(id(one) in looked_at for one in some)
