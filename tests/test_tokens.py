"""Counting tokens: exact where a vocabulary is at hand, never below the truth where none is."""

from __future__ import annotations

import base64
import copy
import gzip
import hashlib
import pickle
import sys
import threading
import time
import warnings
from importlib import resources

import pytest
import quicktok
import tiktoken
import tiktoken.registry
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import token_vocabulary, tokens
from langchain_context_engine.errors import ConfigError
from langchain_context_engine.token_backends import Tiktoken, estimate_backend
from langchain_context_engine.tokens import resolve_tokenizer

TEXTS = st.one_of(
    st.text(max_size=200),
    st.text(alphabet=st.characters(max_codepoint=127), max_size=200),
    st.text(alphabet="abcdefghijklmnopqrstuvwxyz '", max_size=200),
    st.text(alphabet="0123456789abcdef", max_size=200),
    st.text(alphabet=" \t\n\r/.'sABab1", max_size=200),
    st.text(alphabet="日本語のテキスト認証、。😀👍🏽é́ñß٣", max_size=100),
)


def tiktoken_file(name: str) -> bytes:
    """Return the very file that tiktoken downloads, made from quicktok's vocabulary."""
    encoding = quicktok.get_encoding(name)
    size = len(encoding.token_byte_values())
    return b"".join(
        base64.b64encode(encoding.decode_single_token_bytes(i)) + b" %d\n" % i for i in range(size)
    )


@pytest.fixture
def without_quicktok(monkeypatch, tmp_path):
    """An installation without quicktok, without a cached vocabulary and without a network."""
    monkeypatch.setitem(sys.modules, "quicktok", None)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tokens, "_counters", {})
    monkeypatch.setattr(token_vocabulary, "_failed_at", {})
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    return tmp_path


@pytest.fixture(scope="module")
def cl100k_file():
    return tiktoken_file("cl100k_base")


@pytest.fixture
def tiktoken_only(without_quicktok, cl100k_file):
    """An installation where only tiktoken, with its cache filled, can count."""
    url = token_vocabulary._addresses("cl100k_base")[0]
    (without_quicktok / hashlib.sha1(url.encode()).hexdigest()).write_bytes(cl100k_file)
    return without_quicktok


def test_auto_is_cl100k_base_and_exact():
    count = resolve_tokenizer()
    assert (count.name, count.is_estimated) == ("cl100k_base", False)
    assert count("hello world") == 2
    assert count("") == 0


@pytest.mark.parametrize("backend", ["quicktok", "tiktoken", "estimate"])
def test_a_lone_surrogate_counts_as_a_replacement_character(backend, request):
    """A2."""
    if backend == "tiktoken":
        request.getfixturevalue("tiktoken_only")
    count = resolve_tokenizer("estimate" if backend == "estimate" else "auto")
    assert count("a\ud83db") == count("a\ufffdb") >= 3
    if backend != "estimate":
        assert count("a\ud83db") == 3
    assert count.decode(count.encode("a\ud83db")) == "a\ufffdb"


@pytest.mark.parametrize("run", ["^", " ", "\n", "a", "日", "😀", "0", "<|endoftext|>", "\t ", "ab"])
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "estimate"])
def test_a_very_long_run_is_counted_within_two_seconds(run, name):
    """A3."""
    text = (run * 1_000_000)[:1_000_000]
    count = resolve_tokenizer(name)
    started = time.process_time()
    tokens_ = count(text)
    assert time.process_time() - started < 2
    if name == "estimate":
        assert tokens_ >= max(resolve_tokenizer(n)(text) for n in ("cl100k_base", "o200k_base"))
    elif (run, name) == ("^", "cl100k_base"):
        assert tokens_ == 250_000


def test_a_very_long_run_is_counted_without_quicktok(tiktoken_only):
    """A3: tiktoken's own limits are never reached."""
    count = resolve_tokenizer("auto")
    assert isinstance(count.backend, Tiktoken)
    started = time.process_time()
    assert count("^" * 1_000_000) == 250_000
    assert time.process_time() - started < 2
    assert count(" " * 1_000_000) > 0


