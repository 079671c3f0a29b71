"""A small workspace of blocks that the tests of its design share."""

from __future__ import annotations

from langchain_context_engine.designs import TokenBudget, User, WorkspaceContextBuilder
from langchain_context_engine.designs.workspace import CollectorSettings, ContextConfig, SemanticSettings
from tests.builders import WordEmbeddings, a_collection

NOW = "2026-01-31T12:00:00Z"
EMBEDDINGS = WordEmbeddings()
ANN = User(id="ann", attributes={"workspace": "acme"})
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


def searched(**settings):
    return ContextConfig(collectors=CollectorSettings(semantic=SemanticSettings(**settings)))


ANY_SIMILARITY = searched(min_threshold=0.0)


def a_block(id_: str, text: str, type_: str = "text", **metadata) -> dict:
    return {"id": id_, "text": text, "type": type_, "workspace": "acme", **metadata}


def a_page(children: int = 7, *, page: str = "page-123", **metadata) -> list[dict]:
    """A page with a heading, under which paragraphs stand in reading order."""
    told = {"title": "Harbor plan", "summary": "The plan of the harbor.", **metadata}
    return [
        a_block(page, "Harbor plan", "page", **told),
        a_block("section", "Berths and moorings", "heading", parent_id=page, page_id=page, position=1),
        *(
            a_block(f"p{i}", PARAGRAPHS[i], parent_id="section", page_id=page, position=i)
            for i in range(children)
        ),
    ]


def a_builder(records, *, permissions=lambda user: {"workspace": "acme"}, embeddings=EMBEDDINGS, **fields):
    space = fields.pop("space", "cosine")
    collection = a_collection(records, embeddings=embeddings, space=space)
    return WorkspaceContextBuilder(collection, permissions=permissions, embeddings=embeddings, **fields)


def build(records, query="harbor", *, builder=None, budget=None, **fields):
    own = ("config", "journal", "tokenizer", "embeddings", "permissions", "space")
    builder = builder or a_builder(records, **{name: fields.pop(name) for name in own if name in fields})
    return builder.build(
        query, **{"user": ANN, "now": NOW, "token_budget": budget or TokenBudget(), **fields}
    )


def section(payload, name):
    return next((s for s in payload.sections if s.type == name), None)


def ids(payload, name):
    found = section(payload, name)
    return [] if found is None else [item.block_id for item in found.items]


def relevances(payload, name):
    """Return id → relevance of all that a section's collector offered, cut or left out included."""
    return {c.id: round(c.relevance, 3) for c in payload.context.candidates if name in c.provenance}


def signals(payload, id_):
    return next(p.ranked.signals for p in payload.context.passages if p.ranked.candidate.id == id_)
