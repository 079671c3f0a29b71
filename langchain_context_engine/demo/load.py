"""Building the demo's collections: bundled memories, chat and experiences, and a git repository."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from langchain_context_engine.demo.repository import create_demo_repository
from langchain_context_engine.ingest import IndexReport, delete_collection, index_jsonl, index_repository
from langchain_context_engine.ingest.report import OnProgress

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

    from langchain_context_engine.embeddings.local import LocalEmbeddings

WORKSPACE_ID = "harbor"
"""The workspace that the demo asks in; the bundled data has another one, which must never show."""

_KINDS = {"memories": "memory", "chat": "message", "experiences": "experience"}
_REPOSITORY_COLLECTIONS = ("code", "commits", "docs")
_MAX_COMMITS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoCollections:
    """What the demo asks.

    Attributes:
        client: The persistent client that holds the collections.
        embeddings: What they were embedded with.
        repository: The repository that was indexed.
        memories: Facts, decisions and incidents, `kind` memory.
        chat: Turns of conversations, `kind` message.
        experiences: What was tried and how it went, `kind` experience.
        code: Functions and classes of the repository.
        commits: Its commits.
        docs: Its documents.
        report: What building them wrote.
    """

    client: ClientAPI
    embeddings: LocalEmbeddings
    repository: Path
    memories: Collection
    chat: Collection
    experiences: Collection
    code: Collection
    commits: Collection
    docs: Collection
    report: IndexReport


def require_demo() -> None:
    """Refuse where the demo cannot run.

    Raises:
        ConfigError: The extra `local` is missing; the message says what to install.
    """
    from langchain_context_engine.embeddings.local import LocalEmbeddings

    LocalEmbeddings()


def load_demo(
    directory: str | Path, repository: str | Path | None = None, on_progress: OnProgress | None = None
) -> DemoCollections:
    """Build the demo's persistent Chroma collections, or bring them up to date, without a network.

    Every record carries `workspace_id`; the repository's records belong to "harbor".

    Args:
        directory: Where the store goes, in its subfolder `chroma`.
        repository: The git repository to index; None is the bundled one, made in `directory`.
        on_progress: Called with (done, total, label).

    Raises:
        ConfigError: The extra `local` is missing, or there is no such folder.
    """
    import chromadb

    from langchain_context_engine.embeddings.local import LocalEmbeddings

    home = Path(directory)
    home.mkdir(parents=True, exist_ok=True)
    root = create_demo_repository(home / "harbor") if repository is None else Path(repository)
    root = root.resolve()
    client = chromadb.PersistentClient(path=str(home / "chroma"))
    embeddings = LocalEmbeddings()
    reports = []
    data = files("langchain_context_engine.demo").joinpath("data")
    for name, kind in _KINDS.items():
        with as_file(data.joinpath(f"{name}.jsonl")) as path:
            reports.append(
                index_jsonl(
                    path,
                    name,
                    client,
                    embeddings,
                    metadata={"kind": kind},
                    delete_missing=True,
                    on_progress=on_progress,
                )
            )
    _forget_other_repository(client, root)
    reports.append(
        index_repository(
            root,
            client,
            embeddings,
            prefix="",
            max_commits=_MAX_COMMITS,
            metadata={"workspace_id": WORKSPACE_ID},
            on_progress=on_progress,
        )
    )
    collections = {
        name: client.get_or_create_collection(name, embedding_function=None)
        for name in (*_KINDS, *_REPOSITORY_COLLECTIONS)
    }
    return DemoCollections(
        client=client,
        embeddings=embeddings,
        repository=root,
        report=_joined(reports),
        **collections,
    )


def _forget_other_repository(client: ClientAPI, root: Path) -> None:
    """Delete what an earlier demo made of another repository."""
    for collection in client.list_collections():
        indexed = (collection.metadata or {}).get("indexed_folder")
        if collection.name in _REPOSITORY_COLLECTIONS and indexed != str(root):
            delete_collection(client, collection.name)


def _joined(reports: list[IndexReport]) -> IndexReport:
    skipped: dict[str, int] = {}
    for report in reports:
        for reason, count in report.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + count
    return IndexReport(
        collections={name: counts for report in reports for name, counts in report.collections.items()},
        skipped=skipped,
        left_out=tuple(entry for report in reports for entry in report.left_out),
        warnings=tuple(warning for report in reports for warning in report.warnings),
        seconds=sum(report.seconds for report in reports),
    )
