"""Why an answer is as it is, over HTTP: by the id that the answer gave, for who may see it."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from langchain_context_engine import ContextEngine
from langchain_context_engine.designs import PrimeContextService
from langchain_context_engine.serving.server import create_app
from tests.builders import ListSource, a_candidate

TENANTS = {"for-acme": {"tenant": "acme"}, "for-umbra": {"tenant": "umbra"}}


def a_service(**settings):
    notes = [a_candidate(id=t, text=f"{t} pays monthly.", metadata={"tenant": t}) for t in ("acme", "umbra")]
    return PrimeContextService.over(ContextEngine([ListSource(notes)], scope_keys=("tenant",), **settings))


@pytest.fixture
def caller(tmp_path):
    service = a_service(journal=str(tmp_path / "journal.db"))
    yield TestClient(create_app(service, tokens=TENANTS))
    service.close()


def by(token):
    return {"Authorization": f"Bearer {token}"}


def built(caller, token):
    answer = caller.post("/build", json={"message": "who pays monthly?"}, headers=by(token))
    assert answer.status_code == 200
    return answer.json()["meta"]["traceId"]


def test_an_answer_names_its_trace_and_the_trace_says_why(caller):
    """C7: why, and the trace's id, reachable over HTTP."""
    trace = built(caller, "for-acme")
    answer = caller.get(f"/traces/{trace}", headers=by("for-acme"))
    assert answer.status_code == 200
    data = answer.json()["data"]
    assert (data["traceId"], data["question"], data["status"]) == (trace, "who pays monthly?", "ok")
    assert "memories/acme: in" in data["explanation"]
    one = caller.get(f"/traces/{trace}", params={"item": "acme"}, headers=by("for-acme")).json()["data"]
    assert one["explanation"].startswith("memories/acme is in")


def test_a_trace_of_another_scope_one_there_is_not_and_an_item_it_has_not_are_told_alike(caller):
    trace = built(caller, "for-acme")
    told = [
        caller.get(f"/traces/{trace}", headers=by("for-umbra")),
        caller.get("/traces/none", headers=by("for-acme")),
        caller.get(f"/traces/{trace}", params={"item": "umbra"}, headers=by("for-acme")),
        caller.get("/traces/%ED%A0%80", headers=by("for-acme")),
    ]
    assert [answer.status_code for answer in told] == [404] * 4
    assert len({answer.text for answer in told}) == 1
    assert caller.get(f"/traces/{trace}", headers=by("nobody")).status_code == 401


def test_without_a_journal_no_trace_is_named_or_told():
    caller = TestClient(create_app(a_service(), tokens=TENANTS))
    answer = caller.post("/build", json={"message": "who pays monthly?"}, headers=by("for-acme"))
    assert "traceId" not in answer.json()["meta"]
    assert caller.get("/traces/x", headers=by("for-acme")).status_code == 501


def test_the_routes_are_described(caller):
    assert "get" in caller.get("/openapi.json").json()["paths"]["/traces/{traceId}"]


def test_a_context_bears_the_id_of_its_trace_and_the_trace_does_not(tmp_path):
    service = a_service(journal=str(tmp_path / "journal.db"))
    context = service.engine.build("who pays?", scope={"tenant": "acme"})
    recorded = service.engine.journal.trace(context.trace_id)
    assert recorded == context
    assert "trace_id" not in context.to_dict()
    service.close()
