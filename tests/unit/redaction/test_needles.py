"""A search for needles finds each place of each needle, even within another needle."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.redaction.needles import GrowingNeedles, Needles, one_byte_each

WORDS = st.lists(st.text("aBc-", min_size=1, max_size=4), min_size=1, max_size=6)


@given(WORDS, st.text("AabBcC-.", max_size=30))
def test_each_place_is_found(words: list[str], text: str) -> None:
    """The quick search for secrets finds every needle in a text, in upper or lower case."""
    needles = Needles([word.encode() for word in words])
    expected = {
        (n, start)
        for n, word in enumerate(words)
        for start in range(len(text))
        if text.lower().startswith(word.lower(), start)
    }
    places = {(words[n].lower(), start) for n, start in needles.places(text.encode())}
    assert places == {(words[n].lower(), start) for n, start in expected}
    assert needles.are_in(text.encode()) == bool(expected)


def test_any_bytes_are_searched() -> None:
    """The quick search for secrets also finds needles in bytes that are not UTF-8."""
    assert Needles([b"\xff\xfe"]).are_in(b"a\xff\xfeb")


def test_words_that_come_later_are_found() -> None:
    """The quick search for secrets also finds a needle that was added after earlier searches."""
    needles = GrowingNeedles(Needles([b"one", b"two"]))
    assert not needles.are_in(b"three")
    assert [needles.add(word) for word in (b"Three", b"ONE", b"three")] == [2, 0, 2]
    assert needles.are_in(b"a THREE")
    for _ in range(5):  # after as many searches as words, one automaton has all words
        assert sorted(needles.places(b"three, one")) == [(0, 7), (2, 0)]
    assert needles.count == 3


def test_without_words_nothing_is_found() -> None:
    """The quick search for secrets finds nothing if it has no secrets to search for."""
    needles = GrowingNeedles()
    assert [needles.are_in(b"one") for _ in range(3)] == [False] * 3
    assert needles.places(b"one") == []


def test_places_in_bytes_are_those_in_the_text() -> None:
    """For UTF-8 bytes, the quick search for secrets returns offsets in the decoded text."""
    text = "é中\ud83d token"
    assert Needles([b"token"]).places(one_byte_each(text)) == [(0, text.index("token"))]
