"""Every script in examples/ runs as written, in a process of its own."""

from __future__ import annotations

import json
import multiprocessing
import os
import runpy
import sys
import threading
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from langchain_context_engine.search import index_manager
from tests.builders import WordEmbeddings
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
# It renews files of the checkout, so only a person runs it.
FOR_MAINTAINERS = {"record_samples"}
PRINTED = {
    "memory_engine": "[decision] The beta stays open until May 4, before the launch.",
    "context_plan": "It left on Monday: DE-77120.",
    "prime_context": "ContextStats(explicit_count=1, search_count=2, history_count=2, excluded_count=0)",
    "workspace_builder": "### Related Content\n[todo]\nMove the shop to monthly billing",
    "learning_memory": "# Premortem: debugging with systematic-elimination\n\n## Common Failures\n",
    "prime_server": "{'success': True}",
}


@pytest.fixture(scope="module")
def processes():
    """Return what makes processes that have loaded already what every example loads, where a system can."""
    context = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
    if sys.platform != "win32":
        context.set_forkserver_preload(["tests.test_examples", "langchain_chroma", "langchain_core.prompts"])
    return context


@pytest.fixture
def run(processes, tmp_path):
    """Return what runs an example in a process of its own, and gives what it printed."""

    def example(name: str, *arguments: str, **environment: str) -> str:
        printed, said = tmp_path / "printed", tmp_path / "said"
        told = (str(EXAMPLES / f"{name}.py"), arguments, environment, str(tmp_path), str(printed), str(said))
        process = processes.Process(target=_main, args=told)
        process.start()
        process.join(90)
        is_late = process.is_alive()
        process.kill()
        process.join()
        assert (is_late, process.exitcode) == (False, 0), said.read_text(encoding="utf-8")
        return printed.read_text(encoding="utf-8")

    return example


def _main(path: str, arguments: tuple[str, ...], environment: dict[str, str], folder: str, *streams: str):
    for number, stream in enumerate(streams, 1):
        os.dup2(os.open(stream, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.chdir(folder)
    os.environ.update(environment)
    sys.argv = [path, *arguments]
    warnings.simplefilter("error", UserWarning)
    index_manager.WAIT_SHARE = 30.0  # as in every test that is not hurried
    runpy.run_path(path, run_name="__main__")
    sys.stdout.flush()


class OpenAIHandler(BaseHTTPRequestHandler):
    """Speaks enough of OpenAI's API for the example: embeddings and chat completions."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, body))
        answer = self._embeddings(body) if self.path.endswith("/embeddings") else self._completion(body)
        raw = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _embeddings(self, body):
        vectors = WordEmbeddings(1536).embed_documents(body["input"])
        data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return {"object": "list", "model": body["model"], "data": data, "usage": usage}

    def _completion(self, body):
        message = {"role": "assistant", "content": "40 euros [1]."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [choice],
        }

    def log_message(self, *_):
        pass


@pytest.fixture
def openai_server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), OpenAIHandler)
    server.daemon_threads = True
    server.requests = []
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_the_chain_with_a_fake_model_prompts_with_the_context_and_answers(run):
    printed = run("chain_with_fake_model")
    assert "[1] A berth for one night costs 40 euros, water and electricity included." in printed
    assert "Question: What does a berth cost for a night?" in printed
    assert printed.endswith("40 euros [1].\n")


def test_the_chain_with_openai_embeds_by_the_api_and_sends_the_context_to_the_model(run, openai_server):
    printed = run(
        "chain_with_openai",
        OPENAI_API_KEY="not-a-real-key",
        OPENAI_BASE_URL=f"http://127.0.0.1:{openai_server.server_address[1]}/v1",
    )
    assert printed == "40 euros [1].\n"
    path, body = openai_server.requests[-1]
    assert path == "/v1/chat/completions"
    assert "[1] A berth for one night costs 40 euros" in body["messages"][0]["content"]
    assert body["messages"][1] == {"role": "user", "content": "What does a berth cost for a night?"}


def test_a_source_of_ones_own_is_ranked_packed_and_explained(run, tmp_path):
    (tmp_path / "berth.py").write_text("# A berth costs 40 euros.\n", encoding="utf-8")
    (tmp_path / "storm.py").write_text("# Boats go to the inner basin.\n", encoding="utf-8")
    printed = run("own_source", str(tmp_path), "What does a berth cost?")
    assert printed.startswith("[1] # A berth costs 40 euros.")
    assert "files/berth.py: in, whole" in printed


def test_the_retriever_gives_one_of_two_notes_that_say_the_same(run):
    printed = run("retriever")
    assert printed.startswith("[1] ")
    assert printed.count("bill monthly") == 1
    assert "[2] " in printed


@pytest.mark.parametrize("example", PRINTED)
def test_a_program_of_thirty_lines_runs_over_a_collection_that_langchain_filled(example, run):
    """M1, P1, C2, C12, W13, L1, L2"""
    assert PRINTED[example] in run(example)


def test_every_example_is_run_by_a_test():
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    examples = {path.stem for path in EXAMPLES.glob("*.py")} - FOR_MAINTAINERS
    missing = [name for name in sorted(examples) if f'"{name}"' not in tests and f"{name}.py" not in tests]
    assert missing == []
