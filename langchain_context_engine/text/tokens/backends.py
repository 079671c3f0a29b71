"""The backends that count tokens: quicktok, tiktoken, a safe estimate, UTF-8 bytes, what a user brings.

Each has `count(text)`, `encode(text)` and `decode(ids)`, is thread-safe, and reads a lone surrogate as
U+FFFD. `tokens/__init__.py` chooses among them. Below them stands which encoding a model has, and how its
vocabulary is had: from a cache, or by a download within a second.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import operator
import os
import re
import socket
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.freeze import clean_text


@dataclass(frozen=True, slots=True)
class Quicktok:
    """Exact and fast, with the vocabularies in its wheel. Wraps `quicktok.Tokenizer`."""

    encoding: Any

    def count(self, text: str) -> int:
        """Return how many tokens a text has."""
        try:
            return int(self.encoding.count(text))
        except TypeError:  # a lone surrogate
            return int(self.encoding.count(clean_text(text)))

    def encode(self, text: str) -> list[int]:
        """Return its tokens."""
        return list(self.encoding.encode_ordinary(clean_text(text)))

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of some tokens."""
        return str(self.encoding.decode(list(ids)))


# Where every encoding ends a piece anyway: between a letter or digit and what follows a word.
_PIECE_END = re.compile(r".*[^\W_](?=[ \n.,;:。、，])", re.DOTALL)
_WINDOW = 8192
_UNBROKEN = 1024


def _windows(text: str) -> Iterator[str]:
    """Cut a long text where the tokens stay the same, and an unbroken run anywhere.

    tiktoken takes quadratic time, overflows its stack or panics on runs of hundreds of thousands of
    characters (which, depends on its version); no run that long reaches it.
    """
    start = 0
    while len(text) - start > _WINDOW:
        end = _PIECE_END.match(text, start, start + _WINDOW)
        cut = end.end() if end else start + _UNBROKEN
        yield text[start:cut]
        start = cut
    yield text[start:]


@dataclass(frozen=True, slots=True)
class Tiktoken:
    """Exact. Wraps `tiktoken.Encoding`."""

    encoding: Any

    def count(self, text: str) -> int:
        """Return how many tokens a text has."""
        return sum(len(self.encoding.encode_ordinary(window)) for window in _windows(text))

    def encode(self, text: str) -> list[int]:
        """Return its tokens."""
        return [i for window in _windows(text) for i in self.encoding.encode_ordinary(window)]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of some tokens."""
        return str(self.encoding.decode(list(ids)))


@dataclass(frozen=True, slots=True)
class Bytes:
    """The UTF-8 bytes: no byte-level encoding has more tokens than this."""

    def count(self, text: str) -> int:
        """Return how many bytes a text has."""
        return len(self.encode(text))

    def encode(self, text: str) -> list[int]:
        """Return its bytes."""
        return list(clean_text(text).encode())

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of some bytes."""
        return bytes(ids).decode(errors="replace")


# Ids of the second vocabulary start here, so that decoding knows which one made them.
_SECOND_FROM = 1 << 20


@dataclass(frozen=True, slots=True)
class Estimate:
    """An upper bound of cl100k_base and o200k_base for every text; about 1.4 times as many for English.

    A byte-pair encoding applies its merges by rank, and a later merge only makes tokens fewer. So
    the first 8192 entries of a vocabulary alone never give fewer tokens than all of it. This counts
    with the first of both vocabularies and takes the larger number.
    """

    first: Tiktoken
    second: Tiktoken

    def count(self, text: str) -> int:
        """Return the estimate, never below the true count."""
        return max(self.first.count(text), self.second.count(text))

    def encode(self, text: str) -> list[int]:
        """Return as many ids as `count` says; `decode` gives the text back."""
        first, second = self.first.encode(text), self.second.encode(text)
        return first if len(first) >= len(second) else [i + _SECOND_FROM for i in second]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of some of the ids that `encode` gave."""
        if ids and ids[0] >= _SECOND_FROM:
            return self.second.decode([i - _SECOND_FROM for i in ids])
        return self.first.decode(ids)


# How the encodings cut a text into pieces, as published with tiktoken.
_CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_PATTERNS = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "o200k_base": (
        rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]*[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]+{_CONTRACTION}"
        rf"|[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]+[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]*{_CONTRACTION}"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}


@cache
def estimate_backend() -> Estimate:
    """Return the estimate, read once from the package; no network."""
    return Estimate(_first_merges("cl100k_base"), _first_merges("o200k_base"))


def _first_merges(name: str) -> Tiktoken:
    import tiktoken

    packed = resources.files(__package__).joinpath("first_merges", f"{name}.gz").read_bytes()
    ranks = {base64.b64decode(line): rank for rank, line in enumerate(gzip.decompress(packed).split(b"\n"))}
    encoding = tiktoken.Encoding(
        f"{name}-first", pat_str=_PATTERNS[name], mergeable_ranks=ranks, special_tokens={}
    )
    return Tiktoken(encoding)


@dataclass(frozen=True, slots=True)
class Brought:
    """What the user brought: a counting function, with encoding and decoding where it can.

    Attributes:
        name: For messages.
        counting: `text -> int`.
        encoding: `text -> ids`, or None.
        decoding: `ids -> text`, or None.
    """

    name: str
    counting: Callable[[str], Any]
    encoding: Callable[[str], Any] | None = None
    decoding: Callable[[list[int]], str] | None = None

    def count(self, text: str) -> int:
        """Return how many tokens a text has.

        Raises:
            ConfigError: The function gave no whole number of 0 or more.
        """
        number = self.counting(clean_text(text))
        try:
            tokens = operator.index(number)
        except TypeError:
            tokens = -1
        if tokens < 0 or isinstance(number, bool):
            shown = repr(number) if isinstance(number, (int, float)) else type(number).__name__
            raise ConfigError(f"tokenizer {self.name} must count in whole numbers of 0 or more, got {shown}")
        return tokens

    def encode(self, text: str) -> list[int]:
        """Return its tokens.

        Raises:
            ConfigError: It only counts.
        """
        if self.encoding is None:
            raise ConfigError(
                f"tokenizer {self.name} only counts; to encode, pass one with encode and decode"
            )
        ids = self.encoding(clean_text(text))
        return list(getattr(ids, "ids", ids))

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of some tokens.

        Raises:
            ConfigError: It only counts.
        """
        if self.decoding is None:
            raise ConfigError(
                f"tokenizer {self.name} only counts; to decode, pass one with encode and decode"
            )
        return self.decoding(list(ids))


