"""What every test stands on: nothing of this machine's user, no network, the same examples every time.

Sockets other than loopback are blocked by the options in pyproject.toml.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.keeping import let_stores_go
from tests.measuring import import_libraries, is_measured, unmeasured

ROOT = Path(__file__).resolve().parents[1]

_HOME = Path(tempfile.mkdtemp(prefix="context-engine-tests-"))
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)

_MEMORY, _ENOUGH_BYTES, _A_DAY_SECONDS = Path("/dev/shm"), 2 * 10**9, 86_400
# The files of tests stand in memory where there is room, and are gone afterwards: thousands of small stores wait
# for the disk longer than they compute. Whoever wants to look at them sets the variable, or gives --basetemp.
_has_room = os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ENOUGH_BYTES
if _has_room and "PYTEST_DEBUG_TEMPROOT" not in os.environ:
    for _left in _MEMORY.glob("context-engine-tests-*"):  # by a run that was killed
        if time.time() - _left.stat().st_mtime > _A_DAY_SECONDS:
            shutil.rmtree(_left, ignore_errors=True)
    _FILES = tempfile.mkdtemp(prefix="context-engine-tests-", dir=_MEMORY)
    os.environ["PYTEST_DEBUG_TEMPROOT"] = _FILES
    atexit.register(shutil.rmtree, _FILES, ignore_errors=True)

_FOREIGN = ("OPENAI_", "LANGSMITH_", "LANGCHAIN_", "CONTEXT_ENGINE_", "OTEL_", "STREAMLIT_")

# Set while importing, so that doctests, plugins and what they start have it too.
for _name in [name for name in os.environ if name.startswith(_FOREIGN)]:
    del os.environ[_name]
os.environ.update(
    {
        "HOME": str(_HOME),
        "XDG_CACHE_HOME": str(_HOME / "cache"),
        "XDG_CONFIG_HOME": str(_HOME / "config"),
        "ANONYMIZED_TELEMETRY": "False",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_NAME": "Test",
        "GIT_AUTHOR_EMAIL": "test@example.org",
        "GIT_COMMITTER_NAME": "Test",
        "GIT_COMMITTER_EMAIL": "test@example.org",
        "COLUMNS": "120",
    }
)

settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "ci", settings.get_profile("local"), derandomize=True, print_blob=True, database=None
)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each worker its half, from whose end the other takes what is left.

    By xdist's own choice neighbours go to different workers, and each makes what a module's tests share.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getvalue("dist") == "load" else None


def pytest_sessionstart(session):
    """Import what is large where tests are run; a process that only gives them to others needs none of it."""
    if hasattr(session.config, "workerinput") or not session.config.getoption("numprocesses", None):
        import_libraries()


def pytest_collection_modifyitems(items):
    """Walk the inspector first, so that a run ends with what is short.

    One worker begins with all of it: its modules make what they share once, and while its browser waits for a page
    the others compute. At the end of a run, where each steals from the others, every worker made all of it.
    """
    items.sort(key=lambda item: item.get_closest_marker("browser") is None)


def pytest_collection_finish():
    """Leave what was imported out of every later collection of garbage, which would look through it each time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Run a test, its fixtures too, measured or not; the stores of a module go with it."""
    with contextlib.nullcontext() if is_measured(item) else unmeasured():
        result = yield
    if nextitem is None or nextitem.path != item.path:
        let_stores_go()
    return result


@pytest.fixture(autouse=True)
def unhurried(monkeypatch, request):
    """Let a question wait until what it asks is read; of .8 s a loaded machine may need more for a few records.

    So may it for what would let a candidate in. What happens when that is over is tried by tests marked `hurried`.
    """
    if request.node.get_closest_marker("hurried") is None:
        from langchain_context_engine.trace.what_if import _Search

        is_over = _Search._is_over
        monkeypatch.setattr("langchain_context_engine.search.index_manager.WAIT_SHARE", 30.0)
        monkeypatch.setattr(_Search, "_is_over", lambda search, share=1.0: is_over(search, 30 * share))


@pytest.fixture(scope="session")
def local_embeddings():
    """Return the real offline embeddings, their model loaded once."""
    from langchain_context_engine import LocalEmbeddings

    embeddings = LocalEmbeddings()
    embeddings.embed_query("load the model")
    return embeddings
