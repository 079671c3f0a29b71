"""Rules of indexing: what is read, which collections it goes into, and that every run ends where a first one would."""

from __future__ import annotations

import json
import os
import shutil
import sys
import uuid

import chromadb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.ingest import Splitter, index_file, index_folder, index_repository
from langchain_context_engine.ingest.outline import load_grammar
from tests.embedding_builders import WordEmbeddings
from tests.ingest_builders import content, git, write_files


def test_binary_huge_minified_linked_and_unknown_files_are_skipped_with_a_count(tmp_path, client, prefix):
    outside = tmp_path / "outside"
    folder = tmp_path / "folder"
    write_files(outside, secret_dot_md="# Secret\n\nx")
    write_files(
        folder,
        a_dot_md="# A\n\nx",
        picture_dot_png=b"\x89PNG\0\0",
        null_dot_py=b"x = 1\0",
        large_dot_md="# Large\n\n" + "word " * 500,
        app_dot_min_dot_js="var a=1;" * 200,
        data_dot_xyz="1,2\n",
    )
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "linked").symlink_to(outside)
    (folder / "dangling.md").symlink_to(folder / "nowhere")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.md")
    report = index_folder(folder, client, WordEmbeddings(), prefix=prefix, max_file_bytes=2000)
    assert report.skipped == {
        "binary": 2,
        "huge": 1,
        "minified": 1,
        "symlink": 4,
        "special": 1,
        "unsupported": 1,
    }
    (huge,) = [entry for entry in report.left_out if entry.reason == "huge"]
    assert huge.detail == "2,509 bytes; at most 2,000 are read (--max-size)"
    assert {m["path"] for _, m in content(client, f"{prefix}docs").values()} == {"a.md"}


