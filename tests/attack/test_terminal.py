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


def on_a_terminal(*arguments):
    """Return what a command writes to a terminal of its own."""
    ours, theirs = pty.openpty()
    code = "import sys; from langchain_context_engine.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *map(str, arguments)]
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
    return told.decode()


@pytest.mark.parametrize("form", ["--json", "--text", "-k9"])
def test_an_answer_commands_no_terminal(store, form):
    """Point 13: `ask --json` wrote what moves the cursor and turns the text round."""
    told = on_a_terminal("ask", "invoices", "--store", store, form, "--no-journal")
    assert "Invoices" in told
    assert not [c for c in told if c in "\x9b\x07\x7f\u202e\u2066"]
    assert "\x1b[2J" not in told  # the table itself is drawn in colour
    if form == "--json":
        assert HOSTILE in json.loads(told)["candidates"][0]["text"]  # it is the same JSON


def test_a_pipe_gets_the_json_as_it_is(store, capsys):
    assert cli.main(["ask", "invoices", "--store", str(store), "--json", "--no-journal"]) == 0
    assert "\\u009b" not in capsys.readouterr().out
