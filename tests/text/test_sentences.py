"""Where sentences begin and end."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.text.sentences import sentence_spans, unit_spans
from langchain_context_engine.text.text_tables import tables
from tests.growth import assert_linear, repeated


def sentences(text: str) -> list[str]:
    return [text[a:b] for a, b in sentence_spans(text)]


def units(text: str) -> list[str]:
    return [text[a:b] for a, b in unit_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Rao paid $3.50. Then he left. Done.", ["Dr. Rao paid $3.50.", "Then he left.", "Done."]),
        ("Mrs. Lee met J.R.R. Tolkien. It rained.", ["Mrs. Lee met J.R.R. Tolkien.", "It rained."]),
        ("See e.g. Fig. 3 and No. 7. Next.", ["See e.g. Fig. 3 and No. 7.", "Next."]),
        ("We met at 5 p.m. on Jan. 5. Good.", ["We met at 5 p.m. on Jan. 5.", "Good."]),
        ("Acme Inc. makes v1.2.3. Use it.", ["Acme Inc. makes v1.2.3.", "Use it."]),
        ('"Stop!" he said. "Go." She left.', ['"Stop!" he said.', '"Go."', "She left."]),
        ("Really?! Yes... and so on.", ["Really?!", "Yes... and so on."]),
        ("i went home. then he left.", ["i went home.", "then he left."]),
        ("Er mag z.B. Hunde. Sie nicht.", ["Er mag z.B. Hunde.", "Sie nicht."]),
        ("Er mag z. B. Hunde. Sie nicht.", ["Er mag z. B. Hunde.", "Sie nicht."]),
        ("Mme. Curie parla. M. Dupont partit.", ["Mme. Curie parla.", "M. Dupont partit."]),
        ("La Sra. Gil vino. El Sr. Gil no.", ["La Sra. Gil vino.", "El Sr. Gil no."]),
        ("Vgl. Abb. 3, bzw. Anna. Ende.", ["Vgl. Abb. 3, bzw. Anna.", "Ende."]),
        ("Он жил в г. Москва. См. рис. 3. Да.", ["Он жил в г. Москва.", "См. рис. 3.", "Да."]),
        ("Он жил там в 1999 г. Потом нет.", ["Он жил там в 1999 г.", "Потом нет."]),
        (
            "At 10 St. Ann Road. It took 24 hr. It ended.",
            ["At 10 St. Ann Road.", "It took 24 hr.", "It ended."],
        ),
        ("Он жил дома, т.е. Москве. Да.", ["Он жил дома, т.е. Москве.", "Да."]),
        ("今日は晴れ。明日は「雨。」そうだ！", ["今日は晴れ。", "明日は「雨。」", "そうだ！"]),
        ("- one\n- two\n\nThree", ["- one", "- two", "Three"]),
        ("1. First. 2. Second.", ["1. First.", "2. Second."]),
        ("# Title\nText here. More.", ["# Title", "Text here.", "More."]),
        ("key: v\nother: x", ["key: v", "other: x"]),
        ("See https://a.b/c?d=e.f for more.", ["See https://a.b/c?d=e.f for more."]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text, expected):
    """B14."""
    assert sentences(text) == expected


def test_a_table_is_one_sentence():
    """B11."""
    table = "| a | b |\n|---|:-:|\n| 1. X | 2 |\n| 3 | 4 |"
    assert sentences(f"Intro.\n\n{table}\n\nEnd.") == ["Intro.", table, "End."]
    assert tables("a | b\nno rule | here") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He sailed (refs. 5,9). It rained. [19] )", ["He sailed (refs. 5,9).", "It rained. [19] )"]),
        ("We met.\n---\nWe left.", ["We met.\n---", "We left."]),
        ("2.\n\nGo outside.", ["2.\n\nGo outside."]),
        ("What was paid? 51.2", ["What was paid? 51.2"]),
        ("12. 13.", ["12. 13."]),
        (
            "Taking turns\n" + 40 * "+" + "\n\nAna began. Bo went on.",
            ["Taking turns\n" + 40 * "+" + "\n\nAna began.", "Bo went on."],
        ),
        ("There are two.\n\n#. One.\n#. Two.", ["There are two.\n\n#. One.", "#. Two."]),
    ],
)
def test_a_piece_without_a_letter_never_stands_alone(text, expected):
    assert units(text) == expected


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet=st.sampled_from("ab A1.!?\n\r|-`~#'\")。」\t…*_ ")) | st.text())
def test_spans_are_ordered_trimmed_and_cover_everything_but_space(text):
    for spans in (sentence_spans(text), unit_spans(text)):
        position = 0
        for start, end in spans:
            assert position <= start < end
            assert not text[position:start].strip()
            assert text[start:end] == text[start:end].strip()
            position = end
        assert not text[position:].strip()


@pytest.mark.parametrize(
    "unit",
    [
        ".",
        "\n",
        ". ",
        "a\n",
        "```\n",
        "' ",
        "a.b ",
        " ",
        '."',
        "。",
        "| ",
        "|-",
        "|a\n|-|\n",
        "x = 1\n",
        "A.",
    ],
)
def test_no_text_takes_quadratic_time(unit):
    """B16."""
    assert_linear(sentence_spans, repeated(unit), 100_000)
