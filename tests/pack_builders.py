"""Engines whose tokens are words, and what became of their candidates."""

from __future__ import annotations

from langchain_context_engine import ContextEngine, Template
from langchain_context_engine.models.types import Verdict
from tests.builders import ListSource, count_words

BARE = Template(name="bare", passage="{{content}}", separator="\n", note="")
MARKED = Template(name="marked", passage="{{content}}", separator="\n", note=" (cut)")


def text_of(words: int, name: str = "w") -> str:
    return " ".join(f"{name}{i}" for i in range(words))


def engine_of(candidates, *, sources=None, **settings):
    given_sources = sources or [ListSource(candidates)]
    return ContextEngine(
        sources=given_sources, **{"tokenizer": count_words, "template": BARE, "limit": 100, **settings}
    )


def reasons(context):
    return {d.key[1]: d.reason for d in context.decisions if d.verdict is not Verdict.CHANGED}
