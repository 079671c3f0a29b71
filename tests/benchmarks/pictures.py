"""Take the README's pictures of the inspector, and of every page where a folder is named.

Of the samples that come with it, in a real browser. Run it with

    python -m tests.benchmarks.pictures                 # examples/screenshots/explain.png and tune.png
    python -m tests.benchmarks.pictures --all FOLDER    # every page, on three screens, in both themes
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from inspector.candidates import near_misses
from inspector.opening import Settings, open_trace, sample_names
from inspector.wording import option_of
from langchain_context_engine import Journal
from langchain_context_engine.cli.inspect import app_path, inspect_command, inspect_environment
from langchain_context_engine.trace.explain import rows
from langchain_context_engine.trace.replay import ranking
from tests.conftest import ROOT
from tests.inspector.visiting import a_browser, visits
from tests.inspector.walking import a_free_port, running, settle

TRACE = "trace=sample-weighted"


def nearest() -> str:
    """Return the candidate that came nearest to getting in, as an address names it."""
    context = open_trace("sample-weighted", Settings())
    return option_of(near_misses(rows(context, ranking(context)))[0].key)


def cut() -> str:
    """Return a candidate that stands in part, as an address names it."""
    context = open_trace("sample-weighted", Settings())
    return option_of(next(passage.key for passage in context.passages if passage.is_truncated))


README = {
    "explain": f"explain?{TRACE}&candidate={nearest()}",
    "tune": f"tune?{TRACE}&budget=400&w_relevance=0.3",
}
PAGES = {
    "traces": "",
    "explain": f"explain?{TRACE}",
    **{name: f"explain?{TRACE}&section={name.capitalize()}" for name in ("budget", "text", "export")},
    "duplicates": "explain?trace=sample-duplicates&section=Duplicates",
    "missing": f"explain?{TRACE}&find=zebra",
    "cut": f"explain?{TRACE}&candidate={cut()}",
    "tune": README["tune"],
    "compare": "compare?compare=sample-weighted&compare=sample-duplicates",
    "judge": f"judge?{TRACE}",
    "exchange": "judge?judging=Import and export",
    "sets": "sets",
    "figures": "figures",
    "collections": f"collections?{TRACE}",
}
SCREENS = {"laptop": (1280, 800), "large": (1920, 1080), "phone": (400, 844)}


def take(visit: Any, path: str, to: Path, screen: str, scheme: str) -> None:
    """Take one picture."""
    width, height = SCREENS[screen]
    page = visit(path, viewport={"width": width, "height": height}, color_scheme=scheme)
    settle(page)
    if nearest() in path:
        page.locator(".ce-change").first.wait_for()
    page.screenshot(path=to)
    page.close()


def main() -> None:
    """Start an inspector over a journal of the samples, and take the pictures."""
    parser = argparse.ArgumentParser(description="Take the README's pictures of the inspector.")
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="every page, into this folder")
    everywhere = parser.parse_args().all
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        with Journal(path) as journal:
            for name in sample_names():
                context = open_trace(name, Settings())
                trace = journal.record(context)
                for number, passage in enumerate(context.passages[:5]):
                    for rater in ("ann", "bob", "eve", ""):
                        journal.judge(
                            context.request.query, passage.key, (number + len(rater)) % 4, rater=rater
                        )
            journal.flush()
            journal.record_answer(trace, "Every import checks its sum [5]; refunds go back as they came [1].")
            journal.note(trace, "Says nothing of chargebacks.", ["to do", "billing"])
        address = f"http://127.0.0.1:{(port := a_free_port())}"
        command = inspect_command(app_path(), port=port, opens_browser=False)
        with (
            running(command, address, env=inspect_environment(path)),
            a_browser() as browser,
            visits(browser, address) as visit,
        ):
            if everywhere is None:
                for name, page in README.items():
                    take(visit, page, ROOT / "examples" / "screenshots" / f"{name}.png", "laptop", "light")
                return
            everywhere.mkdir(parents=True, exist_ok=True)
            recorded = {"answer": f"explain?trace={trace}&section=Text", "note": f"explain?trace={trace}"}
            recorded["raters"] = f"judge?trace={trace}"
            for name, page in {**PAGES, **recorded}.items():
                for screen in SCREENS:
                    for scheme in ("light", "dark"):
                        take(visit, page, everywhere / f"{name}-{screen}-{scheme}.png", screen, scheme)


if __name__ == "__main__":
    main()
