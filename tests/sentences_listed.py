"""Every sentence that is printed about a candidate, each with the proof that makes it true. Read it as a list.

A sentence that fits none of these has no proof, and fails the test that looks for it here.
"""

from __future__ import annotations

import re
from collections import Counter

from langchain_context_engine import replay
from langchain_context_engine.trace.explain import final_decisions, name
from tests import sentence_proofs as proofs
from tests.sentence_proofs import number

NAMED = r"(?:\[\w+\] )?.+?"
TOKENS = r"([\d,]+) tokens"
FELL = rf"(?P<fell>; it repeats {NAMED}, which fell too)?"
ROOM = r": needs (?P<needed>[\d,]+) tokens, (?P<left>[\d,]+) were left at its turn"


def repeats(told, said):
    """What stands for it has its key, and how alike they are is so."""
    winner = next(
        p for p in told.again.passages if p.key == final_decisions(told.context)[told.row.key].repeats
    )
    assert told.row.key in winner.also_in
    fits(HOW, told, said["how"] or "")


def through(told, said):
    assert told.text_of(told.row.details["through"])
    fits(HOW, told, said["how"] or "")


HOW = {
    "": proofs.is_told_by_a_rule,
    "the same text": proofs.are_equal,
    "the same but for case and spaces": proofs.are_equal_folded,
    "the same but for articles and punctuation": proofs.are_equal_bare,
    r"(\d+) % alike": proofs.are_alike,
    r"(\d+) % alike in (\w+)": proofs.are_alike_in_key,
    r"(\d+) % alike as they would stand": proofs.would_stand_alike,
    "all that would stand of it is said there": proofs.would_stand_alike,
    rf"through {NAMED}(?: \((?P<how>[^()]*)\))?": through,
}
"""How a duplicate repeats another → its proof."""

WAS_OVER_K = rf"dropped: enough passages \(k\) at its turn{FELL}"
OF_OTHERS = {"", r"(\d+) % alike as they would stand", WAS_OVER_K}
"""Said where a design's rule alone told it, and too rarely for some hundred traces to hold it."""

SENTENCES = {
    rf"in, whole, {TOKENS}": proofs.is_whole,
    rf"in, cut to fit, {TOKENS}": proofs.is_cut,
    rf"in, ([\d,]+) of its ([\d,]+) parts, {TOKENS}": proofs.is_sentences,
    rf"in, rewritten shorter, {TOKENS}": proofs.is_rewritten,
    "dropped: malformed": proofs.is_malformed,
    "dropped: no text": proofs.has_no_text,
    "dropped: a filter of the request": proofs.is_filtered,
    "dropped: excluded by the request": proofs.is_excluded,
    "dropped: beyond its source's limit": proofs.is_beyond_limit,
    rf"dropped: says what another passage says: {NAMED}(?: \((?P<how>(?:through .*|[^()]*))\))?": repeats,
    rf"dropped: enough passages \(k\){FELL}": proofs.is_over_k,
    WAS_OVER_K: proofs.was_over_k,
    rf"dropped: no room in the budget{FELL}{ROOM}": proofs.lacks_room,
    rf"dropped: no room in its source's share{FELL}{ROOM}": proofs.lacks_room,
    rf"dropped: longer than one item may be{FELL}{ROOM}": proofs.lacks_room,
    rf"dropped: too many of its kind{FELL}": proofs.is_barred_by_diversity,
    rf"dropped: the context was good enough{FELL}": proofs.is_barred_by_diversity,
    r"dropped: says too little by itself: (\d+) telling words, (\d+) are the least": proofs.says_too_little,
    r"dropped: has nothing of the question: no word of it, no more alike \((-?[\d.]+)\) than by chance": (
        proofs.is_unrelated
    ),
    r"dropped: score below the minimum: ([\d.]+) < ([\d.]+)": proofs.is_below_score,
    "dropped: not similar to the question at all": proofs.is_not_similar,
    r"dropped: not similar enough to the question: ([\d.]+) < ([\d.]+)": proofs.is_less_similar,
    rf"dropped: what was found may not hold the question \(when_doubtful\){FELL}": proofs.is_in_doubt,
}
"""What is said of a candidate's fate → its proof. The page, `explain`, `ask` and MCP say these."""


LINES = {
    r"  a budget of (?P<budget>[\d,]+) lets it in, (?P<sure>no smaller one does|a smaller one may do)"
    r"(?P<moves>(?:; .+? would (?:enter too|leave))*)": proofs.would_be_in,
    r"  rank (\d+), score ([\d.]+)": proofs.has_its_rank,
    r"    (\S+): ([\d.]+)": proofs.adds_so_much,
    r"  from (.+)": proofs.measures_so_much,
    r"  (\w+): (\w+)(?: \(.+\))?": proofs.was_decided,
}
"""What `explain` says below the fate, line by line → its proof."""


SEEN: Counter[str] = Counter()
"""How often each pattern was proved."""


def fits(table, told, sentence):
    """Prove a sentence by the first of a table that it fits."""
    for pattern, prove in table.items():
        said = re.fullmatch(pattern, sentence)
        if said:
            try:
                prove(told, said)
                if said.groupdict().get("fell"):
                    winner = final_decisions(told.context)[told.row.key].repeats
                    assert winner not in {p.key for p in told.again.passages}
            except (AssertionError, StopIteration, KeyError) as error:
                raise AssertionError(f"untrue of trace {told.seed}, {told.row.key}: {sentence!r}") from error
            SEEN[pattern] += 1
            return
    raise AssertionError(f"no proof is listed for {sentence!r} (trace {told.seed}, {told.row.key})")


LEAVES = rf"(?:; (?P<leaves>{NAMED})(?: and (?P<more>\d+) more)? would leave)?"
CHANGES = (
    rf"(?P<setting>budget|k|min_score|dedupe_threshold) from \S+ to (?P<after>[\d.,]+?){LEAVES}",
    rf"dedupe_threshold from \S+ to none{LEAVES}",
    rf"diversity from a rule to none{LEAVES}",
    rf"budget\.(?:item_cap|source_cap) from [\d.]+ to none{LEAVES}",
    rf"budget\.shares from .+ to none{LEAVES}",
    rf"thresholds\.\w+ from [\d.]+ to [\d.]+{LEAVES}",
    rf"weights\.\w+ from [\d.]+ to [\d.]+ \((?:--weight \w+=[\d.]+ ?)+\){LEAVES}",
    rf"weights from those that prefer the latest to .+?{LEAVES}",
)
"""What is said of a change that would admit a candidate; `would_admit` proves each."""


def would_admit(told, change):
    """Prove that a change admits as it is printed, and that what it says would leave does."""
    said = next(filter(None, (re.fullmatch(pattern, change.sentence) for pattern in CHANGES)), None)
    assert said, f"no proof is listed for {change.sentence!r}"
    settings = dict(change.settings)
    if said.groupdict().get("setting"):
        settings = {said["setting"]: type(change.after)(number(said["after"]))}
    again = replay(told.context, **settings)
    assert told.row.key in {p.key for p in again.passages}, change.sentence
    left = {p.key for p in told.context.passages} - {p.key for p in again.passages}
    assert len(left) == (said["leaves"] is not None) + int(said["more"] or 0), change.sentence
    if said["leaves"]:
        assert said["leaves"] in {name(key, told.context) for key in left}