def test_a_notebook_is_not_huge_for_its_outputs(tmp_path, client, prefix):
    picture = {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo" * 500}}
    cell = {"cell_type": "code", "source": "centers = kmeans(points)", "outputs": [picture], "metadata": {}}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    write_files(tmp_path, means_dot_ipynb=json.dumps(notebook), gone_dot_md="word " * 500, hold__keep="")
    report = index_folder(tmp_path, client, WordEmbeddings(), prefix=prefix, max_file_bytes=2000)
    ((text, _),) = content(client, f"{prefix}docs").values()
    assert "centers = kmeans(points)" in text
    assert report.skipped == {"huge": 1, "empty": 1}


KINDS = ("code", "commits", "docs")


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    write_files(
        folder,
        src__app_dot_py="def hello():\n    return 'hello'\n\n\ndef bye():\n    return 'bye'\n",
        README_dot_md="# Guide\n\nHello.\n\n## Install\n\nRun it.\n",
    )
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Say hello\n\nPeople asked for it.")
    return folder


def held(client, prefix):
    return {kind: content(client, f"{prefix}{kind}") for kind in KINDS}


def test_a_repository_becomes_code_commits_and_docs(repository, client, prefix):
    report = index_repository(repository, client, WordEmbeddings(), prefix=prefix)
    assert [report[f"{prefix}{kind}"].added for kind in KINDS] == [2, 1, 2]
    found = held(client, prefix)
    assert {m["symbol"] for _, m in found["code"].values()} == {"hello", "bye"}
    ((sha, (text, commit)),) = found["commits"].items()
    assert text == "Say hello\n\nPeople asked for it.\n\nREADME.md (+7 −0)\nsrc/app.py (+6 −0)"
    assert {
        "sha": sha, "title": "Say hello", "author": "Ana Ré", "insertions": 13, "deletions": 0, "files_changed": 2,
        "files": ["README.md", "src/app.py"], "created_at": 1767607200,
    }.items() <= commit.items()  # fmt: skip
    assert "a@x.example" not in str(commit)
    (install,) = (m for _, m in found["docs"].values() if m["title"] == "Install")
    assert (install["headings"], install["path"], install["created_at"]) == (
        "Guide › Install",
        "README.md",
        1767607200,
    )
    collection = client.get_collection(f"{prefix}code", embedding_function=None)
    assert collection.configuration["hnsw"]["space"] == "cosine"
    assert (collection.metadata["embedding_model"], collection.metadata["embedding_dimension"]) == (
        "WordEmbeddings",
        64,
    )


def test_a_second_run_writes_and_embeds_nothing_and_other_metadata_embeds_nothing(repository, client, prefix):
    embeddings = WordEmbeddings()
    first = index_repository(repository, client, embeddings, prefix=prefix)
    before = held(client, prefix)
    embeddings.calls.clear()
    second = index_repository(repository, client, embeddings, prefix=prefix)
    assert (second.written, second.unchanged, held(client, prefix)) == (0, first.added, before)
    index_repository(repository, client, embeddings, prefix=prefix, metadata={"tenant": "b"})
    assert embeddings.calls == []
    assert {m["tenant"] for kind in held(client, prefix).values() for _, m in kind.values()} == {"b"}


def test_a_changed_function_is_the_only_one_embedded_again(repository, client, prefix):
    embeddings = WordEmbeddings()
    index_repository(repository, client, embeddings, prefix=prefix)
    embeddings.calls.clear()
    path = repository / "src/app.py"
    path.write_text("\n\n\n" + path.read_text().replace("'bye'", "'good bye'"))
    report = index_repository(repository, client, embeddings, prefix=prefix)
    assert ["good bye" in text for call in embeddings.calls for text in call] == [True]
    assert report[f"{prefix}code"].updated == report[f"{prefix}code"].written == 2  # one moved
    assert {m["symbol"]: m["start_line"] for _, m in held(client, prefix)["code"].values()} == {
        "hello": 4,
        "bye": 8,
    }


def test_commits_follow_head_and_the_newest_of_many_are_held(repository, client, prefix):
    """R6."""

    def index(**limits):
        report = index_repository(
            repository, client, WordEmbeddings(), prefix=prefix, collections=["commits"], **limits
        )
        return (
            report[f"{prefix}commits"],
            report.warnings,
            {m["title"] for _, m in held(client, prefix)["commits"].values()},
        )

    def held(client, prefix):
        return {"commits": content(client, f"{prefix}commits")}

    index()
    git(repository, "commit", "-q", "--allow-empty", "-m", "Second", date="2026-02-01T10:00:00Z")
    assert index()[0].added == 1
    git(repository, "commit", "-q", "--amend", "--allow-empty", "-m", "Better", date="2026-02-01T10:00:00Z")
    report, _, titles = index()
    assert (report.added, report.deleted, titles) == (1, 1, {"Say hello", "Better"})
    _, warnings, titles = index(max_commits=1)
    assert titles == {"Better"}
    assert "only the latest 1 commits are held" in warnings[0]
    assert index(max_commits=0)[2] == set()
    assert index(max_commits=None)[1:] == ((), {"Say hello", "Better"})


def test_a_file_is_dated_by_its_last_commit_and_a_changed_one_by_its_writing(repository, client, prefix):
    write_files(repository, later_dot_md="# Later\n\nx\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Later", date="2026-03-01T00:00:00Z")
    write_files(repository, new_dot_md="# New\n\nx\n")
    os.utime(repository / "new.md", (1_780_000_000, 1_780_000_000))
    index_repository(repository, client, WordEmbeddings(), prefix=prefix)
    dates = {m["path"]: m["created_at"] for _, m in held(client, prefix)["docs"].values()}
    assert dates == {"README.md": 1767607200, "later.md": 1772323200, "new.md": 1_780_000_000}


def test_a_folder_within_a_repository_gives_its_own_files_and_commits(repository, client, prefix):
    git(repository, "commit", "-q", "--allow-empty", "-m", "Elsewhere")
    index_repository(repository / "src", client, WordEmbeddings(), prefix=prefix)
    found = held(client, prefix)
    assert ({m["path"] for _, m in found["code"].values()}, found["docs"]) == ({"app.py"}, {})
    ((_, commit),) = found["commits"].values()
    assert commit["files"] == ["app.py"]


def test_progress_never_falls_and_ends_at_the_total(repository, client, prefix):
    seen = []
    for _ in range(2):
        seen.clear()
        index_repository(
            repository, client, WordEmbeddings(), prefix=prefix, on_progress=lambda *step: seen.append(step)
        )
        for label, total in (("files", 2), ("commits", 1)):
            done = [d for d, _, name in seen if name == label]
            assert (done, done[-1]) == (sorted(done), total)


def test_without_the_extra_code_is_cut_by_lines_and_installing_it_renews_it(
    tmp_path, client, prefix, monkeypatch
):
    write_files(tmp_path, a_dot_js="function one() {\n  return 1;\n}\n", b_dot_py="def two():\n    pass\n")

    def types():
        report = index_folder(tmp_path, client, WordEmbeddings(), prefix=prefix)
        return report.warnings, {m["unit_type"] for _, m in content(client, f"{prefix}code").values()}

    with monkeypatch.context() as without:
        without.setitem(sys.modules, "tree_sitter", None)
        load_grammar.cache_clear()
        (warning,), found = types()
    load_grammar.cache_clear()
    assert (
        warning
        == 'javascript, python: cut by lines, not by functions; pip install "langchain-context-engine[code]"'
    )
    assert found == {"module"}
    assert types() == ((), {"function"})


TEXTS = (
    "",
    "def f():\n    return 1\n",
    "def f():\n    return 2\n\n\nclass A:\n    def g(self):\n        pass\n",
    "# T\n\nx\n\n# T\n\nx\n",
    f"# T\n\n{'word ' * 60}\n\n" + "\n".join(f"value_{n} = {n}" for n in range(10)),
    "\0",
)


@settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    states=st.lists(
        st.dictionaries(st.sampled_from(("a.py", "b.py", "sub/c.md", "d.txt")), st.sampled_from(TEXTS)),
        min_size=2,
        max_size=4,
    )
)
def test_an_incremental_run_gives_what_a_first_run_gives(tmp_path, client, states):
    folder = tmp_path / uuid.uuid4().hex
    prefix, splitter = f"p{uuid.uuid4().hex[:12]}-", Splitter(chunk_size=200)
    for state in states:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path, text in state.items():
            write_files(folder, **{path.replace("/", "__"): text})
            os.utime(folder / path, (1_780_000_000, 1_780_000_000))
        index_folder(folder, client, WordEmbeddings(), prefix=prefix, splitter=splitter)
        assert index_folder(folder, client, WordEmbeddings(), prefix=prefix, splitter=splitter).written == 0
    fresh = f"f{uuid.uuid4().hex[:12]}-"
    index_folder(folder, client, WordEmbeddings(), prefix=fresh, splitter=splitter)
    for kind in ("code", "docs"):
        assert content(client, f"{prefix}{kind}") == content(client, f"{fresh}{kind}")


