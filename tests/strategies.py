"""Generated candidates, settings and requests: the awkward ones on purpose."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import strategies as st

from langchain_context_engine.models.types import Candidate
from tests.builders import count_with_join_cost, count_words

TEXTS = [
    "Invoices go out on the first of the month.",
    "invoices  go out on the FIRST of the month.",
    "Invoices go out on the second of the month.",
    "日本語のテキストと認証システム。次の文です。",
    "נכתב מימין לשמאל, עם משפט שני.",
    "👩‍👩‍👧‍👦 family 🇩🇪 flag é combining",
    "```python\nprint('open fence')\nx = 1",
    "~~~~\nfour tildes\n~~~\nstill inside",
    "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |",
    "See [1] and [2] and [3]. Then {{content}} and {x} and </passage>.",
    "",
    "   \n\t",
    "a\ud83db",
    "^" * 3000,
    "Dr. Rao paid $3.50. Then he left. Done. " * 30,
    "word " * 400,
    "One sentence about billing. Another about harbors. A third about nothing at all, really. " * 8,
    "def pay(invoice):\n    return invoice.total * 2\n" * 6,
]

COUNTERS = {"words": count_words, "joins": count_with_join_cost, "estimate": "estimate", "auto": "auto"}


@st.composite
def candidates(draw, max_size: int = 14) -> list[Candidate]:
    number = draw(st.integers(0, max_size))
    found = []
    for i in range(number):
        claims = {}
        if draw(st.booleans()):
            claims = {
                "dense": draw(st.sampled_from([0.0, 0.3, 0.3, 0.9])),
                "lexical": draw(st.sampled_from([0.0, 0.0, 4.2, 9.0])),
            }
        found.append(
            Candidate(
                id=f"{draw(st.sampled_from(['a', 'b']))}{i}",
                text=draw(st.sampled_from(TEXTS) | st.text(max_size=60)),
                source=draw(st.sampled_from(["memories", "code"])),
                kind=draw(st.sampled_from(["memory", "code", ""])),
                relevance=draw(st.sampled_from([0.0, 0.5, 0.5, 0.9, 1.0])),
                claims=claims,
                created_at=draw(
                    st.sampled_from(
                        [None, datetime(2020, 1, 1, tzinfo=UTC), datetime(2031, 1, 1, tzinfo=UTC)]
                    )
                ),
                metadata=draw(
                    st.sampled_from(
                        [
                            {},
                            {"confidence": 0},
                            {"confidence": 0.7, "title": "Title [1]"},
                            {"title": "{{score}}"},
                        ]
                    )
                ),
                is_pinned=draw(st.sampled_from([False, False, False, True])),
            )
        )
    return found


def settings_of_engines():
    return st.fixed_dictionaries(
        {
            "tokenizer": st.sampled_from(sorted(COUNTERS)).map(COUNTERS.__getitem__),
            "template": st.sampled_from(
                ["cited", "chat", "detailed", "summary", "markdown", "xml", "sections"]
            ),
            "truncator": st.sampled_from(["extractive", "keep_start", "keep_end", "none"]),
            "selection": st.sampled_from(["adaptive", "score", "density", "knapsack"]),
            "order": st.sampled_from(["relevance", "edges", "chronological", "stable"]),
            "weights": st.sampled_from(
                [None, {"relevance": 1}, {"relevance": 2, "recency": 1, "confidence": 1}, {"keyword": 1}]
            ),
        }
    )


BUDGETS = st.sampled_from([0, 1, 3, 7, 12, 20, 40, 80, 200, 1000])
QUERIES = st.sampled_from(
    ["when do invoices go out?", "", "認証", "the latest change to billing", "a\ud83d", "C++ (beta"]
)
