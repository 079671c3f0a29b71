"""An immutable part of an inverted index: arrays over rows, in memory or in one file with checksums.

Rows are sorted by the hash of their id, terms and facets by theirs, so whatever is looked up is found by
bisection. A file is read when it is opened, and its checksums with it; what is large and seldom needed as a
whole (postings, ids, names, the vocabulary) is read again piece by piece. It is never mapped into memory: a
file that is cut short would end the process.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.ranking.links import names_of
from langchain_context_engine.ranking.signals import read_number
from langchain_context_engine.text.words import terms

MOST_CHARACTERS = 2**23
"""Characters of one text whose words are indexed: what one record may cost is bounded."""

DATED = "\x1f"
"""Before a metadata key: the column of the instants that its values name, in seconds."""

_MAGIC = b"context-engine-index 1\n"
_SIZES = re.compile(rb"(\d{10}) (\d{10})\n")
_PROBE = "Parsing parse_url, v1.2 and HTTPServer's 認証 naïve C++ decisions don't"
_NAMES = ("title", "path", "symbol")
_SHORTEST_NAME = 4
_MOST_HEADER = 2**20
_FEW, _NEAR = 64, 2**18
"""So few rows are read one by one, where they do not stand within so many bytes."""
_AT_ONCE = 2**22
_DATE = re.compile(r"\d{4}-\d\d")

_KINDS = {
    "id": "u8", "digest": "u8", "length": "u4", "id_end": "u8", "name_end": "u8",
    "term": "u8", "term_end": "u8",
    "number": "u8", "number_row": "u4", "number_value": "f8",
    "posting_row": "u4", "posting_often": "u2", "ids": "u1", "names": "u1", "words": "u1",
}  # fmt: skip
_LEFT_ON_DISK = {"posting_row", "posting_often", "ids", "names", "words"}


class DamagedIndexError(Exception):
    """A file of an index is not what was written.

    Args:
        why: What is wrong with it.
        path: The file.
    """

    def __init__(self, why: str, path: str | Path) -> None:
        super().__init__(why)
        self.path = Path(path)


@dataclass(frozen=True, slots=True)
class Record:
    """A store's record as it is indexed.

    Attributes:
        id: Chroma's id.
        text: Its text.
        metadata: Its metadata.
    """

    id: str
    text: str
    metadata: Mapping[str, Any]

    @property
    def digest(self) -> int:
        """What tells its text and metadata from others."""
        parts = sorted(f"{key}={value!r}" for key, value in self.metadata.items())
        return hash_of("\x00".join((str(len(self.text)), self.text, *parts)))


def hash_of(text: str) -> int:
    """Return the 64-bit number that stands for an id, a term, a facet or a text."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@lru_cache(maxsize=2**16, typed=True)  # 0 is not False
def facet(key: str, value: str | bool | float) -> int:
    """Return the number of one metadata value: of two that a scope tells apart, never the same."""
    if isinstance(value, str):
        return hash_of(f"{key}\x1fs{value}")
    if isinstance(value, bool):
        return hash_of(f"{key}\x1fb{value}")
    # 2 and 2.0 are one value; hexadecimal, since Python writes no long number in digits.
    is_whole = isinstance(value, int) or value.is_integer()
    return hash_of(f"{key}\x1fn{hex(int(value)) if is_whole else repr(value)}")


@lru_cache(maxsize=2**16)
def name_facet(start: Sequence[str]) -> int:
    """Return the number of how a name begins."""
    return hash_of("\x1f\x1fname" + "\x1f".join(start))


