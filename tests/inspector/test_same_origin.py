"""Who is let in to the inspector, and to which scope's questions: a real server, real handshakes."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from inspector import opening, same_origin
from inspector.opening import Settings, journal_of
from langchain_context_engine import ConfigError, ContextEngine, Journal
from langchain_context_engine.cli import inspect as command
from tests.builders import ListSource, a_candidate
from tests.inspector.builders import a_page, said
from tests.inspector.walking import launched

ROOT = Path(command.__file__).parents[2]


@pytest.fixture(scope="module")
def port():
    with launched() as url:
        yield int(url.rpartition(":")[2])


def asked(port, path, **headers):
    """Return the status that a request is answered with; "" where nobody listens."""
    lines = [
        f"GET {path} HTTP/1.1",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    if "Host" not in headers:
        lines.insert(1, f"Host: 127.0.0.1:{port}")
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            return client.recv(4096).decode("latin-1").split(" ")[1]
    except OSError:
        return ""


def handshake(port, **headers):
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13"}
    return asked(port, "/_stcore/stream", **upgrade, Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==", **headers)


def test_the_socket_is_for_the_inspectors_own_pages(port):
    """Point 13: a page of any other port of this machine could read what is recorded."""
    assert handshake(port, Origin=f"http://127.0.0.1:{port}") == "101"
    assert handshake(port, Origin=f"http://localhost:{port}", Host=f"localhost:{port}") == "101"
    for origin in (
        f"http://127.0.0.1:{port + 1}",
        "http://localhost:3000",
        f"http://localhost:{port}",
        "http://127.0.0.1",
        "http://evil.test",
        "null",
        "",
    ):
        assert handshake(port, Origin=origin) == "403", origin


def test_pages_are_served_to_who_comes_to_them_and_not_to_another_page(port):
    assert asked(port, "/") == "200"
    assert asked(port, "/", Origin="http://localhost:3000") == "403"


def test_what_is_served_is_the_app():
    assert same_origin.app.script_path == command.app_path()


@pytest.fixture
def path(tmp_path):
    """A journal with two tenants' questions, grades and sets."""
    path = tmp_path / "journal.db"
    with Journal(path) as journal:
        notes = [
            a_candidate(id=t, text=f"{t} pays monthly.", metadata={"tenant": t}) for t in ("acme", "umbra")
        ]
        engine = ContextEngine([ListSource(notes)], journal=journal, scope_keys=("tenant",))
        for tenant in ("acme", "umbra"):
            engine.build(f"when does {tenant} pay?", scope={"tenant": tenant})
            journal.judge(f"when does {tenant} pay?", ("memories", tenant), 3)
        journal.flush()
        names = {row.query: row.id for row in journal.traces()}
        journal.keep_set("all", names)
        journal.keep_set("umbra", {query: name for query, name in names.items() if "umbra" in query})
    return path


def test_a_journal_within_a_scope_shows_nothing_of_another(path):
    with Journal(path) as journal:
        names = {row.query.split()[2]: row.id for row in journal.traces()}
    with journal_of(Settings(path, scope={"tenant": "acme"})) as journal:
        assert [row.query for row in journal.traces()] == ["when does acme pay?"]
        assert journal.count() == journal.count(scope="") == 1
        assert journal.trace(names["acme"]).text
        with pytest.raises(ConfigError, match="in the scope that is shown"):
            journal.trace(names["umbra"])
        assert [one.query for one in journal.judgments()] == ["when does acme pay?"]
        assert not journal.judgments("when does umbra pay?")
        assert journal.sets() == {"all": {"when does acme pay?": names["acme"]}}
    with journal_of(Settings(path, scope={"tenant": "acme", "user": "ann"})) as journal:
        assert journal.count() == 0


@pytest.mark.parametrize("page", ["traces", "figures", "judge", "sets", "explain"])
def test_no_page_of_an_inspector_for_one_scope_names_anything_of_another(page, path, monkeypatch):
    """Point 13."""
    monkeypatch.setenv(opening.SCOPE_VARIABLE, '{"tenant": "acme"}')
    with Journal(path, read_only=True) as journal:
        (foreign,) = (row.id for row in journal.traces(search="umbra"))
    at = a_page(page, trace=foreign, journal=path, monkeypatch=monkeypatch)
    assert not at.exception
    assert "umbra" not in said(at)


def test_the_scope_is_passed_on_outside_the_command_line(path, monkeypatch):
    environment = command.inspect_environment(path, scope={"tenant": "acme", "level": 3})
    for name in (opening.JOURNAL_VARIABLE, opening.SCOPE_VARIABLE):
        monkeypatch.setenv(name, environment[name])
    assert Settings.from_environment() == Settings(journal=path, scope={"tenant": "acme", "level": 3})
    assert command.SCOPE_VARIABLE == opening.SCOPE_VARIABLE
    assert opening.SCOPE_VARIABLE not in command.inspect_environment(path)


@pytest.mark.parametrize(
    ("scope", "told"),
    [([], "of every scope; --scope"), (["tenant=acme"], "within tenant=acme, and nothing else")],
)
def test_the_start_says_what_is_shown(scope, told, path, monkeypatch, capsys):
    monkeypatch.setattr(command, "inspect_command", lambda *_, **__: [sys.executable, "-c", ""])
    given = []
    monkeypatch.setattr(
        command, "inspect_environment", lambda *asked: given.append(asked) or dict(os.environ)
    )
    with pytest.raises(command.typer.Exit):
        command.inspect(store=path.parent, journal=path, scope=scope, opens_browser=False)
    assert told in capsys.readouterr().err
    assert given == [(path, None, dict(pair.split("=") for pair in scope))]
