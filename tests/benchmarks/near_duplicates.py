"""Precision and recall of near-duplicate detection on labelled pairs, overall and by kind.

Run as `python -m tests.benchmarks.near_duplicates pairs.jsonl`, or with `--data DIR` for the labelled pairs in
`DIR/near_duplicates`: lines of `{kind, a, b, label, symbol?}`
with label 1 for duplicates, 0 for others and null for pairs to leave out. With `--identity`, pairs that
name one symbol are compared as versions of one thing. With `--errors`, lists what went wrong.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

from langchain_context_engine.models.types import Ranked
from langchain_context_engine.pipeline.dedupe import dedupe
from langchain_context_engine.ranking.identity import DEFAULT_RULES
from tests.builders import a_candidate


def is_dropped(pair: dict, *, threshold: float, has_identity: bool) -> bool:
    """Return whether the second text of a pair is dropped as a duplicate of the first, or the other way."""
    symbol = pair.get("symbol") if has_identity and pair["kind"] == "code_version" else None
    metadata = {"path": "module.py", "symbol": symbol} if symbol else {}
    items = [Ranked(candidate=a_candidate(text=pair[side], metadata=metadata)) for side in ("a", "b")]
    return len(dedupe(items, threshold=threshold, rules=DEFAULT_RULES)[0]) == 1


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=Path, nargs="?")
    parser.add_argument("--data", type=Path, help="a folder with near_duplicates/*.jsonl")
    parser.add_argument("--threshold", type=float, default=90.0)
    parser.add_argument("--identity", action="store_true")
    parser.add_argument("--errors", action="store_true")
    arguments = parser.parse_args()
    if not arguments.pairs and not arguments.data:
        parser.error("give a file of pairs, or --data DIR")
    found: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    files = [arguments.pairs] if arguments.pairs else sorted(arguments.data.glob("near_duplicates/*.jsonl"))
    for line in (line for path in files for line in path.read_text().splitlines()):
        pair = json.loads(line)
        if pair["label"] is None:
            continue
        answer = is_dropped(pair, threshold=arguments.threshold, has_identity=arguments.identity)
        found[pair["kind"]].append((answer, pair["label"] == 1))
        if arguments.errors and answer and not pair["label"]:
            print(f"wrongly dropped ({pair['kind']}):\n  {pair['a']}\n  {pair['b']}")
    found["all"] = [row for rows in list(found.values()) for row in rows]
    print(f"{'kind':20} {'pairs':>6} {'dropped':>8} {'wrongly':>8} {'precision':>10} {'recall':>7}")
    for kind, rows in found.items():
        right = sum(answer and label for answer, label in rows)
        dropped, positives = sum(answer for answer, _ in rows), sum(label for _, label in rows)
        precision, recall = right / dropped if dropped else 1.0, right / positives if positives else 1.0
        print(f"{kind:20} {len(rows):6} {dropped:8} {dropped - right:8} {precision:10.4f} {recall:7.3f}")


if __name__ == "__main__":
    main()
