"""What a record says never commands the terminal of who asks, in any form of an answer."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from langchain_context_engine import cli

HOSTILE = "Invoices\x1b[2J \x9b31m go\x07 out \x7f monthly \u202egnirts\u2066."

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no such terminal")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terminal")
    (folder / "notes.jsonl").write_text(json.dumps({"id": "a", "text": HOSTILE, "title": HOSTILE}))
    assert cli.main(["index", str(folder / "notes.jsonl"), "--store", str(folder / "store")]) == 0
    return folder / "store"


FORMS = ("--json", "--text", "-k9")
ASK = f"""
import sys
from langchain_context_engine.cli import main
for form in {FORMS}:
    print("#" * 9, flush=True)
    main([*sys.argv[1:], form])
"""


@pytest.fixture(scope="module")
def told(store):
    """Return what a question writes to a terminal of its own in each form."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", ASK, "ask", "invoices", "--store", str(store), "--no-journal"]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL):
        os.close(theirs)
        told = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            told += piece
    os.close(ours)
    return dict(zip(FORMS, told.decode().split("#" * 9)[1:], strict=True))


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_commands_no_terminal(told, form):
    """Point 13: `ask --json` wrote what moves the cursor and turns the text round."""
    told = told[form]
    assert "Invoices" in told
    assert not [c for c in told if c in "\x9b\x07\x7f\u202e\u2066"]
    assert "\x1b[2J" not in told  # the table itself is drawn in colour
    if form == "--json":
        assert HOSTILE in json.loads(told)["candidates"][0]["text"]  # it is the same JSON


def test_a_pipe_gets_the_json_as_it_is(store, capsys):
    assert cli.main(["ask", "invoices", "--store", str(store), "--json", "--no-journal"]) == 0
    assert "\\u009b" not in capsys.readouterr().out
