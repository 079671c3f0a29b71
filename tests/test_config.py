"""Settings in a file: what is written is read back, and a wrong one says what is wrong."""

from __future__ import annotations

import pytest

from inspector.knobs import as_json
from langchain_context_engine import Budget, ContextEngine, replay
from langchain_context_engine.config import read_settings
from langchain_context_engine.errors import ConfigError
from tests.builders import ListSource, a_candidate

CHANGES = [
    {"budget": 900},
    {"budget": Budget(tokens=900, reserve=20, shares={"notes": 2, "code": 1}, item_cap=0.5)},
    {"weights": {"relevance": 0.7, "recency": 0.3}, "dedupe_threshold": None, "min_score": 0.2, "k": 4},
    {"k": None, "truncator": "none", "order": "edges"},
]


@pytest.mark.parametrize("changed", CHANGES)
def test_what_is_written_is_read_back(tmp_path, changed):
    path = tmp_path / "a.json"
    path.write_text(as_json(changed), encoding="utf-8")
    read = read_settings(path)
    expected = {key: value for key, value in changed.items() if key != "k"}
    if isinstance(expected.get("budget"), int):
        expected["budget"] = Budget(tokens=expected["budget"])
    assert dict(read.settings) == expected
    assert dict(read.request) == ({"k": changed["k"]} if "k" in changed else {})


@pytest.mark.parametrize("changed", CHANGES)
def test_what_is_written_gives_what_a_replay_gives(tmp_path, changed):
    found = [a_candidate(id=f"n{i}", text=f"note {i} on rope", relevance=1 - i / 9) for i in range(5)]
    engine = ContextEngine([ListSource(found)], budget=40)
    before = engine.build("rope", now="2026-01-01")
    (tmp_path / "a.json").write_text(as_json(changed), encoding="utf-8")
    read = read_settings(tmp_path / "a.json")
    asked = {"k": before.request.k, **read.request}
    after = engine.with_settings(**read.settings).build("rope", now="2026-01-01", **asked)
    assert after.text == replay(before, **changed).text


def test_an_engine_is_made_from_a_file(tmp_path):
    path = tmp_path / "engine.toml"
    path.write_text('budget = 77\nmin_score = "null"\n[weights]\nrelevance = 1.0\nrecency = 1.0\n')
    engine = ContextEngine.from_file(path, [ListSource([a_candidate()])], template="chat")
    assert engine.config.budget.tokens == 77
    assert engine.config.weights == {"relevance": 1.0, "recency": 1.0}
    assert engine.config.template == "chat"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("budget = ", "TOML"),
        ("bugdet = 5", "bugdet"),
        ("budget = -5", "budget"),
        ("[request]\nquery = 'x'", "request"),
    ],
)
def test_a_wrong_file_names_itself_and_what_is_wrong(tmp_path, text, said):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said) as error:
        read_settings(path)
    assert "wrong.toml" in str(error.value)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        read_settings(tmp_path / "none.toml")
