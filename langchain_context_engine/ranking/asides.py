"""What there is because there must be: how a class is printed or compared, a robot's commits, vendored code.

Such records are short and bear the name of a thing, or there are masses of them, so that they come first
where anything is asked of it, and answer hardly anything. They count less unless the question speaks of what
they are for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.aims import aims_of
from langchain_context_engine.ranking.editions import EDITION, ROWS, WHOLE
from langchain_context_engine.ranking.newest import newest_of
from langchain_context_engine.ranking.roles import PATHS_BYTES
from langchain_context_engine.text.memo import remember
from langchain_context_engine.text.words import query_terms, terms

ASIDE = 0.5
"""How well such a record suits a question that does not speak of what it is for."""

OUTLINE = 0.8
"""How well a class without the bodies of its members suits a question about how something is done."""

_ELIDED = re.compile(r"\S \.\.\.[ \t\r]*$", re.MULTILINE)
_LEAST_ELIDED = 3
_VENDORED = re.compile(
    r"(?:^|/)(?:third[-_]?party|3rd[-_]?party|_?vendor(?:ed|s)?|node_modules|bower_components|godeps"
    r"|site-packages)/|^(?:externals?|extern|deps|pods|carthage)/",
    re.IGNORECASE,
)
_NAMED_WITH_VERSION = re.compile(r"(?:^|/)[A-Za-z][\w-]{0,60}-\d{1,9}\.\d{1,9}(?:\.\d{1,9})?/")
"""Folders of what others wrote, kept beside the project's own; of code one named with its version is such."""

_WORD = re.compile(r"\w+")
_OUTLINED = frozenset(
    terms(
        "class classes struct structs interface trait traits member members method methods field fields"
        " attribute attributes property properties api overview structure enum module outline"
    )
)

_PRINTED = frozenset(
    terms(
        "repr representation str string strings stringify print prints printed printing display displays"
        " displayed shown debug debugging format formats formatted formatting text written rendered"
        " serialize serialized inspect dump look looks message output fmt to_s description described"
    )
)
_COMPARED = frozenset(
    terms(
        "equal equals equality eq compare compares compared comparison comparing same identical hash hashed"
        " hashes hashable hashing hashcode order ordered ordering sort sorted sorting clone cloned copy"
        " copied deepcopy duplicate distinct unique cmp ne lt le gt ge eql"
    )
)
_ROBOTS = frozenset(
    terms(
        "bot bots robot robots automated automatic dependabot renovate renovatebot greenkeeper pyup snyk"
        " autoupdate bump bumps bumped bumping dependency dependencies upgrade upgrades upgraded upgrading"
        " update updates updated updating version versions pin pins pinned pinning lockfile requirement"
        " requirements translation translations translated contributors sponsors badge badges"
    )
)
"""Of what robots commit, in the words of those who ask for it."""

_PRINTS = "print"
_COMPARES = "compare"
_PYTHON = {
    _PRINTS: "__repr__ __str__ __format__ __rich_repr__ __repr_args__ __unicode__ _repr_pretty_",
    _COMPARES: "__eq__ __ne__ __hash__ __lt__ __le__ __gt__ __ge__ __copy__ __deepcopy__",
}
_JAVA = {_PRINTS: "toString", _COMPARES: "equals hashCode compareTo canEqual"}
_C_SHARP = {
    _PRINTS: "ToString",
    _COMPARES: "Equals GetHashCode CompareTo operator== operator!= ==",
}
_RUBY = {_PRINTS: "to_s inspect pretty_print", _COMPARES: "== eql? equal? hash <=>"}
_SCRIPT = {_PRINTS: "toString [util.inspect.custom] [Symbol.toStringTag] [inspect]", _COMPARES: ""}
_RUST = {_PRINTS: "fmt", _COMPARES: "eq ne hash clone cmp partial_cmp"}
_SWIFT = {_PRINTS: "description debugDescription", _COMPARES: "== != < hash hashValue isEqual"}
_C_PLUS_PLUS = {_PRINTS: "operator<<", _COMPARES: "operator== operator!= operator< operator<=>"}
_MEMBERS: Mapping[str, Mapping[str, str]] = {
    ".py": _PYTHON, ".pyi": _PYTHON,
    ".java": _JAVA, ".kt": _JAVA, ".kts": _JAVA, ".scala": _JAVA, ".groovy": _JAVA,
    ".cs": _C_SHARP,
    ".rb": _RUBY,
    ".js": _SCRIPT, ".mjs": _SCRIPT, ".cjs": _SCRIPT, ".jsx": _SCRIPT, ".ts": _SCRIPT, ".tsx": _SCRIPT,
    ".go": {_PRINTS: "String GoString", _COMPARES: ""},
    ".rs": _RUST,
    ".swift": _SWIFT,
    ".cpp": _C_PLUS_PLUS, ".cc": _C_PLUS_PLUS, ".cxx": _C_PLUS_PLUS, ".hpp": _C_PLUS_PLUS, ".h": _C_PLUS_PLUS,
    ".php": {_PRINTS: "__toString __debugInfo", _COMPARES: ""},
    ".ex": {_PRINTS: "Chars to_string inspect", _COMPARES: ""},
}  # fmt: skip
"""Suffix → group → the names of members that any class may have, whatever it is about."""

