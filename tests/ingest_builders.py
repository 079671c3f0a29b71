"""What the tests of getting data in share: real repositories, files and what a collection holds."""

from __future__ import annotations

import json
import os
import subprocess


def git(folder, *arguments, date="2026-01-05T10:00:00Z"):
    who = {"GIT_AUTHOR_NAME": "Ana Ré", "GIT_COMMITTER_NAME": "Ana Ré", "GIT_AUTHOR_EMAIL": "a@x.example"}
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "GIT_COMMITTER_EMAIL": "a@x.example"}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        check=True,
        capture_output=True,
        env={**os.environ, **who, **dates},
    )
    return done.stdout.decode()


def raw_commit(folder, headers, message=b"", *, tree=None, parents=()):
    """Write a commit object as it stands, good or bad, and return its hash; no reference names it."""
    tree = tree or git(folder, "write-tree").strip()
    head = [f"tree {tree}".encode(), *(f"parent {parent}".encode() for parent in parents), *headers]
    done = subprocess.run(
        ["git", "-C", str(folder), "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
        input=b"\n".join(head) + b"\n\n" + message,
        check=True,
        capture_output=True,
    )
    return done.stdout.decode().strip()


def object_path(folder, object_id):
    """Where a loose object stands."""
    return folder / ".git" / "objects" / object_id[:2] / object_id[2:]


def write_files(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def content(client, name):
    """Everything a collection holds, but for when it was written."""
    return {
        i: (d, {k: v for k, v in m.items() if k not in {"file_hash", "file_records"}})
        for i, (d, m) in stored(client, name).items()
    }


def stored(client, name):
    """Everything a collection holds."""
    found = client.get_collection(name, embedding_function=None).get()
    return {i: (d, m) for i, d, m in zip(found["ids"], found["documents"], found["metadatas"], strict=True)}


def lines(tmp_path, *rows):
    """A file of JSON Lines; a row is a value, or a line as it stands."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows))
    return path


class CountingClient:
    """A real client that counts what its collections are asked, with a batch limit of its own."""

    def __init__(self, client, most):
        self._client = client
        self._most = most

    def __getattr__(self, name):
        return getattr(self._client, name)

    def get_max_batch_size(self):
        return self._most
