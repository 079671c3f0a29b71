"""Finding an encoding without ever hanging: quicktok's own vocabulary, tiktoken's cache, a download."""

from __future__ import annotations

import hashlib
import os
import socket
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

from langchain_context_engine.text.tokens.backends import Backend, Quicktok, Tiktoken

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

    proxy = urllib.parse.urlsplit(urllib.request.getproxies().get("https", ""))
    first_hop = (proxy.hostname, proxy.port or 80) if proxy.hostname else (_HOST, 443)
    try:
        with socket.create_connection(first_hop, timeout=_CONNECT_SECONDS):
            reached.set()
        answers.append(Tiktoken(tiktoken.get_encoding(name)))
    except Exception:  # noqa: BLE001, S110 - whatever went wrong, the estimate takes its place
        pass
    finally:
        reached.set()
