"""Every sentence with a figure that pages print of a whole answer or a journal, each with what proves it.

Of a candidate they are listed in `tests/sentences_listed.py`. Figures are counted anew here, from the decisions
and the texts alone.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rapidfuzz.fuzz import ratio

from inspector.palette import FATES
from langchain_context_engine import Context, replay
from langchain_context_engine.evaluation.tune import MIN_QUERIES
from langchain_context_engine.journal import Judgment
from langchain_context_engine.models.types import Reason, Verdict
from langchain_context_engine.text.tokens import resolve_tokenizer
from langchain_context_engine.trace.replay import ranking

N = r"([\d,]+)"
PERCENT = r"(\d+|–) %|–"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a page was drawn from."""

    context: Context = field(default_factory=Context)
    before: Context = field(default_factory=Context)
    judgments: Sequence[Judgment] = ()
    contexts: Sequence[Context] = ()
    own: Mapping[str, Any] = field(default_factory=dict)


def number(text):
    """Return a number that is told; what is not told is 0."""
    return int((text or "0").replace(",", "").replace("−", "-"))


def ended(context):
    """Return the decision that ended each candidate's way, counted by hand."""
    found = {}
    for one in context.decisions:
        if one.verdict is not Verdict.CHANGED:
            assert one.key not in found
            found[one.key] = one
    return found


def fallen(context):
    """Return how many fell for each reason; what repeats another is a duplicate, whatever that other lacked."""
    return Counter(
        one.reason if one.repeats is None else Reason.DUPLICATE
        for one in ended(context).values()
        if one.verdict is Verdict.DROPPED
    )


def count_tokens(context):
    return resolve_tokenizer(context.settings["tokenizer"])(context.text)


def keys(context):
    return [passage.key for passage in context.passages]


def is_budget_used(seen, tokens, budget, share=None):
    assert number(tokens) == count_tokens(seen.context)
    assert number(budget) == seen.context.budget
    assert share is None or share == told_as(number(tokens) / number(budget))


def are_in(seen, kept, every, _, cut):
    assert (number(kept), number(every)) == (len(keys(seen.context)), len(ended(seen.context)))
    texts = {c.key: c.text for c in seen.context.candidates}
    assert number(cut) == sum(passage.text != texts[passage.key] for passage in seen.context.passages)


def are_duplicates(seen, count):
    assert number(count) == fallen(seen.context)[Reason.DUPLICATE]


def took(seen, milliseconds, longest, source):
    timings, waited = seen.context.timings, seen.context.source_timings
    assert number(milliseconds) == round(timings.get("total", sum(timings.values())))
    assert (number(longest), waited.get(source)) == (round(max(waited.values())), max(waited.values()))


def is_joined(seen, _, tokens):
    assert number(tokens) == sum(one.tokens for one in seen.context.passages) - count_tokens(seen.context)


def pairs_of(context):
    return [(one.repeats, key) for key, one in ended(context).items() if one.repeats is not None]


def is_a_pair(seen, percent, least):
    """Some pair is as alike as that, by its texts without case and spaces."""
    texts = {c.key: " ".join(c.text.casefold().split()) for c in seen.context.candidates}
    alike = {int(ratio(texts[winner], texts[key])) for winner, key in pairs_of(seen.context)}
    assert number(percent) in alike
    assert number(percent) >= number(least) == seen.context.settings["dedupe_threshold"]


def is_a_part(seen, whole):
    """What lacked room needed less than the whole text has."""
    key = seen.own["key"]
    text = next(one.text for one in seen.context.candidates if one.key == key)
    tokens = resolve_tokenizer(seen.context.settings["tokenizer"])(text)
    assert number(whole) == tokens > ended(seen.context)[key].details["needed"]


def is_cut(seen, part, whole, rest, left):
    passage = next(one for one in seen.context.passages if one.key == seen.own["key"])
    count = resolve_tokenizer(seen.context.settings["tokenizer"])
    assert (number(part), number(whole)) == (count(passage.text), count(passage.ranked.candidate.text))
    assert number(rest) == number(whole) - number(part)
    assert number(left) == seen.context.budget - count_tokens(seen.context)


def is_so_in_order(seen, later, told):
    """By the ranking; and by a replay that packs in its order."""
    place = {item.key: number for number, item in enumerate(ranking(seen.context), 1)}
    assert number(later) == sum(place[key] > place[seen.own["key"]] for key in keys(seen.context))
    again = replay(seen.context, selection="score")
    assert told.startswith("in, ") == (seen.own["key"] in keys(again))


