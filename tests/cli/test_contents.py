"""`index`, `ls`, `rm` and `prepare`: what is written and told, and the store that is found from below."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from langchain_context_engine import ConfigError, Context
from langchain_context_engine.cli import main
from langchain_context_engine.cli.process import CommandFailedError
from langchain_context_engine.cli.store import Store
from tests.cli.conftest import process
from tests.ingest_builders import git, write_files


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A repository of three commits."""
    root = tmp_path_factory.mktemp("made") / "harbor"
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
    return root


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy of it, where the commands are run."""
    root = tmp_path / "harbor"
    shutil.copytree(made, root)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def indexed(folder, run):
    run("index")
    return folder


def test_index_says_what_it_wrote_and_left_out_and_the_second_run_counts_the_same(folder, run):
    code, out, err = run("index", ".")
    assert (code, err) == (0, "")
    assert "code: 1 added\n" in out
    assert "5 records written" in out
    assert "left out: 1 binary" in out
    assert 'context-engine ask "your question"' in out
    assert (folder / ".context-engine/.gitignore").read_text(encoding="utf-8") == "*\n"
    code, out, err = run("index", ".")
    assert (code, err) == (0, "")
    assert out == "nothing written: 5 records in .context-engine as before; left out: 1 binary\n"


def test_without_a_path_the_folder_here_is_indexed_and_what_is_left_out_is_listed(folder, run):
    (folder / "tab\tand\x1b.pdfx").write_text("x")
    code, out, _ = run("index", "--list-skipped")
    assert code == 0
    assert out.splitlines()[:2] == ["binary\tlogo.png", "unsupported\ttab\tand\ufffd.pdfx"]


def test_a_limit_of_commits_is_said_when_it_is_reached_and_only_then(folder, run):
    """R6."""
    _, _, err = run("index", ".", "--max-commits", "2")
    assert err == "warning: only the latest 2 commits are held, there are more; see --max-commits\n"
    assert run("index", ".", "--max-commits", "3")[2] == ""


def test_patterns_and_a_size_choose_the_files(folder, run):
    write_files(folder, long_dot_md="# Long\n\n" + "word " * 500)
    _, out, _ = run("index", ".", "--include", "*.md", "--exclude", "guide*", "--max-size", "0.001")
    assert "left out: 1 huge" in out
    assert "3 records written" in out  # the commits


@pytest.mark.parametrize("name", ["one.md", "README"])
def test_a_single_file_of_any_kind_is_indexed_and_asked(tmp_path, run, monkeypatch, name):
    """F8."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("# The harbor\n\nberths = 'are booked by the day'\n")
    code, out, err = run("index", name)
    assert (code, err) == (0, "")
    assert "1 record written" in out
    assert "booked by the day" in run("ask", "how are berths booked?", "--text")[1]


def test_a_single_file_that_is_not_read_is_one_line_that_says_why(folder, run, fails):
    assert "is left out: binary" in fails(2, "index", "logo.png")
    assert "✗" not in run("doctor")[1]


def test_the_fields_of_json_lines_are_mapped_and_metadata_added(tmp_path, run):
    (tmp_path / "mail.jsonl").write_text('{"body": "Berths cost 40.", "key": "m1"}', encoding="utf-8")
    mapped = ["--field", "text=body", "--field", "id=key", "--metadata", "team=acme"]
    assert run("index", tmp_path / "mail.jsonl", "--store", tmp_path, *mapped)[0] == 0
    out = run("ask", "berths", "--store", tmp_path, "--scope", "team=acme", "--json")[1]
    (candidate,) = Context.from_dict(json.loads(out)).candidates
    assert (candidate.id, candidate.text) == ("m1", "Berths cost 40.")


def test_two_repositories_in_one_store_are_asked_together(indexed, run, tmp_path):
    """R8."""
    other = tmp_path / "lantern"
    write_files(other, guide_dot_md="# Lantern\n\nLanterns are lit at dusk.\n")
    _, out, err = run("index", other, "--store", ".context-engine")
    assert "lantern-docs: 1 added" in out
    assert str(indexed) in err
    assert "lit at dusk" in run("ask", "when are lanterns lit?", "--text")[1]


def test_from_a_subfolder_the_store_of_the_repository_is_filled_under_a_name_of_its_own(
    indexed, run, monkeypatch
):
    """R8."""
    monkeypatch.chdir(indexed / "src")
    code, out, err = run("index", ".")
    assert code == 0
    assert "src-code: 1 added" in out
    assert "--name gives it another name" in err
    assert not (indexed / "src/.context-engine").exists()
    assert "nothing written" in run("index", ".")[1]


def test_a_store_above_ones_own_repository_is_not_filled(folder, run, monkeypatch):
    write_files(folder.parent, note_dot_md="# Note\n\nx\n")
    monkeypatch.chdir(folder.parent)
    run("index", "note.md")
    monkeypatch.chdir(folder)
    run("index", ".")
    assert (folder / ".context-engine/chroma").is_dir()


def test_ls_tells_records_embedder_and_origin_of_each_collection(indexed, run):
    out = run("ls")[1]
    assert f"commits: 3 records\n  wordllama-l2-supercat-256, 256\n  {indexed}\n" in out
    assert out.endswith("3 collections in .context-engine\n")


