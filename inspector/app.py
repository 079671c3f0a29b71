"""The inspector's entry, what `streamlit run` is given. `context-engine inspect` starts it safely."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


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

    from inspector import cards, garbage, state

    pages = [
        st.Page("views/traces.py", title="Traces", url_path="traces", default=True),
        st.Page("views/explain.py", title="Explain", url_path="explain"),
        st.Page("views/tune.py", title="Tune", url_path="tune"),
        st.Page("views/compare.py", title="Compare", url_path="compare"),
        st.Page("views/judge.py", title="Judge", url_path="judge"),
        st.Page("views/sets.py", title="Sets", url_path="sets"),
        st.Page("views/figures.py", title="Figures", url_path="figures"),
        st.Page("views/collections.py", title="Collections", url_path="collections"),
    ]
    page = st.navigation(pages, position="top")
    st.set_page_config(
        page_title=f"{page.title} · Context inspector", layout="wide", initial_sidebar_state="collapsed"
    )
    style, script = ((FOLDER / f"app.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    # Our own files alone: nothing that was recorded comes near this.
    st.html(f"<style>{style}</style><script>{script}</script>", unsafe_allow_javascript=True)
    with cards.guard():
        state.arrive(page.title.lower())
        state.follow_address()
        cards.alerts()
        page.run()
    garbage.set_aside(page.url_path)


load_package()
main()
