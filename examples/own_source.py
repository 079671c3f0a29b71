"""A source of one's own: anything with a name and `fetch(request)`. Here the files of a folder.

python examples/own_source.py [FOLDER] [QUESTION]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from langchain_context_engine import Candidate, ContextEngine, ContextRequest
from langchain_context_engine.text.words import terms


@dataclass(frozen=True)
class FolderSource:
    """Python files, each as relevant as the share of the question's terms that it has."""

    folder: Path
    name: str = "files"

    def fetch(self, request: ContextRequest) -> list[Candidate]:
        """Return the files that have a term of the question, the best first."""
        wanted = set(terms(request.query))
        found = []
        for path in sorted(self.folder.glob("*.py")):
            text = path.read_text(encoding="utf-8")
            share = len(wanted & set(terms(text))) / max(1, len(wanted))
            if share:
                found.append(Candidate(id=path.name, text=text, relevance=share, kind="code"))
        return sorted(found, key=lambda candidate: -candidate.relevance)[: request.limit]


def main(folder: str = str(Path(__file__).parent), question: str = "a chain with a fake model") -> None:
    engine = ContextEngine(sources=[FolderSource(Path(folder))], budget=300)
    context = engine.build(question)
    print(context.text, context.explain(), sep="\n\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
