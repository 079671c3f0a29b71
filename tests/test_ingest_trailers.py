"""What tools write below a message takes no room in it; who else had a part in the commit is still said."""

from __future__ import annotations

import chromadb
import pytest

from langchain_context_engine.ingest import index_repository
from langchain_context_engine.ingest.trailers import without_trailers
from tests.builders import WordEmbeddings
from tests.growth import assert_linear, repeated
from tests.ingest_builders import git, stored, write_files

SQUASHED = """Let the quay grow (#12)

* Add a berth

Signed-off-by: Ana Ré <ana@a.org>

* Mend the crane

Change-Id: I8473b95934b5732ac55d26311a706c9c2bde9940

---------

Signed-off-by: Ana Ré <ana@a.org>
Co-authored-by: Bo Li <bo@b.org>
Co-authored-by: pre-commit-ci[bot] <66853113+pre-commit-ci[bot]@users.noreply.github.com>
Reviewed-by: Cy <cy@c.org>
Co-Authored-By: Di <di@d.org>"""


def test_of_trailers_the_names_of_others_stay_each_once_and_those_who_wrote_first():
    told = without_trailers(SQUASHED, "Ana Ré")
    assert told.message == (
        "Let the quay grow (#12)\n\n* Add a berth\n\n* Mend the crane\n\n"
        "Co-authored-by: Bo Li, Di\nReviewed-by: Cy"
    )
    assert "Signed-off-by: Ana Ré <ana@a.org>" in told.trailers
    assert "Change-Id: I8473b95934b5732ac55d26311a706c9c2bde9940" in told.trailers
    assert len(told.trailers) == 6


@pytest.mark.parametrize(
    "message",
    [
        "Mend it",
        "Mend it\n\nFixes: #12\nRefs: #14\nSee-also: the manual",
        "Mend it\n\n---------\n\nWhat follows the line is the message's own.",
        "Mend it\n\n    Signed-off-by: an example, indented",
        "Say why\n\nTwo blank lines\n\n\nstay where nothing was taken.",
        "Signed-off-by: Ana <ana@a.org>",
        "Stand by: the crane",
        "(cherry picked from commit 1234567)",
    ],
)
def test_what_people_wrote_stays_to_the_character(message):
    assert without_trailers(message, "Ana").message == message
    signed = without_trailers(f"{message}\n\nSigned-off-by: Ana <ana@a.org>", "Ana").message
    assert signed.replace("\n\n\n", "\n\n") == message.replace("\n\n\n", "\n\n")


def test_what_a_robot_notes_of_versions_is_no_message():
    noted = "---\nupdated-dependencies:\n- dependency-name: tea\n  dependency-type: direct:production\n..."
    told = without_trailers(f"Bump tea\n\n{noted}\n\nSigned-off-by: dependabot[bot] <d@x>", "dependabot[bot]")
    assert told.message == "Bump tea"


@pytest.mark.parametrize("piece", ["a-by: x\n", "\n---", "---\nupdated-dependencies:\n- a\n", "a-", "Cc: \n"])
def test_messages_made_to_choke_it_are_read_in_linear_time(piece):
    assert_linear(lambda text: without_trailers(f"s\n{text}", "Ana"), repeated(piece), 400_000)


def test_a_commit_is_found_by_who_wrote_it_too_and_those_that_stand_are_read_anew(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    write_files(tmp_path, a_dot_md="# Quay\n\nThe berth.\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", SQUASHED)
    client = chromadb.EphemeralClient()
    index_repository(tmp_path, client, WordEmbeddings(), prefix="trailers-")
    ((sha, (text, metadata)),) = stored(client, "trailers-commits").items()
    assert text.endswith("Co-authored-by: Bo Li, Di\nReviewed-by: Cy\n\na.md (+3 −0)")
    assert "Co-authored-by: Bo Li <bo@b.org>" in metadata["trailers"]

    # As an older version left it: with the trailers, in two parts.
    collection = client.get_collection("trailers-commits", embedding_function=None)
    vectors = [[0.5] * len(collection.get(include=["embeddings"])["embeddings"][0])] * 2
    old = {key: value for key, value in metadata.items() if key not in {"trailers", "commit_reading"}}
    collection.delete([sha])
    collection.add(
        [sha, f"{sha}-2"],
        documents=[SQUASHED, "a.md"],
        metadatas=[old, {**old, "part": 2}],
        embeddings=vectors,
    )
    index_repository(tmp_path, client, WordEmbeddings(), prefix="trailers-")
    assert stored(client, "trailers-commits") == {sha: (text, metadata)}
    assert index_repository(tmp_path, client, WordEmbeddings(), prefix="trailers-").written == 0
