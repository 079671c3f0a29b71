"""The HTTP server: the document's two routes, validated, bounded, scoped by the server alone."""

from __future__ import annotations

import json

import pytest
from starlette.testclient import TestClient

from langchain_context_engine import ConfigError, ContextEngine
from langchain_context_engine.designs import PrimeContextService
from langchain_context_engine.serving.server import (
    LOOPBACK_HOSTS,
    create_app,
    require_token_beyond_this_machine,
)
from tests.builders import FailingSource, ListSource, a_candidate
from tests.designs.prime_builders import a_service

MESSAGE = {"threadId": "t1", "message": "When are invoices sent?"}


@pytest.fixture
def service(tmp_path):
    service = a_service(journal=tmp_path / "journal.db")
    yield service
    service.close()


@pytest.fixture
def caller(service):
    return TestClient(create_app(service, scope={"user_id": "ann"}))


def test_build_answers_data_and_meta_with_the_documents_names(caller):
    """C12."""
    answer = caller.post("/build", json=MESSAGE)
    assert answer.status_code == 200
    data, meta = answer.json()["data"], answer.json()["meta"]
    assert set(answer.json()) == {"data", "meta"}
    assert meta.pop("traceId")
    assert meta == {
        "tokenUsage": data["totalTokens"],
        "sourceCount": len(data["items"]),
        "citationCount": len(data["citations"]),
    }
    assert set(data) == {"text", "status", "totalTokens", "items", "citations", "stats"}
    assert set(data["stats"]) == {"explicitCount", "searchCount", "historyCount", "excludedCount"}
    item = next(item for item in data["items"] if item["id"] == "billing")
    assert set(item) == {"id", "type", "content", "excerpt", "source", "relevance", "tokens", "metadata"}
    assert set(item["metadata"]) == {"path", "createdAt", "matchedKeywords", "searchRank"}
    citation = next(c for c in data["citations"] if c["source"] == "docs/billing.md")
    fields = {"id", "source", "type", "path", "place", "excerpt", "relevance", "usedInResponse"}
    assert set(citation) == fields
    assert citation["id"] in data["text"]


def test_build_takes_references_history_and_a_budget(caller):
    """C12."""
    history = [{"role": "user", "content": "Hello"}]
    body = {**MESSAGE, "references": ["docs/refunds.md"], "history": history, "maxTokens": 60}
    data = caller.post("/build", json=body).json()["data"]
    assert data["stats"]["explicitCount"] == 1
    assert data["totalTokens"] <= 60
    assert "reference" in {item["type"] for item in data["items"]}


def test_feedback_is_felt_in_the_next_build(caller):
    """C12, C11."""

    def relevance():
        items = caller.post("/build", json=MESSAGE).json()["data"]["items"]
        return next(item["relevance"] for item in items if item["id"] == "billing")

    before = relevance()
    answer = caller.post("/feedback", json={"contextItemId": "billing", "useful": True})
    assert (answer.status_code, answer.json()) == (200, {"success": True})
    assert relevance() == pytest.approx(before + 0.025)


def test_health_says_nothing_about_what_is_served(caller):
    assert caller.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize(
    "raw", [b"", b"null", b"{", b"\xff\xfe", b"[" * 100_000, b'{"message": ' + b"9" * 9000 + b"}"]
)
def test_what_is_no_json_is_refused(caller, raw):
    answer = caller.post("/build", content=raw, headers={"content-type": "application/json"})
    assert answer.status_code == 400


def test_a_body_too_large_is_not_read_to_its_end(caller):
    read = []

    def body():
        for n in range(1000):
            read.append(n)
            yield b" " * 10_000

    answer = caller.post("/build", content=body(), headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


def test_a_form_that_a_web_page_sends_is_refused(caller):
    answer = caller.post("/build", content=json.dumps(MESSAGE), headers={"content-type": "text/plain"})
    assert answer.status_code == 415


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/build", 405), ("POST", "/nothing", 404), ("PUT", "/health", 405)]
)
def test_errors_of_routing_are_json_too(caller, method, path, status):
    answer = caller.request(method, path, json={})
    assert answer.status_code == status
    assert answer.json()["error"]["code"]


def test_a_caller_sees_its_own_scope_and_nobody_elses(service):
    """C12: the scope is the server's setting of the caller."""
    app = create_app(service, tokens={"token-a": {"user_id": "ann"}, "token-b": {"user_id": "bob"}})
    caller = TestClient(app)

    def ask(token):
        return caller.post("/build", json=MESSAGE, headers={"authorization": f"Bearer {token}"})

    assert ask("token-a").json()["meta"]["sourceCount"] > 0
    assert ask("token-b").json()["meta"]["sourceCount"] == 0
    feedback = {"contextItemId": "billing", "useful": False}
    for token, code in (("Bearer token-b", 404), ("bearer token-a", 200)):
        assert caller.post("/feedback", json=feedback, headers={"authorization": token}).status_code == code


