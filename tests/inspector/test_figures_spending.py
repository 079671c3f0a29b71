"""Where the budget went: parts that add up to it, groups and their passages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.figures.budget_usage import (
    FRAME,
    LEFT,
    RESERVED,
    budget_parts,
    groups_of,
    shared_tokens,
)
from langchain_context_engine import Context
from tests.inspector.builders import a_context, a_shared_context


@pytest.mark.parametrize("template", ["cited", "chat", "sections", "xml"])
@pytest.mark.parametrize("budget", [60, 200, 1000])
def test_the_parts_of_the_budget_add_up_to_it(template, budget):
    context = a_context(template=template, budget=budget)
    assert sum(part.tokens for part in budget_parts(context)) == budget
    assert all(part.tokens > 0 for part in budget_parts(context))


def test_what_the_template_adds_is_the_frame():
    context = a_context(template="chat", budget=1000)
    parts = {part.name: part.tokens for part in budget_parts(context)}
    assert parts[FRAME] == context.tokens - sum(passage.tokens for passage in context.passages)


def test_tokens_that_passages_share_where_they_are_joined_are_told():
    context = a_context(budget=1000)
    assert shared_tokens(context) == 0
    joined = replace(context, tokens=sum(passage.tokens for passage in context.passages) - 3)
    assert shared_tokens(joined) == 3


def test_reserve_and_shares_are_told():
    context = a_shared_context()
    parts = {part.name: part.tokens for part in budget_parts(context)}
    assert parts[RESERVED] == 20
    assert sum(parts.values()) == 160
    shares = {group.name: group.share for group in groups_of(context)}
    assert shares == {"notes": 105, "code": 35}


def test_groups_tell_what_they_offered_and_lost_for_room():
    groups = {group.name: group for group in groups_of(a_shared_context())}
    assert groups["notes"].candidates == 4
    assert len(groups["code"].segments) + groups["code"].no_room <= 4


def test_a_group_has_a_segment_a_passage_that_add_up_to_what_it_took():
    context = a_shared_context()
    groups = groups_of(context)
    segments = {segment.key: segment.tokens for group in groups for segment in group.segments}
    assert segments == {passage.key: passage.tokens for passage in context.passages}
    assert all(group.tokens == sum(s.tokens for s in group.segments) for group in groups)


def test_a_context_without_settings_is_all_left_over():
    assert [(part.name, part.tokens) for part in budget_parts(Context(budget=10))] == [(LEFT, 10)]