def test_cutting_a_long_text_into_windows_changes_no_token(tiktoken_only):
    count = resolve_tokenizer("auto")
    text = "It's a naïve (but fair) try: 12345 items, don't\n\n  stop.\n日本語のテキスト、はい。\t" * 800
    assert len(text) > 8192 * 4
    whole = quicktok_encoding().encode_ordinary(text)
    assert count.encode(text) == whole
    assert count(text) == len(whole)


def quicktok_encoding(name="cl100k_base"):
    return (
        sys.modules["quicktok"].get_encoding(name) if sys.modules["quicktok"] else quicktok.get_encoding(name)
    )


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.sampled_from(["word", " ", "\n", "'s", ". ", "日本", "。", "12", "Aé", "\u0301", "--"]),
        max_size=30,
    )
)
def test_every_place_where_a_text_may_be_cut_is_between_tokens(parts):
    """A cut keeps the count only where every encoding ends a piece anyway."""
    from langchain_context_engine.token_backends import _PIECE_END

    text = "".join(parts)
    for name in ("cl100k_base", "o200k_base"):
        encoding = quicktok.get_encoding(name)
        for end in range(1, len(text)):
            found = _PIECE_END.match(text, 0, end)
            if found:
                cut = found.end()
                pieces = encoding.encode_ordinary(text[:cut]) + encoding.encode_ordinary(text[cut:])
                assert pieces == encoding.encode_ordinary(text)


