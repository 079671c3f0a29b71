"""Every page by Streamlit's AppTest: it opens, whatever its address, trace and journal say, and shares nothing."""

from __future__ import annotations

import inspect
import json
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import chromadb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector import state
from inspector.wording import option_of
from langchain_context_engine import Context, ContextEngine, Journal, LocalEmbeddings
from langchain_context_engine.models.types import Status
from tests.builders import ListSource, SlowSource, a_candidate
from tests.designs.test_assemblies import DESIGNS, replayed
from tests.inspector.builders import HOSTILE, a_context, a_page, cells, column, go_on, grids, htmls, said

PAGES = ("traces", "explain", "tune", "compare", "judge", "sets", "figures", "collections")
GARBAGE = st.sampled_from(
    ["", "-1", "0", "1e999", "NaN", "inf", "9" * 30, "None", "True", "[]", "a~b=c", "try-x~k=", "2026-99-99",
     "9999-12-31", "../../etc/passwd", "\u202eabc\u200b", HOSTILE]
)  # fmt: skip
ASKED = {
    "traces": ("q", "since", "until", "live", "only", "sorted", "page"),
    "explain": ("section", "shown", "find", "candidate"),
    "tune": ("budget", "k", "w_relevance", "w_keyword", "item_cap", "reserve", "threshold", "min_score", "order"),
    "compare": ("compare", "onlydiff"),
    "judge": ("rater", "queue", "reading"),
    "figures": ("timed",),
    "sets": ("set",),
}  # fmt: skip
FUNCTION = {"order": lambda passages: tuple(reversed(passages))}
"""A setting that a trace cannot hold."""
HARMS = {
    "no numbers": lambda data: [decision.update(details={}) for decision in data["decisions"]],
    "words for numbers": lambda data: [
        one.update(details=dict.fromkeys((*one["details"], "needed", "left"), "many"))
        for one in data["decisions"]
    ],
    "weights": lambda data: data["settings"].update(weights=-1),
    "a threshold": lambda data: data["settings"].update(dedupe_threshold=["a"]),
    "a score beyond 1": lambda data: data["settings"].update(min_score=1e308),
    "a share": lambda data: data["settings"]["budget"].update(shares={"memories": "much"}),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "j.db"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("address") / "j.db"
    with Journal(path) as journal:
        return path, journal.record(a_context())


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("trace", [None, "sample-weighted"])
def test_every_page_opens_with_and_without_a_trace_and_has_one_heading(page, trace):
    at = a_page(page, trace=trace)
    assert not at.exception
    assert "This did not work" not in said(at)
    assert sum(html.count("<h1") for html in htmls(at)) == 1
    if trace is None and page in {"traces", "explain", "tune", "judge"}:
        recipe = next(code.value for code in at.code if "journal" in code.value)
        assert len(recipe.splitlines()) == 3
        assert any("Load the sample" in button.label for button in at.button)


@pytest.mark.parametrize("page", ASKED)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_address_of_garbage_draws_the_page(page, recorded, monkeypatch, data):
    """Whatever an address says, nothing of it is run or believed: not a mistake of ours."""
    path, name = recorded
    asked = data.draw(
        st.dictionaries(st.sampled_from(ASKED[page]), GARBAGE | st.text(max_size=8), max_size=6)
    )
    trace = data.draw(st.sampled_from([name, name, "sample-latest", "x~y", ""]) | GARBAGE)
    at = a_page(page, trace=trace, journal=path, monkeypatch=monkeypatch, **asked)
    assert not at.exception
    assert "mistake of the inspector" not in said(at)


@pytest.mark.parametrize("trace", ["nothing-like-it", "../../etc/passwd", "upload-0123456789ab"])
def test_an_address_that_names_no_trace_is_a_card_that_says_what_to_do(trace):
    told = said(a_page("explain", trace=trace))
    assert "This did not work" in told
    assert "Traces page" in told


def test_a_journal_that_is_not_there_is_waited_for_and_a_file_that_is_none_is_a_card(path, monkeypatch):
    assert "There is no journal there" in said(a_page("traces", journal=path, monkeypatch=monkeypatch))
    assert not path.exists()
    path.write_text("this is no database, it is a text that is long enough to look at" * 40)
    at = a_page("traces", journal=path, monkeypatch=monkeypatch)
    assert not at.exception
    assert "This did not work" in said(at)


def test_a_failed_question_and_an_empty_answer_say_at_once_what_narrowed_them(path, monkeypatch):
    with Journal(path) as journal:
        empty = journal.record(a_context([], scope={"team": "x"}))
        failed = journal.record(replace(a_context([]), status=Status.FAILED, warnings=("all failed",)))
    told = said(a_page("explain", trace=empty, journal=path, monkeypatch=monkeypatch))
    assert "What narrowed the question is underlined" in told
    assert "scope: team x" in told
    told = said(a_page("explain", trace=failed, journal=path, monkeypatch=monkeypatch))
    assert "Every source failed" in told
    at = a_page("traces", journal=path, monkeypatch=monkeypatch, only="Failed")
    assert [row["id"] for row in grids(at)["traces"]["rows"]] == [failed]


def test_the_list_is_sorted_filtered_and_bounded_by_its_address(path, monkeypatch):
    with Journal(path) as journal:
        for day, budget in ((1, 60), (2, 10), (3, 2000)):
            at = datetime(2026, 3, day, 12, tzinfo=UTC)
            journal.record(a_context(query=f"day {day}", budget=budget, truncator="none"), at=at)

    def listed(**address):
        at = a_page("traces", journal=path, monkeypatch=monkeypatch, **address)
        return cells(at, "traces", "question")

    assert listed() == listed(sorted="evil", since="never") == ["day 3", "day 2", "day 1"]
    assert listed(sorted="-tokens") == ["day 2", "day 1", "day 3"]
    assert listed(only="Nothing kept") == listed(since="2026-03-02", until="2026-03-02") == ["day 2"]
    assert listed(q="3 day") == ["day 3"]
    told = said(a_page("traces", journal=path, monkeypatch=monkeypatch, q="volcano"))
    assert "No recorded question is like that" in told


def test_an_answer_is_found_by_a_passage_an_id_and_a_source_that_came_late(path, monkeypatch):
    with Journal(path) as journal:
        late = [
            ListSource([a_candidate(id="n-41", text="Le café est fermé.")]),
            SlowSource(name="slow-wiki", seconds=1),
        ]
        ContextEngine(late, journal=journal, timeout_seconds=0.05).build("which?")
        journal.record(a_context())
    for words in ("CAFE ferme", "n-41", "slow-wiki", "which slow cafe"):
        at = a_page("traces", journal=path, monkeypatch=monkeypatch, q=words)
        assert cells(at, "traces", "question") == ["which?"], words
        assert "1 of 2 questions" in said(at)


def test_an_answer_is_found_by_its_own_id_its_beginning_and_a_candidates_address(path, monkeypatch):
    """The placeholder promised an id; `source/id` found nothing, nor did an id as Compare prints it."""
    found = [a_candidate(id=f"a/{i}", text=text, metadata={"path": f"{i}.md"}) for i, text in enumerate(
        ("The ropes are blue.", "Blue are the lamps; ropes too."))]  # fmt: skip
    with Journal(path) as journal:
        first, second = (journal.record(a_context([one], query=q)) for one, q in zip(
            found, ("which “ropes”?", "who else?"), strict=True))  # fmt: skip
        journal.note(second, "the ropes are old")
    for words, expected, where in (
        (first, ["which “ropes”?"], "id"),
        (first[:8], ["which “ropes”?"], "id"),
        (option_of(found[1].key), ["who else?"], "source, candidate"),
        ("“ropes are old”", ["who else?"], "note"),
    ):
        at = a_page("traces", journal=path, monkeypatch=monkeypatch, q=words)
        assert cells(at, "traces", "question") == expected, words
        assert cells(at, "traces", "found")[0] == where, words
        assert f"{len(expected)} of 2 questions" in said(at)
        assert ("searched one by one" in said(at)) == words.startswith("“")
    at = a_page("traces", journal=path, monkeypatch=monkeypatch, q="zebra", only="Slowest twentieth")
    assert "0 of 2 questions" in said(at)
    assert "Searched: questions, notes" in said(at)
    assert "Choose one" not in said(at)
    at.button(key="clear").click().run()
    assert "2 of 2 questions" in said(at)


def test_what_has_the_words_in_its_question_comes_before_what_has_them_in_a_passage(path, monkeypatch):
    with Journal(path) as journal:
        for day, query in enumerate(("Who waters the plants?", "Who else?", "plants?"), 1):
            journal.record(a_context(query=query), at=datetime(2026, 3, day, 12, tzinfo=UTC))
        journal.record(a_context(query="late"), at=datetime(2026, 3, 9, tzinfo=UTC))

    def found(**address):
        at = a_page("traces", journal=path, monkeypatch=monkeypatch, q="plants", **address)
        return cells(at, "traces", "question"), cells(at, "traces", "found")

    assert found() == (
        ["plants?", "Who waters the plants?", "late", "Who else?"],
        ["question", "question", "passage", "passage"],
    )
    assert found(sorted="-time")[0] == ["Who waters the plants?", "Who else?", "plants?", "late"]


def test_a_note_and_tags_are_kept_at_once_shown_in_the_list_and_saved_with_it(path, monkeypatch):
    with Journal(path) as journal:
        name = journal.record(a_context())
    at = a_page("explain", trace=name, journal=path, monkeypatch=monkeypatch)
    at.session_state["note"] = True
    at.run()
    at.text_area(key=f"note-{name}").set_value("Wrong price").run()
    at.multiselect(key=f"tags-{name}").set_value(["billing", "to do"]).run()
    assert "#billing #to do · Wrong price" in said(at)
    at = a_page("traces", journal=path, monkeypatch=monkeypatch, q="wrong to bill", only="Noted")
    assert cells(at, "traces", "note") == ["#billing #to do · Wrong price"]
    at.session_state["export"] = True
    assert at.run().download_button[0].label == "The 1 question found, CSV"
    at = a_page("explain", trace="sample-latest", journal=path, monkeypatch=monkeypatch)
    assert [box.proto.popover.label for box in at.get("popover")] == ["Export"]


def test_a_saved_view_is_chosen_by_its_name_and_forgotten(path, monkeypatch):
    with Journal(path) as journal:
        for query, day in (("ropes?", 1), ("lamps?", 2), ("lamps and ropes?", 3)):
            journal.record(a_context(query=query), at=datetime(2026, 3, day, 12, tzinfo=UTC))
        journal.keep_view("late lamps", {"q": "lamps", "since": "2026-03-03", "sorted": "-time"})
    at = a_page("traces", journal=path, monkeypatch=monkeypatch, q="ropes", until="2026-03-02")
    assert cells(at, "traces", "question") == ["ropes?"]
    at.selectbox(key="view").set_value("late lamps").run()
    assert cells(at, "traces", "question") == ["lamps and ropes?"]
    assert at.session_state["sorted"] == "-time"
    assert at.selectbox(key="view").value == "late lamps"
    at.text_input(key="q").set_value("").run()
    assert at.selectbox(key="view").value is None
    at.selectbox(key="view").set_value("late lamps").run()
    assert cells(at, "traces", "question") == ["lamps and ropes?"]
    next(b for b in at.button if b.label == "Forget it").click().run()
    assert not at.selectbox(key="view").options


def test_what_is_recorded_while_the_list_is_followed_is_marked_and_counted_in_both_numbers(path, monkeypatch):
    """ "78 of 75 questions": all were counted when the page was opened."""
    with Journal(path) as journal:
        journal.record(a_context())
    at = a_page("traces", journal=path, monkeypatch=monkeypatch)
    assert cells(at, "traces", "question") == ["When do invoices go out?"]
    with Journal(path) as journal:
        journal.record(a_context(query="Who else?"))
    assert cells(at.run(), "traces", "question")[0] == [["new ", True], ["Who else?", False]]
    assert "2 of 2 questions" in said(at)


def test_a_chosen_row_of_the_recorded_questions_is_explained(path, monkeypatch):
    with Journal(path) as journal:
        name = journal.record(a_context())
    at = a_page("traces", journal=path, monkeypatch=monkeypatch)
    at.session_state["opens"] = name
    at.run()
    assert "ranked" in grids(at)


def test_a_trace_that_is_dropped_in_is_explained_each_time_and_a_file_that_is_none_is_a_card():
    """The second time nothing happened."""
    at = a_page("traces")
    for _ in range(2):
        at.file_uploader[0].upload("trace.json", a_context().to_json().encode(), "application/json").run()
        assert at.session_state["trace"].startswith("upload-")
        assert "ranked" in grids(at)
        go_on(at, "")
        at.session_state["trace"] = "sample-latest"
        at.run()
    at.file_uploader[0].upload("trace.json", b'{"neither": "nor"}', "application/json").run()
    assert "This did not work" in said(at)


def test_figures_over_time_are_told_by_day_stage_and_source(path, monkeypatch):
    took = {"timings": {"collect": 900.0, "rank": 7.0}, "source_timings": {"list": 450.0}}
    with Journal(path) as journal:
        for day in (1, 1, 2):
            journal.record(replace(a_context(), **took), at=datetime(2026, 3, day, 12, tzinfo=UTC))
    for timed, milliseconds in (("", 907), ("stage rank", 7), ("source list", 450), ("evil", 907)):
        at = a_page("figures", journal=path, monkeypatch=monkeypatch, timed=timed)
        assert any(one.value.startswith("3 questions on 2 days, from") for one in at.caption)
        days = at.dataframe[0].value
        assert list(days["questions"]) == [1, 2]
        assert list(days["p95 ms"]) == [milliseconds] * 2
    assert {"collect", "rank"} <= set(column(at, 0, "what"))
    assert column(at, 1, "p50 ms") == ["450"]


@pytest.mark.parametrize("page", ["explain", "tune", "judge"])
@pytest.mark.parametrize("harm", HARMS)
def test_what_is_damaged_in_a_trace_is_said_of_the_trace_and_costs_no_more(page, harm):
    """One decision without its numbers took the table of all candidates, as "a mistake of the inspector"."""
    data = json.loads(a_context(budget=120, weights={"relevance": 1, "keyword": 1}).to_json())
    HARMS[harm](data)
    at = a_page(page, trace="upload-1", opened={"upload-1": Context.from_dict(data)})
    assert not at.exception
    assert "mistake of the inspector" not in said(at)
    if page != "tune":
        assert len(grids(at)["ranked" if page == "explain" else "grading"]["rows"]) >= 4


def test_one_that_cannot_be_read_or_replayed_costs_its_own_question_and_is_counted(path, monkeypatch):
    """Promise 13: a trace whose compactor was a function took the figures of all judged questions with it."""
    queries = ("When do invoices go out?", "Who may refund?", "Who waters the plants?")
    with Journal(path) as journal:
        names = [journal.record(a_context(query=query)) for query in queries[:2]]
        names.append(journal.record(a_context(query=queries[2], **FUNCTION)))
        for query in queries:
            journal.judge(query, ("memories", "a"), 3)
        journal.keep_set("all", dict(zip(queries, names, strict=True)))
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE bodies SET body = x'00' WHERE id = (SELECT id FROM traces WHERE number = 2)"
        )
    for name in ("all", "all judged questions"):
        at = a_page("sets", journal=path, monkeypatch=monkeypatch, set=name)
        assert list(at.dataframe[0].value["question"]) == [queries[0]]
        assert column(at, 0, "evidence") == ["100 %"]
        for told in ("1 question. Turn knobs", "Without a trace that can be read here: 1.", "is damaged: 1."):
            assert told in said(at)


