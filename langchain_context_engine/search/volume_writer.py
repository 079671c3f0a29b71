"""Writing to the index of one collection, while its lock is held."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from langchain_context_engine.models.metadata import read_list
from langchain_context_engine.search import background
from langchain_context_engine.search.bags import Words
from langchain_context_engine.search.facets import facets, microseconds
from langchain_context_engine.search.kept import Record, Sequencing
from langchain_context_engine.search.postings import Posted, Postings
from langchain_context_engine.search.rows import Rows

Change = tuple[str, Record | None, bytes | None]
"""An id, its record or None where it is gone, and its vector where that is kept."""

_LOOKED_UP_EVERY = 100


class Writer:
    """Writes to a volume, whose lock is held.

    Args:
        rows: Its records, opened to write.
        postings: Its words.
        on_commit: Called when something was committed.
    """

    def __init__(self, rows: Rows, postings: Postings, *, on_commit: Callable[[], None]) -> None:
        self._rows = rows
        self._postings = postings
        self._on_commit = on_commit

    def facts(self) -> dict[str, str]:
        """Return what is noted now."""
        return self._rows.facts()

    def commit(self, changes: Sequence[Change], facts: Mapping[str, object]) -> None:
        """Commit changes and facts: `sequence`, `is_whole`, `read_to`.

        Nothing is written where another process was further already; what it wrote is taken in.
        """
        known = self.facts()
        if int(known["sequence"]) <= int(str(facts.get("sequence", known["sequence"]))):
            keys = [(str(a), str(b)) for a, b in read_list(known["sequences"])]
            self._rows.put(changes, keys, {})
            self.post(facts, {id_: record for id_, record, _ in changes if record is not None})
        self._on_commit()

    def post(self, facts: Mapping[str, object], known: Mapping[str, Record]) -> None:
        """Write the words of all records that have none yet; `known` are some by id, with their words."""
        rows = self._rows
        told = rows.facts()
        upto, gone, new = int(told["upto"]), rows.gone(), rows.outstanding(int(told["upto"]))
        # Those of a writer that died may be there already, so all are taken out first.
        is_left = any(id_ not in known for _, id_ in new)
        taken = [*gone, *(row for row, _ in new)] if is_left else gone
        if new or taken:
            self._postings.write(taken, self._posted(new, known))
        noted = {
            "number": int(told["number"]) + 1,
            "upto": max([upto, *(row for row, _ in new)]),
            "count": rows.count(),
            **({"has_dead": 1} if taken else {}),
            **facts,
        }
        rows.settle(noted)
        self._on_commit()

    def _posted(self, new: Sequence[tuple[int, str]], known: Mapping[str, Record]) -> Iterator[Posted]:
        """Yield what is indexed of rows; those that are not known are read, some at a time."""
        for start in range(0, len(new), _LOOKED_UP_EVERY):
            some = new[start : start + _LOOKED_UP_EVERY]
            if background.is_ending():
                raise OSError("the program ends")
            unknown = self._rows.by_row([row for row, id_ in some if id_ not in known])
            for row, id_ in some:
                record = known.get(id_) or unknown.get(row)
                if record is not None:
                    yield _posted(row, record)

    def arrange(self, keys: Sequencing) -> None:
        """Place all records by a pair of keys."""
        known = read_list(self.facts()["sequences"])
        if list(keys) not in known:
            self._rows.arrange(keys)
            self._rows.put((), (), {"sequences": json.dumps([*known, list(keys)])})
        self._on_commit()


def _posted(row: int, record: Record) -> Posted:
    words = record.words or Words.of(record.document or "", record.metadata)
    return Posted(row, words, tuple(facets(record.metadata)), microseconds(record.metadata.get("created_at")))