@pytest.mark.parametrize("model", ["my-org/llama-custom", "cl100k_bse"])
def test_an_unknown_model_warns_once_when_resolved_and_counts_with_the_fallback(model):
    """A4."""
    with pytest.warns(UserWarning, match=model) as caught:
        count = resolve_tokenizer(model)
    assert len(caught) == 1
    assert count is resolve_tokenizer("cl100k_base")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert count("hello world") == 2


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4o", "o200k_base"),
        ("o1", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("openai:gpt-4o-mini", "o200k_base"),
        ("openai/gpt-4.1", "o200k_base"),
        ("text-embedding-3-small", "cl100k_base"),
        ("meta-llama/Llama-3.1-8B", "llama3"),
    ],
)
def test_a_model_name_means_its_encoding_without_a_warning(model, encoding):
    """A4, M11."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert resolve_tokenizer(model).name == encoding


@pytest.mark.parametrize("name", ["auto", "gpt-4o", "o200k_base", "my-org/llama-custom", "p50k_base", "gpt2"])
def test_without_a_network_an_estimate_counts_within_a_second_and_warns_once(without_quicktok, name):
    """A5."""
    started = time.perf_counter()
    with pytest.warns(UserWarning, match="cl100k_base|o200k_base|p50k_base|gpt2") as caught:
        count = resolve_tokenizer(name)
    assert time.perf_counter() - started < 1
    assert len(caught) == 1
    assert count.is_estimated
    assert count("hello world") >= 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        count("again " * 100)


def test_a_network_that_swallows_everything_costs_less_than_a_second_and_only_once(
    without_quicktok, monkeypatch
):
    """A5: a connection that never answers."""
    released = threading.Event()
    monkeypatch.setattr(
        token_vocabulary.socket, "create_connection", lambda *_args, **_kwargs: released.wait(5) or 1 / 0
    )
    started = time.perf_counter()
    with pytest.warns(UserWarning, match="cl100k_base|o200k_base|p50k_base|gpt2"):
        assert resolve_tokenizer("auto").is_estimated
    assert time.perf_counter() - started < 1
    started = time.perf_counter()
    with pytest.warns(UserWarning, match="cl100k_base|o200k_base|p50k_base|gpt2"):
        assert resolve_tokenizer("auto").is_estimated
    assert time.perf_counter() - started < 0.3
    released.set()


def test_a_damaged_cache_is_an_estimate_not_a_crash(tiktoken_only):
    """A5."""
    for file in tiktoken_only.iterdir():
        file.write_bytes(b"not a vocabulary")
    with pytest.warns(UserWarning, match="estimated"):
        assert resolve_tokenizer("auto").is_estimated


@settings(deadline=None, max_examples=40)
@given(TEXTS)
def test_quicktok_and_tiktoken_count_alike(text):
    assert _tiktoken_cl100k().count(text) == resolve_tokenizer("cl100k_base")(text)


_kept: list[Tiktoken] = []


def _tiktoken_cl100k() -> Tiktoken:
    from langchain_context_engine.token_backends import _PATTERNS

    if not _kept:
        encoding = quicktok.get_encoding("cl100k_base")
        ranks = {encoding.decode_single_token_bytes(i): i for i in range(len(encoding.token_byte_values()))}
        _kept.append(
            Tiktoken(
                tiktoken.Encoding(
                    "cl100k_base", pat_str=_PATTERNS["cl100k_base"], mergeable_ranks=ranks, special_tokens={}
                )
            )
        )
    return _kept[0]


@settings(deadline=None, max_examples=400)
@given(TEXTS)
def test_the_estimate_is_never_below_the_true_count(text):
    """A8, M11: for any text, of both encodings."""
    estimate = resolve_tokenizer("estimate")(text)
    assert estimate >= resolve_tokenizer("cl100k_base")(text)
    assert estimate >= resolve_tokenizer("o200k_base")(text)


@settings(deadline=None, max_examples=100)
@given(TEXTS)
def test_bytes_are_never_below_the_true_count(text):
    assert resolve_tokenizer("utf8_bytes")(text) >= resolve_tokenizer("cl100k_base")(text)


def test_the_estimate_bounds_unspaced_scripts_and_emoji():
    """A8."""
    estimate = resolve_tokenizer("estimate")
    assert estimate("日本語のテキスト") >= 8
    assert estimate("😀" * 20) >= 40
    assert estimate.is_estimated


def test_the_estimate_is_not_silly_for_english():
    """A8: an upper bound that is useful."""
    text = (
        "We decided in March that billing moves to the new service, because invoices were late and nobody "
        "could explain why. The team agreed to keep the old system running until the end of the quarter."
    )
    assert resolve_tokenizer("estimate")(text) <= 1.8 * resolve_tokenizer("auto")(text)


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_the_estimate_knows_exactly_the_first_merges(name):
    """The proof of the bound rests on this."""
    packed = resources.files("langchain_context_engine").joinpath("first_merges", f"{name}.gz").read_bytes()
    first = [base64.b64decode(line) for line in gzip.decompress(packed).split(b"\n")]
    encoding = quicktok.get_encoding(name)
    assert len(first) == 8192
    assert first == [encoding.decode_single_token_bytes(i) for i in range(8192)]


@settings(deadline=None, max_examples=60)
@given(st.one_of(TEXTS, st.sampled_from(["<|endoftext|>", "<|im_start|>user"])))
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "estimate", "utf8_bytes"])
def test_encoding_gives_as_many_tokens_as_counted_and_decodes_to_the_same_text(name, text):
    """M11."""
    count = resolve_tokenizer(name)
    ids = count.encode(text)
    assert len(ids) == count(text)
    assert count.decode(ids) == text


def test_a_slice_of_an_estimate_decodes():
    """M11: either vocabulary may have made the ids."""
    count = resolve_tokenizer("estimate")
    for text in ("plain words in a row", "ಕನ್ನಡ ಪಠ್ಯ 日本語", "привет мир"):
        ids = count.encode(text)
        assert text.startswith(count.decode(ids[:3]).rstrip("\ufffd"))
    assert estimate_backend().decode([]) == ""


def test_equal_names_share_one_counter():
    assert resolve_tokenizer("gpt-4") is resolve_tokenizer("auto") is resolve_tokenizer("cl100k_base")
    assert resolve_tokenizer("estimate") is resolve_tokenizer("estimate")
    count = resolve_tokenizer("auto")
    assert resolve_tokenizer(count) is count


def test_a_counter_survives_pickle_and_copy():
    """H73."""
    for name in ("cl100k_base", "estimate"):
        count = resolve_tokenizer(name)
        assert pickle.loads(pickle.dumps(count)) is count
        assert copy.deepcopy(count) is count
    assert pickle.loads(pickle.dumps(resolve_tokenizer(len)))("four") == 4


def count_letters(text: str) -> int:
    return len(text)


def test_a_function_is_named_in_the_counter():
    count = resolve_tokenizer(count_letters)
    assert (count.name, count.is_estimated, count("four")) == ("function:count_letters", False, 4)
    with pytest.raises(ConfigError, match="only counts"):
        count.encode("four")
    with pytest.raises(ConfigError, match="only counts"):
        count.decode([1])


@pytest.mark.parametrize(
    "tokenizer",
    [
        lambda text: -1,
        lambda text: 1.5,
        lambda text: None,
        lambda text: True,
        lambda text: "3",
        lambda text: text.split(),
        lambda: 1,
        lambda text: 1 / 0,
        lambda text: -1 if text else 0,
        None,
        7,
        b"auto",
        ["auto"],
        "",
        "function:count_letters",
        "model:FakeChat",
    ],
)
def test_a_tokenizer_that_cannot_count_is_refused_when_resolved(tokenizer):
    with pytest.raises(ConfigError):
        resolve_tokenizer(tokenizer)


def test_a_function_that_goes_wrong_later_is_told():
    count = resolve_tokenizer(lambda text: -5 if "bad" in text else len(text))
    with pytest.raises(ConfigError, match="-5"):
        count("bad")


def test_the_failure_of_a_function_tells_no_secret():
    """L93."""

    def leaking(text):
        raise RuntimeError("api_key=sk-test")

    with pytest.raises(ConfigError) as caught:
        resolve_tokenizer(leaking)
    assert "sk-test" not in str(caught.value)


def test_a_numpy_integer_is_an_integer():
    import numpy as np

    assert resolve_tokenizer(lambda text: np.int64(len(text)))("four") == 4


def test_a_chat_model_counts_with_its_own_method():
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    class Counting(FakeListChatModel):
        def get_num_tokens(self, text: str) -> int:
            return len(text.split())

    count = resolve_tokenizer(Counting(responses=["a"]))
    assert (count.name, count("three short words")) == ("model:Counting", 3)


def test_an_openai_model_is_counted_by_its_encoding_without_a_network():
    from langchain_openai import ChatOpenAI

    count = resolve_tokenizer(ChatOpenAI(model="gpt-4o", api_key="x"))
    assert count is resolve_tokenizer("o200k_base")
    own = ChatOpenAI(model="gpt-4o", api_key="x", custom_get_token_ids=lambda text: [1] * len(text))
    assert resolve_tokenizer(own)("four") == 4


def test_a_tokenizer_object_counts_what_it_encodes():
    """M11."""
    count = resolve_tokenizer(quicktok.get_encoding("o200k_base"))
    assert count.name == "tokenizer:Tokenizer"
    assert count("<|endoftext|> hello") == resolve_tokenizer("o200k_base")("<|endoftext|> hello")
    assert count.decode(count.encode("naïve")) == "naïve"

    class Ids:
        ids = (1, 2)

    class HuggingFace:
        def encode(self, text):
            return Ids()

    assert resolve_tokenizer(HuggingFace())("x") == 2


@pytest.mark.parametrize("name", ["cl100k_base", "estimate"])
def test_counting_from_many_threads_gives_one_answer(name):
    """G66."""
    count = resolve_tokenizer(name)
    text = "The quick brown fox jumps over the lazy dog. " * 20
    expected, found = count(text), []

    def work():
        found.extend(count(f"{i}{text}") - count(str(i)) for i in range(100))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {expected}


def test_resolving_from_many_threads_gives_one_counter(tiktoken_only):
    found = []
    threads = [threading.Thread(target=lambda: found.append(resolve_tokenizer("auto"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(count) for count in found}) == 1


def test_repeated_resolving_is_cheap():
    resolve_tokenizer("gpt-4o")
    started = time.process_time()
    for _ in range(200):
        resolve_tokenizer("gpt-4o")
    assert time.process_time() - started < 0.2
