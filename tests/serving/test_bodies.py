"""What `/openapi.json` says of bodies and answers is what the server takes and gives."""

from __future__ import annotations

import functools
import json

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from langchain_context_engine import ContextEngine
from langchain_context_engine.designs import PrimeContextService
from langchain_context_engine.serving.server import create_app
from tests.builders import FailingSource, ListSource
from tests.designs.prime_builders import a_service

TURN = {"role": "user", "content": "hi"}
VALUES = [
    None, True, False, 0, 1, -1, 500, 500.0, 500.5, -0.0, 200_000, 200_001, 10**30,
    "", " ", "\t\n", "\u3000", "a", "500", "x" * 512, "x" * 513, "x" * 1024, "x" * 1025, "x" * 20_000,
    "x" * 20_001, "😀" * 512, "\0", "\ud83d", [], ["a"], [""], [None], [" "], ["a"] * 50, ["a"] * 51, {}, {"a": 1},
    [[]], [TURN], [{**TURN, "role": "User"}], [{**TURN, "role": []}], [{**TURN, "content": ""}],
    [{"role": "tool", "content": " "}], [{"role": "user"}], [{**TURN, "name": "x"}], [TURN] * 100, [TURN] * 101,
    [["user", "hi"]], ["user: hi"],
]  # fmt: skip
GOOD = {
    "/build": {"message": "When are invoices sent?"},
    "/feedback": {"contextItemId": "billing", "useful": True},
}
FIELDS = {
    "/build": ("message", "threadId", "references", "history", "maxTokens"),
    "/feedback": ("contextItemId", "useful"),
}


@pytest.fixture(scope="module")
def caller(tmp_path_factory):
    service = a_service(journal=tmp_path_factory.mktemp("described") / "journal.db")
    yield TestClient(create_app(service, scope={"user_id": "ann"}))
    service.close()


@functools.cache
def document(caller):
    return caller.get("/openapi.json").json()


def described(caller, path, method="post"):
    return document(caller)["paths"][path][method]


def sent(caller, path, body):
    # By hand, since a client refuses to send half a code point.
    return caller.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})


@functools.cache
def validator_of(caller, schema):
    whole = {**json.loads(schema), "components": document(caller)["components"]}
    Draft202012Validator.check_schema(whole)
    return Draft202012Validator(whole)


def require_described(caller, operation, answer):
    known = operation["responses"]
    content = known.get(str(answer.status_code), known["default"])["content"]["application/json"]
    validator_of(caller, json.dumps(content["schema"])).validate(answer.json())


@pytest.mark.parametrize(
    ("path", "field"), [(path, field) for path in FIELDS for field in (*FIELDS[path], "")]
)
def test_a_body_is_taken_where_its_schema_is_met_and_the_answer_is_as_described(caller, path, field):
    """C7: whatever stands in a field, or in place of the body."""
    operation = described(caller, path)
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    validator = validator_of(caller, json.dumps(schema))
    for value in VALUES:
        body = {**GOOD[path], field: value} if field else value
        answer = sent(caller, path, body)
        is_taken = answer.status_code in {200, 404}  # an item that there is not is well asked
        assert is_taken == validator.is_valid(body), (str(body)[:90], answer.text)
        require_described(caller, operation, answer)


@pytest.mark.parametrize("name", ["max_tokens", "MaxTokens", "thread-id", "Message", "query", "scope"])
def test_a_field_that_is_none_is_refused_by_its_name(caller, name):
    """C7: one in another spelling was ignored."""
    answer = sent(caller, "/build", {**GOOD["/build"], name: "x"})
    assert answer.status_code == 400
    assert f"unknown field {name!r}" in answer.json()["error"]["message"]


def test_what_else_is_answered_is_as_described(caller):
    """C7: a trace, one there is not, no journal, no source, another name."""
    built = sent(caller, "/build", {**GOOD["/build"], "references": ["billing"], "history": [TURN]})
    assert len(built.json()["data"]["items"]) > 1
    require_described(caller, described(caller, "/build"), built)
    why = described(caller, "/traces/{traceId}", "get")
    for trace, code in ((built.json()["meta"]["traceId"], 200), ("none", 404)):
        answer = caller.get(f"/traces/{trace}")
        assert answer.status_code == code
        require_described(caller, why, answer)
    require_described(caller, described(caller, "/health", "get"), caller.get("/health"))
    for source, path, body, code in (
        (ListSource([]), "/feedback", GOOD["/feedback"], 501),
        (ListSource([]), "/build", GOOD["/build"], 200),
        (FailingSource(OSError("away")), "/build", GOOD["/build"], 503),
    ):
        other = TestClient(create_app(PrimeContextService.over(ContextEngine([source]))))
        answer = sent(other, path, body)
        assert answer.status_code == code
        require_described(other, described(other, path), answer)
    app = create_app(PrimeContextService.over(ContextEngine([ListSource([])])), allowed_hosts=["a"])
    require_described(caller, why, TestClient(app).get("/traces/x"))
