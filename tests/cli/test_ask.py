"""`ask` and `explain`: a question, its context, and why each candidate is in it or not."""

from __future__ import annotations

import json

import chromadb
import pytest

from langchain_context_engine import Context
from langchain_context_engine.cli import main
from tests.builders import WordEmbeddings, a_collection


@pytest.fixture
def ask(notes, run):
    return lambda *arguments: run("ask", "--store", notes, *arguments)


@pytest.fixture
def explain(notes, run):
    return lambda *arguments: run("explain", "--store", notes, *arguments)


def test_ask_prints_the_context_and_why_a_duplicate_was_dropped(ask, explain):
    code, out, err = ask("when do invoices go out?", "--scope", "workspace_id=acme")
    assert (code, err) == (0, "")
    assert out.startswith("[1] Invoices go out on the first working day")
    assert "in, whole" in out
    assert "Zeta" not in out
    for told in (out, explain()[1]):
        assert "says what another passage says: [1] notes/" in " ".join(told.split())


def test_a_question_needs_no_quotes(ask):
    quoted = ask("what happens in a storm?", "--text", "-k", "1")
    assert ask("what", "happens", "in", "a", "storm?", "--text", "-k", "1") == quoted
    assert quoted[1] == "[1] The boats are moved to the inner basin in a storm.\n"


def test_ask_shows_near_misses_and_what_they_lacked(ask, explain):
    assert "no room in the budget: needs" in ask("invoices?", "--budget", "20", "--set", "selection=score")[1]
    ask("when do invoices go out?", "--budget", "18", "--scope", "workspace_id=acme")
    assert "would be in: budget from 18 to " in explain("c")[1]


def test_ask_json_is_the_whole_trace_and_nothing_else_and_explain_reads_it(
    ask, explain, tmp_path, fails, notes
):
    code, out, _ = ask("what happens in a storm?", "--json")
    context = Context.from_dict(json.loads(out))
    assert code == 0
    assert context.request.query == "what happens in a storm?"
    assert {decision.key[1] for decision in context.decisions} == {"a", "b", "c", "z"}
    (tmp_path / "trace.json").write_text(out, encoding="utf-8")
    assert "notes/c is in" in explain("c", "--trace", tmp_path / "trace.json")[1]
    assert "has no trace" in fails(2, "explain", "--trace", "feedcafe", "--store", notes)


def test_an_empty_context_says_where_to_look_and_is_no_error(ask):
    code, out, err = ask("when do invoices go out?", "--text", "--scope", "workspace_id=nobody")
    assert (code, out) == (0, "")
    assert err.startswith("nothing of it is in the context; ")


def test_a_where_filter_is_json(ask):
    told = ask("invoices", "--where", '{"workspace_id": "zeta"}', "--text")
    assert told[1] == "[1] Invoices are Zeta's secret.\n"


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
    assert told in fails(2, "ask", "invoices", "--collection", "notes", "--store", notes, *arguments)


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


@pytest.mark.parametrize("named", ["1", "[1]", "notes/c", "c"])
def test_explain_tells_of_one_candidate_by_its_marker_key_or_id(explain, ask, named):
    """C1."""
    ask("what happens in a storm?", "-k", "1")
    assert "notes/c is in, whole" in explain(named)[1]


def test_explain_takes_every_name_that_was_printed(tmp_path, run, fails):
    """C1."""
    sections = "\n\n".join(f"## Part {n}\n\nBerth {n} costs {n} euros a day." for n in range(4))
    (tmp_path / "guide.md").write_text(f"# Guide\n\n{sections}")
    store = tmp_path / "store"
    run("index", tmp_path, "--store", store)
    run("ask", "what does a berth cost?", "--store", store)
    for number in range(4):
        code, out, err = run("explain", f"guide.md › Part {number}", "--store", store)
        assert (code, err) == (0, "")
        assert out.startswith(f"guide.md › Part {number} is in, whole")
    told = fails(2, "explain", "guide.md", "--store", store)
    assert "4 candidates are called 'guide.md'; give one of: guide.md › Part" in told


def test_explain_says_what_to_do_where_there_is_nothing_to_explain(tmp_path, notes, run, fails):
    assert "context-engine ask" in fails(1, "explain", "--store", tmp_path)
    (tmp_path / "no.json").write_text("{}", encoding="utf-8")
    assert "is no trace" in fails(2, "explain", "--trace", tmp_path / "no.json")
    run("ask", "storm", "--store", notes)
    assert "explain --other 'nobody'" in fails(2, "explain", "nobody", "--store", notes)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A store of 300 notes on berths and one on tea."""
    folder = tmp_path_factory.mktemp("many")
    notes = [{"id": f"n{n}", "text": f"Berth {n} is booked by the day, says note {n}."} for n in range(300)]
    notes = [{**note, "title": "Moorings"} for note in notes]
    notes.append({"id": "tea", "text": "Tea is served at four.", "team": "red"})
    (folder / "notes.jsonl").write_text("\n".join(map(json.dumps, notes)))
    assert main(["index", str(folder / "notes.jsonl"), "--store", str(folder)]) == 0
    return folder


def test_a_record_that_was_not_offered_is_told_with_its_rank_and_what_lets_it_in(many, run, fails):
    """B22; one that the scope hides is told as one that there is not."""
    run("ask", "how are berths booked?", "--store", many)
    code, out, _ = run("explain", "--other", "is served at four", "--store", many)
    assert code == 0
    assert "not offered: notes offers its best " in out
    assert ", and this is its 301st (301st by meaning, no word of the question in it)" in out
    assert "would be in with a limit of 301 and budget from" in out
    both = fails(2, "explain", "1", "--other", "tea", "--store", many)
    assert "give a candidate of the answer, or --other" in both
    absent = fails(2, "explain", "--other", "coffee", "--store", many)
    assert "the store holds nothing called 'coffee' that this question may see" in absent
    run("ask", "how are berths booked?", "--scope", "team=blue", "--store", many)
    hidden = fails(2, "explain", "--other", "tea", "--store", many)
    assert hidden == absent.replace("coffee", "tea")


def test_of_many_records_of_one_name_the_nearest_five_are_told_and_how_many_more_there_are(many, run):
    run("ask", "how are berths booked?", "--store", many)
    code, out, _ = run("explain", "--other", "Moorings", "--store", many)
    told = [line for line in out.splitlines() if not line.startswith(" ")]
    assert (code, len(told)) == (0, 6)
    assert told[-1] == "and 295 more; name one by its lines, its id or a piece of it"
