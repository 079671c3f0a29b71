"""Deleting a collection so that nothing of it comes back."""

from __future__ import annotations

from typing import Any

from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.quotas import Portions

_PAGE = 2000


def delete_collection(client: Any, name: str) -> None:
    """Delete a collection of a Chroma client.

    Chroma (seen in 1.5.9) leaves behind the lists that stand in the metadata of a collection's records,
    and gives them to the next records that take the same rows, in any collection: those of one tenant had
    another's files and links. With a record that is deleted itself its lists go, so those that have any
    are deleted first.

    Raises:
        chromadb.errors.NotFoundError: There is none of this name.
    """
    handle = CollectionHandle(client.get_collection(name, embedding_function=None))
    with_lists: list[str] = []
    place = 0
    while page := handle.ids_from(place, _PAGE):
        found = handle.metadata_of(page)
        with_lists += [id_ for id_, metadata in found.items() if list in map(type, metadata.values())]
        place += len(page)
    Portions(min(_PAGE, handle.most)).all_of(
        with_lists, lambda a, b: handle.collection.delete(ids=with_lists[a:b])
    )
    client.delete_collection(name)
