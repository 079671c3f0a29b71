"""Traces of every shape, whose sentences are proved: 200 generated ones, and those that say what is rare."""

from __future__ import annotations

import random

from langchain_context_engine import Budget, ContextEngine
from langchain_context_engine.pipeline.selection import Diversity
from langchain_context_engine.rendering.templates import TEMPLATES
from tests.builders import ListSource, a_candidate
from tests.trace.test_what_if import WORDS

TWICE = (
    "Invoices go out on the first of the month, by post. They are sent to every customer who owes us money."
)


def a_text(chance):
    kind = chance.random()
    if kind < 0.2:
        others = (
            TWICE.upper(),
            TWICE.partition(". ")[0],
            TWICE.replace("the first", "first"),
            f"> {TWICE} Bye.",
        )
        return chance.choice((TWICE, *others))
    if kind < 0.3:
        return "def close(self):\n    for one in self.open:\n        one.close()\n" * chance.randint(1, 3)
    if kind < 0.34:
        return ""
    sentences = [
        " ".join(chance.choices(WORDS, k=chance.randint(3, 14))) for _ in range(chance.randint(1, 5))
    ]
    return " ".join(f"{sentence.capitalize()}." for sentence in sentences)


def a_shaped_candidate(chance, source, number):
    metadata = (
        {"path": chance.choice(("a.md", "src/b.py")), "start_line": number} if chance.random() < 0.5 else {}
    )
    if chance.random() < 0.3:
        metadata |= {"title": "Same", "said": f"{chance.choice(WORDS)} said this and that of it today"}
    return a_candidate(
        id=f"{source}{number}",
        source=source,
        kind=chance.choice(("memory", "note", "code")),
        text=a_text(chance),
        metadata=metadata,
        relevance=chance.choice((None, *(round(chance.random(), 2) for _ in range(9)))),
        created_at=chance.choice((None, f"20{chance.randint(20, 25)}-0{chance.randint(1, 9)}-11")),
    )


def a_shaped_context(seed, **asked_otherwise):
    """Return what an engine of some shape makes of a question of some shape: the same for the same seed."""
    chance = random.Random(seed)
    names = ("notes", "code", "mail", "chat")[: chance.randint(1, 4)]
    tokenizer = chance.choice(("estimate", "estimate", "utf8_bytes"))
    group_by = chance.choice(("source", "kind"))
    has_shares = group_by == "source" and chance.random() < 0.3
    engine = ContextEngine(
        [
            ListSource([a_shaped_candidate(chance, n, i) for i in range(chance.randint(2, 6))], name=n)
            for n in names
        ],
        tokenizer=tokenizer,
        template=chance.choice(sorted(TEMPLATES)),
        order=chance.choice(("relevance", "edges", "chronological", "stable")),
        truncator=chance.choice(("none", "extractive", "keep_start", "keep_end")),
        selection=chance.choice(("adaptive", "score", "density", "knapsack")),
        weights=chance.choice((None, {"relevance": 0.5, "recency": 0.3, "keyword": 0.2})),
        min_score=chance.choice((None, None, 0.2)),
        thresholds=chance.choice(({}, {}, {names[0]: 0.8})),
        dedupe_threshold=chance.choice((90.0, 75.0, 100.0, None)),
        dedupe_key=chance.choice((None, None, None, "said")),
        diversity=chance.choice((None, None, Diversity(kind_share=0.4, after=1))),
        group_by=group_by,
        when_doubtful=chance.choice(("keep", "keep", "keep", "empty")),
        doubtful_below=chance.choice((0, 0.25, 0.7)),
        rerank=chance.choice((None, None, None, lambda _, texts: [len(text) % 13 / 13 for text in texts])),
        budget=Budget(
            tokens=(4 if tokenizer == "utf8_bytes" else 1) * chance.randint(15, 220),
            reserve=chance.choice((0, 0, 10)),
            shares={name: chance.choice((0, 1, 2)) for name in names} if has_shares else {},
            item_cap=chance.choice((None, None, 0.4)),
            source_cap=chance.choice((None, None, 0.5)),
        ),
    )
    asked = {
        "k": chance.choice((None, None, 1, 3)),
        "pinned": chance.choice(
            ((), (), (a_candidate(id="pin", text="Pinned: the tide.", source="pinned"),))
        ),
        "excluded": chance.choice(((), (), ((names[0], f"{names[0]}0"),))),
        "where": chance.choice((None, None, None, {"path": "a.md"})),
        "kinds": chance.choice((None, None, None, ("note", "code"))),
    }
    asked |= asked_otherwise
    query = chance.choice((" ".join(chance.sample(WORDS, 3)), "what is the latest invoice?", "zzz qqq"))
    return engine.build(query, now="2026-01-01", **asked)


def a_first_words_summary(text, allowance):
    """Rewrite a text, not by a piece of it."""
    return " ".join(text.split()[: max(1, allowance // 4)]).upper()


RARE = {"compactor": a_first_words_summary}
"""What an engine of a rare trace was given as a function."""


def rare_contexts():
    """Return traces that say what the generated ones do not, each with the engine that replays it."""
    texts = [
        "Invoices go out on the first of the month.",
        "The tide comes in at six.",
        "Ropes are cheap here.",
    ]
    offered = [
        a_candidate(
            id=f"r{i}", text=text, relevance=0.9 - i / 10, claims={"dense": 0.9 - i / 10, "lexical": 3.0 - i}
        )
        for i, text in enumerate(texts)
    ]
    broken = a_candidate(id="broken", text="A text.", relevance=float("nan"))
    twelve = [
        a_candidate(id=f"t{i}", text=f"The {word} was paid by {i} people.", relevance=0.9)
        for i, word in enumerate(WORDS)
    ]
    long = [a_candidate(id="long", text="The invoice of the harbour is paid late. " * 30, relevance=0.9)]
    chance_alike = [
        a_candidate(id=f"c{i}", text=f"A {word} for the invoice.", relevance=0.5, claims={"dense": i / 100})
        for i, word in enumerate(WORDS[:5])
    ]
    unrelated = a_candidate(id="u", text="Nobody sleeps aboard.", relevance=0.5, claims={"dense": 0.0123})
    made = (
        ({"sources": [ListSource([*chance_alike, unrelated])]}, {"limit": 50}),
        ({"sources": [ListSource([*offered, broken])]}, {"limit": 2}),
        (
            {
                "sources": [ListSource(twelve)],
                "diversity": Diversity(enough_fill=0.1, enough_items=2),
                "dedupe_threshold": None,
                "budget": 100,
            },
            {},
        ),
        ({"sources": [ListSource(long)], "truncator": "none", "budget": 60, **RARE}, {}),
    )
    for settings, asked in made:
        engine = ContextEngine(tokenizer="estimate", **settings)
        yield engine.build(**{"query": "What of the invoice?", "now": "2026-01-01", **asked}), engine