_GROUPS: Mapping[str, Mapping[str, str]] = {
    suffix: {name: group for group, names in groups.items() for name in names.split()}
    for suffix, groups in _MEMBERS.items()
}
_WORDS_OF = {_PRINTS: _PRINTED, _COMPARES: _COMPARED}
_RUST_IMPL = re.compile(
    r"\s*impl\b[^{;]{0,200}?\b(?:(Display|Debug)|(PartialEq|Eq|Hash|Clone|PartialOrd|Ord))\s+for\s"
)
_ROBOT = re.compile(
    r"\b(?:dependabot(?:-preview)?|renovate(?:-?bot)?|greenkeeper\w*|greenkeeperio-bot|pre-commit-ci(?:-lite)?"
    r"|github-actions?|pyup-bot|pyup\.io\s+bot|snyk-bot|snyk-io|imgbot\w*|all-?contributors|mergify"
    r"|codecov|scala-steward|depfu|deepsource-autofix|restyled-io|semantic-release-bot|release-please"
    r"|(?:hosted\s+)?weblate|transifex(?:-integration)?|crowdin(?:-bot)?)\b|\bpre-commit\b",
    re.IGNORECASE,
)
"""Authors that keep house, and names that those who ask for them use; what an agent commits that writes
programs is a change like any other."""


def asides(candidates: Sequence[Candidate], query: str, edition: int = EDITION) -> list[float]:
    """Return how well each candidate suits a question in that it is no aside: 1, `OUTLINE` or `ASIDE`.

    Args:
        candidates: The pool.
        query: The question: what it speaks of is no aside, nor are robots' commits where the newest is asked.
        edition: Of the rules, see `editions.py`.

    Example:
        >>> printed = Candidate(
        ...     id="a", kind="code", metadata={"path": "a.py", "symbol": "Berth.__repr__"}
        ... )
        >>> asides([printed], "what does a berth cost?"), asides([printed], "how is a berth printed?")
        ([0.5], [1.0])
    """
    asked = frozenset(query_terms(query))
    robots_count = (
        newest_of(query, edition) is not None
        or not asked.isdisjoint(_ROBOTS)
        or _ROBOT.search(query) is not None
    )
    knows_vendored = edition >= WHOLE
    less = [
        ASIDE
        if _is_aside(candidate, asked, robots_count=robots_count)
        or (knows_vendored and is_vendored(candidate, asked))
        else 1.0
        for candidate in candidates
    ]
    if edition >= ROWS and aims_of(query, edition).code and asked.isdisjoint(_OUTLINED):
        pairs = zip(candidates, less, strict=True)
        named = frozenset(_WORD.findall(query))
        less = [OUTLINE * suits if _is_outline(candidate, named) else suits for candidate, suits in pairs]
    return less


def _is_outline(candidate: Candidate, named: frozenset[str]) -> bool:
    """Return whether a record lists what a class has, whose name the question does not say as it is spelt."""
    symbol = candidate.metadata.get("symbol")
    if candidate.kind != "code" or not isinstance(symbol, str):
        return False
    return _elides(candidate.text) and symbol.rpartition(".")[2] not in named


@remember(2**22)
def _elides(text: str) -> bool:
    """Return whether a text leaves several bodies out."""
    return len(_ELIDED.findall(text)) >= _LEAST_ELIDED


def _is_aside(candidate: Candidate, asked: frozenset[str], *, robots_count: bool) -> bool:
    if candidate.kind == "commit":
        return not robots_count and is_robot(candidate)
    group = boilerplate_of(candidate)
    return group is not None and asked.isdisjoint(_WORDS_OF[group])


def is_vendored(candidate: Candidate, asked: frozenset[str]) -> bool:
    """Return whether a file is somebody else's, kept with the project; not where its folder is asked for.

    Example:
        >>> tea = Candidate(id="a", kind="code", metadata={"path": "third_party/kettle-1.2.0/boil.c"})
        >>> is_vendored(tea, frozenset(["boil"])), is_vendored(tea, frozenset(["kettl"]))
        (True, False)
    """
    path = candidate.metadata.get("path")
    if not isinstance(path, str):
        return False
    return _is_of_others(path, candidate.kind == "code") and asked.isdisjoint(terms(path.rpartition("/")[0]))


@remember(PATHS_BYTES)
def _is_of_others(path: str, is_code: bool) -> bool:
    return bool(_VENDORED.search(path) or (is_code and _NAMED_WITH_VERSION.search(path)))


def is_robot(candidate: Candidate) -> bool:
    """Return whether a commit was made by a robot that keeps house."""
    author = candidate.metadata.get("author")
    return isinstance(author, str) and _ROBOT.search(author[:200]) is not None


def boilerplate_of(candidate: Candidate) -> str | None:
    """Return what a member that any class may have is for, "print" or "compare"; None: it is none.

    Example:
        >>> boilerplate_of(Candidate(id="a", metadata={"path": "a.go", "symbol": "Berth.String"}))
        'print'
        >>> boilerplate_of(Candidate(id="a", metadata={"path": "a.py", "symbol": "Repository.clone"}))
    """
    path, symbol = candidate.metadata.get("path"), candidate.metadata.get("symbol")
    if not isinstance(path, str) or not isinstance(symbol, str):
        return None
    suffix = _suffix(path)
    known = _GROUPS.get(suffix, {})
    if group := known.get(_member(symbol)):
        return group
    if suffix == ".rs" and (found := _RUST_IMPL.match(candidate.text)):
        return _PRINTS if found[1] else _COMPARES
    return None


@remember(PATHS_BYTES)
def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.lower()


def _member(symbol: str) -> str:
    """Return the last part of a symbol; a function of its own is no member, but for an operator."""
    if symbol.endswith("]"):
        return symbol[symbol.find("[") :]
    owner, _, member = symbol.rpartition(".")
    return member if owner or symbol.startswith("operator") else ""
