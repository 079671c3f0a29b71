"""Texts of many kinds to count the tokens of."""

from __future__ import annotations

from hypothesis import strategies as st

TEXTS = st.one_of(
    st.text(max_size=200),
    st.text(alphabet=st.characters(max_codepoint=127), max_size=200),
    st.text(alphabet="abcdefghijklmnopqrstuvwxyz '", max_size=200),
    st.text(alphabet="0123456789abcdef", max_size=200),
    st.text(alphabet=" \t\n\r/.'sABab1", max_size=200),
    st.text(alphabet="日本語のテキスト認証、。😀👍🏽é́ñß٣", max_size=100),
)