def test_a_part_given_as_a_function_is_explained_and_not_replayed():
    opened = {"upload-1": a_context(**FUNCTION)}
    assert "This did not work" not in said(a_page("explain", trace="upload-1", opened=opened))
    told = said(a_page("tune", trace="upload-1", opened=opened))
    assert "No setting can be tried on this answer" in told
    assert "This did not work" not in told


@pytest.mark.parametrize("design", DESIGNS)
def test_every_page_opens_on_a_trace_of_a_design(design, monkeypatch):
    """The inspector understands what a design recorded, without the design."""
    given, _ = replayed(design)
    trace = Context.from_dict(json.loads(given.to_json()))
    at = a_page("traces", trace="upload-1", opened={"upload-1": trace}, monkeypatch=monkeypatch)
    for page in PAGES[1:]:
        go_on(at, page)
        assert not at.exception, page
        assert trace.request.query[:20] in said(at) or trace.parts or page not in {"explain", "tune"}


def test_m94_nothing_is_cached_for_the_process_so_no_argument_must_be_hashable():
    """M94: clients and embedders never pass through a Streamlit cache."""
    folder = Path(inspect.getfile(state)).parent
    sources = [path.read_text() for path in folder.rglob("*.py")]
    assert not any("cache_data" in text or "cache_resource" in text for text in sources)


