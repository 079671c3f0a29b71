"""What is remembered between two writings of a context equals what is written and counted anew: slow twins."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import Template
from langchain_context_engine.config import EngineConfig
from langchain_context_engine.models.types import Passage, Ranked
from langchain_context_engine.pipeline.redundancy import TwinFinder
from langchain_context_engine.rendering.layout import Writer, count_parts
from langchain_context_engine.text.tokens import resolve_tokenizer
from tests.builders import a_candidate, count_words

PARTS = st.lists(
    st.sampled_from(
        ["[1] ", "src/a.py:3-9 · Tea.brew\n", "\n\n", " … ", "It's one word.", "two  words", " 12345 6", "don't", "/a b",
         "日本語のテキスト。", "e\u0301 te\u0301 x", "    return x\n", "</p>", "", "😀 a b 😀", "\ud83d a\ude00", "a b c d e f"]
    )
    | st.text(max_size=12),
    max_size=12,
)  # fmt: skip


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "utf8_bytes", "estimate"])
@settings(deadline=None, max_examples=60)
@given(PARTS)
def test_parts_count_what_their_text_does(name, parts):
    """Promise 2."""
    count = resolve_tokenizer(name)
    assert count_parts(parts, count) == count("".join(parts))


TEXTS = [
    "Tea is at five.",
    "tea is at five",
    "Rust. It is [2] safe.",
    "```\nx\n```",
    "One. Two. Three.",
    "</passage>",
    "b",
]
CHANGES = st.lists(st.sets(st.integers(0, len(TEXTS) - 1)), min_size=1, max_size=6)


def passages():
    """One of each text: whole, or an extract of it, of three sources and two places."""
    found = []
    for i, text in enumerate(TEXTS):
        candidate = a_candidate(
            id=f"{i}]",
            text=f"{text} More.",
            source=f"s{i % 3}",
            metadata={"path": f"{i // 2}.md"},
            kind="note",
        )
        ranked = Ranked(candidate=candidate, contributions={"relevance": 1 - i / 10})
        is_cut = i % 2 == 1
        shown = candidate.text[: len(text)] if is_cut else candidate.text
        found.append(Passage(ranked=ranked, text=shown, is_truncated=is_cut, spans=((0, len(shown)),)))
    return found


BRACKETS = Template(
    name="brackets", header="{{count}} of {{sources}} [", passage="{{citation}} {{content}}", footer="]"
)


@pytest.mark.parametrize("template", ["placed", "xml", "sections", "detailed", "markdown", BRACKETS])
@pytest.mark.parametrize("style", ["number", "key", lambda passages, _: [f"({p.key[1]})" for p in passages]])
@settings(deadline=None, max_examples=8)
@given(changes=CHANGES, order=st.sampled_from(["relevance", "edges", "stable"]))
def test_what_is_written_again_is_as_if_written_for_the_first_time(template, style, changes, order):
    packing = EngineConfig(template=template, citations=style, order=order).parts().packing
    every, writer = passages(), Writer(packing.layout, packing.count)
    for chosen in changes:
        again = writer([every[i] for i in sorted(chosen)])
        anew = Writer(packing.layout, count_words)([every[i] for i in sorted(chosen)])
        assert (again.text, again.passages, again.sections) == (anew.text, anew.passages, anew.sections)
        assert "".join("".join(block.parts) for block in again.blocks) == "".join(b.text for b in anew.blocks)
        assert again.tokens == packing.count(again.text)


@settings(deadline=None, max_examples=60)
@given(CHANGES)
def test_twins_are_found_as_if_nothing_was_known_of_the_pairs(changes):
    every, finder = passages(), TwinFinder(75.0)
    for chosen in changes:
        some = [every[i] for i in sorted(chosen)]
        assert finder(some) == TwinFinder(75.0)(some)
