"""What a question asks about, without the words that make it a question: `how many`, `is it possible to`.

Those stand in no text that answers it: counted as missing they would raise doubt of a good answer.
"""

from __future__ import annotations

import re

from langchain_context_engine.ranking.editions import EDITION, SPOKEN
from langchain_context_engine.text.endings import without_endings
from langchain_context_engine.text.memo import remember
from langchain_context_engine.text.words import query_terms

_FRAME = re.compile(
    r"\bhow\s+(?:many|much|often|frequently|long|far|old|big|large|fast|slow|soon|likely|exactly|come|else)\b"
    r"|\b(?:what|which)\s+(?:kinds?|sorts?|types?|versions?|ways?|places?|parts?|pieces?)(?:\s+of)?\b"
    r"|\b(?:what(?:\s+is|'s|’s)\s+)?the\s+(?:best|right|easiest|quickest|simplest|usual|recommended)\s+way\b"
    r"|\bwhat\s+happens\b|\b(?:is|are|was|were|would)\s+(?:it|that|this|there)\s+(?:even\s+)?"
    r"(?:possible|allowed|necessary|(?:a|any|some|another|no)\s+(?:way|possibility|chance|reason|means))\b"
    r"|\bhow\s+(?:is|are)\s+it\s+possible\b"
    r"|\b(?:tell|show|explain)\s+(?:me|us|to\s+me)\b|\b(?:can|could|would)\s+you\s+(?:tell|explain|show)\b"
    r"|\bplease\b|\bdo\s+you\s+know\b|\bi(?:'d|’d|\s+would)\s+like\s+to\s+know\b|\bi\s+(?:wonder|am\s+wondering)\b",
    re.IGNORECASE,
)


@remember(2**20, a_character=12)
def asked_terms(query: str, edition: int = EDITION) -> tuple[str, ...]:
    """Return the terms of a question but for those that only ask, each once, in order.

    A question of nothing else keeps them: whoever asks "which version?" asks for a version.

    Args:
        query: The question.
        edition: Of the rules, see `editions.py`; before the eighth only English has words that only ask.

    Example:
        >>> asked_terms("how many retries does the client make?"), asked_terms("Which version?")
        (('retri', 'client', 'make'), ('version',))
    """
    asking = _FRAME.sub(" ", query)
    about = query_terms(without_endings(asking)) if edition >= SPOKEN else ()
    return tuple(about or query_terms(asking) or query_terms(query))