def test_m95_two_sessions_share_nothing():
    """M95: A's traces, grades and tries are nowhere in B's session, even for the same question and name."""
    mine = a_context([a_candidate(id="a", text="only Ann may read this")], query="same question?")
    ann = a_page("judge", trace="upload-1", opened={"upload-1": mine})
    ann.button(key="grade3-memories/a").click().run()
    assert "only Ann" in said(ann)
    bob = a_page("explain", trace="upload-1")
    assert "only Ann" not in said(bob)
    assert "another session" in said(bob)
    theirs = a_context([a_candidate(id="a", text="Bob's own text")], query="same question?")
    judged = a_page("judge", trace="upload-1", opened={"upload-1": theirs})
    assert "Judged: 0 of" in said(judged)


@pytest.mark.parametrize(
    ("page", "section"),
    [("explain", "Candidates"), ("explain", "Budget"), ("explain", "Duplicates"), ("explain", "Text"),
     ("tune", ""), ("judge", ""), ("compare", ""), ("collections", "")],
)  # fmt: skip
def test_m96_texts_are_shown_as_texts(page, section):
    """M96: HTML, Markdown, LaTeX and pictures in texts, ids, titles and questions are literal."""
    given = {"source": HOSTILE[:30], "metadata": {"title": HOSTILE}, "kind": HOSTILE}
    words = ("alpha", "alpha ", "gamma delta")
    found = [a_candidate(id=f"{HOSTILE}{i}", text=f"{HOSTILE} {w}", **given) for i, w in enumerate(words)]
    opened = {"upload-1": a_context(found, query=HOSTILE)}
    at = a_page(page, trace="upload-1", opened=opened, section=section or None)
    assert not at.exception
    assert "This did not work" not in said(at)
    for element in [*at.markdown, *at.caption, *at.title, *at.subheader]:
        assert not getattr(element, "allow_html", False)
        assert "onerror" not in element.value
    for html in htmls(at):
        assert "<img" not in html
    for labelled in [*at.slider, *at.button, *at.expander, *at.tabs]:
        # Where a name must be a label, every sign that Markdown reads is escaped.
        assert "<img" not in labelled.label.replace("\\<", "")
        assert "![" not in labelled.label.replace("\\!", "")


