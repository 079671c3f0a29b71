"""What proves a sentence about a candidate: numbers and texts of its trace, and replays under other settings."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_context_engine import replay
from langchain_context_engine.config import EngineConfig
from langchain_context_engine.models.types import Reason
from langchain_context_engine.text.similarity import Wording, ratio
from langchain_context_engine.text.words import query_terms, terms
from langchain_context_engine.trace.explain import Row, final_decisions
from langchain_context_engine.trace.replay import ranking
from tests.sentence_builders import a_shaped_context


@dataclass
class Told:
    """One candidate of one trace, what was told of it, and the replays that were made of the trace."""

    seed: int
    context: Any
    again: Any
    row: Row
    engine: Any = None
    replays: dict = field(default_factory=dict)

    @property
    def passage(self):
        return next((p for p in self.again.passages if p.key == self.row.key), None)

    def text_of(self, key):
        return next(c.text for c in self.context.candidates if c.key == tuple(key))

    def decision_with(self, **settings):
        """Return the decision under other settings: what was given as the reason must not be it any more."""
        known = repr(sorted(settings.items()))
        if known not in self.replays:
            again = replay(self.context, self.engine, **settings)
            self.replays[known] = final_decisions(again)
        return self.replays[known][self.row.key]

    def reason_with(self, **settings):
        return self.decision_with(**settings).reason

    def budget(self, **fields):
        config = EngineConfig.read(self.context.settings, self.engine and self.engine.config)
        return replace(config.budget, tokens=self.context.budget, **fields)


def number(text):
    return float(text.replace(",", ""))


def is_in(told, said):
    assert told.passage is not None
    assert number(said[1]) == told.passage.tokens
    assert told.passage.citation == told.row.citation


def is_whole(told, said):
    is_in(told, said)
    assert not told.passage.is_truncated
    assert told.passage.text.strip() == told.row.text.strip()


def is_cut(told, said):
    is_in(told, said)
    assert told.passage.is_truncated
    assert len(told.passage.text) < len(told.row.text)


def is_sentences(told, said):
    assert told.passage.is_truncated
    assert number(said[3]) == told.passage.tokens
    assert 0 < number(said[1]) < number(said[2])


def is_rewritten(told, said):
    is_in(told, said)
    assert told.passage.text not in told.row.text


def is_malformed(told, said):
    assert told.row.key not in {c.key for c in told.context.candidates}
    assert any("malformed" in warning for warning in told.context.warnings)


def has_no_text(told, said):
    assert not told.row.text.strip()


@functools.cache
def _without_filters(seed):
    context = a_shaped_context(seed, where=None, kinds=None)
    return {key: d.reason for key, d in final_decisions(context).items()}


def is_filtered(told, said):
    assert _without_filters(told.seed)[told.row.key] is not Reason.FILTERED


def is_excluded(told, said):
    assert told.row.key in told.context.request.excluded


def is_beyond_limit(told, said):
    assert (
        len([c for c in told.context.candidates if c.source == told.row.key[0]]) == told.context.request.limit
    )


def is_over_k(told, said):
    assert len(told.again.passages) == told.context.request.k
    assert told.reason_with(k=None) is not Reason.OVER_K


def was_over_k(told, said):
    """As many as `k` were in then, of which some left since they said nothing beside another."""
    left = [d for d in told.again.decisions if d.stage == "pack" and d.reason is Reason.DUPLICATE]
    assert len(told.again.passages) < told.context.request.k <= len(told.again.passages) + len(left)
    assert told.reason_with(k=None) is not Reason.OVER_K


def lacks_room(told, said):
    assert number(said["left"]) < number(said["needed"])
    assert number(said["left"]) <= told.context.budget
    lifted = {
        Reason.OVER_BUDGET: {"budget": 500 * told.context.budget},
        Reason.OVER_SHARE: {"budget": told.budget(shares={}, source_cap=None)},
        Reason.OVER_ITEM_CAP: {"budget": told.budget(item_cap=None)},
    }[told.row.reason]
    assert told.reason_with(**lifted) is not told.row.reason


def is_barred_by_diversity(told, said):
    assert told.reason_with(diversity=None) is not told.row.reason


def says_too_little(told, said):
    assert number(said[1]) < number(said[2])


def is_unrelated(told, said):
    candidate = next(c for c in told.context.candidates if c.key == told.row.key)
    assert number(said[1]) == math.floor(candidate.claims["dense"] * 1000) / 1000
    assert candidate.claims["dense"] <= told.row.details["chance"]
    assert set(query_terms(told.context.request.query)).isdisjoint(terms(candidate.text))


def is_below_score(told, said):
    assert number(said[1]) < number(said[2]) == told.context.settings["min_score"]
    assert told.reason_with(min_score=None) is not Reason.BELOW_THRESHOLD


def is_less_similar(told, said):
    assert number(said[1]) < number(said[2])
    assert told.row.details["score"] < told.row.details["threshold"]
    assert "source" not in told.decision_with(thresholds={}).details


def is_not_similar(told, said):
    assert told.row.details["score"] <= 0
    assert "source" not in told.decision_with(thresholds={}).details


def is_in_doubt(told, said):
    assert not told.again.passages
    assert told.reason_with(when_doubtful="keep") is not Reason.DOUBTFUL


def _both(told):
    decision = final_decisions(told.context)[told.row.key]
    return told.text_of(told.row.key), told.text_of(decision.details.get("through") or decision.repeats)


def are_equal(told, said):
    mine, other = _both(told)
    assert mine == other


def are_equal_folded(told, said):
    mine, other = map(Wording, _both(told))
    assert mine.text != other.text
    assert mine.folded == other.folded


def are_equal_bare(told, said):
    mine, other = map(Wording, _both(told))
    assert mine.bare == other.bare
    assert mine.folded != other.folded


def are_alike(told, said):
    a, b = map(Wording, _both(told))
    alike = max(ratio(a.folded, b.folded), ratio(a.bare, b.bare))
    assert int(said[1]) == math.floor(alike) < 100
    assert alike >= told.context.settings["dedupe_threshold"] or "rule" in told.row.details


def are_alike_in_key(told, said):
    assert said[2] == told.context.settings["dedupe_key"]
    values = {c.key: str(c.metadata.get(said[2], "")) for c in told.context.candidates}
    decision = final_decisions(told.context)[told.row.key]
    a, b = (
        Wording(values[told.row.key]),
        Wording(values[tuple(told.row.details.get("through") or decision.repeats)]),
    )
    assert int(said[1]) == math.floor(max(ratio(a.folded, b.folded), ratio(a.bare, b.bare)))


def would_stand_alike(told, said):
    assert told.passage is None
    assert final_decisions(told.context)[told.row.key].stage == "pack"


def is_told_by_a_rule(told, said):
    assert told.row.details.get("similarity") is None


def has_its_rank(told, said):
    item = ranking(told.again)[int(said[1]) - 1]
    assert item.key == told.row.key
    assert f"{item.score:.3f}" == said[2]
    assert math.isclose(sum(told.row.contributions.values()), item.score, abs_tol=1e-9)


def adds_so_much(told, said):
    assert f"{told.row.contributions[said[1]]:.3f}" == said[2]


def measures_so_much(told, said):
    for signal, value in re.findall(r"(\S+) ([\d.]+)", said[1]):
        assert f"{told.row.signals[signal]:.3f}" == value


def would_be_in(told, said):
    budget = int(number(said["budget"]))
    before = {p.key for p in told.context.passages}
    after = {p.key for p in replay(told.context, budget=budget).passages}
    assert told.row.key in after
    assert ("enter too" in said["moves"]) == bool(after - before - {told.row.key})
    assert ("leave" in said["moves"]) == bool(before - after)
    if said["sure"] == "no smaller one does":
        smaller = (replay(told.context, budget=b) for b in range(told.context.budget + 1, budget))
        assert not any(told.row.key in {p.key for p in one.passages} for one in smaller)


def was_decided(told, said):
    made = {(d.stage, str(d.reason)) for d in told.context.decisions if d.key == told.row.key}
    assert (said[1], said[2]) in made