def are_unlike(seen, count, every):
    before, after = ({one.key: one.text for one in each.passages} for each in (seen.before, seen.context))
    assert number(every) == len({*before, *after})
    if before != after:
        assert number(count) == sum(before.get(key) != after.get(key) for key in {*before, *after})


def are_fates(seen, *_):
    """Every candidate is counted once, by what it fell for."""
    (every, kept, *others) = (part.split(" ", 1) for part in seen.own["sentence"].split(" · "))
    assert (number(every[0]), number(kept[0])) == (len(ended(seen.context)), len(seen.context.passages))
    assert number(every[0]) == number(kept[0]) + sum(number(count) for count, _ in others)
    short = {
        FATES[reason].removeprefix("out · ").rstrip("s"): n for reason, n in fallen(seen.context).items()
    }
    assert {name.rstrip("s"): number(count) for count, name in others} == short


def is_sure(seen, status, confidence):
    assert (status, confidence) == (str(seen.context.status), f"{seen.context.confidence:.2f}")


def are_timed(seen, told):
    assert told == ", ".join(f"{name} {value:,.0f}" for name, value in seen.context.timings.items())


def are_waited_for(seen, told):
    each = dict(one.rsplit(" ", 1) for one in told.split(", "))
    assert each == {name: f"{value:,.0f}" for name, value in seen.context.source_timings.items()}


def is_tuned(seen, tokens, budget, _, by):
    is_budget_used(seen, tokens, budget)
    assert number(by) == count_tokens(seen.context) - count_tokens(seen.before)


def are_passages(seen, count, _, by):
    assert number(count) == len(keys(seen.context))
    assert number(by) == len(keys(seen.context)) - len(keys(seen.before))


def told_as(share):
    return f"{100 * share:.0f}"


def are_shared(seen, percent):
    first, second = set(keys(seen.before)), set(keys(seen.context))
    assert percent == told_as(len(first & second) / len(first | second) if first | second else 1)


def have_moved(seen, entered, left):
    first, second = set(keys(seen.before)), set(keys(seen.context))
    assert (number(entered), number(left)) == (len(second - first), len(first - second))


def is_begun_alike(seen, percent):
    before, after = seen.before.text, seen.context.text
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    assert percent == told_as(len(list(alike)) / len(before) if before else 1)


def are_moves(seen, *_):
    """As many entered and left as are named or counted; the others moved or were cut anew."""
    text = seen.own["sentence"].removeprefix("From A to B: ")
    before, after = keys(seen.before), keys(seen.context)
    for verb, changed in (("Entered", set(after) - set(before)), ("Left", set(before) - set(after))):
        named = re.search(rf"{verb}: (.+?)\.(?= ?Left:| ?\d|$)", text)
        assert bool(named) == bool(changed), text
        if named:
            shown, _, others = named[1].partition(" more")
            shown, _, more = shown.partition("and ")
            assert len(others.split("; ")) == number(more) or not more, text
            assert len(shown.split("; ")) + number(more) == len(changed), text
    moved = re.search(r"(\d+) moved", text)
    both = set(before) & set(after)
    assert number(moved and moved[1]) == sum(before.index(key) != after.index(key) for key in both)


def is_nothing_changed(seen):
    assert seen.before.text == seen.context.text


def are_tries(seen, count, _):
    assert number(count) == seen.own["tries"]


def are_judged(seen, mine, every):
    own = [one for one in seen.judgments if one.query == seen.context.request.query and one.rater == ""]
    assert (number(mine), number(every)) == (len(own), len(ended(seen.context)))


def is_used(seen, percent):
    shares = [one.tokens / one.budget for one in seen.contexts or [seen.context]]
    assert percent == f"{told_as(math.fsum(shares) / len(shares))} %"


def is_a_share(_, told):
    """How nDCG and its fellows are worked out is proved in `tests/test_quality.py`; here that it is a share."""
    assert told == "–" or 0 <= float(told.rstrip(" %")) <= (100 if told.endswith("%") else 1)


def is_judged_of_the_set(seen, count):
    assert number(count) == len({one.query for one in seen.judgments})


def are_agreed(seen, judged, every, *agreed):
    same, count, _, near, *_ = agreed
    if judged:
        is_judged_of_the_set(seen, judged)
        are_in_the_set(seen, every, None)
    by = {}
    for one in seen.judgments:
        by.setdefault((one.query, one.key), []).append(one.grade)
    pairs = [pair for grades in by.values() for pair in itertools.combinations(grades, 2)]
    assert number(count) == len(pairs)
    assert same == told_as(sum(a == b for a, b in pairs) / len(pairs))
    assert near == told_as(sum(abs(a - b) < 2 for a, b in pairs) / len(pairs))