class KilledError(BaseException):
    """Nothing catches it, as nothing catches a kill."""


class MortalCollection:
    """A real collection whose client is killed before one of its writes."""

    def __init__(self, collection, client):
        self._collection = collection
        self._client = client

    def __getattr__(self, name):
        if name in {"upsert", "update", "delete", "modify"}:
            self._client.write()
        return getattr(self._collection, name)


class MortalClient:
    """A real client that is killed after so many writes."""

    def __init__(self, client, writes):
        self._client = client
        self._left = writes

    def __getattr__(self, name):
        return getattr(self._client, name)

    def get_max_batch_size(self):
        return 4

    def get_collection(self, *arguments, **named):
        return MortalCollection(self._client.get_collection(*arguments, **named), self)

    def create_collection(self, *arguments, **named):
        self.write()
        return MortalCollection(self._client.create_collection(*arguments, **named), self)

    def write(self):
        if not self._left:
            raise KilledError
        self._left -= 1


@pytest.mark.unmeasured
def test_a_run_that_is_killed_before_any_of_its_writes_is_completed_by_the_next(repository, tmp_path):
    """Before and after a change of everything that can change."""
    client = chromadb.PersistentClient(str(tmp_path / "store"))
    prefixes = [f"k{number}-" for number in range(40)]
    long = f"Long\n\n{'A reason for it. ' * 120}"

    def index(prefix, writes=10_000):
        index_repository(repository, MortalClient(client, writes), WordEmbeddings(), prefix=prefix)

    def all_completed():
        """Kill runs after 0, 1, 2 … writes until one comes to its end; then complete the others."""
        for number, prefix in enumerate(prefixes):
            try:
                index(prefix, number)
            except KilledError:
                continue
            break
        for each in prefixes[:number]:
            index(each)
            assert held(client, each) == held(client, prefix)
        return number, held(client, prefix)

    write_files(repository, gone_dot_md="# Gone\n\nx\n\n## Too\n\ny\n\n## And\n\nz\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", long)
    killed, before = all_completed()
    write_files(repository, src__app_dot_py="def hello():\n    return 1\n", c_dot_md="# New\n\nx\n")
    (repository / "gone.md").unlink()
    git(repository, "add", "-A")
    git(repository, "commit", "--amend", "-qm", f"{long} Amended.", date="2026-01-06T10:00:00Z")
    killed_again, after = all_completed()
    assert min(killed, killed_again) > 3
    assert before != after


