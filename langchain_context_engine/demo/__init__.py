"""The demo: a fictional company's memories, chat, experiences and repository, and questions about them.

The data stand in `data/`; what shows them is a command.
"""

from __future__ import annotations

import json
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_context_engine.errors import ConfigError

if TYPE_CHECKING:
    from langchain_context_engine.embeddings.local import LocalEmbeddings
    from langchain_context_engine.ingest.report import OnProgress

COMPANY = (
    "Harbor is a company that does not exist: six people who make the software of small marinas, for\n"
    "berths, bookings and invoices. Bundled are what its assistant remembers, the talk of the team, what\n"
    "was tried and how it went, and its small repository; beside them some records of Lantern, another\n"
    "tenant, which must never show."
)
"""Who the demo's questions are about."""


class DemoQuestion(NamedTuple):
    """A question in a budget, and one sentence that says what to look at in its answer."""

    question: str
    shows: str
    budget: int

    @property
    def scope(self) -> dict[str, str]:
        """Whose records may be seen."""
        return {"workspace_id": WORKSPACE_ID}


DEMO_QUESTIONS: tuple[DemoQuestion, ...] = (
    DemoQuestion(
        question="On which day of the month do invoices go out?",
        shows="The same rule was noted in almost the same words: it stands in the context once, the other is "
        "dropped as its duplicate and named as such. Lantern's own rule is out of scope and nowhere.",
        budget=400,
    ),
    DemoQuestion(
        question="Why did the payout import fail in January, and what did we change?",
        shows="A small budget: it holds what failed and what was changed, and the explanation says how many "
        "tokens were left when the next best had its turn.",
        budget=120,
    ),
    DemoQuestion(
        question="What did we decide most recently: Paddle or Stripe?",
        shows="The older decision for Paddle resembles the question as much as the newer one for Stripe; "
        "since the question asks for the most recent, the newer one leads; the commit that carried it out "
        "follows.",
        budget=400,
    ),
)

NEXT_QUESTIONS: tuple[str, ...] = (
    "Why were there gaps in the invoice numbers?",
    "Why did we decide to move from Paddle to Stripe?",
    "How do I void an invoice that is already paid?",
)
"""Questions of the same company that the demo proposes; each is answered by its first passages."""

WORKSPACE_ID = "harbor"
"""The workspace that the demo asks in; the bundled data has another one, which must never show."""

_KINDS = {"memories": "memory", "chat": "message", "experiences": "experience"}
_OF_REPOSITORY = ("code", "commits", "docs")
_MAX_COMMITS = 1000


class Demo(NamedTuple):
    """What the demo asks: collections by name, what embedded them, and the repository behind three of them.

    `workspace_id` is whose the repository's records are; of all records so many were written, and so many
    stood already.
    """

    collections: dict[str, Any]
    embeddings: LocalEmbeddings
    repository: Path
    workspace_id: str
    written: int
    unchanged: int


def load_demo(
    directory: str | Path, repository: str | Path | None = None, on_progress: OnProgress | None = None
) -> Demo:
    """Build the demo's persistent Chroma collections, or bring them up to date, without a network.

    Args:
        directory: Where the store goes, in its subfolder `chroma`.
        repository: The git repository to index, as a workspace of its own by its folder's name; None is
            the bundled one of the workspace "harbor", made in `directory`.
        on_progress: Called with (done, total, label).

    Returns:
        The collections; every record carries its `workspace_id`.

    Raises:
        ConfigError: The extra `local` is missing, or there is no such folder.
    """
    import chromadb

    from langchain_context_engine.embeddings.local import LocalEmbeddings
    from langchain_context_engine.ingest import delete_collection, index_jsonl, index_repository

    home = Path(directory)
    home.mkdir(parents=True, exist_ok=True)
    root = (create_demo_repository(home / "harbor") if repository is None else Path(repository)).resolve()
    workspace_id = WORKSPACE_ID if repository is None else root.name
    client = chromadb.PersistentClient(path=str(home / "chroma"))
    embeddings = LocalEmbeddings()
    reports = []
    for name, kind in _KINDS.items():
        told: dict[str, Any] = {"metadata": {"kind": kind}, "on_progress": on_progress}
        with as_file(files("langchain_context_engine.demo").joinpath("data", f"{name}.jsonl")) as path:
            reports.append(index_jsonl(path, name, client, embeddings, delete_missing=True, **told))
    for collection in client.list_collections():  # what an earlier demo made of another repository
        indexed = (collection.metadata or {}).get("indexed_folder")
        if collection.name in _OF_REPOSITORY and indexed != str(root):
            delete_collection(client, collection.name)
    told = {"metadata": {"workspace_id": workspace_id}, "on_progress": on_progress}
    reports.append(index_repository(root, client, embeddings, prefix="", max_commits=_MAX_COMMITS, **told))
    names = (*_KINDS, *_OF_REPOSITORY)
    return Demo(
        collections={name: client.get_or_create_collection(name, embedding_function=None) for name in names},
        embeddings=embeddings,
        repository=root,
        workspace_id=workspace_id,
        written=sum(report.written for report in reports),
        unchanged=sum(report.unchanged for report in reports),
    )


def create_demo_repository(directory: str | Path) -> Path:
    """Return a git repository with the commits of `data/harbor.jsonl`, made in a directory or renewed there.

    Files, dates and hashes are the same everywhere and every time.

    Raises:
        ConfigError: It cannot be written there.
    """
    import pygit2
    from pygit2.enums import CheckoutStrategy, FileMode

    root = Path(directory)
    lines = (
        files("langchain_context_engine.demo").joinpath("data", "harbor.jsonl").read_text(encoding="utf-8")
    )
    try:
        root.mkdir(parents=True, exist_ok=True)
        repository = pygit2.init_repository(str(root), initial_head="main")
        # No conversion of line ends: the files are to be the same on every system.
        repository.config["core.autocrlf"] = False
        index, parents = pygit2.Index(), list[pygit2.Oid]()
        for commit in map(json.loads, lines.splitlines()):
            for path, text in commit["files"].items():
                index.add(pygit2.IndexEntry(path, repository.create_blob(text.encode()), FileMode.BLOB))
            who = pygit2.Signature(
                commit["author"], commit["email"], commit["seconds"], commit["offset"], "utf-8"
            )
            tree = index.write_tree(repository)
            parents = [repository.create_commit(None, who, who, commit["message"], tree, parents)]
        repository.references.create("refs/heads/main", parents[0], force=True)
        repository.set_head("refs/heads/main")
        repository.checkout("HEAD", strategy=CheckoutStrategy.FORCE)
    except (pygit2.GitError, OSError) as error:
        raise ConfigError(f"the demo's repository cannot be made in {root}: {error}") from error
    return root
