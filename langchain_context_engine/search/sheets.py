"""What Chroma collections are like, and what is doubtful about searching them together."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.quotas import Portions
from langchain_context_engine.search.state import index_state

__all__ = ["Sheet", "describe", "doubts", "sheets", "unindexed"]

Sheet = Mapping[str, Any]
"""What a collection is like, by name."""

_MODEL = "embedding_model"
_SEEN = 200


def sheets(client: Any) -> list[Sheet]:
    """Return what each collection of a client is like, by name."""
    names = sorted(collection.name for collection in client.list_collections())
    return [describe(client.get_collection(name, embedding_function=None)) for name in names]


def describe(collection: Any) -> Sheet:
    """Return what a collection is like; metadata keys are those of its first records."""
    handle = CollectionHandle(collection)
    sample = Portions(_SEEN).pages(
        lambda most, place: collection.get(limit=most, offset=place, include=["metadatas"])["metadatas"] or []
    )
    keys = Counter(key for metadata in itertools.islice(sample, _SEEN) for key in metadata or {})
    first = collection.get(limit=1, include=["embeddings"])["embeddings"]
    own = collection.metadata or {}
    named = (getattr(collection, "configuration", None) or {}).get("embedding_function")
    state = index_state(collection)
    return {
        "collection": collection.name,
        "records": state.records,
        "unindexed": unindexed(collection),
        "dimension": len(first[0]) if first is not None and len(first) else None,
        "metric": handle.space,
        "index": str(state),
        "embedder": str(own.get(_MODEL) or (type(named).__name__ if named else "") or "not said"),
        "metadata keys": ", ".join(key for key, _ in keys.most_common()),
    }


def unindexed(collection: Any) -> int | None:
    """Return how many changes a collection has not indexed yet, or None where a server does not say.

    A distributed server indexes later and says how much; a single one does not know the question. Chroma in
    this process has nothing to say: whatever was written to a folder is searched at once.
    """
    try:
        return int(collection.get_indexing_status().num_unindexed_ops)
    except NotImplementedError:
        return 0
    except Exception:  # noqa: BLE001 - whatever a store without this answer raises
        return None


def doubts(found: Sequence[Sheet]) -> list[str]:
    """Return what a person should know before searching these collections together."""
    told = []
    metrics = {str(sheet["metric"]) for sheet in found if sheet["records"]}
    if len(metrics) > 1:
        told.append(
            f"The collections have different metrics ({', '.join(sorted(metrics))}): relevance is made 0–1 "
            "from each, but cosine everywhere compares best."
        )
    untold = [str(sheet["collection"]) for sheet in found if sheet["records"] and sheet["unindexed"] is None]
    if untold:
        told.append(
            f"How many changes are not indexed yet cannot be seen ({', '.join(untold)}): only a distributed "
            "Chroma server says it. The counts here include them."
        )
    told += [
        f"{sheet['collection']}: {sheet['unindexed']:,} changes are not indexed yet; a search may be "
        "slower, or miss them, until they are."
        for sheet in found
        if sheet["unindexed"]
    ]
    # One line a doubt, however many collections it is about.
    if names := _named(found, lambda sheet: sheet["metric"] == "l2"):
        told.append(f"{names}: metric l2 is Chroma's default, seldom meant for texts.")
    if names := _named(found, lambda sheet: not sheet["records"]):
        told.append(f"{names}: is empty.")
    if names := _named(found, lambda sheet: sheet["embedder"] == "not said" and bool(sheet["records"])):
        told.append(
            f"{names}: does not say what embedded it; a query embedded by another model of the same "
            "dimension finds nonsense without an error."
        )
    embedders = {(sheet["embedder"], sheet["dimension"]) for sheet in found if sheet["records"]}
    if len({dimension for _, dimension in embedders}) > 1:
        told.append("The collections have different dimensions: each needs its own embeddings.")
    return told


def _named(found: Sequence[Sheet], is_doubtful: Callable[[Sheet], bool]) -> str:
    return ", ".join(str(sheet["collection"]) for sheet in found if is_doubtful(sheet))