USUAL = {"code", "commits", "docs"}


@pytest.fixture
def folder(tmp_path):
    return a_repository(tmp_path / "one", "one")


def a_repository(folder, text):
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    write_files(folder, a_dot_md=f"# A\n\n{text}\n", src__b_dot_py="def b():\n    pass\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", text)
    return folder


def index(folder, store, **settings):
    return index_repository(folder, chromadb.PersistentClient(str(store)), WordEmbeddings(), **settings)


def names(store):
    return {c.name for c in chromadb.PersistentClient(str(store)).list_collections()}


@pytest.mark.parametrize("does", ["move", "copy"])
def test_a_folder_that_moved_or_was_copied_with_its_store_goes_on_where_it_was(folder, tmp_path, does):
    """R7."""
    index(folder, folder / ".context-engine" / "chroma")
    there = (
        shutil.copytree(folder, tmp_path / "there") if does == "copy" else folder.rename(tmp_path / "there")
    )
    if does == "move":
        a_repository(folder, "another has taken its old place")
    report = index(there, there / ".context-engine" / "chroma")
    assert (report.written, report.warnings) == (0, ())
    assert names(there / ".context-engine" / "chroma") == USUAL


def test_a_second_repository_in_a_store_goes_by_its_own_name_and_says_so_once(folder, tmp_path):
    """R8."""
    index(folder, tmp_path / "store")
    second = a_repository(tmp_path / "my own, données", "two")
    report = index(second, tmp_path / "store")
    (warning,) = report.warnings
    assert all(each in warning for each in (str(folder), "my-own-donn-es-code", "--name"))
    again = index(second, tmp_path / "store")
    assert (again.written, again.warnings, set(again.collections)) == (0, (), set(report.collections))
    third = a_repository(tmp_path / "elsewhere" / "my own, données", "three")
    assert "my-own-donn-es-2-code" in index(third, tmp_path / "store").collections
    assert index(folder, tmp_path / "store").written == 0


def test_a_name_that_another_folder_has_is_refused_and_the_way_out_said(folder, tmp_path):
    index(folder, tmp_path / "store", prefix="mine-")
    with pytest.raises(ConfigError, match=r"--name.*context-engine rm"):
        index(a_repository(tmp_path / "two", "two"), tmp_path / "store", prefix="mine-")
    report = index(folder, tmp_path / "store")
    assert set(report.collections) == {"mine-code", "mine-commits", "mine-docs"}, "it goes on under its name"
    assert report.written == 0


@pytest.mark.parametrize("name", ["notes.md", "t.py", "README", "日本.md", "a.b.c.txt"])
def test_a_single_file_becomes_a_collection_by_its_name_and_stays_there(tmp_path, name):
    """F8."""
    client = chromadb.PersistentClient(str(tmp_path / "store"))
    for text in ("# A title\n\nx = 1\n", "# Another title\n\nx = 2\n"):
        (tmp_path / name).write_text(text)
        ((collection, counts),) = index_file(tmp_path / name, client, WordEmbeddings()).collections.items()
        assert counts.written
        assert index_file(tmp_path / name, client, WordEmbeddings()).written == 0
    assert (len(content(client, collection)), len(client.list_collections())) == (1, 1)


@pytest.mark.parametrize(("data", "reason"), [(b"\0\1", "binary"), (b"x = 1\n" * 99, "huge")])
def test_a_single_file_that_is_left_out_is_an_error_with_the_reason(tmp_path, data, reason):
    """F8."""
    (tmp_path / "a.py").write_bytes(data)
    client = chromadb.PersistentClient(str(tmp_path / "store"))
    with pytest.raises(ConfigError, match=f"is left out: {reason}"):
        index_file(tmp_path / "a.py", client, WordEmbeddings(), max_file_bytes=100)


def test_patterns_choose_the_files_and_what_is_no_longer_chosen_leaves(folder, tmp_path):
    client = chromadb.PersistentClient(str(tmp_path / "store"))
    index_folder(folder, client, WordEmbeddings())
    report = index_folder(folder, client, WordEmbeddings(), include=["src/", "*.md"], exclude=["a.*"])
    assert (report["docs"].deleted, report["code"].unchanged) == (1, 1)
