"""`CachedEmbeddings`: any embeddings with a memory of what they have embedded."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.stores import ByteStore

from langchain_context_engine.embeddings.entries import Entries
from langchain_context_engine.embeddings.flights import Flights, aawaited, awaited
from langchain_context_engine.embeddings.vectors import Vector, align, check_vectors, is_blank, refuse_blank
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.telemetry.instruments import record_cache

_QUERY = "query"
_DOCUMENT = "document"


class CachedEmbeddings(Embeddings):
    """Embeds each text once: later, and at the same time, equal texts get the same vector, to the bit.

    Texts wanted by several threads or coroutines at once cost one call; if it fails, all of them get its
    error, nothing is kept, and the next one tries again. An answer with a NaN, infinite, zero or short
    vector is refused whole. Queries and documents are kept apart, since some models embed them differently.
    A store that fails costs one warning; texts are then embedded as if they were new. A text that is
    empty or only spaces is never sent: see `langchain_context_engine.embeddings`.

    Several machines share what they embed where they share a store: each text is embedded once in all.
    There leave the bound to the store (`max_size=None`, Redis' own `maxmemory`), since each process counts
    only what it found there and wrote itself; and give its client a short timeout without retries, since a
    question waits for it.

    Args:
        embeddings: What embeds.
        store: Any LangChain `ByteStore`, for example one over Redis or files; None is memory.
        model: What names the vectors; entries of another model are never served. None takes it from the
            embeddings' `model` and `dimensions`.
        max_size: Entries kept, the least recently used evicted first; None is no bound.
        ttl_seconds: How long an entry serves; None is for ever.

    Attributes:
        model: The name in use.
        dimensions: Length of a vector; None until it is known.

    Raises:
        ConfigError: `embeddings` cannot embed, `max_size` or `ttl_seconds` is not positive, or a store
            is given and nothing names the model: its vectors could then be served for another one's.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> cached = CachedEmbeddings(DeterministicFakeEmbedding(size=3), max_size=1000, ttl_seconds=3600)
        >>> cached.embed_query("a") == cached.embed_query("a"), len(cached)
        (True, 1)
    """

    def __init__(
        self,
        embeddings: Embeddings,
        store: ByteStore | None = None,
        model: str | None = None,
        *,
        max_size: int | None = 10_000,
        ttl_seconds: float | None = None,
    ) -> None:
        if max_size is not None and (not isinstance(max_size, int) or max_size < 1):
            msg = f"max_size must be a whole number of 1 or more, or None for no bound, got {max_size!r}"
            raise ConfigError(msg)
        if ttl_seconds is not None and not (ttl_seconds > 0 and math.isfinite(ttl_seconds)):
            msg = f"ttl_seconds must be above 0, or None for no limit, got {ttl_seconds!r}"
            raise ConfigError(msg)
        if not callable(getattr(embeddings, "embed_query", None)):
            msg = f"embeddings must be LangChain Embeddings, got {type(embeddings).__name__}"
            raise ConfigError(msg)
        self.embeddings = embeddings
        self.model = model or _model_name(embeddings, is_shared=store is not None)
        self.dimensions: int | None = getattr(embeddings, "dimensions", None)
        # The same model asked for shorter vectors is another one, unless the caller named it.
        identity = self.model if model else f"{self.model} {self.dimensions}"
        prefix = f"embedding-{_digest(identity)[:32]}-"
        self._entries = Entries(store, prefix=prefix, max_size=max_size, ttl_seconds=ttl_seconds)
        self._flights = Flights()

    def key(self, text: str, *, is_query: bool = True) -> str:
        """Return the key that a text's vector is kept under: of the model, what it is, and the text.

        Args:
            text: The text.
            is_query: A query, rather than a document: some models embed them differently.
        """
        return self._key(text, _QUERY if is_query else _DOCUMENT)

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query.

        Raises:
            EmbeddingError: The query is empty or only spaces, or its vector is unusable.
        """
        refuse_blank(text)
        return self._embed([text], _QUERY, lambda texts: [self.embeddings.embed_query(t) for t in texts])[0]

    async def aembed_query(self, text: str) -> Vector:
        """Return the vector of a query; as `embed_query`."""
        refuse_blank(text)

        async def call(texts: list[str]) -> list[Vector]:
            return [await self.embeddings.aembed_query(t) for t in texts]

        return (await self._aembed([text], _QUERY, call))[0]

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        """Return one vector for each text, in order; zeros for a text that is empty or only spaces.

        Only texts that are not known yet are sent, each once, in one call.

        Raises:
            EmbeddingError: A vector is missing or unusable; nothing of that call is then kept.
        """
        return self._embed(texts, _DOCUMENT, self.embeddings.embed_documents)

    async def aembed_documents(self, texts: list[str]) -> list[Vector]:
        """Return one vector for each text; as `embed_documents`."""
        return await self._aembed(texts, _DOCUMENT, self.embeddings.aembed_documents)

    def get(self, text: str, *, role: str = _QUERY) -> Vector | None:
        """Return the vector kept for a text, or None; nothing is embedded.

        Args:
            text: The text.
            role: `"query"` or `"document"`.
        """
        key = self._key(text, role)
        return self._entries.read([key]).get(key)

    def set(self, text: str, vector: Sequence[float], *, role: str = _QUERY) -> None:
        """Keep a vector for a text.

        Raises:
            EmbeddingError: The vector is unusable.
        """
        (checked,) = self._checked([vector], 1)
        self._entries.write({self._key(text, role): checked})

    def clear(self) -> None:
        """Forget every vector of this model, in the store too; entries of other models stay."""
        self._entries.clear()

    def __len__(self) -> int:
        """Count the entries of this model."""
        return len(self._entries)

    def _embed(self, texts: list[str], role: str, call: Callable[[list[str]], list[Vector]]) -> list[Vector]:
        wanted = {self._key(text, role): text for text in texts if not is_blank(text)}
        found: dict[str, Vector] = {}
        while missing := [key for key in wanted if key not in found]:
            mine, theirs = self._flights.claim(missing, is_async=False)
            with self._flights.landing(mine) as landed:
                landed.update(self._known(mine))
                if new := [key for key in mine if key not in landed]:
                    landed.update(self._kept(new, call([wanted[key] for key in new])))
            found |= landed | awaited(theirs)
        return self._in_order(texts, role, found)

    async def _aembed(
        self, texts: list[str], role: str, call: Callable[[list[str]], Awaitable[list[Vector]]]
    ) -> list[Vector]:
        wanted = {self._key(text, role): text for text in texts if not is_blank(text)}
        found: dict[str, Vector] = {}
        while missing := [key for key in wanted if key not in found]:
            mine, theirs = self._flights.claim(missing, is_async=True)
            with self._flights.landing(mine) as landed:
                landed.update(await self._off_loop(self._known, mine))
                if new := [key for key in mine if key not in landed]:
                    answer = await call([wanted[key] for key in new])
                    landed.update(await self._off_loop(self._kept, new, answer))
            found |= landed | await aawaited(theirs)
        return self._in_order(texts, role, found)

    async def _off_loop(self, step: Callable[..., dict[str, Vector]], *arguments: Any) -> dict[str, Vector]:
        if self._entries.is_in_memory:
            return step(*arguments)
        return await asyncio.to_thread(step, *arguments)

    def _known(self, keys: Iterable[str]) -> dict[str, Vector]:
        asked = list(keys)
        if not asked:
            return {}
        known = self._entries.read(asked)
        usable = {k: v for k, v in known.items() if self.dimensions in (None, len(v))}
        for key in asked:
            record_cache("embeddings", is_hit=key in usable)
        return usable

    def _kept(self, keys: list[str], answer: object) -> dict[str, Vector]:
        vectors = dict(zip(keys, self._checked(answer, len(keys)), strict=True))
        self._entries.write(vectors)
        return vectors

    def _checked(self, answer: object, count: int) -> list[Vector]:
        vectors = check_vectors(answer, count=count, model=self.model, dimensions=self.dimensions)
        self.dimensions = len(vectors[0])
        return vectors

    def _in_order(self, texts: list[str], role: str, found: dict[str, Vector]) -> list[Vector]:
        # Copies, so that whoever changes a vector changes it for no one else.
        spoken = (list(found[self._key(text, role)]) for text in texts if not is_blank(text))
        return align(texts, spoken, self.dimensions)

    def _key(self, text: str, role: str) -> str:
        # Digests have a fixed length, so no two (model, role, text) can join to one key; and they hold
        # only characters that every store takes in a key.
        return f"{self._entries.prefix}{role[0]}-{_digest(text)}"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is under way."""
        return {name: value for name, value in self.__dict__.items() if name != "_flights"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Start with nothing under way."""
        self.__dict__.update(state)
        self._flights = Flights()


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()


def _model_name(embeddings: Embeddings, *, is_shared: bool) -> str:
    for attribute in ("model", "model_name", "model_id", "deployment"):
        name = getattr(embeddings, attribute, None)
        if isinstance(name, str) and name:
            return name
    kind = type(embeddings).__name__
    if is_shared:
        msg = f"a store can serve several models, and {kind} does not name its own: pass model='…'"
        raise ConfigError(msg)
    return kind
