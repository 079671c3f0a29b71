"""The command line over a store: what `index` takes and says, `ls`, `rm`, and the store found from below."""

from __future__ import annotations

import json

import chromadb
import pytest

from langchain_context_engine.cli import main
from langchain_context_engine.cli.options import read_size
from langchain_context_engine.models.errors import ConfigError
from tests.ingest_builders import git, write_files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A repository of three commits, where the commands are run."""
    root = tmp_path / "harbor"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for number in range(3):
        write_files(
            root,
            guide_dot_md=f"# Guide\n\nBerths are booked by the day, edition {number}.\n",
            src__app_dot_py="def book(berth):\n    return berth\n",
            logo_dot_png=b"\x89PNG\0",
        )
        git(root, "add", "-A")
        git(root, "commit", "-qm", f"Edition {number}", date=f"2026-0{number + 1}-01T00:00:00Z")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def run(capsys):
    """Return what runs a command, and gives (exit code, standard output, standard error)."""

    def command(*arguments):
        capsys.readouterr()
        code = main(list(arguments))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return command


def test_index_says_what_it_wrote_and_left_out_and_the_second_run_counts_the_same(folder, run):
    code, out, err = run("index", ".")
    assert (code, err) == (0, "")
    assert "5 records written" in out
    assert "left out: 1 binary" in out
    code, out, err = run("index", ".")
    assert (code, err) == (0, "")
    assert out == "nothing written: 5 records in .context-engine stand as they are; left out: 1 binary\n"


def test_a_limit_of_commits_is_said_when_it_is_reached_and_only_then(folder, run):
    """R6."""
    _, _, err = run("index", ".", "--max-commits", "2")
    assert err == "warning: only the latest 2 commits are held, there are more; see --max-commits\n"
    assert run("index", ".", "--max-commits", "3")[2] == ""


def test_what_is_left_out_is_listed_with_its_reason(folder, run):
    (folder / "tab\tand\x1b.pdfx").write_text("x")
    out = run("index", ".", "--list-skipped")[1].splitlines()
    assert out[:2] == ["binary\tlogo.png", "unsupported\ttab\tand\ufffd.pdfx"]


def test_a_dry_run_makes_no_store(folder, run):
    # All clients in memory share a store; what others of this process have in it is no part of the run.
    other = chromadb.EphemeralClient().get_or_create_collection("code", embedding_function=None)
    other.modify(metadata={"embedding_dimension": 3, "embedding_model": "theirs"})
    code, out, _ = run("index", ".", "--dry-run")
    assert code == 0
    assert "5 records would be written" in out
    assert not (folder / ".context-engine").exists()
    run("index", ".")
    write_files(folder, new_dot_md="# New\n\nx\n")
    assert "1 records would be written" in run("index", ".", "--dry-run")[1]
    assert "1 records written" in run("index", ".")[1]


def test_patterns_and_a_size_choose_the_files(folder, run):
    write_files(folder, long_dot_md="# Long\n\n" + "word " * 500)
    _, out, _ = run("index", ".", "--include", "*.md", "--exclude", "guide*", "--max-size", "1kB")
    assert "left out: 1 huge" in out
    assert "3 records written" in out  # the commits


@pytest.mark.parametrize(
    ("size", "bytes_"), [("0", 0), ("12", 12), ("2MB", 2_000_000), ("1 KiB", 1024), ("1.5g", 1_500_000_000)]
)
def test_a_size_is_read_as_people_write_it(size, bytes_):
    assert read_size("--max-size", size) == bytes_


@pytest.mark.parametrize("size", ["", "MB", "-1", "two", "1TB2", "1e9"])
def test_what_is_no_size_is_refused(size):
    with pytest.raises(ConfigError, match="500kB, 2MB"):
        read_size("--max-size", size)


@pytest.mark.parametrize("name", ["one.md", "t.py", "README"])
def test_a_single_file_of_any_kind_is_indexed_and_asked(tmp_path, run, monkeypatch, name):
    """F8."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("# The harbor\n\nberths = 'are booked by the day'\n")
    code, out, err = run("index", name)
    assert (code, err) == (0, "")
    assert "1 records written" in out
    assert "booked by the day" in run("ask", "how are berths booked?", "--text")[1]