class Segment:
    """Some records of a collection, see above. Rows are counted from 0.

    Args:
        arrays: Every array of `_KINDS`; of those that are left on disk only slices can be had.
        facts: What was noted beside them.
    """

    def __init__(self, arrays: Mapping[str, Any], facts: Mapping[str, Any] | None = None) -> None:
        self.arrays = arrays
        self.facts = dict(facts or {})
        self.ids: Any = arrays["id"]
        self.digests: Any = arrays["digest"]
        self.lengths: Any = arrays["length"]
        self._initials: dict[str, list[str]] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def ids_at(self, rows: Any) -> list[str]:
        """Return the ids of rows."""
        return self._texts("ids", "id_end", rows)

    def names_at(self, rows: Any) -> list[dict[str, str]]:
        """Return the title, path and symbol of rows."""
        texts = self._texts("names", "name_end", rows)
        return [dict(zip(_NAMES, text.split("\x1f"), strict=True)) for text in texts]

    def postings(self, term: int) -> tuple[Any, Any]:
        """Return the rows that have a term or a facet, rising, and how often.

        Raises:
            DamagedIndexError: The file is cut short.
        """
        span = self.postings_of(*self._span("term", term))
        return self.arrays["posting_row"][span], self.arrays["posting_often"][span]

    def frequency(self, term: int) -> int:
        """Return how many rows have a term."""
        span = self.postings_of(*self._span("term", term))
        return int(span.stop - span.start)

    def postings_of(self, start: int, stop: int) -> slice:
        """Return where the postings of the terms stand that stand between two places."""
        ends = self.arrays["term_end"]
        first = int(ends[start - 1]) if start else 0
        return slice(first, int(ends[stop - 1]) if stop > start else first)

    def is_had(self, terms: Any) -> Any:
        """Return of each of some terms whether a row has it."""
        own = self.arrays["term"]
        return own.searchsorted(terms) < own.searchsorted(terms, "right")

    def column(self, key: str) -> tuple[Any, Any]:
        """Return the rows that have a number under a key, and the numbers."""
        span = slice(*self._span("number", hash_of(key)))
        return self.arrays["number_row"][span], self.arrays["number_value"][span]

    def vocabulary(self, initial: str) -> list[str]:
        """Return the words that begin with a letter."""
        if self._initials is None:
            initials: dict[str, list[str]] = {}
            for word in self.words():
                initials.setdefault(word[:1].decode("utf-8", "replace"), []).append(word.decode())
            self._initials = initials
        return self._initials.get(initial, [])

    def words(self) -> list[bytes]:
        """Return all words, in the order of their hashes; of a facet there is none."""
        return bytes(self.arrays["words"][:]).split(b"\n")[:-1]

    def _span(self, name: str, value: int) -> tuple[int, int]:
        array, wanted = self.arrays[name], np.uint64(value)
        return int(array.searchsorted(wanted)), int(array.searchsorted(wanted, "right"))

    def _texts(self, name: str, end: str, rows: Any) -> list[str]:
        if not len(rows):
            return []
        ends, blob = self.arrays[end], self.arrays[name]
        stops = ends[rows].tolist()
        starts = np.where(rows > 0, ends[np.maximum(rows, 1) - 1], 0).tolist()
        first, last = min(starts), max(stops)
        places = zip(starts, stops, strict=True)
        if len(rows) > _FEW or last - first < _NEAR:  # one reading costs less than many
            whole = bytes(blob[first:last])
            cut = [whole[start - first : stop - first] for start, stop in places]
        else:
            cut = [bytes(blob[start:stop]) for start, stop in places]
        return [text.decode("utf-8", "surrogatepass") for text in cut]


def build(records: Sequence[Record]) -> Segment:
    """Return a segment of records, whose ids differ."""
    ordered = sorted(((hash_of(record.id), record) for record in records), key=lambda pair: pair[0])
    codes: dict[str | int, int] = {}
    row_of: list[int] = []
    code_of: list[int] = []
    lengths, numbers = [], []
    for row, (_, record) in enumerate(ordered):
        found = _terms_of(record)
        lengths.append(len(found))
        keys: list[str | int] = [*found, *_facets_of(record.metadata)]
        row_of += [row] * len(keys)
        code_of += [codes.setdefault(key, len(codes)) for key in keys]
        numbers += [(hash_of(key), row, number) for key, number in _numbers_of(record.metadata)]
    words = [key if isinstance(key, str) else "" for key in codes]
    hashes = np.fromiter((hash_of(key) if isinstance(key, str) else key for key in codes), "u8", len(codes))
    by_hash = np.argsort(hashes)
    rank = np.empty(len(codes), "u8")
    rank[by_hash] = np.arange(len(codes), dtype="u8")
    pairs = (rank[np.asarray(code_of, "i8")] << np.uint64(32)) | np.asarray(row_of, "u8")
    pairs, often = np.unique(pairs, return_counts=True)
    numbers.sort()
    arrays = {
        "id": [each for each, _ in ordered],
        "digest": [record.digest for _, record in ordered],
        "length": lengths,
        "term": hashes[by_hash],
        "term_end": np.searchsorted(pairs >> np.uint64(32), np.arange(len(codes), dtype="u8"), "right"),
        "number": [key for key, _, _ in numbers],
        "number_row": [row for _, row, _ in numbers],
        "number_value": [value for _, _, value in numbers],
        "posting_row": pairs & np.uint64(0xFFFFFFFF),
        "posting_often": np.minimum(often, 65535),
        "words": _blob([words[code].encode() + b"\n" for code in by_hash.tolist()])[0],
    }
    texts = [(record.id, "\x1f".join(_name(record.metadata, key) for key in _NAMES)) for _, record in ordered]
    for name, end, place in (("ids", "id_end", 0), ("names", "name_end", 1)):
        arrays[name], arrays[end] = _blob([text[place].encode("utf-8", "surrogatepass") for text in texts])
    return _segment(arrays)


