"""Getting data in: from a git repository, a folder, a file or JSON Lines to Chroma collections.

Runs repeat well: ids are hashes of content, a second run writes nothing, a changed file costs only
its changed pieces, a killed run is completed by the next. Nothing here asks a question. Begin with
`index.py`; `reading.py` names the formats, `readers/` reads them, `git_*.py` read a repository.
"""

from __future__ import annotations

from langchain_context_engine.ingest.index import index_file, index_folder, index_jsonl, index_repository
from langchain_context_engine.ingest.report import CollectionReport, IndexReport, Skipped
from langchain_context_engine.ingest.split import Splitter
from langchain_context_engine.ingest.writer import delete_collection

__all__ = [
    "CollectionReport",
    "IndexReport",
    "Skipped",
    "Splitter",
    "delete_collection",
    "index_file",
    "index_folder",
    "index_jsonl",
    "index_repository",
]
