"""Contexts and pages for the inspector's tests, made by the real engine and the real Streamlit."""

from __future__ import annotations

import functools
import json
import re
from html import unescape
from pathlib import Path
from xml.etree import ElementTree as ET

from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from inspector import opening
from langchain_context_engine import Budget, ContextEngine
from langchain_context_engine.trace.explain import rows
from langchain_context_engine.trace.replay import ranking
from tests.builders import ListSource, a_candidate

APP = Path(opening.__file__).parent / "app.py"

HOSTILE = "<img src=x onerror=alert(1)> costs $5 and $6 ![p](http://evil.test/p.png) :red[x] `{{{{`"


def a_context(candidates=None, **settings):
    if candidates is None:
        candidates = [
            a_candidate(id="a", text="Invoices go out on the first of the month.", relevance=0.9),
            a_candidate(id="b", text="invoices go out on the first of the month", relevance=0.8),
            a_candidate(id="c", text="Refunds need a second pair of eyes. " * 8, relevance=0.7),
            a_candidate(id="d", text="The office plants are watered on Friday.", relevance=0.2),
        ]
    query = settings.pop("query", "When do invoices go out?")
    fields = {name: settings.pop(name) for name in ("k", "scope", "limit") if name in settings}
    sources = settings.pop("sources", None) or [ListSource(candidates)]
    engine = ContextEngine(sources=sources, tokenizer="utf8_bytes", **settings)
    return engine.build(query, now="2026-01-01", **fields)


def a_shared_context(**settings):
    sources = [
        ListSource(
            [
                a_candidate(
                    id=f"{name}{i}", text=f"{name} {word} of many words", source=name, relevance=0.9 - i / 10
                )
                for i, word in enumerate(("apples", "rivers", "motors", "clouds"))
            ],
            name=name,
        )
        for name in ("notes", "code")
    ]
    budget = Budget(tokens=160, reserve=20, shares={"notes": 3, "code": 1})
    return a_context([], sources=sources, budget=budget, **settings)


def rows_of(context):
    return rows(context, ranking(context))


def a_page(name, *, trace=None, journal=None, monkeypatch=None, opened=None, **address):
    """Return a page of the inspector, as a session of its own sees it after its first run."""
    if monkeypatch is not None:
        monkeypatch.setenv(opening.JOURNAL_VARIABLE, str(journal or ""))
        monkeypatch.setenv(opening.TRACE_VARIABLE, "")
    at = _an_app(name)
    for key, value in {"trace": trace, **address}.items():
        if value is not None:
            at.query_params[key] = value
    if opened is not None:
        at.session_state["opened"] = dict(opened)
    return at.run()


def _an_app(name):
    """Return a session that comes to a page by its address, as a link does: no other page is drawn before.

    What Streamlit finds out of the installed packages for every session is found out once.
    """
    at = AppTest.from_file(str(APP), default_timeout=60)
    at._bidi_component_manager = _known_components()
    if name != "traces":
        at._page_hash = calc_hash(name)
    return at


@functools.cache
def _known_components():
    components = BidiComponentManager()
    components.discover_and_register_components(start_file_watching=False)
    return components


def go_on(at, name):
    """Go on to another page by its link, which clears the address."""
    at.query_params.clear()
    at._page_hash = calc_hash(name)
    return at.run()


def said(at):
    """Return every text that a page shows: plain text, code, captions, our own HTML without its tags, tables."""
    shown = [*at.text, *at.code, *at.caption, *at.subheader, *at.title, *at.markdown]
    told = [f"{getattr(e, 'label', '')} {e.value}" for e in shown]
    told += [unescape(re.sub(r"<[^>]*>", " ", html)) for html in htmls(at)]
    told += [table.value.to_csv() for table in at.dataframe]
    return "\n".join([*told, *(json.dumps(data["rows"], ensure_ascii=False) for data in grids(at).values())])


def htmls(at):
    """Return the HTML that a page draws, but for its style and script."""
    return [e.proto.body for e in elements(at, "html") if not e.proto.body.startswith("<style>")]


def grids(at):
    """Return the tables of a page: key → what is drawn of it."""
    found = elements(at, "bidi_component")
    return {e.proto.id.split("-", 2)[2]: json.loads(e.proto.json) for e in found}


def column(at, number, name):
    """Return one column of a table that is only read."""
    tables = [ET.fromstring(html).find(".//table") for html in htmls(at) if "ce-read" in html]
    head, *lines = tables[number].iter("tr")
    return [line[[cell.text for cell in head].index(name)].text or "" for line in lines]


def cells(at, key, name):
    """Return one column of a table, lines left out."""
    return [row["cells"][name] for row in grids(at)[key]["rows"] if "cells" in row]


def elements(at, kind):
    """Return the elements of a kind, in the order of the page."""

    def walk(block):
        for child in block.children.values():
            if hasattr(child, "children"):
                yield from walk(child)
            elif child.type == kind:
                yield child

    return list(walk(at.main))