def _segment(arrays: Mapping[str, Any]) -> Segment:
    return Segment({name: np.asarray(arrays[name], kind) for name, kind in _KINDS.items()})


def merge(pairs: Sequence[tuple[Segment, Any]]) -> Segment:
    """Return one segment of the rows that live, of several whose living rows have different ids.

    Args:
        pairs: Each segment, and whether each of its rows lives.
    """
    segments = [build(()), *(segment for segment, _ in pairs)]
    ids = np.concatenate([segment.ids for segment in segments])
    living = np.flatnonzero(np.concatenate([np.empty(0, dtype=bool), *(alive for _, alive in pairs)]))
    order = living[np.argsort(ids[living], kind="stable")]
    moved = np.full(len(ids), -1, "i8")
    moved[order] = np.arange(len(order))
    rows = np.split(moved, np.cumsum([len(segment) for segment in segments])[:-1])

    def joined(name: str) -> Any:
        return np.concatenate([segment.arrays[name] for segment in segments])

    arrays: dict[str, Any] = {name: joined(name)[order] for name in ("id", "digest", "length")}
    for name, end in (("ids", "id_end"), ("names", "name_end")):
        texts = [text for segment in segments for text in _cut(segment, name, end)]
        arrays[name], arrays[end] = _blob([texts[row] for row in order.tolist()])
    new = np.concatenate(
        [row[segment.arrays["number_row"]] for segment, row in zip(segments, rows, strict=True)]
    )
    kept = np.flatnonzero(new >= 0)
    kept = kept[np.lexsort((new[kept], joined("number")[kept]))]
    arrays |= {"number_row": new[kept]} | {name: joined(name)[kept] for name in ("number", "number_value")}
    return _segment(arrays | _merged_postings(segments, rows))


