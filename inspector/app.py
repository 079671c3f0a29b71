"""The inspector's entry, what `streamlit run` is given. `context-engine inspect` starts it safely."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import sys
from contextlib import suppress
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PAGES = ("traces", "explain", "tune", "compare", "judge", "sets", "figures", "collections")
# What shows one answer. (Streamlit draws a text that stands alone.)
AN_ANSWER = ("explain", "tune", "judge")


def load_package() -> None:
    """Make this folder the package `inspector`, wherever it lies.

    In a checkout it is a folder of the root, in a wheel one inside `langchain_context_engine`; and an
    unrelated module of the same name may be installed.
    """
    known = sys.modules.get("inspector")
    if known is not None and str(FOLDER) in map(str, getattr(known, "__path__", ())):
        return
    spec = importlib.util.spec_from_file_location(
        "inspector", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"the inspector's folder {FOLDER} is incomplete")
    module = importlib.util.module_from_spec(spec)
    sys.modules["inspector"] = module
    spec.loader.exec_module(module)


def main() -> None:
    """Draw the navigation and the page."""
    import streamlit as st

    from inspector import cards, state
    from inspector.views import collections, traces
    from langchain_context_engine import ConfigError

    views = {name: importlib.import_module(f"inspector.views.{name}") for name in PAGES}
    pages = st.session_state["pages"] = {
        name: st.Page(view.show, title=name.capitalize(), url_path=name, default=name == PAGES[0])
        for name, view in views.items()
    }
    page = st.navigation(list(pages.values()), position="top")
    st.set_page_config(
        page_title=f"{page.title} · Context inspector", layout="wide", initial_sidebar_state="collapsed"
    )
    style, script = ((FOLDER / f"app.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    # Our own files alone: nothing that was recorded comes near this.
    st.html(f"<style>{style}</style><script>{script}</script>", unsafe_allow_javascript=True)
    with cards.guard():
        state.follow_address(names=page.url_path in AN_ANSWER)
        cards.alerts()
        if page.url_path in AN_ANSWER and state.settings().journal is not None:
            with st.container(key="news-box"):
                cards.part(traces.news)
        with st.container(key="ask-box", horizontal=True):
            collections.ask_button("Ask", key="ask", type="tertiary")
            with suppress(ConfigError):
                if page.url_path in AN_ANSWER and (opened := state.current()) is not None:
                    collections.ask_button("Ask this again", opened.context, key="ask-again", type="tertiary")
            if files := getattr(views[page.url_path or PAGES[0]], "files", None):
                cards.export(files)
        page.run()
    if not gc.get_freeze_count():
        # Streamlit collects garbage after every run, and the answer to a turned slider waits for that: over
        # all objects of the libraries it takes longer than the replay itself.
        gc.collect()
        gc.freeze()


load_package()
main()
