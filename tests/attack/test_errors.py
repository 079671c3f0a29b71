"""Mistakes and misfortunes end in one error that says what to do, or cost the one record."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
import time
from dataclasses import fields, replace

import chromadb.errors
import pytest

from langchain_context_engine import Budget, ConfigError, ContextEngine, ContextRequest, cli, replay
from langchain_context_engine.errors import ContextEngineError
from langchain_context_engine.journal import Journal
from langchain_context_engine.pipeline.collect import MOST_TEXT
from langchain_context_engine.trace.context import Context
from tests.attack.timing import processor_seconds
from tests.builders import ListSource, a_candidate


def an_engine(*texts, **settings):
    return ContextEngine([ListSource([a_candidate(text=text) for text in texts])], **settings)


@pytest.mark.parametrize("seconds", [1e10, 1e300])
def test_a_deadline_beyond_a_day_is_refused(seconds):
    """Point 14: it was an OverflowError of a question."""
    with pytest.raises(ConfigError, match="timeout_seconds"):
        an_engine(timeout_seconds=seconds)


@pytest.mark.parametrize(
    "order", [lambda p: p[1:], lambda p: [*p, p[0]], lambda p: [p[0], p[0]], lambda _: []]
)
def test_an_order_that_drops_or_repeats_is_refused(order):
    """Point 14."""
    with pytest.raises(ConfigError, match="each once"):
        an_engine("Invoices go out monthly.", "Cards cost two percent.", order=order).build("invoices cards")


@pytest.mark.parametrize(("at", "year"), [("2001-02-03", 2001), ("soon", None), (10**400, None)])
def test_recording_reads_a_date_as_everybody_does_and_never_raises(tmp_path, at, year):
    """Point 14."""
    with Journal(tmp_path / "journal.db") as journal:
        journal.record(Context(text="hello"), at=at)
        (row,) = journal.traces()
        assert row.time.year == (year or time.gmtime().tm_year)


@pytest.mark.parametrize(
    "error",
    [
        chromadb.errors.InternalError("Error in compaction: database or disk is full"),
        OSError(28, "No space left on device"),
        sqlite3.OperationalError("database or disk is full"),
    ],
)
def test_a_full_disk_is_told_as_that(error, capsys, monkeypatch):
    """S4: it was an unexpected InternalError, please report it."""

    def fail(*_args, **_named):
        raise error

    monkeypatch.setattr(cli, "_run", fail)
    assert cli.main(["doctor"]) == 1
    told = capsys.readouterr().err
    assert "the disk is full" in told
    assert "report" not in told


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
def test_what_the_command_line_makes_is_its_owners_alone(tmp_path):
    """Point 11."""
    (tmp_path / "notes.md").write_text("# Billing\n\nInvoices go out monthly.\n")
    store = tmp_path / "store"
    before = os.umask(0o022)
    try:
        assert cli.main(["index", str(tmp_path), "--store", str(store)]) == 0
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
    made = [store, *store.rglob("*")]
    assert len(made) > 3
    assert [path for path in made if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


def test_what_one_text_may_cost_is_bounded_and_said():
    """Point 9: 20 MB took 7.4 seconds under a deadline of 2."""
    huge = "Invoices go out monthly, says line after line of this. " * 400_000
    engine = an_engine(huge, "Invoices are paid by card.")
    assert processor_seconds(engine.build, "when do invoices go out?", most=8) < 4
    context = engine.build("when do invoices go out?")
    (said,) = [decision for decision in context.decisions if decision.reason == "shortened"]
    assert said.details == {"characters": len(huge), "most": MOST_TEXT}
    assert "paid by card" in context.text
    assert replay(context.to_dict()).text == context.text


def test_serve_says_a_taken_port_before_it_says_that_it_answers(tmp_path, capsys):
    """C4."""
    import json
    import socket

    (tmp_path / "notes.jsonl").write_text(json.dumps({"id": "a", "text": "Invoices go out monthly."}))
    store = str(tmp_path / "store")
    assert cli.main(["index", str(tmp_path / "notes.jsonl"), "--store", store]) == 0
    capsys.readouterr()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code = cli.main(["serve", "--store", store, "--port", str(taken.getsockname()[1])])
    told = capsys.readouterr().err
    assert (code, "answering at" in told, "give it another: --port" in told) == (1, False, True)


@pytest.mark.parametrize(
    ("name", "value"), [("signals", "x"), ("templates", [1]), ("budget", {"a": 1}), ("fusion", {"b": []})]
)
def test_a_trace_whose_settings_are_damaged_is_an_error_of_ours(name, value):
    """Point 14: the long attack found an AttributeError."""
    context = ContextEngine([ListSource([a_candidate()])]).build("q")
    damaged = replace(context, settings={**context.settings, name: value})
    with pytest.raises(ContextEngineError, match=f"(?i){name}"):
        replay(damaged)


def test_a_conversation_is_named_by_a_string():
    """Point 14: another value made a trace that could not be read again."""
    with pytest.raises(ConfigError, match="conversation_id must be a string, got list"):
        ContextRequest(query="q", conversation_id=[])


@pytest.mark.parametrize(
    "fields", [{"pinned": [[]]}, {"pinned": [("a", 1)]}, {"excluded": [1]}, {"excluded": [[]]}]
)
def test_what_names_no_record_is_refused(fields):
    """Point 14: it raised IndexError out of a build."""
    with pytest.raises(ConfigError, match=r"names records by \(source, id\)"):
        ContextRequest(query="q", **fields)


SETTINGS = (
    "budget", "timeout_seconds", "dedupe_threshold", "min_score", "weights", "template", "tokenizer", "order",
    "selection", "scope_keys", "citations", "truncator", "thresholds", "rerank_seconds", "group_by", "titles",
    "cache", "journal", "fusion", "signals",
)  # fmt: skip
ODD = (10**400, -(10**5000), float("nan"), "9" * 5000, [], {}, b"x", object(), {"relevance": 10**400})


def refusal_of(make):
    """Return what makes something, or the error of ours that refuses it."""
    try:
        return make()
    except ContextEngineError as refused:
        return refused


@pytest.mark.filterwarnings("ignore:no encoding is known")
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_is_wrong_is_refused_when_it_is_given_in_a_short_sentence(name, tmp_path, monkeypatch):
    """Point 14, E42: weights of 10**400 raised OverflowError; a cache that is none raised while answering."""
    monkeypatch.chdir(tmp_path)
    for value in ODD:
        engine = refusal_of(lambda given=value: ContextEngine([ListSource([a_candidate()])], **{name: given}))
        if isinstance(engine, ContextEngineError):
            assert len(str(engine)) < 900
        else:
            scope = dict.fromkeys(engine.config.scope_keys, "x")
            assert engine.build("q", scope=scope).text or scope
            if engine.journal is not None:
                engine.journal.close()


@pytest.mark.parametrize("name", [field.name for field in fields(Budget)])
@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_a_budget_that_is_wrong_is_refused_in_a_short_sentence(name, value):
    """Point 14."""
    assert len(str(refusal_of(lambda: Budget(**{name: value})))) < 400
