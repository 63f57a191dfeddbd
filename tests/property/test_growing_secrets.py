"""Masking finds secrets that become known one by one like secrets known from the start."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.redaction.known_secrets import BEGINNING, SHORTEST, SecretValues
from acp_proxy.redaction.needles import GrowingNeedles, Needles

WORDS = st.lists(st.text("abC-", min_size=1, max_size=4), max_size=30)
VALUES = st.lists(
    st.one_of(
        st.text("ab1é", min_size=1, max_size=12),
        st.text('ab"\\/%é中\ud83d', min_size=8, max_size=16),
    ),
    min_size=1,
    max_size=12,
)
"""Values of few distinct characters, so that some are parts or prefixes of others."""


def texts_of(known: SecretValues) -> st.SearchStrategy[str]:
    """Draws texts that contain secrets, parts of secrets, and other characters."""
    piece = st.sampled_from([*known.forms])
    cut = st.builds(lambda form, end: form[:end], piece, st.integers(1, 12))
    parts = st.one_of(piece, cut, st.text("ab1é中", max_size=3))
    return st.lists(parts, max_size=6).map("".join)


@given(WORDS, WORDS, st.text("aAbBcC-.", max_size=30), st.data())
def test_added_words_are_found(
    first: list[str], later: list[str], text: str, data: st.DataObject
) -> None:
    """If words are added one by one to the search for secrets, each later search finds them all."""
    begin = [word.encode() for word in first]
    needles = GrowingNeedles(Needles(begin)) if begin else GrowingNeedles()
    words = [word.lower() for word in begin]
    for word in later:
        number = needles.add(word.encode())
        words += [word.lower().encode()] if number == len(words) else []
        assert words[number] == word.lower().encode()
        for _ in range(data.draw(st.sampled_from([0, 0, 1, 40]))):
            needles.are_in(b"")
        expected = set(Needles(words).places(text.encode()))
        assert set(needles.places(text.encode())) == expected
        assert needles.are_in(text.encode()) == bool(expected)
    assert needles.count == len(words)


@given(VALUES, st.data())
def test_the_leftmost_of_overlapping_secrets_is_replaced(
    values: list[str], data: st.DataObject
) -> None:
    """If secrets overlap in a text, masking replaces the secret that begins first."""
    known = SecretValues()
    for n, value in enumerate(values):
        known.add(value, f"<{n}>", named=True, is_known=True)
        text = data.draw(texts_of(known))
        longest_first = sorted(known.forms, key=len, reverse=True)
        expression = re.compile("|".join(map(re.escape, longest_first)))
        expected = [(m.start(), m.end(), known.forms[m[0]]) for m in expression.finditer(text)]
        assert known.find(text) == expected
        opened = (
            at
            for at in range(len(text) - BEGINNING + 1)
            if any(form.startswith(text[at:]) and form != text[at:] for form in known.forms)
        )
        assert known.tail(text) == next(opened, len(text))


@given(VALUES, st.data())
def test_pieces_of_later_secrets_are_found(values: list[str], data: st.DataObject) -> None:
    """If secrets become known one after the other, masking finds pieces of each known secret."""
    known = SecretValues()
    for n, value in enumerate(values):
        known.add(value, f"<{n}>", named=True, is_known=True)
        raw = data.draw(texts_of(known)).encode("utf-8", "surrogatepass")
        fresh = SecretValues(forms={**known.forms}, unbroken=[*known.forms])
        pieces = sorted(known.fragments(raw))
        assert pieces == sorted(fresh.fragments(raw))
        assert all(end - start == SHORTEST for start, end, _ in pieces)
