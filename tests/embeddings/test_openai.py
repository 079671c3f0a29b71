"""OpenAIEmbeddings against a real server on the loopback interface that speaks the embeddings API."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests
from openai import OpenAI

from langchain_context_engine.embeddings.openai import OpenAIEmbeddings
from langchain_context_engine.errors import ConfigError, EmbeddingError
from langchain_context_engine.text.tokens import resolve_tokenizer
from tests.embedding_server import KEY, EmbeddingServer, vector_of


@pytest.fixture
def server():
    server = EmbeddingServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def embeddings(server):
    return OpenAIEmbeddings(api_key=KEY, base_url=server.base_url)


class TestOpenAIEmbeddingsUnit(EmbeddingsUnitTests):
    @property
    def embeddings_class(self):
        return OpenAIEmbeddings

    @property
    def embedding_model_params(self):
        return {"api_key": KEY}

    @property
    def init_from_env_params(self):
        return {"OPENAI_API_KEY": KEY}, {}, {"api_key": KEY}


class TestOpenAIEmbeddingsIntegration(EmbeddingsIntegrationTests):
    @pytest.fixture
    def model(self, server):
        return OpenAIEmbeddings(api_key=KEY, base_url=server.base_url)

    @property
    def embeddings_class(self):
        return OpenAIEmbeddings


@pytest.mark.unmeasured
def test_three_thousand_texts_go_out_in_calls_of_at_most_2048_in_order(server):
    """I75."""
    embeddings = OpenAIEmbeddings(api_key=KEY, base_url=server.base_url, dimensions=8)
    texts = ["x" * (i % 97 + 1) for i in range(3000)]
    assert embeddings.embed_documents(texts) == [vector_of(text, 8) for text in texts]
    assert [len(r["input"]) for r in server.requests] == [2048, 952]


def test_a_call_stays_within_the_request_s_token_limit(server, embeddings):
    """I75: 100 texts of 7,000 tokens are not one call, though they are only 100."""
    count = resolve_tokenizer("cl100k_base")
    text = "word " * 7000
    assert len(embeddings.embed_documents([text] * 100)) == 100
    assert len(server.requests) == 3
    assert all(sum(map(count, r["input"])) <= 300_000 for r in server.requests)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_rate_limits_and_server_errors_are_tried_again_and_nothing_is_lost(server, embeddings, status):
    """I75: two refusals with Retry-After, then the answer."""
    server.faults = [(status, {"retry-after-ms": "5"})] * 2
    assert embeddings.embed_documents(["a", "bb"]) == [vector_of("a"), vector_of("bb")]
    assert len(server.requests) == 3
    server.faults = [(status, {"Retry-After": "0.01"})] * 2
    assert await embeddings.aembed_documents(["a", "bb"]) == [vector_of("a"), vector_of("bb")]
    assert len(server.requests) == 6


@pytest.mark.parametrize(("status", "tries"), [(429, 3), (500, 3), (401, 1), (400, 1)])
async def test_an_error_that_stays_is_an_embedding_error_without_the_key(server, status, tries):
    """I75 and L93."""
    embeddings = OpenAIEmbeddings(client=OpenAI(api_key=KEY, base_url=server.base_url, max_retries=2))
    server.faults = [(status, {"retry-after-ms": "5"})] * 100
    with pytest.raises(EmbeddingError, match="text-embedding-3-small") as sync_error:
        embeddings.embed_query("a")
    assert len(server.requests) == tries
    with pytest.raises(EmbeddingError) as async_error:
        await embeddings.aembed_query("a")
    for caught in (sync_error, async_error):
        assert KEY not in str(caught.value)
        assert caught.value.__suppress_context__


async def test_empty_texts_are_never_sent_and_keep_their_place(server, embeddings):
    """I74."""
    for blank in ("", "   ", "\n"):
        with pytest.raises(EmbeddingError, match="empty"):
            embeddings.embed_query(blank)
        with pytest.raises(EmbeddingError, match="empty"):
            await embeddings.aembed_query(blank)
    assert embeddings.embed_documents([""]) == [[0.0] * 1536]
    assert embeddings.embed_documents([]) == []
    assert server.requests == []
    vectors = embeddings.embed_documents(["a", "", "bb"])
    assert vectors == [vector_of("a"), [0.0] * 1536, vector_of("bb")]
    assert server.requests[0]["input"] == ["a", "bb"]


@pytest.mark.parametrize("text", ["word " * 20_000, "日本語" * 9000, "a b\n" * 8192])
def test_a_text_too_long_for_the_model_is_cut_with_a_warning(server, embeddings, text):
    """I76: 20,000 tokens, limit 8191."""
    count = resolve_tokenizer("cl100k_base")
    with pytest.warns(UserWarning, match="cut to 8191"):
        embeddings.embed_query(text)
    (sent,) = server.requests[0]["input"]
    assert 7000 < count(sent) <= 8191
    assert text.startswith(sent)


@pytest.mark.parametrize("most", [0, -1, None, 1.5, "512"])
def test_a_limit_that_is_no_number_of_tokens_is_refused_when_built(most):
    """I76."""
    with pytest.raises(ConfigError, match="max_text_tokens"):
        OpenAIEmbeddings(api_key=KEY, max_text_tokens=most)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[1:],
        lambda data: data + data[:1],
        lambda data: [{**item, "index": 0} for item in data],
        lambda data: [],
        lambda data: [{**item, "embedding": [float("nan")] * 1536} for item in data],
        lambda data: [{**item, "embedding": [0.0] * 1536} for item in data],
        lambda data: [{**item, "embedding": [1.0] * 3} for item in data],
        lambda data: "a login page",
    ],
    ids=["missing", "surplus", "misnumbered", "none", "nan", "zero", "short", "text"],
)
async def test_an_unusable_answer_is_an_embedding_error(server, embeddings, spoil):
    """I75 and I79."""
    server.spoil = spoil
    with pytest.raises(EmbeddingError):
        embeddings.embed_documents(["a", "bb"])
    with pytest.raises(EmbeddingError):
        await embeddings.aembed_documents(["a", "bb"])


def test_the_key_is_shown_nowhere(embeddings):
    """L93."""
    assert KEY not in repr(embeddings) + str(vars(embeddings))


async def test_it_is_pickled_and_copied_unless_it_holds_a_ready_client(server, embeddings):
    """H73: configuration round-trips; a client object gives a clear error."""
    embeddings.embed_query("a")
    await embeddings.aembed_query("a")
    for twin in (pickle.loads(pickle.dumps(embeddings)), copy.deepcopy(embeddings)):
        assert twin.embed_query("a") == vector_of("a")
    with pytest.raises(ConfigError, match="client"):
        pickle.dumps(OpenAIEmbeddings(client=OpenAI(api_key=KEY)))
