"""A small workspace of blocks that the tests of its design share."""

from __future__ import annotations

from langchain_context_engine.designs import TokenBudget, User, WorkspaceContextBuilder
from langchain_context_engine.designs.workspace import CollectorSettings, ContextConfig, SemanticSettings
from tests.builders import WordEmbeddings, a_collection

NOW = "2026-01-31T12:00:00Z"
EMBEDDINGS = WordEmbeddings()
ANN = User(id="ann", attributes={"workspace": "acme"})
ANY_SIMILARITY = ContextConfig(collectors=CollectorSettings(semantic=SemanticSettings(min_threshold=0.0)))


def a_block(id_: str, text: str, type_: str = "text", **metadata) -> dict:
    return {"id": id_, "text": text, "type": type_, "workspace": "acme", **metadata}


def a_page(children: int = 7, *, page: str = "page-123", **metadata) -> list[dict]:
    """A page with a heading, under which paragraphs stand in reading order."""
    top = a_block(
        page, "Harbor plan", "page", title="Harbor plan", summary="The plan of the harbor.", **metadata
    )
    return [
        top,
        a_block("section", "Berths and moorings", "heading", parent_id=page, page_id=page, position=1),
        *(
            a_block(f"p{i}", PARAGRAPHS[i], parent_id="section", page_id=page, position=i)
            for i in range(children)
        ),
    ]


PARAGRAPHS = [
    "Visitors pay forty euros for one night at the northern quay.",
    "Residents renew their contract with the office every spring.",
    "Storm warnings move small boats into the inner basin.",
    "Fuel is sold at the western pontoon until sunset.",
    "Electricity meters are read by the harbor master weekly.",
    "Cranes lift keels up to twelve tonnes on request.",
    "Lost keys are kept in the blue cabinet downstairs.",
    "Fishermen unload their catch before the market opens.",
]


def a_builder(records, *, permissions=lambda user: {"workspace": user.attributes["workspace"]}, **fields):
    return WorkspaceContextBuilder(
        a_collection(records, embeddings=EMBEDDINGS), permissions=permissions, embeddings=EMBEDDINGS, **fields
    )


def build(records, query="harbor", *, user=ANN, budget=None, builder=None, **fields):
    own = {name: fields.pop(name) for name in ("config", "journal", "tokenizer") if name in fields}
    builder = builder or a_builder(records, **own)
    return builder.build(query, user=user, now=NOW, token_budget=budget or TokenBudget(), **fields)


def section(payload, name):
    return next((s for s in payload.sections if s.type == name), None)


def relevances(payload, name):
    """Return id → relevance of all that a section's collector offered, cut or left out included."""
    return {c.id: round(c.relevance, 3) for c in payload.context.candidates if name in c.provenance}


def signals(payload, id_):
    return next(p.ranked.signals for p in payload.context.passages if p.ranked.candidate.id == id_)
