"""What has nothing of the question is left out, where the similarities tell what chance is."""

from __future__ import annotations

from dataclasses import replace

from langchain_context_engine import ChromaSource, ContextEngine, LocalEmbeddings
from langchain_context_engine.models.types import Reason, Verdict
from langchain_context_engine.pipeline.thresholds import Threshold, related
from langchain_context_engine.ranking.answerability import is_doubt
from langchain_context_engine.trace.replay import replay
from tests.builders import WordEmbeddings, a_candidate, a_collection, a_request

NOTES = {
    "espresso": "Descale the espresso machine every second month, with citric acid.",
    "kettle": "The kettle was descaled in March; descaling takes half an hour.",
    "bikes": "Winter tires hang in the cellar behind the bikes.",
    "lease": "Our lease ends in June unless somebody signs again.",
    "choir": "Choir practice moved from Tuesday to Thursday evenings.",
    "passport": "Lena must renew her passport before autumn.",
    "router": "Restart the router where guests find no network.",
    "garden": "Tomatoes want water each morning, never at noon.",
    "dentist": "Next dentist appointment: ask for Doctor Weber.",
}
QUERY = "How often is descaling due?"
ABOUT = {"espresso", "kettle"}


def an_engine(notes=NOTES, **settings):
    embeddings = WordEmbeddings(512)
    collection = a_collection([{"id": i, "text": t} for i, t in notes.items()], embeddings=embeddings)
    source = ChromaSource(collection, embeddings=embeddings, name="notes")
    return ContextEngine(sources=[source], timeout_seconds=30.0, **settings)


def unrelated(context):
    return {d.key[1]: d for d in context.decisions if d.reason is Reason.UNRELATED}


def found(**cosines):
    """Candidates of one source, as similar to the question as told."""
    return [
        a_candidate(id=id_, text=NOTES.get(id_, id_), claims={"dense": cosine}, relevance=cosine)
        for id_, cosine in cosines.items()
    ]


CHANCE = {id_: 0.1 + i / 100 for i, id_ in enumerate(NOTES)}


def kept_of(candidates, *, thresholds=None, **asked):
    kept, dropped, warnings = related(candidates, a_request(**{"query": QUERY, **asked}), thresholds or {})
    assert {d.key for d in dropped}.isdisjoint(c.key for c in kept)
    assert len(kept) + len(dropped) == len(candidates)
    return {candidate.id for candidate in kept}, warnings


def test_of_nine_notes_only_those_about_the_question_are_read_and_the_others_say_why():
    """The whole handful of notes was the answer to any question, since all of it fits the budget."""
    context = an_engine().build(QUERY)
    assert {passage.key[1] for passage in context.passages} == ABOUT
    others = unrelated(context)
    assert set(others) == set(NOTES) - ABOUT
    for decision in others.values():
        assert (decision.stage, decision.verdict) == ("rank", Verdict.DROPPED)
        assert decision.details["similarity"] <= decision.details["chance"]
        assert "has nothing of the question" in context.explain(decision.key)
    assert replay(context).text == context.text, "promise 9"


def test_a_question_about_none_of_them_has_an_empty_context_and_a_warning():
    context = an_engine().build("Which submarine sank?")
    assert (context.text, context.status) == ("", "empty")
    assert set(unrelated(context)) == set(NOTES)
    assert "nothing of the question is in any of the 9 records that there are" in context.warnings
    assert context.confidence == 0
    assert not any(map(is_doubt, context.warnings)), "one warning says it"


def test_what_is_far_more_similar_than_the_others_stays_though_it_shares_no_word():
    kept, warnings = kept_of(found(**{**CHANCE, "choir": 0.6}))
    assert (kept, warnings) == ({*ABOUT, "choir"}, [])


def test_what_is_pinned_linked_to_or_found_by_another_source_too_stays():
    pinned, linked, linking, twice, *others = found(bikes=0.1, lease=0.1, espresso=0.1, choir=0.1, router=0.1)
    pinned = replace(pinned, is_pinned=True)
    linking = replace(linking, metadata={"links": linked.id})
    twice = replace(twice, provenance=(twice.source, "recent"))
    assert kept_of([pinned, linked, linking, twice, *others])[0] == {"bikes", "lease", "espresso", "choir"}


def test_a_source_with_a_threshold_of_its_own_is_judged_by_that_alone():
    assert kept_of(found(**CHANCE), thresholds={"memories": Threshold()})[0] == set(NOTES)


def test_of_few_records_a_question_about_none_finds_nothing_with_a_real_embedding():
    """B15: four unrelated questions over eight records got .50 and ok."""
    records = [{"id": id_, "text": text} for id_, text in NOTES.items()]
    collection = a_collection(records, embeddings=LocalEmbeddings())
    engine = ContextEngine([ChromaSource(collection, embeddings=LocalEmbeddings())], timeout_seconds=30.0)
    asked = (
        "How do whales sleep?",
        "Who won the world cup?",
        "What is the capital of France?",
        "Which planets have rings?",
    )
    assert {str(engine.build(question).status) for question in asked} == {"empty"}
    assert engine.build("Who signs the lease?").passages[0].key[1] == "lease"
