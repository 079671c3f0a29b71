"""The command line: results on standard output, one-line errors, exit codes; `index`, `ask`, `explain`."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import chromadb
import pytest

from langchain_context_engine import Context
from langchain_context_engine.cli import main
from tests.builders import WordEmbeddings, a_collection
from tests.conftest import ROOT

NOTES = [
    {"id": "a", "text": "Invoices go out on the first working day of the month.", "workspace_id": "acme"},
    {"id": "b", "text": "Invoices go out on the first working day of each month.", "workspace_id": "acme"},
    {"id": "c", "text": "The boats are moved to the inner basin in a storm.", "workspace_id": "acme"},
    {"id": "z", "text": "Invoices are Zeta's secret.", "workspace_id": "zeta"},
]


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    """Return a folder with JSON Lines in it and a store made of them."""
    folder = tmp_path_factory.mktemp("notes")
    lines = "\n".join(json.dumps(note) for note in NOTES)
    (folder / "notes.jsonl").write_text(lines, encoding="utf-8")
    assert main(["index", str(folder / "notes.jsonl"), "--store", str(folder / "store")]) == 0
    return folder


@pytest.fixture
def ask(notes, capsys):
    """Return what asks the store, and gives (exit code, standard output, standard error)."""

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["ask", "--store", str(notes / "store"), *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def _fails(capsys, code: int, *arguments: str) -> str:
    """Return the one line of error that a command ends with."""
    capsys.readouterr()
    assert main(list(arguments)) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1, printed.err
    assert printed.err.startswith("error: ")
    return printed.err


def test_ask_prints_the_context_and_why_a_duplicate_was_dropped(ask):
    code, out, err = ask("when do invoices go out?", "--scope", "workspace_id=acme")
    assert code == 0
    assert err == ""
    assert out.startswith("[1] Invoices go out on the first working day")
    assert "in, whole" in out
    assert "says what another passage says: [1] notes/" in out
    assert "Zeta" not in out


def test_ask_says_by_how_many_tokens_a_candidate_missed(ask):
    code, out, _ = ask("when do invoices go out?", "--budget", "20", "--set", "selection=score")
    assert code == 0
    assert "no room in the budget: needs" in out


def test_ask_shows_as_many_near_misses_as_asked_for(ask):
    _, out, _ = ask("when do invoices go out?", "--budget", "18", "--near", "1")
    assert out.count("✗") == 1
    assert "more, further from it: context-engine explain" in out


def test_ask_json_is_the_whole_trace_and_nothing_else(ask):
    code, out, _ = ask("when do invoices go out?", "--json")
    context = Context.from_dict(json.loads(out))
    assert code == 0
    assert context.request.query == "when do invoices go out?"
    assert {decision.key[1] for decision in context.decisions} == {"a", "b", "c", "z"}


def test_ask_text_is_the_context_alone(ask):
    _, out, _ = ask("in a storm", "--text", "-k", "1")
    assert out == "[1] The boats are moved to the inner basin in a storm.\n"


def test_asking_for_what_is_not_there_says_so_and_is_no_error(ask):
    code, out, err = ask("when do invoices go out?", "--scope", "workspace_id=nobody", "--text")
    assert (code, out) == (0, "")
    assert err.startswith("nothing found: ")


def test_a_budget_of_zero_gives_nothing_and_says_so(ask):
    code, _, err = ask("when do invoices go out?", "--budget", "0")
    assert code == 0
    assert err.startswith("a budget of 0 holds nothing")


def test_a_where_filter_is_json(ask):
    _, out, _ = ask("invoices", "--where", '{"workspace_id": "zeta"}', "--text")
    assert out == "[1] Invoices are Zeta's secret.\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--template", "citedd"], "Did you mean 'cited'?"),
        (["--weight", "relevence=1"], "Did you mean 'relevance'?"),
        (["--weight", "relevance"], "--weight takes NAME=VALUE, got 'relevance'"),
        (["--set", "selektion=score"], "selektion"),
        (["--collection", "note"], "Did you mean 'notes'?"),
        (["--where", "{"], "--where takes JSON"),
        (["--where", "[]"], "--where takes a JSON object"),
        (["--embeddings", "magic"], "--embeddings takes auto, local, openai"),
        (["--json", "--text"], "exclude each other"),
        (["--budget", "-1"], "see: context-engine ask --help"),
        (["--bogus"], "see: context-engine ask --help"),
    ],
)
def test_what_is_asked_wrongly_is_one_line_with_a_next_step_and_exit_code_2(notes, capsys, arguments, told):
    assert told in _fails(capsys, 2, "ask", "invoices", "--store", str(notes / "store"), *arguments)


def test_an_empty_question_is_refused(notes, capsys):
    assert "the question is empty" in _fails(capsys, 2, "ask", "  ", "--store", str(notes / "store"))


def test_without_a_store_the_error_says_how_to_make_one(tmp_path, capsys):
    assert "context-engine index PATH" in _fails(capsys, 1, "ask", "x", "--store", str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_missing_path_is_asked_wrongly(tmp_path, capsys):
    assert "there is no" in _fails(capsys, 2, "index", str(tmp_path / "nothing"))


def test_what_is_no_store_is_one_line(tmp_path, capsys):
    (tmp_path / "chroma.sqlite3").write_bytes(b"this is no database, whatever it is called" * 100)
    assert "Chroma cannot open" in _fails(capsys, 1, "ask", "x", "--store", str(tmp_path))


def test_an_error_nobody_foresaw_is_one_line_without_secrets(monkeypatch, capsys):
    def fail(*_, **__):
        raise RuntimeError("it broke:\n api_key=sk-test-123456")

    monkeypatch.setattr("langchain_context_engine.cli.store.Store.engine", fail)
    told = _fails(capsys, 1, "ask", "x")
    assert "RuntimeError" in told
    assert "CONTEXT_ENGINE_TRACEBACK=1" in told
    assert "sk-test" not in told


def test_the_traceback_of_an_error_is_there_for_who_wants_it(monkeypatch):
    monkeypatch.setenv("CONTEXT_ENGINE_TRACEBACK", "1")
    with pytest.raises(ValueError, match="the question is empty"):
        main(["ask", ""])


def test_a_second_index_writes_nothing_and_says_so(notes, capsys):
    assert main(["index", str(notes / "notes.jsonl"), "--store", str(notes / "store")]) == 0
    assert capsys.readouterr().out.startswith("nothing written: 4 records")


def test_index_tells_what_it_wrote_and_what_comes_next(tmp_path, capsys):
    (tmp_path / "guide.md").write_text("# Berths\n\nA berth costs 40 euros.\n", encoding="utf-8")
    (tmp_path / "fees.py").write_text("def fee():\n    return 40\n", encoding="utf-8")
    (tmp_path / "photo.png").write_bytes(bytes(range(256)))
    store = tmp_path / "store"
    assert main(["index", str(tmp_path), "--store", str(store), "--name", "marina"]) == 0
    out = capsys.readouterr().out
    assert "marina-code" in out
    assert "marina-docs" in out
    assert "records written to" in out
    assert 'context-engine ask "your question"' in out
    assert (store / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_index_leaves_a_folder_of_somebodys_own_its_gitignore(tmp_path, capsys):
    (tmp_path / ".gitignore").write_text("*.log\n", encoding="utf-8")
    (tmp_path / "n.jsonl").write_text('{"text": "A berth costs 40."}', encoding="utf-8")
    assert main(["index", str(tmp_path / "n.jsonl"), "--name", "notes", "--store", str(tmp_path)]) == 0
    assert (tmp_path / ".gitignore").read_text(encoding="utf-8") == "*.log\n"


def test_index_maps_the_fields_of_json_lines_and_adds_metadata(tmp_path, capsys):
    (tmp_path / "mail.jsonl").write_text('{"body": "Berths cost 40.", "key": "m1"}', encoding="utf-8")
    arguments = ["index", str(tmp_path / "mail.jsonl"), "--store", str(tmp_path)]
    assert main([*arguments, "--field", "text=body", "--field", "id=key", "--metadata", "team=acme"]) == 0
    capsys.readouterr()
    main(["ask", "berths", "--store", str(tmp_path), "--scope", "team=acme", "--json"])
    (candidate,) = Context.from_dict(json.loads(capsys.readouterr().out)).candidates
    assert (candidate.id, candidate.text) == ("m1", "Berths cost 40.")


def test_explain_tells_of_every_candidate_of_the_latest_answer(ask, notes, capsys):
    ask("when do invoices go out?", "--scope", "workspace_id=acme")
    assert main(["explain", "--store", str(notes / "store")]) == 0
    out = capsys.readouterr().out
    assert "notes/c" in out
    assert "says what another passage says" in out


@pytest.mark.parametrize("named", ["1", "[1]", "notes/c", "c"])
def test_explain_tells_of_one_candidate_by_its_marker_key_or_id(ask, notes, capsys, named):
    ask("what happens in a storm?", "-k", "1")
    assert main(["explain", named, "--store", str(notes / "store")]) == 0
    assert "notes/c is in, whole" in capsys.readouterr().out


def test_explain_says_what_would_let_a_candidate_in(ask, notes, capsys):
    ask("when do invoices go out?", "--budget", "18", "--scope", "workspace_id=acme")
    assert main(["explain", "c", "--store", str(notes / "store")]) == 0
    assert "would be in: budget from 18 to " in capsys.readouterr().out


def test_explain_reads_a_trace_from_a_file_or_an_id(ask, notes, tmp_path, capsys):
    _, trace, _ = ask("storm", "--json", "--no-journal")
    (tmp_path / "trace.json").write_text(trace, encoding="utf-8")
    assert main(["explain", "c", "--trace", str(tmp_path / "trace.json")]) == 0
    assert "notes/c is in" in capsys.readouterr().out
    assert "no trace has the id" in _fails(
        capsys, 1, "explain", "--trace", "feedcafe", "--store", str(notes / "store")
    )


def test_explain_says_what_to_do_where_there_is_nothing_to_explain(tmp_path, notes, capsys):
    assert "context-engine ask" in _fails(capsys, 1, "explain", "--store", str(tmp_path))
    (tmp_path / "no.json").write_text("{}", encoding="utf-8")
    assert "is no trace" in _fails(capsys, 2, "explain", "--trace", str(tmp_path / "no.json"))
    assert "no candidate 'nobody'" in _fails(capsys, 2, "explain", "nobody", "--store", str(notes / "store"))


def test_text_that_would_command_the_terminal_is_shown_harmless_in_tables(tmp_path, capsys):
    line = json.dumps({"id": "evil", "text": "A berth costs 40.", "title": "\x1b]0;owned\x07berth"})
    (tmp_path / "evil.jsonl").write_text(line, encoding="utf-8")
    main(["index", str(tmp_path / "evil.jsonl"), "--store", str(tmp_path)])
    main(["ask", "berth", "--store", str(tmp_path)])
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    assert "owned" in printed.out


def test_a_collection_of_another_dimension_is_left_out_with_a_warning_or_refused_by_name(notes, capsys):
    store = str(notes / "store")
    client = chromadb.PersistentClient(path=str(notes / "store" / "chroma"))
    a_collection([{"id": "1", "text": "words"}], client=client, embeddings=WordEmbeddings(64), name="foreign")
    try:
        assert main(["ask", "invoices", "--store", store, "--text"]) == 0
        assert "warning: collection 'foreign' does not say what embedded it" in capsys.readouterr().err
        chosen = ["--collection", "foreign", "--embeddings", "local"]
        told = _fails(capsys, 1, "ask", "invoices", "--store", store, *chosen)
        assert "has vectors of 64 dimensions, here wordllama-l2-supercat-256, 256 dimensions;" in told
    finally:
        client.delete_collection("foreign")


def _process(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    code = "import sys; from langchain_context_engine.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


def test_help_answers_within_a_second():
    # Time of the processor, since the machine may be busy with other tests.
    before = os.times()
    done = _process("--help")
    after = os.times()
    assert done.returncode == 0
    assert "explain" in done.stdout
    assert after.children_user + after.children_system - before.children_user - before.children_system < 1.0


def test_a_process_ends_with_the_exit_code_and_no_traceback(tmp_path):
    done = _process("ask", "x", "--store", str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr


def test_no_command_shows_the_help(capsys):
    assert main([]) == 2
    assert "Commands" in capsys.readouterr().out
