"""Counting tokens: `TokenCounter`, and `resolve_tokenizer` that makes one from a name, function or model.

Names: `"auto"` is cl100k_base; an encoding (`"o200k_base"`); a model (`"gpt-4o"`); `"estimate"`, an upper
bound that needs no vocabulary; `"utf8_bytes"`. The fastest exact backend is taken: quicktok where it is
installed, else tiktoken. Without either's vocabulary and without a network the estimate takes their
place within a second, with one warning and `is_estimated=True`. Everything that can go wrong goes wrong
here, when an engine is built, never while it answers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.text.tokens.backends import (
    MODERN_ENCODINGS,
    Backend,
    Brought,
    Bytes,
    Estimate,
    Quicktok,
    Tiktoken,
    encoding_of,
    estimate_backend,
    load_encoding,
)

Count = Callable[[str], int]
"""Anything that counts the tokens of a text."""

FALLBACK_ENCODING = "cl100k_base"
"""What `"auto"` means, and what counts for a model that nobody knows."""

_EXACTLY = "To count exactly, pass a model's full name, a function or a chat model."
_BROUGHT = ("function:", "model:", "tokenizer:")

_counters: dict[str, TokenCounter] = {}
_lock = ForkSafeLock()


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Counts tokens; call it with a text. Thread-safe. A lone surrogate counts as U+FFFD.

    Attributes:
        name: What to give to `resolve_tokenizer` for the same counter; of a part given as an object,
            `function:…`, `model:…` or `tokenizer:…`.
        is_estimated: The count is an upper bound, not exact.
        warning: What a person should know of it, told in every context that it counts; "" for nothing.

    Example:
        >>> count = resolve_tokenizer("estimate")
        >>> count("日本語のテキスト") >= 8, count.is_estimated
        (True, True)
        >>> count.decode(count.encode("naïve 😀"))
        'naïve 😀'
    """

    name: str
    is_estimated: bool
    backend: Backend = field(repr=False)
    given: Any = field(repr=False, compare=False)
    warning: str = field(default="", repr=False, compare=False)

    def __hash__(self) -> int:
        return hash(self.name)  # asked for with each count that is kept

    def __call__(self, text: str) -> int:
        """Return how many tokens a text has, 0 for ""."""
        return self.backend.count(text)

    @property
    def adds_up(self) -> bool:
        """Whether a text costs what its parts do, cut between a word and a space."""
        return isinstance(self.backend, (Quicktok, Tiktoken, Bytes))

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text; special tokens such as `<|endoftext|>` are plain text.

        Raises:
            ConfigError: It was made from something that only counts.
        """
        return self.backend.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of some tokens; a character that they split becomes U+FFFD.

        Raises:
            ConfigError: It was made from something that only counts.
        """
        return self.backend.decode(ids)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by what it was made from: vocabularies do not travel."""
        return (resolve_tokenizer, (self.given,))


def resolve_tokenizer(tokenizer: str | Count | Any = "auto") -> TokenCounter:
    """Return the counter for a name, a function, a chat model or a tokenizer object.

    Args:
        tokenizer: A name (see the module); `text -> int`; an object with `get_num_tokens` (a
            LangChain chat model: one that counts by tiktoken is counted for by its model's name);
            an object with `encode` (tiktoken, tokenizers, transformers). Equal names give the same
            counter.

    Raises:
        ConfigError: It is none of these, or does not count in whole numbers of 0 or more.

    Warns:
        UserWarning: A model is unknown and cl100k_base counts for it; or the vocabulary cannot be
            had and the estimate counts.

    Example:
        >>> resolve_tokenizer(lambda text: len(text.split()))("three short words")
        3
        >>> resolve_tokenizer("auto") is resolve_tokenizer("cl100k_base")
        True
    """
    if isinstance(tokenizer, TokenCounter):
        return tokenizer
    if isinstance(tokenizer, str):
        counter, warning = _named(tokenizer)
    elif name := _tiktoken_model(tokenizer):
        counter, warning = _named(name)
    else:
        counter, warning = _brought(tokenizer), ""
    if warning:
        warnings.warn(warning, stacklevel=2)
        return replace(counter, warning=warning)
    return counter


def _tiktoken_model(model: Any) -> str:
    """Return the model's name where a chat model counts by tiktoken itself, as langchain-openai's do."""
    if not hasattr(model, "tiktoken_model_name") or getattr(model, "custom_get_token_ids", None) is not None:
        return ""
    return str(model.tiktoken_model_name or getattr(model, "model_name", None) or "")


def _named(name: str) -> tuple[TokenCounter, str]:
    if not name or name.startswith(_BROUGHT):
        raise ConfigError(
            f"tokenizer {name!r} is not a name that can be looked up; pass the function or object itself"
        )
    if name == "utf8_bytes":
        return _shared(name, Bytes()), ""
    if name == "estimate":
        return _shared(name, estimate_backend()), ""
    encoding = FALLBACK_ENCODING if name == "auto" else encoding_of(name)
    unknown = ""
    if encoding is None:
        encoding = FALLBACK_ENCODING
        unknown = f"no encoding is known for {name!r}; counting with {encoding}. " + _EXACTLY
    counter = _counters.get(encoding)
    if counter is None:
        backend = load_encoding(encoding)
        if backend is None:
            return _stand_in(encoding, unknown)
        counter = _shared(encoding, backend)
    return counter, unknown


def _stand_in(encoding: str, unknown: str) -> tuple[TokenCounter, str]:
    """Return what counts in place of an encoding that cannot be had, and the one warning."""
    is_bounded = encoding in MODERN_ENCODINGS
    counter, _ = _named("estimate" if is_bounded else "utf8_bytes")
    install = "install quicktok-v1, or " if is_bounded else ""
    missing = (
        f"the vocabulary of {encoding} is not cached and cannot be downloaded; tokens are estimated, never"
        f" below the true count. For exact counts offline {install}set TIKTOKEN_CACHE_DIR."
    )
    return counter, f"{unknown} {missing}".strip()


def _shared(name: str, backend: Backend) -> TokenCounter:
    with _lock:
        is_estimated = isinstance(backend, (Estimate, Bytes))
        return _counters.setdefault(name, TokenCounter(name, is_estimated, backend, name))


def _brought(tokenizer: Any) -> TokenCounter:
    backend = _backend_of(tokenizer)
    for probe in ("", "a short text"):
        try:
            backend.count(probe)
        except ConfigError:
            raise
        except Exception as error:  # anyone's tokenizer
            raise ConfigError(
                f"tokenizer {backend.name} failed to count {probe!r}: {type(error).__name__}; pass a name"
                " such as 'auto', or a function text -> int"
            ) from error
    return TokenCounter(backend.name, False, backend, tokenizer)


def _backend_of(tokenizer: Any) -> Brought:
    kind = type(tokenizer).__name__
    if hasattr(tokenizer, "get_num_tokens"):
        encode = getattr(tokenizer, "get_token_ids", None)
        return Brought(f"model:{kind}", tokenizer.get_num_tokens, encode)
    if hasattr(tokenizer, "encode"):
        encode = getattr(tokenizer, "encode_ordinary", tokenizer.encode)
        decode = getattr(tokenizer, "decode", None)
        return Brought(f"tokenizer:{kind}", _length_of(encode), encode, decode)
    if callable(tokenizer):
        return Brought(f"function:{getattr(tokenizer, '__qualname__', kind)}", tokenizer)
    raise ConfigError(f"tokenizer must be a name, a function text -> int or a chat model, got {kind}")


def _length_of(encode: Callable[[str], Any]) -> Count:
    def count(text: str) -> int:
        ids = encode(text)
        return len(getattr(ids, "ids", ids))

    return count
