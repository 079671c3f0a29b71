"""What there is because there must be comes after what is asked for: representations, robots' commits."""

from __future__ import annotations

import pytest

from langchain_context_engine.ingest.reading import read_records
from langchain_context_engine.ingest.split import Splitter
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.asides import asides, boilerplate_of, is_robot
from langchain_context_engine.ranking.fusion import Fusion, fuse
from tests.builders import a_candidate

SOURCES = {
    "a.py": "class Berth:\n    def __repr__(self):\n        return f'Berth({self.name})'\n\n"
    "    def __eq__(self, other):\n        return self.name == other.name\n\n"
    "    def pay(self):\n        return self.length * 10\n",
    "a.java": 'class Berth {\n  @Override public String toString() { return "Berth " + name; }\n'
    "  @Override public int hashCode() { return name.hashCode(); }\n"
    "  public int pay() { return length * 10; }\n}\n",
    "a.cs": 'class Berth {\n  public override string ToString() { return "Berth " + Name; }\n'
    "  public override int GetHashCode() => Name.GetHashCode();\n  public int Pay() { return 10; }\n}\n",
    "a.rb": 'class Berth\n  def to_s\n    "Berth #{@name}"\n  end\n\n'
    "  def ==(other)\n    @name == other.name\n  end\n\n  def pay\n    @length * 10\n  end\nend\n",
    "a.rs": "impl fmt::Display for Berth {\n    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {\n"
    '        write!(f, "Berth {}", self.name)\n    }\n}\n'
    "impl PartialEq for Berth {\n    fn eq(&self, o: &Self) -> bool { self.name == o.name }\n}\n"
    "impl Berth {\n    pub fn pay(&self) -> u32 { self.length * 10 }\n}\n",
    "a.go": 'package a\n\nfunc (b Berth) String() string { return "Berth " + b.Name }\n\n'
    "func (b Berth) Pay() int { return b.Length * 10 }\n",
    "a.js": "class Berth {\n  toString() { return `Berth ${this.name}` }\n"
    "  [util.inspect.custom]() { return this.toString() }\n  pay() { return this.length * 10 }\n}\n",
    "a.swift": "struct Berth {\n  static func == (a: Berth, b: Berth) -> Bool { a.name == b.name }\n"
    "  func hash(into hasher: inout Hasher) { hasher.combine(name) }\n  func pay() -> Int { length * 10 }\n}\n",
    "a.cpp": "struct Berth {\n  bool operator==(const Berth& o) const { return name == o.name; }\n"
    "  int pay() const { return length * 10; }\n};\n"
    'std::ostream& operator<<(std::ostream& os, const Berth& b) { return os << "Berth " << b.name; }\n',
}


def members(path):
    read = read_records(path, SOURCES[path].encode(), splitter=Splitter(chunk_size=60))
    return [Candidate(id=r.id, text=r.text, kind="code", metadata=r.metadata) for r in read.records]


@pytest.mark.parametrize("path", SOURCES)
def test_how_a_thing_is_printed_or_compared_is_told_from_what_it_does_in_every_language(path):
    told = {c.metadata["symbol"]: boilerplate_of(c) for c in members(path) if "." in c.metadata["symbol"]}
    assert {group for name, group in told.items() if "pay" not in name.lower()} <= {"print", "compare"}
    assert [group for name, group in told.items() if "pay" in name.lower()] == [None]
    assert len(told) > 1


def test_a_function_of_its_own_and_a_method_that_does_something_are_no_boilerplate():
    for path, symbol in (("a.py", "inspect"), ("a.rb", "hash"), ("a.py", "Repo.clone"), ("a.js", "fmt")):
        assert boilerplate_of(a_candidate(metadata={"path": path, "symbol": symbol})) is None


CLAIMS = {"dense": 0.8, "lexical": 4.0}


def alike(query, *metadata):
    found = [
        a_candidate(id=str(i), text=f"text {i}", claims=CLAIMS, **each) for i, each in enumerate(metadata)
    ]
    weak = a_candidate(id="weak", text="weak", kind="code", claims={"dense": 0.1, "lexical": 0.0})
    return [f.relevance for f in fuse([*found, weak], Fusion(), query)][:-1]


PRINTED = {"kind": "code", "metadata": {"path": "src/berth.py", "symbol": "Berth.__repr__"}}
PAID = {"kind": "code", "metadata": {"path": "src/berth.py", "symbol": "Berth.pay"}}