Backend = Quicktok | Tiktoken | Bytes | Estimate | Brought
"""What a token counter stands on."""


MODERN_ENCODINGS = frozenset({"cl100k_base", "o200k_base", "o200k_harmony", "llama3", "qwen3"})
"""Encodings that quicktok has in its wheel, and that the estimate bounds: older ones cut spaces finer."""

_HOST = "openaipublic.blob.core.windows.net"
_CONNECT_SECONDS = 0.6
_DOWNLOAD_SECONDS = 10.0
_RETRY_SECONDS = 60.0

_failed_at: dict[str, float] = {}


def encoding_of(name: str) -> str | None:
    """Return the encoding that a name means (an encoding, a model, `provider/model`), or None. No network."""
    if name in MODERN_ENCODINGS:
        return name
    import tiktoken

    if name in tiktoken.list_encoding_names():
        return name
    for model in (name, name.replace(":", "/").rsplit("/", 1)[-1]):
        try:
            return tiktoken.encoding_name_for_model(model)
        except KeyError:
            continue
    try:  # an open model such as `meta-llama/Llama-3.1-8B`
        import quicktok

        return str(quicktok.encoding_for_model(name).name)
    except (ImportError, KeyError):
        return None


def load_encoding(name: str) -> Backend | None:
    """Return the exact backend for an encoding, or None where it cannot be had without a network.

    quicktok is asked first, then tiktoken. tiktoken downloads what it has not cached: the attempt is
    given up after 0.6 seconds without a connection, 10 with one, and not repeated for a minute.
    """
    if name in MODERN_ENCODINGS:
        try:
            import quicktok

            return Quicktok(quicktok.get_encoding(name))
        except (ImportError, RuntimeError, OSError):
            pass
    import tiktoken

    if name not in tiktoken.list_encoding_names():
        return None
    if not _is_cached(name):
        return _download(name)
    try:
        return Tiktoken(tiktoken.get_encoding(name))
    except (LookupError, OSError, RuntimeError, ValueError):  # a damaged cache is downloaded anew
        return None


def _is_cached(name: str) -> bool:
    """Return whether tiktoken can load an encoding from memory or disk."""
    from tiktoken.registry import ENCODINGS

    if name in ENCODINGS:
        return True
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
    return folder != "" and all(
        (Path(folder) / hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()).is_file()
        for url in _addresses(name)
    )


def _addresses(name: str) -> list[str]:
    """Return where tiktoken downloads an encoding from; the hash of it names the file in its cache."""
    if name == "gpt2":
        return [f"https://{_HOST}/gpt-2/encodings/main/{part}" for part in ("vocab.bpe", "encoder.json")]
    file = {"o200k_harmony": "o200k_base", "p50k_edit": "p50k_base"}.get(name, name)
    return [f"https://{_HOST}/encodings/{file}.tiktoken"]


def _download(name: str) -> Tiktoken | None:
    """Return the encoding by way of the network, or None. A daemon thread, so that nothing waits for it."""
    if time.monotonic() - _failed_at.get(name, float("-inf")) < _RETRY_SECONDS:
        return None
    reached, answers = threading.Event(), list[Tiktoken]()
    thread = threading.Thread(target=_fetch, args=(name, reached, answers), daemon=True)
    thread.start()
    if reached.wait(_CONNECT_SECONDS):
        thread.join(_DOWNLOAD_SECONDS)
    if answers:
        return answers[0]
    _failed_at[name] = time.monotonic()
    return None


def _fetch(name: str, reached: threading.Event, answers: list[Tiktoken]) -> None:
    import tiktoken

    try:
        proxy = urllib.parse.urlsplit(urllib.request.getproxies().get("https", ""))
        first_hop = (proxy.hostname, proxy.port or 80) if proxy.hostname else (_HOST, 443)
        with socket.create_connection(first_hop, timeout=_CONNECT_SECONDS):
            reached.set()
        answers.append(Tiktoken(tiktoken.get_encoding(name)))
    except Exception:  # noqa: BLE001, S110 - whatever went wrong, the estimate takes its place
        pass
    finally:
        reached.set()