def _merged_postings(segments: Sequence[Segment], rows: Sequence[Any]) -> dict[str, Any]:
    """Return the postings and the vocabulary, some terms at a time: all at once they take gigabytes."""
    everything = np.unique(np.concatenate([segment.arrays["term"] for segment in segments]))
    words: dict[int, bytes] = {}
    for segment in segments:
        words.update(zip(segment.arrays["term"].tolist(), segment.words(), strict=True))
    total = sum(int(segment.arrays["term_end"][-1]) for segment in segments if len(segment.arrays["term"]))
    step = max(1, len(everything) * _AT_ONCE // max(1, total))
    made: dict[str, list[Any]] = {name: [] for name in ("term", "count", "posting_row", "posting_often")}
    for start in range(0, len(everything), step):
        some = everything[start : start + step]
        keys, often = [np.empty(0, "i8")], [np.empty(0, "u2")]
        for segment, moved in zip(segments, rows, strict=True):
            own, stops = segment.arrays["term"], segment.arrays["term_end"]
            first, last = int(own.searchsorted(some[0])), int(own.searchsorted(some[-1], "right"))
            span = segment.postings_of(first, last)
            counts = np.diff(stops[first:last].astype("i8"), prepend=span.start)
            new = moved[segment.arrays["posting_row"][span]]
            code = np.repeat(some.searchsorted(own[first:last]), counts)
            keys.append(((code << 32) | new)[new >= 0])
            often.append(segment.arrays["posting_often"][span][new >= 0])
        key = np.concatenate(keys)
        order = np.argsort(key, kind="stable")
        counts = np.bincount(key >> 32, minlength=len(some))
        made["term"].append(some[counts > 0])
        made["count"].append(counts[counts > 0])
        made["posting_row"].append(key[order] & 0xFFFFFFFF)
        made["posting_often"].append(np.concatenate(often)[order])
    found = {name: np.concatenate(parts) if parts else np.empty(0) for name, parts in made.items()}
    found["term_end"] = np.cumsum(found.pop("count"))
    found["words"], _ = _blob([words[int(term)] + b"\n" for term in found["term"]])
    return found


def write(segment: Segment, path: Path, facts: Mapping[str, Any]) -> None:
    """Write a segment beside a file and put it in the file's place, whole or not at all.

    Args:
        segment: The segment.
        path: The file.
        facts: What is noted beside it.

    Raises:
        OSError: It cannot be written.
    """
    parts = {name: bytes(segment.arrays[name][:]) for name in _KINDS}
    places, start = {}, 0
    for name, part in parts.items():
        places[name] = (start, len(part), zlib.crc32(part))
        start += len(part)
    header = json.dumps({"version": version(), "facts": dict(facts), "arrays": places}).encode()
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with beside.open("wb") as file:
            file.write(_MAGIC + b"%010d %010d\n" % (len(header), zlib.crc32(header)) + header)
            for part in parts.values():
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def read(path: Path) -> Segment:
    """Return the segment of a file, every byte of which is checked.

    Raises:
        DamagedIndexError: It is damaged, or of another version.
        OSError: It cannot be read; FileNotFoundError where there is none.
    """
    file = path.open("rb", buffering=0)
    header, begin = _header(file)
    try:
        # What the header's own checksum covers was written so.
        places = [(name, kind, *header["arrays"][name]) for name, kind in _KINDS.items()]
    except (KeyError, TypeError):
        raise DamagedIndexError("its header says nonsense", path) from None
    arrays: dict[str, Any] = {}
    for name, kind, start, size, checksum in places:
        stored = _OnDisk(file, begin + start, size, kind)
        stored.check(checksum)
        arrays[name] = stored if name in _LEFT_ON_DISK else stored[:]
    return Segment(arrays, header["facts"])


class _OnDisk:
    """An array in a file, of which slices are read."""

    def __init__(self, file: BinaryIO, begin: int, size: int, kind: str) -> None:
        self._file, self._begin, self._size, self._kind = file, begin, size, np.dtype(kind)

    def __getitem__(self, span: slice) -> Any:
        width = self._kind.itemsize
        start, stop, _ = span.indices(self._size // width)
        return np.frombuffer(self._read(start * width, (stop - start) * width), self._kind)

    def check(self, checksum: int) -> None:
        found = 0
        for place in range(0, self._size, _AT_ONCE):
            found = zlib.crc32(self._read(place, min(_AT_ONCE, self._size - place)), found)
        if found != checksum:
            raise DamagedIndexError("a checksum is wrong", self._file.name)

    def _read(self, start: int, size: int) -> bytes:
        found = os.pread(self._file.fileno(), size, self._begin + start) if size else b""
        if len(found) != size:
            raise DamagedIndexError("it is cut short", self._file.name)
        return found


def facts_of(path: Path) -> dict[str, Any]:
    """Return what was noted beside a segment, without reading it.

    Raises:
        DamagedIndexError: It is damaged, or of another version.
        OSError: It cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        return dict(_header(file)[0]["facts"])


@lru_cache(maxsize=1)
def version() -> str:
    """Return what tells a file written by this code from others: its layout, and what words it finds."""
    return f"{hash_of(repr((_KINDS, terms(_PROBE)))):x}"


def _header(file: BinaryIO) -> tuple[dict[str, Any], int]:
    start = file.read(len(_MAGIC) + 22)
    told = _SIZES.fullmatch(start.removeprefix(_MAGIC))
    size, checksum = (0, 0) if told is None else map(int, told.groups())
    body = file.read(size) if 0 < size <= _MOST_HEADER else b""
    if not body or zlib.crc32(body) != checksum:
        raise DamagedIndexError("its beginning is not what was written", file.name)
    header = json.loads(body)
    if header.get("version") != version():
        raise DamagedIndexError("it is of another version", file.name)
    return header, len(start) + size


def _terms_of(record: Record) -> list[str]:
    named = " ".join(_name(record.metadata, key) for key in _NAMES)
    found = terms(record.text[:MOST_CHARACTERS])
    return [*found, *terms(named)] if named.strip() else found


def _name(metadata: Mapping[str, Any], key: str) -> str:
    return str(metadata.get(key) or "").replace("\x1f", " ")


def _facets_of(metadata: Mapping[str, Any]) -> Iterator[int]:
    for key, value in metadata.items():
        if isinstance(value, (str, bool, int)) or (isinstance(value, float) and np.isfinite(value)):
            yield facet(key, value)
    # A single short word tells no record from others.
    starts = {n.start for n in names_of(metadata) if len(n.words) > 1 or len(n.words[0]) >= _SHORTEST_NAME}
    yield from map(name_facet, starts)


def _numbers_of(metadata: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for key, value in metadata.items():
        if (number := read_number(value)) is not None:
            yield key, number
        if key.endswith("_at") or (isinstance(value, str) and _DATE.match(value)):
            instant = read_instant(value)
            if instant is not None:
                yield DATED + key, instant.timestamp()


def _cut(segment: Segment, name: str, end: str) -> Iterator[bytes]:
    whole, start = bytes(segment.arrays[name][:]), 0
    for stop in segment.arrays[end].tolist():
        yield whole[start:stop]
        start = stop


def _blob(texts: Sequence[bytes]) -> tuple[Any, Any]:
    return np.frombuffer(b"".join(texts), "u1"), np.cumsum(np.fromiter(map(len, texts), "u8", len(texts)))