def test_a_single_file_that_is_not_read_is_one_line_that_says_why(folder, run):
    code, out, err = run("index", "logo.png")
    assert (code, out) == (2, "")
    assert "is left out: binary" in err


def test_ask_and_ls_find_the_store_in_a_folder_above(folder, run, monkeypatch):
    """C5."""
    run("index", ".")
    (folder / "src/deep").mkdir()
    monkeypatch.chdir(folder / "src/deep")
    code, out, err = run("ask", "how are berths booked?", "--text", "--no-journal")
    assert code == 0
    assert "booked by the day" in out
    assert str(folder / ".context-engine") in err
    assert "3 collections, 5 records" in run("ls")[1]
    assert not (folder / "src/deep/.context-engine").exists()


def test_a_store_that_is_named_is_not_looked_for_elsewhere(folder, run, monkeypatch):
    run("index", ".")
    monkeypatch.chdir(folder / "src")
    code, _, err = run("ls", "--store", "other")
    assert code == 1
    assert "no store in other" in err


def test_index_from_a_subfolder_fills_the_store_of_its_repository_under_its_own_name(
    folder, run, monkeypatch
):
    """R8."""
    run("index", ".")
    monkeypatch.chdir(folder / "src")
    code, out, err = run("index", ".")
    assert code == 0
    assert "src-code" in out
    assert "--name gives it another name" in err
    assert not (folder / "src/.context-engine").exists()
    assert "nothing written" in run("index", ".")[1]


def test_index_does_not_fill_a_store_above_its_own_repository(folder, run, monkeypatch):
    write_files(folder.parent, note_dot_md="# Note\n\nx\n")
    monkeypatch.chdir(folder.parent)
    run("index", "note.md")
    monkeypatch.chdir(folder)
    run("index", ".")
    assert (folder / ".context-engine/chroma").is_dir()


def test_ls_tells_records_dates_embedder_and_origin_of_each_collection(folder, run):
    run("index", ".")
    code, out, _ = run("ls", "--json")
    assert code == 0
    told = json.loads(out)
    held = {item["collection"]: item for item in told["collections"]}
    assert set(held) == {"code", "commits", "docs"}
    commits = held["commits"]
    assert (commits["records"], commits["oldest"], commits["newest"]) == (3, "2026-01-01", "2026-03-01")
    assert commits["folder"] == str(folder)
    assert commits["embedder"].startswith("wordllama")
    assert told["bytes"] > 10_000
    table = run("ls")[1]
    assert "2026-03-01" in table
    assert "3 collections, 5 records" in table


def test_rm_deletes_what_it_is_told_when_it_is_sure(folder, run):
    run("index", ".")
    code, _, err = run("rm", "docs")
    assert code == 1
    assert "delete docs (1 records)" in err
    assert "--yes" in err
    code, out, _ = run("rm", "docs", "--yes")
    assert code == 0
    assert out == "deleted docs (1 records) from .context-engine\n"
    assert "2 collections" in run("ls")[1]
    assert "1 records written" in run("index", ".")[1]
    assert run("rm", "--all", "-y")[0] == 0
    assert "0 collections, 0 records" in run("ls")[1]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("rm",), 2, "or --all"),
        (("rm", "docs", "--all"), 2, "or --all"),
        (("rm", "dosc", "-y"), 2, "Did you mean 'docs'"),
        (("index", ".", "--max-size", "big"), 2, "500kB"),
        (("index", ".", "--name", "a b"), 2, "3-512 characters"),
        (("index", "nowhere"), 2, "there is no nowhere"),
    ],
)
def test_what_cannot_be_done_is_one_line_with_a_way_out(folder, run, arguments, code, message):
    run("index", ".")
    found, out, err = run(*arguments)
    assert (found, out) == (code, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_two_repositories_in_one_store_are_asked_together(folder, run, tmp_path):
    """R8."""
    run("index", ".")
    other = tmp_path / "lantern"
    write_files(other, guide_dot_md="# Lantern\n\nLanterns are lit at dusk.\n")
    _, out, err = run("index", str(other), "--store", ".context-engine")
    assert "lantern-docs" in out
    assert str(folder) in err
    assert "lit at dusk" in run("ask", "when are lanterns lit?", "--text")[1]