def test_m97_metadata_of_mixed_types_is_shown():
    """M97: one column with 10.0, "OK" and a tuple is no Arrow error."""
    values = {"one": 10.0, "two": "OK", "three": (1, 2), "four": None}
    found = [a_candidate(id=word, text=f"text {word}", metadata={"v": v}) for word, v in values.items()]
    for page in ("explain", "judge", "collections"):
        at = a_page(page, trace="upload-1", opened={"upload-1": a_context(found)})
        assert not at.exception
        assert "This did not work" not in said(at)


def test_m97_a_hundred_thousand_traces_are_paged(path, monkeypatch):
    """M97: a page reads fifty rows, whatever the journal holds."""
    with Journal(path) as journal:
        journal.record(a_context())
    with sqlite3.connect(path) as connection:
        named = [row[1] for row in connection.execute("PRAGMA table_info(traces)")]
        columns = ", ".join(name for name in named if name not in {"number", "id"})
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99999) "
            f"INSERT INTO traces (id, {columns}) SELECT 'copy' || i, {columns} FROM traces, n"
        )
    at = a_page("traces", journal=path, monkeypatch=monkeypatch)
    assert "100,000 of 100,000 questions" in said(at)
    assert len(grids(at)["traces"]["rows"]) == 50


def test_m98_one_press_asks_once_and_a_run_ends(tmp_path):
    """M98: no rerun loop; a question is asked by its press alone, once."""
    texts = ["Invoices go out on the first.", "Plants are watered on Friday."]
    client = chromadb.PersistentClient(path=str(tmp_path))
    collection = client.create_collection("notes", embedding_function=None)
    collection.add(ids=["1", "2"], documents=texts, embeddings=LocalEmbeddings().embed_documents(texts))
    at = a_page("collections")
    at.text_input(key="where").set_value(str(tmp_path)).run()
    assert "notes" in column(at, 0, "collection")
    assert "This is a copy" in said(at)
    # What no source offered is asked of the same store: whether it is there, and why it was not offered.
    at.session_state["opened"] = {"upload-1": a_context([], query="When do invoices go out?", limit=1)}
    at.session_state["trace"] = "upload-1"
    go_on(at, "explain")
    at.text_input(key="find").set_value("zebra").run()
    next(b for b in at.button if b.key == "ask-store").click().run()
    assert "The store holds nothing of that id" in said(at)
    at.text_input(key="find").set_value(texts[1]).run()
    next(b for b in at.button if b.key == "ask-store").click().run()
    next(b for b in at.button if b.label == "Ask again with a limit of 2").click().run()
    assert not at.exception
    assert (at.session_state["asked"], at.session_state["trace"]) == (1, "asked-1")
    at.run()
    assert at.session_state["asked"] == 1
    # With the budget that is told it is asked, and that lets the record in.
    at.session_state["opened"] = {
        "upload-2": a_context([], query="When do plants go out?", limit=1, budget=20)
    }
    at.session_state["trace"] = "upload-2"
    go_on(at, "explain")
    at.text_input(key="find").set_value(texts[0]).run()
    next(b for b in at.button if b.key == "ask-store").click().run()
    (told,) = [html for html in htmls(at) if "ce-why" in html]
    assert "Invoices" in told.partition("ce-text")[2]
    next(b for b in at.button if b.key == "ask-further").click().run()
    asked = next(b for b in at.button if b.label.startswith("and a budget of "))
    asked.click().run()
    assert at.session_state["opened"]["asked-2"].budget == int(
        asked.label.rpartition(" ")[2].replace(",", "")
    )


def test_the_list_tells_of_new_answers_that_it_does_not_show(path, monkeypatch):
    with Journal(path) as journal:
        journal.record(a_context())
    at = a_page("traces", journal=path, monkeypatch=monkeypatch, q="invoices", only="All")
    with Journal(path) as journal:
        for query in ("Who else?", "And the invoices?"):
            journal.record(a_context([], query=query))
    at.run()
    assert cells(at, "traces", "question")[0] == [["new ", True], ["And the invoices?", False]]
    at.button(key="show-new").click().run()
    assert len(cells(at, "traces", "question")) == 3
    assert at.text_input(key="q").value == ""
    assert "show-new" not in [button.key for button in at.button]
