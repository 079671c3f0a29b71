"""`context-engine demo`: three telling questions over real collections, without a key or a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.inspect import BrowserOption, PortOption, open_inspector
from langchain_context_engine.cli.inspect_command import DEFAULT_PORT
from langchain_context_engine.cli.store import Store, here

if TYPE_CHECKING:
    from langchain_context_engine.trace.context import Context

DEMO_STORE = Path(".context-engine") / "demo"

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
    port: PortOption = DEFAULT_PORT,
    opens_browser: BrowserOption = True,
) -> None:
    """Build collections from a repository and bundled memories and chat, ask three questions, say why.

    Everything happens on this machine. The answers are recorded and, unless --no-inspect, opened in the
    inspector.
    """
    from langchain_context_engine.demo import COMPANY, DEMO_QUESTIONS, load_demo, require_demo

    # Before anything is written: a demo that cannot run leaves nothing behind.
    require_demo()
    home = Store(store)
    home.create()
    root = repository or repository_here(here())
    with output.progress_bar("indexing") as on_progress:
        loaded = load_demo(home.folder, root, on_progress)
    output.write_text(
        f"{loaded.repository.name}: {output.counted(loaded.written, 'record')} written, {loaded.unchanged:,}"
        f" stood already ({home.folder})\n\n{COMPANY}"
    )
    engine = home.engine(journal=str(home.journal_path), scope_keys=("workspace_id",))
    try:
        for number, asked in enumerate(DEMO_QUESTIONS, 1):
            context = engine.build(asked.question, scope=asked.scope, budget=asked.budget)
            _tell(f"{number}. {asked.question}", context, asked.shows)
        if root is not None and loaded.commits.count():
            own = {"scope": {"workspace_id": loaded.workspace_id}, "sources": ("commits",)}
            context = engine.build(REPOSITORY_QUESTION, budget=400, **own)
            _tell(f"And of {loaded.repository.name}: {REPOSITORY_QUESTION}", context)
    finally:
        if engine.journal is not None:
            engine.journal.close()
    _go_on(home, None if root is None else loaded.workspace_id)
    if opens_inspector:
        open_inspector(home.journal_path, port=port, opens_browser=opens_browser)


def repository_here(folder: Path) -> Path | None:
    """Return the git repository that a folder is in; None where there is none, or it is a large one."""
    import pygit2

    top = next((path for path in (folder, *folder.parents) if (path / ".git").exists()), None)
    if top is None:
        return None
    try:
        files = len(pygit2.Repository(str(top)).index)
    except (pygit2.GitError, OSError):
        return None
    if files > _MAX_FILES:
        output.note(
            f"{top} has more than {_MAX_FILES} files: the bundled repository is used; see --repository"
        )
        return None
    return top


def _tell(title: str, context: Context, shows: str = "") -> None:
    for warning in context.warnings:
        output.warn(warning)
    kept, missed, _ = output.fates(context, near=1)
    label_of = {row.key: f"{row.citation} {row.label}" for row in kept}
    origins = " · ".join(label_of[passage.key] for passage in context.passages)
    output.write_text(f"\n── {title}\n\n{context.text}\n\n{output.figures(context)}")
    output.write_text(output.without_controls(f"from {origins}"))
    for row in missed:
        output.write_text(output.without_controls(f"✗ {row.label}: {row.sentence}"))
    if shows:
        output.write_text(f"→ {shows}")


def _go_on(home: Store, repository: str | None) -> None:
    from langchain_context_engine.demo import NEXT_QUESTIONS, WORKSPACE_ID

    told = f"--store {home.folder}"
    asked = [(each, WORKSPACE_ID) for each in NEXT_QUESTIONS]
    if repository is not None:
        asked.append(("…", repository))
    lines = [f'context-engine ask "{each}" -b 400 --scope workspace_id={own} {told}' for each, own in asked]
    lines += [
        f"context-engine explain {told}      # why each candidate is in the last answer, or not",
        f"context-engine inspect {told}      # the inspector",
    ]
    output.write_text("\n  ".join(("\ngo on by:", *lines)))
