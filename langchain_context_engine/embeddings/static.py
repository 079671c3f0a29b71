"""A small static embedding that ships in a wheel, so nothing is ever downloaded; without LangChain.

`LocalEmbeddings` is this for LangChain, whose base class takes a fifth of a second to import: commands ask
a store without it.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_context_engine.embeddings.vectors import Vector, align, is_blank, refuse_blank
from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.freeze import clean_text
from langchain_context_engine.models.locks import FORKING

if TYPE_CHECKING:
    import numpy as np


class StaticEmbeddings:
    """Embeds offline with wordllama's 256-dimension token vectors, see `LocalEmbeddings`.

    Raises:
        ConfigError: The extra `local` is not installed.
    """

    model = "wordllama-l2-supercat-256"
    dimensions = 256
    is_in_process = True

    def __init__(self) -> None:
        if find_spec("wordllama") is None:
            msg = 'LocalEmbeddings needs wordllama: pip install "langchain-context-engine[local]"'
            raise ConfigError(msg)

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query."""
        refuse_blank(text)
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        """Return one vector for each text, in order; zeros for a text that is empty or only spaces."""
        spoken = [clean_text(text) for text in texts if not is_blank(text)]
        return align(texts, _embed(spoken) if spoken else (), self.dimensions)


def _embed(texts: list[str]) -> list[Vector]:
    import numpy as np

    tokenizer, table = _load()
    rows = np.empty((len(texts), table.shape[1]), dtype=np.float32)
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    for row, text in zip(rows, encoded, strict=True):
        # The mean over distinct tokens by their counts: a text of any length needs the table at most once,
        # where padding a batch to its longest text would need gigabytes.
        ids, counts = np.unique(np.minimum(text.ids, len(table) - 1), return_counts=True)
        row[:] = counts.astype(np.float32) @ table[ids]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    vectors: list[Vector] = rows.tolist()
    return vectors


def _load() -> tuple[Any, np.ndarray[Any, Any]]:
    # A child of a fork in the middle of the import, or of the tokenizer's own loading, would wait for ever.
    with FORKING:
        return _loaded()


@cache
def _loaded() -> tuple[Any, np.ndarray[Any, Any]]:
    """Read the files that wordllama's wheel brings; its own loader imports what it downloads others with."""
    import numpy as np
    from safetensors import safe_open
    from tokenizers import Regex, Tokenizer
    from tokenizers.pre_tokenizers import Split

    spec = find_spec("wordllama")
    folder = Path(str(spec and spec.origin)).parent
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # Words one by one give the same tokens, and its cache keeps words in place of whole texts, 5 kB each.
    tokenizer.pre_tokenizer = Split(Regex("▁*[^▁]+|▁+"), "isolated")
    with safe_open(folder / "weights" / "l2_supercat_256.safetensors", framework="np") as weights:
        table = weights.get_tensor("embedding.weight")
    return tokenizer, np.ascontiguousarray(table.astype(np.float32))
