"""What a record is called: its symbol, headings, title and file, or a commit's subject.

People ask for a thing by the words of its name, in any order and spelling ("smart case" for
`is_case_smart`); a record that bears them in its name is about them, one that holds them somewhere
mentions them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from langchain_context_engine.models.types import Candidate
from langchain_context_engine.text.analysis import find_terms, idf_of, numbers_in

_NAMES = ("symbol", "headings", "title", "path")


def name_shares(candidates: Sequence[Candidate], wanted: tuple[int, ...]) -> list[float]:
    """Return how much of a question the name of each record holds, 0–1.

    Args:
        candidates: The records.
        wanted: The numbers of the question's terms; one that is rare in the records' texts counts more.
    """
    idf = idf_of([find_terms(candidate.text, wanted) for candidate in candidates], len(wanted))
    total = math.fsum(idf) or 1.0
    worth = dict(zip(wanted, idf, strict=True))
    names = (numbers_in(name_of(candidate)) for candidate in candidates)
    return [math.fsum(map(worth.__getitem__, name & worth.keys())) / total for name in names]


def name_of(candidate: Candidate) -> str:
    r"""Return what a record is called, the parts of a path as words; "" where nothing says it.

    Example:
        >>> name_of(Candidate(id="a", kind="code", metadata={"path": "src/tea.py", "symbol": "Tea.brew"}))
        'Tea.brew. src tea.py'
        >>> name_of(Candidate(id="b", kind="commit", text="Brew longer\n\nIt was weak."))
        'Brew longer'
    """
    if candidate.kind == "commit":
        return candidate.text.lstrip().partition("\n")[0]
    if not candidate.metadata.get("path"):
        # The title of an article is its heading in all its pieces: it tells none of them from the others.
        return ""
    said = (candidate.metadata.get(key) for key in _NAMES)
    return ". ".join(str(part) for part in said if part).replace("/", " ")