@pytest.mark.parametrize(
    "header", [None, "", "token-a", "Bearer", "Bearer ", "Bearer token-", "Bearer token-aa", "Basic token-a", "Bearer \xe9"]
)  # fmt: skip
def test_without_a_known_token_nothing_is_answered(service, header):
    caller = TestClient(create_app(service, tokens={"token-a": {"user_id": "ann"}}))
    headers = {} if header is None else {"authorization": header.encode("latin-1")}
    for path in ("/build", "/feedback"):
        answer = caller.post(path, json=MESSAGE, headers=headers)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert caller.get("/health").status_code == 200


@pytest.mark.parametrize("wrong", [{}, {"tokens": {"t": {}}}, {"tokens": {" ": {"user_id": "ann"}}}])
def test_a_server_that_could_not_answer_anybody_is_refused_while_building(service, wrong):
    with pytest.raises(ConfigError):
        create_app(service, **wrong)


def test_by_another_name_than_its_own_it_does_not_answer(service):
    """A web page whose name was pointed at this machine (DNS rebinding), and names that only look like its own."""
    app = create_app(service, scope={"user_id": "ann"}, allowed_hosts=LOOPBACK_HOSTS)
    caller = TestClient(app)
    for name in ("localhost:1", "127.0.0.1", "[::1]:9", "LOCALHOST"):
        assert caller.get("/health", headers={"host": name}).status_code == 200
        assert caller.post("/build", json=MESSAGE, headers={"host": name}).status_code == 200
    for name in (
        "evil.example", "127.0.0.1 evil", "127.0.0.1:8785@evil", "user:pw@localhost", "localhost:x", "", "localhost.",
    ):  # fmt: skip
        assert caller.get("/health", headers={"host": name}).status_code == 421
        assert caller.post("/build", json=MESSAGE, headers={"host": name}).status_code == 421


def test_listening_beyond_this_machine_needs_a_token():
    with pytest.raises(ConfigError, match="token"):
        require_token_beyond_this_machine("0.0.0.0", {})
    require_token_beyond_this_machine("0.0.0.0", {"a-token": {}})


def test_an_error_says_nothing_about_the_inside():
    """C12: errors without internals."""
    failing = FailingSource(RuntimeError("cannot open /srv/secret.db with sk-test-key"))
    caller = TestClient(create_app(PrimeContextService.over(ContextEngine([failing]))))
    answer = caller.post("/build", json=MESSAGE)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    assert "secret" not in answer.text
    working = ListSource([a_candidate(text="invoices", relevance=0.5)])
    partial = PrimeContextService.over(ContextEngine([failing, working]))
    answer = TestClient(create_app(partial)).post("/build", json=MESSAGE)
    assert answer.json()["data"]["status"] == "partial"
    assert "secret" not in answer.text


def test_a_crash_is_a_json_error_without_its_message(service, monkeypatch):
    def crash(*_, **__):
        raise ZeroDivisionError("at /srv/secret.py")

    monkeypatch.setattr(service, "abuild_prime_context", crash)
    caller = TestClient(create_app(service, scope={"user_id": "ann"}), raise_server_exceptions=False)
    answer = caller.post("/build", json=MESSAGE)
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "secret" not in answer.text


TENANTS = {"for-acme": {"tenant": "acme"}, "for-umbra": {"tenant": "umbra"}}


def a_shared_service(**settings):
    notes = [a_candidate(id=t, text=f"{t} pays monthly.", metadata={"tenant": t}) for t in ("acme", "umbra")]
    return PrimeContextService.over(ContextEngine([ListSource(notes)], scope_keys=("tenant",), **settings))


@pytest.fixture
def tenants(tmp_path):
    service = a_shared_service(journal=str(tmp_path / "journal.db"))
    yield TestClient(create_app(service, tokens=TENANTS))
    service.close()


def by(token):
    return {"Authorization": f"Bearer {token}"}


def built(caller, token):
    answer = caller.post("/build", json={"message": "who pays monthly?"}, headers=by(token))
    assert answer.status_code == 200
    return answer.json()["meta"]["traceId"]


def test_an_answer_names_its_trace_and_the_trace_says_why(tenants):
    """C7: why, and the trace's id, reachable over HTTP."""
    trace = built(tenants, "for-acme")
    answer = tenants.get(f"/traces/{trace}", headers=by("for-acme"))
    assert answer.status_code == 200
    data = answer.json()["data"]
    assert (data["traceId"], data["question"], data["status"]) == (trace, "who pays monthly?", "ok")
    assert "memories/acme: in" in data["explanation"]
    one = tenants.get(f"/traces/{trace}", params={"item": "acme"}, headers=by("for-acme")).json()["data"]
    assert one["explanation"].startswith("memories/acme is in")


def test_a_trace_of_another_scope_one_there_is_not_and_an_item_it_has_not_are_told_alike(tenants):
    trace = built(tenants, "for-acme")
    told = [
        tenants.get(f"/traces/{trace}", headers=by("for-umbra")),
        tenants.get("/traces/none", headers=by("for-acme")),
        tenants.get(f"/traces/{trace}", params={"item": "umbra"}, headers=by("for-acme")),
        tenants.get("/traces/%ED%A0%80", headers=by("for-acme")),
    ]
    assert [answer.status_code for answer in told] == [404] * 4
    assert len({answer.text for answer in told}) == 1
    assert tenants.get(f"/traces/{trace}", headers=by("nobody")).status_code == 401