@pytest.mark.parametrize(
    "query", ["what does a Berth cost", "Berth", "where does Berth take its price from?"]
)
def test_what_a_class_does_comes_before_how_it_is_printed(query):
    printed, paid = alike(query, PRINTED, PAID)
    assert printed < paid / 2


@pytest.mark.parametrize("query", ["how is a Berth printed?", "Berth.__repr__", "what does str(berth) give"])
def test_how_a_class_is_printed_is_found_by_those_who_ask_for_it(query):
    assert asides([a_candidate(**PRINTED)], query) == [1.0]


def a_commit(author):
    return {"kind": "commit", "metadata": {"author": author, "sha": "0" * 40}}


@pytest.mark.parametrize(
    "author",
    ["dependabot[bot]", "renovate[bot]", "pre-commit-ci[bot]", "github-actions[bot]", "Renovate Bot"],
)
def test_what_a_robot_committed_comes_after_what_people_did(author):
    robot, person = alike("why was the upload of artifacts changed?", a_commit(author), a_commit("Ana"))
    assert robot < person / 2


@pytest.mark.parametrize(
    "query",
    ["What changed most recently?", "when was urllib3 bumped?", "what did dependabot do", "pre-commit hooks"],
)
def test_a_question_of_the_newest_or_of_what_robots_do_is_answered_by_them_too(query):
    assert asides([a_candidate(**a_commit("dependabot[bot]"))], query) == [1.0]


@pytest.mark.parametrize(
    "author", ["Ana Abbott", "Copilot", "claude[bot]", "Bors", "Robert Botha", "", None, 7]
)
def test_people_and_agents_that_write_programs_are_no_robots_that_keep_house(author):
    assert not is_robot(a_candidate(**a_commit(author)))


def test_a_trace_of_the_rules_before_knows_no_asides():
    """Promise 9."""
    found = [a_candidate(id=str(i), text=f"t {i}", claims=CLAIMS, **e) for i, e in enumerate((PRINTED, PAID))]
    weak = a_candidate(id="weak", text="weak", kind="code", claims={"dense": 0.1, "lexical": 0.0})
    before = [f.relevance for f in fuse([*found, weak], Fusion(edition=4), "what does a Berth cost")]
    assert before[0] == before[1]


OUTLINE = "class Harbor:\n    boats: list\n\n    def moor(self) ...\n\n    def pay(self) ...\n\n    def leave(self) ..."


@pytest.mark.parametrize(
    ("query", "suits"),
    [
        ("how is it decided which boat comes first?", 0.8),
        ("which code takes the money?", 0.8),
        ("who of the harbor decides what is paid, where is it computed?", 0.8),
        ("how does the Harbor work?", 1.0),
        ("which methods are there for what is moored?", 1.0),
        ("what does a berth cost?", 1.0),
    ],
)
def test_a_class_without_the_bodies_of_its_members_says_little_of_how_unless_it_is_named(query, suits):
    outline = a_candidate(kind="code", text=OUTLINE, metadata={"path": "a.py", "symbol": "town.Harbor"})
    method = a_candidate(
        kind="code", text="def pay(self): ...", metadata={"path": "a.py", "symbol": "Harbor.pay"}
    )
    assert asides([outline, method], query) == [suits, 1.0]
    assert asides([outline, method], query, 5) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("path", "kind", "is_theirs"),
    [
        ("third_party/zlib/inflate.c", "code", True),
        ("vendor/golang.org/x/net/http.go", "code", True),
        ("web/node_modules/left-pad/index.js", "code", True),
        ("native_client/openfst-1.6.7/src/fst.cc", "code", True),
        ("external/boost/any.hpp", "code", True),
        ("docs/manual-1.6/usage.md", "doc", False),  # of each version a manual: the project's own
        ("src/external/login.py", "code", False),
        ("src/vendors.py", "code", False),
        ("v1.5/main.go", "code", False),
    ],
)
def test_what_others_wrote_and_is_kept_beside_the_projects_own_comes_after_it(path, kind, is_theirs):
    """Coqui's STT: 22,000 of 26,000 records of code were those of OpenFST and others."""
    candidate = a_candidate(
        id="a", text="int inflate(void) { return 0; }", kind=kind, metadata={"path": path}
    )
    assert asides([candidate], "how is a stream read?") == [0.5 if is_theirs else 1.0]
    assert asides([candidate], "how is a stream read?", edition=6) == [1.0]
    assert asides([candidate], f"how does {path.rpartition('/')[0]} read a stream?") == [1.0]
