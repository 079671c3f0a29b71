"""What a question is after: the thing itself, how it is used, why it became so, its tests.

Read from its words, in English here, in other languages by `tongues.py`; a question that gives no sign
aims at nothing in particular. One question may have several aims.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from langchain_context_engine.ranking.editions import EDITION, SPOKEN
from langchain_context_engine.ranking.wording import AIMS, says
from langchain_context_engine.text.memo import remember

_CODE = re.compile(
    r"\b(?:which|what|whose)\s+(?:\w+\s+)?"
    r"(?:code|function|method|class|constant|module|file|piece|struct|macro|part)\b"
    r"|\b(?:in|of)\s+the\s+(?:\w+\s+)?(?:code|source|implementation)\b|\b(?:code|source)\s*base\b|\bimplement\w*\b"
    r"|\bwhere\s+(?:in|is|are|does|do|was|it|that|the)\b"
    r"|\bwhere\b.{1,60}\b(?:raised|thrown|decided|computed|checked|handled|called|built|created|set)\b"
    r"|\bhow\s+(?:does|is|are|do\s+(?:they|we|you\s+detect)|did)\b|\bwhat\s+happens\s+(?:if|when)\b"
    r"|\b(?:algorithm|internally|under\s+the\s+hood|decides?|lookup\s+in\s+code|data\s+structure)\b"
    r"|\bwho\s+(?:calls|returns|raises|throws|sets|uses|owns|closes)\b|\bdoes\s+the\s+code\b",
    re.IGNORECASE,
)
_USE = re.compile(
    r"\bhow\s+(?:can|do|could|should|would)\s+(?:i|we|you|one)\b|\bhow\s+to\b|\bhow\s*\?"
    r"|\b(?:can|could|may|should)\s+(?:i|we|it|you|one)\b|\bis\s+there\s+(?:a|an|any)\b"
    r"|\b(?:docs?|documentation|documented?|documents|readme|guide|manual|tutorial|faq)\b"
    r"|\b(?:steps|instructions|command|quickest\s+way|recommended)\b"
    r"|\b(?:install|set\s*up|configure|configuration|enable|disable)\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:i\s+(?:want|need|would\s+like)|my)\b", re.IGNORECASE)
_HISTORY = re.compile(
    r"\bwhy\s+(?:was|were|did|do|does|is|are|the|has|have|not)\b|^\s*why\b|,\s*why\b|\.\s*why\b"
    r"|\b(?:commit(?:s|ted)?|pull\s+request|prs?|changelog|release\s+notes|merged?|revert\w*)\b"
    r"|\b(?:regres\w*|blame|history)\b"
    r"|\b(?:rationale|motivation|motivated|reason(?:s|ing)?\s+(?:for|behind|why)|justif\w+)\b|\bwhen\s+(?:was|were|did)\b"
    r"|\b(?:used\s+to|no\s+longer|any\s*more|anymore|(?:got\s+)?(?:taken|pulled)\s+back|given\s+up)\b"
    r"|\b(?:dropped|removed|deprecated|introduced|switch(?:ed)?\s+to)\b"
    r"|\b(?:changed?|changes)\b|\bwhat\s+did\s+the\s+commit\b",
    re.IGNORECASE,
)
_COMMITS = re.compile(
    r"\b(?:which|what)\s+(?:\w+\s+)?(?:commits?|pull\s+requests?|prs?|patch|merge)\b"
    r"|\bcommit\s+(?:message|say|says|said|that|which|where|was|did|fixed|introduced|added|removed)\b",
    re.IGNORECASE,
)
_PRESENT = re.compile(
    r"\blooks?\s+(?:like\s+)?(?:now(?:adays)?|today|currently|at\s+present|these\s+days)\b"
    r"|\b(?:now|currently|today)\s+looks?\s+like\b",
    re.IGNORECASE,
)
_TESTS = re.compile(
    r"\b(?:tests?|tested|testing|testcases?|unittests?|pytest|fixtures?|mock\w*|coverage|benchmarks?|specs?)\b",
    re.IGNORECASE,
)
_CHECKS = re.compile(r"\b(?:ci|workflows?|pipelines?|github\s+actions?|runners?|lint\w*)\b", re.IGNORECASE)
_NAME = re.compile(
    r"(?<![\w-])--?[A-Za-z][\w-]*(?![\w-])"
    r"|(?<![\w.])[A-Za-z_]\w*+(?:(?:\.|::|#|->)[A-Za-z_]\w*+)+(?:\(\))?"
    r"|\b(?=\w*(?:_\w|[a-z]\d{0,9}[A-Z]))\w++(?:\(\))?|\b[A-Za-z_]\w*+\(\)"
)
_QUOTED = re.compile(r"[`'\"]([^`'\"\s]{2,80})[`'\"]")


@dataclass(frozen=True, slots=True)
class Aims:
    """What a question is after.

    Attributes:
        code: The implementation: where, how, by which piece.
        use: How something is used: what documentation tells.
        history: Why and when something became so: commits, changelogs.
        tests: Tests.
        checks: What else checks a project: CI.
        commits: Which commit or pull request it was.
        present: What something looks like now, whatever became of it.
        names: Names of things in it: `Client.send`, `max_age`, `--hidden`.
    """

    code: bool = False
    use: bool = False
    history: bool = False
    tests: bool = False
    checks: bool = False
    commits: bool = False
    present: bool = False
    names: tuple[str, ...] = ()


@remember(2**20)
def aims_of(query: str, edition: int = EDITION) -> Aims:
    """Return what a question is after.

    Args:
        query: The question.
        edition: Of the rules, see `editions.py`; before the eighth only English tells.

    Example:
        >>> aims_of("which function decides that?").code, aims_of("why was it removed?").history
        (True, True)
        >>> aims_of("what does Client.send do with --hidden?").names
        ('Client.send', '--hidden')
    """
    names = [name.removesuffix("()") for name in (*_NAME.findall(query), *_QUOTED.findall(query))]
    told = {aim: edition >= SPOKEN and says(query, aim) for aim in AIMS}
    code = told["code"] or bool(_CODE.search(query))
    return Aims(
        code=code,
        use=told["use"] or bool(_USE.search(query)) or (not code and bool(_OWN.search(query))),
        history=told["history"] or bool(_HISTORY.search(query)),
        tests=told["tests"] or bool(_TESTS.search(query)),
        checks=bool(_CHECKS.search(query)),
        commits=told["commits"] or bool(_COMMITS.search(query)),
        present=bool(_PRESENT.search(query)),
        names=tuple(dict.fromkeys(names)),
    )
