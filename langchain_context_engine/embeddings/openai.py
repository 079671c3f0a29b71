"""`OpenAIEmbeddings`: OpenAI's embeddings API, or a server that speaks it, by the `openai` SDK."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from langchain_core.embeddings import Embeddings
from pydantic import SecretStr

from langchain_context_engine.embeddings.vectors import Vector, align, check_vectors, is_blank, refuse_blank
from langchain_context_engine.errors import ConfigError, EmbeddingError
from langchain_context_engine.models.freeze import clean_text
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.text.tokens import resolve_tokenizer
from langchain_context_engine.text.truncate import keep_start

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types import CreateEmbeddingResponse

_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
# What one call may carry, by the API's reference.
_MAX_TEXTS = 2048
_MAX_REQUEST_TOKENS = 300_000
_MAX_TEXT_TOKENS = 8191
_RETRIES, _TRY_SECONDS = 5, 60.0


class OpenAIEmbeddings(Embeddings):
    """Embeds by OpenAI's API: order kept, limits kept, rate limits waited out.

    Texts go out in calls of at most 2048 texts and 300,000 tokens. A text beyond `max_text_tokens` is
    cut at its end, with a warning. The SDK retries rate limits, timeouts and server errors five times, as the
    server's `Retry-After` says, each for up to a minute; a client of your own has its own rules. A text that
    is empty or only spaces is never sent: see `langchain_context_engine.embeddings`. Asked from an event loop
    it works in a thread.

    Args:
        model: The model's name.
        dimensions: Ask for shorter vectors (the `text-embedding-3` models can); None is the model's own.
        api_key: The key; None reads `OPENAI_API_KEY`.
        base_url: Another server that speaks the API; None reads `OPENAI_BASE_URL`, else OpenAI's.
        client: A ready `openai.OpenAI`, or `AzureOpenAI`, used instead of the settings around it.
        max_text_tokens: Where a text is cut; lower it for a server whose model reads less.

    Attributes:
        model: As given.
        dimensions: Length of a vector; None for an unknown model until it has answered once.

    Raises:
        ConfigError: The extra `openai` is not installed, no key is known, or `max_text_tokens` is no
            positive whole number.

    Example:
        >>> embeddings = OpenAIEmbeddings(api_key="not-a-real-key")
        >>> embeddings.model, embeddings.dimensions
        ('text-embedding-3-small', 1536)
    """

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        dimensions: int | None = None,
        api_key: str | SecretStr | None = None,
        base_url: str | None = None,
        client: OpenAI | None = None,
        max_text_tokens: int = _MAX_TEXT_TOKENS,
    ) -> None:
        if find_spec("openai") is None:
            msg = 'OpenAIEmbeddings needs the openai SDK: pip install "langchain-context-engine[openai]"'
            raise ConfigError(msg)
        key = api_key if api_key is not None else os.environ.get("OPENAI_API_KEY")
        if not key and client is None:
            msg = "OpenAIEmbeddings needs a key: pass api_key, or set OPENAI_API_KEY, or pass a client"
            raise ConfigError(msg)
        if not isinstance(max_text_tokens, int) or max_text_tokens < 1:
            raise ConfigError(f"max_text_tokens must be a whole number of 1 or more, got {max_text_tokens!r}")
        self.model = model
        self.dimensions = dimensions or _DIMENSIONS.get(model)
        self.api_key = key if key is None or isinstance(key, SecretStr) else SecretStr(key)
        self.base_url = base_url if client is None else str(client.base_url)
        self.max_text_tokens = max_text_tokens
        self._asks_dimensions = dimensions is not None
        self._given_client = client
        self._own_client: OpenAI | None = None

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query.

        Raises:
            EmbeddingError: The query is blank, or the server failed, or its answer is unusable.
        """
        refuse_blank(text)
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        """Return one vector for each text, in order; zeros for a text that is empty or only spaces.

        Raises:
            EmbeddingError: The server failed, or its answer is unusable.
        """
        from openai import OpenAIError

        asked = {"dimensions": self.dimensions} if self._asks_dimensions else {}
        vectors: list[Vector] = []
        for batch in self._batches(texts):
            try:
                answer = self._client().embeddings.create(model=self.model, input=batch, **asked)  # type: ignore[arg-type]
                vectors += self._read(answer, len(batch))
            except (OpenAIError, OSError, ValueError) as error:
                raise EmbeddingError(f"{self.model}: {safe_message(error)}") from None
            except (AttributeError, TypeError):  # the SDK looks into what it was sent
                raise EmbeddingError(f"{self.model}: the answer is none of the embeddings API") from None
        return align(texts, vectors, self.dimensions)

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        count, most = resolve_tokenizer("auto"), self.max_text_tokens
        batch: list[str] = []
        total = 0
        for text in (clean_text(text) for text in texts if not is_blank(text)):
            kept, tokens = text, count(text)
            if tokens > most:
                told = f"a text of {tokens} tokens was cut to {most}, the most that {self.model} reads"
                warnings.warn(told, stacklevel=3)
                kept = keep_start(text, most, count)
                tokens = count(kept)
            if batch and (len(batch) == _MAX_TEXTS or total + tokens > _MAX_REQUEST_TOKENS):
                yield batch
                batch, total = [], 0
            batch.append(kept)
            total += tokens
        if batch:
            yield batch

    def _read(self, answer: CreateEmbeddingResponse, count: int) -> list[Vector]:
        # Servers may answer in any order: `index` says which text a vector belongs to.
        data = {item.index: item.embedding for item in answer.data or ()}
        if set(data) != set(range(count)) or len(answer.data) != count:
            msg = f"{self.model} gave {len(answer.data or ())} vectors for {count} texts, or misnumbered ones"
            raise EmbeddingError(msg)
        vectors = check_vectors(
            [data[i] for i in range(count)], count=count, model=self.model, dimensions=self.dimensions
        )
        self.dimensions = len(vectors[0])
        return vectors

    def _client(self) -> OpenAI:
        if self._given_client is not None:
            return self._given_client
        if self._own_client is None:
            from openai import OpenAI

            self._own_client = OpenAI(
                api_key=self.api_key.get_secret_value() if self.api_key else None,
                base_url=self.base_url,
                max_retries=_RETRIES,
                timeout=_TRY_SECONDS,
            )
        return self._own_client

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what a copy makes anew: its own client.

        Raises:
            ConfigError: A client was given: it holds live connections, which cannot be copied.
        """
        if self._given_client is not None:
            msg = "an OpenAIEmbeddings with a given client cannot be copied or pickled; pass api_key instead"
            raise ConfigError(msg)
        return {**self.__dict__, "_own_client": None}
