"""Strangers at the server's door: half-sent requests, disconnects, odd texts, and its own end."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import httpx
import pytest

from langchain_context_engine.journal import Journal
from tests.builders import a_free_port, wait_until_it_answers
from tests.conftest import ROOT

PROGRAM = textwrap.dedent(
    """
    import logging, sys, time
    logging.basicConfig(level=logging.INFO)
    from langchain_context_engine import Candidate, ContextEngine
    from langchain_context_engine.designs import PrimeContextService
    from langchain_context_engine.serving import server
    from langchain_context_engine.serving.server import LOOPBACK_HOSTS, create_app, run

    server.HEADER_SECONDS = server.BODY_SECONDS = 1.0
    server.MOST_CONNECTIONS = 20

    class Slow:
        name = "slow"
        def fetch(self, request):
            if "slowly" in request.query:
                print("asked", flush=True)
                time.sleep(1.5)
            return [Candidate(id="a", text="Invoices go out monthly.", relevance=0.9)]

    engine = ContextEngine([Slow()], timeout_seconds=20, journal=sys.argv[2])
    service = PrimeContextService.over(engine)
    try:
        app = create_app(service, tokens={"schlüssel-ä": {}}, allowed_hosts=LOOPBACK_HOSTS)
        run(app, host="127.0.0.1", port=int(sys.argv[1]))
    finally:
        engine.journal.close()
        print("closed", flush=True)
    """
)
TOKEN = {"Authorization": "Bearer schlüssel-ä".encode()}
BODY = {"message": "When do invoices go out?"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("served")) as (port, _):
        yield port


@contextlib.contextmanager
def serving(tmp_path):
    """Start the program; its log and its journal are in the folder."""
    port = a_free_port()
    log = (tmp_path / "log").open("w")
    run = [sys.executable, "-c", PROGRAM, str(port), str(tmp_path / "journal.db")]
    process = subprocess.Popen(run, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
    wait_until_it_answers(port, process)
    try:
        yield port, process
    finally:
        process.kill()
        process.wait(10)
        log.close()


def ask(port, **settings):
    settings = {"json": BODY, "headers": TOKEN, "timeout": 60, **settings}
    return httpx.post(f"http://127.0.0.1:{port}/build", **settings)


def wait_for_word(log, word):
    until = time.monotonic() + 30
    while word not in log.read_text() and time.monotonic() < until:
        time.sleep(0.05)


def sent(port, data):
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection.sendall(data)
    return connection


HEAD = (
    b"POST /build HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 50\r\n"
    b"Authorization: " + TOKEN["Authorization"] + b"\r\n\r\n"
)


def test_what_is_half_sent_ends_and_others_are_answered_meanwhile(server):
    """Point 10."""
    port = server
    silent, half_head, half_body = sent(port, b""), sent(port, b"POST /build HT"), sent(port, HEAD + b'{"m')
    assert ask(port).status_code == 200
    assert silent.recv(100) == half_head.recv(100) == b""
    assert b" 408 " in half_body.recv(1000)


def test_connections_beyond_what_is_granted_are_closed_and_the_others_served(server):
    """Point 10: nothing failed when the bound was taken out."""
    port = server
    opened = [sent(port, HEAD + b'{"m') for _ in range(40)]
    told = []
    for connection in opened:
        with contextlib.suppress(ConnectionError):
            told.append(connection.recv(1000))
        connection.close()
    assert 0 < sum(b" 408 " in answer for answer in told) <= 20
    for _ in range(100):  # until the server has seen that they are gone
        with contextlib.suppress(httpx.TransportError):
            assert ask(port).status_code == 200
            return
        time.sleep(0.1)
    pytest.fail("nobody is answered any more")


def test_an_odd_request_is_answered(server):
    """Point 10: a token in UTF-8 was refused, a lone surrogate was a 500."""
    port = server
    assert ask(port, headers={"Authorization": "Bearer other"}).status_code == 401
    odd = json.dumps({"contextItemId": "\ud800", "useful": True})
    kind = {"Content-Type": "application/json", **TOKEN}
    answer = httpx.post(f"http://127.0.0.1:{port}/feedback", content=odd, headers=kind, timeout=60)
    assert answer.status_code == 404
    odd = json.dumps({"message": "invoices \ud800?", "threadId": "\udfff"})
    assert ask(port, json=None, content=odd, headers=kind).status_code == 200


def test_a_disconnect_is_no_traceback_and_told_to_end_it_answers_what_is_in_flight_and_keeps_its_traces(
    tmp_path,
):
    """Point 10."""
    with serving(tmp_path) as (port, process):
        sent(port, HEAD + b'{"m').close()
        answers = []
        body = {"message": "Tell me slowly when invoices go out."}
        asking = threading.Thread(target=lambda: answers.append(ask(port, json=body)))
        asking.start()
        wait_for_word(tmp_path / "log", "asked")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        asking.join(10)
    assert answers[0].status_code == 200
    log = (tmp_path / "log").read_text()
    assert log.endswith("closed\n")
    assert "Traceback" not in log
    with Journal(tmp_path / "journal.db") as journal:
        assert journal.count() == 1


def test_who_piles_up_questions_and_never_reads_keeps_nobody_waiting(server):
    """Sixty who sent a hundred questions each and took no answer cost honest ones six seconds."""
    port = server
    body = json.dumps(BODY).encode()
    one = HEAD.replace(b"Content-Length: 50", b"Content-Length: %d" % len(body)) + body
    piled = [sent(port, one * 100) for _ in range(15)]
    assert ask(port).status_code == 200
    for connection in piled:
        # One is answered and the connection closed, whatever else was sent.
        told = b""
        with contextlib.suppress(ConnectionError):
            while piece := connection.recv(65536):
                told += piece
        assert told.count(b"HTTP/1.1") <= 1
        connection.close()