def are_lacking(seen, judged, more):
    assert number(judged) == seen.own["judged"]
    assert number(judged) + number(more) == MIN_QUERIES


def is_lacking(seen, least, more):
    assert number(least) == MIN_QUERIES
    is_judged_of_the_set(seen, str(MIN_QUERIES - number(more)))


def are_kept(seen, count, _, questions, __):
    assert number(count) == seen.own.get("kept", len(seen.judgments))
    assert number(questions) == seen.own.get("judged", len({one.query for one in seen.judgments}))


def are_recorded(seen, found, every):
    assert number(found) == number(every) == len(seen.contexts)


def are_on_days(seen, count, days, _):
    assert (number(count), number(days)) == (len(seen.contexts), seen.own["days"])


def are_in_the_set(seen, count, _):
    assert number(count) == len({one.request.query for one in seen.contexts})


def is_said_of_all(_):
    """It holds of every page, and its figure is a constant of the program."""


SENTENCES = {
    rf"{N} / {N} tokens \((\d+) %\)": is_budget_used,
    rf"{N} of {N} candidates in(, {N} in part)?": are_in,
    rf"{N} duplicates?": are_duplicates,
    r"(\d+) % alike; from (\d+) % on two texts count as one\.": is_a_pair,
    rf"That is a part of it .+: the whole text has {N} tokens\.": is_a_part,
    rf"{N} of its {N} tokens stand in the text .+ does not\. Its rest takes {N}, and {N} were left .+": is_cut,
    rf"{N} ranked later are in: room goes .+\. By rank alone .+ this one is (.+)\.": is_so_in_order,
    rf"{N} of {N} passages? not alike\.": are_unlike,
    rf"{N} ms(?:, {N} for (.+))?": took,
    r"(?:Frame is what .+ )?Left over is room that nothing fitted\.( Joined, the passages take ([\d,]+) tokens less .+ as here\.)?": is_joined,
    rf"{N} offered · {N} in.*": are_fates,
    r"(\w+), confidence (\d\.\d\d)": is_sure,
    r"milliseconds: (.+)": are_timed,
    r"waited for: (.+)": are_waited_for,
    rf"{N} of {N} tokens\.(?: A number leads to its candidate\.)?": is_budget_used,
    rf"{N} of {N} tokens ?(\(([+−][\d,]+)\))?": is_tuned,
    rf"{N} passages ?(\(([+−]\d+)\))?": are_passages,
    r"(\d+) entered, (\d+) left": have_moved,
    r"(\d+) % of the passages in both": are_shared,
    r"unchanged up to (\d+) % of the text": is_begun_alike,
    r"(?:From A to B: )?Nothing changed in the text\.": is_nothing_changed,
    r"(?:From A to B: )?(?:Entered|Left|\d+ moved|\d+ cut anew).+": are_moves,
    rf"{N} (try|tries)": are_tries,
    rf"Judged: {N} of {N}": are_judged,
    r"(?:nDCG@10|.+ \(grade 2 or 3\)|First ten judged) (–|[\d.]+(?: %)?)": is_a_share,
    r"Budget used (\d+ %)": is_used,
    rf"{N} questions? judged in all, {N} more and weights are suggested\.(?: Raters .+)?": are_lacking,
    rf"From {N} judged questions on: {N} more\.": is_lacking,
    rf"(?:The worst first\. .+ named\. {N} of {N} are judged\. )?Raters agree on (\d+) % of {N} grades? (that) two gave, within one on (\d+) %(, kappa [−\d.]+)?\.": are_agreed,
    rf"{N} (judgments?) of {N} (questions?), kept in the journal\.": are_kept,
    rf"{N} of {N} questions\. Choose one .+": are_recorded,
    rf"{N} questions on {N} (days?), from the journal alone\. .+": are_on_days,
    rf"{N} (questions?)\. Turn knobs on the Tune page: .+": are_in_the_set,
    r"120 tokens: a long account gives only .+": is_said_of_all,
    r"Shares by weight; a group with 0 takes from what the others leave\.": is_said_of_all,
}
"""Pattern → what proves it, given what the page was drawn from and the groups of the pattern."""


def proved(sentence, seen):
    """Prove one sentence; return the pattern that it fits."""
    for pattern, proof in SENTENCES.items():
        if said := re.fullmatch(pattern, sentence, re.DOTALL):
            seen.own["sentence"] = sentence
            proof(seen, *said.groups())
            return pattern
    raise AssertionError(f"no proof is listed of {sentence!r}")
