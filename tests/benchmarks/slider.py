"""How soon a turned weight shows its new order: the Tune page in a real browser, 200 candidates.

Milliseconds from the key that turns the slider to the frame in which the table shows another order, and the
processor time that the inspector's server spent on each turn. Run it with

    python -m tests.benchmarks.slider
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from langchain_context_engine import ContextEngine
from langchain_context_engine.cli.inspect import app_path, inspect_command, inspect_environment
from tests.benchmarks.timing import quantile
from tests.builders import ListSource, a_candidate
from tests.inspector.visiting import a_browser, visits
from tests.inspector.walking import a_free_port, settle, wait_until_it_answers

CANDIDATES, CHARACTERS, MOVES, WARMING = 200, 800, 20, 3
QUERY = "Which harbour lamps are lit in winter?"
WORDS = (
    "harbour",
    "lamps",
    "winter",
    "tides",
    "ropes",
    "ledger",
    "gulls",
    "engine",
    "paint",
    "charts",
    "berth",
)

# The first frame in which the table of candidates has other rows than when the key was pressed.
WATCH = """() => {
    const rows = () => document.querySelector('.ce-grid tbody')?.textContent;
    window.start = window.turned = null;
    window.addEventListener('keydown', () => {
        const before = rows();
        window.start = performance.now();
        const look = () => {
            if (rows() !== before) window.turned = performance.now() - window.start;
            else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
    }, {once: true, capture: true});
}"""


def a_trace(path: Path) -> None:
    """Write the trace of a question with as many candidates, whose keyword signal differs."""
    rng = random.Random(0)
    candidates = [
        a_candidate(
            id=f"c{number}",
            text=_text(rng, number),
            relevance=rng.random(),
            created_at=f"2025-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
        )
        for number in range(CANDIDATES)
    ]
    weights = {"relevance": 1.0, "keyword": 0.5, "recency_half_life": 0.2}
    engine = ContextEngine(sources=[ListSource(candidates)], weights=weights, budget=2000)
    path.write_text(engine.build(QUERY, now="2026-01-01", limit=CANDIDATES).to_json(), encoding="utf-8")


def _text(rng: random.Random, number: int) -> str:
    text = f"Record {number}. "
    while len(text) < CHARACTERS:
        text += " ".join(rng.choices(WORDS, k=rng.randint(6, 14))).capitalize() + ". "
    return text[:CHARACTERS]


def milliseconds_of_a_turn(page: Any, key: str = "ArrowLeft") -> float:
    """Turn the first slider by a key, and return how long the table took to show another order."""
    page.wait_for_timeout(400)
    page.evaluate(WATCH)
    page.locator("[data-testid=stSlider] input[type=range]").first.press(key)
    page.wait_for_function("() => window.turned")
    return float(page.evaluate("() => window.turned"))


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has had, as Linux counts it."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure, and print the median and the 95th percentile."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        a_trace(trace)
        port = a_free_port()
        command = inspect_command(app_path(), port=port, opens_browser=False)
        server = subprocess.Popen(
            command, env=inspect_environment(trace=trace), stdout=subprocess.DEVNULL, cwd=folder
        )
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until_it_answers(address, server)
            with a_browser() as browser, visits(browser, address) as visit:
                page = visit("tune?trace=file")
                settle(page)
                for _ in range(WARMING):
                    milliseconds_of_a_turn(page)
                before = processor_seconds(server.pid)
                took = [milliseconds_of_a_turn(page) for _ in range(MOVES)]
                spent = 1000 * (processor_seconds(server.pid) - before) / MOVES
        finally:
            server.terminate()
            server.wait(20)
    sys.stdout.write(
        f"{CANDIDATES} candidates of {CHARACTERS} characters, {MOVES} turns of a weight"
        f" (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)\n"
        f"from the key to the new order drawn: median {statistics.median(took):.0f} ms,"
        f" 95 % {quantile(took, 0.95):.0f} ms\n"
        f"processor time of the server: {spent:.0f} ms a turn\n"
    )


if __name__ == "__main__":
    main()
