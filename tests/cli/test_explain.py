"""`explain`: one candidate or all of a recorded answer, and a record that was none (B22)."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def explain(notes, run):
    return lambda *arguments: run("explain", "--store", notes, *arguments)


def test_explain_tells_of_every_candidate_of_the_latest_answer(explain, notes, run):
    run("ask", "when do invoices go out?", "--scope", "workspace_id=acme", "--store", notes)
    code, out, _ = explain()
    assert code == 0
    assert "notes/c" in out
    assert "says what another passage says" in out


@pytest.mark.parametrize("named", ["1", "[1]", "notes/c", "c"])
def test_explain_tells_of_one_candidate_by_its_marker_key_or_id(explain, notes, run, named):
    """C1."""
    run("ask", "what happens in a storm?", "-k", "1", "--store", notes)
    code, out, _ = explain(named)
    assert code == 0
    assert "notes/c is in, whole" in out


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
    assert "4 candidates are called 'guide.md'; give one of: guide.md › Part" in fails(
        2, "explain", "guide.md", "--store", store
    )


def test_explain_says_what_would_let_a_candidate_in(explain, notes, run):
    run("ask", "when do invoices go out?", "--budget", "18", "--scope", "workspace_id=acme", "--store", notes)
    assert "would be in: budget from 18 to " in explain("c")[1]


def test_explain_reads_a_trace_from_a_file_or_an_id(notes, run, fails, tmp_path):
    trace = run("ask", "storm", "--json", "--no-journal", "--store", notes)[1]
    (tmp_path / "trace.json").write_text(trace, encoding="utf-8")
    assert "notes/c is in" in run("explain", "c", "--trace", tmp_path / "trace.json")[1]
    assert "no trace has the id" in fails(1, "explain", "--trace", "feedcafe", "--store", notes)


def test_explain_says_what_to_do_where_there_is_nothing_to_explain(tmp_path, notes, run, fails):
    assert "context-engine ask" in fails(1, "explain", "--store", tmp_path)
    (tmp_path / "no.json").write_text("{}", encoding="utf-8")
    assert "is no trace" in fails(2, "explain", "--trace", tmp_path / "no.json")
    run("ask", "storm", "--store", notes)
    assert "explain --other 'nobody'" in fails(2, "explain", "nobody", "--store", notes)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A store of 300 notes on berths and one on tea."""
    from langchain_context_engine.cli import main

    folder = tmp_path_factory.mktemp("many")
    notes = [{"id": f"n{n}", "text": f"Berth {n} is booked by the day, says note {n}."} for n in range(300)]
    notes.append({"id": "tea", "text": "Tea is served at four.", "team": "red"})
    (folder / "notes.jsonl").write_text("\n".join(map(json.dumps, notes)))
    assert main(["index", str(folder / "notes.jsonl"), "--store", str(folder)]) == 0
    assert main(["ask", "how are berths booked?", "--store", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("named", ["tea", "is served at four"])
def test_a_record_that_was_not_offered_is_told_with_its_rank_and_what_lets_it_in(many, run, named):
    """B22."""
    code, out, _ = run("explain", "--other", named, "--store", many)
    assert code == 0
    assert "in the store and not offered: 'notes' offers" in out
    assert "rank 301 of its source" in out
    assert "would be in: limit 301, and budget from" in out


def test_a_record_that_the_store_lacks_or_the_scope_hides_is_told_the_same_way(many, run, fails):
    """B22."""
    absent = fails(2, "explain", "--other", "coffee", "--store", many)
    assert "the store holds nothing called 'coffee' that this question may see" in absent
    run("ask", "how are berths booked?", "--scope", "team=blue", "--store", many)
    hidden = fails(2, "explain", "--other", "tea", "--store", many)
    assert hidden == absent.replace("coffee", "tea")
    run("ask", "how are berths booked?", "--store", many)
    assert "give a candidate of the answer, or --other" in fails(
        2, "explain", "1", "--other", "tea", "--store", many
    )