def test_rm_deletes_what_it_is_told_when_it_is_sure(indexed, run, fails):
    told = fails(1, "rm", "docs")
    assert "delete docs (1 record) from .context-engine?" in told
    assert "--yes" in told
    assert run("rm", "docs", "--yes")[:2] == (0, "deleted docs (1 record) from .context-engine\n")
    assert "2 collections" in run("ls")[1]
    assert "1 record written" in run("index", ".")[1]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("rm", "dosc", "-y"), 2, "Did you mean 'docs'"),
        (("index", ".", "--max-size", "big"), 2, "should be a valid number"),
        (("index", ".", "--name", "a b"), 2, "3-512 characters"),
        (("index", "nowhere"), 2, "there is no nowhere"),
        (("ls", "--store", "other"), 1, "no store in other"),
    ],
)
def test_what_cannot_be_done_is_one_line_with_a_way_out(indexed, fails, arguments, code, message):
    assert message in fails(code, *arguments)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with a store, and folders below it."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "notes.md").write_text("# Billing\n\nInvoices go out monthly to every customer.\n")
    assert main(["index", str(folder), "--store", str(folder / ".context-engine")]) == 0
    (folder / "a" / "deep").mkdir(parents=True)
    line = {"query": "when do invoices go out?", "gold_spans": ["go out monthly"]}
    (folder / "a" / "deep" / "questions.jsonl").write_text(json.dumps(line))
    return folder


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["ask", "when do invoices go out?", "--text"], "go out monthly"),
        (["explain"], "notes.md"),
        (["explain", "--other", "notes.md"], "it was offered"),
        (["ls"], "docs: 1 record"),
        (["doctor"], "collection docs"),
        (["prepare"], "docs: index of"),
        (["evaluate", "questions.jsonl", "--budget", "200"], "1.000"),
        (["mcp", "--register", "claude"], "mcpServers"),
    ],
    ids=lambda given: "-".join(given[:2]) if isinstance(given, list) else "",
)
def test_a_command_in_a_folder_below_asks_the_store_above(project, monkeypatch, command, told, run):
    """C5."""
    monkeypatch.chdir(project / "a" / "deep")
    code, out, err = run(*command)
    assert code == 0
    assert told in out
    assert f"the store is {project / '.context-engine'}" in err


@pytest.mark.parametrize("command", [["ask", "when?"], ["index", "."]])
def test_a_folder_that_is_gone_is_told_as_that(tmp_path, command, monkeypatch, fails):
    """C5: an unexpected FileNotFoundError, please report it."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert "the folder you are in was deleted" in fails(1, *command)
    monkeypatch.chdir(tmp_path)


def as_anybody(folder, *command):
    """Run a command without the rights of root, where it runs as root."""
    dropped = ",".join(f"-{name}" for name in ("dac_override", "dac_read_search", "fowner"))
    before = ["setpriv", f"--bounding-set={dropped}", f"--inh-caps={dropped}"] if os.geteuid() == 0 else []
    return process(*command, before=before, cwd=folder)


needs_setpriv = pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may write and read everything"
)


@needs_setpriv
def test_a_store_above_that_may_not_be_looked_into_is_none(tmp_path):
    """C5: an unexpected PermissionError, please report it."""
    closed, below = tmp_path / ".context-engine", tmp_path / "below"
    closed.mkdir()
    below.mkdir()
    closed.chmod(0)
    try:
        done = as_anybody(below, "ask", "when do invoices go out?")
    finally:
        closed.chmod(0o700)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "no store in .context-engine; make one with" in done.stderr


@needs_setpriv
def test_a_store_that_may_not_be_written_says_what_to_do(project, tmp_path):
    """S4: Chroma writes even to read; `InternalError` told nobody."""
    store = tmp_path / "copy"
    subprocess.run(["cp", "-r", project / ".context-engine", store], check=True)
    subprocess.run(["chmod", "-R", "a-w", store], check=True)
    try:
        done = as_anybody(tmp_path, "ask", "when?", "--store", "copy")
    finally:
        subprocess.run(["chmod", "-R", "u+w", store], check=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "may not be written, which Chroma does even to read; give a copy by --store" in done.stderr


def test_what_is_no_store_is_one_line_and_none_is_made_by_asking(tmp_path, fails):
    assert "context-engine index PATH" in fails(1, "ask", "x", "--store", tmp_path)
    assert not list(tmp_path.iterdir())
    (tmp_path / "chroma.sqlite3").write_bytes(b"this is no database, whatever it is called" * 100)
    assert "Chroma cannot open" in fails(1, "ask", "x", "--store", tmp_path)


def test_the_mark_of_an_unfinished_store_stays_where_a_run_was_interrupted_and_goes_with_the_next(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(CommandFailedError, match="the next run goes on"), store.filling(tmp_path / "a"):
        raise KeyboardInterrupt
    for path in ("a", "b"):
        with pytest.raises(ConfigError), store.filling(tmp_path / path):
            raise ConfigError("refused")
    assert store.unfinished == (str(tmp_path / "a"),)
    with store.filling(tmp_path / "a"):
        assert store.unfinished
    assert store.unfinished == ()
