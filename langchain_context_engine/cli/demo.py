"""`context-engine demo`: three telling questions over real collections, without a key or a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langchain_context_engine.cli import embedders, output
from langchain_context_engine.cli.inspect import DEFAULT_PORT, BrowserOption, PortOption, inspect
from langchain_context_engine.cli.store import DEFAULT_STORE, Store, here

if TYPE_CHECKING:
    from langchain_context_engine.trace.context import Context

REPOSITORY_QUESTION = "What has changed most recently, and why?"

# Embedding a larger repository would keep a newcomer waiting.
_MAX_FILES = 3000


def demo(
    *,
    store: Annotated[
        Path, typer.Option("--store", "-s", metavar="DIR", help="Where the demo's collections go.")
    ] = DEFAULT_STORE / "demo",
    repository: Annotated[
        Path | None,
        typer.Option("--repository", "-r", help="A git repository; else the one here, or the bundled one."),
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
    from langchain_context_engine import demo as bundled

    embedders.embedder("local")  # Before anything is written: a demo that cannot run leaves nothing behind.
    home = Store(store)
    home.create()
    root = repository or repository_here(here())
    with output.progress_bar("indexing") as on_progress:
        loaded = bundled.load_demo(home.folder, root, on_progress)
    output.write_text(
        f"{loaded.repository.name}: {output.counted(loaded.written, 'record')} written, {loaded.unchanged:,}"
        f" stood already ({home.folder})\n\n{bundled.COMPANY}"
    )
    engine = home.engine(journal=str(home.journal_path), scope_keys=("workspace_id",))
    nexts = [(each, bundled.WORKSPACE_ID) for each in bundled.NEXT_QUESTIONS]
    try:
        for number, asked in enumerate(bundled.DEMO_QUESTIONS, 1):
            context = engine.build(asked.question, scope=asked.scope, budget=asked.budget)
            _tell(f"{number}. {asked.question}", context)
            output.write_text(f"→ {asked.shows}")
        if root is not None:
            nexts.append(("…", loaded.workspace_id))
            if loaded.collections["commits"].count():
                own = {"scope": {"workspace_id": loaded.workspace_id}, "sources": ("commits",)}
                context = engine.build(REPOSITORY_QUESTION, budget=400, **own)
                _tell(f"And of {loaded.repository.name}: {REPOSITORY_QUESTION}", context)
    finally:
        if engine.journal is not None:
            engine.journal.close()
    told = f"--store {home.folder}"
    output.write_text("\ngo on by:")
    for question, scope in nexts:
        output.write_text(f'  context-engine ask "{question}" -b 400 --scope workspace_id={scope} {told}')
    output.write_text(
        f"  context-engine explain {told}      # why each candidate is in the last answer, or not\n"
        f"  context-engine inspect {told}      # the inspector"
    )
    if opens_inspector:
        inspect(store=store, port=port, opens_browser=opens_browser)


def repository_here(folder: Path) -> Path | None:
    """Return the git repository that a folder is in; None where there is none, or it is a large one."""
    import pygit2

    try:
        repository = pygit2.Repository(str(folder))
    except (pygit2.GitError, OSError):
        return None
    top = Path(repository.workdir or folder)
    if len(repository.index) > _MAX_FILES:
        output.note(
            f"{top} has more than {_MAX_FILES} files: the bundled repository is used; see --repository"
        )
        return None
    return top


def _tell(title: str, context: Context) -> None:
    for warning in context.warnings:
        output.warn(warning)
    kept, missed, _ = output.fates(context, near=1)
    label_of = {row.key: f"{row.citation} {row.label}" for row in kept}
    origins = " · ".join(label_of[passage.key] for passage in context.passages)
    output.write_text(f"\n── {title}\n\n{context.text}\n\n{output.figures(context)}")
    output.write_text(output.without_controls(f"from {origins}"))
    for row in missed:
        output.write_text(output.without_controls(f"✗ {row.label}: {row.sentence}"))
