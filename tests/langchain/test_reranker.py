"""A reranker: asked once about the best, explained, recorded, and never the answer's end."""

from __future__ import annotations

import threading
import time

import pytest
from langchain_core.documents import Document
from langchain_core.documents.compressor import BaseDocumentCompressor

from langchain_context_engine import ConfigError, Context, ContextEngine, replay
from langchain_context_engine.models.types import Reason
from tests.builders import ListSource, a_candidate

WORDS = ("heron", "otter", "pike", "perch", "tench")


def found():
    return [
        a_candidate(id=w, text=f"the {w} lives here", relevance=0.9 - i / 10) for i, w in enumerate(WORDS)
    ]


def likes_later(query, texts):
    return [float(WORDS.index(text.split()[1])) for text in texts]


class Picks(BaseDocumentCompressor):
    """A compressor that gives back the last two, the very last first."""

    says_scores: bool = False
    keeps: int = 2

    def compress_documents(self, documents, query, callbacks=None):
        best = list(reversed(documents))[: self.keeps]
        if not self.says_scores:
            return best
        return [
            Document(page_content=d.page_content, metadata={**d.metadata, "relevance_score": s})
            for d, s in zip(best, (0.1, 0.9), strict=False)
        ]


def an_engine(**settings) -> ContextEngine:
    return ContextEngine(sources=[ListSource(found())], doubtful_below=0, dedupe_threshold=None, **settings)


def ids(context: Context) -> list[str]:
    return [passage.key[1] for passage in context.passages]


def test_a_reranker_is_a_signal_among_others_and_is_explained():
    context = an_engine(rerank=likes_later).build("who lives here?")
    first = context.passages[0].ranked
    assert first.key[1] == "tench"
    assert set(first.contributions) == {"relevance", "rerank"}
    assert first.score < 1.0
    assert [d.details["score"] for d in context.decisions if d.reason is Reason.RERANKED] == [0, 1, 2, 3, 4]


def test_a_replay_uses_the_recorded_scores_and_asks_nobody():
    context = an_engine(rerank=likes_later).build("who lives here?")
    again = replay(context.to_dict())
    assert again.text == context.text
    assert [d for d in again.decisions if d.stage == "rerank"] == [
        d for d in context.decisions if d.stage == "rerank"
    ]
    assert ids(replay(context, weights={"relevance": 1}))[0] == "heron"


ANSWERED = threading.Event()


def slow(query, texts):
    ANSWERED.wait(60)
    return [0.0] * len(texts)


def broken(query, texts):
    raise RuntimeError("no model at sk-secretsecretsecretsecret")


@pytest.mark.parametrize(
    "scorer",
    [slow, broken, lambda q, t: [1.0], lambda q, t: None, lambda q, t: [float("nan")] * len(t)],
    ids=["late", "failing", "too few", "none", "not a number"],
)
def test_a_reranker_that_fails_costs_one_warning_and_the_ranking_is_as_without(scorer):
    started = time.monotonic()
    context = an_engine(rerank=scorer, rerank_seconds=0.2).build("who lives here?")
    assert time.monotonic() - started < 30
    ANSWERED.set()
    assert context.text == an_engine().build("who lives here?").text
    assert len(context.warnings) == 1
    assert "reranker" in context.warnings[0]
    assert "sk-secret" not in context.warnings[0]


@pytest.mark.parametrize(
    "settings", [{"rerank": 5}, {"rerank": slow, "rerank_best": 0}, {"rerank": slow, "rerank_seconds": 0}]
)
def test_a_wrong_reranker_is_refused_while_building(settings):
    with pytest.raises(ConfigError):
        an_engine(**settings)


@pytest.mark.parametrize("says_scores", [False, True])
@pytest.mark.parametrize("keeps", [1, 2])
def test_what_a_compressor_leaves_out_is_below_all_that_it_keeps(says_scores, keeps):
    """B18: with one kept all tied, and the kept one was not the first."""
    picks = Picks(says_scores=says_scores, keeps=keeps)
    context = an_engine(rerank=picks, weights={"rerank": 1}).build("who lives here?")
    said = {p.key[1]: p.ranked.candidate.claims["rerank"] for p in context.passages}
    kept = {"tench", "perch"} if keeps > 1 else {"tench"}
    assert min(said[word] for word in kept) > max(said[word] for word in said.keys() - kept)
    assert set(ids(context)[:keeps]) == kept
