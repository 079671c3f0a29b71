"""`ask`: a question, its context, and why each candidate is in it or not."""

from __future__ import annotations

import json

import chromadb
import pytest

from langchain_context_engine import Context
from tests.builders import WordEmbeddings, a_collection


@pytest.fixture
def ask(notes, run):
    return lambda *arguments: run("ask", "--store", notes, *arguments)


def test_ask_prints_the_context_and_why_a_duplicate_was_dropped(ask):
    code, out, err = ask("when do invoices go out?", "--scope", "workspace_id=acme")
    assert (code, err) == (0, "")
    assert out.startswith("[1] Invoices go out on the first working day")
    assert "in, whole" in out
    assert "says what another passage says: [1] notes/" in out
    assert "Zeta" not in out


def test_a_question_needs_no_quotes(ask):
    quoted = ask("what happens in a storm?", "--text", "-k", "1")
    assert ask("what", "happens", "in", "a", "storm?", "--text", "-k", "1") == quoted
    assert quoted[1] == "[1] The boats are moved to the inner basin in a storm.\n"


def test_ask_shows_as_many_near_misses_as_asked_for_and_what_they_lacked(ask):
    _, out, _ = ask("when do invoices go out?", "--budget", "18", "--near", "1")
    assert out.count("✗") == 1
    assert "more, further from it: context-engine explain" in out
    assert "no room in the budget: needs" in ask("invoices?", "--budget", "20", "--set", "selection=score")[1]


def test_ask_json_is_the_whole_trace_and_nothing_else(ask):
    code, out, _ = ask("when do invoices go out?", "--json")
    context = Context.from_dict(json.loads(out))
    assert code == 0
    assert context.request.query == "when do invoices go out?"
    assert {decision.key[1] for decision in context.decisions} == {"a", "b", "c", "z"}


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--scope", "workspace_id=nobody"], "nothing found: "), (["--budget", "0"], "a budget of 0 holds nothing")],
)  # fmt: skip
def test_an_empty_context_says_why_and_is_no_error(ask, options, said):
    code, out, err = ask("when do invoices go out?", "--text", *options)
    assert (code, out) == (0, "")
    assert err.startswith(said)


def test_a_where_filter_is_json(ask):
    assert (
        ask("invoices", "--where", '{"workspace_id": "zeta"}', "--text")[1]
        == "[1] Invoices are Zeta's secret.\n"
    )


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
def test_what_is_asked_wrongly_is_one_line_with_a_next_step_and_exit_code_2(notes, fails, arguments, told):
    assert told in fails(2, "ask", "invoices", "--store", notes, *arguments)


def test_an_empty_question_is_refused(notes, fails):
    assert "the question is empty" in fails(2, "ask", "  ", "--store", notes)


def test_ask_reads_a_file_of_settings_and_an_option_goes_before_it(ask, tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text('budget = 300\nselection = "score"\n\n[request]\nk = 1\n', encoding="utf-8")
    for options, budget, k in ([], 300, 1), (["--budget", "200", "-k", "2"], 200, 2):
        trace = json.loads(ask("invoices?", "--no-journal", "--json", "--settings", path, *options)[1])
        assert trace["settings"]["selection"] == "score"
        assert (trace["budget"], trace["request"]["k"]) == (budget, k)


@pytest.mark.parametrize("command", [["serve"], ["mcp"], ["evaluate", "QUESTIONS"]])
def test_who_answers_others_takes_no_question_from_a_file_of_settings(notes, fails, tmp_path, command):
    settings, questions = tmp_path / "settings.toml", tmp_path / "questions.jsonl"
    settings.write_text("[request]\nk = 1\n", encoding="utf-8")
    questions.write_text('{"query": "which invoices?", "gold": ["a"]}\n', encoding="utf-8")
    told = [str(questions) if argument == "QUESTIONS" else argument for argument in command]
    err = fails(2, *told, "--store", notes, "--settings", settings)
    assert "the table 'request' is the caller's to send" in err


def test_text_that_would_command_the_terminal_is_shown_harmless_in_tables(tmp_path, run):
    line = json.dumps({"id": "evil", "text": "A berth costs 40.", "title": "\x1b]0;owned\x07berth"})
    (tmp_path / "evil.jsonl").write_text(line, encoding="utf-8")
    run("index", tmp_path / "evil.jsonl", "--store", tmp_path)
    _, out, err = run("ask", "berth", "--store", tmp_path)
    assert "\x1b" not in out + err
    assert "owned" in out


def test_a_collection_of_another_dimension_is_left_out_with_a_warning_or_refused_by_name(notes, run, fails):
    client = chromadb.PersistentClient(path=str(notes / "chroma"))
    a_collection([{"id": "1", "text": "words"}], client=client, embeddings=WordEmbeddings(64), name="foreign")
    try:
        code, _, err = run("ask", "invoices", "--store", notes, "--text")
        assert code == 0
        assert "warning: collection 'foreign' does not say what embedded it" in err
        chosen = ["--collection", "foreign", "--embeddings", "local"]
        told = fails(1, "ask", "invoices", "--store", notes, *chosen)
        assert "has vectors of 64 dimensions, here wordllama-l2-supercat-256, 256 dimensions;" in told
    finally:
        client.delete_collection("foreign")
