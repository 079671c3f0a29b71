"""Blocks read around a focus, where few and where many fulfil what is asked of the store."""

from __future__ import annotations

import pytest

from langchain_context_engine.designs.workspace_blocks import Blocks, FocusSource, RelationsSource
from tests.builders import a_collection, a_request
from tests.designs.workspace_builders import EMBEDDINGS, a_block

OWN = ("own0", "own1", "own2")


@pytest.fixture(scope="module", params=[5, 600], ids=["beside few", "beside many"])
def collection(request):
    """Three of Acme's blocks under one parent, among those of others that have the same place and links."""
    others = [
        {
            **a_block(f"other{i}", f"Paragraph {i}.", parent_id="top", position=i, links="top"),
            "workspace": "b",
        }
        for i in range(request.param)
    ]
    own = [a_block(id_, f"Own {i}.", parent_id="top", position=i, links="top") for i, id_ in enumerate(OWN)]
    return a_collection([a_block("top", "The top.", "page"), *others, *own], embeddings=EMBEDDINGS)


def asked(focus):
    return a_request(scope={"workspace": "acme"}, focus={"block": focus}, limit=20)


def test_children_of_another_scope_are_not_there(collection):
    found = FocusSource(blocks=Blocks(collection)).fetch(asked("top"))
    assert [candidate.id for candidate in found] == ["top", *OWN]


def test_siblings_of_another_scope_take_nobodys_place(collection):
    found = FocusSource(blocks=Blocks(collection)).fetch(asked("own1"))
    assert {candidate.id for candidate in found} == {"top", *OWN}


def test_links_from_another_scope_lead_nowhere(collection):
    found = RelationsSource(blocks=Blocks(collection)).fetch(asked("top"))
    assert {candidate.id for candidate in found} == set(OWN)
