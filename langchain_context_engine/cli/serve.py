"""`context-engine serve`: answer over HTTP what a store knows, on this machine unless told otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.allocator import share_memory
from langchain_context_engine.cli.failure import CommandFailedError, require
from langchain_context_engine.cli.inspect import require_free, shown_address
from langchain_context_engine.cli.options import (
    EngineOptions,
    RecordsOption,
    ScopeOption,
    read_pairs,
    with_engine_options,
)
from langchain_context_engine.errors import UnknownNameError

if TYPE_CHECKING:
    from langchain_context_engine.designs.prime import PrimeContextService

ENGINE, PRIME = "engine", "prime"
"""What can be served."""

TOKEN_VARIABLE = "CONTEXT_ENGINE_TOKEN"  # noqa: S105 - where the token is, not the token


@with_engine_options
def serve(
    options: EngineOptions,
    *,
    host: Annotated[str, typer.Option("--host", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", min=1, max=65535, help="Port.")] = 8765,
    scope: ScopeOption = None,
    design: Annotated[
        str, typer.Option("--design", metavar="NAME", help="What answers: engine, or the design prime.")
    ] = ENGINE,
    messages: Annotated[
        str, typer.Option("--messages", metavar="NAME", help="prime: the collection of messages of threads.")
    ] = "messages",
    references: Annotated[
        str,
        typer.Option("--references", metavar="NAME", help="prime: the collection of references of threads."),
    ] = "references",
    records: RecordsOption = True,
) -> None:
    """Answer POST /build and POST /feedback. Ctrl-C ends it.

    With CONTEXT_ENGINE_TOKEN set, callers must send it as a bearer token; --scope says what they see.
    Feedback moves the ranking where usage has a weight: -w relevance=0.9 -w usage=0.1.

    With --design prime the collections are files, found by words and without vectors; threads, references
    and feedback count. Two collections by the names of --messages and --references are no files.
    """
    require("fastapi", "uvicorn")
    from langchain_context_engine.serving.server import require_token_beyond_this_machine
    from langchain_context_engine.serving.server import serve as run

    share_memory()
    token = os.environ.get(TOKEN_VARIABLE, "")
    tokens: dict[str, dict[str, Any]] | None = {token: {}} if token else None
    require_token_beyond_this_machine(host, tokens)  # before the port: on which it does not depend
    allowed = read_pairs("--scope", scope)
    options.refuse_request()
    if design == ENGINE:
        service = _over_engine(options, records=records)
    elif design == PRIME:
        service = _prime(options, (messages, references), allowed, records=records)
    else:
        raise UnknownNameError("design to serve", design, (ENGINE, PRIME))
    require_free(host, port, "the server")
    output.note(f"answering at http://{shown_address(host, port)}; Ctrl-C ends it")
    try:
        run(service, host=host, port=port, scope=allowed, tokens=tokens)
    finally:
        service.close()


def _over_engine(options: EngineOptions, *, records: bool) -> PrimeContextService:
    from langchain_context_engine.designs.prime import PrimeContextService

    return PrimeContextService.over(options.engine(records=records))


def _prime(
    options: EngineOptions, of_threads: Sequence[str], scope: Mapping[str, Any], *, records: bool
) -> PrimeContextService:
    """Return the prime-context design over a store: its files, and what belongs to threads."""
    from langchain_context_engine.designs.prime import PrimeContextService, PrimeSettings

    found = {collection.name: collection for collection in options.home.collections()}
    threads = [found.pop(name, None) for name in of_threads]
    for name in options.collections or ():
        if name not in found:
            raise UnknownNameError("collection of files", name, found)
    files = [found[name] for name in options.collections or found]
    if not files:
        raise CommandFailedError(
            "the store holds no collection of files; fill it with: context-engine index PATH"
        )
    # Whose a record is counts where the server says whose may be seen.
    settings = PrimeSettings(user_key="user_id" if "user_id" in scope else "")
    service = PrimeContextService(files, *threads, settings=settings, **options.given(records=records))
    service.prepare()
    return service
