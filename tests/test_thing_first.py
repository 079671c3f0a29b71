"""What a record is for what a question is after: definitions, documents, changes and tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from langchain_context_engine import Context, ContextEngine, replay
from langchain_context_engine.config import EngineConfig
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.aims import aims_of
from langchain_context_engine.ranking.editions import SPOKEN
from langchain_context_engine.ranking.fusion import Fusion, fuse
from langchain_context_engine.ranking.intent import Role, role_of
from langchain_context_engine.ranking.links import Name, names_of, telling_of
from tests.builders import ListSource, a_candidate

TRACES = Path(__file__).parent / "traces"


def alike(query: str) -> dict[str, float]:
    """Return the relevance of five records that both legs of a search like alike, and of a weak one."""
    claims = {"dense": 0.8, "lexical": 4.0}
    places = {
        "definition": ("code", "src/redirect.py"),
        "test": ("code", "tests/test_redirect.py"),
        "document": ("doc", "docs/redirect.md"),
        "change": ("commit", ""),
    }
    found = [
        Candidate(id=name, text=f"text {name}", source="s", kind=kind, metadata={"path": path}, claims=claims)
        for name, (kind, path) in places.items()
    ]
    weak = Candidate(id="weak", text="weak", source="s", kind="code", claims={"dense": 0.1, "lexical": 0.0})
    fused = fuse([*found, weak], Fusion(), query)
    return {c.id: f.relevance for c, f in zip(found, fused, strict=False)}


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("which function decides where redirects lead?", "definition"),
        ("how do I follow redirects?", "document"),
        ("why was the redirect limit removed?", "change"),
    ],
)
def test_a_question_is_answered_where_the_thing_is_defined_documented_or_decided(query, best):
    relevance = alike(query)
    assert max(relevance, key=relevance.__getitem__) == best
    assert relevance["test"] < relevance[best]


def test_tests_come_after_the_thing_unless_the_question_speaks_of_tests():
    assert alike("redirects")["test"] < alike("redirects")["definition"]
    assert alike("which tests cover redirects?")["test"] == max(
        alike("which tests cover redirects?").values()
    )


@pytest.mark.parametrize(
    "path", [".github/workflows/build.yml", ".gitlab-ci.yml", "web/.pre-commit-config.yaml"]
)
def test_what_checks_a_project_is_asked_for_by_its_name_and_no_manual(path):
    """Seen 4: how to install a library was answered by what its robots do."""
    claims = {"dense": 0.8, "lexical": 0.8}
    checks = a_candidate(id="checks", kind="settings", metadata={"path": path}, claims=claims)
    readme = a_candidate(id="readme", kind="doc", metadata={"path": "README.md"}, claims=claims)
    weak = a_candidate(
        id="weak", kind="doc", metadata={"path": "a.md"}, claims={"dense": 0.1, "lexical": 0.0}
    )
    asked, told, _ = (f.relevance for f in fuse([checks, readme, weak], Fusion(), "how do I install it?"))
    assert asked < told
    asked, told, _ = (
        f.relevance for f in fuse([checks, readme, weak], Fusion(), "which workflow installs it?")
    )
    assert asked >= told


def test_what_is_no_repository_is_ranked_as_before():
    found = [a_candidate(kind="memory", claims={"dense": d, "lexical": d}) for d in (0.9, 0.5, 0.1)]
    query = "which function decides that?"
    assert fuse(found, Fusion(), query) == fuse(found, Fusion(fit=0.0), query)


def test_the_share_is_told_among_the_parts():
    found = [
        a_candidate(kind=kind, metadata={"path": "a.py"}, claims={"dense": 0.5, "lexical": score})
        for kind, score in (("code", 1.0), ("commit", 2.0))
    ]
    parts = [f.parts for f in fuse(found, Fusion(), "which function is it?")]
    assert parts[0]["fit"] == 1.0
    assert 0 < parts[1]["fit"] < 1


@pytest.mark.parametrize(
    ("kind", "path", "role"),
    [
        ("code", "src/a.go", Role.DEFINITION),
        ("code", "src/a_test.go", Role.TEST),
        ("code", "spec/models/user.rb", Role.TEST),
        ("code", "src/test/java/FooTest.java", Role.TEST),
        ("code", "src/contest.py", Role.DEFINITION),
        ("doc", "CHANGES.rst", Role.CHANGELOG),
        ("doc", "docs/changes-in-detail.md", Role.DOCUMENT),
        ("commit", "", Role.CHANGE),
        ("memory", "", Role.OTHER),
    ],
)
def test_a_role_is_told_by_kind_and_path(kind, path, role):
    assert role_of(Candidate(id="a", kind=kind, metadata={"path": path})) is role


def test_what_a_record_says_of_itself_goes_before_its_path():
    assert role_of(Candidate(id="a", kind="code", metadata={"path": "a.rs", "is_test": True})) is Role.TEST
    said = {"path": "tests/run.py", "is_test": False}
    assert role_of(Candidate(id="a", kind="code", metadata=said)) is Role.DEFINITION


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("what does Client.send do?", ("Client.send",)),
        ("who calls res.redirect()", ("res.redirect",)),
        ("what is --hidden for?", ("--hidden",)),
        ("fine-tuning of sqlite-utils", ()),
    ],
)
def test_names_are_read_as_people_write_them(query, names):
    assert aims_of(query).names == names


def test_a_name_lends_by_how_telling_it_is():
    shared = [Candidate(id=str(i), text="x", metadata={"title": "lib/view.js"}) for i in range(4)]
    common = [Candidate(id=f"c{i}", text="the Command runs", metadata={}) for i in range(4)]
    tells = telling_of([*shared, *common])
    assert tells(Name(words=("lib", "view", "js"))) == 0.25
    assert tells(Name(words=("Command",))) < 0.5


def test_a_symbol_with_its_path_beside_it_means_one_thing_however_often_it_is_spoken_of():
    function = Candidate(id="f", text="def send", metadata={"path": "lib/client.py", "symbol": "send"})
    spoken_of = [Candidate(id=f"c{i}", text="we send it again", metadata={}) for i in range(8)]
    (name,) = names_of(function.metadata)
    assert telling_of([function, *spoken_of])(name) == 1
    assert telling_of([function, *spoken_of], SPOKEN - 1)(name) < 0.1


@pytest.mark.parametrize("path", sorted(TRACES.glob("*.json")), ids=lambda path: path.stem)
def test_a_trace_from_before_a_setting_was_there_replays_to_the_same_bytes(path):
    """Promise 9, kept over versions."""
    trace = json.loads(path.read_text(encoding="utf-8"))
    trace = trace.get("trace", trace)
    context = Context.from_dict(trace)
    assert "fit" not in context.settings["fusion"]
    again = replay(context)
    assert again.text == context.text
    assert again.status == context.status
    assert again.warnings == context.warnings


def test_settings_that_a_trace_does_not_name_are_as_they_were():
    described = EngineConfig().described()
    del described["doubtful_below"]
    for name in ("fit", "telling", "newest"):
        del described["fusion"][name]
    config = EngineConfig.read(described)
    assert (config.fusion.fit, config.fusion.telling, config.fusion.newest) == (0.0, False, False)
    assert config.doubtful_below == 0


def a_trace(candidates, query, **fusion):
    """A trace as it was made by rules whose edition had no number yet."""
    engine = ContextEngine(sources=[ListSource(candidates)], fusion=fusion)
    context = engine.build(query).to_dict()
    del context["settings"]["fusion"]["edition"]
    return context


CI = [
    a_candidate(
        id="ci",
        text="install: pip",
        kind="settings",
        claims={"lexical": 2.0},
        metadata={"path": ".github/ci.yml"},
    ),
    a_candidate(id="doc", text="install it so", claims={"lexical": 1.9}, metadata={"path": "README.md"}),
    a_candidate(id="far", text="what else there is", claims={"lexical": 0.1}, metadata={"path": "far.md"}),
]


def test_a_trace_from_before_robots_were_told_from_readers_replays_to_the_same_bytes():
    """Promise 9: roles and the order of time are rules of an edition, which a trace keeps."""
    before = a_trace(CI, "how do I install it?", edition=1)
    del before["settings"]["fusion"]["member"]
    assert replay(before).text == before["text"]
    since = a_trace(CI, "how do I install it?", edition=2)
    assert replay(since).text == since["text"]
    assert since["text"] != before["text"]
