"""The MCP server, by a real client in this process (FEATURES B13)."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from mcp import Client

from langchain_context_engine import ChromaSource, ConfigError, ContextEngine
from langchain_context_engine.serving.mcp_server import create_mcp_server
from tests.builders import FailingSource, WordEmbeddings, a_collection

RECORDS = [
    {"id": "a", "text": "Invoices are sent monthly.", "path": "docs/billing.md", "user_id": "ann"},
    {"id": "b", "text": "Invoices of Bob are secret.", "path": "docs/bob.md", "user_id": "bob"},
    {"id": "c", "text": "def send_invoices(): ...", "path": "src/send.py", "user_id": "ann", "kind": "code"},
]


def an_engine(**settings):
    embeddings = WordEmbeddings()
    source = ChromaSource(a_collection(RECORDS, embeddings=embeddings), embeddings=embeddings, name="notes")
    return ContextEngine([source], **settings)


def a_client(engine=None, **bound):
    return Client(create_mcp_server(engine or an_engine(), **{"scope": {"user_id": "ann"}, **bound}))


async def call(client, tool, **arguments):
    return await client.call_tool(tool, arguments)


def text_of(result):
    return "\n".join(block.text for block in result.content)


def about(result):
    return result.meta["context-engine"]


async def test_the_tools_are_told_without_any_way_to_widen_the_scope():
    """B13."""
    async with a_client() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"get_context", "explain_candidate"}
    assert set(tools["get_context"].input_schema["properties"]) == {"query", "max_tokens", "kinds"}
    assert set(tools["explain_candidate"].input_schema["properties"]) == {"candidate", "context_id"}
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())


async def test_a_context_is_given_with_its_citations():
    """B13."""
    engine = an_engine()
    async with a_client(engine) as client:
        result = await call(client, "get_context", query="when are invoices sent?")
    answer = about(result)
    assert text_of(result) == (
        engine.build("when are invoices sent?", scope={"user_id": "ann"}).text
        + f"\n\ncontext_id: {answer['context_id']}"
    )
    assert answer["status"] == "ok"
    assert answer["citations"][0]["marker"] in text_of(result)
    assert {c["place"] for c in answer["citations"]} == {"docs/billing.md", "src/send.py"}
    assert "Bob" not in str(result)


async def test_the_budget_and_the_kinds_are_the_models_choice():
    """B13."""
    async with a_client() as client:
        small = await call(client, "get_context", query="invoices", max_tokens=9)
        code = await call(client, "get_context", query="invoices", kinds=["code"])
        written = await call(client, "get_context", query="invoices", kinds="code, commit")
        filled = await call(client, "get_context", query="invoices", kinds=["code", None, ""])
    assert about(small)["tokens"] <= 9
    for given in (code, written, filled):
        assert [c["kind"] for c in about(given)["citations"]] == ["code"]


@pytest.mark.parametrize("max_tokens", [0, 5, 40, 120])
@pytest.mark.parametrize("failing", [False, True])
async def test_all_that_a_model_sees_is_within_the_budget(max_tokens, failing):
    """L5: text, notes and names together, whatever a client shows of the result."""
    engine = an_engine()
    if failing:
        engine = ContextEngine([*engine.sources, FailingSource(RuntimeError("down"))])
    count = engine.config.parts().packing.count
    async with a_client(engine) as client:
        result = await call(client, "get_context", query="when are invoices sent?", max_tokens=max_tokens)
    if max_tokens >= 5:
        assert count(text_of(result)) <= max_tokens
    assert result.structured_content is None
    assert (text_of(result) == "Nothing fits the budget.") == (max_tokens == 5 and not failing)
    assert ("down" in text_of(result) or "Note" in text_of(result)) == (failing and not 0 < max_tokens < 40)


@pytest.mark.parametrize(
    "filled",
    [
        {"max_tokens": 0},
        {"max_tokens": None, "kinds": None},
        {"kinds": [""]},
        {"kinds": [" "], "max_tokens": 0},
        {"kinds": "", "max_tokens": ""},
        {"kinds": {}, "max_tokens": []},
        {"kinds": 0, "max_tokens": "none"},
    ],
)
async def test_a_field_that_is_filled_with_nothing_is_as_if_it_was_not_given(filled):
    """L4: a budget of 0 gave nothing at all."""
    async with a_client() as client:
        plain = await call(client, "get_context", query="invoices")
        given = await call(client, "get_context", query="invoices", **filled)
        told = text_of(
            await call(client, "explain_candidate", candidate="[1]", context_id=filled.get("max_tokens"))
        )
    assert about(given)["citations"] == about(plain)["citations"] != []
    assert "is in, whole" in told


async def test_an_unknown_kind_is_answered_by_the_known_ones():
    """L4."""
    async with a_client() as client:
        told = text_of(await call(client, "get_context", query="invoices", kinds=["file"]))
        little = text_of(await call(client, "get_context", query="invoices", kinds=["file"], max_tokens=3))
    assert "file" in told
    assert "code" in told
    assert "code" not in little
    assert not told.startswith("[1]")


async def test_what_was_bound_is_narrowed_and_never_widened():
    """B13."""
    async with a_client(kinds=("code",)) as client:
        other = await call(client, "get_context", query="invoices", kinds=["note"])
        both = await call(client, "get_context", query="invoices", kinds=["note", "code"])
    assert about(other)["citations"] == []
    assert "[1]" not in text_of(other)
    assert [c["kind"] for c in about(both)["citations"]] == ["code"]


@pytest.mark.parametrize("named", ["[1]", "1", "a", "docs/billing.md", "billing.md"])
async def test_a_candidate_is_explained_by_marker_id_or_path(named):
    """B13."""
    async with a_client() as client:
        given = about(await call(client, "get_context", query="when are invoices sent monthly?"))
        latest = text_of(await call(client, "explain_candidate", candidate=named))
        by_id = text_of(
            await call(client, "explain_candidate", candidate=named, context_id=given["context_id"])
        )
    assert latest == by_id
    assert "docs/billing.md is in, whole" in latest


@pytest.mark.parametrize(
    "arguments", [{"candidate": "b"}, {"candidate": "zzz"}, {"candidate": "a", "context_id": "x"}]
)
async def test_what_is_out_of_scope_looks_like_what_there_is_not(arguments):
    """B13, promise 4."""
    async with a_client() as client:
        await call(client, "get_context", query="invoices")
        result = await call(client, "explain_candidate", **arguments)
    assert result.is_error
    assert "no such" in text_of(result)
    assert "Bob" not in text_of(result)


@pytest.mark.parametrize(
    "arguments", [{}, {"query": 7}, {"query": "x" * 20_001}, {"query": "x", "max_tokens": -1}, {"query": "x", "scope": {"user_id": "bob"}}]
)  # fmt: skip
async def test_arguments_are_checked_and_one_that_no_tool_knows_is_refused(arguments):
    """Point 10: a scope that was sent was ignored, as if it were heeded."""
    async with a_client() as client:
        result = await call(client, "get_context", **arguments)
    assert result.is_error
    assert next(iter({*arguments} - {"query"}), "query") in text_of(result)


async def test_an_error_says_nothing_about_the_inside():
    failing = ContextEngine([FailingSource(RuntimeError("cannot open /srv/secret.db"))])
    async with a_client(failing, scope={}) as client:
        result = await call(client, "get_context", query="invoices")
    assert result.is_error
    assert "secret" not in text_of(result)
    assert "no source" in text_of(result)


def test_a_wrong_binding_is_refused_while_building():
    with pytest.raises(TypeError, match="scop"):
        create_mcp_server(an_engine(), scop={})
    with pytest.raises(ConfigError):
        create_mcp_server(an_engine(), budget=-1)


def test_the_servers_version_is_the_packages():
    """C8."""
    assert create_mcp_server(an_engine()).version == version("langchain-context-engine")
