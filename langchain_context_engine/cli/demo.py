"""`context-engine demo`: three telling questions over real collections, without a key or a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.inspect import open_inspector
from langchain_context_engine.cli.inspect_command import DEFAULT_PORT
from langchain_context_engine.cli.store import Store, here

if TYPE_CHECKING:
    from langchain_context_engine.trace.context import Context

DEMO_STORE = Path(".context-engine") / "demo"

COMPANY = ("memories", "chat", "experiences")
REPOSITORY_QUESTION = "What has changed most recently, and why?"

# Embedding a larger repository would keep a newcomer waiting.
_MAX_FILES = 3000


def demo(
    *,
    store: Annotated[
        Path, typer.Option("--store", "-s", metavar="DIR", help="Where the demo's collections go.")
    ] = DEMO_STORE,
    repository: Annotated[
        Path | None,
        typer.Option(
            "--repository", "-r", help="Git repository to index; else the one here, else a small bundled one."
        ),
    ] = None,
    opens_inspector: Annotated[
        bool, typer.Option("--inspect/--no-inspect", help="Open the inspector on the recorded answers.")
    ] = True,
    port: Annotated[
        int, typer.Option("--port", "-p", min=1, max=65535, help="The inspector's, on 127.0.0.1.")
    ] = DEFAULT_PORT,
    opens_browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the inspector in the browser at once.")
    ] = True,
) -> None:
    """Build collections from a repository and bundled memories and chat, ask three questions, say why.

    Everything happens on this machine. The answers are recorded and, unless --no-inspect, opened in the
    inspector.
    """
    from langchain_context_engine.demo import DEMO_QUESTIONS, WORKSPACE_ID, load_demo, require_demo

    # Before anything is written: a demo that cannot run leaves nothing behind.
    require_demo()
    home = Store(store)
    home.create()
    root = repository or repository_here(here())
    with output.progress_bar("indexing") as on_progress:
        collections = load_demo(home.folder, root, on_progress)
    written = collections.report.written
    output.write_text(
        f"{collections.repository.name}: {written} records written, {collections.report.unchanged} stood"
        f" already, in {collections.report.seconds:.1f} s ({home.folder})"
    )
    engine = home.engine(journal=str(home.journal_path), scope_keys=("workspace_id",))
    try:
        for number, question in enumerate(DEMO_QUESTIONS, 1):
            # Somebody's repository knows nothing of the fictional company; the bundled one does.
            asked = None if root is None else COMPANY
            context = engine.build(
                question.question, scope=question.scope, budget=question.budget, sources=asked
            )
            _tell(f"{number}. {question.question}", context, question.shows)
        if root is not None and collections.commits.count():
            context = engine.build(
                REPOSITORY_QUESTION, scope={"workspace_id": WORKSPACE_ID}, budget=400, sources=("commits",)
            )
            _tell(f"And of {collections.repository.name}: {REPOSITORY_QUESTION}", context)
    finally:
        if engine.journal is not None:
            engine.journal.close()
    _go_on(home)
    if opens_inspector:
        open_inspector(home.journal_path, port=port, opens_browser=opens_browser)


def repository_here(folder: Path) -> Path | None:
    """Return the git repository that a folder is in; None where there is none, or it is a large one."""
    from langchain_context_engine.ingest.git_files import list_files
    from langchain_context_engine.ingest.git_repository import open_git

    top = next((path for path in (folder, *folder.parents) if (path / ".git").exists()), None)
    git = open_git(top.resolve())[0] if top else None
    if git is None:
        return None
    if len(list_files(git).paths) > _MAX_FILES:
        output.note(
            f"{top} has more than {_MAX_FILES} files: the bundled repository is used; see --repository"
        )
        return None
    return top


def _tell(title: str, context: Context, shows: str = "") -> None:
    from langchain_context_engine.cli.tables import fates, figures

    for warning in context.warnings:
        output.warn(warning)
    output.write_text(f"\n── {title}\n\n{context.text}\n\n{figures(context)}")
    for row in fates(context, near=1)[1]:
        output.write_text(output.without_controls(f"✗ {row.label}: {row.sentence}"))
    if shows:
        output.write_text(f"→ {shows}")


def _go_on(home: Store) -> None:
    output.write_text(
        f"\nwhy is each candidate in, or not: context-engine explain --store {home.folder}"
        f'\nyour own question: context-engine ask "…" --scope workspace_id=harbor --store {home.folder}'
        f"\nthe inspector: context-engine inspect --store {home.folder}"
    )
